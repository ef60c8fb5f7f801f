/* Memory of a CUDA device: allocation and release of a block with its ledger entry,
 * beside cudaMallocAsync and cudaFreeAsync on a pool that keeps freed memory. Prints
 * nothing without a device. bench/peers/memory_cuda.py adds RMM. */
#include "bench.h"
#include "gpu/gpu_internal.h"

#include <cuda_runtime_api.h>

typedef struct {
    pith_scope *s;
    cudaStream_t stream;
    cudaMemPool_t pool;
    size_t bytes;
} work;

static void run_pith(void *closure) {
    const work *w = closure;
    pithp_buffer_release(pithp_buffer_make(w->s, w->bytes), 1);
}

static void run_cuda(void *closure) {
    const work *w = closure;
    void *data = NULL;
    if (cudaMallocFromPoolAsync(&data, w->bytes, w->pool, w->stream) != cudaSuccess ||
        cudaFreeAsync(data, w->stream) != cudaSuccess)
        exit(EXIT_FAILURE);
}

static bool open_peer(work *w) {
    struct cudaMemPoolProps props;
    uint64_t keep = UINT64_MAX;
    memset(&props, 0, sizeof props);
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    return cudaStreamCreateWithFlags(&w->stream, cudaStreamNonBlocking) == cudaSuccess &&
           cudaMemPoolCreate(&w->pool, &props) == cudaSuccess &&
           cudaMemPoolSetAttribute(w->pool, cudaMemPoolAttrReleaseThreshold, &keep) ==
               cudaSuccess;
}

int main(int argc, char **argv) {
    const char *only = bench_only(argc, argv);
    pith_runtime *rt = pith_open(&(pith_open_options){.device = "cuda"});
    if (pith_runtime_code(rt) != PITH_OK) {
        pith_close(rt);
        return EXIT_SUCCESS;
    }
    pith_scope *s = pith_scope_open(rt);
    work w = {.s = s};
    if (!open_peer(&w))
        return EXIT_FAILURE;
    const bench_entry entries[] = {{"pith", run_pith, &w},
                                   {"cudaMallocAsync", run_cuda, &w}};
    for (w.bytes = 64; w.bytes <= (size_t)64 << 20; w.bytes *= 4) {
        char row[64];
        snprintf(row, sizeof row, "memory/cuda/%zu", w.bytes);
        if (bench_wanted(row, only))
            bench_row(row, "ns", 1e9, 2, entries);
        bench_check(s);
    }
    pith_scope_close(s);
    pith_close(rt);
    return EXIT_SUCCESS;
}
