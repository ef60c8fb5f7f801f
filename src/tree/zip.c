/* Zip: parallel traversal of several trees of one structure. The first tree is flattened
 * with the picked nodes of a predicate; the others are matched to its structure. */
#include "tree/tree_internal.h"

#include <stdio.h>
#include <string.h>

/* Read the items of a tree along a structure with picked nodes. */
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
                    pithp_node_def_same_node(pithp_node_def_of(w.node),
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

/* Subject of messages: "pith_tree_map: tree 2 against tree 0". */
typedef struct against {
    char text[96];
} against;

static against against_first(const pithp_trees *trees, int64_t k) {
    against of;
    snprintf(of.text, sizeof of.text, "%s: tree %lld against tree 0", trees->function,
             (long long)k);
    return of;
}

static pith_status check_trees(pith_scope *s, const pithp_trees *trees) {
    if (trees->count < 1 || !trees->at)
        return pithp_fail(s, PITH_E_ARG, NULL, "%s: %s", trees->function,
                          trees->at ? "there are no trees" : "trees is NULL");
    for (int64_t k = 0; k < trees->count; k++) {
        static const char *const first[] = {"trees[0]", "trees[1]", "trees[2]",
                                            "trees[3]"};
        char name[32];
        if (k >= PITHP_COUNT(first)) /* few calls have this many trees */
            snprintf(name, sizeof name, "trees[%lld]", (long long)k);
        const pith_status rc = pithp_tree_check(s, trees->at[k], trees->function,
                                                k < PITHP_COUNT(first) ? first[k] : name);
        if (rc != PITH_OK)
            return rc;
    }
    return PITH_OK;
}

static pith_status allocate_others(pith_scope *s, pithp_zip *zip, int64_t count) {
    zip->count = count;
    zip->others = NULL;
    zip->bytes = (size_t)zip->first.structure.item_count * sizeof *zip->others;
    if (pithp_mul_overflows(zip->bytes, (size_t)count - 1, &zip->bytes))
        zip->bytes = SIZE_MAX;
    if (count == 1)
        return PITH_OK;
    zip->others = zip->bytes <= sizeof zip->few
                      ? zip->few
                      : pithp_scratch_allocate(s->runtime, zip->bytes);
    return zip->others ? PITH_OK : pithp_fail_memory(s, zip->bytes);
}

/* Read the k-th tree. */
static pith_status
read_other(pith_scope *s, pithp_zip *zip, const pithp_trees *trees, int64_t k) {
    const pithp_structure *t = &zip->first.structure;
    const pith_array **items = pithp_zip_items(zip, k);
    if (trees->at[k] == trees->at[0]) {
        memcpy(items, zip->first.items, (size_t)t->item_count * sizeof *items);
        return PITH_OK;
    }
    const against of = against_first(trees, k);
    if (trees->up_to)
        return pithp_read_up_to(s, t, trees->at[k], (const void **)items, of.text);
    bool same = true;
    const pith_status rc = gather_other(s, t, trees->at[k], items, &same);
    return rc != PITH_OK || same
               ? rc
               : pithp_differences_fail(s, trees->at[0], trees->at[k], of.text,
                                        trees->is_leaf, trees->closure);
}

/* Read all trees after the first. */
static pith_status
gather_others(pith_scope *s, pithp_zip *zip, const pithp_trees *trees) {
    zip->root = trees->at[0];
    pith_status rc = allocate_others(s, zip, trees->count);
    for (int64_t k = 1; k < trees->count && rc == PITH_OK; k++)
        rc = read_other(s, zip, trees, k);
    if (rc != PITH_OK)
        pithp_zip_end(zip);
    return rc;
}

pith_status pithp_zip_gather(pith_scope *s, pithp_zip *zip, const pithp_trees *trees) {
    const pith_status rc =
        pithp_flat_make(s, &zip->first, trees->at[0], trees->is_leaf, trees->closure);
    return rc == PITH_OK ? gather_others(s, zip, trees) : rc;
}

static pith_status
gather_matched(pith_scope *s, pithp_zip *zip, const pithp_trees *trees) {
    const size_t bytes = (size_t)trees->count * sizeof(void *);
    const void **aligned = pithp_scratch_allocate(s->runtime, bytes);
    if (!aligned)
        return pithp_fail_memory(s, bytes);
    pithp_trees matched = *trees;
    matched.at = aligned;
    pith_status rc = pithp_match_trees(s, trees, aligned);
    if (rc == PITH_OK)
        rc = pithp_zip_gather(s, zip, &matched);
    pithp_scratch_release(s->runtime, aligned, bytes);
    return rc;
}

pith_status pithp_zip_make(pith_scope *s, pithp_zip *zip, const pithp_trees *trees) {
    pith_status rc = check_trees(s, trees);
    if (rc == PITH_OK)
        rc =
            pithp_flat_make(s, &zip->first, trees->at[0], trees->is_leaf, trees->closure);
    if (rc != PITH_OK)
        return rc;
    if (trees->count == 1 || !zip->first.structure.matches)
        return gather_others(s, zip, trees);
    pithp_flat_end(&zip->first);
    return gather_matched(s, zip, trees);
}

void pithp_zip_end(pithp_zip *zip) {
    if (zip->others && zip->others != zip->few)
        pithp_scratch_release(zip->first.rt, zip->others, zip->bytes);
    pithp_flat_end(&zip->first);
}
