/* The CUDA backend's own state and what its files share. */
#ifndef PITH_CUDA_INTERNAL_H
#define PITH_CUDA_INTERNAL_H

#include "gpu/compile/compile_internal.h"
#include "gpu/cuda/cublas.h"
#include "gpu/cuda/decide.h"
#include "gpu/cuda/driver.h"
#include "gpu/gemm.h"
#include "gpu/gpu_internal.h"

#include <cuda_runtime_api.h>

#if CUDART_VERSION < 12080
#    error "pith needs CUDA 12.8 or later"
#endif

/* cuBLAS on a device. */
typedef struct pithp_cuda_gemm {
    atomic_int use; /* pithp_gemm_use; -1: nobody asked yet. What follows is then NULL */
    const pithp_cublas *library;
    pthread_mutex_t lock;       /* guards what follows, and the handle's calls */
    pithp_cublas_handle handle; /* NULL until a product needs it */
    cudaStream_t queue;         /* of captures; NULL until one needs it */
} pithp_cuda_gemm;

typedef struct pithp_cuda_device {
    int ordinal;
    const pithp_cuda_driver *driver;
    int device;    /* the driver's handle */
    void *context; /* primary; NULL until it is open */
    size_t total;
    cudaMemPool_t pool;
    pithp_cuda_gemm gemm;
} pithp_cuda_device;

typedef struct pithp_cuda_stream {
    cudaStream_t queue;
    cudaEvent_t mark; /* where another stream waits for this one */
    char *pinned;     /* the segments of staging; NULL until a copy needs them */
    pithp_staging staging;
    bool unsettled; /* a copy failed half-way: its segments may be in use */
    cudaEvent_t drained[PITHP_STAGING_SEGMENTS]; /* copies of the segment have run */
} pithp_cuda_stream;

static inline pithp_cuda_device *pithp_cuda_device_of(const pithp_device *d) {
    return d->state;
}
static inline pithp_cuda_stream *pithp_cuda_stream_of(const pithp_stream *st) {
    return st->state;
}

/* Begin the work of a slot: the device is alive, its context is the calling thread's
 * current one, and captures of other libraries forbid nothing. On failure e is set and
 * nothing has to be left. pithp_cuda_leave restores the thread. */
pith_status pithp_cuda_enter(pithp_device *d, pithp_caller *caller, pithp_error *e);
void pithp_cuda_leave(const pithp_device *d, const pithp_caller *caller);
/* The same for queries that report no error. */
cudaError_t pithp_cuda_make_current(const pithp_device *d, pithp_caller *caller);
/* The device's primary context; pithp_cuda_enter needs it. */
pith_status pithp_cuda_context_open(pithp_device *d, pithp_error *e);
void pithp_cuda_context_close(pithp_device *d);

/* Clear the thread's last error if `code`, the result of the latest call of the runtime
 * library, is one. A program that links the runtime statically shares that record: after
 * success the record is the program's own. */
void pithp_cuda_forget(cudaError_t code);
/* Set e from a code, with what was being done. A code that does not refuse a single call
 * (decide.h) marks the device dead. */
pith_status pithp_cuda_fail(pithp_device *d,
                            cudaError_t code,
                            pithp_error *e,
                            const char *format,
                            ...) PITH_FORMAT(4, 5);
/* The same for a call that waits. Any failure of enqueued work marks the device dead,
 * since no result can be trusted after it. */
pith_status pithp_cuda_fail_waiting(pithp_device *d, cudaError_t code, pithp_error *e);

/* True once for a code that says memory is short: what pith keeps for reuse has gone back
 * to the device, and the call is worth another try. `retried` begins as false. The device
 * is entered. */
bool pithp_cuda_retry(pithp_device *d, cudaError_t code, bool *retried);

/* Until nothing is under way that uses code or graphs about to be given back: CUDA does
 * not keep them for it. The device is current. */
void pithp_cuda_wait_for_all(pithp_device *d);

/* ---- Slots of the table, one file a group ---- */

pith_status pithp_stream_open_cuda(pithp_stream *st, pithp_error *e);
void pithp_stream_close_cuda(pithp_stream *st);
void *pithp_native_stream_cuda(const pithp_stream *st);
pith_status pithp_synchronise_cuda(pithp_stream *st, pithp_error *e);
pith_status pithp_wait_for_cuda(pithp_stream *st, pithp_stream *other, pithp_error *e);
void *pithp_mark_make_cuda(pithp_device *d, pithp_error *e);
void pithp_mark_free_cuda(pithp_device *d, void *mark);
pith_status pithp_mark_set_cuda(pithp_stream *st, void *mark, pithp_error *e);
pith_status pithp_mark_elapsed_cuda(pithp_device *d,
                                    void *from,
                                    void *to,
                                    double *seconds,
                                    pithp_error *e);

pith_status pithp_pool_open_cuda(pithp_device *d, pithp_error *e);
void pithp_pool_close_cuda(pithp_device *d);
void *pithp_allocate_cuda(pithp_stream *st, size_t bytes, pithp_error *e);
void pithp_release_cuda(pithp_stream *st, void *data, size_t bytes);
void pithp_trim_cuda(pithp_device *d);
void pithp_memory_cuda(const pithp_device *d, pith_memory_info *info);
void *pithp_pin_cuda(pithp_device *d, size_t bytes, void **mapped, pithp_error *e);
void pithp_unpin_cuda(pithp_device *d, void *data, size_t bytes);

pith_status pithp_copy_in_cuda(pithp_stream *st,
                               void *to,
                               const void *host,
                               size_t bytes,
                               pithp_error *e);
pith_status pithp_copy_out_cuda(pithp_stream *st,
                                void *host,
                                const void *from,
                                size_t bytes,
                                pithp_error *e);
pith_status pithp_copy_cuda(pithp_stream *st,
                            void *to,
                            const void *from,
                            size_t bytes,
                            pithp_error *e);
pith_status pithp_fill_cuda(pithp_stream *st,
                            void *to,
                            const void *pattern,
                            size_t width,
                            int64_t count,
                            pithp_error *e);

pith_status pithp_launch_cuda(pithp_stream *st, const pithp_launch *l, pithp_error *e);
pith_status pithp_module_load_cuda(pithp_device *d,
                                   const void *image,
                                   size_t bytes,
                                   pithp_module *m,
                                   pithp_error *e);
void pithp_module_unload_cuda(pithp_device *d, pithp_module *m);
pith_status pithp_kernel_find_cuda(pithp_device *d,
                                   pith_kernel_entry entry,
                                   const char *name,
                                   const void **handle,
                                   pithp_error *e);
pith_status pithp_module_find_cuda(pithp_device *d,
                                   const pithp_module *m,
                                   const char *name,
                                   pithp_function *f,
                                   pithp_error *e);

pith_status pithp_graph_make_cuda(pithp_stream *st,
                                  const struct pithp_graph_plan *plan,
                                  struct pithp_graph **graph,
                                  pithp_error *e);
pith_status
pithp_graph_launch_cuda(pithp_stream *st, struct pithp_graph *graph, pithp_error *e);
void pithp_graph_free_cuda(pithp_device *d, struct pithp_graph *graph);

int pithp_gemm_use_cuda(pithp_device *d);
pith_status pithp_gemm_cuda(pithp_stream *st,
                            const struct pithp_gemm *g,
                            void *memory,
                            pithp_error *e);
/* Of a device that is opened or closed. */
pith_status pithp_gemm_open_cuda(pithp_device *d);
void pithp_gemm_close_cuda(pithp_device *d);
/* A product as a graph of the caller's. PITH_E_UNSUPPORTED if cuBLAS or the graph
 * refuses, PITH_E_MEMORY if memory is short. */
pith_status pithp_gemm_capture_cuda(pithp_device *d,
                                    const pithp_gemm *g,
                                    void *memory,
                                    cudaGraph_t *graph,
                                    pithp_error *e);

#endif
