/* Where elements are, for other libraries: on the host they are there when the call
 * returns. */
#include "pith/pith.h"

#include "pith_test.h"

#include <stdlib.h>

enum { N = 1000 };

static pith_runtime *rt;
static pith_scope *s;

static void open_all(void) {
    rt = pt_open();
    s = pith_scope_open(rt);
}
static void close_all(void) {
    pith_scope_close(s);
    pt_close(rt);
}

static bool is_zero(const pith_view *v) {
    return !v->data && !v->bytes && !v->kind && !v->device && !v->stream;
}

Test(native, shows_where_elements_are) {
    open_all();
    const pith_array *x = pith_arange(s, PITH_F64, N);
    pith_view view;
    pt_ok(s, pith_array_view(s, pith_add(s, x, x), &view));
    cr_assert(view.bytes == N * sizeof(double) && view.device == 0);
    cr_assert_str_eq(view.kind, "host");
    cr_assert(view.stream && view.stream == pith_scope_stream(s));
    for (int i = 0; i < N; i++)
        cr_assert(((const double *)view.data)[i] == 2.0 * i);
    pith_view part; /* of a part, the part's */
    const pith_array *row =
        pith_slice_at(s, pith_reshape(s, x, PITH_SHAPE(10, 100)), 0, 7);
    pt_ok(s, pith_array_view(s, row, &part));
    cr_assert(part.bytes == 100 * sizeof(double) && *(const double *)part.data == 700);
    pt_ok(s, pith_array_view(s, pith_zeros(s, PITH_F32, PITH_SHAPE(0, 3)), &part));
    cr_assert(!part.data && !part.bytes && part.stream == view.stream);
    /* Children share the stream; another root has its own. */
    pith_scope *inner = pith_scope_open_in(s), *other = pith_scope_open(rt);
    cr_assert(pith_scope_stream(inner) == view.stream);
    cr_assert(pith_scope_stream(other) && pith_scope_stream(other) != view.stream);
    pith_scope_close(other);
    pith_scope_close(inner);
    close_all();
}

/* With work that is deferred, the elements must be there all the same. */
Test(native, waits_for_deferred_work_on_the_host) {
    setenv("PITH_HOST_ASYNC", "1", 1);
    open_all();
    const pith_array *x = pith_arange(s, PITH_F64, N);
    for (int i = 0; i < 20; i++)
        x = pith_add(s, x, pith_f64(s, 1));
    pith_view view;
    pt_ok(s, pith_array_view(s, x, &view));
    cr_assert(((const double *)view.data)[5] == 25);
    void *data;
    const pith_array *own = pith_array_unwritten(s, PITH_F64, PITH_SHAPE(N), &data);
    pt_ok(s, own && data);
    for (int i = 0; i < N; i++)
        ((double *)data)[i] = -i;
    double sum[N];
    pt_ok(s, pith_read(s, pith_add(s, own, x), sum, sizeof sum));
    for (int i = 0; i < N; i++)
        cr_assert(sum[i] == 20);
    close_all();
    unsetenv("PITH_HOST_ASYNC");
}

Test(native, refuses_what_has_no_elements_to_show) {
    open_all();
    pith_view view = {.bytes = 7};
    void *data = &view;
    const pith_array *x = pith_f64(s, 1);
    pt_fails(PITH_E_ARG, s, pith_array_view(s, NULL, &view));
    cr_assert(is_zero(&view));
    pt_fails(PITH_E_ARG, s, pith_array_view(s, x, NULL));
    const pith_array *gone = pith_add(s, x, x);
    pith_drop(s, gone);
    pt_fails(PITH_E_ARG, s, pith_array_view(s, gone, &view));
    pt_says("pith_array_view: array: expected an array, got a pointer that is");
    pith_runtime *two = pith_open(NULL);
    pith_scope *t = pith_scope_open(two);
    pt_fails(PITH_E_ARG, s, pith_array_view(s, pith_f64(t, 1), &view));
    pith_scope_close(t);
    pith_close(two);
    pt_fails(PITH_E_ARG, s, pith_array_unwritten(s, PITH_F64, PITH_SHAPE(3), NULL));
    pt_fails(PITH_E_SHAPE, s, pith_array_unwritten(s, PITH_F64, PITH_SHAPE(-3), &data));
    cr_assert(!data);
    pt_fails(PITH_E_DTYPE, s,
             pith_array_unwritten(s, (pith_dtype)99, PITH_SHAPE(3), &data));
    pt_ok(s, pith_array_unwritten(s, PITH_F64, PITH_SHAPE(0), &data) && !data);
    pith_fail(s, PITH_E_CHECK, NULL, "before");
    cr_assert(!pith_scope_stream(s) && !pith_array_view(s, x, &view));
    pith_clear(s);
    close_all();
}

/* ---- Traced and donated ---- */

static bool viewed, made;
static const pith_array *show(pith_scope *in, const pith_array *x) {
    pith_view view;
    viewed = pith_array_view(in, x, &view);
    return x;
}
PITH_FUNCTION1(show_function, show, pith_array, pith_array)
static const pith_array *make(pith_scope *in, const pith_array *x) {
    void *data;
    made = pith_array_unwritten(in, PITH_F64, PITH_SHAPE(3), &data);
    return x;
}
PITH_FUNCTION1(make_function, make, pith_array, pith_array)
static const pith_array *twice(pith_scope *in, const pith_array *x) {
    return pith_add(in, x, x);
}
PITH_FUNCTION1(twice_function, twice, pith_array, pith_array)

Test(native, refuses_traced_and_donated_arrays) {
    open_all();
    const pith_array *x = pith_arange(s, PITH_F64, N);
    pt_fails(PITH_E_TRACED, s, pith_apply(s, pith_jit(s, &show_function, NULL), x));
    pt_fails(PITH_E_TRACED, s, pith_apply(s, pith_jit(s, &make_function, NULL), x));
    cr_assert(!viewed && !made);
    const pith_function *f = pith_jit(
        s, &twice_function, &(pith_jit_options){.donate_arguments = PITH_ARGUMENT(0)});
    pith_view view;
    pt_ok(s, pith_apply(s, f, x));
    pt_fails(PITH_E_DONATED, s, pith_array_view(s, x, &view));
    close_all();
}
