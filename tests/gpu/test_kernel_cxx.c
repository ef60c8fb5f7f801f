/* Kernels launched from C++. */
#include "pith_test.h"

#include <pith/array.h>

const pith_array *caller_bump(pith_scope *s, const pith_array *x, int32_t by);
const pith_array *caller_ramp(pith_scope *s, pith_dtype real, int64_t n);

Test(kernel_cxx, launches) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    int32_t y[2] = {0, 0};
    double x[3] = {0, 0, 0};
    const pith_array *given =
        pith_array_copy(s, PITH_I32, PITH_SHAPE(2), (const int32_t[]){1, 2});
    pt_ok(s, pith_read(s, caller_bump(s, given, 20), y, sizeof y));
    cr_assert(y[0] == 41 && y[1] == 42);
    pt_ok(s, pith_read(s, caller_ramp(s, PITH_F64, 3), x, sizeof x));
    cr_assert(x[1] == 0.25 && x[2] == 0.5);
    pt_fails(PITH_E_ARG, s, caller_bump(s, NULL, 1));
    pt_says("bump");
    cr_assert(strstr(pt_error.site, "kernel_caller.cpp:"), "%s", pt_error.site);
    pith_scope_close(s);
    pt_close(rt);
}
