/* Filled copies of the structure of a tree; all small leaves share one block. */
#include "tree/tree_internal.h"

pith_status pithp_arrays_fill(pith_scope *s,
                              int64_t count,
                              const pith_array *const *arrays,
                              const uint64_t *bits) {
    for (int64_t i = 0; i < count;) {
        const pith_dtype dtype = pithp_array_spec(arrays[i])->dtype;
        const pithp_buffer *buffer = pithp_array_buffer(arrays[i]);
        const uint64_t *value = &bits[i];
        char *begin = arrays[i]->data, *end = begin;
        for (; i < count; i++) {
            const pith_spec *spec = pithp_array_spec(arrays[i]);
            char *data = arrays[i]->data;
            if (spec->dtype != dtype || bits[i] != *value ||
                pithp_array_buffer(arrays[i]) != buffer || data < end ||
                data - end >= PITHP_ALIGNMENT)
                break;
            end = data + spec->bytes;
        }
        const size_t width = pith_dtype_size(dtype);
        const int64_t elements = (int64_t)((size_t)(end - begin) / width);
        const pith_status rc =
            elements ? pithp_fill(s, begin, value, width, elements) : PITH_OK;
        if (rc != PITH_OK)
            return rc;
    }
    return PITH_OK;
}

/* Encode the value in the dtype of every leaf. */
static pith_status
encode(pith_scope *s, const pithp_structure *t, double value, uint64_t *bits) {
    uint64_t of_dtype[PITH_DTYPE_COUNT];
    bool known[PITH_DTYPE_COUNT] = {false};
    for (int64_t i = 0; i < t->item_count; i++) {
        const pith_dtype dtype = t->specs[i]->dtype;
        if (!known[dtype]) {
            known[dtype] = true;
            of_dtype[dtype] = 0;
            if (!pithp_dtype_encode(dtype, value, &of_dtype[dtype]) &&
                !pith_dtype_is_float(dtype))
                return pithp_item_fail(s, t, i, PITH_E_DTYPE, "%.17g is not exact in %s",
                                       value, pith_dtype_name(dtype));
        }
        bits[i] = of_dtype[dtype];
    }
    return PITH_OK;
}

static const void *
fill_like(pith_scope *s, const void *tree, double value, const char *function) {
    pithp_flat f;
    if (pithp_tree_check(s, tree, function, "tree") != PITH_OK ||
        pithp_flat_make(s, &f, tree, NULL, NULL) != PITH_OK)
        return NULL;
    /* The new leaves overwrite the old ones in the list. */
    const pithp_structure *t = &f.structure;
    const size_t bytes = (size_t)t->item_count * sizeof(uint64_t);
    uint64_t *bits = pithp_scratch_allocate(s->runtime, bytes);
    const void *made = NULL;
    if (!bits)
        pithp_fail_memory(s, bytes);
    else if (encode(s, t, value, bits) == PITH_OK &&
             pithp_arrays_make(s, t->item_count, t->specs, f.items) == PITH_OK &&
             pithp_arrays_fill(s, t->item_count, f.items, bits) == PITH_OK)
        made = pithp_build_made(s, t, pithp_owner_of(tree), f.items);
    pithp_scratch_release(s->runtime, bits, bytes);
    pithp_flat_end(&f);
    return made;
}

const void *pith_tree_zeros_like(pith_scope *s, const void *tree) {
    const void *made =
        pithp_enter(s) ? fill_like(s, tree, 0, "pith_tree_zeros_like") : NULL;
    return made ? made : pithp_nil_for(tree);
}

const void *pith_tree_full_like(pith_scope *s, const void *tree, double value) {
    const void *made =
        pithp_enter(s) ? fill_like(s, tree, value, "pith_tree_full_like") : NULL;
    return made ? made : pithp_nil_for(tree);
}
