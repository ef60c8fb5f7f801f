/* Lowering of scans, recurrences and sorts for CUDA.
 *
 * A scan combines elements in blocks and groups, in the order of host/scan.c: reduce,
 * then scan. A sort is a merge sort, which sorts tiles, several short lines side by side
 * in one, then merges them; or, for long lines of short keys, a radix sort. Both sort
 * keys as wide as elements together with indices, so that results are the original
 * elements, and are stable, so that there is one result. */
#include "program/cuda/cuda.h"
#include "program/host/reduce.h"
#include "program/host/search.h"
#include "program/source/args/library.h"
#include "program/source/scan_order.h"
#include "program/source/shell.h"

enum {
    CHAINS = 32, /* blocks, or groups, scanned by a block of threads */
    TILE = PITHP_SORT_TILE,
    LEAST_RUN =
        TILE / M_BLOCK, /* slots of a line in a tile, at least: those of one thread */
    RADIX_BITS = 8,
    SUMMED = 4 /* digits summed by a block of threads */
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
                                   .reverse = p->reverse,
                                   .strong = p->strong};
    if (result->count == 0)
        return PITH_OK;
    view(result, p->axis, &a.outer, &a.length, &a.inner);
    return pithp_cuda_launch(sink, PITHP_CUDA_cumlinear, "cumlinear", &a, sizeof a,
                             ceil_div(a.outer * a.inner, CHAINS) * M_BLOCK);
}

/* ---- Sorts ---- */

/* Whether indices along lines of this length fit u32, and counts of keys do. */
static bool is_narrow(int64_t length) {
    return length <= (int64_t)UINT32_MAX;
}

static int passes_of(int bits) {
    return (bits + RADIX_BITS - 1) / RADIX_BITS;
}

/* Whether lines are sorted by the lowest bits of keys, which have no others. A pass of
 * three launches takes as long as a merge: 1e6 keys of 64 bits, 0.26 ms instead of 0.32.
 */
static bool is_by_radix(int64_t length, int bits) {
    int merges = 0;
    for (int64_t run = TILE; run < length; run *= 2)
        merges++;
    return is_narrow(length) && passes_of(bits) < merges;
}

/* Of keys and indices, and those of the next merge or pass; and of counts of digits. */
static size_t bytes_of_sort(int64_t lines, int64_t length, int size, int bits) {
    const size_t count = (size_t)(lines * length),
                 index_size = is_narrow(length) ? sizeof(uint32_t) : sizeof(int64_t),
                 tables = (size_t)(lines * (ceil_div(length, TILE) + 1));
    return count * 2 * ((size_t)size + index_size) +
           (is_by_radix(length, bits) ? tables * PITHP_RADIX * sizeof(uint32_t) : 0);
}

/* The arrays with the greatest alignment come first, and u32 before smaller keys. */
static void set_temporary(pithp_cuda_sort_args *a, void *temporary, int bits) {
    const int64_t lines = a->outer * a->inner;
    const size_t count = (size_t)(lines * a->length), size = (size_t)a->size,
                 index_size = a->wide ? sizeof(int64_t) : sizeof(uint32_t),
                 keys = 2 * count * size, indices = 2 * count * index_size,
                 counts = is_by_radix(a->length, bits)
                              ? (size_t)(lines * ceil_div(a->length, TILE)) * PITHP_RADIX
                              : 0;
    const size_t totals = counts ? (size_t)lines * PITHP_RADIX : 0,
                 tables = (counts + totals) * sizeof(uint32_t);
    const bool keys_first = size > index_size;
    char *const at = temporary;
    a->keys = keys_first ? at : at + indices + tables;
    a->indices = keys_first ? at + keys : at;
    a->counts = (uint32_t *)(void *)((char *)a->indices + indices);
    a->totals = a->counts + counts;
    a->next_keys = (char *)a->keys + keys / 2;
    a->next_indices = (char *)a->indices + indices / 2;
}

/* Slots of a line in a tile: the length, rounded up to a power of two, or the tile. */
static int64_t run_of(int64_t length) {
    int64_t run = LEAST_RUN;
    while (run < TILE && run < length)
        run *= 2;
    return run;
}

/* The kernel for keys of a size in bytes, among those for u8, u16, u32 and u64. */
static pithp_cuda_kernel_id for_size(pithp_cuda_kernel_id of_bytes, int32_t size) {
    return (pithp_cuda_kernel_id)((int)of_bytes + (size == 1   ? 0
                                                   : size == 2 ? 1
                                                   : size == 4 ? 2
                                                               : 3));
}

/* What was made next is sorted further. */
static void turn(pithp_cuda_sort_args *a) {
    const pithp_cuda_sort_args made = *a;
    a->keys = made.next_keys;
    a->next_keys = made.keys;
    a->indices = made.next_indices;
    a->next_indices = made.indices;
}

static pith_status
launch_merges(pithp_cuda_sort_args *a, const char *name, const pithp_sink *sink) {
    const int64_t lines = a->outer * a->inner, tiles = ceil_div(a->length, TILE);
    a->run = run_of(a->length);
    pith_status rc = pithp_cuda_launch(
        sink, for_size(PITHP_CUDA_sort_tiles_u8, a->size), name, a, sizeof *a,
        (tiles > 1 ? lines * tiles : ceil_div(lines, TILE / a->run)) * M_BLOCK);
    for (; !rc && a->run < a->length; a->run *= 2) {
        rc = pithp_cuda_launch(sink, for_size(PITHP_CUDA_sort_merge_u8, a->size), name, a,
                               sizeof *a, lines * tiles * M_BLOCK);
        turn(a);
    }
    return rc;
}

static pith_status launch_passes(pithp_cuda_sort_args *a,
                                 int bits,
                                 const char *name,
                                 const pithp_sink *sink) {
    const int64_t lines = a->outer * a->inner,
                  by_tile = lines * ceil_div(a->length, TILE) * M_BLOCK,
                  by_digit = lines * (PITHP_RADIX / SUMMED) * M_BLOCK;
    pith_status rc = PITH_OK;
    for (a->shift = 0; !rc && a->shift < bits; a->shift += RADIX_BITS) {
        rc = pithp_cuda_launch(sink, for_size(PITHP_CUDA_radix_count_u8, a->size), name,
                               a, sizeof *a, by_tile);
        if (!rc)
            rc = pithp_cuda_launch(sink, PITHP_CUDA_radix_sum, name, a, sizeof *a,
                                   by_digit);
        if (!rc)
            rc = pithp_cuda_launch(sink, for_size(PITHP_CUDA_radix_move_u8, a->size),
                                   name, a, sizeof *a, by_tile);
        turn(a);
    }
    return rc;
}

static pith_status launch_sorting(pithp_cuda_sort_args *a,
                                  int bits,
                                  const char *name,
                                  const pithp_sink *sink) {
    return is_by_radix(a->length, bits) ? launch_passes(a, bits, name, sink)
                                        : launch_merges(a, name, sink);
}

size_t pithp_cuda_sort_bytes(int64_t count, bool narrow, int bits) {
    return bytes_of_sort(1, count, narrow ? sizeof(uint32_t) : sizeof(uint64_t), bits);
}

pith_status pithp_cuda_launch_sort(const pithp_sink *sink,
                                   const char *name,
                                   const void *from,
                                   int64_t count,
                                   bool narrow,
                                   int bits,
                                   void *temporary,
                                   const void **keys,
                                   const void **indices) {
    pithp_cuda_sort_args a = {.from = from,
                              .outer = 1,
                              .length = count,
                              .inner = 1,
                              .dtype = narrow ? PITH_U32 : PITH_U64,
                              .size = narrow ? sizeof(uint32_t) : sizeof(uint64_t),
                              .wide = !is_narrow(count)};
    set_temporary(&a, temporary, bits);
    const pith_status rc = launch_sorting(&a, bits, name, sink);
    *keys = a.keys;
    *indices = a.indices;
    return rc;
}

/* Bits of the keys of a dtype. */
static int bits_of(pith_dtype dtype) {
    return 8 * (int)pith_dtype_size(dtype);
}

size_t pithp_cuda_temporary_sort(const pithp_call *call, const pith_spec *result) {
    const pithp_sort_params *p = call->params;
    const pith_spec *x = call->operands[0];
    const int64_t length = x->shape[p->axis];
    return result->count == 0
               ? 0
               : bytes_of_sort(result->count / length, length,
                               (int)pith_dtype_size(x->dtype), bits_of(x->dtype));
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
    view(x, p->axis, &a.outer, &a.length, &a.inner);
    set_temporary(&a, memory->temporary, bits_of(x->dtype));
    const pith_status rc = launch_sorting(&a, bits_of(x->dtype), name, sink);
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
                                      .sorted_count = pithp_search_length(call),
                                      .each = pithp_search_each(call),
                                      .dtype = (int32_t)call->operands[0]->dtype,
                                      .right = p->right};
    return pithp_cuda_launch(sink, PITHP_CUDA_search, "search_sorted", &a, sizeof a,
                             result->count);
}
