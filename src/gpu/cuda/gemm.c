/* Matrix products by cuBLAS: one handle per device, with serialised calls, and one stream
 * for captures. Every call gets its workspace, so calls allocate nothing. The ledger
 * counts the workspace of the handle itself. Matrices are passed as device arrays of
 * pointers, so a captured product does not depend on their addresses.
 *
 * The alternative, copies to fixed addresses, costs as much as a matrix-vector product
 * itself. It also needs memory for both operands and the result during the life of the
 * program. */
#include "gpu/gemm.h"

#include "gpu/cuda/cuda_internal.h"
#include "gpu/memory/ledger.h"
#include "gpu/memory/reclaim.h"

#include <string.h>

/* cuBLAS reports some failed allocations as execution failures. Below this much free
 * device memory, any failure counts as a shortage. */
#define TIGHT_BYTES ((size_t)256 << 20)

/* ---- Availability ---- */

pith_status pithp_gemm_open_cuda(pithp_device *d) {
    pithp_cuda_gemm *state = &pithp_cuda_device_of(d)->gemm;
    atomic_init(&state->use, -1);
    return pthread_mutex_init(&state->lock, NULL) == 0 ? PITH_OK : PITH_E_MEMORY;
}

int pithp_gemm_use_cuda(pithp_device *d) {
    pithp_cuda_gemm *state = &pithp_cuda_device_of(d)->gemm;
    int use = atomic_load_explicit(&state->use, memory_order_acquire);
    if (use >= 0)
        return use;
    pthread_mutex_lock(&state->lock);
    use = atomic_load(&state->use);
    if (use < 0) {
        pithp_error e;
        use = (int)pithp_gemm_asked();
        state->library = use == PITHP_GEMM_NONE ? NULL : pithp_cublas_open(d->driver, &e);
        if (use != PITHP_GEMM_NONE && !state->library) {
            pithp_log(d->runtime,
                      use == PITHP_GEMM_ALL ? PITH_LOG_WARNING : PITH_LOG_INFO,
                      "matrix products use pith's own kernels: %s", e.text);
            use = PITHP_GEMM_NONE;
        }
        atomic_store_explicit(&state->use, use, memory_order_release);
    }
    pthread_mutex_unlock(&state->lock);
    return use;
}

/* ---- Failures ---- */

enum { CANNOT_CAPTURE = -1 };

/* The outcome of one attempt. */
typedef struct attempt {
    int status;        /* of cuBLAS, or CANNOT_CAPTURE */
    cudaError_t code;  /* of the capture */
    const char *doing; /* the failed step, for messages */
    bool enqueued; /* work may be enqueued: a retry of an accumulating product would add
                      twice */
} attempt;

static bool is_tight(void) {
    size_t free_bytes = SIZE_MAX, total = 0;
    pithp_cuda_forget(cudaMemGetInfo(&free_bytes, &total));
    return free_bytes < TIGHT_BYTES;
}

static bool is_short(const attempt *a) {
    return a->status == PITHP_CUBLAS_ALLOC_FAILED ||
           pithp_cuda_status((int)a->code) == PITH_E_MEMORY ||
           (a->status != CANNOT_CAPTURE && is_tight());
}

/* Returns true once for a shortage that a retry may overcome, after freeing caches to the
 * device. No lock is held. */
static bool retry(pithp_device *d, const attempt *a, bool *retried) {
    const bool failed = a->status != PITHP_CUBLAS_OK || a->code != cudaSuccess;
    if (!failed || *retried || a->enqueued || !is_short(a))
        return false;
    *retried = true;
    pithp_trim(d);
    return true;
}

static pith_status refuse_shortage(const pithp_device *d,
                                   const char *doing,
                                   const char *name,
                                   pithp_error *e) {
    size_t free_bytes = 0, total = 0;
    pithp_cuda_forget(cudaMemGetInfo(&free_bytes, &total));
    pithp_error_set(
        e, PITH_E_MEMORY, NULL, NULL,
        "out of memory on cuda:%d (%s): cuBLAS cannot %s: %s; %zu of %zu bytes "
        "are free on the device, %zu of those granted to pith",
        pithp_cuda_device_of(d)->ordinal, d->name, doing, name, free_bytes, total,
        pithp_ledger_left(d));
    return PITH_E_MEMORY;
}

/* A shortage is transient and an error of this call only. After other refusals cuBLAS is
 * disabled, so that the bits of a product do not change between calls. */
static pith_status
refuse(pithp_device *d, cudaStream_t queue, const attempt *a, pithp_error *e) {
    pithp_cuda_gemm *state = &pithp_cuda_device_of(d)->gemm;
    /* a cuBLAS status does not tell whether the device is lost */
    const cudaError_t code = cudaStreamQuery(queue);
    if (code != cudaSuccess && code != cudaErrorNotReady &&
        !pithp_cuda_is_capture((int)code))
        return pithp_cuda_fail_waiting(d, code, e);
    pithp_cuda_forget(code);
    const char *name = a->status == CANNOT_CAPTURE ? "a graph does not allow its work"
                       : a->code != cudaSuccess
                           ? cudaGetErrorName(a->code)
                           : state->library->GetStatusName(a->status);
    if (is_short(a))
        return refuse_shortage(d, a->doing, name, e);
    pithp_error_set(e, PITH_E_UNSUPPORTED, NULL, NULL, "cuBLAS cannot %s: %s", a->doing,
                    name);
    if (atomic_exchange(&state->use, PITHP_GEMM_NONE) != PITHP_GEMM_NONE)
        pithp_log(d->runtime, PITH_LOG_WARNING,
                  "matrix products use pith's own kernels from here on: %s", e->text);
    return PITH_E_UNSUPPORTED;
}

/* ---- Calls; the caller holds the lock ---- */

/* Create the device's handle; the ledger counts the workspace that cuBLAS allocates for
 * it. */
static int open_handle(pithp_device *d) {
    pithp_cuda_gemm *state = &pithp_cuda_device_of(d)->gemm;
    const size_t bytes = pithp_cublas_workspace(d->arch);
    if (state->handle)
        return PITHP_CUBLAS_OK;
    if (!pithp_ledger_reserve(d, bytes))
        return PITHP_CUBLAS_ALLOC_FAILED;
    const int status = state->library->Create_v2(&state->handle);
    if (status != PITHP_CUBLAS_OK) {
        state->handle = NULL;
        pithp_ledger_unreserve(d, bytes);
    }
    return status;
}

/* Set the queue and the workspace of the handle. */
static attempt begin_call(pithp_device *d, cudaStream_t queue, void *memory) {
    const pithp_cuda_gemm *state = &pithp_cuda_device_of(d)->gemm;
    attempt a = {.doing = "begin"};
    a.status = open_handle(d);
    if (a.status == PITHP_CUBLAS_OK)
        a.status = state->library->SetStream_v2(state->handle, queue);
    if (a.status != PITHP_CUBLAS_OK)
        return a;
    a.doing = "take its workspace";
    a.status =
        state->library->SetWorkspace_v2(state->handle, memory, PITHP_GEMM_WORKSPACE);
    return a;
}

/* Pedantic compute modes: no environment setting reduces their precision or emulates
 * them. */
static int
multiply(const pithp_cublas *library, void *handle, const pithp_gemm *g, void *memory) {
    const void *const *a = (const void *const *)pithp_gemm_pointers(memory) + g->first;
    const void *const *b = a + g->all;
    void *const *c = (void *const *)pithp_gemm_pointers(memory) + 2 * (size_t)g->all +
                     (size_t)g->first;
    const bool wide = g->dtype == PITH_F64;
    const double one64 = 1, beta64 = g->adds;
    const float one32 = 1, beta32 = g->adds;
    const int type = wide ? PITHP_CUBLAS_R_64F : PITHP_CUBLAS_R_32F;
    return library->GemmBatchedEx(
        handle, g->a_transposed ? PITHP_CUBLAS_T : PITHP_CUBLAS_N,
        g->b_transposed ? PITHP_CUBLAS_T : PITHP_CUBLAS_N, g->m, g->n, g->k,
        wide ? (const void *)&one64 : &one32, a, type, g->lda, b, type, g->ldb,
        wide ? (const void *)&beta64 : &beta32, c, type, g->ldc, g->count,
        wide ? PITHP_CUBLAS_COMPUTE_64F_PEDANTIC : PITHP_CUBLAS_COMPUTE_32F_PEDANTIC,
        PITHP_CUBLAS_GEMM_DEFAULT);
}

static attempt
multiply_on(pithp_device *d, cudaStream_t queue, const pithp_gemm *g, void *memory) {
    pithp_cuda_gemm *state = &pithp_cuda_device_of(d)->gemm;
    pthread_mutex_lock(&state->lock);
    attempt a = begin_call(d, queue, memory);
    if (a.status == PITHP_CUBLAS_OK) {
        a.doing = "multiply";
        a.status = multiply(state->library, state->handle, g, memory);
        a.enqueued = g->adds;
    }
    pthread_mutex_unlock(&state->lock);
    return a;
}

pith_status pithp_gemm_cuda(pithp_stream *st,
                            const struct pithp_gemm *g,
                            void *memory,
                            pithp_error *e) {
    pithp_device *d = st->device;
    const cudaStream_t queue = pithp_cuda_stream_of(st)->queue;
    pithp_caller caller;
    pith_status rc = pithp_cuda_enter(d, &caller, e);
    if (rc != PITH_OK)
        return rc;
    bool retried = false;
    attempt a = multiply_on(d, queue, g, memory);
    if (retry(d, &a, &retried))
        a = multiply_on(d, queue, g, memory);
    if (a.status != PITHP_CUBLAS_OK)
        rc = refuse(d, queue, &a, e);
    pithp_cuda_leave(d, &caller);
    return rc;
}

/* ---- Graphs ---- */

/* Whether the graph fits into the body of a conditional node: only kernels, copies and
 * fills of device memory. Allocations, events and host work are not allowed there. */
static cudaError_t check_body_nodes(cudaGraph_t graph, bool *only_work) {
    enum { MOST = 64 };
    cudaGraphNode_t nodes[MOST];
    size_t count = MOST;
    cudaError_t code = cudaGraphGetNodes(graph, nodes, &count);
    *only_work = count < MOST;
    for (size_t k = 0; k < count && code == cudaSuccess && *only_work; k++) {
        enum cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
        code = cudaGraphNodeGetType(nodes[k], &type);
        *only_work = type == cudaGraphNodeTypeKernel || type == cudaGraphNodeTypeMemcpy ||
                     type == cudaGraphNodeTypeMemset || type == cudaGraphNodeTypeEmpty;
    }
    return code;
}

/* The device's own capture stream: other threads enqueue on the streams of scopes during
 * a capture. */
static cudaError_t open_queue(pithp_cuda_gemm *state) {
    if (state->queue)
        return cudaSuccess;
    const cudaError_t code =
        cudaStreamCreateWithFlags(&state->queue, cudaStreamNonBlocking);
    pithp_cuda_forget(code);
    return code;
}

/* The caller holds the lock. */
static attempt
capture(pithp_device *d, const pithp_gemm *g, void *memory, cudaGraph_t *graph) {
    pithp_cuda_gemm *state = &pithp_cuda_device_of(d)->gemm;
    attempt a = begin_call(d, state->queue, memory);
    if (a.status != PITHP_CUBLAS_OK)
        return a;
    a.doing = "be captured";
    /* relaxed: cuBLAS loads kernels on first use, and other threads allocate */
    a.code = cudaStreamBeginCapture(state->queue, cudaStreamCaptureModeRelaxed);
    pithp_cuda_forget(a.code);
    if (a.code != cudaSuccess)
        return a;
    bool only_work = false;
    a.status = multiply(state->library, state->handle, g, memory);
    a.code = cudaStreamEndCapture(state->queue, graph);
    if (a.code == cudaSuccess && a.status == PITHP_CUBLAS_OK)
        a.code = check_body_nodes(*graph, &only_work);
    if (a.code == cudaSuccess && only_work)
        return a;
    pithp_cuda_forget(a.code);
    if (*graph)
        pithp_cuda_forget(cudaGraphDestroy(*graph));
    *graph = NULL;
    if (a.status == PITHP_CUBLAS_OK &&
        (a.code == cudaSuccess || pithp_cuda_is_capture((int)a.code))) {
        a.status = CANNOT_CAPTURE;
        a.code = cudaSuccess;
    }
    return a;
}

static attempt
try_capture(pithp_device *d, const pithp_gemm *g, void *memory, cudaGraph_t *graph) {
    pithp_cuda_gemm *state = &pithp_cuda_device_of(d)->gemm;
    pthread_mutex_lock(&state->lock);
    attempt a = {.code = open_queue(state), .doing = "be captured"};
    if (a.code == cudaSuccess)
        a = capture(d, g, memory, graph);
    pthread_mutex_unlock(&state->lock);
    return a;
}

pith_status pithp_gemm_capture_cuda(pithp_device *d,
                                    const pithp_gemm *g,
                                    void *memory,
                                    cudaGraph_t *graph,
                                    pithp_error *e) {
    pithp_cuda_gemm *state = &pithp_cuda_device_of(d)->gemm;
    bool retried = false;
    *graph = NULL;
    if (atomic_load(&state->use) == PITHP_GEMM_NONE) {
        pithp_error_set(e, PITH_E_UNSUPPORTED, NULL, NULL, "cuBLAS is not in use");
        return PITH_E_UNSUPPORTED;
    }
    attempt a = try_capture(d, g, memory, graph);
    if (retry(d, &a, &retried))
        a = try_capture(d, g, memory, graph);
    if (a.status == PITHP_CUBLAS_OK && a.code == cudaSuccess)
        return PITH_OK;
    if (a.code != cudaSuccess && !pithp_cuda_is_capture((int)a.code) && !is_short(&a))
        return pithp_cuda_fail(d, a.code, e, "cannot capture a product");
    return refuse(d, state->queue, &a, e);
}

/* ---- Closing ---- */

void pithp_gemm_close_cuda(pithp_device *d) {
    pithp_cuda_gemm *state = &pithp_cuda_device_of(d)->gemm;
    pithp_error ignored; /* a dead device has neither handles nor streams */
    pithp_caller caller;
    if ((state->queue || state->handle) &&
        pithp_cuda_enter(d, &caller, &ignored) == PITH_OK) {
        if (state->handle)
            (void)state->library->Destroy_v2(state->handle);
        if (state->queue)
            pithp_cuda_forget(cudaStreamDestroy(state->queue));
        pithp_cuda_leave(d, &caller);
    }
    pthread_mutex_destroy(&state->lock);
}
