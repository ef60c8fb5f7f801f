/* A plugin that computes with pith; see opened.c. */
#include "opened.h"

#include <pith/pith.h>

static const pith_array *sum_squares(pith_scope *s, const pith_array *x) {
    return pith_sum(s, pith_mul(s, x, x), PITH_ALL_AXES);
}
PITH_FUNCTION1(sum_squares_function, sum_squares, pith_array, pith_array)

double plugin_compute(void) {
    pith_runtime *rt = pith_open(&(pith_open_options){.device = "host"});
    pith_scope *s = pith_scope_open(rt);
    const pith_function *f = pith_jit(s, &sum_squares_function, NULL);
    const pith_array *x = pith_arange(s, PITH_F64, 100);
    const double sum = pith_read_f64(s, pith_apply(s, f, x));
    pith_scope_close(s);
    pith_close(rt);
    return sum;
}
