/* CUDA streams: creation, synchronisation, and dependencies between streams. */
#include "gpu/cuda/cuda_internal.h"
#include "gpu/device.h"

#include <string.h>

pith_status pithp_stream_open_cuda(pithp_stream *st, pithp_error *e) {
    pithp_device *d = st->device;
    pithp_caller caller;
    pith_status rc = pithp_cuda_enter(d, &caller, e);
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
    /* non-blocking: no implicit order with the user's work on the default stream */
    bool retried = false;
    cudaError_t code;
    do
        code = cudaStreamCreateWithFlags(&state->queue, cudaStreamNonBlocking);
    while (pithp_cuda_retry(d, code, &retried));
    if (code == cudaSuccess)
        code = cudaEventCreateWithFlags(&state->mark, cudaEventDisableTiming);
    if (code != cudaSuccess) {
        rc = pithp_cuda_fail(d, code, e, "cannot make a stream");
        if (state->queue)
            pithp_cuda_forget(cudaStreamDestroy(state->queue));
        pithp_release(d->runtime, state, sizeof *state);
        goto out;
    }
    st->state = state;
out:
    pithp_cuda_leave(d, &caller);
    return rc;
}

void pithp_stream_close_cuda(pithp_stream *st) {
    pithp_device *d = st->device;
    pithp_cuda_stream *state = pithp_cuda_stream_of(st);
    pithp_error ignored; /* a dead device cannot release anything */
    pithp_caller caller;
    if (!state)
        return;
    if (pithp_cuda_enter(d, &caller, &ignored) == PITH_OK) {
        pithp_cuda_forget(cudaStreamSynchronize(state->queue));
        for (int i = 0; i < PITHP_STAGING_SEGMENTS; i++)
            if (state->drained[i])
                pithp_cuda_forget(cudaEventDestroy(state->drained[i]));
        if (state->pinned)
            pithp_cuda_forget(cudaFreeHost(state->pinned));
        pithp_cuda_forget(cudaEventDestroy(state->mark));
        pithp_cuda_forget(cudaStreamDestroy(state->queue));
        pithp_cuda_leave(d, &caller);
    }
    st->state = NULL;
    pithp_release(d->runtime, state, sizeof *state);
}

void *pithp_native_stream_cuda(const pithp_stream *st) {
    return pithp_cuda_stream_of(st)->queue;
}

pith_status pithp_synchronise_cuda(pithp_stream *st, pithp_error *e) {
    pithp_caller caller;
    pith_status rc = pithp_cuda_enter(st->device, &caller, e);
    if (rc != PITH_OK)
        return rc;
    const cudaError_t code = cudaStreamSynchronize(pithp_cuda_stream_of(st)->queue);
    if (code != cudaSuccess)
        rc = pithp_cuda_fail_waiting(st->device, code, e);
    pithp_cuda_leave(st->device, &caller);
    return rc;
}

void pithp_cuda_wait_for_all(pithp_device *d) {
    for (pithp_stream *st = pithp_streams_first(d); st; st = st->next)
        /* the next wait reports the error */
        pithp_cuda_forget(cudaStreamSynchronize(pithp_cuda_stream_of(st)->queue));
}

/* All threads share one event per stream. If two record it at once, each waits for the
 * later record, which follows its own work. */
pith_status pithp_wait_for_cuda(pithp_stream *st, pithp_stream *other, pithp_error *e) {
    if (st == other)
        return PITH_OK;
    pithp_caller caller;
    pith_status rc = pithp_cuda_enter(st->device, &caller, e);
    if (rc != PITH_OK)
        return rc;
    const pithp_cuda_stream *to = pithp_cuda_stream_of(st),
                            *from = pithp_cuda_stream_of(other);
    cudaError_t code = cudaEventRecord(from->mark, from->queue);
    if (code == cudaSuccess)
        code = cudaStreamWaitEvent(to->queue, from->mark, 0);
    if (code != cudaSuccess)
        rc = pithp_cuda_fail(st->device, code, e, "cannot make a stream wait");
    pithp_cuda_leave(st->device, &caller);
    return rc;
}
