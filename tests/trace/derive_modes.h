/* A function of an array to a float of rank 0 in every mode: gradients against
 * differences, the other modes against gradients, and the same bits when compiled. */
#ifndef PITH_TESTS_DERIVE_MODES_H
#define PITH_TESTS_DERIVE_MODES_H

#include "derive_test.h"

/* A direction like x. */
static PT_UNUSED const pith_array *direction_like(const pith_array *x) {
    const pith_spec *spec = pith_array_spec(x);
    double t[DERIVE_MOST];
    pith_shape shape = {.rank = spec->rank};
    memcpy(shape.extents, spec->shape, sizeof shape.extents);
    for (int64_t i = 0; i < spec->count; i++)
        t[i] = 0.25 * (double)((7 * i + 3) % 11 - 5) + 0.125;
    return pith_array_copy(s, PITH_F64, shape, t);
}
static PT_UNUSED double product_of_arrays(const pith_array *a, const pith_array *b) {
    return pith_read_f64(s, pith_sum(s, pith_mul(s, a, b), PITH_ALL_AXES));
}
static PT_UNUSED void
alike(const char *f, const char *what, double got, double wanted, double bound) {
    cr_assert(fabs(got - wanted) <= bound * (1 + fabs(wanted)),
              "%s, %s: %.17g, expected %.17g", f, what, got, wanted);
}

/* The product of the gradient of f with a direction. */
static const pith_function *modes_of;
static PT_UNUSED const pith_array *
modes_slope(pith_scope *in, const pith_array *x, const pith_array *t) {
    const pith_array *g = pith_call(in, pith_grad(in, modes_of, NULL), PITH_ITEMS(x));
    return pith_sum(in, pith_mul(in, g, t), PITH_ALL_AXES);
}
PITH_FUNCTION2(modes_slope_of, modes_slope, pith_array, pith_array, pith_array)
static PT_UNUSED const pith_array *
modes_push(pith_scope *in, const pith_array *x, const pith_array *t) {
    return pith_jvp(in, modes_of, PITH_ITEMS(x), t, NULL).tangent;
}
PITH_FUNCTION2(modes_push_of, modes_push, pith_array, pith_array, pith_array)

static PT_UNUSED void
second_order(const pith_function *f, const pith_array *x, const pith_array *t) {
    const pith_spec *spec = pith_array_spec(x);
    const void *both = pith_call(s, pith_hessian_product(s, f, NULL), PITH_ITEMS(x, t));
    pt_ok(s, both);
    modes_of = f;
    pith_jit_clear(rt); /* the functions below differ by f alone */
    const pith_array *reverse = pith_call(s, pith_grad(s, &modes_slope_of, NULL),
                                          PITH_ITEMS(x, t)),
                     *mixed = pith_call(s, pith_grad(s, &modes_push_of, NULL),
                                        PITH_ITEMS(x, t));
    pt_ok(s, reverse && mixed);
    for (int64_t i = 0; i < spec->count; i++) {
        const double wanted = at(item(both, 1), i);
        alike(f->name, "second by differences", wanted,
              slope(&modes_slope_of, x, i, 2, t), 1e-7);
        alike(f->name, "reverse over reverse", at(reverse, i), wanted, 1e-12);
        alike(f->name, "reverse over forward", at(mixed, i), wanted, 1e-12);
    }
    pith_jit_clear(rt);
}

static PT_UNUSED void in_every_mode(const pith_function *f, const pith_array *x) {
    const pith_spec *spec = pith_array_spec(x);
    const pith_array *t = direction_like(x);
    const pith_array *value = pith_call(s, f, PITH_ITEMS(x));
    const void *both = pith_call(s, pith_value_and_grad(s, f, NULL), PITH_ITEMS(x));
    pt_ok(s, value && both);
    const pith_array *g = item(both, 1);
    alike(f->name, "value", at(item(both, 0), 0), at(value, 0), 1e-13);
    for (int64_t i = 0; i < spec->count; i++)
        alike(f->name, "differences", at(g, i), slope(f, x, i, 1), 1e-8);
    const pith_pushed y = pith_jvp(s, f, PITH_ITEMS(x), t, NULL);
    pt_ok(s, y.tangent);
    alike(f->name, "forward", at(y.tangent, 0), product_of_arrays(g, t), 1e-12);
    const pith_linearized l = pith_linearize(s, f, PITH_ITEMS(x), NULL),
                          v = pith_vjp(s, f, PITH_ITEMS(x), NULL);
    pt_ok(s, l.map && v.map);
    cr_assert(pith_tree_equal(s, pith_call(s, l.map, PITH_ITEMS(t)), y.tangent), "%s",
              f->name);
    cr_assert(pith_tree_equal(s, pith_call(s, v.map, PITH_ITEMS(pith_f64(s, 1))), g),
              "%s", f->name);
    const pith_function *compiled = pith_jit(s, f, NULL),
                        *again = pith_jit(s, pith_grad(s, compiled, NULL), NULL);
    for (int k = 0; k < 2; k++)
        cr_assert(pith_tree_equal(s, pith_call(s, again, PITH_ITEMS(x)), g), "%s",
                  f->name);
    second_order(f, x, t);
    pt_ok(s);
}

/* ---- Small functions ---- */

static PT_UNUSED const pith_array *some_x(void) {
    return PITH_VECTOR(s, f64, 0.5, -1.25, 2, 0.75);
}
static PT_UNUSED const pith_array *total(pith_scope *in, const pith_array *x) {
    return pith_sum(in, x, PITH_ALL_AXES);
}

/* FUNCTION(name, expression of x): name_of is a function of an array. */
#define FUNCTION(name, ...)                                                              \
    static const pith_array *name(pith_scope *in, const pith_array *x) {                 \
        (void)in, (void)x;                                                               \
        return __VA_ARGS__;                                                              \
    }                                                                                    \
    PITH_FUNCTION1(name##_of, name, pith_array, pith_array)
#define IN(text, ...) pith_expression(in, text, PITH_BIND(__VA_ARGS__))

#endif
