/* Taking and scattering at index arrays. Indices become offsets, a block at a time; rows
 * of elements at those offsets are copied or combined in the order of the indices. */
#include "program/block/index.h"

#include "pith/kernel.h"

#include "program/block/block.h"
#include "program/move.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 512 };

static const pithp_resolve resolvers[PITHP_ISA_COUNT] = {pithp_resolve_base,
#ifdef __x86_64__
                                                         pithp_resolve_v3,
                                                         pithp_resolve_v4
#else
                                                         pithp_resolve_base,
                                                         pithp_resolve_base
#endif
};

/* ---- Specs ---- */

static bool scatters(const pithp_call *call) {
    return call->primitive >= PITHP_OP_SCATTER_SET &&
           call->primitive <= PITHP_OP_SCATTER_MAX;
}

static int arrays_of(const pithp_call *call) {
    return call->operand_count - 1 - scatters(call);
}

/* The shape of what is taken or written: that of x with the indexed dimensions replaced.
 */
static pith_status infer_taken(const pithp_call *call,
                               pithp_refusal *refusal,
                               int *rank,
                               int64_t shape[2 * PITH_MAX_RANK]) {
    const pithp_index_params *p = call->params;
    const pith_spec *x = call->operands[0], *index = call->operands[1];
    const int arrays = arrays_of(call);
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
                call, refusal, PITH_E_SHAPE, "expected index arrays alike, got %s and %s",
                pithp_spec_print(index, first), pithp_spec_print(other, text));
        if (x->shape[p->axis + k] == 0 && index->count > 0 &&
            p->mode != PITHP_INDEX_DROP && p->mode != PITHP_INDEX_ERROR)
            return pithp_refuse(call, refusal, PITH_E_INDEX,
                                "dimension %d of %s has no element to choose",
                                p->axis + k, pithp_spec_print(x, text));
    }
    *rank = 0;
    for (int d = 0; d < p->axis; d++)
        shape[(*rank)++] = x->shape[d];
    for (int d = 0; d < index->rank; d++)
        shape[(*rank)++] = index->shape[d];
    for (int d = p->axis + arrays; d < x->rank; d++)
        shape[(*rank)++] = x->shape[d];
    if (*rank > PITH_MAX_RANK)
        return pithp_refuse(call, refusal, PITH_E_SHAPE, "a result of rank %d", *rank);
    return PITH_OK;
}

pith_status
pithp_infer_take(const pithp_call *call, pith_spec *result, pithp_refusal *refusal) {
    int rank;
    int64_t shape[2 * PITH_MAX_RANK];
    if (call->operand_count < 2)
        return pithp_refuse(call, refusal, PITH_E_ARG, "no index array");
    const pith_status rc = infer_taken(call, refusal, &rank, shape);
    return rc ? rc
              : pithp_spec_fill(call, refusal, result, call->operands[0]->dtype, rank,
                                shape);
}
PITHP_NO_TEMPORARY(take)

pith_status
pithp_infer_scatter(const pithp_call *call, pith_spec *result, pithp_refusal *refusal) {
    const pith_spec *x = call->operands[0];
    int rank;
    int64_t shape[2 * PITH_MAX_RANK];
    if (call->operand_count < 3)
        return pithp_refuse(call, refusal, PITH_E_ARG, "no index array or no updates");
    const pith_status rc = infer_taken(call, refusal, &rank, shape);
    if (rc)
        return rc;
    const pith_spec *updates = call->operands[call->operand_count - 1];
    char wanted[PITHP_SPEC_TEXT_BYTES], got[PITHP_SPEC_TEXT_BYTES];
    if (updates->rank != rank ||
        memcmp(updates->shape, shape, (size_t)rank * sizeof *shape) != 0)
        return pithp_refuse(
            call, refusal, PITH_E_SHAPE, "expected updates of shape %s, got %s",
            pithp_shape_print(rank, shape, wanted), pithp_spec_print(updates, got));
    const bool adds = call->primitive == PITHP_OP_SCATTER_ADD ||
                      call->primitive == PITHP_OP_SCATTER_MUL;
    if (updates->dtype != x->dtype || (adds && x->dtype == PITH_BOOL))
        return pithp_refuse(call, refusal, PITH_E_DTYPE,
                            "expected %s of one dtype, got %s and %s",
                            adds ? "numbers" : "operands", pithp_spec_print(x, wanted),
                            pithp_spec_print(updates, got));
    return pithp_spec_fill(call, refusal, result, x->dtype, x->rank, x->shape);
}
PITHP_NO_TEMPORARY(scatter)

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
            "expected indices with the extents of %s but for axis %d, got %s",
            pithp_spec_print(x, other), p->axis, pithp_spec_print(index, text));
    if (x->shape[p->axis] == 0 && index->count > 0 && p->mode != PITHP_INDEX_DROP &&
        p->mode != PITHP_INDEX_ERROR)
        return pithp_refuse(call, refusal, PITH_E_INDEX,
                            "dimension %d of %s has no element to choose", p->axis,
                            pithp_spec_print(x, text));
    return pithp_spec_fill(call, refusal, result, x->dtype, index->rank, index->shape);
}
PITHP_NO_TEMPORARY(take_along)

/* ---- Offsets ---- */

typedef struct index_args {
    const char *x; /* take: [outer, indexed..., inner] */
    char *to;      /* take: [outer, count, inner]; scatter: [outer, indexed..., inner] */
    const char *updates; /* scatter: [outer, count, inner] */
    pith_report *report; /* mode error */
    uint64_t fill;
    int32_t size; /* bytes of an element */
    pith_dtype dtype, index_dtype;
    int32_t index_size, arrays;
    pithp_primitive combine; /* scatter: the elementwise row; WHERE: set */
    int64_t outer, count, inner;
    int64_t pitch; /* elements between outer indices of what is indexed */
    int64_t chunk; /* scatter: elements of inner that an index of the launch does */
    const char *index[PITH_MAX_RANK];
    pithp_indexing rule[PITH_MAX_RANK];
} index_args;

/* Offsets, in rows of `inner`, of the indices at..at + n; n is at most a block. */
static void
resolve(pithp_isa isa, const index_args *a, int64_t at, int64_t n, int64_t where[BLOCK]) {
    const pithp_block_function widen = pithp_cast_block(isa, a->index_dtype, PITH_I64);
    int64_t index[BLOCK];
    memset(where, 0, (size_t)n * sizeof *where);
    for (int k = 0; k < a->arrays; k++) {
        widen(index, a->index[k] + at * a->index_size, NULL, NULL, n);
        resolvers[isa](where, index, n, &a->rule[k]);
    }
    if (!a->report)
        return;
    for (int64_t i = 0; i < n; i++) {
        if (where[i] < 0) {
            pith_raise_(&a->report->first, ~(uint64_t)(at + i));
            break;
        }
    }
}

/* What the first failing index was: one index of a launch after the others. */
static void explain(const void *args, int64_t begin, int64_t end) {
    const index_args *a = args;
    pith_report *r = a->report;
    (void)begin, (void)end;
    if (r->first == 0)
        return;
    for (int k = 0; k < a->arrays; k++) {
        int64_t value, where = 0;
        pithp_cast_block(PITHP_ISA_BASE, a->index_dtype, PITH_I64)(
            &value, a->index[k] + (int64_t)~r->first * a->index_size, NULL, NULL, 1);
        pithp_resolve_base(&where, &value, 1, &a->rule[k]);
        if (where < 0) {
            r->need = (uint64_t)value;
            r->have = (uint64_t)a->rule[k].extent;
            r->what = a->rule[k].unsigned64;
            return;
        }
    }
}
static const pithp_host_loop explain_loops[PITHP_ISA_COUNT] = {explain};

void pithp_index_describe(const void *subject,
                          const pith_report *report,
                          const char *site,
                          pithp_error *e) {
    const pithp_row *row = subject;
    char value[24];
    if (report->what)
        snprintf(value, sizeof value, "%" PRIu64, report->need);
    else
        snprintf(value, sizeof value, "%" PRId64, (int64_t)report->need);
    pithp_error_set(e, PITH_E_INDEX, NULL, site,
                    "%s: index %s at position %" PRIu64
                    " is out of range for extent %" PRIu64,
                    row->name, value, ~report->first, report->have);
}

/* ---- take ---- */

/* Rows of `words` elements of one type from where they lie. */
#define GATHER(type)                                                                     \
    static inline __attribute__((always_inline)) void gather_words_##type(               \
        type *to, const type *from, const int64_t *where, int64_t n, int64_t words) {    \
        for (int64_t i = 0; i < n; i++)                                                  \
            for (int64_t j = 0; j < words; j++)                                          \
                to[i * words + j] = from[where[i] * words + j];                          \
    }                                                                                    \
    static void gather_##type(void *to, const void *from, const int64_t *where,          \
                              int64_t n, int64_t words) {                                \
        switch (words) { /* the short ones unrolled */                                   \
            case 1:                                                                      \
                gather_words_##type(to, from, where, n, 1);                              \
                break;                                                                   \
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

/* Rows whose offset is -1 become the fill; the others are copied one by one. */
static void take_some(const index_args *a,
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

static void take_rows(const index_args *a,
                      char *to,
                      const char *from,
                      const int64_t *where,
                      int64_t n) {
    int64_t signs = 0;
    for (int64_t i = 0; i < n; i++)
        signs |= where[i];
    if (signs < 0) {
        take_some(a, to, from, where, n);
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
    const index_args *a = args;
    int64_t where[BLOCK];
    const bool once = a->count <= BLOCK; /* offsets serve every outer index */
    if (once)
        resolve(isa, a, 0, a->count, where);
    for (int64_t i = begin; i < end;) {
        const int64_t outer = i / a->count, at = i % a->count;
        int64_t n = a->count - at < end - i ? a->count - at : end - i;
        n = n < BLOCK ? n : BLOCK;
        if (!once)
            resolve(isa, a, at, n, where);
        take_rows(a, a->to + i * a->inner * a->size, a->x + outer * a->pitch * a->size,
                  once ? where + at : where, n);
        i += n;
    }
}
PITHP_LOOPS(take)

/* ---- take_along: indices are elements of the result ---- */

static inline void
take_along(pithp_isa isa, const void *args, int64_t begin, int64_t end) {
    const index_args *a = args;
    int64_t where[BLOCK];
    for (int64_t i = begin; i < end; i += BLOCK) {
        const int64_t n = end - i < BLOCK ? end - i : BLOCK;
        const int64_t row = a->count * a->inner;
        int64_t outer = i / row, left = row - i % row, column = i % a->inner;
        resolve(isa, a, i, n, where);
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

/* ---- scatter ---- */

/* Single elements, in order. */
#define POINTS(name, dt, expression)                                                     \
    static void name##_##dt(void *to, const void *from, const int64_t *where,            \
                            int64_t n) {                                                 \
        dt *d = to;                                                                      \
        const dt *x = from;                                                              \
        for (int64_t i = 0; i < n; i++) {                                                \
            if (where[i] < 0)                                                            \
                continue;                                                                \
            const T_##dt a = LOAD_##dt(d[where[i]]), b = LOAD_##dt(x[i]);                \
            d[where[i]] = STORE_##dt(expression);                                        \
        }                                                                                \
    }
#define SET(dt)                                                                          \
    static void set_##dt(void *to, const void *from, const int64_t *where, int64_t n) {  \
        for (int64_t i = 0; i < n; i++)                                                  \
            if (where[i] >= 0)                                                           \
                ((dt *)to)[where[i]] = ((const dt *)from)[i];                            \
    }
SET(u8)
SET(u16)
SET(u32)
SET(u64)

#define ARITHMETIC(name, op)                                                             \
    POINTS(name, u8, (u32)a op b)                                                        \
    POINTS(name, u16, (u32)a op b)                                                       \
    POINTS(name, u32, a op b)                                                            \
    POINTS(name, u64, a op b)                                                            \
    POINTS(name, f16, a op b)                                                            \
    POINTS(name, bf16, a op b)                                                           \
    POINTS(name, f32, a op b)                                                            \
    POINTS(name, f64, a op b)
ARITHMETIC(add, +)
ARITHMETIC(mul, *)

#define EXTREMES(name, op)                                                               \
    POINTS(name, b8, a op b ? a : b)                                                     \
    POINTS(name, i8, a op b ? a : b)                                                     \
    POINTS(name, i16, a op b ? a : b)                                                    \
    POINTS(name, i32, a op b ? a : b)                                                    \
    POINTS(name, i64, a op b ? a : b)                                                    \
    POINTS(name, u8, a op b ? a : b)                                                     \
    POINTS(name, u16, a op b ? a : b)                                                    \
    POINTS(name, u32, a op b ? a : b)                                                    \
    POINTS(name, u64, a op b ? a : b)                                                    \
    POINTS(name, f16, (a op b) | (a != a) ? a : b)                                       \
    POINTS(name, bf16, (a op b) | (a != a) ? a : b)                                      \
    POINTS(name, f32, (a op b) | (a != a) ? a : b)                                       \
    POINTS(name, f64, (a op b) | (a != a) ? a : b)
EXTREMES(min, <)
EXTREMES(max, >)

typedef void (*points_function)(void *to,
                                const void *from,
                                const int64_t *where,
                                int64_t n);

#define SIZES(name)                                                                      \
    [PITH_I8] = name##_u8, [PITH_U8] = name##_u8, [PITH_I16] = name##_u16,               \
    [PITH_U16] = name##_u16, [PITH_I32] = name##_u32, [PITH_U32] = name##_u32,           \
    [PITH_I64] = name##_u64, [PITH_U64] = name##_u64
#define REALS(name)                                                                      \
    [PITH_F16] = name##_f16, [PITH_BF16] = name##_bf16, [PITH_F32] = name##_f32,         \
    [PITH_F64] = name##_f64
#define SIGNS(name)                                                                      \
    [PITH_BOOL] = name##_b8, [PITH_I8] = name##_i8, [PITH_I16] = name##_i16,             \
    [PITH_I32] = name##_i32, [PITH_I64] = name##_i64, [PITH_U8] = name##_u8,             \
    [PITH_U16] = name##_u16, [PITH_U32] = name##_u32, [PITH_U64] = name##_u64

/* By the row that combines, WHERE being set. */
static const points_function points[PITHP_ELEMENTWISE_COUNT][PITH_DTYPE_COUNT] = {
    [PITHP_OP_WHERE] =
        {SIZES(set), [PITH_BOOL] = set_u8, [PITH_F16] = set_u16, [PITH_BF16] = set_u16,
         [PITH_F32] = set_u32, [PITH_F64] = set_u64},
    [PITHP_OP_ADD] = {SIZES(add), REALS(add)},
    [PITHP_OP_MUL] = {SIZES(mul), REALS(mul)},
    [PITHP_OP_MIN] = {SIGNS(min), REALS(min)},
    [PITHP_OP_MAX] = {SIGNS(max), REALS(max)},
};

/* n rows of `width` elements, `inner` apart on both sides. */
static void scatter_rows(pithp_isa isa,
                         const index_args *a,
                         char *to,
                         const char *from,
                         const int64_t *where,
                         int64_t n,
                         int64_t width) {
    const int64_t bytes = a->inner * a->size;
    if (a->inner == 1) {
        points[a->combine][a->dtype](to, from, where, n);
    } else if (a->combine == PITHP_OP_WHERE) {
        for (int64_t i = 0; i < n; i++)
            if (where[i] >= 0)
                memcpy(to + where[i] * bytes, from + i * bytes,
                       (size_t)(width * a->size));
    } else {
        const pithp_block_function combine =
            pithp_elementwise_block(isa, a->combine, a->dtype);
        for (int64_t i = 0; i < n; i++) {
            char *row = to + where[i] * bytes;
            if (where[i] >= 0)
                combine(row, row, from + i * bytes, NULL, width);
        }
    }
}

/* Indices are chunks of inner within outer indices; each does all updates of its part. */
static inline void scatter(pithp_isa isa, const void *args, int64_t begin, int64_t end) {
    const index_args *a = args;
    const int64_t chunks = (a->inner + a->chunk - 1) / a->chunk;
    int64_t where[BLOCK];
    const bool once = a->count <= BLOCK;
    if (once)
        resolve(isa, a, 0, a->count, where);
    for (int64_t i = begin; i < end; i++) {
        const int64_t outer = i / chunks, first = i % chunks * a->chunk;
        const int64_t left = a->inner - first, width = left < a->chunk ? left : a->chunk;
        char *to = a->to + (outer * a->pitch + first) * a->size;
        const char *from = a->updates + (outer * a->count * a->inner + first) * a->size;
        for (int64_t at = 0; at < a->count; at += BLOCK) {
            const int64_t rows = a->count - at < BLOCK ? a->count - at : BLOCK;
            if (!once)
                resolve(isa, a, at, rows, where);
            scatter_rows(isa, a, to, from + at * a->inner * a->size, where, rows, width);
        }
    }
}
PITHP_LOOPS(scatter)

/* ---- Lowering ---- */

static index_args
args_of(const pithp_call *call, const pithp_memory *memory, int arrays, int64_t count) {
    const pithp_index_params *p = call->params;
    const pith_spec *x = call->operands[0];
    const pith_dtype dtype = call->operands[1]->dtype;
    index_args a = {.x = memory->operands[0],
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
        a.pitch *= x->shape[p->axis + k];
    }
    return a;
}

static pith_status
emit_explanation(const char *name, const index_args *a, const pithp_sink *sink) {
    return a->report ? pithp_emit(sink, name, explain_loops, a, sizeof *a, 1, 0)
                     : PITH_OK;
}

pith_status pithp_lower_take(const pithp_call *call,
                             const pith_spec *result,
                             const pithp_memory *memory,
                             const pithp_sink *sink) {
    const index_args a = args_of(call, memory, arrays_of(call), call->operands[1]->count);
    if (result->count == 0)
        return PITH_OK;
    const pith_status rc = pithp_emit(sink, "take", take_loops, &a, sizeof a,
                                      a.outer * a.count, 4096 / a.inner + 1);
    return rc ? rc : emit_explanation("take", &a, sink);
}

pith_status pithp_lower_take_along(const pithp_call *call,
                                   const pith_spec *result,
                                   const pithp_memory *memory,
                                   const pithp_sink *sink) {
    const pithp_index_params *p = call->params;
    const index_args a = args_of(call, memory, 1, call->operands[1]->shape[p->axis]);
    if (result->count == 0)
        return PITH_OK;
    const pith_status rc =
        pithp_emit(sink, "take_along", take_along_loops, &a, sizeof a, result->count, 0);
    return rc ? rc : emit_explanation("take_along", &a, sink);
}

pith_status pithp_lower_scatter(const pithp_call *call,
                                const pith_spec *result,
                                const pithp_memory *memory,
                                const pithp_sink *sink) {
    static const pithp_primitive combines[] = {PITHP_OP_WHERE, PITHP_OP_ADD, PITHP_OP_MUL,
                                               PITHP_OP_MIN, PITHP_OP_MAX};
    const char *name = pithp_rows[call->primitive].name;
    const int last = call->operand_count - 1;
    index_args a = args_of(call, memory, arrays_of(call), call->operands[1]->count);
    pithp_move copy = {.to = memory->result,
                       .from = memory->operands[0],
                       .size = a.size,
                       .rank = 1,
                       .shape = {result->count},
                       .to_stride = {a.size},
                       .from_stride = {a.size}};
    a.updates = memory->operands[last];
    a.combine = combines[call->primitive - PITHP_OP_SCATTER_SET];
    a.chunk = a.inner == 1 ? 1 : 1024;
    pith_status rc = pithp_emit_move(sink, name, &copy);
    if (rc || a.outer * a.count * a.inner == 0)
        return rc;
    const int64_t chunks = (a.inner + a.chunk - 1) / a.chunk;
    rc = pithp_emit(sink, name, scatter_loops, &a, sizeof a, a.outer * chunks,
                    4096 / (a.count * (a.inner < a.chunk ? a.inner : a.chunk)) + 1);
    return rc ? rc : emit_explanation(name, &a, sink);
}
