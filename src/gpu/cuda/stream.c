/* Streams of a CUDA device and waiting: for a stream's end, and of one stream for
 * another's present end. */
#include "gpu/cuda/cuda_internal.h"
#include "gpu/device.h"

#include <string.h>

pith_status pithp_stream_open_cuda(pithp_stream *st, pithp_error *e) {
    pithp_device *d = st->device;
    int previous;
    pith_status rc = pithp_cuda_enter(d, &previous, e);
    if (rc != PITH_OK)
        return rc;
    pithp_cuda_stream *state = pithp_allocate(d->runtime, sizeof *state);
    if (!state) {
        pithp_error_set(e, PITH_E_MEMORY, NULL, NULL,
                        "out of memory: %zu bytes of host memory", sizeof *state);
        rc = PITH_E_MEMORY;
        goto out;
    }
    memset(state, 0, sizeof *state);
    /* non-blocking: work of the user's on the default stream does not order ours */
    cudaError_t code = cudaStreamCreateWithFlags(&state->queue, cudaStreamNonBlocking);
    if (code == cudaSuccess)
        code = cudaEventCreateWithFlags(&state->mark, cudaEventDisableTiming);
    if (code != cudaSuccess) {
        rc = pithp_cuda_fail(d, code, e, "cannot make a stream");
        if (state->queue)
            (void)cudaStreamDestroy(state->queue);
        pithp_release(d->runtime, state, sizeof *state);
        goto out;
    }
    st->state = state;
out:
    pithp_cuda_leave(d, previous);
    return rc;
}

void pithp_stream_close_cuda(pithp_stream *st) {
    pithp_device *d = st->device;
    pithp_cuda_stream *state = pithp_cuda_stream_of(st);
    pithp_error ignored; /* on a dead device nothing can be handed back */
    int previous;
    if (!state)
        return;
    if (pithp_cuda_enter(d, &previous, &ignored) == PITH_OK) {
        (void)cudaStreamSynchronize(state->queue);
        pithp_gemm_leave_cuda(d, state);
        for (int i = 0; i < PITHP_STAGING_SEGMENTS; i++)
            if (state->drained[i])
                (void)cudaEventDestroy(state->drained[i]);
        (void)cudaFreeHost(state->pinned);
        (void)cudaEventDestroy(state->mark);
        (void)cudaStreamDestroy(state->queue);
        (void)cudaGetLastError();
        pithp_cuda_leave(d, previous);
    }
    st->state = NULL;
    pithp_release(d->runtime, state, sizeof *state);
}

void *pithp_native_stream_cuda(const pithp_stream *st) {
    return pithp_cuda_stream_of(st)->queue;
}

pith_status pithp_synchronise_cuda(pithp_stream *st, pithp_error *e) {
    int previous;
    pith_status rc = pithp_cuda_enter(st->device, &previous, e);
    if (rc != PITH_OK)
        return rc;
    const cudaError_t code = cudaStreamSynchronize(pithp_cuda_stream_of(st)->queue);
    if (code != cudaSuccess)
        rc = pithp_cuda_fail_waiting(st->device, code, e);
    pithp_cuda_leave(st->device, previous);
    return rc;
}

void pithp_cuda_wait_for_all(pithp_device *d) {
    for (pithp_stream *st = pithp_streams_first(d); st; st = st->next)
        (void)cudaStreamSynchronize(pithp_cuda_stream_of(st)->queue);
    (void)cudaGetLastError(); /* whoever waits next is told */
}

/* One mark a stream serves all threads: where two record it at once, each waits for the
 * later record, which lies behind its own. */
pith_status pithp_wait_for_cuda(pithp_stream *st, pithp_stream *other, pithp_error *e) {
    if (st == other)
        return PITH_OK;
    int previous;
    pith_status rc = pithp_cuda_enter(st->device, &previous, e);
    if (rc != PITH_OK)
        return rc;
    const pithp_cuda_stream *to = pithp_cuda_stream_of(st),
                            *from = pithp_cuda_stream_of(other);
    cudaError_t code = cudaEventRecord(from->mark, from->queue);
    if (code == cudaSuccess)
        code = cudaStreamWaitEvent(to->queue, from->mark, 0);
    if (code != cudaSuccess)
        rc = pithp_cuda_fail(st->device, code, e, "cannot make a stream wait");
    pithp_cuda_leave(st->device, previous);
    return rc;
}
