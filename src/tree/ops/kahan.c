/* Compensated (Kahan) sums of trees, leaf by leaf. See W. Kahan, "Further remarks on
 * reducing truncation errors", CACM 8 (1965). */
#include "tree/tree_internal.h"

#include <string.h>

static const char *const name = "pith_tree_kahan_sum";

/* One step: add the summand minus the previous rounding error, and update the error. */
static void add(pith_scope *w,
                const pith_array **sum,
                const pith_array **lost,
                const pith_array *what) {
    const pith_array *y = *lost ? pith_sub(w, what, *lost) : what;
    const pith_array *total = pith_add(w, *sum, y);
    const pith_array *left = pith_sub(w, pith_sub(w, total, *sum), y);
    const pith_spec *spec = pith_array_spec(left);
    if (spec && pith_dtype_is_float(spec->dtype)) /* infinities give no error to carry */
        left = pith_where(w, pith_is_finite(w, left), left, pith_like(w, left, 0));
    *sum = total;
    *lost = left;
}

/* Sum leaves of one spec. If `carried`, the entry after them is the initial error. */
static const pith_array *sum_leaf(pith_scope *s,
                                  int count,
                                  const pith_array *const *leaves,
                                  bool carried,
                                  const pith_array **lost) {
    const pith_spec *first = pithp_array_spec(leaves[0]);
    for (int k = 0; k < count + carried; k++)
        if (pithp_operand_check(s, leaves[k], name, "leaf") != PITH_OK)
            return NULL;
    for (int k = 1; k < count + carried; k++) {
        char texts[2][PITHP_LEAF_TEXT_BYTES];
        const pith_spec *spec = pithp_array_spec(leaves[k]);
        if (spec == first)
            continue;
        pithp_fail(s, spec->dtype == first->dtype ? PITH_E_SHAPE : PITH_E_DTYPE, NULL,
                   "expected %s, got %s in %s %d", pithp_leaf_print(first, texts[0]),
                   pithp_leaf_print(spec, texts[1]),
                   k < count ? "tree" : "compensation tree", k);
        return NULL;
    }
    pith_scope *w = pithp_temporaries_open(s);
    if (!w)
        return NULL;
    const pith_array *sum = leaves[0], *loss = carried ? leaves[count] : NULL;
    for (int k = 1; k < count; k++)
        add(w, &sum, &loss, leaves[k]);
    if (!loss) { /* one summand, no carried error */
        pith_shape shape = {.rank = first->rank};
        memcpy(shape.extents, first->shape, sizeof shape.extents);
        loss = pith_zeros(w, first->dtype, shape);
    }
    *lost = pithp_temporaries_keep(s, loss);
    return pithp_temporaries_close(s, w, sum);
}

/* Both result trees from a zip of the summands and, if `carried`, the initial error
 * last. */
static const void *sum_forest(pith_scope *s,
                              pithp_zip *zip,
                              const void *like,
                              bool carried,
                              const void **compensation) {
    const pithp_structure *t = &zip->first.structure;
    const int64_t count = zip->count;
    const size_t bytes = (size_t)(t->item_count + count) * sizeof(void *);
    const pith_array **lost = pithp_scratch_allocate(s->runtime, bytes);
    if (!lost) {
        pithp_fail_memory(s, bytes);
        return NULL;
    }
    const pith_array **leaves = lost + t->item_count;
    const void *sum = NULL;
    int64_t i = 0;
    for (; i < t->item_count; i++) {
        for (int64_t k = 0; k < count; k++)
            leaves[k] = pithp_zip_items(zip, k)[i];
        /* The sum overwrites the first summand. */
        zip->first.items[i] =
            sum_leaf(s, (int)count - carried, leaves, carried, &lost[i]);
        if (!zip->first.items[i] || !lost[i]) {
            pithp_item_prefix(s, t, i);
            break;
        }
    }
    if (i == t->item_count)
        sum = pithp_build(s, t, pithp_owner_of(like), zip->first.items);
    if (sum && compensation)
        *compensation = pithp_build(s, t, pithp_owner_of(like), lost);
    pithp_scratch_release(s->runtime, lost, bytes);
    return s->error.code == PITH_OK ? sum : NULL;
}

const void *pith_tree_kahan_sum(pith_scope *s,
                                int64_t count,
                                const void *const *trees,
                                const void *compensate,
                                const void **compensation) {
    const void *nil = count > 0 && trees ? pithp_nil_for(trees[0]) : NULL;
    if (compensation)
        *compensation = nil;
    if (!pithp_enter(s))
        return nil;
    if (count < 1 || count >= INT32_MAX || !trees) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: %s", name,
                   trees ? "expected one tree or more" : "trees is NULL");
        return nil;
    }
    const bool carried = compensate != NULL;
    const size_t bytes = ((size_t)count + 1) * sizeof *trees;
    const void **all = pithp_scratch_allocate(s->runtime, bytes);
    if (!all) {
        pithp_fail_memory(s, bytes);
        return nil;
    }
    memcpy(all, trees, (size_t)count * sizeof *trees);
    all[count] = compensate;
    pithp_zip zip;
    const void *sum = NULL;
    if (pithp_zip_make(
            s, &zip,
            &(pithp_trees){.function = name, .count = count + carried, .at = all}) ==
        PITH_OK) {
        sum = sum_forest(s, &zip, trees[0], carried, compensation);
        pithp_zip_end(&zip);
    }
    pithp_scratch_release(s->runtime, all, bytes);
    return sum ? sum : nil;
}
