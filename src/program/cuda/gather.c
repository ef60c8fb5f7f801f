/* Lowering of gather and scatter for CUDA. Scatters combine in index order: positions are
 * sorted by offset, stably, and one thread combines those with equal offset, so that sums
 * have the host's bits. */
#include "program/host/gather.h"

#include "pith/kernel.h"

#include "program/cuda/cuda.h"
#include "program/host/move.h"
#include "program/source/args/library.h"

#include <stddef.h>

_Static_assert(sizeof(pithp_cuda_report) == sizeof(pith_report) &&
                   offsetof(pithp_cuda_report, first) == offsetof(pith_report, first) &&
                   offsetof(pithp_cuda_report, need) == offsetof(pith_report, need) &&
                   offsetof(pithp_cuda_report, have) == offsetof(pith_report, have) &&
                   offsetof(pithp_cuda_report, what) == offsetof(pith_report, what),
               "kernels write reports");

static pithp_cuda_index_args
args_of(const pithp_call *call, const pithp_memory *memory, int arrays, int64_t count) {
    const pithp_index_params *p = call->params;
    const pith_spec *x = call->operands[0];
    pithp_cuda_index_args a = {
        .from = memory->operands[0],
        .to = memory->result,
        .report = p->mode == PITHP_INDEX_ERROR ? (void *)memory->report : NULL,
        .fill = p->fill,
        .outer = 1,
        .count = count,
        .inner = 1,
        .apart = p->numbers ? (int64_t)p->apart : count,
        .size = (int32_t)pith_dtype_size(x->dtype),
        .dtype = (int32_t)x->dtype,
        .index_dtype = (int32_t)call->operands[1]->dtype,
        .arrays = arrays,
        .mode = (int32_t)p->mode,
        .no_negative = p->no_negative,
    };
    for (int d = 0; d < p->axis; d++)
        a.outer *= x->shape[d];
    for (int d = p->axis + arrays; d < x->rank; d++)
        a.inner *= x->shape[d];
    a.pitch = a.inner;
    for (int k = 0; k < arrays; k++) {
        a.index[k] = memory->operands[1 + k];
        a.extent[k] = x->shape[p->axis + k];
        a.note[k] = pithp_index_note(p, call->operands[1]->dtype, k);
        a.pitch *= a.extent[k];
    }
    return a;
}

/* Launch the kernel, and in mode error the launch that records the first index out of
 * range. */
static pith_status launch(const pithp_sink *sink,
                          pithp_cuda_kernel_id id,
                          const char *name,
                          const pithp_cuda_index_args *a,
                          int64_t threads) {
    const pith_status rc = pithp_cuda_launch(sink, id, name, a, sizeof *a, threads);
    return rc || !a->report
               ? rc
               : pithp_cuda_launch(sink, PITHP_CUDA_explain, name, a, sizeof *a, 1);
}

size_t pithp_cuda_temporary_take(const pithp_call *call, const pith_spec *result) {
    (void)call, (void)result;
    return 0;
}

pith_status pithp_cuda_lower_take(const pithp_call *call,
                                  const pith_spec *result,
                                  const pithp_memory *memory,
                                  const pithp_sink *sink) {
    const pithp_cuda_index_args a =
        args_of(call, memory, call->operand_count - 1, call->operands[1]->count);
    return result->count == 0 ? PITH_OK
                              : launch(sink, PITHP_CUDA_take, "take", &a, result->count);
}

size_t pithp_cuda_temporary_take_along(const pithp_call *call, const pith_spec *result) {
    (void)call, (void)result;
    return 0;
}

pith_status pithp_cuda_lower_take_along(const pithp_call *call,
                                        const pith_spec *result,
                                        const pithp_memory *memory,
                                        const pithp_sink *sink) {
    const pithp_index_params *p = call->params;
    const pithp_cuda_index_args a =
        args_of(call, memory, 1, call->operands[1]->shape[p->axis]);
    return result->count == 0
               ? PITH_OK
               : launch(sink, PITHP_CUDA_take_along, "take_along", &a, result->count);
}

/* How updates of a scatter with equal offset are combined. */
typedef enum {
    SORTED,  /* sort positions by offset first */
    ASCENDS, /* positions ascend, by promise */
    UNIQUE,  /* no offset repeats, by promise */
    ATOMIC,  /* atomics: the order does not matter, or the caller accepted any order */
} way;

static way way_of(const pithp_call *call) {
    const pithp_index_params *p = call->params;
    const pith_dtype dtype = call->operands[0]->dtype;
    const pithp_primitive combine = pithp_ops[call->primitive].combine;
    const bool real = dtype == PITH_F32 || dtype == PITH_F64;
    const bool wide = pith_dtype_is_integer(dtype) && pith_dtype_size(dtype) >= 4;
    if (p->unique)
        return UNIQUE;
    if (wide && combine != PITHP_OP_WHERE && combine != PITHP_OP_MUL)
        return ATOMIC;
    if (real && p->unordered && combine == PITHP_OP_ADD)
        return ATOMIC;
    return pithp_index_ascends(call) ? ASCENDS : SORTED;
}

/* Numbers of the scatter operations in kernels, by the row that combines. */
static const int32_t operations[PITHP_ELEMENTWISE_COUNT] = {
    [PITHP_OP_WHERE] = M_SCATTER_SET,     [PITHP_OP_ADD] = M_SCATTER_ADD,
    [PITHP_OP_MUL] = M_SCATTER_MUL,       [PITHP_OP_MIN] = M_SCATTER_MIN,
    [PITHP_OP_MAX] = M_SCATTER_MAX,       [PITHP_OP_BITWISE_AND] = M_SCATTER_AND,
    [PITHP_OP_BITWISE_OR] = M_SCATTER_OR,
};

/* The offsets of a scatter. */
typedef struct offsets {
    uint64_t beyond; /* of positions out of range: greater than others */
    int bits;        /* of that */
    bool narrow;     /* offsets and positions fit u32 */
    size_t bytes;    /* of the offsets, a multiple of 8 */
} offsets;

static offsets offsets_of(const pithp_call *call) {
    const pithp_index_params *p = call->params;
    const pith_spec *x = call->operands[0];
    const int64_t count = call->operands[1]->count;
    offsets o = {.beyond = 1};
    for (int k = 0; k < call->operand_count - 2; k++)
        o.beyond *= (uint64_t)x->shape[p->axis + k];
    o.narrow = o.beyond < UINT32_MAX && count <= (int64_t)UINT32_MAX;
    if (!o.narrow)
        o.beyond = UINT64_MAX;
    while (o.bits < 64 && o.beyond >> o.bits)
        o.bits++;
    o.bytes =
        ((size_t)count * (o.narrow ? sizeof(uint32_t) : sizeof(uint64_t)) + 7) / 8 * 8;
    return o;
}

/* Offsets, and temporary memory to sort them. */
size_t pithp_cuda_temporary_scatter(const pithp_call *call, const pith_spec *result) {
    const int64_t count = call->operands[1]->count;
    const way how = way_of(call);
    (void)result;
    if (how == UNIQUE || how == ATOMIC)
        return 0;
    const offsets o = offsets_of(call);
    return o.bytes + (how == SORTED ? pithp_cuda_sort_bytes(count, o.narrow, o.bits) : 0);
}

pith_status pithp_cuda_lower_scatter(const pithp_call *call,
                                     const pith_spec *result,
                                     const pithp_memory *memory,
                                     const pithp_sink *sink) {
    const char *name = pithp_ops[call->primitive].name;
    const int last = call->operand_count - 1;
    pithp_cuda_index_args a =
        args_of(call, memory, call->operand_count - 2, call->operands[1]->count);
    pith_status rc = pithp_launch_copy(sink, name, memory->result, memory->operands[0],
                                       a.size, result->count);
    if (rc || a.outer * a.count * a.inner == 0)
        return rc;
    const way how = way_of(call);
    a.offsets = memory->temporary;
    a.from = memory->operands[last];
    a.operation = operations[pithp_ops[call->primitive].combine];
    a.meet = how == ATOMIC;
    if (how == UNIQUE || how == ATOMIC)
        return launch(sink, PITHP_CUDA_scatter_free, name, &a,
                      a.outer * a.count * a.inner);
    const offsets o = offsets_of(call);
    a.narrow = o.narrow;
    a.beyond = how == SORTED ? o.beyond : UINT64_MAX;
    rc = pithp_cuda_launch(sink, PITHP_CUDA_offsets, name, &a, sizeof a, a.count);
    a.keys = a.offsets;
    if (!rc && how == SORTED)
        rc = pithp_cuda_launch_sort(sink, name, a.offsets, a.count, o.narrow, o.bits,
                                    (char *)a.offsets + o.bytes, &a.keys, &a.positions);
    return rc ? rc
              : launch(sink, PITHP_CUDA_scatter, name, &a, a.outer * a.count * a.inner);
}
