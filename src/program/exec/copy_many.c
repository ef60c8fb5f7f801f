/* Grouped copies: many small copies in one launch; a chunk of the launch's index range
 * belongs to one copy. */
#include "program/exec/copy_many.h"

#include "gpu/stage.h"
#include "program/cuda/cuda.h"
#include "program/exec/call.h"
#include "program/host/move_row.h"
#include "program/op/thresholds.h"

#include <string.h>

static void copy_elements(const pithp_copy_rows *p, int64_t begin, int64_t end) {
    const int64_t row = begin / p->row, column = begin % p->row;
    char *to = p->to + row * p->to_pitch;
    const char *from = p->from + row * p->from_pitch;
    for (int64_t i = begin, c = column; i < end; c = 0) {
        const int64_t left = p->row - c, n = left < end - i ? left : end - i;
        const int64_t at = c * p->size, bytes = n * p->size;
        const int32_t size = p->size > 8 ? 8 : (int32_t)p->size;
        if (bytes > 64)
            memcpy(to + at, from + at, (size_t)bytes);
        else
            pithp_move_row(to + at, from + at, size, size, size, bytes / size);
        i += n;
        to += p->to_pitch;
        from += p->from_pitch;
    }
}

static void run_copies(const void *args, int64_t begin, int64_t end) {
    const pithp_cuda_copy_many_args *a = args;
    while (begin < end) {
        const int64_t number = begin >> a->shift, first = number << a->shift;
        const pithp_copy_rows *p = &a->list[number];
        const int64_t last = end - first < p->count ? end - first : p->count;
        if (begin - first < last)
            copy_elements(p, p->begin + (begin - first), p->begin + last);
        begin = first + ((int64_t)1 << a->shift);
    }
}

static const pithp_host_loop copies_loops[PITHP_ISA_COUNT] = {run_copies};

pith_status pithp_launch_copies(const pithp_sink *sink,
                                const char *name,
                                const pithp_cuda_copy_many_args *args) {
    if (sink->cuda)
        return pithp_cuda_launch(sink, PITHP_CUDA_copy_many, name, args, sizeof *args,
                                 args->total);
    return pithp_launch_loops(sink, name, copies_loops, args, sizeof *args, args->total,
                              PITHP_COPY_MANY_GRAIN);
}

int64_t pithp_copies_shift(int64_t count, int64_t elements) {
    int64_t shift = PITHP_COPY_MANY_LEAST_SHIFT;
    while (shift < PITHP_COPY_MANY_MOST_SHIFT && (count << shift) < elements)
        shift++;
    return shift;
}

static pith_status reserve(pithp_copies *p, int64_t room) {
    const size_t each = sizeof *p->list;
    size_t bytes;
    if (pithp_mul_overflows((size_t)room, each, &bytes))
        bytes = SIZE_MAX;
    pithp_copy_rows *list = pithp_scratch_allocate(p->s->runtime, bytes);
    if (!list)
        return pithp_fail_memory(p->s, bytes);
    if (p->count)
        memcpy(list, p->list, (size_t)p->count * each);
    pithp_scratch_release(p->s->runtime, p->list, (size_t)p->room * each);
    p->list = list;
    p->room = room;
    return PITH_OK;
}

pith_status pithp_copies_begin(pith_scope *s, pithp_copies *p, int64_t room) {
    *p = (pithp_copies){.s = s};
    return reserve(p, room ? room : PITHP_COPY_MANY_COPIES);
}

void pithp_copies_end(pithp_copies *p) {
    pithp_scratch_release(p->s->runtime, p->list, (size_t)p->room * sizeof *p->list);
}

pith_status pithp_copies_add(pithp_copies *p,
                             void *to,
                             const void *from,
                             int64_t rows,
                             int64_t row_bytes,
                             int64_t to_pitch,
                             int64_t from_pitch) {
    if (rows == 0 || row_bytes == 0)
        return PITH_OK;
    if (PITHP_UNLIKELY(p->count == p->room)) {
        const pith_status rc = reserve(p, 2 * p->room);
        if (rc != PITH_OK)
            return rc;
    }
    if (rows == 1 || (to_pitch == row_bytes && from_pitch == row_bytes)) {
        row_bytes *= rows;
        to_pitch = from_pitch = 0;
        rows = 1;
    }
    /* the widest element that divides all addresses, pitches and row sizes */
    const uintptr_t bits = (uintptr_t)to | (uintptr_t)from | (uintptr_t)row_bytes |
                           (uintptr_t)to_pitch | (uintptr_t)from_pitch | 16;
    const int64_t size = (int64_t)(bits & -bits), row = row_bytes / size;
    p->list[p->count++] = (pithp_copy_rows){.to = to,
                                            .from = from,
                                            .count = rows * row,
                                            .row = row,
                                            .to_pitch = to_pitch,
                                            .from_pitch = from_pitch,
                                            .size = size};
    p->elements += rows * row;
    p->longest = rows * row > p->longest ? rows * row : p->longest;
    return PITH_OK;
}

pith_status pithp_copies_add_move(pithp_copies *p, const char *name, pithp_move *m) {
    int64_t outer = 1;
    pithp_move_simplify(m);
    const int last = m->rank - 1;
    for (int d = 0; d < last - 1; d++)
        outer *= m->shape[d];
    if (m->to_stride[last] != m->size || m->from_stride[last] != m->size ||
        outer > PITHP_COPY_MANY_COPIES) {
        const pithp_sink sink = pithp_scope_sink(p->s);
        return pithp_launch_move(&sink, name, m);
    }
    const int64_t rows = last > 0 ? m->shape[last - 1] : 1;
    for (int64_t i = 0; i < outer; i++) {
        int64_t rest = i, to = 0, from = 0;
        for (int d = last - 2; d >= 0; d--) {
            to += rest % m->shape[d] * m->to_stride[d];
            from += rest % m->shape[d] * m->from_stride[d];
            rest /= m->shape[d];
        }
        const pith_status rc = pithp_copies_add(p, m->to + to, m->from + from, rows,
                                                m->shape[last] * m->size,
                                                last > 0 ? m->to_stride[last - 1] : 0,
                                                last > 0 ? m->from_stride[last - 1] : 0);
        if (rc != PITH_OK)
            return rc;
    }
    return PITH_OK;
}

/* Split copies that are longer than a chunk. */
static pith_status split(pithp_copies *p, int64_t shift) {
    pithp_copies chunks;
    const int64_t width = (int64_t)1 << shift;
    int64_t count = 0;
    for (int64_t i = 0; i < p->count; i++)
        count += (p->list[i].count + width - 1) >> shift;
    const pith_status rc = pithp_copies_begin(p->s, &chunks, count);
    if (rc != PITH_OK)
        return rc;
    for (int64_t i = 0; i < p->count; i++)
        for (int64_t at = 0; at < p->list[i].count; at += width) {
            pithp_copy_rows *chunk = &chunks.list[chunks.count++];
            *chunk = p->list[i];
            chunk->begin = at;
            chunk->count = chunk->count - at < width ? chunk->count - at : width;
        }
    pithp_copies_end(p);
    *p = chunks;
    return PITH_OK;
}

pith_status pithp_copies_run(pithp_copies *p, const char *name) {
    if (p->count == 0)
        return PITH_OK;
    const int64_t shift = pithp_copies_shift(p->count, p->elements);
    pith_status rc = p->longest > (int64_t)1 << shift ? split(p, shift) : PITH_OK;
    if (rc != PITH_OK)
        return rc;
    pithp_buffer *staged = NULL;
    const size_t bytes = (size_t)p->count * sizeof *p->list;
    const pithp_cuda_copy_many_args args = {
        .list = pithp_stage(p->s, p->list, bytes, &staged),
        .total = p->count << shift,
        .shift = shift};
    if (!args.list)
        return p->s->error.code;
    const pithp_sink sink = pithp_scope_sink(p->s);
    rc = pithp_launch_copies(&sink, name, &args);
    pithp_buffer_release(staged, 1);
    return rc;
}
