/* Grouped gather and scatter: rows of many small leaves in one launch. A chunk of the
 * launch's index range belongs to one leaf's result and resolves the indices itself. */
#include "program/exec/gather_many.h"

#include "gpu/stage.h"
#include "program/cuda/cuda.h"
#include "program/exec/call.h"
#include "program/exec/copy_many.h"
#include "program/host/gather.h"
#include "program/op/thresholds.h"

#include <string.h>

/* Resolved indices for one extent. Consecutive leaves mostly have the same extent, so the
 * last result is kept. */
typedef struct offsets {
    int64_t extent; /* 0: nothing resolved yet */
    int32_t mode;
    int64_t where[PITHP_GATHER_MANY_POSITIONS]; /* rows; -1: out of range */
} offsets;

static void resolve(pithp_isa isa,
                    const pithp_cuda_gather_many_args *a,
                    const pithp_gather_leaf *p,
                    offsets *o) {
    const pith_dtype dtype = (pith_dtype)a->index_dtype;
    if (o->extent == p->extent && o->mode == p->mode)
        return;
    pithp_index_args x; /* only the fields that pithp_index_resolve reads */
    x.report = NULL;
    x.index_dtype = dtype;
    x.index_size = (int32_t)pith_dtype_size(dtype);
    x.arrays = 1;
    x.index[0] = a->index;
    x.rule[0] = (pithp_indexing){.extent = p->extent,
                                 .mode = (pithp_index_mode)p->mode,
                                 .no_negative = a->no_negative,
                                 .unsigned64 = dtype == PITH_U64};
    pithp_index_resolve(isa, &x, 0, a->positions, o->where);
    o->extent = p->extent;
    o->mode = p->mode;
}

/* Store n copies of the fill. */
static void fill_row(char *to, const pithp_gather_leaf *p, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        memcpy(to + i * p->size, &p->fill, (size_t)p->size);
}

/* Gather elements begin..end of a leaf's result. */
static void gather_elements(const pithp_cuda_gather_many_args *a,
                            const pithp_gather_leaf *p,
                            const int64_t *where,
                            int64_t begin,
                            int64_t end) {
    const int64_t row = begin / p->inner;
    int64_t column = begin % p->inner, k = row % a->positions; /* no division per row */
    int64_t outer = row / a->positions * p->extent;
    for (int64_t i = begin; i < end; column = 0) {
        const int64_t left = p->inner - column, n = left < end - i ? left : end - i;
        const int64_t at = where[k], from = (outer + at) * p->inner + column;
        if (at < 0)
            fill_row(p->to + i * p->size, p, n);
        else
            memcpy(p->to + i * p->size, p->from + from * p->size, (size_t)(n * p->size));
        i += n;
        if (++k == a->positions) {
            k = 0;
            outer += p->extent;
        }
    }
}

/* Scatter: copy elements begin..end of a leaf, then overwrite its updated rows. */
static void scatter_elements(const pithp_cuda_gather_many_args *a,
                             const pithp_gather_leaf *p,
                             const int64_t *where,
                             int64_t begin,
                             int64_t end) {
    const int64_t plane = p->extent * p->inner;
    memcpy(p->to + begin * p->size, p->from + begin * p->size,
           (size_t)((end - begin) * p->size));
    for (int64_t outer = begin / plane; outer * plane < end; outer++)
        for (int64_t k = 0; k < a->positions; k++) {
            const int64_t row = outer * plane + where[k] * p->inner;
            const int64_t from = row < begin ? begin : row,
                          last = row + p->inner < end ? row + p->inner : end;
            if (where[k] >= 0 && from < last)
                memcpy(p->to + from * p->size,
                       p->updates +
                           ((outer * a->positions + k) * p->inner + from - row) * p->size,
                       (size_t)((last - from) * p->size));
        }
}

static inline void gather(pithp_isa isa, const void *args, int64_t begin, int64_t end) {
    const pithp_cuda_gather_many_args *a = args;
    offsets o;
    o.extent = 0;
    while (begin < end) {
        const int64_t number = begin >> a->shift, first = number << a->shift;
        const pithp_gather_leaf *p = &a->list[number];
        const int64_t last = end - first < p->count ? end - first : p->count;
        if (begin - first < last) {
            resolve(isa, a, p, &o);
            (p->updates ? scatter_elements : gather_elements)(
                a, p, o.where, p->begin + (begin - first), p->begin + last);
        }
        begin = first + ((int64_t)1 << a->shift);
    }
}
PITHP_LOOPS(gather)

pith_status pithp_launch_gather_many(const pithp_sink *sink,
                                     const char *name,
                                     const pithp_cuda_gather_many_args *args) {
    if (sink->cuda)
        return pithp_cuda_launch(sink, PITHP_CUDA_gather_many, name, args, sizeof *args,
                                 args->total);
    return pithp_launch_loops(sink, name, gather_loops, args, sizeof *args, args->total,
                              PITHP_GATHER_MANY_GRAIN);
}

pith_status pithp_gather_many_begin(pith_scope *s, pithp_gather_many *r, int64_t room) {
    const size_t bytes = (size_t)room * sizeof *r->list;
    *r = (pithp_gather_many){.s = s, .room = room};
    r->list = pithp_scratch_allocate(s->runtime, bytes);
    return r->list ? PITH_OK : pithp_fail_memory(s, bytes);
}

void pithp_gather_many_end(pithp_gather_many *r) {
    pithp_scratch_release(r->s->runtime, r->list, (size_t)r->room * sizeof *r->list);
}

pithp_gather_leaf *pithp_gather_many_add(pithp_gather_many *r, int64_t elements) {
    pithp_gather_leaf *leaf = &r->list[r->count++];
    leaf->begin = 0;
    leaf->count = elements;
    r->elements += elements;
    r->longest = elements > r->longest ? elements : r->longest;
    return leaf;
}

/* Split leaves whose results are longer than a chunk. */
static pith_status split(pithp_gather_many *r, int64_t shift) {
    const int64_t width = (int64_t)1 << shift;
    int64_t count = 0;
    for (int64_t i = 0; i < r->count; i++)
        count += (r->list[i].count + width - 1) >> shift;
    pithp_gather_many chunks;
    const pith_status rc = pithp_gather_many_begin(r->s, &chunks, count);
    if (rc != PITH_OK)
        return rc;
    for (int64_t i = 0; i < r->count; i++)
        for (int64_t at = 0; at < r->list[i].count; at += width) {
            pithp_gather_leaf *chunk = &chunks.list[chunks.count++];
            *chunk = r->list[i];
            chunk->begin = at;
            chunk->count = chunk->count - at < width ? chunk->count - at : width;
        }
    pithp_gather_many_end(r);
    *r = chunks;
    return PITH_OK;
}

pith_status pithp_gather_many_run(pithp_gather_many *r,
                                  const char *name,
                                  const void *index,
                                  pith_dtype index_dtype,
                                  int64_t positions,
                                  bool no_negative) {
    if (r->elements == 0)
        return PITH_OK;
    const int64_t shift = pithp_copies_shift(r->count, r->elements);
    pith_status rc = r->longest > (int64_t)1 << shift ? split(r, shift) : PITH_OK;
    if (rc != PITH_OK)
        return rc;
    pithp_buffer *staged = NULL;
    const pithp_cuda_gather_many_args args = {
        .list = pithp_stage(r->s, r->list, (size_t)r->count * sizeof *r->list, &staged),
        .index = index,
        .positions = positions,
        .total = r->count << shift,
        .shift = shift,
        .index_dtype = (int32_t)index_dtype,
        .no_negative = no_negative};
    if (!args.list)
        return r->s->error.code;
    const pithp_sink sink = pithp_scope_sink(r->s);
    rc = pithp_launch_gather_many(&sink, name, &args);
    pithp_buffer_release(staged, 1);
    return rc;
}
