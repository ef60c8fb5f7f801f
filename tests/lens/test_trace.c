/* Lenses on trees with traced leaves. */
#include "trace_test.h"

typedef struct {
    const pith_array *x, *y;
    int64_t steps;
} Low;
typedef struct {
    const Low *low;
    const pith_array *z;
} High;
PITH_NODE(Low, PITH_LEAF(x, "any[n,3]"), PITH_LEAF(y, "any[n,3]"), PITH_STATIC(steps))
PITH_NODE(High, PITH_CHILD(low, Low), PITH_LEAF(z, "any[2,3]"))

static const High *root(pith_scope *s, const pith_array *const *x) {
    const Low low = {.x = x[0], .y = x[1], .steps = 7};
    const High high = {.low = pith_freeze(s, Low, &low), .z = x[2]};
    return pith_freeze(s, High, &high);
}

static const void *get(pith_scope *s, const pith_array *const *x) {
    return pith_add(s, pith_lens_get(s, PITH_LENS(High, low->x), root(s, x)), x[2]);
}
static const void *set(pith_scope *s, const pith_array *const *x) {
    const High *high = root(s, x);
    high = pith_lens_set(s, PITH_LENS(High, low->x), high, pith_neg(s, x[0]));
    return pith_lens_set(s, pith_lens_path(s, High_pith_type(), ".low.y"), high, x[3]);
}
static const void *twice(pith_scope *s, const void *part, void *closure) {
    (void)closure;
    return pith_add(s, part, part);
}
static const void *apply(pith_scope *s, const pith_array *const *x) {
    return pith_lens_apply(s, PITH_LENS(High, low->y), root(s, x), twice, NULL);
}
/* Function lenses: a leaf of Low, and one that is computed. */
static const void *get_y(pith_scope *s, const void *root, void *closure) {
    (void)s, (void)closure;
    return ((const Low *)root)->y;
}
static const void *
set_y(pith_scope *s, const void *root, const void *value, void *closure) {
    Low next = *(const Low *)root;
    (void)closure;
    next.y = value;
    return pith_freeze(s, Low, &next);
}
static const void *get_twice(pith_scope *s, const void *root, void *closure) {
    return twice(s, root, closure);
}
static const void *
set_twice(pith_scope *s, const void *root, const void *value, void *closure) {
    (void)root, (void)closure;
    return pith_mul(s, value, pith_like(s, value, 0.5));
}
/* A path, a function, a computed leaf, a row and a static, all of which are independent.
 */
static const pith_lens *merged(pith_scope *s) {
    const pith_lens *low = PITH_LENS(High, low);
    const pith_lens *y =
        pith_lens_nest(s, low, pith_lens_function(s, "y", get_y, set_y, NULL));
    const pith_lens *z =
        pith_lens_nest(s, PITH_LENS(High, z),
                       pith_lens_function(s, "twice", get_twice, set_twice, NULL));
    const pith_lens *row = pith_lens_path(s, High_pith_type(), ".low.x[-1]");
    return pith_lens_merge(s, PITH_LENSES(y, row, z, PITH_LENS(High, low->steps)));
}
static const void *values(pith_scope *s, const pith_array *const *x, int64_t steps) {
    const pith_array *row = pith_slice_at(s, x[0], 0, 1);
    return pith_tuple_make(s, PITH_ITEMS(x[1], row, x[2], pith_i64(s, steps)));
}
static const void *leaves(pith_scope *s, const High *high) {
    return pith_list_make(s, PITH_ITEMS(high->low->x, high->low->y, high->z));
}
static const void *merged_set(pith_scope *s, const pith_array *const *x) {
    return leaves(s, pith_lens_set(s, merged(s), root(s, x), values(s, x, 3)));
}
static const void *merged_set_twice(pith_scope *s, const pith_array *const *x) {
    const pith_array *others[] = {pith_neg(s, x[0]), pith_neg(s, x[1]),
                                  pith_neg(s, x[2])};
    const High *high = pith_lens_set(s, merged(s), root(s, x), values(s, others, 3));
    return leaves(s, pith_lens_set(s, merged(s), high, values(s, x, 4)));
}
static const void *merged_put_back(pith_scope *s, const pith_array *const *x) {
    const High *high = root(s, x);
    return leaves(s,
                  pith_lens_set(s, merged(s), high, pith_lens_get(s, merged(s), high)));
}
static const void *merged_got_again(pith_scope *s, const pith_array *const *x) {
    const High *high = pith_lens_set(s, merged(s), root(s, x), values(s, x, 3));
    const void *got = pith_lens_get(s, merged(s), high);
    return pith_list_make(
        s, PITH_ITEMS(pith_child(got, 0), pith_child(got, 1), pith_child(got, 2)));
}
static const void *merged_values(pith_scope *s, const pith_array *const *x) {
    const void *set = values(s, x, 3);
    return pith_list_make(
        s, PITH_ITEMS(pith_child(set, 0), pith_child(set, 1), pith_child(set, 2)));
}
static const pith_lens *last_rows(pith_scope *s) {
    const pith_array *index =
        pith_array_copy(s, PITH_I32, PITH_SHAPE(1), (int32_t[]){-1});
    return pith_lens_at(s, pith_lens_identity(), index, NULL);
}
static const void *at_get(pith_scope *s, const pith_array *const *x) {
    return pith_lens_get(s, last_rows(s), pith_list_make(s, PITH_ITEMS(x[0], x[2])));
}
static const void *at_set(pith_scope *s, const pith_array *const *x) {
    const void *tree = pith_list_make(s, PITH_ITEMS(x[0], x[2]));
    const pith_lens *rows = last_rows(s);
    const void *taken = pith_lens_get(s, rows, pith_list_make(s, PITH_ITEMS(x[2], x[0])));
    return pith_lens_set(s, rows, tree, taken);
}
static const void *each(pith_scope *s, const pith_array *const *x) {
    const void *pair[] = {root(s, x),
                          root(s, (const pith_array *const[]){x[2], x[3], x[0]})};
    return pith_lens_get(s, pith_lens_path(s, NULL, "[*].low.y"),
                         pith_list_make(s, 2, pair));
}
static const void *static_field(pith_scope *s, const pith_array *const *x) {
    const High *high = pith_lens_set_i64(s, PITH_LENS(High, low->steps), root(s, x), 9);
    const int64_t steps = pith_lens_get_i64(s, PITH_LENS(High, low->steps), high);
    return pith_mul(s, x[0], pith_like(s, x[0], (double)steps));
}

Test(lens_trace, gets_sets_and_applies_as_at_once) {
    pt_same_traced(get);
    pt_same_traced(set);
    pt_same_traced(apply);
    pt_same_traced(static_field);
}
Test(lens_trace, sets_merged_lenses_as_at_once) {
    pt_same_traced(merged_set);
    pt_same_traced(merged_set_twice);
    pt_same_traced(merged_put_back);
    pt_same_traced(merged_got_again);
}

/* The laws, eager; what is traced has the same bits (above). */
Test(lens_trace, merged_lenses_keep_the_laws) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x[3];
    for (int i = 0; i < 3; i++)
        x[i] = pith_add(s, pith_reshape(s, pith_arange(s, PITH_F64, 6), PITH_SHAPE(2, 3)),
                        pith_f64(s, i));
    pt_ok(s, pith_tree_equal(s, merged_got_again(s, x), merged_values(s, x)));
    pt_ok(s, pith_tree_equal(s, merged_put_back(s, x), leaves(s, root(s, x))));
    pt_ok(s, pith_tree_equal(s, merged_set_twice(s, x), merged_set(s, x)));
    pith_scope_close(s);
    pt_close(rt);
}

/* Overlaps are found in a trace as well. */
Test(lens_trace, refuses_merged_lenses_that_overlap) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = pith_zeros(s, PITH_F64, PITH_SHAPE(2, 3));
    pithp_trace *t = pithp_trace_begin(s);
    const pith_array *in = pithp_trace_input(s, t, pith_array_spec(x)),
                     *other = pithp_trace_input(s, t, pith_array_spec(x));
    const High *high = root(s, (const pith_array *const[]){in, in, in});
    const pith_lens *y = pith_lens_nest(s, PITH_LENS(High, low),
                                        pith_lens_function(s, "y", get_y, set_y, NULL));
    const pith_lens *both = pith_lens_merge(s, PITH_LENSES(PITH_LENS(High, low->y), y));
    const void *two = pith_tuple_make(s, PITH_ITEMS(other, in));
    pt_fails(PITH_E_ARG, s, pith_lens_set(s, both, high, two)->low);
    pt_says("'.low.y' and '.low.y()'");
    pithp_program_release(pithp_trace_end(s, t));
    pith_scope_close(s);
    pt_close(rt);
}
Test(lens_trace, takes_and_sets_rows_as_at_once) {
    pt_same_traced(at_get);
    pt_same_traced(at_set);
}
Test(lens_trace, looks_at_each_item_as_at_once) {
    pt_same_traced(each);
}

Test(lens_trace, a_static_takes_no_traced_value) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = pith_zeros(s, PITH_F64, PITH_SHAPE(2, 3));
    const High *high = root(s, (const pith_array *const[]){x, x, x});
    const pith_spec *spec = pith_array_spec(pith_i64(s, 1));
    pithp_trace *t = pithp_trace_begin(s);
    const pith_array *traced = pithp_trace_input(s, t, spec);
    pt_fails(PITH_E_TRACED, s,
             pith_lens_set(s, PITH_LENS(High, low->steps), high, traced)->low);
    pithp_program_release(pithp_trace_end(s, t));
    pith_scope_close(s);
    pt_close(rt);
}
