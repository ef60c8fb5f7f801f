/* Fast maths: a product and the sum it is added to are rounded once where code is
 * compiled for it, and nowhere else. */
#include "scope_test.h"

#include <math.h>

enum { LENGTH = 1000, ONCE = 1, TWICE = 2 };

static double x[LENGTH], y[LENGTH], z[LENGTH];

static const pith_array *
madd(pith_scope *scope, const pith_array *a, const pith_array *b, const pith_array *c) {
    return pith_add(scope, pith_mul(scope, a, b), c);
}
PITH_FUNCTION3(madd_function, madd, pith_array, pith_array, pith_array, pith_array)

/* Numbers whose product and sum cancel but for what the first rounding drops. */
static void fill(void) {
    for (int i = 0; i < LENGTH; i++) {
        x[i] = 1 + i * 0x1p-40;
        y[i] = 1 - i * 0x1p-41;
        z[i] = -(x[i] * y[i]);
    }
}

static const pith_array *vector(const double *values) {
    return pith_array_copy(s, PITH_F64, PITH_SHAPE(LENGTH), values);
}

/* How often all of the results were rounded; 0: none of both. */
static int roundings(const pith_function *f) {
    double is[LENGTH];
    int once = 0, twice = 0;
    const pith_array *r = pith_call(s, f, PITH_ITEMS(vector(x), vector(y), vector(z)));
    pt_ok(s, pith_read(s, r, is, sizeof is));
    for (int i = 0; i < LENGTH; i++) {
        volatile double product = x[i] * y[i];
        once += is[i] == fma(x[i], y[i], z[i]);
        twice += is[i] == product + z[i];
    }
    return once == LENGTH ? ONCE : twice == LENGTH ? TWICE : 0;
}

static void begin(void) {
    setenv("PITH_JIT", "wait", 1);
    open_scope();
    fill();
}

static bool has_fma(void) {
#if defined(__x86_64__)
    return __builtin_cpu_supports("fma");
#else
    return true;
#endif
}

Test(fast_maths, products_and_sums_are_rounded_once_on_request_alone, .init = begin) {
    const pith_function *exact = pith_jit(s, &madd_function, NULL);
    const pith_function *fast =
        pith_jit(s, &madd_function, &(pith_jit_options){.fast_maths = true});
    cr_assert(roundings(&madd_function) == TWICE);
    cr_assert(roundings(exact) == TWICE);
    if (has_fma())
        cr_assert(roundings(fast) == ONCE);
    cr_assert(roundings(exact) == TWICE);
    cr_assert(pith_jit_get_info(rt).programs == 2);
    close_scope();
}

/* As a part of another function it does as that does. */
static const pith_array *
outer(pith_scope *scope, const pith_array *a, const pith_array *b, const pith_array *c) {
    const pith_function *inner =
        pith_jit(scope, &madd_function, &(pith_jit_options){.fast_maths = true});
    return pith_call(scope, inner, PITH_ITEMS(a, b, c));
}
PITH_FUNCTION3(outer_function, outer, pith_array, pith_array, pith_array, pith_array)

Test(fast_maths, the_outermost_function_decides, .init = begin) {
    cr_assert(roundings(pith_jit(s, &outer_function, NULL)) == TWICE);
    close_scope();
}

Test(fast_maths, nothing_else_is_given_up, .init = begin) {
    const double a[] = {INFINITY, NAN, -0.0, 1e308};
    double is[4];
    const pith_array *v = pith_array_copy(s, PITH_F64, PITH_SHAPE(4), a);
    const pith_array *r =
        pith_call(s, pith_jit(s, &madd_function, &(pith_jit_options){.fast_maths = true}),
                  PITH_ITEMS(v, pith_f64(s, 1), pith_f64(s, -0.0)));
    pt_ok(s, pith_read(s, r, is, sizeof is));
    cr_assert(is[0] == (double)INFINITY && isnan(is[1]) && is[3] == 1e308);
    cr_assert(is[2] == 0 && signbit(is[2]));
    close_scope();
}
