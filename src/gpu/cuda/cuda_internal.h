/* Private interface of the CUDA backend: its state and shared functions. */
#ifndef PITH_CUDA_INTERNAL_H
#define PITH_CUDA_INTERNAL_H

#include "gpu/compile/compile_internal.h"
#include "gpu/cuda/cublas.h"
#include "gpu/cuda/decide.h"
#include "gpu/cuda/driver.h"
#include "gpu/cuda/nccl.h"
#include "gpu/gemm.h"
#include "gpu/gpu_internal.h"

#include <cuda_runtime_api.h>

#if CUDART_VERSION < 12080
#    error "pith needs CUDA 12.8 or later"
#endif

/* cuBLAS state of a device. */
typedef struct pithp_cuda_gemm {
    atomic_int use; /* pithp_gemm_use; -1: not read yet, and the members below are NULL */
    const pithp_cublas *library;
    pthread_mutex_t lock;       /* guards the members below, and calls with the handle */
    pithp_cublas_handle handle; /* NULL until the first product */
    cudaStream_t queue;         /* for captures; NULL until the first capture */
} pithp_cuda_gemm;

/* NCCL of a device. */
typedef struct pithp_cuda_nccl {
    pthread_mutex_t lock;      /* guards the members below */
    bool looked;               /* the library was looked for */
    const pithp_nccl *library; /* constant once it was; NULL: not usable */
    int version;
    struct pithp_graph *graphs; /* that hold moves between ranks */
    uint64_t drops;             /* of graphs */
    cudaEvent_t moved;          /* after the last moves; NULL: there were none */
    cudaStream_t last;          /* where they were; only compared */
} pithp_cuda_nccl;

typedef struct pithp_cuda_device {
    int ordinal;
    const pithp_cuda_driver *driver;
    int device;    /* the driver's handle */
    void *context; /* primary; NULL until opened */
    size_t total;
    cudaMemPool_t pool;
    pithp_cuda_gemm gemm;
    pithp_cuda_nccl nccl;
} pithp_cuda_device;

typedef struct pithp_cuda_stream {
    cudaStream_t queue;
    cudaEvent_t mark; /* event that other streams wait for */
    char *pinned;     /* segments of staging; NULL until the first copy */
    pithp_staging staging;
    bool unsettled; /* a copy failed half-way: the segments may be in use */
    cudaEvent_t
        drained[PITHP_STAGING_SEGMENTS]; /* events after the copies of each segment */
} pithp_cuda_stream;

static inline pithp_cuda_device *pithp_cuda_device_of(const pithp_device *d) {
    return d->state;
}
static inline pithp_cuda_stream *pithp_cuda_stream_of(const pithp_stream *st) {
    return st->state;
}

/* Enter the device for an operation: checks that it is alive, makes its context current,
 * and relaxes captures of other libraries. On failure e is set and the caller must not
 * leave. pithp_cuda_leave restores the thread. */
pith_status pithp_cuda_enter(pithp_device *d, pithp_caller *caller, pithp_error *e);
void pithp_cuda_leave(const pithp_device *d, const pithp_caller *caller);
/* The same for queries without errors. */
cudaError_t pithp_cuda_make_current(const pithp_device *d, pithp_caller *caller);
/* Retain the device's primary context; required by pithp_cuda_enter. */
pith_status pithp_cuda_context_open(pithp_device *d, pithp_error *e);
void pithp_cuda_context_close(pithp_device *d);

/* Clear the thread's last error if `code`, the result of the latest call of the runtime
 * library, is an error. A program that links the runtime statically shares that record:
 * after a success, the record belongs to the program. */
void pithp_cuda_forget(cudaError_t code);
/* Set e from a code, with the failed operation. A code other than the refusal of a single
 * call (decide.h) marks the device dead. */
pith_status pithp_cuda_fail(pithp_device *d,
                            cudaError_t code,
                            pithp_error *e,
                            const char *format,
                            ...) PITH_FORMAT(4, 5);
/* The same for a call that waits. Any failure of enqueued work marks the device dead,
 * because no result can be trusted after it. */
pith_status pithp_cuda_fail_waiting(pithp_device *d, cudaError_t code, pithp_error *e);

/* Returns true once for an out-of-memory code: caches have been freed to the device, and
 * the call should be retried. `retried` starts as false. The device must be entered. */
bool pithp_cuda_retry(pithp_device *d, cudaError_t code, bool *retried);

/* Wait until no work uses code or graphs that are about to be freed; CUDA does not keep
 * them alive. The device must be current. */
void pithp_cuda_wait_for_all(pithp_device *d);

/* ---- Operations of the backend, one file per group ---- */

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
/* Initialise and free the state of a device. */
pith_status pithp_gemm_open_cuda(pithp_device *d);
void pithp_gemm_close_cuda(pithp_device *d);
/* Capture a product as a graph, which the caller owns. PITH_E_UNSUPPORTED if cuBLAS or
 * the graph cannot, PITH_E_MEMORY if memory is short. */
pith_status pithp_gemm_capture_cuda(pithp_device *d,
                                    const pithp_gemm *g,
                                    void *memory,
                                    cudaGraph_t *graph,
                                    pithp_error *e);

int pithp_communicator_version_cuda(pithp_device *d);
pith_status
pithp_communicator_id_cuda(pithp_device *d, unsigned char *id, pithp_error *e);
pith_status pithp_communicator_make_cuda(pithp_device *d,
                                         const char *axes,
                                         int64_t timeout_ns,
                                         pithp_communicator **made,
                                         pithp_error *e);
pith_status pithp_communicator_open_cuda(pithp_device *d,
                                         pithp_communicator *c,
                                         const pithp_communicator_start *how,
                                         pithp_error *e);
void pithp_communicator_close_cuda(pithp_device *d, pithp_communicator *c, bool aborts);
pith_status
pithp_communicator_look_cuda(pithp_device *d, pithp_communicator *c, pithp_error *e);
pith_status pithp_transfer_cuda(pithp_stream *st,
                                pithp_communicator *c,
                                const pithp_device_move *t,
                                pithp_error *e);
/* Capture a move as a graph, which the caller owns and adds at top level only: it has
 * nodes that bodies of conditional nodes do not allow. */
pith_status pithp_transfer_capture_cuda(pithp_device *d,
                                        pithp_communicator *c,
                                        const pithp_device_move *t,
                                        cudaGraph_t *graph,
                                        pithp_error *e);
/* Moves of all communicators run one after the other, in the order in which the rank
 * enqueued them, on whatever streams: NCCL's kernels wait on the device for those of
 * other ranks, and two in another order on each rank may wait for each other. begin_moves
 * makes the queue wait for the moves before; end_moves follows the enqueued ones. Both
 * hold the device's nccl.lock, which end_moves gives back. */
cudaError_t pithp_cuda_begin_moves(pithp_device *d, cudaStream_t queue);
void pithp_cuda_nccl_close(pithp_device *d); /* with the lock */
cudaError_t pithp_cuda_end_moves(pithp_device *d, cudaStream_t queue, bool moved);
/* Destroy what the device's graphs with moves launch; they stay, and fail. waits: work in
 * flight ends first. The device must be current. */
void pithp_cuda_graphs_drop(pithp_device *d, bool waits);

#endif
