/* The functions that bench_derive.c differentiates. */
#ifndef BENCH_DERIVE_MODELS_H
#define BENCH_DERIVE_MODELS_H

#include "bench.h"
#include "peers/derive.h"

enum { SCAN_STEPS = 1000, LAYERS = 4, CHECKS = 4 };

/* Derivatives are with respect to x. */
typedef struct {
    const void *x, *data;
    int64_t tag; /* changes only the structure */
} Input;
PITH_NODE(Input, PITH_TREE(x), PITH_TREE(data), PITH_STATIC(tag))

static const pith_array *sum_of(pith_scope *s, const pith_array *a) {
    return pith_sum(s, a, PITH_ALL_AXES);
}

static const pith_array *polynomial_at(pith_scope *s, const pith_array *x) {
    static const double coefficients[] = {1.5, -2, 0.25, -1, 3};
    const pith_array *y = pith_mul(s, x, 0.5);
    for (int k = 0; k < 5; k++) {
        y = k ? pith_mul(s, y, x) : y;
        y = pith_add(s, y, coefficients[k]);
    }
    return y;
}
static const pith_array *polynomial(pith_scope *s, const Input *in) {
    return sum_of(s, polynomial_at(s, in->x));
}
PITH_FUNCTION1(polynomial_of, polynomial, pith_array, Input)

static const pith_array *transcendental(pith_scope *s, const Input *in) {
    const pith_array *e = pith_exp(s, pith_sin(s, in->x));
    return sum_of(s, pith_sqrt(s, pith_add(s, e, 1)));
}
PITH_FUNCTION1(transcendental_of, transcendental, pith_array, Input)

/* x: weights and biases in turn. */
static const pith_array *network(pith_scope *s, const Input *in) {
    const pith_array *y = in->data;
    for (int64_t k = 0; k < LAYERS; k++) {
        const pith_array *weight = pith_child(in->x, 2 * k),
                         *bias = pith_child(in->x, 2 * k + 1);
        y = pith_tanh(s, pith_add(s, pith_matmul(s, y, weight), bias));
    }
    return pith_mean(s, pith_square(s, y), PITH_ALL_AXES);
}
PITH_FUNCTION1(network_of, network, pith_array, Input)

/* data: full lists of neighbours, padded with the atom itself. */
static const pith_array *lj(pith_scope *s, const Input *in) {
    const int64_t n = pith_array_spec(in->x)->shape[0];
    const pith_array *near = pith_take(s, in->x, in->data, NULL);
    const pith_array *apart =
        pith_sub(s, pith_reshape(s, in->x, PITH_SHAPE(n, 1, 3)), near);
    const pith_array *boxes = pith_round(s, pith_mul(s, apart, 1 / DERIVE_BOX));
    apart = pith_sub(s, apart, pith_mul(s, boxes, DERIVE_BOX));
    const pith_array *r2 = pith_sum(s, pith_square(s, apart), PITH_AXES(-1));
    const pith_array *counts = pith_logical_and(
        s, pith_greater(s, r2, 0.0), pith_less(s, r2, DERIVE_CUTOFF * DERIVE_CUTOFF));
    const pith_array *over = pith_div(s, 1.0, pith_where(s, counts, r2, 1.0));
    const pith_array *six = pith_mul(s, pith_mul(s, over, over), over);
    const pith_array *pair = pith_mul(s, pith_mul(s, six, pith_sub(s, six, 1.0)), 4.0);
    return pith_mul(s, sum_of(s, pith_where(s, counts, pair, 0.0)), 0.5);
}
PITH_FUNCTION1(lj_of, lj, pith_array, Input)

/* Pendulums: x and their carry are angles and velocities. */
static const void *swing(pith_scope *s, const void *carry, const void *none) {
    (void)none;
    const pith_array *angle = pith_child(carry, 0), *velocity = pith_child(carry, 1);
    velocity = pith_sub(s, velocity, pith_mul(s, pith_sin(s, angle), 0.01));
    angle = pith_add(s, angle, pith_mul(s, velocity, 0.01));
    return pith_list_make(s, PITH_ITEMS(angle, velocity));
}
PITH_FUNCTION2(swing_step, swing, void, void, void)
static const pith_array *scan(pith_scope *s, const Input *in) {
    const void *end = pith_scan(s, &swing_step, in->x, NULL, NULL,
                                &(pith_loop_options){.length = SCAN_STEPS});
    return sum_of(s, pith_square(s, pith_child(end, 0)));
}
PITH_FUNCTION1(scan_of, scan, pith_array, Input)

/* A carry as large as what is kept of a step. */
static const pith_array *drift(pith_scope *s, const pith_array *x, const void *none) {
    (void)none;
    return pith_add(s, x, pith_mul(s, pith_sin(s, x), 0.01));
}
PITH_FUNCTION2(drift_step, drift, pith_array, pith_array, void)
static const pith_array *drifted(pith_scope *s, const Input *in) {
    const pith_array *end = pith_scan(s, &drift_step, in->x, NULL, NULL,
                                      &(pith_loop_options){.length = SCAN_STEPS});
    return sum_of(s, pith_square(s, end));
}
PITH_FUNCTION1(drifted_of, drifted, pith_array, Input)

/* data: an array like x. */
static const pith_array *ten(pith_scope *s, const Input *in) {
    const pith_array *x = in->x, *y = in->data;
    for (int i = 0; i < 4; i++)
        x = pith_add(s, pith_mul(s, x, y), 0.5);
    return sum_of(s, pith_square(s, x));
}
PITH_FUNCTION1(ten_of, ten, pith_array, Input)

/* Calls of a function of 120 operations. */
enum { CALLED = 100 };
static const pith_array *steps(pith_scope *s, const pith_array *x, const pith_array *y) {
    for (int i = 0; i < 40; i++)
        x = pith_add(s, pith_mul(s, pith_sin(s, x), y), 0.5);
    return x;
}
PITH_FUNCTION2(steps_of, steps, pith_array, pith_array, pith_array)
static const pith_function *called_of; /* compiled */
static const pith_array *
call_each(pith_scope *s, const Input *in, const pith_function *f) {
    const pith_array *x = in->x;
    for (int i = 0; i < CALLED; i++)
        x = pith_apply(s, f, x, in->data);
    return sum_of(s, x);
}
static const pith_array *hundred(pith_scope *s, const Input *in) {
    return call_each(s, in, called_of);
}
static const pith_array *hundred_plain(pith_scope *s, const Input *in) {
    return call_each(s, in, &steps_of);
}
PITH_FUNCTION1(hundred_of, hundred, pith_array, Input)
PITH_FUNCTION1(hundred_plain_of, hundred_plain, pith_array, Input)

/* A loss over all leaves of x. */
static const pith_array *leaves(pith_scope *s, const Input *in) {
    const int64_t n = pith_child_count(in->x);
    const pith_array *total = NULL;
    for (int64_t k = 0; k < n; k++) {
        const pith_array *one = sum_of(s, pith_square(s, pith_child(in->x, k)));
        total = total ? pith_add(s, total, one) : one;
    }
    return total;
}
PITH_FUNCTION1(leaves_of, leaves, pith_array, Input)

/* Its gradient by hand. */
static const pith_array *
twice(pith_scope *s, const pith_array *const *leaves, void *closure) {
    (void)closure;
    return pith_mul(s, leaves[0], 2);
}
static const void *leaves_by_hand(pith_scope *s, const Input *in) {
    return pith_tree_map(s, twice, NULL, 1, &in->x, NULL);
}
PITH_FUNCTION1(leaves_gradient, leaves_by_hand, void, Input)

/* A polynomial with checks, or with their predicates alone. */
typedef struct {
    const pith_array *value;
    const void *aux;
} Checked;
PITH_NODE(Checked, PITH_LEAF(value, "f64[]"), PITH_TREE(aux))
static const Checked *checked_as(pith_scope *s, const Input *in, bool checks) {
    const pith_array *y = polynomial_at(s, in->x);
    const void *below[CHECKS];
    for (int k = 0; k < CHECKS; k++) {
        const pith_array *passes =
            pith_all(s, pith_less(s, y, 1e6 * (k + 1)), PITH_ALL_AXES);
        if (checks)
            pith_check(s, passes, "y is below");
        below[k] = passes;
    }
    return pith_record(s, Checked, .value = sum_of(s, y),
                       .aux = pith_list_make(s, CHECKS, below));
}
static const Checked *checked(pith_scope *s, const Input *in) {
    return checked_as(s, in, true);
}
static const Checked *unchecked(pith_scope *s, const Input *in) {
    return checked_as(s, in, false);
}
PITH_FUNCTION1(checked_of, checked, Checked, Input)
PITH_FUNCTION1(unchecked_of, unchecked, Checked, Input)

#endif
