/* Lowering of calls to CUDA launches. Shape primitives share the host's stride
 * computations; work is partitioned into single elements instead of ranges. */
#include "program/cuda/cuda.h"
#include "program/host/boxes.h"
#include "program/host/pack.h"
#include "program/source/args/library.h"
#include "program/source/shell.h"

#include <string.h>

typedef int32_t i32;
typedef int64_t i64;
#include "program/source/args/elementwise.h"

_Static_assert(PITHP_CUDA_RANK == PITHP_MAX_RANK, "kernels hold every rank");
_Static_assert(sizeof((m_elementwise_args){0}.shape) == PITHP_MAX_RANK * sizeof(i64),
               "also these");

/* ---- Launches ---- */

pith_status pithp_cuda_launch(const pithp_sink *sink,
                              pithp_cuda_kernel_id id,
                              const char *name,
                              const void *args,
                              size_t args_bytes,
                              int64_t threads) {
    pithp_launch launch = {
        .name = name, .args = args, .args_bytes = args_bytes, .count = threads};
    if (threads == 0)
        return PITH_OK;
    const pith_status rc = sink->cuda->builtin(sink->closure, id, &launch);
    return rc ? rc : sink->launch(sink->closure, &launch);
}

/* Threads with M_EACH elements each, in whole blocks. */
static int64_t threads_for(int64_t count) {
    const int64_t block = M_BLOCK * M_EACH;
    return (count / block + (count % block != 0)) * M_BLOCK;
}

/* ---- Moves ---- */

/* Whether two neighbours along the last dimension can move as one element. */
static bool can_widen(const pithp_cuda_move_args *m, uint64_t alignments) {
    const int last = m->rank - 1;
    const int64_t wide = 2 * (int64_t)m->size;
    if (m->size >= 16 || m->to_stride[last] != m->size ||
        m->from_stride[last] != m->size || m->shape[last] % 2)
        return false;
    uint64_t all = alignments;
    for (int d = 0; d < last; d++)
        all |= (uint64_t)m->to_stride[d] | (uint64_t)m->from_stride[d];
    return all % (uint64_t)wide == 0;
}

static void widen(pithp_cuda_move_args *m, const pithp_sink *sink) {
    const int last = m->rank - 1;
    uint64_t (*alignment)(void *, const void *) = sink->cuda->alignment;
    const uint64_t both =
        alignment ? alignment(sink->closure, m->to) | alignment(sink->closure, m->from)
                  : (uintptr_t)m->to | (uintptr_t)m->from;
    while (can_widen(m, both)) {
        m->size *= 2;
        m->count /= 2;
        m->shape[last] /= 2;
        m->to_stride[last] = m->from_stride[last] = m->size;
    }
}

static pith_status encode_move(const pithp_sink *sink,
                               const char *name,
                               const pithp_move *move,
                               int64_t count,
                               bool tiled) {
    pithp_cuda_move_args m = {.to = move->to,
                              .from = move->from,
                              .count = count,
                              .size = move->size,
                              .rank = move->rank};
    memcpy(m.shape, move->shape, sizeof m.shape);
    memcpy(m.to_stride, move->to_stride, sizeof m.to_stride);
    memcpy(m.from_stride, move->from_stride, sizeof m.from_stride);
    if (tiled) {
        enum { TILE = 32 };
        const int64_t rows = m.shape[m.rank - 2], columns = m.shape[m.rank - 1];
        const int64_t tiles = ((rows + TILE - 1) / TILE) * ((columns + TILE - 1) / TILE);
        return pithp_cuda_launch(sink, PITHP_CUDA_tiles, name, &m, sizeof m,
                                 count / (rows * columns) * tiles * M_BLOCK);
    }
    widen(&m, sink);
    return pithp_cuda_launch(sink, PITHP_CUDA_move, name, &m, sizeof m,
                             threads_for(m.count));
}

static pith_status encode_fill(const pithp_sink *sink,
                               const char *name,
                               void *to,
                               int32_t size,
                               uint64_t value,
                               int64_t count) {
    const pithp_cuda_fill_args a = {
        .to = to, .value = value, .count = count, .size = size};
    return pithp_cuda_launch(sink, PITHP_CUDA_fill, name, &a, sizeof a,
                             threads_for(count));
}

static pith_status encode_box(const pithp_call *call,
                              const pith_spec *box,
                              const pithp_memory *memory,
                              const pithp_sink *sink) {
    const int last = call->operand_count - 1;
    const pith_spec *x = call->operands[0];
    const pithp_boxes boxes = pithp_boxes_of(call, box);
    pithp_cuda_box_args a = {.to = memory->result,
                             .from = memory->operands[last - 1],
                             .starts = memory->operands[last],
                             .count = box->count,
                             .box = boxes.box,
                             .next = boxes.next,
                             .size = (int32_t)pith_dtype_size(x->dtype),
                             .rank = boxes.rank,
                             .index_dtype = (int32_t)call->operands[last]->dtype,
                             .update = last == 2};
    for (int d = 0; d < a.rank; d++) {
        a.shape[d] = boxes.shape[d];
        a.whole[d] = boxes.whole[d];
    }
    return pithp_cuda_launch(sink, PITHP_CUDA_box, pithp_ops[call->primitive].name, &a,
                             sizeof a, a.count);
}

const pithp_device_encoder pithp_cuda_encoder = {.move = encode_move,
                                                 .fill = encode_fill,
                                                 .box = encode_box};

/* One launch per operand: the host's loop over rows would leave CUDA idle. */
static pith_status lower_concatenate(const pithp_call *call,
                                     const pith_spec *result,
                                     const pithp_memory *memory,
                                     const pithp_sink *sink) {
    const pithp_concatenate_params *p = call->params;
    int64_t rows = 1, unit = (int64_t)pith_dtype_size(result->dtype);
    char *to = memory->result;
    if (result->count == 0)
        return PITH_OK;
    for (int d = 0; d < p->axis; d++)
        rows *= result->shape[d];
    for (int d = p->axis + 1; d < result->rank; d++)
        unit *= result->shape[d];
    for (int k = 0; k < call->operand_count; k++) {
        const int64_t bytes = unit * call->operands[k]->shape[p->axis];
        const pithp_move m = {
            .to = to,
            .from = memory->operands[k],
            .size = 1,
            .rank = 2,
            .shape = {rows, bytes},
            .to_stride = {unit * result->shape[p->axis], 1},
            .from_stride = {bytes, 1},
        };
        const pith_status rc = pithp_launch_move(sink, "concatenate", &m);
        if (rc)
            return rc;
        to += bytes;
    }
    return PITH_OK;
}

/* ---- Casts, and primitives without operands ---- */

static pith_status lower_cast(const pithp_call *call,
                              const pith_spec *result,
                              const pithp_memory *memory,
                              const pithp_sink *sink) {
    const pithp_cuda_cast_args a = {.to = memory->result,
                                    .from = memory->operands[0],
                                    .count = result->count,
                                    .to_dtype = (int32_t)result->dtype,
                                    .from_dtype = (int32_t)call->operands[0]->dtype};
    return pithp_cuda_launch(sink, PITHP_CUDA_cast, "cast", &a, sizeof a,
                             threads_for(a.count));
}

static pith_status lower_iota(const pithp_call *call,
                              const pith_spec *result,
                              const pithp_memory *memory,
                              const pithp_sink *sink) {
    const pithp_iota_params *p = call->params;
    pithp_cuda_iota_args a = {.to = memory->result,
                              .count = result->count,
                              .extent = result->shape[p->axis],
                              .inner = 1,
                              .dtype = (int32_t)result->dtype};
    for (int d = p->axis + 1; d < result->rank; d++)
        a.inner *= result->shape[d];
    return pithp_cuda_launch(sink, PITHP_CUDA_iota, "iota", &a, sizeof a,
                             threads_for(a.count));
}

/* ---- Elementwise ---- */

/* Coalesce the result's index space together with the strides of every operand. */
static void
fill_space(m_elementwise_args *a, const pithp_call *call, const pith_spec *result) {
    int64_t *const stride[] = {a->stride[0], a->stride[1], a->stride[2]};
    memcpy(a->shape, result->shape, sizeof a->shape);
    for (int k = 0; k < call->operand_count; k++) {
        const pith_spec *x = call->operands[k];
        pithp_broadcast_strides(result->rank, stride[k], x->rank, x->shape);
    }
    a->rank =
        pithp_coalesce(result->rank, a->shape, call->operand_count, stride, 0, NULL);
}

static pith_status lower_elementwise(const pithp_call *call,
                                     const pith_spec *result,
                                     const pithp_memory *memory,
                                     const pithp_sink *sink) {
    m_elementwise_args a = {.to = memory->result, .count = result->count};
    bool whole = true;
    for (int k = 0; k < call->operand_count; k++) {
        a.from[k] = memory->operands[k];
        whole &= call->operands[k]->count == result->count;
    }
    if (result->count == 0)
        return PITH_OK;
    if (!whole)
        fill_space(&a, call, result);
    pithp_launch launch = {.name = pithp_ops[call->primitive].name,
                           .args = &a,
                           .args_bytes = sizeof a,
                           .count = threads_for(a.count)};
    const pith_status rc = sink->cuda->elementwise(sink->closure, call, &launch);
    return rc ? rc : sink->launch(sink->closure, &launch);
}

/* ---- Dispatch ---- */

typedef pith_status (*lower_function)(const pithp_call *,
                                      const pith_spec *,
                                      const pithp_memory *,
                                      const pithp_sink *);

/* Structural rows with another partitioning of work than the host. The others reduce to
 * moves and fills. */
static const struct {
    lower_function lower;
    size_t (*temporary)(const pithp_call *, const pith_spec *); /* NULL: none */
} own[PITHP_PRIMITIVE_COUNT] = {
    [PITHP_OP_CAST] = {lower_cast, NULL},
    [PITHP_OP_IOTA] = {lower_iota, NULL},
    [PITHP_OP_CONCATENATE] = {lower_concatenate, NULL},
#define OWN(ENUM, rule)                                                                  \
    [PITHP_OP_##ENUM] = {pithp_cuda_lower_##rule, pithp_cuda_temporary_##rule}
    OWN(SUM, reduce),
    OWN(PROD, reduce),
    OWN(MIN_OF, reduce),
    OWN(MAX_OF, reduce),
    OWN(ANY, reduce),
    OWN(ALL, reduce),
    OWN(ARGMIN, reduce),
    OWN(ARGMAX, reduce),
    OWN(CUMSUM, scan),
    OWN(CUMPROD, scan),
    OWN(CUMMIN, scan),
    OWN(CUMMAX, scan),
    OWN(CUMLOGSUMEXP, scan),
    OWN(CUMLINEAR, cumlinear),
    OWN(SORT, sort),
    OWN(ARGSORT, sort),
    OWN(SEARCH_SORTED, search),
    OWN(DOT_GENERAL, product),
    OWN(TAKE, take),
    OWN(TAKE_ALONG, take_along),
    OWN(SCATTER_SET, scatter),
    OWN(SCATTER_ADD, scatter),
    OWN(SCATTER_MUL, scatter),
    OWN(SCATTER_MIN, scatter),
    OWN(SCATTER_MAX, scatter),
    OWN(SCATTER_AND, scatter),
    OWN(SCATTER_OR, scatter),
    OWN(THREEFRY, threefry),
    OWN(FOLD_IN, threefry),
    OWN(RANDOM_SPLIT, random),
    OWN(RANDOM_BITS, random),
    OWN(RANDOM_UNIFORM, random),
    OWN(RANDOM_NORMAL, random),
    OWN(RANDOM_INTEGERS, random),
#undef OWN
};

size_t pithp_cuda_temporary_bytes(const pithp_call *call, const pith_spec *result) {
    return own[call->primitive].temporary ? own[call->primitive].temporary(call, result)
                                          : 0;
}

pith_status pithp_lower_cuda(const pithp_call *call,
                             const pith_spec *result,
                             const pithp_memory *memory,
                             const pithp_sink *sink) {
    if (pithp_is_elementwise(call->primitive))
        return lower_elementwise(call, result, memory, sink);
    if (own[call->primitive].lower)
        return own[call->primitive].lower(call, result, memory, sink);
    return pithp_lower(call, result, memory, sink);
}
