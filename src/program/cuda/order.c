/* Lowering of scans, recurrences and sorts for CUDA.
 *
 * A scan combines elements in blocks and groups, in the order of host/scan.c: reduce,
 * then scan. A sort is a merge sort. It sorts tiles, which may have several short lines
 * side by side, then merges them. It sorts keys as wide as elements together with
 * indices, so that results are the original elements. */
#include "program/cuda/cuda.h"
#include "program/host/reduce.h"
#include "program/source/args/library.h"
#include "program/source/scan_order.h"
#include "program/source/shell.h"

enum {
    CHAINS = 32, /* blocks, or groups, scanned by a block of threads */
    TILE = 2048,
    LEAST_RUN =
        TILE / M_BLOCK /* slots of a line in a tile, at least: those of one thread */
};

/* [outer, length, inner] around an axis. */
static void
view(const pith_spec *x, int axis, int64_t *outer, int64_t *length, int64_t *inner) {
    *outer = *inner = 1;
    *length = x->shape[axis];
    for (int d = 0; d < axis; d++)
        *outer *= x->shape[d];
    for (int d = axis + 1; d < x->rank; d++)
        *inner *= x->shape[d];
}

static int64_t ceil_div(int64_t count, int64_t most) {
    return (count + most - 1) / most;
}

/* One total for each block and group, if lines have several blocks. */
size_t pithp_cuda_temporary_scan(const pithp_call *call, const pith_spec *result) {
    const pithp_scan_params *p = call->params;
    const int64_t length = call->operands[0]->shape[p->axis];
    if (length <= M_SCANNED)
        return 0;
    const int64_t blocks = ceil_div(length, M_SCANNED);
    return (size_t)(result->count / length * (blocks + ceil_div(blocks, M_GROUPED))) *
           sizeof(uint64_t);
}

_Static_assert((int)M_OP_LOG_SUM >= (int)PITHP_REDUCTIONS, "kernels know it by number");

/* Numbers of the operations in kernels. */
static int32_t operation_of(pithp_primitive primitive) {
    return pithp_ops[primitive].combine == PITHP_OP_LOGADDEXP
               ? (int32_t)M_OP_LOG_SUM
               : (int32_t)pithp_reduction_of(primitive);
}

pith_status pithp_cuda_lower_scan(const pithp_call *call,
                                  const pith_spec *result,
                                  const pithp_memory *memory,
                                  const pithp_sink *sink) {
    const pithp_scan_params *p = call->params;
    pithp_cuda_scan_args a = {.from = memory->operands[0],
                              .to = memory->result,
                              .dtype = (int32_t)result->dtype,
                              .operation = operation_of(call->primitive),
                              .reverse = p->reverse};
    if (result->count == 0)
        return PITH_OK;
    view(call->operands[0], p->axis, &a.outer, &a.length, &a.inner);
    const char *name = pithp_ops[call->primitive].name;
    const int64_t lines = a.outer * a.inner;
    a.blocks = ceil_div(a.length, M_SCANNED);
    a.groups = ceil_div(a.blocks, M_GROUPED);
    a.partial = memory->temporary;
    a.sums = a.blocks > 1 ? a.partial + lines * a.blocks : NULL;
    const int64_t by_block = ceil_div(lines * a.blocks, CHAINS) * M_BLOCK,
                  by_group = ceil_div(lines * a.groups, CHAINS) * M_BLOCK;
    pith_status rc = PITH_OK;
    if (a.blocks > 1) {
        rc =
            pithp_cuda_launch(sink, PITHP_CUDA_scan_blocks, name, &a, sizeof a, by_block);
        if (!rc)
            rc = pithp_cuda_launch(sink, PITHP_CUDA_scan_groups, name, &a, sizeof a,
                                   by_group);
        if (!rc && a.groups > 1)
            rc =
                pithp_cuda_launch(sink, PITHP_CUDA_scan_lines, name, &a, sizeof a, lines);
    }
    return rc ? rc
              : pithp_cuda_launch(sink, PITHP_CUDA_scan, name, &a, sizeof a, by_block);
}

size_t pithp_cuda_temporary_cumlinear(const pithp_call *call, const pith_spec *result) {
    (void)call, (void)result;
    return 0;
}

/* A recurrence has one order: a thread for each line. */
pith_status pithp_cuda_lower_cumlinear(const pithp_call *call,
                                       const pith_spec *result,
                                       const pithp_memory *memory,
                                       const pithp_sink *sink) {
    const pithp_scan_params *p = call->params;
    pithp_cuda_cumlinear_args a = {.factors = memory->operands[0],
                                   .terms = memory->operands[1],
                                   .to = memory->result,
                                   .dtype = (int32_t)result->dtype,
                                   .reverse = p->reverse};
    if (result->count == 0)
        return PITH_OK;
    view(result, p->axis, &a.outer, &a.length, &a.inner);
    return pithp_cuda_launch(sink, PITHP_CUDA_cumlinear, "cumlinear", &a, sizeof a,
                             ceil_div(a.outer * a.inner, CHAINS) * M_BLOCK);
}

/* Whether indices along lines of this length fit u32. */
static bool is_narrow(int64_t length) {
    return length <= (int64_t)UINT32_MAX + 1;
}

/* Keys and indices, and those of the next merge. */
size_t pithp_cuda_temporary_sort(const pithp_call *call, const pith_spec *result) {
    const pithp_sort_params *p = call->params;
    const pith_spec *x = call->operands[0];
    const size_t index_size =
        is_narrow(x->shape[p->axis]) ? sizeof(uint32_t) : sizeof(int64_t);
    return (size_t)result->count * 2 * (pith_dtype_size(x->dtype) + index_size);
}

/* The array with the greatest alignment comes first. */
static void set_temporary(pithp_cuda_sort_args *a, void *temporary, int64_t count) {
    const size_t index_size = a->wide ? sizeof(int64_t) : sizeof(uint32_t);
    const size_t indices = (size_t)count * index_size,
                 keys = (size_t)count * (size_t)a->size;
    const bool keys_first = (size_t)a->size > index_size;
    char *const at = temporary;
    a->keys = keys_first ? at : at + 2 * indices;
    a->indices = keys_first ? at + 2 * keys : at;
    a->next_keys = (char *)a->keys + keys;
    a->next_indices = (char *)a->indices + indices;
}

/* Slots of a line in a tile: the length, rounded up to a power of two, or the tile. */
static int64_t run_of(int64_t length) {
    int64_t run = LEAST_RUN;
    while (run < TILE && run < length)
        run *= 2;
    return run;
}

/* The tile kernel for keys of this size in bytes. */
static pithp_cuda_kernel_id tiles_of(int32_t size) {
    return size == 1   ? PITHP_CUDA_sort_tiles_u8
           : size == 2 ? PITHP_CUDA_sort_tiles_u16
           : size == 4 ? PITHP_CUDA_sort_tiles_u32
                       : PITHP_CUDA_sort_tiles_u64;
}

static pithp_cuda_kernel_id merge_of(int32_t size) {
    return size == 1   ? PITHP_CUDA_sort_merge_u8
           : size == 2 ? PITHP_CUDA_sort_merge_u16
           : size == 4 ? PITHP_CUDA_sort_merge_u32
                       : PITHP_CUDA_sort_merge_u64;
}

static pith_status
launch_sorting(pithp_cuda_sort_args *a, const char *name, const pithp_sink *sink) {
    const int64_t lines = a->outer * a->inner, tiles = ceil_div(a->length, TILE);
    a->run = run_of(a->length);
    pith_status rc = pithp_cuda_launch(
        sink, tiles_of(a->size), name, a, sizeof *a,
        (tiles > 1 ? lines * tiles : ceil_div(lines, TILE / a->run)) * M_BLOCK);
    for (; !rc && a->run < a->length; a->run *= 2) {
        rc = pithp_cuda_launch(sink, merge_of(a->size), name, a, sizeof *a,
                               lines * tiles * M_BLOCK);
        const pithp_cuda_sort_args merged = *a;
        a->keys = merged.next_keys;
        a->next_keys = merged.keys;
        a->indices = merged.next_indices;
        a->next_indices = merged.indices;
    }
    return rc;
}

pith_status pithp_cuda_launch_sort(const pithp_sink *sink,
                                   const char *name,
                                   const uint64_t *from,
                                   int64_t count,
                                   void *temporary,
                                   const uint64_t **keys,
                                   const int64_t **indices) {
    pithp_cuda_sort_args a = {.from = from,
                              .outer = 1,
                              .length = count,
                              .inner = 1,
                              .dtype = PITH_U64,
                              .size = sizeof *from,
                              .wide = true};
    set_temporary(&a, temporary, count);
    const pith_status rc = launch_sorting(&a, name, sink);
    *keys = a.keys;
    *indices = a.indices;
    return rc;
}

pith_status pithp_cuda_lower_sort(const pithp_call *call,
                                  const pith_spec *result,
                                  const pithp_memory *memory,
                                  const pithp_sink *sink) {
    const pithp_sort_params *p = call->params;
    const pith_spec *x = call->operands[0];
    const char *name = pithp_ops[call->primitive].name;
    pithp_cuda_sort_args a = {.from = memory->operands[0],
                              .to = memory->result,
                              .dtype = (int32_t)x->dtype,
                              .size = (int32_t)pith_dtype_size(x->dtype),
                              .descending = p->descending,
                              .argsort = call->primitive == PITHP_OP_ARGSORT,
                              .wide = !is_narrow(x->shape[p->axis])};
    if (result->count == 0)
        return PITH_OK;
    set_temporary(&a, memory->temporary, x->count);
    view(x, p->axis, &a.outer, &a.length, &a.inner);
    const pith_status rc = launch_sorting(&a, name, sink);
    return rc ? rc
              : pithp_cuda_launch(sink, PITHP_CUDA_sort_end, name, &a, sizeof a,
                                  x->count);
}

size_t pithp_cuda_temporary_search(const pithp_call *call, const pith_spec *result) {
    (void)call, (void)result;
    return 0;
}

pith_status pithp_cuda_lower_search(const pithp_call *call,
                                    const pith_spec *result,
                                    const pithp_memory *memory,
                                    const pithp_sink *sink) {
    const pithp_search_params *p = call->params;
    const pithp_cuda_search_args a = {.sorted = memory->operands[0],
                                      .values = memory->operands[1],
                                      .to = memory->result,
                                      .count = result->count,
                                      .sorted_count = call->operands[0]->count,
                                      .dtype = (int32_t)call->operands[0]->dtype,
                                      .right = p->right};
    return pithp_cuda_launch(sink, PITHP_CUDA_search, "search_sorted", &a, sizeof a,
                             result->count);
}
