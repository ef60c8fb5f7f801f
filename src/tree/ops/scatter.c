/* Rows set in every leaf of a tree, with the options that its records ask for. */
#include "tree/tree_internal.h"

/* Options of a call or a record above, and what a record asks for where they are silent.
 */
static pith_scatter_options merged(const pith_scatter_options *given,
                                   const pith_scatter_options *record) {
    pith_scatter_options o = *given;
    if (o.mode == PITH_INDEX_DEFAULT)
        o.mode = record->mode;
    o.unique |= record->unique;
    o.sorted |= record->sorted;
    o.unordered |= record->unordered;
    return o;
}

static bool asks(const pithp_structure *t) {
    bool found = false;
    for (int64_t i = 0; i < t->token_count && !found; i++)
        if (pithp_token_kind(t->tokens[i]) == PITHP_TOKEN_NODE) {
            const pith_type *type = pithp_token_shape(t->tokens[i])->type;
            found = type && type->scatter_args;
        }
    return found;
}

/* The options of the leaf that the walk is at: those of the records around it, the
 * outermost first, below those of the call. */
static pith_scatter_options options_at(const pithp_walk *w,
                                       const pith_scatter_options *call) {
    pith_scatter_options o = *call;
    for (int64_t i = 0; i < w->depth; i++) {
        const pith_type *type = w->frames[i].shape->type;
        if (!type || !type->scatter_args)
            continue;
        /* Every pointer to a struct has one representation. */
        const pith_scatter_options record =
            ((pith_scatter_options(*)(const void *))type->scatter_args)(
                w->frames[i].node);
        o = merged(&o, &record);
    }
    return o;
}

static pith_status set_leaf(pith_scope *s,
                            const pithp_forest *forest,
                            int64_t i,
                            const pith_array *index,
                            const pith_scatter_options *options) {
    const pith_array *made =
        pith_scatter_set(pithp_on_behalf(s), forest->first.items[i], index,
                         pithp_forest_items(forest, 1)[i], options);
    if (!made)
        pithp_item_prefix(s, &forest->first.structure, i);
    forest->first.items[i] = made;
    return s->error.code;
}

/* The leaves of the first tree with rows of the second's. */
static pith_status set_leaves(pith_scope *s,
                              const pithp_forest *forest,
                              const pith_array *index,
                              const pith_scatter_options *call) {
    const pithp_structure *t = &forest->first.structure;
    pith_status rc = PITH_OK;
    if (!asks(t)) {
        for (int64_t i = 0; i < t->item_count && rc == PITH_OK; i++)
            rc = set_leaf(s, forest, i, index, call);
        return rc;
    }
    pithp_walk w;
    pithp_visit visit;
    int64_t i = 0;
    pithp_walk_begin(&w, s->runtime, forest->root);
    while (rc == PITH_OK && pithp_walk_next(&w, &visit))
        if (visit == PITHP_VISIT_LEAF) {
            const pith_scatter_options o = options_at(&w, call);
            rc = set_leaf(s, forest, i++, index, &o);
        }
    if (w.failed)
        rc = pithp_fail_memory(s, (size_t)w.room * sizeof *w.frames);
    pithp_walk_end(&w);
    return rc;
}

static const void *scatter_set(pith_scope *s,
                               const void *into,
                               const pith_array *index,
                               const void *rows,
                               const pith_scatter_options *options) {
    static const char *const name = "pith_tree_scatter_set";
    static const pith_scatter_options defaults;
    if (pithp_array_check(s, index, name, "index") != PITH_OK)
        return NULL;
    const void *trees[] = {into, rows};
    pithp_forest forest;
    if (pithp_forest_make(s, &forest,
                          &(pithp_trees){.function = name, .count = 2, .at = trees}) !=
        PITH_OK)
        return NULL;
    const void *made = NULL;
    if (pithp_array_spec(index)->count == 0)
        made = pithp_keep_slots(s, 1, &into) == PITH_OK ? into : NULL;
    else if (set_leaves(s, &forest, index, options ? options : &defaults) == PITH_OK)
        made = pithp_build(s, &forest.first.structure, pithp_owner_of(into),
                           forest.first.items);
    pithp_forest_end(&forest);
    return made;
}

const void *pith_tree_scatter_set(pith_scope *s,
                                  const void *into,
                                  const pith_array *index,
                                  const void *rows,
                                  const pith_scatter_options *options) {
    const void *made = pithp_enter(s) ? scatter_set(s, into, index, rows, options) : NULL;
    return made ? made : pithp_nil_for(into);
}
