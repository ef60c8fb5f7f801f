/* Functions of numbers that a batch may have, whose batches by JAX are in
 * jax_batches.def; jax_batches.py has the same functions for JAX. */
#ifndef PITH_TESTS_JAX_BATCHED_H
#define PITH_TESTS_JAX_BATCHED_H

#include "jax_loops.h"

/* Numbers as integers, rounded down. */
static const pith_array *jax_number(pith_scope *in, const pith_array *y) {
    return pith_cast(in, pith_floor(in, y), PITH_I64);
}
static const pith_array *sum_all(pith_scope *in, const pith_array *x) {
    return pith_sum(in, x, PITH_ALL_AXES);
}

/* ---- Indices ---- */

/* Parameter: axis. */
JAX(taken_at) {
    static const double zero = 0;
    return pith_take(in, c->x, jax_number(in, c->y),
                     &(pith_take_options){.axis = c->p[0], .fill = &zero});
}
JAX(added_at) {
    return pith_scatter_add(in, c->x, jax_number(in, c->z), c->y, NULL);
}
JAX(set_at) {
    const pith_array *first = jax_number(in, element(in, c->z, 0)),
                     *steps = pith_arange(in, PITH_I64, pith_array_spec(c->y)->shape[0]);
    return pith_scatter_set(in, c->x, pith_add(in, first, pith_mul(in, steps, 2)), c->y,
                            &(pith_scatter_options){.unique = true});
}
JAX(sliced_at) {
    return pith_dynamic_slice(in, c->x, jax_number(in, c->y), jax_shape(c, 0, c->count));
}
JAX(updated_at) {
    return pith_dynamic_update_slice(in, c->x, c->y, jax_number(in, c->z));
}
JAX(segments_at) {
    return pith_segment_sum(in, c->x, jax_number(in, c->y), c->p[0], NULL);
}
JAX(searched) {
    const pith_array *at =
        pith_search_sorted(in, pith_sort(in, c->x, 0, NULL), c->y, NULL);
    return pith_cast(in, at, pith_array_spec(c->y)->dtype);
}

/* ---- Branches ---- */

static const void *both_of(pith_scope *in, const jax_call *c) {
    return pith_tuple_make(in, PITH_ITEMS(c->x, c->y));
}
static const pith_array *sine_product(pith_scope *in, const void *both) {
    return pith_mul(in, pith_sin(in, part(both, 0)), part(both, 1));
}
static const pith_array *square_less(pith_scope *in, const void *both) {
    return pith_sub(in, pith_square(in, part(both, 0)), part(both, 1));
}
PITH_FUNCTION1(sine_product_of, sine_product, pith_array, void)
PITH_FUNCTION1(square_less_of, square_less, pith_array, void)
JAX(chosen_by) {
    return pith_cond(in, above(in, c->y, 0), &sine_product_of, &square_less_of,
                     both_of(in, c));
}

ARRAY(root_added, pith_add(in, pith_sqrt(in, sum_all(in, x)), x))
ARRAY(reciprocal_times,
      pith_mul(in,
               pith_reciprocal(in, pith_sub(in, number(in, x, 1), sum_all(in, x))),
               x))
JAX(rooted) {
    return pith_cond(in, above(in, c->x, 0), &root_added_of, &reciprocal_times_of, c->x);
}

ARRAY(two, filled_like(in, x, 2))
JAX(switched_by) {
    const pith_function *const branches[] = {&itself_of, &sine_of, &reversed_of, &two_of};
    return pith_switch(in, jax_number(in, c->y), 4, branches, c->x);
}

/* ---- Loops ---- */

static const pith_array *
half_step(pith_scope *in, const pith_array *i, const pith_array *a) {
    (void)i;
    return pith_add(in, pith_sin(in, a), pith_mul(in, a, number(in, a, 0.5)));
}
PITH_FUNCTION2(half_step_of, half_step, pith_array, pith_array, pith_array)
JAX(counted_by) {
    return pith_fori_between(in, pith_i64(in, 0), jax_number(in, c->y), &half_step_of,
                             c->x);
}

ARRAY(half, pith_mul(in, x, number(in, x, 0.5)))
static const pith_array *
exceeds(pith_scope *in, const pith_array *a, const pith_array *limit) {
    return pith_greater(in, sum_all(in, pith_square(in, a)), limit);
}
PITH_FUNCTION2(exceeds_of, exceeds, pith_array, pith_array, pith_array)
JAX(halved) {
    const pith_array *limit =
        pith_add(in, sum_all(in, pith_square(in, c->y)), number(in, c->y, 0.5));
    return pith_while(in, pith_partial(in, &exceeds_of, limit), &half_of, c->x);
}

ARRAY(halved_alone,
      pith_while(in, pith_partial(in, &exceeds_of, number(in, x, 0.5)), &half_of, x))
ARRAY(negated, pith_neg(in, x))
JAX(loop_in_branch) {
    return pith_cond(in, above(in, c->y, 0), &halved_alone_of, &negated_of, c->x);
}

ARRAY(quarter, pith_mul(in, x, number(in, x, 0.25)))
static const pith_array *first_quarter(pith_scope *in, const void *both) {
    return quarter(in, part(both, 0));
}
PITH_FUNCTION1(first_quarter_of, first_quarter, pith_array, void)
static const pith_array *branch_step(pith_scope *in,
                                     const pith_array *i,
                                     const pith_array *a,
                                     const pith_array *y) {
    (void)i;
    return pith_cond(in, pith_greater(in, sum_all(in, a), sum_all(in, y)),
                     &first_quarter_of, &plus_of, pith_tuple_make(in, PITH_ITEMS(a, y)));
}
PITH_FUNCTION3(branch_step_of,
               branch_step,
               pith_array,
               pith_array,
               pith_array,
               pith_array)
JAX(branch_in_loop) {
    return pith_fori(in, 0, c->p[0], pith_partial(in, &branch_step_of, c->y), c->x);
}

static const Step *row_step(pith_scope *in, const pith_array *c, const pith_array *t) {
    return step_of(in, FORMULA("c * t + sin(t)", {"c", c}, {"t", t}), pith_add(in, c, t));
}
PITH_FUNCTION2(row_step_of, row_step, Step, pith_array, pith_array)
JAX(summed_rows) {
    const void *out;
    const pith_array *carry = pith_scan(in, &row_step_of, c->x, c->y, &out,
                                        &(pith_loop_options){.reverse = c->p[0] != 0});
    return joined(in, 2, (const pith_array *[]){row(in, carry), out});
}

static const pith_array *
wave_product(pith_scope *in, const pith_array *x, const pith_array *y) {
    return sum_all(in, pith_mul(in, pith_mul(in, pith_sin(in, x), y), x));
}
PITH_FUNCTION2(wave_product_of, wave_product, pith_array, pith_array, pith_array)
JAX(gradient_of) {
    return pith_call(in, pith_grad(in, &wave_product_of, NULL), PITH_ITEMS(c->x, c->y));
}

#endif
