/* CUDA time marks: events that record when the earlier work of a stream had run. */
#include "gpu/cuda/cuda_internal.h"

void *pithp_mark_make_cuda(pithp_device *d, pithp_error *e) {
    pithp_caller caller;
    cudaEvent_t mark = NULL;
    if (pithp_cuda_enter(d, &caller, e) != PITH_OK)
        return NULL;
    const cudaError_t code = cudaEventCreateWithFlags(&mark, cudaEventDefault);
    if (code != cudaSuccess)
        (void)pithp_cuda_fail(d, code, e, "cannot make an event");
    pithp_cuda_leave(d, &caller);
    return code == cudaSuccess ? mark : NULL;
}

void pithp_mark_free_cuda(pithp_device *d, void *mark) {
    pithp_caller caller;
    pithp_error ignored;
    if (pithp_cuda_enter(d, &caller, &ignored) != PITH_OK)
        return;
    pithp_cuda_forget(cudaEventDestroy((cudaEvent_t)mark));
    pithp_cuda_leave(d, &caller);
}

pith_status pithp_mark_set_cuda(pithp_stream *st, void *mark, pithp_error *e) {
    pithp_caller caller;
    pith_status rc = pithp_cuda_enter(st->device, &caller, e);
    if (rc != PITH_OK)
        return rc;
    const cudaError_t code =
        cudaEventRecord((cudaEvent_t)mark, pithp_cuda_stream_of(st)->queue);
    if (code != cudaSuccess)
        rc = pithp_cuda_fail(st->device, code, e, "cannot record an event");
    pithp_cuda_leave(st->device, &caller);
    return rc;
}

pith_status pithp_mark_elapsed_cuda(pithp_device *d,
                                    void *from,
                                    void *to,
                                    double *seconds,
                                    pithp_error *e) {
    pithp_caller caller;
    float milliseconds = 0;
    pith_status rc = pithp_cuda_enter(d, &caller, e);
    if (rc != PITH_OK)
        return rc;
    cudaError_t code = cudaEventSynchronize((cudaEvent_t)to);
    if (code == cudaSuccess)
        code = cudaEventElapsedTime(&milliseconds, (cudaEvent_t)from, (cudaEvent_t)to);
    if (code != cudaSuccess)
        rc = pithp_cuda_fail_waiting(d, code, e);
    *seconds = (double)milliseconds * 1e-3;
    pithp_cuda_leave(d, &caller);
    return rc;
}
