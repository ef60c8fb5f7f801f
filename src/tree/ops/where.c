/* Selection between the leaves of two trees, by a condition over their first axes. */
#include "tree/tree_internal.h"

#include <string.h>

/* Append axes of extent 1 to the condition, up to a rank. */
static const pith_array *
expanded(pith_scope *s, const pith_array *condition, int32_t rank) {
    const pith_spec *spec = pithp_array_spec(condition);
    int64_t shape[PITH_MAX_RANK];
    if (spec->rank > rank) {
        pithp_fail(s, PITH_E_SHAPE, NULL,
                   "pith_tree_where_broadcast_last: the condition has %d axes, the leaf "
                   "%d",
                   spec->rank, rank);
        return NULL;
    }
    memcpy(shape, spec->shape, (size_t)spec->rank * sizeof *shape);
    for (int32_t i = spec->rank; i < rank; i++)
        shape[i] = 1;
    const pith_spec *to = pithp_spec(s, spec->dtype, rank, shape);
    return to ? pithp_alias(s, condition, to) : NULL;
}

static const pith_array *choose(pith_scope *s,
                                const pith_array *condition,
                                const pith_array *a,
                                const pith_array *b) {
    if (a == b)
        return a;
    const int32_t x = pithp_array_spec(a)->rank, y = pithp_array_spec(b)->rank;
    const pith_array *wide = expanded(s, condition, x > y ? x : y);
    const pith_array *made = wide ? pith_where(pithp_on_behalf(s), wide, a, b) : NULL;
    if (wide)
        pithp_array_drop(s, wide);
    return made;
}

static const void *
where(pith_scope *s, const pith_array *condition, const void *a, const void *b) {
    static const char *const name = "pith_tree_where_broadcast_last";
    if (pithp_operand_check(s, condition, name, "condition") != PITH_OK)
        return NULL;
    if (pithp_array_spec(condition)->dtype != PITH_BOOL) {
        pithp_fail(s, PITH_E_DTYPE, NULL, "%s: condition: expected bool, got %s", name,
                   pith_dtype_name(pithp_array_spec(condition)->dtype));
        return NULL;
    }
    const void *trees[] = {a, b};
    pithp_zip zip;
    if (pithp_zip_make(s, &zip,
                       &(pithp_trees){.function = name, .count = 2, .at = trees}) !=
        PITH_OK)
        return NULL;
    const pithp_structure *t = &zip.first.structure;
    const void *made = NULL;
    bool changed = zip.root != a;
    int64_t i = 0;
    for (; i < t->item_count; i++) {
        const pith_array *leaf = zip.first.items[i];
        zip.first.items[i] = choose(s, condition, leaf, pithp_zip_items(&zip, 1)[i]);
        changed |= zip.first.items[i] != leaf;
        if (!zip.first.items[i]) {
            pithp_item_prefix(s, t, i);
            break;
        }
    }
    if (i == t->item_count && changed)
        made = pithp_build(s, t, pithp_owner_of(a), zip.first.items);
    else if (i == t->item_count)
        made = pithp_keep_slots(s, 1, &a) == PITH_OK ? a : NULL;
    pithp_zip_end(&zip);
    return made;
}

const void *pith_tree_where_broadcast_last(pith_scope *s,
                                           const pith_array *condition,
                                           const void *a,
                                           const void *b) {
    const void *made = pithp_enter(s) ? where(s, condition, a, b) : NULL;
    return made ? made : pithp_nil_for(a);
}
