/* Gather (take, take_along) on the host. Indices become offsets, a block at a time; then
 * the rows at these offsets are copied in index order. */
#include "program/host/gather.h"

#include "pith/kernel.h"

#include "program/host/vector/fetch.h"
#include "program/host/vector/vector.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const pithp_index_functions *const functions[PITHP_ISA_COUNT] = {&pithp_index_base,
#ifdef __x86_64__
                                                                        &pithp_index_v3,
                                                                        &pithp_index_v4
#else
                                                                        &pithp_index_base,
                                                                        &pithp_index_base
#endif
};

/* ---- Specs ---- */

int pithp_index_arrays(const pithp_call *call) {
    return call->operand_count - 1 - pithp_op_has(call->primitive, PITHP_TRAIT_SCATTER);
}

bool pithp_index_ascends(const pithp_call *call) {
    const pithp_index_params *p = call->params;
    const bool none_negative =
        p->no_negative || !pithp_dtype_is_signed(call->operands[1]->dtype);
    return p->sorted && p->mode != PITHP_INDEX_WRAP &&
           (none_negative || pithp_index_arrays(call) - (int)p->numbers == 1);
}

pith_status pithp_infer_gathered(const pithp_call *call,
                                 pithp_refusal *refusal,
                                 int *rank,
                                 int64_t shape[2 * PITHP_MAX_RANK]) {
    const pithp_index_params *p = call->params;
    const pith_spec *x = call->operands[0], *index = call->operands[1];
    const int arrays = pithp_index_arrays(call);
    char text[PITHP_SPEC_TEXT_BYTES], first[PITHP_SPEC_TEXT_BYTES];
    if (arrays < 1)
        return pithp_refuse(call, refusal, PITH_E_ARG, "no index array");
    if (p->axis < 0 || p->axis + arrays > x->rank)
        return pithp_refuse(call, refusal, PITH_E_ARG, "axes %d..%d of rank %d", p->axis,
                            p->axis + arrays - 1, x->rank);
    if (!pith_dtype_is_integer(index->dtype))
        return pithp_refuse(call, refusal, PITH_E_DTYPE,
                            "expected integer indices, got %s",
                            pithp_spec_print(index, text));
    for (int k = 0; k < arrays; k++) {
        const pith_spec *other = call->operands[1 + k];
        if (other->dtype != index->dtype || other->rank != index->rank ||
            memcmp(other->shape, index->shape,
                   (size_t)index->rank * sizeof *index->shape) != 0)
            return pithp_refuse(
                call, refusal, PITH_E_SHAPE,
                "expected index arrays of one dtype and shape, got %s and %s",
                pithp_spec_print(index, first), pithp_spec_print(other, text));
        if (x->shape[p->axis + k] == 0 && index->count > 0 &&
            p->mode != PITHP_INDEX_DROP && p->mode != PITHP_INDEX_ERROR)
            return pithp_refuse(call, refusal, PITH_E_INDEX,
                                "axis %d has extent 0: no element to choose",
                                pithp_index_axis(p, k));
    }
    *rank = 0;
    for (int d = 0; d < p->axis; d++)
        shape[(*rank)++] = x->shape[d];
    for (int d = 0; d < index->rank; d++)
        shape[(*rank)++] = index->shape[d];
    for (int d = p->axis + arrays; d < x->rank; d++)
        shape[(*rank)++] = x->shape[d];
    if (*rank > pithp_call_max_rank(call))
        return pithp_refuse(call, refusal, PITH_E_SHAPE, "a result of rank %d", *rank);
    return PITH_OK;
}

pith_status
pithp_infer_take(const pithp_call *call, pith_spec *result, pithp_refusal *refusal) {
    int rank;
    int64_t shape[2 * PITHP_MAX_RANK];
    if (call->operand_count < 2)
        return pithp_refuse(call, refusal, PITH_E_ARG, "no index array");
    const pith_status rc = pithp_infer_gathered(call, refusal, &rank, shape);
    return rc ? rc
              : pithp_spec_fill(call, refusal, result, call->operands[0]->dtype, rank,
                                shape);
}
PITHP_NO_TEMPORARY(take)

pith_status pithp_infer_take_along(const pithp_call *call,
                                   pith_spec *result,
                                   pithp_refusal *refusal) {
    const pithp_index_params *p = call->params;
    const pith_spec *x = call->operands[0], *index = call->operands[1];
    char text[PITHP_SPEC_TEXT_BYTES], other[PITHP_SPEC_TEXT_BYTES];
    if (p->axis < 0 || p->axis >= x->rank)
        return pithp_refuse(call, refusal, PITH_E_ARG, "axis %d of rank %d", p->axis,
                            x->rank);
    if (!pith_dtype_is_integer(index->dtype))
        return pithp_refuse(call, refusal, PITH_E_DTYPE,
                            "expected integer indices, got %s",
                            pithp_spec_print(index, text));
    bool fits = index->rank == x->rank;
    for (int d = 0; fits && d < x->rank; d++)
        fits = d == p->axis || index->shape[d] == x->shape[d];
    if (!fits)
        return pithp_refuse(
            call, refusal, PITH_E_SHAPE,
            "expected indices with the extents of %s except along axis %d, got %s",
            pithp_spec_print(x, other), p->axis, pithp_spec_print(index, text));
    if (x->shape[p->axis] == 0 && index->count > 0 && p->mode != PITHP_INDEX_DROP &&
        p->mode != PITHP_INDEX_ERROR)
        return pithp_refuse(call, refusal, PITH_E_INDEX,
                            "axis %d has extent 0: no element to choose", p->axis);
    return pithp_spec_fill(call, refusal, result, x->dtype, index->rank, index->shape);
}
PITHP_NO_TEMPORARY(take_along)

/* ---- Offsets ---- */

bool pithp_index_is_direct(const pithp_index_args *a) {
    return a->arrays == 1 && a->rule[0].mode != PITHP_INDEX_WRAP &&
           (a->index_dtype == PITH_I32 || a->index_dtype == PITH_I64);
}

bool pithp_index_resolve(pithp_isa isa,
                         const pithp_index_args *a,
                         int64_t at,
                         int64_t n,
                         int64_t *where) {
    bool fails = false;
    if (pithp_index_is_direct(a)) {
        fails = functions[isa]->resolve_one(where, a->index[0] + at * a->index_size,
                                            a->index_size == 8, n, &a->rule[0]);
    } else {
        const pithp_block_function widen =
            pithp_cast_block(isa, a->index_dtype, PITH_I64);
        int64_t index[PITHP_INDEX_BLOCK], signs = 0;
        memset(where, 0, (size_t)n * sizeof *where);
        for (int k = 0; k < a->arrays; k++) {
            widen(index, a->index[k] + at * a->index_size, NULL, NULL, n);
            functions[isa]->resolve(where, index, n, &a->rule[k]);
        }
        for (int64_t i = 0; i < n; i++)
            signs |= where[i];
        fails = signs < 0;
    }
    if (!a->report || !fails)
        return fails;
    int64_t first = 0;
    while (where[first] >= 0)
        first++;
    pith_raise_(&a->report->first, ~(uint64_t)(at + first));
    return true;
}

/* Record the first failing index in the report: one index of a launch, after the others.
 */
static void explain(const void *args, int64_t begin, int64_t end) {
    const pithp_index_args *a = args;
    pith_report *r = a->report;
    (void)begin, (void)end;
    if (r->first == 0)
        return;
    for (int k = 0; k < a->arrays; k++) {
        int64_t value, where = 0;
        pithp_cast_block(PITHP_ISA_BASE, a->index_dtype, PITH_I64)(
            &value, a->index[k] + (int64_t)~r->first * a->index_size, NULL, NULL, 1);
        functions[PITHP_ISA_BASE]->resolve(&where, &value, 1, &a->rule[k]);
        if (where < 0) {
            r->need = (uint64_t)value;
            r->have = (uint64_t)a->rule[k].extent;
            r->what = a->note[k];
            return;
        }
    }
}
static const pithp_host_loop explain_loops[PITHP_ISA_COUNT] = {explain};

/* Bits of a note: flags and the axis, then `repeats`, which the positions of an entry
 * share the rest with. Both fit, or the entry is left out. */
enum {
    NOTE_UNSIGNED = 1,
    NOTE_ENTRIES = 2,
    NOTE_AXIS = 2,
    NOTE_REPEATS = 6,
    NOTE_ENTRY = 32
};
_Static_assert(PITHP_MAX_RANK <= 1 << (NOTE_REPEATS - NOTE_AXIS),
               "notes hold every axis");

uint64_t pithp_index_note(const pithp_index_params *p, pith_dtype dtype, int k) {
    const uint64_t note = p->repeats << NOTE_REPEATS |
                          (uint64_t)pithp_index_axis(p, k) << NOTE_AXIS |
                          (dtype == PITH_U64 ? NOTE_UNSIGNED : 0);
    return p->entry && p->entry <= UINT32_MAX && !(note >> NOTE_ENTRY)
               ? note | p->entry << NOTE_ENTRY | NOTE_ENTRIES
               : note;
}

void pithp_index_describe(const void *subject,
                          const pith_report *report,
                          const char *site,
                          pithp_error *e) {
    const char *function = subject, *end = strchrnul(function, '\n');
    const uint64_t entries = report->what & NOTE_ENTRIES ? report->what >> NOTE_ENTRY : 0,
                   note = entries ? (uint32_t)report->what : report->what,
                   repeats = note >> NOTE_REPEATS;
    const int axis = (int)(note >> NOTE_AXIS) & ((1 << (NOTE_REPEATS - NOTE_AXIS)) - 1);
    uint64_t position = ~report->first;
    char value[24], entry[40] = "";
    if (note & NOTE_UNSIGNED)
        snprintf(value, sizeof value, "%" PRIu64, report->need);
    else
        snprintf(value, sizeof value, "%" PRId64, (int64_t)report->need);
    if (entries) {
        snprintf(entry, sizeof entry, " of entry %" PRIu64, position / entries);
        position %= entries;
    }
    pithp_error_set(e, PITH_E_INDEX, *end ? end + 1 : NULL, site,
                    "%.*s: index %s at position %" PRIu64
                    "%s is out of range for axis %d with extent %" PRIu64,
                    (int)(end - function), function, value,
                    position / (repeats ? repeats : 1), entry, axis, report->have);
}

/* ---- Single elements ---- */

enum {
    CACHED_BYTES = 1 << 24, /* of indices and elements that may be in cache */
    FAR_BYTES = 8192,       /* prefetch distance otherwise */
    RUN = 64,               /* elements between prefetches */
};

void pithp_index_move(pithp_isa isa,
                      const pithp_index_args *a,
                      const pithp_index_points *points,
                      char *to,
                      const char *from,
                      int64_t at,
                      int64_t n) {
    /* random accesses, unlike sorted ones, disturb the hardware prefetcher of sequential
     * reads */
    const bool far =
        !a->sorted && a->count * (a->index_size + points->from_step) > CACHED_BYTES;
    int64_t where[PITHP_INDEX_BLOCK];
    for (int64_t moved; n > 0; n -= moved, at += moved) {
        const int64_t run = far && n > RUN ? RUN : n;
        const char *index = a->index[0] + at * a->index_size;
        if (far) {
            pithp_fetch(index, FAR_BYTES, run * a->index_size);
            pithp_fetch(from, FAR_BYTES, run * points->from_step);
        }
        moved = points->direct(to, from, index, run, a->rule[0].extent);
        if (moved == 0) { /* not a plain offset: resolve a block of indices */
            moved = n < PITHP_INDEX_BLOCK ? n : PITHP_INDEX_BLOCK;
            const bool some = pithp_index_resolve(isa, a, at, moved, where);
            points->by_offset(isa, a, to, from, where, moved, some);
        }
        to += moved * points->to_step;
        from += moved * points->from_step;
    }
}

/* ---- take ---- */

/* Gather rows of `words` elements of one type. */
#define GATHER(type)                                                                     \
    static inline __attribute__((always_inline)) void gather_words_##type(               \
        type *to, const type *from, const int64_t *where, int64_t n, int64_t words) {    \
        for (int64_t i = 0; i < n; i++)                                                  \
            for (int64_t j = 0; j < words; j++)                                          \
                to[i * words + j] = from[where[i] * words + j];                          \
    }                                                                                    \
    static void gather_##type(void *to, const void *from, const int64_t *where,          \
                              int64_t n, int64_t words) {                                \
        switch (words) { /* unrolled for short rows */                                   \
            case 2:                                                                      \
                gather_words_##type(to, from, where, n, 2);                              \
                break;                                                                   \
            case 3:                                                                      \
                gather_words_##type(to, from, where, n, 3);                              \
                break;                                                                   \
            case 4:                                                                      \
                gather_words_##type(to, from, where, n, 4);                              \
                break;                                                                   \
            default:                                                                     \
                for (int64_t i = 0; i < n; i++)                                          \
                    memcpy((type *)to + i * words,                                       \
                           (const type *)from + where[i] * words,                        \
                           (size_t)words * sizeof(type));                                \
        }                                                                                \
    }
GATHER(uint8_t)
GATHER(uint16_t)
GATHER(uint32_t)
GATHER(uint64_t)

/* Gather with out-of-range rows: offset -1 gives the fill. Other rows are copied one by
 * one. */
static void take_some(const pithp_index_args *a,
                      char *to,
                      const char *from,
                      const int64_t *where,
                      int64_t n) {
    const int64_t bytes = a->inner * a->size;
    for (int64_t i = 0; i < n; i++, to += bytes) {
        if (where[i] >= 0)
            memcpy(to, from + where[i] * bytes, (size_t)bytes);
        else
            for (int64_t j = 0; j < a->inner; j++)
                memcpy(to + j * a->size, &a->fill, (size_t)a->size);
    }
}

static void take_rows(pithp_isa isa,
                      const pithp_index_args *a,
                      char *to,
                      const char *from,
                      const int64_t *where,
                      int64_t n,
                      bool some) {
    if (some) {
        take_some(a, to, from, where, n);
        return;
    }
    if (a->inner == 1) {
        functions[isa]->gather[__builtin_ctz((unsigned)a->size)](to, from, where, n);
        return;
    }
    switch (a->size) {
        case 1:
            gather_uint8_t(to, from, where, n, a->inner);
            break;
        case 2:
            gather_uint16_t(to, from, where, n, a->inner);
            break;
        case 4:
            gather_uint32_t(to, from, where, n, a->inner);
            break;
        default:
            gather_uint64_t(to, from, where, n, a->inner);
    }
}

/* Indices are rows of the result. */
static inline void take(pithp_isa isa, const void *args, int64_t begin, int64_t end) {
    const pithp_index_args *a = args;
    const bool direct = a->inner == 1 && pithp_index_is_direct(a);
    const int size = __builtin_ctz((unsigned)a->size);
    const pithp_index_points points = {
        functions[isa]->gather_direct[a->index_size == 8][size], take_rows, a->size, 0};
    int64_t where[PITHP_INDEX_BLOCK];
    /* the offsets are the same for every outer index */
    const bool once = !direct && a->count <= PITHP_INDEX_BLOCK;
    bool some = once && pithp_index_resolve(isa, a, 0, a->count, where);
    for (int64_t i = begin; i < end;) {
        const int64_t outer = i / a->count, at = i % a->count;
        int64_t n = a->count - at < end - i ? a->count - at : end - i;
        char *to = a->to + i * a->inner * a->size;
        const char *from = a->x + outer * a->pitch * a->size;
        if (direct) {
            pithp_index_move(isa, a, &points, to, from, at, n);
        } else {
            n = n < PITHP_INDEX_BLOCK ? n : PITHP_INDEX_BLOCK;
            if (!once)
                some = pithp_index_resolve(isa, a, at, n, where);
            take_rows(isa, a, to, from, once ? where + at : where, n, some);
        }
        i += n;
    }
}
PITHP_LOOPS(take)
const pithp_host_loop pithp_take_loops[PITHP_ISA_COUNT] = {take_base, take_v3, take_v4};

/* ---- take_along: indices are elements of the result ---- */

static inline void
take_along(pithp_isa isa, const void *args, int64_t begin, int64_t end) {
    const pithp_index_args *a = args;
    int64_t where[PITHP_INDEX_BLOCK];
    for (int64_t i = begin; i < end; i += PITHP_INDEX_BLOCK) {
        const int64_t n = end - i < PITHP_INDEX_BLOCK ? end - i : PITHP_INDEX_BLOCK;
        const int64_t row = a->count * a->inner;
        int64_t outer = i / row, left = row - i % row, column = i % a->inner;
        pithp_index_resolve(isa, a, i, n, where);
        for (int64_t j = 0; j < n; j++) {
            const int64_t at = outer * a->pitch + where[j] * a->inner + column;
            memcpy(a->to + (i + j) * a->size,
                   where[j] < 0 ? (const char *)&a->fill : a->x + at * a->size,
                   (size_t)a->size);
            column = column + 1 == a->inner ? 0 : column + 1;
            if (--left == 0) {
                left = row;
                outer++;
            }
        }
    }
}
PITHP_LOOPS(take_along)

/* ---- Lowering ---- */

pithp_index_args pithp_index_args_of(const pithp_call *call,
                                     const pithp_memory *memory,
                                     int arrays,
                                     int64_t count) {
    const pithp_index_params *p = call->params;
    const pith_spec *x = call->operands[0];
    const pith_dtype dtype = call->operands[1]->dtype;
    pithp_index_args a = {.x = memory->operands[0],
                          .to = memory->result,
                          .report = p->mode == PITHP_INDEX_ERROR ? memory->report : NULL,
                          .fill = p->fill,
                          .size = (int32_t)pith_dtype_size(x->dtype),
                          .dtype = x->dtype,
                          .index_dtype = dtype,
                          .index_size = (int32_t)pith_dtype_size(dtype),
                          .arrays = arrays,
                          .outer = 1,
                          .count = count,
                          .inner = 1};
    for (int d = 0; d < p->axis; d++)
        a.outer *= x->shape[d];
    for (int d = p->axis + arrays; d < x->rank; d++)
        a.inner *= x->shape[d];
    a.pitch = a.inner;
    for (int k = 0; k < arrays; k++) {
        a.index[k] = memory->operands[1 + k];
        a.rule[k] = (pithp_indexing){.extent = x->shape[p->axis + k],
                                     .mode = p->mode,
                                     .no_negative = p->no_negative,
                                     .unsigned64 = dtype == PITH_U64};
        a.note[k] = pithp_index_note(p, dtype, k);
        a.pitch *= x->shape[p->axis + k];
    }
    return a;
}

pith_status
pithp_index_explain(const char *name, const pithp_index_args *a, const pithp_sink *sink) {
    return a->report ? pithp_launch_loops(sink, name, explain_loops, a, sizeof *a, 1, 0)
                     : PITH_OK;
}

pith_status pithp_lower_take(const pithp_call *call,
                             const pith_spec *result,
                             const pithp_memory *memory,
                             const pithp_sink *sink) {
    const pithp_index_args a = pithp_index_args_of(call, memory, pithp_index_arrays(call),
                                                   call->operands[1]->count);
    if (result->count == 0)
        return PITH_OK;
    const pith_status rc = pithp_launch_loops(sink, "take", take_loops, &a, sizeof a,
                                              a.outer * a.count, 4096 / a.inner + 1);
    return rc ? rc : pithp_index_explain("take", &a, sink);
}

pith_status pithp_lower_take_along(const pithp_call *call,
                                   const pith_spec *result,
                                   const pithp_memory *memory,
                                   const pithp_sink *sink) {
    const pithp_index_params *p = call->params;
    const pithp_index_args a =
        pithp_index_args_of(call, memory, 1, call->operands[1]->shape[p->axis]);
    if (result->count == 0)
        return PITH_OK;
    const pith_status rc = pithp_launch_loops(sink, "take_along", take_along_loops, &a,
                                              sizeof a, result->count, 0);
    return rc ? rc : pithp_index_explain("take_along", &a, sink);
}
