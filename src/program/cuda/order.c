/* Scans and sorts on CUDA. A scan goes by blocks in the order of scan.c. A sort makes
 * runs of 16, or, of long lines, tiles by CUB (kernel/sort_cub.h), and merges them; what
 * is sorted is places, so that results are elements as they were given. */
#include "program/cuda/args.h"
#include "program/cuda/cuda.h"

enum {
    RUN = 16,
    TILE = 2048,
    TILE_THREADS = 256,
    LONG = 512, /* a line of which a tile has enough to do: an estimate, not measured */
    SCANNED = 480
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

static int64_t scan_blocks(int64_t length) {
    return (length + SCANNED - 1) / SCANNED;
}

/* A number for each block, where lines have several. */
size_t pithp_cuda_temporary_scan(const pithp_call *call, const pith_spec *result) {
    const pithp_scan_params *p = call->params;
    const int64_t length = call->operands[0]->shape[p->axis];
    return length <= SCANNED ? 0
                             : (size_t)(result->count / length * scan_blocks(length)) *
                                   sizeof(uint64_t);
}

/* As kernels number them. */
static int32_t operation_of(pithp_primitive primitive) {
    return primitive == PITHP_OP_CUMLOGSUMEXP ? 6
                                              : (int32_t)(primitive - PITHP_OP_CUMSUM);
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
    const char *name = pithp_rows[call->primitive].name;
    const int64_t lines = a.outer * a.inner;
    a.blocks = scan_blocks(a.length);
    a.partial = memory->temporary;
    pith_status rc = PITH_OK;
    if (a.blocks > 1)
        rc = pithp_cuda_emit(sink, PITHP_CUDA_scan_blocks, name, &a, sizeof a,
                             lines * a.blocks);
    if (a.blocks > 1 && !rc)
        rc = pithp_cuda_emit(sink, PITHP_CUDA_scan_lines, name, &a, sizeof a, lines);
    return rc ? rc
              : pithp_cuda_emit(sink, PITHP_CUDA_scan, name, &a, sizeof a,
                                lines * a.blocks);
}
_Static_assert(PITHP_OP_CUMPROD - PITHP_OP_CUMSUM == 1 &&
                   PITHP_OP_CUMMIN - PITHP_OP_CUMSUM == 2 &&
                   PITHP_OP_CUMMAX - PITHP_OP_CUMSUM == 3,
               "kernels know the operations by number");

/* Keys and places, and those of the next merge. */
size_t pithp_cuda_temporary_sort(const pithp_call *call, const pith_spec *result) {
    (void)call;
    return (size_t)result->count * 2 * (sizeof(uint64_t) + sizeof(int64_t));
}

static void set_temporary(pithp_cuda_sort_args *a, void *temporary, int64_t count) {
    uint64_t *keys = temporary;
    int64_t *places = (int64_t *)(void *)(keys + 2 * count);
    a->keys = keys;
    a->next_keys = keys + count;
    a->places = places;
    a->next_places = places + count;
}

static pith_status
emit_sorting(pithp_cuda_sort_args *a, const char *name, const pithp_sink *sink) {
    const int64_t lines = a->outer * a->inner;
    const bool tiles = a->length >= LONG && pithp_cuda_sorts_tiles();
    pith_status rc =
        tiles ? pithp_cuda_emit(sink, PITHP_CUDA_sort_tiles, name, a, sizeof *a,
                                lines * ((a->length + TILE - 1) / TILE) * TILE_THREADS)
              : pithp_cuda_emit(sink, PITHP_CUDA_sort_runs, name, a, sizeof *a,
                                lines * ((a->length + RUN - 1) / RUN));
    for (a->run = tiles ? TILE : RUN; !rc && a->run < a->length; a->run *= 2) {
        rc = pithp_cuda_emit(sink, PITHP_CUDA_sort_merge, name, a, sizeof *a,
                             lines * a->length);
        const pithp_cuda_sort_args merged = *a;
        a->keys = merged.next_keys;
        a->next_keys = merged.keys;
        a->places = merged.next_places;
        a->next_places = merged.places;
    }
    return rc;
}

pith_status pithp_cuda_emit_sort(const pithp_sink *sink,
                                 const char *name,
                                 const uint64_t *from,
                                 int64_t count,
                                 void *temporary,
                                 const uint64_t **keys,
                                 const int64_t **places) {
    pithp_cuda_sort_args a = {.from = from,
                              .outer = 1,
                              .length = count,
                              .inner = 1,
                              .dtype = PITH_U64,
                              .size = sizeof *from};
    set_temporary(&a, temporary, count);
    const pith_status rc = emit_sorting(&a, name, sink);
    *keys = a.keys;
    *places = a.places;
    return rc;
}

pith_status pithp_cuda_lower_sort(const pithp_call *call,
                                  const pith_spec *result,
                                  const pithp_memory *memory,
                                  const pithp_sink *sink) {
    const pithp_sort_params *p = call->params;
    const pith_spec *x = call->operands[0];
    const char *name = pithp_rows[call->primitive].name;
    pithp_cuda_sort_args a = {.from = memory->operands[0],
                              .to = memory->result,
                              .dtype = (int32_t)x->dtype,
                              .size = (int32_t)pith_dtype_size(x->dtype),
                              .descending = p->descending,
                              .argsort = call->primitive == PITHP_OP_ARGSORT};
    if (result->count == 0)
        return PITH_OK;
    set_temporary(&a, memory->temporary, x->count);
    view(x, p->axis, &a.outer, &a.length, &a.inner);
    const pith_status rc = emit_sorting(&a, name, sink);
    return rc ? rc
              : pithp_cuda_emit(sink, PITHP_CUDA_sort_end, name, &a, sizeof a, x->count);
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
    return pithp_cuda_emit(sink, PITHP_CUDA_search, "search_sorted", &a, sizeof a,
                           result->count);
}
