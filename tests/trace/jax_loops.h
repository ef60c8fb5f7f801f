/* Functions with branches, loops, rules and recomputation whose derivatives by JAX are in
 * jax_derivatives.def; jax_derivatives.py has the same functions for JAX. */
#ifndef PITH_TESTS_JAX_LOOPS_H
#define PITH_TESTS_JAX_LOOPS_H

#include "jax_operations.h"

#include <string.h>

/* ARRAY(name, expression of x): the function name_of of an array. */
#define ARRAY(name, ...)                                                                 \
    static const pith_array *name(pith_scope *in, const pith_array *x) {                 \
        (void)in, (void)x;                                                               \
        return __VA_ARGS__;                                                              \
    }                                                                                    \
    PITH_FUNCTION1(name##_of, name, pith_array, pith_array)
#define FORMULA(text, ...) pith_expression(in, text, PITH_BIND(__VA_ARGS__))

static const pith_array *number(pith_scope *in, const pith_array *like, double n) {
    return pith_cast(in, pith_f64(in, n), pith_array_spec(like)->dtype);
}
static const pith_array *filled_like(pith_scope *in, const pith_array *like, double n) {
    const pith_spec *spec = pith_array_spec(like);
    pith_shape shape = {.rank = spec->rank};
    memcpy(shape.extents, spec->shape, sizeof shape.extents);
    return pith_broadcast_to(in, number(in, like, n), shape);
}
static const pith_array *part(const void *tree, int64_t k) {
    return pith_child(tree, k);
}
static const pith_array *
joined(pith_scope *in, int64_t count, const pith_array *const *a) {
    return pith_concatenate(in, count, a, 0);
}
/* As a row. */
static const pith_array *row(pith_scope *in, const pith_array *x) {
    return pith_expand_dims(in, x, PITH_AXES(0));
}
static const pith_array *element(pith_scope *in, const pith_array *x, int64_t k) {
    return pith_slice_at(in, x, 0, k);
}
static const pith_array *above(pith_scope *in, const pith_array *x, double n) {
    return pith_greater(in, pith_sum(in, x, PITH_ALL_AXES), number(in, x, n));
}

typedef struct {
    const void *carry, *out;
} Step;
PITH_NODE(Step, PITH_TREE(carry), PITH_TREE(out))
static const Step *step_of(pith_scope *in, const void *carry, const void *out) {
    return pith_record(in, Step, .carry = carry, .out = out);
}

/* ---- Branches ---- */

ARRAY(sine_times, pith_mul(in, pith_sin(in, x), x))
ARRAY(cube, pith_mul(in, pith_mul(in, x, x), x))
JAX(chosen) {
    return pith_cond(in, pith_bool(in, c->p[0] == 1), &sine_times_of, &cube_of, c->x);
}
ARRAY(far_root, pith_sqrt(in, pith_sub(in, x, number(in, x, 100))))
ARRAY(twice, pith_add(in, x, x))
JAX(safe) {
    return pith_cond(in, above(in, c->x, 100), &far_root_of, &twice_of, c->x);
}
ARRAY(exponential, pith_exp(in, x))
ARRAY(squared, pith_square(in, x))
ARRAY(tangent_of_x, pith_tanh(in, x))
ARRAY(inner_branch,
      pith_cond(in,
                pith_greater(in, element(in, x, 0), number(in, x, 0)),
                &exponential_of,
                &squared_of,
                x))
ARRAY(other_branch,
      pith_cond(in,
                pith_greater(in, element(in, x, 1), number(in, x, 0)),
                &tangent_of_x_of,
                &inner_branch_of,
                x))
JAX(nested) {
    return pith_cond(in, above(in, c->x, c->p[0]), &inner_branch_of, &other_branch_of,
                     c->x);
}
ARRAY(itself, x)
ARRAY(three, filled_like(in, x, 3))
ARRAY(sine, pith_sin(in, x))
ARRAY(reversed, pith_mul(in, pith_flip(in, x, PITH_ALL_AXES), x))
JAX(switched) {
    const pith_function *const branches[] = {&itself_of, &three_of, &sine_of,
                                             &reversed_of};
    return pith_switch(in, pith_i64(in, c->p[0]), 4, branches, c->x);
}

/* ---- Scans ---- */

static const Step *sum_step(pith_scope *in, const pith_array *c, const pith_array *r) {
    return step_of(in, FORMULA("c * r + sin(c)", {"c", c}, {"r", r}), pith_add(in, c, c));
}
PITH_FUNCTION2(sum_step_of, sum_step, Step, pith_array, pith_array)
JAX(scan_sum) {
    const void *out;
    const pith_array *carry = pith_scan(in, &sum_step_of, c->x, c->y, &out,
                                        &(pith_loop_options){.reverse = c->p[0] != 0});
    return joined(in, 2, (const pith_array *[]){row(in, carry), out});
}

static const Step *
constant_step(pith_scope *in, const void *c, const pith_array *r, const pith_array *x) {
    const pith_array *a = part(c, 0), *i = part(c, 1),
                     *n = pith_cast(in, i, pith_array_spec(x)->dtype);
    const pith_array *next =
        FORMULA("a + x * r * n", {"a", a}, {"x", x}, {"r", r}, {"n", n});
    return step_of(in, pith_tuple_make(in, PITH_ITEMS(next, pith_add(in, i, 1))),
                   pith_mul(in, a, x));
}
PITH_FUNCTION3(constant_step_of, constant_step, Step, void, pith_array, pith_array)
JAX(scan_constant) {
    const void *out,
        *carry =
            pith_tuple_make(in, PITH_ITEMS(filled_like(in, c->x, 0), pith_i64(in, 1)));
    carry =
        pith_scan(in, pith_partial(in, &constant_step_of, c->x), carry, c->y, &out, NULL);
    return carry ? joined(in, 2, (const pith_array *[]){row(in, part(carry, 0)), out})
                 : NULL;
}

static const Step *
later_step(pith_scope *in, const void *c, const pith_array *r, const pith_array *x) {
    const pith_array *last = pith_add(in, pith_mul(in, part(c, 2), r), x);
    return step_of(in, pith_tuple_make(in, PITH_ITEMS(part(c, 1), part(c, 2), last)),
                   part(c, 0));
}
PITH_FUNCTION3(later_step_of, later_step, Step, void, pith_array, pith_array)
JAX(scan_fixpoint) {
    const pith_array *z = filled_like(in, c->x, 0);
    const void *out,
        *carry = pith_scan(in, pith_partial(in, &later_step_of, c->x),
                           pith_tuple_make(in, PITH_ITEMS(z, z, z)), c->y, &out, NULL);
    return carry ? joined(in, 4,
                          (const pith_array *[]){row(in, part(carry, 0)),
                                                 row(in, part(carry, 1)),
                                                 row(in, part(carry, 2)), out})
                 : NULL;
}

static const Step *pass_step(pith_scope *in, const pith_array *c, const pith_array *r) {
    return step_of(in, c, pith_tuple_make(in, PITH_ITEMS(r, c)));
}
PITH_FUNCTION2(pass_step_of, pass_step, Step, pith_array, pith_array)
JAX(scan_forward) {
    const void *out;
    const pith_array *carry = pith_scan(in, &pass_step_of, c->x, c->y, &out, NULL);
    return carry ? joined(
                       in, 3,
                       (const pith_array *[]){row(in, carry), part(out, 0), part(out, 1)})
                 : NULL;
}

static const pith_array *
turn_step(pith_scope *in, const pith_array *a, const void *none, const pith_array *r) {
    (void)none;
    return pith_mul(in, pith_sin(in, a), r);
}
PITH_FUNCTION3(turn_step_of, turn_step, pith_array, pith_array, void, pith_array)
static int scan_length;
static const Step *outer_step(pith_scope *in, const pith_array *c, const pith_array *r) {
    const pith_array *last = c;
    if (scan_length)
        last = pith_scan(in, pith_partial(in, &turn_step_of, r), c, NULL, NULL,
                         &(pith_loop_options){.length = scan_length});
    return step_of(in, last, pith_mul(in, last, c));
}
PITH_FUNCTION2(outer_step_of, outer_step, Step, pith_array, pith_array)
JAX(scan_scan) {
    const void *out;
    scan_length = c->p[0];
    const pith_array *carry = pith_scan(in, &outer_step_of, c->x, c->y, &out, NULL);
    return joined(in, 2, (const pith_array *[]){row(in, carry), out});
}

static const pith_array *times_both(pith_scope *in, const void *both) {
    return pith_mul(in, part(both, 0), part(both, 1));
}
static const pith_array *plus_both(pith_scope *in, const void *both) {
    return pith_add(in, part(both, 0), part(both, 1));
}
PITH_FUNCTION1(times_of, times_both, pith_array, void)
PITH_FUNCTION1(plus_of, plus_both, pith_array, void)
static const pith_array *
choose_step(pith_scope *in, const pith_array *c, const pith_array *r) {
    const pith_array *t = element(in, r, 0);
    return pith_cond(in, pith_greater(in, t, number(in, t, 0)), &times_of, &plus_of,
                     pith_tuple_make(in, PITH_ITEMS(c, t)));
}
PITH_FUNCTION2(choose_step_of, choose_step, pith_array, pith_array, pith_array)
JAX(scan_cond) {
    return pith_scan(in, &choose_step_of, c->x, c->y, NULL, NULL);
}

static const pith_array *miss(pith_scope *in, const pith_array *a, const pith_array *r) {
    const pith_array *d = pith_sub(in, pith_mul(in, a, r), number(in, a, 1));
    return pith_sum(in, pith_square(in, d), PITH_ALL_AXES);
}
PITH_FUNCTION2(miss_of, miss, pith_array, pith_array, pith_array)
static const pith_array *
descent_step(pith_scope *in, const pith_array *a, const pith_array *r) {
    const pith_array *g = pith_call(in, pith_grad(in, &miss_of, NULL), PITH_ITEMS(a, r));
    return pith_sub(in, a, pith_mul(in, g, number(in, g, 0.125)));
}
PITH_FUNCTION2(descent_step_of, descent_step, pith_array, pith_array, pith_array)
JAX(scan_gradient) {
    return pith_scan(in, &descent_step_of, c->x, c->y, NULL, NULL);
}

/* ---- Counted loops and others ---- */

static const pith_array *
count_step(pith_scope *in, const pith_array *i, const pith_array *a) {
    const pith_array *n = pith_cast(in, i, pith_array_spec(a)->dtype);
    return pith_add(in, pith_sin(in, a),
                    pith_mul(in, pith_mul(in, a, number(in, a, 0.25)), n));
}
PITH_FUNCTION2(count_step_of, count_step, pith_array, pith_array, pith_array)
JAX(counted) {
    return pith_fori(in, c->p[0], c->p[1], &count_step_of, c->x);
}

static const pith_array *below(pith_scope *in, const void *state, const pith_array *n) {
    return pith_less(in, part(state, 0), n);
}
PITH_FUNCTION2(below_of, below, pith_array, void, pith_array)
static const void *newton_step(pith_scope *in, const void *state, const pith_array *x) {
    const pith_array *a = part(state, 1);
    a = pith_mul(in, FORMULA("a + x * x / a", {"a", a}, {"x", x}), number(in, x, 0.5));
    return pith_tuple_make(in, PITH_ITEMS(pith_add(in, part(state, 0), 1), a));
}
PITH_FUNCTION2(newton_step_of, newton_step, void, void, pith_array)
static const void *grow_step(pith_scope *in, const void *state, const pith_array *x) {
    return pith_tuple_make(in,
                           PITH_ITEMS(pith_add(in, part(state, 0), 1), part(state, 2),
                                      part(state, 3), pith_mul(in, x, part(state, 3))));
}
PITH_FUNCTION2(grow_step_of, grow_step, void, void, pith_array)
/* While the number that is item 0 of the state is below n. */
static const void *
repeated(pith_scope *in, const pith_function *step, const jax_call *c, const void *init) {
    return pith_while(in, pith_partial(in, &below_of, pith_i64(in, c->p[0])),
                      pith_partial(in, step, c->x), init);
}
JAX(while_newton) {
    const void *last = repeated(
        in, &newton_step_of, c,
        pith_tuple_make(in, PITH_ITEMS(pith_i64(in, 0), filled_like(in, c->x, 1))));
    return last ? part(last, 1) : NULL;
}
JAX(while_growing) {
    const pith_array *z = filled_like(in, c->x, 1);
    const void *last = repeated(
        in, &grow_step_of, c, pith_tuple_make(in, PITH_ITEMS(pith_i64(in, 0), z, z, z)));
    return last ? joined(
                      in, 3,
                      (const pith_array *[]){part(last, 1), part(last, 2), part(last, 3)})
                : NULL;
}
ARRAY(below_hundred, pith_less(in, pith_sum(in, x, PITH_ALL_AXES), number(in, x, 100)))
ARRAY(doubled, pith_add(in, pith_add(in, x, x), number(in, x, 1)))
JAX(while_until) {
    return pith_while(in, &below_hundred_of, &doubled_of, c->x);
}

/* ---- Rules and recomputation ---- */

typedef struct {
    const void *value, *tangent;
} Pushed;
PITH_NODE(Pushed, PITH_TREE(value), PITH_TREE(tangent))
typedef struct {
    const void *value, *residual;
} Kept;
PITH_NODE(Kept, PITH_TREE(value), PITH_TREE(residual))

ARRAY(bump, pith_mul(in, x, pith_exp(in, pith_neg(in, pith_square(in, x)))))
static const pith_function *bump_rule(pith_scope *in);
ARRAY(ruled_bump, pith_call(in, bump_rule(in), PITH_ITEMS(x)))
/* Three times its slope. */
static const Pushed *push_bump(pith_scope *in, const pith_array *x, const pith_array *t) {
    const pith_array *y = ruled_bump(in, x),
                     *e = pith_exp(in, pith_neg(in, pith_square(in, x)));
    const pith_array *slope = pith_sub(in, e, pith_mul(in, pith_add(in, x, x), y));
    return pith_record(in, Pushed, .value = y,
                       .tangent = pith_mul(in, pith_mul(in, t, number(in, t, 3)), slope));
}
PITH_FUNCTION2(push_bump_of, push_bump, Pushed, pith_array, pith_array)
static const pith_function *bump_rule(pith_scope *in) {
    return pith_custom_jvp(in, &bump_of, &push_bump_of);
}

static const Kept *keep_square(pith_scope *in, const pith_array *x) {
    return pith_record(in, Kept, .value = pith_mul(in, x, x), .residual = x);
}
static const pith_array *
pull_square(pith_scope *in, const pith_array *x, const pith_array *ct) {
    const pith_array *clipped =
        pith_clip(in, ct, number(in, ct, -0.5), number(in, ct, 0.5));
    return pith_mul(in, pith_add(in, clipped, clipped), x);
}
PITH_FUNCTION1(keep_square_of, keep_square, Kept, pith_array)
PITH_FUNCTION2(pull_square_of, pull_square, pith_array, pith_array, pith_array)

static const pith_array *
bump_step(pith_scope *in, const pith_array *i, const pith_array *a) {
    (void)i;
    return pith_add(in, ruled_bump(in, a), a);
}
static const pith_array *
clipped_step(pith_scope *in, const pith_array *i, const pith_array *a) {
    const pith_function *f =
        pith_custom_vjp(in, &squared_of, &keep_square_of, &pull_square_of);
    (void)i;
    return pith_mul(in, pith_call(in, f, PITH_ITEMS(a)), number(in, a, 0.5));
}
ARRAY(layer, pith_mul(in, pith_sin(in, pith_cumsum(in, x, 0, NULL)), x))
static const pith_array *
layer_step(pith_scope *in, const pith_array *i, const pith_array *a) {
    (void)i;
    return pith_call(in, pith_recompute(in, &layer_of, NULL), PITH_ITEMS(a));
}
PITH_FUNCTION2(bump_step_of, bump_step, pith_array, pith_array, pith_array)
PITH_FUNCTION2(clipped_step_of, clipped_step, pith_array, pith_array, pith_array)
PITH_FUNCTION2(layer_step_of, layer_step, pith_array, pith_array, pith_array)
JAX(rule_loop) {
    return pith_fori(in, 0, c->p[0], &bump_step_of, c->x);
}
JAX(rule_clip) {
    return pith_fori(in, 0, c->p[0], &clipped_step_of, c->x);
}
JAX(remat_loop) {
    return pith_fori(in, 0, c->p[0], &layer_step_of, c->x);
}
ARRAY(bump_of_sine, ruled_bump(in, pith_sin(in, x)))
JAX(rule_branch) {
    return pith_cond(in, pith_bool(in, c->p[0] == 1), &bump_of_sine_of, &itself_of, c->x);
}
ARRAY(two_bumps, ruled_bump(in, pith_cumsum(in, ruled_bump(in, x), 0, NULL)))
JAX(remat_rule) {
    return pith_call(in, pith_recompute(in, &two_bumps_of, NULL), PITH_ITEMS(c->x));
}

#endif
