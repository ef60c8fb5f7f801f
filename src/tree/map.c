/* Maps: a function applied to the leaves of trees of one structure. */
#include "tree/tree_internal.h"

typedef struct mapping {
    pith_leaf_function function;
    const void *(*whole)(pith_scope *s, const void *const *nodes, void *closure);
    void *closure;
} mapping;

/* Map one item: leaf[k] is the item of tree k. checks: the caller does not check the
 * result. */
static const void *apply(pith_scope *s,
                         const mapping *m,
                         bool picked,
                         bool checks,
                         const pith_array *const *leaf) {
    const char *name = picked ? "result of whole" : "result of function";
    const pithp_call_site call = pithp_user_begins(s);
    const void *made = picked ? m->whole(s, (const void *const *)leaf, m->closure)
                              : (const void *)m->function(s, leaf, m->closure);
    pithp_user_ends(s, call);
    if (PITHP_UNLIKELY(s->error.code != PITH_OK || !pithp_scope_writable(s)))
        return NULL;
    if (PITHP_UNLIKELY(!made)) {
        pithp_fail(s, PITH_E_CALLBACK, NULL, "%s returned NULL without an error",
                   picked ? "whole" : "function");
        return NULL;
    }
    return checks && pithp_tree_check(s, made, "pith_tree_map", name) != PITH_OK ? NULL
                                                                                 : made;
}

/* Whether every tree has a leaf at this item, given that the first one does. */
static bool all_leaves(const pithp_zip *zip, const pith_array *const *leaf) {
    bool leaves = true;
    for (int64_t k = 1; k < zip->count && leaves; k++)
        leaves = leaf[k] && pithp_kind_is_array(leaf[k]);
    return leaves;
}

static pith_status map_items(pith_scope *s,
                             const mapping *m,
                             const pithp_zip *zip,
                             const pith_array **leaf,
                             const pith_array **results) {
    const pithp_structure *t = &zip->first.structure;
    for (int64_t i = 0; i < t->item_count; i++) {
        const pith_array *const *leaves = &zip->first.items[i];
        if (zip->count > 1) {
            leaf[0] = zip->first.items[i];
            for (int64_t k = 1; k < zip->count; k++)
                leaf[k] = pithp_zip_items(zip, k)[i];
            leaves = leaf;
        }
        const bool picked = !t->specs[i] || (t->picked && !all_leaves(zip, leaves));
        results[i] = apply(s, m, picked, t->picked, leaves);
        if (PITHP_UNLIKELY(!results[i])) {
            pithp_item_prefix(s, t, i);
            return s->error.code;
        }
    }
    return PITH_OK;
}

const void *pith_tree_map(pith_scope *s,
                          pith_leaf_function function,
                          void *closure,
                          int64_t count,
                          const void *const *trees,
                          const pith_map_options *options) {
    const void *nil = count > 0 && trees ? pithp_nil_for(trees[0]) : NULL;
    if (!pithp_enter(s))
        return nil;
    const mapping m = {function, options ? options->whole : NULL, closure};
    const pithp_is_leaf is_leaf = options ? options->is_leaf : NULL;
    const bool up_to = options && options->up_to;
    if (!function || ((is_leaf || up_to) && !m.whole)) {
        pithp_fail(s, PITH_E_ARG, NULL, "pith_tree_map: %s",
                   !function ? "function is NULL"
                   : is_leaf ? "is_leaf is given without whole"
                             : "up_to is given without whole");
        return nil;
    }
    pithp_zip zip;
    if (pithp_zip_make(s, &zip,
                       &(pithp_trees){.function = "pith_tree_map",
                                      .count = count,
                                      .at = trees,
                                      .is_leaf = is_leaf,
                                      .closure = closure,
                                      .up_to = up_to}) != PITH_OK)
        return nil;
    pithp_structure *t = &zip.first.structure;
    t->picked |= up_to; /* results may be any trees */
    const size_t bytes = (size_t)(t->item_count + count) * sizeof(void *);
    const pith_array **results = pithp_scratch_allocate(s->runtime, bytes);
    const void *made = NULL;
    if (!results)
        pithp_fail_memory(s, bytes);
    else if (map_items(s, &m, &zip, results + t->item_count, results) == PITH_OK)
        made = pithp_build(s, t, pithp_owner_of(trees[0]), results);
    pithp_scratch_release(s->runtime, results, bytes);
    pithp_zip_end(&zip);
    return made ? made : nil;
}
