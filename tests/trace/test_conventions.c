/* Derivatives at kinks and borders, in reverse and in forward mode: the list of
 * docs/concepts/derivatives.md, with a test for each row. */
#include "derive_test.h"

enum { MOST = 4 };

static void same(const char *what, int k, double got, double wanted) {
    cr_assert(got == wanted || (isnan(got) && isnan(wanted)) ||
                  fabs(got - wanted) <= 1e-15 * fabs(wanted),
              "%s, element %d: %.17g, expected %.17g", what, k, got, wanted);
}

/* The gradient of f at x, and the tangents along each element. Those of the other
 * elements are 0, which infinite derivatives must not turn into NaN. */
static void
gradient_is(const pith_function *f, int n, const double *x, const double *wanted) {
    const pith_array *at_x = pith_array_copy(s, PITH_F64, PITH_SHAPE(n), x);
    const pith_array *g = pith_call(s, pith_grad(s, f, NULL), PITH_ITEMS(at_x));
    for (int k = 0; k < n; k++) {
        double along[MOST] = {0};
        along[k] = 1;
        const pith_array *t = pith_array_copy(s, PITH_F64, PITH_SHAPE(n), along);
        same(f->name, k, at(g, k), wanted[k]);
        const pith_derive_options strong = {.strong_zero = true};
        same(f->name, k, at(pith_jvp(s, f, PITH_ITEMS(at_x), t, &strong).tangent, 0),
             wanted[k]);
    }
    pt_ok(s);
}

/* Element k of x, f64[]. */
static const pith_array *part(pith_scope *in, const pith_array *x, int64_t k) {
    return pith_take(in, x, pith_i64(in, k), NULL);
}
/* The sum of x with weights of 1, 10, 100, 1000. */
static const pith_array *weigh(pith_scope *in, const pith_array *x) {
    const int64_t n = pith_array_spec(x)->shape[0];
    const pith_array *weights =
        pith_array_copy(in, PITH_F64, PITH_SHAPE(n), (const double[]){1, 10, 100, 1000});
    return pith_sum(in, pith_mul(in, x, weights), PITH_ALL_AXES);
}

/* CONVENTION(function of x f64[n], its expression) */
#define CONVENTION(name, ...)                                                            \
    static const pith_array *name(pith_scope *in, const pith_array *x) {                 \
        return __VA_ARGS__;                                                              \
    }                                                                                    \
    PITH_FUNCTION1(name##_of, name, pith_array, pith_array)
#define IS(name, x, ...)                                                                 \
    gradient_is(&name##_of, (int)(sizeof(double[]) x / sizeof(double)),                  \
                (const double[])x, (const double[])__VA_ARGS__)
#define LIST(...)                                                                        \
    { __VA_ARGS__ }

/* ---- Maxima and minima ---- */

CONVENTION(maximum, pith_maximum(in, part(in, x, 0), part(in, x, 1)))
CONVENTION(minimum, pith_minimum(in, part(in, x, 0), part(in, x, 1)))
CONVENTION(clip, pith_clip(in, part(in, x, 0), part(in, x, 1), part(in, x, 2)))
Test(conventions, equal_operands_share, .init = open_scope) {
    IS(maximum, LIST(3, 3), LIST(0.5, 0.5));
    IS(minimum, LIST(3, 3), LIST(0.5, 0.5));
    IS(clip, LIST(1, 1, 2), LIST(0.5, 0.5, 0));
    IS(clip, LIST(2, 1, 2), LIST(0.5, 0, 0.5));
    IS(clip, LIST(3, 1, 2), LIST(0, 0, 1));
    close_scope();
}

CONVENTION(max_of, pith_max(in, x, PITH_ALL_AXES))
CONVENTION(min_of, pith_min(in, x, PITH_ALL_AXES))
static const pith_array *ids(pith_scope *in) {
    return PITH_VECTOR(in, i64, 0, 0, 1, 0);
}
CONVENTION(segment_max, weigh(in, pith_segment_max(in, x, ids(in), 2, NULL)))
CONVENTION(scatter_max,
           weigh(in, pith_scatter_max(in, PITH_VECTOR(in, f64, 5, 0), ids(in), x, NULL)))
Test(conventions, equal_elements_share, .init = open_scope) {
    const double third = 1. / 3;
    IS(max_of, LIST(5, 5, 1, 5), LIST(third, third, 0, third));
    IS(min_of, LIST(5, 1, 1, 5), LIST(0, 0.5, 0.5, 0));
    IS(segment_max, LIST(5, 5, 1, 2), LIST(0.5, 0.5, 10, 0));
    IS(scatter_max, LIST(5, 5, 1, 2), LIST(third, third, 10, 0)); /* with the element */
    /* NaN is the extreme of what has one */
    IS(max_of, LIST(NAN, 5, NAN, 7), LIST(0.5, 0, 0.5, 0));
    IS(min_of, LIST(1, NAN, 2, 3), LIST(0, 1, 0, 0));
    IS(segment_max, LIST(NAN, 5, 1, 2), LIST(1, 0, 10, 0));
    close_scope();
}

/* More equal elements than the greatest f16. */
static const pith_array *max_of_halves(pith_scope *in, const pith_array *x) {
    return pith_max(in, x, PITH_ALL_AXES);
}
static const pith_array *segment_max_of_halves(pith_scope *in, const pith_array *x) {
    const pith_array *none = pith_zeros(in, PITH_I64, PITH_SHAPE(70000));
    return pith_sum(in, pith_segment_max(in, x, none, 1, NULL), PITH_ALL_AXES);
}
PITH_FUNCTION1(max_of_halves_of, max_of_halves, pith_array, pith_array)
PITH_FUNCTION1(segment_max_of_halves_of, segment_max_of_halves, pith_array, pith_array)
Test(conventions, many_equal_halves_share, .init = open_scope) {
    const pith_function *const all[] = {&max_of_halves_of, &segment_max_of_halves_of};
    const pith_array *x = pith_ones(s, PITH_F16, PITH_SHAPE(70000));
    for (int k = 0; k < 2; k++) {
        const pith_array *g = pith_call(s, pith_grad(s, all[k], NULL), PITH_ITEMS(x)),
                         *one = pith_cast(s, pith_slice_at(s, g, 0, 69999), PITH_F64),
                         *t = pith_jvp(s, all[k], PITH_ITEMS(x), x, NULL).tangent;
        pt_ok(s, g && t);
        cr_assert(fabs(pith_read_f64(s, one) - 1. / 70000) < 1e-7, "%g",
                  pith_read_f64(s, one));
        cr_assert(pith_read_f64(s, pith_cast(s, t, PITH_F64)) == 1);
    }
    close_scope();
}

/* ---- Piecewise linear functions have second derivatives 0 ---- */

CONVENTION(median, pith_median(in, x, 0))
CONVENTION(numbers, weigh(in, pith_nan_to_num(in, x)))
Test(conventions, second_derivatives_of_compositions_are_not_cut, .init = open_scope) {
    const pith_array *x = PITH_VECTOR(s, f64, 3, 1, 2, 5);
    const pith_function *const all[] = {&median_of, &numbers_of, &max_of_of};
    for (int k = 0; k < 3; k++) {
        const void *both =
            pith_call(s, pith_hessian_product(s, all[k], NULL), PITH_ITEMS(x, x));
        pt_ok(s, both);
        for (int i = 0; i < 4; i++)
            cr_assert(at(item(both, 1), i) == 0);
    }
    close_scope();
}

CONVENTION(cummax, weigh(in, pith_cummax(in, x, 0, NULL)))
CONVENTION(cummin, weigh(in, pith_cummin(in, x, 0, NULL)))
Test(conventions, the_first_of_equal_running_extremes, .init = open_scope) {
    IS(cummax, LIST(1, 3, 3, 2), LIST(1, 1110, 0, 0));
    IS(cummin, LIST(3, 1, 1, 2), LIST(1, 1110, 0, 0));
    close_scope();
}

CONVENTION(sorted, weigh(in, pith_sort(in, x, 0, NULL)))
Test(conventions, sorts_are_stable, .init = open_scope) {
    IS(sorted, LIST(2, 1, 2, 1), LIST(100, 1, 1000, 10));
    close_scope();
}

/* ---- Kinks ---- */

CONVENTION(magnitude, weigh(in, pith_abs(in, x)))
CONVENTION(hypot_of, pith_hypot(in, part(in, x, 0), part(in, x, 1)))
Test(conventions, kinks_at_0_have_0, .init = open_scope) {
    IS(magnitude, LIST(0, -0.0, 2, -2), LIST(0, 0, 100, -1000));
    IS(hypot_of, LIST(0, 0), LIST(0, 0));
    IS(hypot_of, LIST(3, -4), LIST(0.6, -0.8));
    close_scope();
}

CONVENTION(norm, pith_norm(in, x, 2, PITH_ALL_AXES))
CONVENTION(deviation, pith_std(in, x, PITH_ALL_AXES, 0))
Test(conventions, kinks_of_composed_functions_at_0_have_0, .init = open_scope) {
    IS(norm, LIST(0, 0), LIST(0, 0));
    IS(norm, LIST(3, -4), LIST(0.6, -0.8));
    IS(deviation, LIST(2, 2), LIST(0, 0));
    IS(deviation, LIST(1, 3), LIST(-0.5, 0.5));
    close_scope();
}

/* ---- Borders of domains ---- */

CONVENTION(root, weigh(in, pith_sqrt(in, x)))
CONVENTION(logarithm, weigh(in, pith_log(in, x)))
CONVENTION(angle, pith_atan2(in, part(in, x, 0), part(in, x, 1)))
Test(conventions, borders_have_limits, .init = open_scope) {
    const double infinity = (double)INFINITY;
    IS(root, LIST(0, 4), LIST(infinity, 2.5));
    IS(logarithm, LIST(0, 2), LIST(infinity, 5));
    IS(angle, LIST(0, 0), LIST((double)NAN, (double)NAN));
    close_scope();
}

CONVENTION(power, pith_pow(in, part(in, x, 0), part(in, x, 1)))
Test(conventions, powers_of_and_with_0, .init = open_scope) {
    const double infinity = (double)INFINITY;
    IS(power, LIST(0, 0), LIST(0, -infinity));
    IS(power, LIST(3, 0), LIST(0, log(3)));
    IS(power, LIST(0, 1), LIST(1, 0));
    IS(power, LIST(0, 2), LIST(0, 0));
    IS(power, LIST(0, 0.5), LIST(infinity, 0));
    close_scope();
}

/* ---- Products ---- */

CONVENTION(product, pith_prod(in, x, PITH_ALL_AXES))
CONVENTION(products, weigh(in, pith_cumprod(in, x, 0, NULL)))
Test(conventions, products_with_zeros_are_exact, .init = open_scope) {
    IS(product, LIST(2, 0, 3), LIST(0, 6, 0));
    IS(product, LIST(2, 0, 0), LIST(0, 0, 0));
    IS(products, LIST(2, 0, 3), LIST(1, 20 + 600, 0));
    close_scope();
}

/* ---- Second derivatives ---- */

static const pith_function *twice_of;
static const pith_array *
product_with(pith_scope *in, const pith_array *x, const pith_array *t) {
    const pith_array *g = pith_call(in, pith_grad(in, twice_of, NULL), PITH_ITEMS(x));
    return pith_sum(in, pith_mul(in, g, t), PITH_ALL_AXES);
}
PITH_FUNCTION2(product_with_of, product_with, pith_array, pith_array, pith_array)

/* The Hessian of f at x along t, by forward over reverse and by reverse over reverse. */
static void hessian_is(const pith_function *f,
                       const double x[2],
                       const double t[2],
                       const double wanted[2]) {
    const pith_array *at_x = pith_array_copy(s, PITH_F64, PITH_SHAPE(2), x),
                     *along = pith_array_copy(s, PITH_F64, PITH_SHAPE(2), t);
    const void *both =
        pith_call(s, pith_hessian_product(s, f, NULL), PITH_ITEMS(at_x, along));
    pt_ok(s, both);
    twice_of = f;
    pith_jit_clear(rt);
    const pith_array *reverse =
        pith_call(s, pith_grad(s, &product_with_of, NULL), PITH_ITEMS(at_x, along));
    pt_ok(s, reverse);
    for (int k = 0; k < 2; k++) {
        same(f->name, k, at(item(both, 1), k), wanted[k]);
        same(f->name, k, at(reverse, k), wanted[k]);
    }
}
#define HESSIAN_IS(name, x, t, ...)                                                      \
    hessian_is(&name##_of, (const double[])x, (const double[])t,                         \
               (const double[])__VA_ARGS__)

CONVENTION(log_of_sum, pith_logaddexp(in, part(in, x, 0), part(in, x, 1)))
Test(conventions, second_derivatives_of_powers, .init = open_scope) {
    HESSIAN_IS(power, LIST(2, 0), LIST(0, 1), LIST(0.5, log(2) * log(2)));
    HESSIAN_IS(power, LIST(2, 0), LIST(1, 0), LIST(0, 0.5));
    HESSIAN_IS(power, LIST(0, 2), LIST(1, 0), LIST(2, 0));
    HESSIAN_IS(power, LIST(0, 3), LIST(1, 1), LIST(0, 0));
    close_scope();
}
/* Forward over reverse and reverse over reverse agree also where a rule chooses. */
Test(conventions, second_derivatives_where_rules_choose, .init = open_scope) {
    HESSIAN_IS(hypot_of, LIST(0, 0), LIST(1, 1), LIST(0, 0));
    HESSIAN_IS(log_of_sum, LIST((double)INFINITY, 1), LIST(1, 1), LIST(0, 0));
    close_scope();
}
