/* Products by cuBLAS: a handle for each stream, and one for each device on a stream of
 * its own, on which products become graphs. Every call is given its workspace, so cuBLAS
 * allocates nothing; the matrices are named by arrays of pointers on the device, so what
 * is captured does not depend on where they are.
 *
 * Pointers rather than copies to one place: a copy of operands and result costs as much
 * as the product itself where that is of a matrix and a vector, and memory as large as
 * all three as long as the program lives. */
#include "gpu/gemm.h"

#include "gpu/cuda/cuda_internal.h"

#include <string.h>

/* ---- Whether ---- */

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
        state->library = use == PITHP_GEMM_NONE ? NULL : pithp_cublas_open(&e);
        if (use != PITHP_GEMM_NONE && !state->library) {
            pithp_log(d->runtime,
                      use == PITHP_GEMM_ALL ? PITH_LOG_WARNING : PITH_LOG_INFO,
                      "products run by pith's own kernels: %s", e.text);
            use = PITHP_GEMM_NONE;
        }
        atomic_store_explicit(&state->use, use, memory_order_release);
    }
    pthread_mutex_unlock(&state->lock);
    return use;
}

/* cuBLAS is not asked again: the reason will be the same, and a product's bits should not
 * depend on luck. */
static pith_status refuse(pithp_device *d,
                          cudaStream_t queue,
                          int status,
                          pithp_error *e,
                          const char *what) {
    pithp_cuda_gemm *state = &pithp_cuda_device_of(d)->gemm;
    /* its status does not tell a lost device from one that cannot do this */
    const cudaError_t code = cudaStreamQuery(queue);
    if (code != cudaSuccess && code != cudaErrorNotReady)
        return pithp_cuda_fail_waiting(d, code, e);
    (void)cudaGetLastError();
    pithp_error_set(e, PITH_E_UNSUPPORTED, NULL, NULL, "cuBLAS cannot %s: %s", what,
                    status < 0 ? "a graph cannot hold what it does"
                               : state->library->GetStatusName(status));
    if (atomic_exchange(&state->use, PITHP_GEMM_NONE) != PITHP_GEMM_NONE)
        pithp_log(d->runtime, PITH_LOG_WARNING,
                  "products run by pith's own kernels from here on: %s", e->text);
    return PITH_E_UNSUPPORTED;
}

/* ---- Calls ---- */

/* A handle on a stream; NULL: status says why. */
static pithp_cublas_handle
open_handle(const pithp_cublas *library, cudaStream_t queue, int *status) {
    pithp_cublas_handle handle = NULL;
    *status = library->Create_v2(&handle);
    if (*status != PITHP_CUBLAS_OK)
        return NULL;
    *status = library->SetStream_v2(handle, queue);
    if (*status == PITHP_CUBLAS_OK)
        return handle;
    (void)library->Destroy_v2(handle);
    return NULL;
}

/* f32 in its pedantic mode, which no setting makes less precise; what f64 has of its own
 * on newer devices rounds like any fused multiply-add. */
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
        wide ? PITHP_CUBLAS_COMPUTE_64F : PITHP_CUBLAS_COMPUTE_32F_PEDANTIC,
        PITHP_CUBLAS_GEMM_DEFAULT);
}

static pith_status
gemm_on(pithp_stream *st, const pithp_gemm *g, void *memory, pithp_error *e) {
    const pithp_cublas *library = pithp_cuda_device_of(st->device)->gemm.library;
    pithp_cuda_stream *state = pithp_cuda_stream_of(st);
    int status;
    if (!state->gemm)
        state->gemm = open_handle(library, state->queue, &status);
    if (!state->gemm)
        return refuse(st->device, state->queue, status, e, "begin");
    status = library->SetWorkspace_v2(state->gemm, memory, PITHP_GEMM_WORKSPACE);
    if (status != PITHP_CUBLAS_OK)
        return refuse(st->device, state->queue, status, e, "take its workspace");
    status = multiply(library, state->gemm, g, memory);
    return status == PITHP_CUBLAS_OK
               ? PITH_OK
               : refuse(st->device, state->queue, status, e, "multiply");
}

pith_status pithp_gemm_cuda(pithp_stream *st,
                            const struct pithp_gemm *g,
                            void *memory,
                            pithp_error *e) {
    int previous;
    pith_status rc = pithp_cuda_enter(st->device, &previous, e);
    if (rc != PITH_OK)
        return rc;
    rc = gemm_on(st, g, memory, e);
    pithp_cuda_leave(st->device, previous);
    return rc;
}

/* ---- Graphs ---- */

/* Bodies of conditional nodes hold kernels and copies or fills of the device's memory;
 * memory that the graph allocates, events and work of the host they do not. */
static cudaError_t look_inside(cudaGraph_t graph, bool *only_work) {
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

/* The device's own stream: others enqueue on those of scopes while this one captures. */
static pith_status open_capture(pithp_device *d, pithp_error *e) {
    pithp_cuda_gemm *state = &pithp_cuda_device_of(d)->gemm;
    int status;
    if (!state->queue) {
        const cudaError_t code =
            cudaStreamCreateWithFlags(&state->queue, cudaStreamNonBlocking);
        if (code != cudaSuccess)
            return pithp_cuda_fail(d, code, e, "cannot make a stream");
    }
    if (!state->handle)
        state->handle = open_handle(state->library, state->queue, &status);
    return state->handle ? PITH_OK : refuse(d, state->queue, status, e, "begin");
}

static pith_status capture(pithp_device *d,
                           const pithp_gemm *g,
                           void *memory,
                           cudaGraph_t *graph,
                           pithp_error *e) {
    pithp_cuda_gemm *state = &pithp_cuda_device_of(d)->gemm;
    if (atomic_load(&state->use) == PITHP_GEMM_NONE) {
        pithp_error_set(e, PITH_E_UNSUPPORTED, NULL, NULL, "cuBLAS is not in use");
        return PITH_E_UNSUPPORTED;
    }
    const pith_status rc = open_capture(d, e);
    if (rc != PITH_OK)
        return rc;
    int status =
        state->library->SetWorkspace_v2(state->handle, memory, PITHP_GEMM_WORKSPACE);
    if (status != PITHP_CUBLAS_OK)
        return refuse(d, state->queue, status, e, "take its workspace");
    /* relaxed: cuBLAS loads a kernel when it first needs it, other threads allocate */
    cudaError_t code = cudaStreamBeginCapture(state->queue, cudaStreamCaptureModeRelaxed);
    if (code != cudaSuccess)
        return pithp_cuda_fail(d, code, e, "cannot begin a capture");
    bool only_work = false;
    status = multiply(state->library, state->handle, g, memory);
    code = cudaStreamEndCapture(state->queue, graph);
    if (code == cudaSuccess && status == PITHP_CUBLAS_OK)
        code = look_inside(*graph, &only_work);
    if (code == cudaSuccess && only_work)
        return PITH_OK;
    if (*graph)
        (void)cudaGraphDestroy(*graph);
    *graph = NULL;
    if (code != cudaSuccess && !pithp_cuda_is_capture((int)code))
        return pithp_cuda_fail(d, code, e, "cannot capture a product");
    return refuse(d, state->queue, status == PITHP_CUBLAS_OK ? -1 : status, e,
                  "be captured");
}

pith_status pithp_gemm_capture_cuda(pithp_device *d,
                                    const pithp_gemm *g,
                                    void *memory,
                                    cudaGraph_t *graph,
                                    pithp_error *e) {
    pithp_cuda_gemm *state = &pithp_cuda_device_of(d)->gemm;
    *graph = NULL;
    pthread_mutex_lock(&state->lock);
    const pith_status rc = capture(d, g, memory, graph, e);
    pthread_mutex_unlock(&state->lock);
    return rc;
}

/* ---- Closing ---- */

void pithp_gemm_leave_cuda(pithp_device *d, pithp_cuda_stream *state) {
    if (state->gemm)
        (void)pithp_cuda_device_of(d)->gemm.library->Destroy_v2(state->gemm);
    state->gemm = NULL;
}

void pithp_gemm_close_cuda(pithp_device *d) {
    pithp_cuda_gemm *state = &pithp_cuda_device_of(d)->gemm;
    pithp_error ignored; /* a dead device has no streams */
    int previous;
    if (state->queue && pithp_cuda_enter(d, &previous, &ignored) == PITH_OK) {
        if (state->handle)
            (void)state->library->Destroy_v2(state->handle);
        (void)cudaStreamDestroy(state->queue);
        (void)cudaGetLastError();
        pithp_cuda_leave(d, previous);
    }
    pthread_mutex_destroy(&state->lock);
}
