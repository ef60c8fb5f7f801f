/* Stacking and concatenating trees: leaf by leaf, along a new axis or one they have. */
#include "tree/tree_internal.h"

#include <string.h>

/* How the leaves in one place become one; it may change the list. NULL: error set. */
typedef const pith_array *(*join)(pith_scope *s,
                                  int count,
                                  const pith_array **leaves,
                                  int axis);

static const pith_array *
stack(pith_scope *s, int count, const pith_array **leaves, int axis) {
    const pith_spec *from = pithp_array_spec(leaves[0]);
    for (int k = 1; k < count; k++) {
        const pith_spec *spec = pithp_array_spec(leaves[k]);
        if (spec == from)
            continue;
        char a[PITHP_SPEC_TEXT_BYTES], b[PITHP_SPEC_TEXT_BYTES];
        const bool same = spec->dtype == from->dtype;
        pithp_fail(s, same ? PITH_E_SHAPE : PITH_E_DTYPE, NULL,
                   "expected %s, got %s in tree %d", pithp_spec_print(from, a),
                   pithp_spec_print(spec, b), k);
        return NULL;
    }
    int64_t shape[PITH_MAX_RANK + 1] = {1};
    memcpy(shape + 1, from->shape, (size_t)from->rank * sizeof *shape);
    const pith_spec *row = pithp_spec(s, from->dtype, from->rank + 1, shape);
    for (int k = 0; k < count; k++) {
        leaves[k] = row ? pithp_alias(s, leaves[k], row) : NULL;
        if (!leaves[k])
            return NULL;
    }
    return pithp_bind(s, PITHP_OP_CONCATENATE, count, leaves,
                      &(pithp_concatenate_params){axis});
}

/* The array operation promotes; trees have one dtype in one place. */
static const pith_array *
concatenate(pith_scope *s, int count, const pith_array **leaves, int axis) {
    const pith_spec *first = pithp_array_spec(leaves[0]);
    const int along = pithp_axis(s, "pith_tree_concat", axis, first->rank);
    if (along < 0)
        return NULL;
    for (int k = 1; k < count; k++) {
        const pith_spec *spec = pithp_array_spec(leaves[k]);
        bool fits = spec->rank == first->rank;
        for (int i = 0; i < first->rank && fits; i++)
            fits = i == along || spec->shape[i] == first->shape[i];
        if (fits && spec->dtype == first->dtype)
            continue;
        char a[PITHP_SPEC_TEXT_BYTES], b[PITHP_SPEC_TEXT_BYTES];
        pithp_fail(s, spec->dtype == first->dtype ? PITH_E_SHAPE : PITH_E_DTYPE, NULL,
                   "expected %s but for axis %d, got %s in tree %d",
                   pithp_spec_print(first, a), axis, pithp_spec_print(spec, b), k);
        return NULL;
    }
    return pithp_bind(s, PITHP_OP_CONCATENATE, count, leaves,
                      &(pithp_concatenate_params){along});
}

static const void *join_trees(pith_scope *s,
                              int64_t count,
                              const void *const *trees,
                              join how,
                              int axis,
                              const char *function) {
    if (count > INT32_MAX) {
        pithp_fail(s, PITH_E_OVERFLOW, NULL, "%s: %lld trees", function,
                   (long long)count);
        return NULL;
    }
    pithp_forest forest;
    if (pithp_forest_make(s, &forest, function, count, trees, NULL, NULL) != PITH_OK)
        return NULL;
    const pithp_structure *t = &forest.first.structure;
    const size_t bytes = (size_t)count * sizeof(void *);
    const pith_array **leaves = pithp_scratch_allocate(s->runtime, bytes);
    const void *made = NULL;
    int64_t i = 0;
    if (!leaves)
        pithp_fail_memory(s, bytes);
    for (; leaves && i < t->item_count; i++) {
        pith_status rc = PITH_OK;
        for (int64_t k = 0; k < count && rc == PITH_OK; k++) {
            leaves[k] = pithp_forest_items(&forest, k)[i];
            rc = pithp_array_check(s, leaves[k], function, "leaf");
        }
        /* Joined, the leaf takes the place of the first tree's. */
        forest.first.items[i] = rc == PITH_OK ? how(s, (int)count, leaves, axis) : NULL;
        if (!forest.first.items[i]) {
            pithp_item_prefix(s, t, i);
            break;
        }
    }
    if (leaves && i == t->item_count)
        made = pithp_build(s, t, pithp_owner_of(trees[0]), forest.first.items);
    pithp_scratch_release(s->runtime, leaves, bytes);
    pithp_forest_end(&forest);
    return made;
}

const void *pith_tree_stack(pith_scope *s, int64_t count, const void *const *trees) {
    const void *made =
        pithp_enter(s) ? join_trees(s, count, trees, stack, 0, "pith_tree_stack") : NULL;
    return made ? made : count > 0 && trees ? pithp_nil_for(trees[0]) : NULL;
}

const void *
pith_tree_concat(pith_scope *s, int64_t count, const void *const *trees, int axis) {
    const void *made = pithp_enter(s) ? join_trees(s, count, trees, concatenate, axis,
                                                   "pith_tree_concat")
                                      : NULL;
    return made ? made : count > 0 && trees ? pithp_nil_for(trees[0]) : NULL;
}
