/* Shape primitives: they make, move and join elements without arithmetic. */
#include "program/host/move.h"

#include <string.h>

/* ---- full, iota ---- */

static pith_status check_made(const pithp_call *call,
                              pithp_refusal *refusal,
                              pith_dtype dtype,
                              int rank,
                              const int64_t *shape) {
    if (dtype <= PITH_DTYPE_NONE || dtype >= PITH_DTYPE_COUNT)
        return pithp_refuse(call, refusal, PITH_E_DTYPE, "no such dtype (%d)",
                            (int)dtype);
    if (rank < 0 || rank > pithp_call_max_rank(call))
        return pithp_refuse(call, refusal, PITH_E_SHAPE, "rank %d is not within 0..%d",
                            rank, pithp_call_max_rank(call));
    for (int d = 0; d < rank; d++)
        if (shape[d] < 0)
            return pithp_refuse(call, refusal, PITH_E_SHAPE, "extent %lld is negative",
                                (long long)shape[d]);
    return PITH_OK;
}

pith_status
pithp_infer_full(const pithp_call *call, pith_spec *result, pithp_refusal *refusal) {
    const pithp_full_params *p = call->params;
    const pith_status rc = check_made(call, refusal, p->dtype, p->rank, p->shape);
    return rc ? rc : pithp_spec_fill(call, refusal, result, p->dtype, p->rank, p->shape);
}
PITHP_NO_TEMPORARY(full)
pith_status pithp_lower_full(const pithp_call *call,
                             const pith_spec *result,
                             const pithp_memory *memory,
                             const pithp_sink *sink) {
    const pithp_full_params *p = call->params;
    return pithp_launch_fill(sink, "full", memory->result,
                             (int32_t)pith_dtype_size(result->dtype), p->value,
                             result->count);
}

pith_status
pithp_infer_iota(const pithp_call *call, pith_spec *result, pithp_refusal *refusal) {
    const pithp_iota_params *p = call->params;
    const pith_status rc = check_made(call, refusal, p->dtype, p->rank, p->shape);
    if (rc)
        return rc;
    if (p->axis < 0 || p->axis >= p->rank)
        return pithp_refuse(call, refusal, PITH_E_ARG, "axis %d of rank %d", p->axis,
                            p->rank);
    return pithp_spec_fill(call, refusal, result, p->dtype, p->rank, p->shape);
}
PITHP_NO_TEMPORARY(iota)

typedef struct iota_args {
    char *to;
    int32_t size;
    pith_dtype dtype;
    int64_t extent, inner; /* of the axis; elements with equal index along it */
} iota_args;

static inline void iota(pithp_isa isa, const void *args, int64_t begin, int64_t end) {
    enum { BLOCK = 512 };
    const iota_args *a = args;
    const pithp_block_function cast = pithp_cast_block(isa, PITH_I64, a->dtype);
    int64_t block[BLOCK], index = begin / a->inner % a->extent, left = begin % a->inner;
    left = a->inner - left;
    for (int64_t i = begin; i < end; i += BLOCK) {
        const int64_t n = end - i < BLOCK ? end - i : BLOCK;
        for (int64_t j = 0; j < n;) {
            if (a->inner == 1) { /* consecutive integers */
                const int64_t more = a->extent - index, run = more < n - j ? more : n - j;
                for (int64_t k = 0; k < run; k++)
                    block[j + k] = index + k;
                j += run;
                index = run == more ? 0 : index + run;
                continue;
            }
            const int64_t run = left < n - j ? left : n - j;
            for (const int64_t stop = j + run; j < stop; j++)
                block[j] = index;
            left -= run;
            if (left == 0) {
                left = a->inner;
                index = index + 1 == a->extent ? 0 : index + 1;
            }
        }
        cast(a->to + i * a->size, block, NULL, NULL, n);
    }
}
PITHP_LOOPS(iota)

pith_status pithp_lower_iota(const pithp_call *call,
                             const pith_spec *result,
                             const pithp_memory *memory,
                             const pithp_sink *sink) {
    const pithp_iota_params *p = call->params;
    iota_args a = {.to = memory->result,
                   .size = (int32_t)pith_dtype_size(result->dtype),
                   .dtype = result->dtype,
                   .extent = result->shape[p->axis],
                   .inner = 1};
    for (int d = p->axis + 1; d < result->rank; d++)
        a.inner *= result->shape[d];
    return pithp_launch_loops(sink, "iota", iota_loops, &a, sizeof a, result->count, 0);
}

/* ---- Views of one operand by strides ---- */

/* Copy the view of the only operand. */
static pith_status lower_view(const pithp_call *call,
                              const pith_spec *result,
                              const pithp_memory *memory,
                              const pithp_sink *sink) {
    const pith_spec *x = call->operands[0];
    const int32_t size = (int32_t)pith_dtype_size(x->dtype);
    pithp_move m = {.to = memory->result,
                    .from = memory->operands[0],
                    .size = size,
                    .rank = result->rank};
    int64_t stride[PITHP_MAX_RANK];
    memcpy(m.shape, result->shape, sizeof m.shape);
    pithp_c_strides(m.rank, m.shape, size, m.to_stride);
    pithp_c_strides(x->rank, x->shape, size, stride);
    m.from += pithp_view_strides(call->primitive, call->params, x, stride, size, result,
                                 m.from_stride);
    return pithp_launch_move(sink, pithp_ops[call->primitive].name, &m);
}

#define LOWERED_AS_VIEW(rule)                                                            \
    PITHP_NO_TEMPORARY(rule)                                                             \
    pith_status pithp_lower_##rule(const pithp_call *call, const pith_spec *result,      \
                                   const pithp_memory *memory, const pithp_sink *sink) { \
        return lower_view(call, result, memory, sink);                                   \
    }

pith_status
pithp_infer_broadcast(const pithp_call *call, pith_spec *result, pithp_refusal *refusal) {
    const pithp_broadcast_params *p = call->params;
    const pith_spec *x = call->operands[0];
    const pith_status rc = check_made(call, refusal, x->dtype, p->rank, p->shape);
    if (rc)
        return rc;
    for (int d = 0, before = -1; d < x->rank; d++) {
        const int at = p->dimensions[d];
        char from[PITHP_SPEC_TEXT_BYTES], to[PITHP_SPEC_TEXT_BYTES];
        if (at <= before || at >= p->rank ||
            (x->shape[d] != 1 && x->shape[d] != p->shape[at]))
            return pithp_refuse(
                call, refusal, PITH_E_SHAPE, "cannot broadcast %s to %s (dimension %d)",
                pithp_spec_print(x, from), pithp_shape_print(p->rank, p->shape, to), d);
        before = at;
    }
    return pithp_spec_fill(call, refusal, result, x->dtype, p->rank, p->shape);
}
LOWERED_AS_VIEW(broadcast)

pith_status
pithp_infer_reshape(const pithp_call *call, pith_spec *result, pithp_refusal *refusal) {
    const pithp_reshape_params *p = call->params;
    const pith_spec *x = call->operands[0];
    pith_status rc = check_made(call, refusal, x->dtype, p->rank, p->shape);
    if (!rc)
        rc = pithp_spec_fill(call, refusal, result, x->dtype, p->rank, p->shape);
    if (!rc && result->count != x->count) {
        char from[PITHP_SPEC_TEXT_BYTES], to[PITHP_SPEC_TEXT_BYTES];
        return pithp_refuse(
            call, refusal, PITH_E_SHAPE, "%s has %lld elements, %s has %lld",
            pithp_spec_print(x, from), (long long)x->count,
            pithp_shape_print(p->rank, p->shape, to), (long long)result->count);
    }
    return rc;
}
LOWERED_AS_VIEW(reshape)

pith_status
pithp_infer_transpose(const pithp_call *call, pith_spec *result, pithp_refusal *refusal) {
    const pithp_transpose_params *p = call->params;
    const pith_spec *x = call->operands[0];
    int64_t shape[PITHP_MAX_RANK];
    unsigned seen = 0;
    for (int d = 0; d < x->rank; d++) {
        const int from = p->permutation[d];
        if (from < 0 || from >= x->rank || (seen >> from & 1))
            return pithp_refuse(
                call, refusal, PITH_E_ARG,
                "dimension %d at position %d: not a permutation of %d dimensions", from,
                d, x->rank);
        seen |= 1u << from;
        shape[d] = x->shape[from];
    }
    return pithp_spec_fill(call, refusal, result, x->dtype, x->rank, shape);
}
LOWERED_AS_VIEW(transpose)

pith_status
pithp_infer_slice(const pithp_call *call, pith_spec *result, pithp_refusal *refusal) {
    const pithp_slice_params *p = call->params;
    const pith_spec *x = call->operands[0];
    int64_t shape[PITHP_MAX_RANK];
    for (int d = 0; d < x->rank; d++) {
        const int64_t n = x->shape[d], start = p->start[d], limit = p->limit[d],
                      step = p->step[d];
        const bool within = step > 0 ? 0 <= start && start <= limit && limit <= n
                                     : -1 <= limit && limit <= start && start < n;
        if (step == 0 || !within)
            return pithp_refuse(
                call, refusal, PITH_E_INDEX,
                "start %lld, limit %lld, step %lld of dimension %d do not "
                "lie within its extent %lld",
                (long long)start, (long long)limit, (long long)step, d, (long long)n);
        const int64_t span = step > 0 ? limit - start : start - limit;
        const uint64_t stride = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
        shape[d] = span == 0 ? 0 : (int64_t)(((uint64_t)span - 1) / stride + 1);
    }
    return pithp_spec_fill(call, refusal, result, x->dtype, x->rank, shape);
}
LOWERED_AS_VIEW(slice)

pith_status
pithp_infer_reverse(const pithp_call *call, pith_spec *result, pithp_refusal *refusal) {
    const pithp_reverse_params *p = call->params;
    const pith_spec *x = call->operands[0];
    if (p->axes >> x->rank)
        return pithp_refuse(call, refusal, PITH_E_ARG, "axes beyond rank %d", x->rank);
    return pithp_spec_fill(call, refusal, result, x->dtype, x->rank, x->shape);
}
LOWERED_AS_VIEW(reverse)

/* ---- concatenate ---- */

pith_status pithp_infer_concatenate(const pithp_call *call,
                                    pith_spec *result,
                                    pithp_refusal *refusal) {
    const pithp_concatenate_params *p = call->params;
    const pith_spec *const *x = call->operands;
    int64_t shape[PITHP_MAX_RANK];
    if (call->operand_count == 0)
        return pithp_refuse(call, refusal, PITH_E_ARG, "expected at least one operand");
    if (p->axis < 0 || p->axis >= x[0]->rank)
        return pithp_refuse(call, refusal, PITH_E_ARG, "axis %d of rank %d", p->axis,
                            x[0]->rank);
    memcpy(shape, x[0]->shape, sizeof shape);
    for (int k = 1; k < call->operand_count; k++) {
        bool fits = x[k]->dtype == x[0]->dtype && x[k]->rank == x[0]->rank;
        for (int d = 0; fits && d < x[0]->rank; d++)
            fits = d == p->axis || x[k]->shape[d] == x[0]->shape[d];
        if (!fits) {
            char first[PITHP_SPEC_TEXT_BYTES], other[PITHP_SPEC_TEXT_BYTES];
            return pithp_refuse(
                call, refusal, x[k]->dtype == x[0]->dtype ? PITH_E_SHAPE : PITH_E_DTYPE,
                "operand %d: expected the dtype and extents of %s except along "
                "axis %d, got %s",
                k, pithp_spec_print(x[0], first), p->axis, pithp_spec_print(x[k], other));
        }
        if (__builtin_add_overflow(shape[p->axis], x[k]->shape[p->axis], &shape[p->axis]))
            return pithp_refuse(call, refusal, PITH_E_OVERFLOW,
                                "the extent of the result overflows");
    }
    return pithp_spec_fill(call, refusal, result, x[0]->dtype, x[0]->rank, shape);
}
PITHP_NO_TEMPORARY(concatenate)

/* Operands that one launch joins: row r of an operand is `bytes` bytes from
 * from + r * bytes on. */
enum { JOINED = 128 };
typedef struct join_args {
    char *to;
    int64_t pitch; /* bytes between rows of the result */
    int64_t count;
    struct {
        const char *from;
        int64_t bytes;
    } operand[JOINED];
} join_args;

static void join(const void *args, int64_t begin, int64_t end) {
    const join_args *a = args;
    for (int64_t row = begin; row < end; row++) {
        char *to = a->to + row * a->pitch;
        for (int k = 0; k < a->count; k++) {
            const int64_t bytes = a->operand[k].bytes;
            memcpy(to, a->operand[k].from + row * bytes, (size_t)bytes);
            to += bytes;
        }
    }
}
static const pithp_host_loop join_loops[PITHP_ISA_COUNT] = {join};

/* Emit the collected operands, and start anew after them. */
static pith_status launch_joined(join_args *a, int64_t rows, const pithp_sink *sink) {
    const size_t args =
        offsetof(join_args, operand) + (size_t)a->count * sizeof *a->operand;
    int64_t bytes = 0;
    for (int k = 0; k < a->count; k++)
        bytes += a->operand[k].bytes;
    const pith_status rc = a->count ? pithp_launch_loops(sink, "concatenate", join_loops,
                                                         a, args, rows, 32768 / bytes + 1)
                                    : PITH_OK;
    a->to += bytes;
    a->count = 0;
    return rc;
}

/* One operand alone: a long row that threads share, or runs of a few elements. */
static pith_status launch_operand(join_args *a,
                                  const void *from,
                                  int64_t row_bytes,
                                  int32_t size,
                                  int64_t rows,
                                  const pithp_sink *sink) {
    const pithp_move m = {.to = a->to,
                          .from = from,
                          .size = size,
                          .rank = 2,
                          .shape = {rows, row_bytes / size},
                          .to_stride = {a->pitch, size},
                          .from_stride = {row_bytes, size}};
    a->to += row_bytes;
    return pithp_launch_move(sink, "concatenate", &m);
}

pith_status pithp_lower_concatenate(const pithp_call *call,
                                    const pith_spec *result,
                                    const pithp_memory *memory,
                                    const pithp_sink *sink) {
    const pithp_concatenate_params *p = call->params;
    const int32_t size = (int32_t)pith_dtype_size(result->dtype);
    int64_t rows = 1, unit = size;
    for (int d = 0; d < p->axis; d++)
        rows *= result->shape[d];
    for (int d = p->axis + 1; d < result->rank; d++)
        unit *= result->shape[d];
    if (result->count == 0)
        return PITH_OK;
    join_args a;
    a.to = memory->result;
    a.pitch = unit * result->shape[p->axis];
    a.count = 0;
    for (int k = 0; k < call->operand_count; k++) {
        const int64_t row_bytes = unit * call->operands[k]->shape[p->axis];
        const bool alone = rows == 1 ? row_bytes >= 1 << 20 : row_bytes <= 4 * size;
        pith_status rc = PITH_OK;
        if (row_bytes == 0)
            continue;
        if (alone || a.count == JOINED)
            rc = launch_joined(&a, rows, sink);
        if (rc == PITH_OK && alone)
            rc = launch_operand(&a, memory->operands[k], row_bytes, size, rows, sink);
        if (rc)
            return rc;
        if (!alone) {
            a.operand[a.count].from = memory->operands[k];
            a.operand[a.count++].bytes = row_bytes;
        }
    }
    return launch_joined(&a, rows, sink);
}

/* ---- pad ---- */

pith_status
pithp_infer_pad(const pithp_call *call, pith_spec *result, pithp_refusal *refusal) {
    const pithp_pad_params *p = call->params;
    const pith_spec *x = call->operands[0], *value = call->operands[1];
    int64_t shape[PITHP_MAX_RANK];
    if (value->dtype != x->dtype || value->rank != 0) {
        char wanted[PITHP_SPEC_TEXT_BYTES], got[PITHP_SPEC_TEXT_BYTES];
        return pithp_refuse(call, refusal, PITH_E_DTYPE,
                            "expected a scalar value of the dtype of %s, got %s",
                            pithp_spec_print(x, wanted), pithp_spec_print(value, got));
    }
    for (int d = 0; d < x->rank; d++) {
        const int64_t n = x->shape[d], most = INT64_MAX / 4;
        int64_t extent = 0;
        if (p->interior[d] < 0 || p->interior[d] > most || p->low[d] < -most ||
            p->high[d] < -most ||
            __builtin_mul_overflow(n ? n - 1 : 0, p->interior[d], &extent) ||
            __builtin_add_overflow(extent, n, &extent) ||
            __builtin_add_overflow(extent, p->low[d], &extent) ||
            __builtin_add_overflow(extent, p->high[d], &extent) || extent < 0)
            return pithp_refuse(
                call, refusal, PITH_E_SHAPE,
                "low %lld, high %lld, interior %lld do not fit dimension %d "
                "of extent %lld",
                (long long)p->low[d], (long long)p->high[d], (long long)p->interior[d], d,
                (long long)n);
        shape[d] = extent;
    }
    return pithp_spec_fill(call, refusal, result, x->dtype, x->rank, shape);
}
PITHP_NO_TEMPORARY(pad)

pith_status pithp_lower_pad(const pithp_call *call,
                            const pith_spec *result,
                            const pithp_memory *memory,
                            const pithp_sink *sink) {
    const pithp_pad_params *p = call->params;
    const pith_spec *x = call->operands[0];
    const int32_t size = (int32_t)pith_dtype_size(result->dtype);
    pithp_move m = {.to = memory->result,
                    .from = memory->operands[1],
                    .size = size,
                    .rank = 1,
                    .shape = {result->count},
                    .to_stride = {size}};
    const pith_status rc = pithp_launch_move(sink, "pad", &m);
    if (rc)
        return rc;
    m.from = memory->operands[0];
    m.rank = x->rank;
    pithp_c_strides(m.rank, x->shape, size, m.from_stride);
    pithp_c_strides(m.rank, result->shape, size, m.to_stride);
    for (int d = 0; d < x->rank; d++) {
        const pithp_pad_range kept = pithp_pad_kept(p, d, x, result);
        if (kept.count == 0)
            return PITH_OK;
        m.shape[d] = kept.count;
        m.from += kept.first * m.from_stride[d];
        m.to += kept.to * m.to_stride[d];
        m.to_stride[d] *= kept.step;
    }
    return pithp_launch_move(sink, "pad", &m);
}
