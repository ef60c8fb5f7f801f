/* Operations on trees with traced leaves. */
#include "trace_test.h"

static const void *pair(pith_scope *s, const pith_array *a, const pith_array *b) {
    return pith_list_make(s, PITH_ITEMS(a, b));
}

static const void *stack(pith_scope *s, const pith_array *const *x) {
    const void *trees[2] = {pair(s, x[0], x[1]), pair(s, x[2], x[3])};
    return pith_tree_stack(s, 2, trees);
}
static const void *concat(pith_scope *s, const pith_array *const *x) {
    const void *trees[2] = {pair(s, x[0], x[1]), pair(s, x[2], x[3])};
    return pith_tree_concat(s, 2, trees, -1);
}
static const void *kahan(pith_scope *s, const pith_array *const *x) {
    const void *trees[2] = {pair(s, x[0], x[1]), pair(s, x[2], x[3])};
    return pith_tree_kahan_sum(s, 2, trees, NULL, NULL);
}
static const pith_array *
add_up(pith_scope *s, const pith_array *so_far, const pith_array *leaf, void *closure) {
    (void)closure;
    return pith_add(s, so_far, pith_sum(s, leaf, PITH_ALL_AXES));
}
static const void *reduce(pith_scope *s, const pith_array *const *x) {
    return pith_tree_reduce(s, add_up, NULL, pair(s, x[0], x[2]), NULL);
}

typedef struct {
    const pith_array *x, *y;
    int64_t n;
} Rows;
PITH_NODE(Rows,
          PITH_LEAF(x, "f64[n,3]", .fill = 7),
          PITH_LEAF(y, "f32[n,3]", .fill = -1),
          PITH_STATIC(n))

static const void *resized(pith_scope *s, const pith_array *const *x, int64_t n) {
    const Rows *rows = pith_freeze(s, Rows, &(Rows){x[0], x[1], 2});
    Rows next = *rows;
    next.n = n;
    return pith_tree_resize(s, Rows, &next, &(pith_resize_options){.shrink = true});
}
static const void *grow(pith_scope *s, const pith_array *const *x) {
    return resized(s, x, 5);
}
static const void *shrink(pith_scope *s, const pith_array *const *x) {
    return resized(s, x, 1);
}

static const void *slice(pith_scope *s, const pith_array *const *x) {
    return pith_tree_slice(s, pair(s, x[0], x[1]), 2,
                           (pith_slice[]){PITH_WHOLE, PITH_SLICE(2, INT64_MIN, -2)});
}
static const void *split(pith_scope *s, const pith_array *const *x) {
    const void *const *parts = pith_tree_split(s, pair(s, x[0], x[1]), 3, 1);
    return parts ? pith_list_make(s, PITH_ITEMS(parts[0], parts[1], parts[2])) : NULL;
}
static const pith_array *places(pith_scope *s, const pith_array *x) {
    return pith_cast(s, pith_slice_at(s, x, 1, 0), PITH_I32); /* traced too */
}
static const void *take(pith_scope *s, const pith_array *const *x) {
    return pith_tree_take(s, pair(s, x[1], x[2]), places(s, x[0]), NULL);
}
static const void *scatter(pith_scope *s, const pith_array *const *x) {
    const pith_array *index = pith_arange(s, PITH_I32, 2);
    return pith_tree_scatter_set(s, pair(s, x[0], x[1]), index, pair(s, x[2], x[3]),
                                 NULL);
}
static const void *where(pith_scope *s, const pith_array *const *x) {
    const pith_array *condition =
        pith_greater(s, pith_slice_at(s, x[0], 1, 0), pith_like(s, x[0], 1));
    return pith_tree_where_broadcast_last(s, condition, pair(s, x[0], x[1]),
                                          pair(s, x[2], x[3]));
}

Test(trace, parts_are_taken_and_set) {
    pt_same_traced(slice);
    pt_same_traced(split);
    pt_same_traced(take);
    pt_same_traced(scatter);
}
Test(trace, leaves_are_chosen) {
    pt_same_traced(where);
}
Test(trace, records_grow_and_shrink) {
    pt_same_traced(grow);
    pt_same_traced(shrink);
}
Test(trace, trees_are_stacked) {
    pt_same_traced(stack);
}
Test(trace, trees_are_concatenated) {
    pt_same_traced(concat);
}
Test(trace, trees_are_summed_with_compensation) {
    pt_same_traced(kahan);
}
Test(trace, trees_are_folded) {
    pt_same_traced(reduce);
}

/* What reads elements refuses them, and expressions are recorded. */
Test(trace, other_operations_name_the_leaf) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    pithp_trace *t = pithp_trace_begin(s);
    const pith_array *x =
        pithp_trace_input(s, t, pithp_spec(s, PITH_F64, 1, (int64_t[]){4}));
    const void *list = pith_list_make(s, PITH_ITEMS(x, pith_square(s, x)));
    pt_ok(s, list);
    pt_fails(PITH_E_TRACED, s,
             pith_tree_equal(s, list, pith_list_make(s, PITH_ITEMS(x, x))));
    const void *squares = pith_tree_map_expression(s, "a * a", 1, &list, 0, NULL);
    pt_ok(s, squares);
    cr_assert(pith_is_traced(pith_child(squares, 0)));
    pithp_program_release(pithp_trace_end(s, t));
    pith_scope_close(s);
    pt_close(rt);
}
