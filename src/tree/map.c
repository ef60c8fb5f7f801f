/* Maps: a function over the leaves of trees of one structure. The first tree is gathered
 * with what the predicate picks; the others are read along it. */
#include "tree/tree_internal.h"

#include <stdio.h>
#include <string.h>

/* ---- Several trees of one structure ---- */

/* Read a tree along a structure that has picked nodes: what lies at its items. */
static pith_status gather_along(pith_scope *s,
                                const pithp_structure *t,
                                const void *tree,
                                const pith_array **items,
                                bool *same) {
    pithp_walk w;
    pithp_visit visit = PITHP_VISIT_LEAVE;
    int64_t token = 0, run = 0, item = 0;
    *same = true;
    pithp_walk_begin(&w, s->runtime, tree);
    while (*same && pithp_walk_next(&w, &visit)) {
        if (visit == PITHP_VISIT_LEAVE)
            continue;
        const int kind = token < t->token_count ? pithp_token_kind(t->tokens[token]) : -1;
        if (kind == PITHP_TOKEN_NODE) {
            *same = visit == PITHP_VISIT_ENTER &&
                    pithp_shape_same_node(pithp_shape_of(w.node),
                                          pithp_token_shape(t->tokens[token]));
            token++;
            continue;
        }
        if (kind == PITHP_TOKEN_PICKED) {
            if (visit == PITHP_VISIT_ENTER) {
                pithp_walk_skip(&w);
                pithp_walk_next(&w, &visit);
            }
            items[item++] = w.node;
        } else if (kind == PITHP_TOKEN_LEAVES && visit == PITHP_VISIT_LEAF) {
            items[item++] = w.node;
        } else {
            *same = kind == PITHP_TOKEN_ABSENT && visit == PITHP_VISIT_ABSENT;
        }
        if (++run == pithp_token_run(t->tokens[token]))
            token++, run = 0;
    }
    const bool failed = w.failed;
    *same &= token == t->token_count;
    pithp_walk_end(&w);
    return failed ? pithp_fail_memory(s, (size_t)w.room * sizeof *w.frames) : PITH_OK;
}

static pith_status gather_other(pith_scope *s,
                                const pithp_structure *t,
                                const void *tree,
                                const pith_array **items,
                                bool *same) {
    if (t->picked)
        return gather_along(s, t, tree, items, same);
    pithp_flat f;
    const pith_status rc = pithp_flat_make(s, &f, tree, NULL, NULL);
    if (rc != PITH_OK)
        return rc;
    *same = pithp_structure_same(t, &f.structure);
    if (*same)
        memcpy(items, f.items, (size_t)t->item_count * sizeof *items);
    pithp_flat_end(&f);
    return PITH_OK;
}

static pith_status read_other(pith_scope *s,
                              const pithp_structure *t,
                              const void *tree,
                              int64_t k,
                              const pith_array **items,
                              const char *function) {
    char of[96];
    snprintf(of, sizeof of, "%s: tree %lld against tree 0", function, (long long)k);
    return pithp_read_up_to(s, t, tree, (const void **)items, of);
}

static pith_status check_trees(pith_scope *s,
                               const char *function,
                               int64_t count,
                               const void *const *trees) {
    if (count < 1 || !trees)
        return pithp_fail(s, PITH_E_ARG, NULL, "%s: %s", function,
                          trees ? "there are no trees" : "trees is NULL");
    for (int64_t k = 0; k < count; k++) {
        char name[32];
        snprintf(name, sizeof name, "trees[%lld]", (long long)k);
        const pith_status rc = pithp_tree_check(s, trees[k], function, name);
        if (rc != PITH_OK)
            return rc;
    }
    return PITH_OK;
}

static pith_status gather_matched(pith_scope *s,
                                  pithp_forest *forest,
                                  const char *function,
                                  int64_t count,
                                  const void *const *trees,
                                  pithp_is_leaf is_leaf,
                                  void *closure,
                                  bool up_to);

/* match: records that have a match hook are brought into line first. */
static pith_status gather(pith_scope *s,
                          pithp_forest *forest,
                          const char *function,
                          int64_t count,
                          const void *const *trees,
                          pithp_is_leaf is_leaf,
                          void *closure,
                          bool up_to,
                          bool match) {
    pith_status rc = pithp_flat_make(s, &forest->first, trees[0], is_leaf, closure);
    if (rc != PITH_OK)
        return rc;
    if (match && count > 1 && forest->first.structure.matches) {
        pithp_flat_end(&forest->first);
        return gather_matched(s, forest, function, count, trees, is_leaf, closure, up_to);
    }
    forest->root = trees[0];
    const pithp_structure *t = &forest->first.structure;
    forest->count = count;
    forest->others = NULL;
    forest->bytes = (size_t)t->item_count * sizeof *forest->others;
    if (pithp_mul_overflows(forest->bytes, (size_t)count - 1, &forest->bytes))
        forest->bytes = SIZE_MAX;
    if (count > 1) {
        forest->others = pithp_scratch_allocate(s->runtime, forest->bytes);
        if (!forest->others)
            rc = pithp_fail_memory(s, forest->bytes);
    }
    for (int64_t k = 1; k < count && rc == PITH_OK; k++) {
        bool same = true;
        if (trees[k] == trees[0])
            memcpy(pithp_forest_items(forest, k), forest->first.items,
                   (size_t)t->item_count * sizeof *forest->others);
        else if (up_to)
            rc = read_other(s, t, trees[k], k, pithp_forest_items(forest, k), function);
        else
            rc = gather_other(s, t, trees[k], pithp_forest_items(forest, k), &same);
        if (rc == PITH_OK && !same) {
            char of[96];
            snprintf(of, sizeof of, "%s: tree %lld against tree 0", function,
                     (long long)k);
            rc = pithp_differences_fail(s, trees[0], trees[k], of, is_leaf, closure);
        }
    }
    if (rc != PITH_OK)
        pithp_forest_end(forest);
    return rc;
}

pith_status pithp_forest_gather(pith_scope *s,
                                pithp_forest *forest,
                                const char *function,
                                int64_t count,
                                const void *const *trees,
                                pithp_is_leaf is_leaf,
                                void *closure,
                                bool up_to) {
    return gather(s, forest, function, count, trees, is_leaf, closure, up_to, false);
}

static pith_status gather_matched(pith_scope *s,
                                  pithp_forest *forest,
                                  const char *function,
                                  int64_t count,
                                  const void *const *trees,
                                  pithp_is_leaf is_leaf,
                                  void *closure,
                                  bool up_to) {
    const size_t bytes = (size_t)count * sizeof(void *);
    const void **aligned = pithp_scratch_allocate(s->runtime, bytes);
    if (!aligned)
        return pithp_fail_memory(s, bytes);
    pith_status rc =
        pithp_match_trees(s, function, count, trees, is_leaf, closure, up_to, aligned);
    if (rc == PITH_OK)
        rc = pithp_forest_gather(s, forest, function, count, aligned, is_leaf, closure,
                                 up_to);
    pithp_scratch_release(s->runtime, aligned, bytes);
    return rc;
}

/* up_to: the others may have any tree at the first one's leaves. */
static pith_status make_forest(pith_scope *s,
                               pithp_forest *forest,
                               const char *function,
                               int64_t count,
                               const void *const *trees,
                               pithp_is_leaf is_leaf,
                               void *closure,
                               bool up_to) {
    const pith_status rc = check_trees(s, function, count, trees);
    if (rc != PITH_OK)
        return rc;
    return gather(s, forest, function, count, trees, is_leaf, closure, up_to, true);
}

pith_status pithp_forest_make(pith_scope *s,
                              pithp_forest *forest,
                              const char *function,
                              int64_t count,
                              const void *const *trees,
                              pithp_is_leaf is_leaf,
                              void *closure) {
    return make_forest(s, forest, function, count, trees, is_leaf, closure, false);
}

void pithp_forest_end(pithp_forest *forest) {
    if (forest->others)
        pithp_scratch_release(forest->first.rt, forest->others, forest->bytes);
    pithp_flat_end(&forest->first);
}

/* ---- The map ---- */

typedef struct mapping {
    pith_leaf_function function;
    const void *(*whole)(pith_scope *s, const void *const *nodes, void *closure);
    void *closure;
} mapping;

/* What becomes of the items: leaf[k] is the one of the k-th tree. checks: nobody else
 * looks at what was returned. */
static const void *apply(pith_scope *s,
                         const mapping *m,
                         bool picked,
                         bool checks,
                         const pith_array *const *leaf) {
    const char *name = picked ? "result of whole" : "result of function";
    const void *made = picked ? m->whole(s, (const void *const *)leaf, m->closure)
                              : (const void *)m->function(s, leaf, m->closure);
    if (PITHP_UNLIKELY(s->error.code != PITH_OK || !s->open))
        return NULL;
    if (PITHP_UNLIKELY(!made)) {
        pithp_fail(s, PITH_E_CALLBACK, NULL, "%s returned NULL without an error",
                   picked ? "whole" : "function");
        return NULL;
    }
    return checks && pithp_tree_check(s, made, "pith_tree_map", name) != PITH_OK ? NULL
                                                                                 : made;
}

/* Whether every tree has a leaf in a place where the first one does. */
static bool all_leaves(const pithp_forest *forest, const pith_array *const *leaf) {
    bool leaves = true;
    for (int64_t k = 1; k < forest->count && leaves; k++)
        leaves = leaf[k] && pithp_kind_is_array(leaf[k]);
    return leaves;
}

static pith_status map_items(pith_scope *s,
                             const mapping *m,
                             const pithp_forest *forest,
                             const pith_array **leaf,
                             const pith_array **results) {
    const pithp_structure *t = &forest->first.structure;
    for (int64_t i = 0; i < t->item_count; i++) {
        const pith_array *const *leaves = &forest->first.items[i];
        if (forest->count > 1) {
            leaf[0] = forest->first.items[i];
            for (int64_t k = 1; k < forest->count; k++)
                leaf[k] = pithp_forest_items(forest, k)[i];
            leaves = leaf;
        }
        const bool picked = !t->specs[i] || (t->picked && !all_leaves(forest, leaves));
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
                          int count,
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
    pithp_forest forest;
    if (make_forest(s, &forest, "pith_tree_map", count, trees, is_leaf, closure, up_to) !=
        PITH_OK)
        return nil;
    pithp_structure *t = &forest.first.structure;
    t->picked |= up_to; /* results are any trees */
    const size_t bytes = (size_t)(t->item_count + count) * sizeof(void *);
    const pith_array **results = pithp_scratch_allocate(s->runtime, bytes);
    const void *made = NULL;
    if (!results)
        pithp_fail_memory(s, bytes);
    else if (map_items(s, &m, &forest, results + t->item_count, results) == PITH_OK)
        made = pithp_build(s, t, pithp_owner_of(trees[0]), results);
    pithp_scratch_release(s->runtime, results, bytes);
    pithp_forest_end(&forest);
    return made ? made : nil;
}
