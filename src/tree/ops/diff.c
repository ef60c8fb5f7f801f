/* Differences between two trees, per node and leaf, down to the first differing
 * element. */
#include "tree/tree_internal.h"

#include <inttypes.h>
#include <string.h>

typedef struct difference {
    const pithp_flat *a;
    double rtol, atol;
} difference;

static void add_element(pithp_string *t, pith_dtype dtype, const void *element) {
    if (dtype == PITH_BOOL)
        pithp_string_add(t, *(const uint8_t *)element ? "true" : "false");
    else if (pith_dtype_is_float(dtype) && dtype != PITH_F64)
        pithp_string_add_number(t, 9, pithp_dtype_decode(dtype, element));
    else
        pithp_string_add_element(t, dtype, element);
}

/* Read one element of a flat array to the host. */
static pith_status
read_element(pith_scope *s, const pith_array *flat, int64_t place, void *element) {
    const pith_array *one = pith_slice_at(pithp_on_behalf(s), flat, 0, place);
    return one ? pithp_array_read(s, one, element) : s->error.code;
}

/* Print the index of an element, "[2,1]", from its flat position. */
static void add_position(pithp_string *t, const pith_spec *spec, int64_t number) {
    int64_t at[PITH_MAX_RANK];
    for (int32_t d = spec->rank; d-- > 0; number /= spec->shape[d])
        at[d] = number % spec->shape[d];
    pithp_string_add(t, "[");
    for (int32_t d = 0; d < spec->rank; d++)
        pithp_string_print(t, "%s%" PRId64, d ? "," : "", at[d]);
    pithp_string_add(t, "]");
}

/* s is a child scope that owns the temporaries. */
static pith_status compare_values(pith_scope *s,
                                  const difference *d,
                                  const pith_array *a,
                                  const pith_array *b,
                                  pithp_string *text) {
    const pith_spec *spec = pithp_array_spec(a);
    const pith_spec *line = pithp_spec(s, spec->dtype, 1, &spec->count);
    const pith_array *x = line ? pithp_alias(s, a, line) : NULL;
    const pith_array *y = line ? pithp_alias(s, b, line) : NULL;
    const bool near = d->rtol > 0 || d->atol > 0;
    const pith_array *same =
        x && y ? pithp_same_elements(s, x, y, near, d->rtol, d->atol) : NULL;
    if (!same)
        return s->error.code;
    const pith_array *differs = pith_logical_not(pithp_on_behalf(s), same);
    const pith_array *total =
        pith_sum(pithp_on_behalf(s), pith_cast(pithp_on_behalf(s), differs, PITH_I64),
                 PITH_ALL_AXES);
    const int64_t count = pith_read_i64(pithp_on_behalf(s), total);
    if (pith_failed(s) || count == 0)
        return s->error.code;
    const int64_t first = pith_read_i64(
        pithp_on_behalf(s), pith_argmax(pithp_on_behalf(s), differs, PITH_ALL_AXES));
    unsigned char want[8] = {0}, got[8] = {0};
    if (pith_failed(s) || read_element(s, x, first, want) != PITH_OK ||
        read_element(s, y, first, got) != PITH_OK)
        return s->error.code;
    if (spec->rank) {
        pithp_string_print(text, "%" PRId64 " of %" PRId64 " differ, first ", count,
                           spec->count);
        add_position(text, spec, first);
        pithp_string_add(text, ": ");
    }
    pithp_string_add(text, "expected ");
    add_element(text, spec->dtype, want);
    pithp_string_add(text, ", got ");
    add_element(text, spec->dtype, got);
    return PITH_OK;
}

static pith_status compare_leaf(pithp_difference_list *l,
                                int64_t item,
                                const pith_array *b,
                                pithp_string *text) {
    static const char *const name = "pith_tree_diff";
    const difference *d = l->closure;
    const pith_array *a = d->a->items[item];
    if (a == b)
        return PITH_OK;
    if (pithp_array_spec(a) != pithp_array_spec(b)) {
        char want[PITHP_LEAF_TEXT_BYTES], got[PITHP_LEAF_TEXT_BYTES];
        pithp_string_print(text, "expected %s, got %s",
                           pithp_leaf_print(pithp_array_spec(a), want),
                           pithp_leaf_print(pithp_array_spec(b), got));
        return PITH_OK;
    }
    pith_scope *work = pith_scope_open_in(l->s);
    if (!pithp_scope_writable(work))
        return pithp_fail_memory(l->s, PITHP_BLOCK_BYTES);
    if (pithp_array_check(work, a, name, "leaf") == PITH_OK &&
        pithp_array_check(work, b, name, "leaf") == PITH_OK && pithp_array_spec(a)->count)
        compare_values(work, d, a, b, text);
    pith_scope_close(work); /* passes its error to the parent */
    if (l->s->error.code != PITH_OK)
        pithp_item_prefix(l->s, &d->a->structure, item);
    return l->s->error.code;
}

const pith_difference *pith_tree_diff(pith_scope *s,
                                      const void *a,
                                      const void *b,
                                      int64_t *count,
                                      const pith_diff_options *options) {
    static const char *const name = "pith_tree_diff";
    if (count)
        *count = 0;
    if (!pithp_enter(s) || pithp_tree_check(s, a, name, "a") != PITH_OK ||
        pithp_tree_check(s, b, name, "b") != PITH_OK)
        return NULL;
    difference d = {.rtol = options ? options->rtol : 0,
                    .atol = options ? options->atol : 0};
    if (!count || !(d.rtol >= 0 && d.atol >= 0)) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: %s", name,
                   count ? "a tolerance is less than 0" : "count is NULL");
        return NULL;
    }
    pithp_flat f;
    if (pithp_flat_make(s, &f, a, NULL, NULL) != PITH_OK)
        return NULL;
    d.a = &f;
    pithp_difference_list l = {
        .s = s, .most = INT64_MAX, .leaf = compare_leaf, .closure = &d};
    pithp_differences_list(&l, &f.structure, b);
    const pith_difference *made = pithp_differences_give(&l, count);
    pithp_flat_end(&f);
    return made;
}
