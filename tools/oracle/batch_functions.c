/* Functions of the family batch, of one entry each. */
#include "oracle.h"

static const pith_array *item(const void *tuple, int64_t k) {
    return pith_child(tuple, k);
}

static const void *pair(pith_scope *s, const pith_array *a, const pith_array *b) {
    return pith_tuple_make(s, PITH_ITEMS(a, b));
}

/* ---- Elementwise functions and products ---- */

ORACLE_DERIVED(mul_add) {
    out[0] = pith_add(s, pith_mul(s, in[0], in[1]), 1.0);
}
ORACLE_DERIVED(matvec) {
    out[0] = pith_matmul(s, in[0], in[1]);
}
ORACLE_DERIVED(outer) {
    out[0] = pith_mul(s, pith_expand_dims(s, in[0], PITH_AXES(1)),
                      pith_expand_dims(s, in[1], PITH_AXES(0)));
}
ORACLE_DERIVED(einsum) {
    out[0] = pith_einsum(s, "ij,jk,k->i", 3, in);
}
ORACLE_DERIVED(where) {
    out[0] = pith_where(s, in[0], in[1], in[2]);
}
ORACLE_DERIVED(constant) {
    (void)in;
    out[0] = pith_f64(s, 7);
}
ORACLE_DERIVED(tree) {
    out[0] = pith_add(s, in[0], in[1]);
    out[1] = pith_sub(s, in[0], in[1]);
}

static const pith_array *
quadratic(pith_scope *s, const pith_array *x, const pith_array *a) {
    return pith_sum(s, pith_mul(s, a, pith_mul(s, x, x)), PITH_ALL_AXES);
}
PITH_FUNCTION2(quadratic_of, quadratic, pith_array, pith_array, pith_array)
ORACLE_DERIVED(grad_quadratic) {
    out[0] = pith_apply(s, pith_grad(s, &quadratic_of, NULL), in[1], in[0]);
}

/* ---- Shapes ---- */

ORACLE_DERIVED(transpose_flip) {
    out[0] = pith_flip(s, pith_transpose(s, in[0], NULL), PITH_AXES(0));
}
ORACLE_DERIVED(concat) {
    out[0] = pith_concatenate(s, 2, in, 0);
}
ORACLE_DERIVED(pad) {
    out[0] = pith_pad(s, in[0], pith_f64(s, 9), 1, &(pith_padding){.low = 1, .high = 2});
}
ORACLE_DERIVED(reshape) {
    out[0] = pith_reshape(s, in[0], PITH_SHAPE(3, 2));
}
ORACLE_DERIVED(broadcast) {
    out[0] = pith_broadcast_to(s, in[0], PITH_SHAPE(2, 3));
}

/* ---- Reductions and orders ---- */

ORACLE_DERIVED(sum_0) {
    out[0] = pith_sum(s, in[0], PITH_AXES(0));
}
ORACLE_DERIVED(all_axes) {
    out[0] = pith_sum(s, in[0], PITH_ALL_AXES);
}
ORACLE_DERIVED(reduce_keep) {
    out[0] = pith_mean(s, in[0], PITH_AXES_KEPT(1));
}
ORACLE_DERIVED(max_and_argmax) {
    out[0] = pith_max(s, in[0], PITH_ALL_AXES);
    out[1] = pith_argmax(s, in[0], PITH_ALL_AXES);
}
ORACLE_DERIVED(sort) {
    out[0] = pith_sort(s, in[0], -1, NULL);
}
ORACLE_DERIVED(argsort) {
    out[0] = pith_argsort(s, in[0], -1, NULL);
}
ORACLE_DERIVED(cumsum_reverse) {
    out[0] = pith_cumsum(s, in[0], 0, &(pith_cumulative_options){.reverse = true});
}
ORACLE_DERIVED(cummax) {
    out[0] = pith_cummax(s, in[0], 0, NULL);
}
ORACLE_DERIVED(top_k) {
    const pith_top top = pith_top_k(s, in[0], 2);
    out[0] = top.values;
    out[1] = pith_cast(s, top.indices, PITH_I64);
}
ORACLE_DERIVED(searchsorted) {
    out[0] = pith_cast(s, pith_search_sorted(s, in[0], in[1], NULL), PITH_I64);
}
ORACLE_DERIVED(segment_sum) {
    out[0] = pith_segment_sum(s, in[0], in[1], 3, NULL);
}

/* ---- Indices ---- */

ORACLE_DERIVED(gather) {
    out[0] = pith_take(s, in[0], in[1], NULL);
}
ORACLE_DERIVED(gather_fill) {
    static const double fill = -1;
    out[0] = pith_take(s, in[0], in[1],
                       &(pith_take_options){.mode = PITH_INDEX_FILL, .fill = &fill});
}
ORACLE_DERIVED(scatter_add) {
    out[0] = pith_scatter_add(s, in[0], in[1], in[2], NULL);
}
ORACLE_DERIVED(scatter_set) {
    out[0] = pith_scatter_set(s, in[0], in[1], in[2], NULL);
}
ORACLE_DERIVED(dynamic_slice) {
    const pith_array *start = pith_reshape(s, in[1], PITH_SHAPE(1));
    out[0] = pith_dynamic_slice(s, in[0], start, PITH_SHAPE(2));
}
ORACLE_DERIVED(dynamic_update) {
    const pith_array *start = pith_reshape(s, in[2], PITH_SHAPE(1));
    out[0] = pith_dynamic_update_slice(s, in[0], in[1], start);
}

/* ---- Draws ---- */

static const pith_random_options partitionable = {.layout = PITH_RANDOM_PARTITIONABLE};
ORACLE_DERIVED(uniform) {
    out[0] = pith_random_uniform(s, in[0], PITH_F32, PITH_SHAPE(3), 0, 1, &partitionable);
}
ORACLE_DERIVED(split) {
    out[0] = pith_random_split(s, in[0], PITH_SHAPE(2), &partitionable);
}

/* ---- Branches ---- */

static const pith_array *twice(pith_scope *s, const pith_array *x) {
    return pith_mul(s, x, 2.0);
}
static const pith_array *plus_100(pith_scope *s, const pith_array *x) {
    return pith_add(s, x, 100.0);
}
static const pith_array *same(pith_scope *s, const pith_array *x) {
    (void)s;
    return x;
}
static const pith_array *negative(pith_scope *s, const pith_array *x) {
    return pith_neg(s, x);
}
static const pith_array *squared(pith_scope *s, const pith_array *x) {
    return pith_mul(s, x, x);
}
PITH_FUNCTION1(twice_of, twice, pith_array, pith_array)
PITH_FUNCTION1(plus_100_of, plus_100, pith_array, pith_array)
PITH_FUNCTION1(same_of, same, pith_array, pith_array)
PITH_FUNCTION1(negative_of, negative, pith_array, pith_array)
PITH_FUNCTION1(squared_of, squared, pith_array, pith_array)

ORACLE_DERIVED(cond) {
    out[0] = pith_cond(s, in[0], &twice_of, &plus_100_of, in[1]);
}
ORACLE_DERIVED(switch_branch) {
    const pith_function *const branches[] = {&same_of, &negative_of, &squared_of};
    out[0] = pith_switch(s, in[0], 3, branches, in[1]);
}

/* ---- Loops ---- */

static const pith_array *
is_below(pith_scope *s, const void *state, const pith_array *limit) {
    return pith_less(s, item(state, 0), limit);
}
static const void *double_and_count(pith_scope *s, const void *state) {
    return pair(s, pith_add(s, pith_mul(s, item(state, 0), 2.0), 1.0),
                pith_add(s, item(state, 1), 1));
}
PITH_FUNCTION2(is_below_of, is_below, pith_array, void, pith_array)
PITH_FUNCTION1(double_and_count_of, double_and_count, void, void)

ORACLE_DERIVED(while_below) {
    const void *last = pith_while(s, pith_partial(s, &is_below_of, in[1]),
                                  &double_and_count_of, pair(s, in[0], pith_i64(s, 0)));
    out[0] = last ? item(last, 0) : NULL;
    out[1] = last ? item(last, 1) : NULL;
}

static const pith_array *is_not_1(pith_scope *s, const void *state) {
    return pith_not_equal(s, item(state, 0), 1);
}
static const void *collatz_step(pith_scope *s, const void *state) {
    const pith_array *n = item(state, 0);
    const pith_array *even = pith_equal(s, pith_remainder(s, n, 2), 0);
    const pith_array *next = pith_where(s, even, pith_floor_divide(s, n, 2),
                                        pith_add(s, pith_mul(s, n, 3), 1));
    return pair(s, next, pith_add(s, item(state, 1), 1));
}
PITH_FUNCTION1(is_not_1_of, is_not_1, pith_array, void)
PITH_FUNCTION1(collatz_step_of, collatz_step, void, void)

ORACLE_DERIVED(collatz) {
    const void *last =
        pith_while(s, &is_not_1_of, &collatz_step_of, pair(s, in[0], pith_i64(s, 0)));
    out[0] = last ? item(last, 1) : NULL;
}

static const pith_array *
add_index(pith_scope *s, const pith_array *i, const pith_array *x) {
    return pith_add(s, x, pith_cast(s, i, PITH_F64));
}
PITH_FUNCTION2(add_index_of, add_index, pith_array, pith_array, pith_array)

ORACLE_DERIVED(fori) {
    const pith_array *none = pith_sub(s, in[0], in[0]);
    out[0] = pith_fori_between(s, none, in[0], &add_index_of, in[1]);
}

typedef struct {
    const void *carry, *out;
} Step;
PITH_NODE(Step, PITH_TREE(carry), PITH_TREE(out))

static const Step *twice_plus(pith_scope *s, const pith_array *c, const pith_array *t) {
    const pith_array *next = pith_add(s, pith_mul(s, c, 2.0), t);
    return pith_record(s, Step, .carry = next, .out = next);
}
PITH_FUNCTION2(twice_plus_of, twice_plus, Step, pith_array, pith_array)

ORACLE_DERIVED(scan) {
    const void *all = NULL;
    out[0] = pith_scan(s, &twice_plus_of, in[0], in[1], &all, NULL);
    out[1] = all;
}

/* ---- The table ---- */

#define MAPPED_AS(name, f, count)                                                        \
    { .op = name, .run = oracle_batch, .function = f, .outputs = count }
#define MAPPED(f, count) MAPPED_AS(#f, f, count)

const oracle_row oracle_batches[] = {
    MAPPED(mul_add, 1),
    MAPPED(matvec, 1),
    MAPPED_AS("matmul", matvec, 1),
    MAPPED(outer, 1),
    MAPPED(einsum, 1),
    MAPPED(where, 1),
    MAPPED(constant, 1),
    MAPPED(tree, 2),
    MAPPED(grad_quadratic, 1),
    MAPPED(transpose_flip, 1),
    MAPPED(concat, 1),
    MAPPED(pad, 1),
    MAPPED(reshape, 1),
    MAPPED(broadcast, 1),
    MAPPED(sum_0, 1),
    MAPPED(all_axes, 1),
    MAPPED(reduce_keep, 1),
    MAPPED(max_and_argmax, 2),
    MAPPED(sort, 1),
    MAPPED(argsort, 1),
    MAPPED(cumsum_reverse, 1),
    MAPPED(cummax, 1),
    MAPPED(top_k, 2),
    MAPPED(searchsorted, 1),
    MAPPED(segment_sum, 1),
    MAPPED(gather, 1),
    MAPPED(gather_fill, 1),
    MAPPED(scatter_add, 1),
    MAPPED(scatter_set, 1),
    MAPPED(dynamic_slice, 1),
    MAPPED(dynamic_update, 1),
    MAPPED(uniform, 1),
    MAPPED(split, 1),
    MAPPED(cond, 1),
    MAPPED_AS("switch", switch_branch, 1),
    MAPPED_AS("while", while_below, 2),
    MAPPED(collatz, 1),
    MAPPED(fori, 1),
    MAPPED(scan, 2),
    {.op = NULL},
};
