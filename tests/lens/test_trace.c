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
    const High *high =
        pith_lens_set_i64(s, PITH_LENS(High, low->steps), root(s, x), 9, NULL);
    const int64_t steps = pith_lens_get_i64(s, PITH_LENS(High, low->steps), high);
    return pith_mul(s, x[0], pith_like(s, x[0], (double)steps));
}

Test(lens_trace, gets_sets_and_applies_as_at_once) {
    pt_same_traced(get);
    pt_same_traced(set);
    pt_same_traced(apply);
    pt_same_traced(static_field);
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
