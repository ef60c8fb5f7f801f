/* Match hooks: align records across several trees before an operation reads their
 * leaves. */
#include "tree/tree_internal.h"

#include <string.h>

/* Picked nodes: the leaves of the map's is_leaf, and records with a match hook. */
typedef struct picking {
    pithp_is_leaf is_leaf;
    void *closure;
} picking;

static bool is_matched(const void *node) {
    return pithp_kind_of(node) == PITHP_KIND_RECORD &&
           pithp_node_def_of(node)->type->match;
}

static bool is_users(const picking *p, const void *node) {
    return p->is_leaf && p->is_leaf(node, p->closure);
}

static bool is_picked(const void *node, void *closure) {
    return is_users(closure, node) || is_matched(node);
}

/* Pass the records at one item to their hook. Every tree must have a record of that type
 * there. */
static pith_status match_nodes(pith_scope *s,
                               const pithp_zip *zip,
                               int64_t item,
                               const char *function,
                               const void **nodes,
                               bool *changed) {
    const pithp_structure *t = &zip->first.structure;
    const pith_type *type = pithp_node_def_of(nodes[0])->type;
    for (int64_t k = 1; k < zip->count; k++)
        if (pith_type_of(nodes[k]) != type) {
            pithp_string what;
            pithp_string_begin(&what, s->runtime);
            pithp_node_describe(&what, nodes[k]);
            pithp_item_fail(s, t, item, PITH_E_STRUCTURE,
                            "expected %s, got %s (%s: tree %lld against tree 0)",
                            type->name, what.bytes, function, (long long)k);
            pithp_string_end(&what);
            return s->error.code;
        }
    /* All pointers to structs have one representation, so a hook declared with T * may be
     * called through void *. */
    const pithp_call_site call = pithp_user_begins(s);
    ((void (*)(pith_scope *, int64_t, const void **))type->match)(s, zip->count, nodes);
    pithp_user_ends(s, call);
    for (int64_t k = 0; k < zip->count && !pith_failed(s); k++) {
        if (pith_type_of(nodes[k]) != type)
            pithp_fail(s, PITH_E_CALLBACK, NULL,
                       "the match hook of %s returned another type for tree %lld",
                       type->name, (long long)k);
        *changed |= nodes[k] != pithp_zip_items(zip, k)[item];
    }
    if (pith_failed(s))
        pithp_item_prefix(s, t, item);
    return s->error.code;
}

static pith_status match_items(pith_scope *s,
                               pithp_zip *zip,
                               const picking *p,
                               const char *function,
                               const void **nodes,
                               bool *changed) {
    const pithp_structure *t = &zip->first.structure;
    for (int64_t i = 0; i < t->item_count; i++) {
        const void *node = zip->first.items[i];
        if (t->specs[i] || is_users(p, node))
            continue;
        for (int64_t k = 0; k < zip->count; k++)
            nodes[k] = pithp_zip_items(zip, k)[i];
        const pith_status rc = match_nodes(s, zip, i, function, nodes, changed);
        if (rc != PITH_OK)
            return rc;
        for (int64_t k = 0; k < zip->count; k++)
            pithp_zip_items(zip, k)[i] = nodes[k];
    }
    return PITH_OK;
}

pith_status
pithp_match_trees(pith_scope *s, const pithp_trees *trees, const void **aligned) {
    picking p = {trees->is_leaf, trees->closure};
    pithp_trees picked = *trees;
    picked.is_leaf = is_picked;
    picked.closure = &p;
    pithp_zip zip;
    pith_status rc = pithp_zip_gather(s, &zip, &picked);
    if (rc != PITH_OK)
        return rc;
    bool changed = false;
    rc = match_items(s, &zip, &p, trees->function, aligned, &changed);
    for (int64_t k = 0; k < trees->count && rc == PITH_OK; k++) {
        aligned[k] = trees->at[k];
        if (!changed)
            continue;
        aligned[k] = pithp_build(s, &zip.first.structure, s, pithp_zip_items(&zip, k));
        rc = s->error.code;
    }
    pithp_zip_end(&zip);
    return rc;
}
