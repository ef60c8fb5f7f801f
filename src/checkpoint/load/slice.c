/* Slices of leaves that a rank of a mesh reads: which elements, and their way from the
 * files, or from a whole array, into a shard. Rows that are counted are divided evenly,
 * unless as many ranks read them as wrote them: then each gets the shard that it had. */
#include "checkpoint/load/slice.h"

#include <inttypes.h>
#include <string.h>

/* ---- Which elements ---- */

int64_t pithp_sum_before(const int64_t *counts, int64_t n) {
    int64_t sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += counts[i];
    return sum;
}

pith_status
pithp_slice_axis(pith_scope *w, const pithp_parted *x, int d, pithp_slice *cut) {
    const pithp_doc_leaf *leaf = x->leaf;
    const int64_t whole = leaf->shape.rank ? leaf->shape.extents[d] : 1,
                  part = leaf->shape.rank ? leaf->part.extents[d] : 1;
    char normal[PITHP_SHARD_TEXT], list[PITHP_SHARD_TEXT];
    int64_t ranks = 1;
    pithp_shard_text_read(leaf->shard, normal);
    pithp_shard_text_list(normal, d, list);
    if (list[0]) {
        const pithp_mesh_group *g = pithp_mesh_group_of(w, list);
        if (!g)
            return w->error.code;
        ranks = g->size;
        cut->own[d] = g->rank;
    }
    const int64_t own = cut->own[d];
    const bool counted = d == 0 && x->counts;
    cut->same &= ranks == x->pieces[d];
    if (counted && ranks == x->pieces[0]) {
        cut->begin[0] = pithp_sum_before(x->counts, own);
        cut->count[0] = x->counts[own];
        cut->extent[0] = part;
    } else if (counted) {
        const pithp_shard_part rows = pithp_shard_part_of(whole, ranks, own);
        cut->begin[0] = rows.begin;
        cut->count[0] = rows.count;
        cut->extent[0] = x->pieces[0] * part / ranks + (x->pieces[0] * part % ranks != 0);
    } else if (leaf->shape.rank && whole % ranks) {
        return pithp_fail(w, PITH_E_SHAPE, NULL,
                          "axis %d has %" PRId64 " elements, expected a multiple of the "
                          "%" PRId64 " ranks along %s, or rows that are counted",
                          d, whole, ranks, list);
    } else {
        cut->extent[d] = cut->count[d] = leaf->shape.rank ? whole / ranks : 1;
        cut->begin[d] = own * cut->count[d];
    }
    return PITH_OK;
}

/* ---- Elements ---- */

static void put_fill(char *to, size_t bytes, pith_dtype dtype, const pithp_field *field) {
    const size_t size = pith_dtype_size(dtype);
    uint64_t fill = 0;
    if (field)
        pithp_dtype_encode(dtype, field->declared.options.fill, &fill);
    for (size_t at = 0; at < bytes; at += size)
        memcpy(to + at, &fill, size);
}

/* Read a slice into a shard of memory: runs along the last axis that is cut. */
static pith_status read_runs(pith_scope *w,
                             const pith_checkpoint *c,
                             const pithp_doc_leaf *leaf,
                             const pithp_slice *cut,
                             char *to) {
    const int rank = leaf->shape.rank;
    const int64_t *whole = leaf->shape.extents;
    int last = 0; /* runs go over the axes from here on */
    for (int d = 1; d < rank; d++)
        if (cut->count[d] != whole[d])
            last = d;
    int64_t runs = 1, run = 1;
    for (int d = 0; d < rank; d++)
        *(d < last ? &runs : &run) *= cut->count[d];
    const size_t size = pith_dtype_size(leaf->dtype);
    for (int64_t i = 0; run && i < runs; i++) {
        int64_t at[PITH_MAX_RANK] = {0}, from = 0, into = 0, rest = i;
        for (int d = last; d-- > 0; rest /= cut->count[d])
            at[d] = rest % cut->count[d];
        for (int d = 0; d < rank; d++) {
            from = from * whole[d] + cut->begin[d] + at[d];
            into = into * cut->extent[d] + at[d];
        }
        if (pithp_parted_read(w, c, leaf, (size_t)from * size, to + (size_t)into * size,
                              (size_t)run * size) != PITH_OK)
            return w->error.code;
    }
    return PITH_OK;
}

/* Fill a shard through memory of the host. */
static pith_status read_staged(pith_scope *w,
                               const pith_checkpoint *c,
                               const pithp_doc_leaf *leaf,
                               const pithp_slice *cut,
                               const pithp_field *field,
                               const pith_array *shard) {
    const size_t bytes = pithp_array_spec(shard)->bytes;
    char *memory = pithp_allocate(w->runtime, bytes + 1);
    if (!memory)
        return pithp_fail_memory(w, bytes);
    put_fill(memory, bytes, leaf->dtype, field);
    pith_status rc = read_runs(w, c, leaf, cut, memory);
    if (rc == PITH_OK)
        rc = pithp_copy_in(w, shard->data, memory, bytes);
    pithp_release(w->runtime, memory, bytes + 1);
    return rc;
}

const pith_array *pithp_slice_read(pith_scope *w,
                                   const pith_checkpoint *c,
                                   const pithp_doc_leaf *leaf,
                                   const pithp_slice *cut,
                                   const pithp_field *field) {
    const pith_array *shard = NULL;
    if (pithp_parted_check(w, c, leaf, false) != PITH_OK)
        return NULL;
    const pith_spec *spec = pithp_spec(w, leaf->dtype, leaf->shape.rank, cut->extent);
    if (!spec || pithp_arrays_make(w, 1, &spec, &shard) != PITH_OK ||
        pithp_synchronise(w) != PITH_OK) /* earlier work may still use the memory */
        return NULL;
    if (!pithp_scope_device(w)->backend->addressable)
        return read_staged(w, c, leaf, cut, field, shard) == PITH_OK ? shard : NULL;
    put_fill(shard->data, spec->bytes, leaf->dtype, field);
    return read_runs(w, c, leaf, cut, shard->data) == PITH_OK ? shard : NULL;
}

const pith_array *
pithp_slice_cut(pith_scope *w, const pith_array *a, const pithp_slice *cut, double fill) {
    const int rank = pithp_array_spec(a)->rank;
    pith_slice slices[PITH_MAX_RANK];
    pith_padding padding[PITH_MAX_RANK] = {{.low = 0}};
    for (int d = 0; d < rank; d++) {
        slices[d] = PITH_SLICE(cut->begin[d], cut->begin[d] + cut->count[d], 1);
        padding[d].high = cut->extent[d] - cut->count[d];
    }
    const pith_array *some = rank ? pith_slice_array(w, a, rank, slices) : a;
    return some ? pith_pad(w, some, pith_like(w, a, fill), rank, padding) : NULL;
}
