/* Tree transposition: a tree of trees becomes a tree of the inner structure. */
#include "tree/tree_internal.h"

/* Flatten the trees at outer's leaves up to inner; cells[j * n + i] is leaf j of tree
 * i. */
static pith_status read_rows(pith_scope *s,
                             const pithp_structure *outer,
                             const pithp_structure *inner,
                             const void *const *rows,
                             const void **row,
                             const void **cells) {
    const int64_t n = outer->item_count, m = inner->item_count;
    for (int64_t i = 0; i < n; i++) {
        if (!rows[i])
            return pithp_item_fail(s, outer, i, PITH_E_STRUCTURE,
                                   "expected a tree, got nothing (pith_tree_transpose)");
        if (pithp_read_up_to(s, inner, rows[i], row, "pith_tree_transpose") != PITH_OK) {
            pithp_item_prefix(s, outer, i);
            return s->error.code;
        }
        for (int64_t j = 0; j < m; j++)
            cells[j * n + i] = row[j];
    }
    return PITH_OK;
}

static const void *turn(pith_scope *s,
                        const pithp_structure *outer,
                        const pithp_structure *inner,
                        const void *const *rows) {
    const size_t n = (size_t)outer->item_count, m = (size_t)inner->item_count;
    size_t bytes;
    if (pithp_mul_overflows(n + 1, m + 1, &bytes) ||
        pithp_mul_overflows(bytes, sizeof(void *), &bytes))
        bytes = SIZE_MAX;
    const void **cells = pithp_scratch_allocate(s->runtime, bytes), *made = NULL;
    if (!cells) {
        pithp_fail_memory(s, bytes);
        return NULL;
    }
    pithp_composed c;
    if (read_rows(s, outer, inner, rows, cells + n * m, cells) == PITH_OK &&
        pithp_compose(s, &c, inner, outer, true) == PITH_OK) {
        made = pithp_build(s, &c.structure, s, (const pith_array *const *)cells);
        pithp_composed_end(&c);
    }
    pithp_scratch_release(s->runtime, cells, bytes);
    return made;
}

/* With the structure of the first tree as inner. */
static const void *
turn_alike(pith_scope *s, const pithp_structure *outer, const void *const *rows) {
    pithp_flat f;
    if (!rows[0]) {
        pithp_item_fail(s, outer, 0, PITH_E_STRUCTURE,
                        "expected a tree, got nothing (pith_tree_transpose)");
        return NULL;
    }
    if (pithp_flat_make(s, &f, rows[0], NULL, NULL) != PITH_OK)
        return NULL;
    const void *made = turn(s, outer, &f.structure, rows);
    pithp_flat_end(&f);
    return made;
}

static const void *transpose(pith_scope *s,
                             const pith_treedef *outer,
                             const pith_treedef *inner,
                             const void *tree) {
    static const char *const name = "pith_tree_transpose";
    const pithp_structure *o = pithp_treedef_check(s, outer, name, "outer"), *i = NULL;
    if (!o || (inner && !(i = pithp_treedef_check(s, inner, name, "inner"))) ||
        pithp_tree_check(s, tree, name, "tree") != PITH_OK)
        return NULL;
    if (o->item_count == 0) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: outer has no leaves", name);
        return NULL;
    }
    const size_t bytes = (size_t)o->item_count * sizeof(void *);
    const void **rows = pithp_scratch_allocate(s->runtime, bytes), *made = NULL;
    if (!rows)
        pithp_fail_memory(s, bytes);
    else if (pithp_read_up_to(s, o, tree, rows, name) == PITH_OK)
        made = i ? turn(s, o, i, rows) : turn_alike(s, o, rows);
    pithp_scratch_release(s->runtime, rows, bytes);
    return made;
}

const void *pith_tree_transpose(pith_scope *s,
                                const pith_treedef *outer,
                                const pith_treedef *inner,
                                const void *tree) {
    const void *made = pithp_enter(s) ? transpose(s, outer, inner, tree) : NULL;
    return made ? made : pithp_nil_of_treedef(inner);
}
