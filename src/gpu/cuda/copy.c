/* CUDA copies and fills. Host memory is staged through a ring of pinned segments per
 * stream. A copy of any size needs 4 MiB, and host and device copies overlap. */
#include "gpu/cuda/cuda_internal.h"
#include "gpu/cuda/fill.h"
#include "gpu/memory/allocation.h"

#include <string.h>

static char *segment(const pithp_cuda_stream *state, int index) {
    return state->pinned + (size_t)index * PITHP_STAGING_SEGMENT_BYTES;
}

/* Whether the segments are free of copies that failed half-way. */
static bool settle(pithp_cuda_stream *state) {
    if (state->unsettled) {
        const cudaError_t code = cudaStreamSynchronize(state->queue);
        pithp_cuda_forget(code);
        state->unsettled = code != cudaSuccess;
    }
    return !state->unsettled;
}

/* The first copy allocates the pinned memory from the budget. Without it, copies work one
 * by one. */
static bool have_staging(pithp_device *d, pithp_cuda_stream *state) {
    if (state->pinned)
        return settle(state);
    for (int i = 0; i < PITHP_STAGING_SEGMENTS; i++)
        if (!state->drained[i]) {
            const cudaError_t code =
                cudaEventCreateWithFlags(&state->drained[i], cudaEventDisableTiming);
            pithp_cuda_forget(code);
            if (code != cudaSuccess) {
                state->drained[i] = NULL;
                return false;
            }
        }
    pithp_error ignored; /* pageable memory works too, but slower */
    void *mapped,
        *pinned = pithp_pinned_take(
            d, PITHP_STAGING_SEGMENTS * PITHP_STAGING_SEGMENT_BYTES, &mapped, &ignored);
    if (!pinned)
        return false;
    state->pinned = pinned;
    return true;
}

/* Get the next piece, with its segment ready for writing. On a change of segment, record
 * the event of the old segment and wait for that of the new one. */
static cudaError_t begin_piece(pithp_cuda_stream *state,
                               size_t bytes,
                               pithp_staging_piece *piece,
                               bool *waiting) {
    const int left = state->staging.at;
    *piece = pithp_staging_next(&state->staging, bytes);
    if (!piece->turn)
        return cudaSuccess;
    const cudaError_t code = cudaEventRecord(state->drained[left], state->queue);
    *waiting = code == cudaSuccess;
    return *waiting ? cudaEventSynchronize(state->drained[piece->segment]) : code;
}

static cudaError_t copy_pageable(const pithp_cuda_stream *state,
                                 void *to,
                                 const void *from,
                                 size_t bytes,
                                 enum cudaMemcpyKind kind,
                                 bool *waiting) {
    const cudaError_t code = cudaMemcpyAsync(to, from, bytes, kind, state->queue);
    *waiting = code == cudaSuccess;
    return *waiting ? cudaStreamSynchronize(state->queue) : code;
}

/* *waiting: whether an error comes from a call that waits. */
static cudaError_t stage_in(pithp_cuda_stream *state,
                            char *to,
                            const char *host,
                            size_t bytes,
                            bool *waiting) {
    while (bytes) {
        pithp_staging_piece piece;
        cudaError_t code = begin_piece(state, bytes, &piece, waiting);
        if (code != cudaSuccess)
            return code;
        *waiting = false;
        char *pinned = segment(state, piece.segment) + piece.offset;
        memcpy(pinned, host, piece.bytes);
        code = cudaMemcpyAsync(to, pinned, piece.bytes, cudaMemcpyHostToDevice,
                               state->queue);
        if (code != cudaSuccess)
            return code;
        to += piece.bytes;
        host += piece.bytes;
        bytes -= piece.bytes;
    }
    return cudaSuccess;
}

/* Every piece has its own segment. All segments but one may be in flight while the oldest
 * is copied out. */
static cudaError_t stage_out(pithp_cuda_stream *state,
                             char *host,
                             const char *from,
                             size_t bytes,
                             bool *waiting) {
    struct {
        int segment;
        size_t bytes;
    } pending[PITHP_STAGING_SEGMENTS];
    int first = 0, count = 0;
    while (bytes || count) {
        if (bytes && count < PITHP_STAGING_SEGMENTS - 1) {
            pithp_staging_piece piece;
            pithp_staging_turn(&state->staging);
            cudaError_t code = begin_piece(state, bytes, &piece, waiting);
            if (code == cudaSuccess) {
                *waiting = false;
                code = cudaMemcpyAsync(segment(state, piece.segment), from, piece.bytes,
                                       cudaMemcpyDeviceToHost, state->queue);
            }
            if (code == cudaSuccess)
                code = cudaEventRecord(state->drained[piece.segment], state->queue);
            if (code != cudaSuccess)
                return code;
            const int last = (first + count++) % PITHP_STAGING_SEGMENTS;
            pending[last].segment = piece.segment;
            pending[last].bytes = piece.bytes;
            from += piece.bytes;
            bytes -= piece.bytes;
            continue;
        }
        *waiting = true;
        const cudaError_t code =
            cudaEventSynchronize(state->drained[pending[first].segment]);
        if (code != cudaSuccess)
            return code;
        memcpy(host, segment(state, pending[first].segment), pending[first].bytes);
        host += pending[first].bytes;
        first = (first + 1) % PITHP_STAGING_SEGMENTS;
        count--;
    }
    return cudaSuccess;
}

/* After a failure, the segments are free once the stream has been waited for. */
static pith_status finish(pithp_stream *st,
                          cudaError_t code,
                          bool waiting,
                          size_t bytes,
                          const char *direction,
                          pithp_error *e) {
    if (code == cudaSuccess)
        return PITH_OK;
    pithp_cuda_stream_of(st)->unsettled = true;
    return waiting ? pithp_cuda_fail_waiting(st->device, code, e)
                   : pithp_cuda_fail(st->device, code, e, "cannot copy %zu bytes %s",
                                     bytes, direction);
}

pith_status pithp_copy_in_cuda(pithp_stream *st,
                               void *to,
                               const void *host,
                               size_t bytes,
                               pithp_error *e) {
    pithp_caller caller;
    bool waiting = false;
    pith_status rc = pithp_cuda_enter(st->device, &caller, e);
    if (rc != PITH_OK)
        return rc;
    pithp_cuda_stream *state = pithp_cuda_stream_of(st);
    const cudaError_t code =
        have_staging(st->device, state)
            ? stage_in(state, to, host, bytes, &waiting)
            : copy_pageable(state, to, host, bytes, cudaMemcpyHostToDevice, &waiting);
    rc = finish(st, code, waiting, bytes, "in", e);
    pithp_cuda_leave(st->device, &caller);
    return rc;
}

pith_status pithp_copy_out_cuda(pithp_stream *st,
                                void *host,
                                const void *from,
                                size_t bytes,
                                pithp_error *e) {
    pithp_caller caller;
    bool waiting = false;
    pith_status rc = pithp_cuda_enter(st->device, &caller, e);
    if (rc != PITH_OK)
        return rc;
    pithp_cuda_stream *state = pithp_cuda_stream_of(st);
    const cudaError_t code =
        have_staging(st->device, state)
            ? stage_out(state, host, from, bytes, &waiting)
            : copy_pageable(state, host, from, bytes, cudaMemcpyDeviceToHost, &waiting);
    rc = finish(st, code, waiting, bytes, "out", e);
    pithp_cuda_leave(st->device, &caller);
    return rc;
}

pith_status pithp_copy_cuda(pithp_stream *st,
                            void *to,
                            const void *from,
                            size_t bytes,
                            pithp_error *e) {
    pithp_caller caller;
    pith_status rc = pithp_cuda_enter(st->device, &caller, e);
    if (rc != PITH_OK)
        return rc;
    const cudaError_t code =
        bytes ? cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice,
                                pithp_cuda_stream_of(st)->queue)
              : cudaSuccess;
    if (code != cudaSuccess)
        rc = pithp_cuda_fail(st->device, code, e, "cannot copy %zu bytes", bytes);
    pithp_cuda_leave(st->device, &caller);
    return rc;
}

pith_status pithp_fill_cuda(pithp_stream *st,
                            void *to,
                            const void *pattern,
                            size_t width,
                            int64_t count,
                            pithp_error *e) {
    const pithp_fill_plan plan = pithp_fill_plan_for(pattern, width);
    const size_t bytes = (size_t)count * width;
    if (bytes == 0)
        return PITH_OK;
    if (!plan.byte) {
        const pithp_fill_args args = {to, plan.word, (int64_t)bytes};
        const pithp_launch fill = {
            .name = "fill",
            .cuda = pithp_fill_kernel(),
            .args = &args,
            .args_bytes = sizeof args,
            /* one thread per 16 bytes, and at least the 32 threads for the ends */
            .count = (int64_t)(bytes / 16 + 32),
        };
        return pithp_launch_cuda(st, &fill, e);
    }
    pithp_caller caller;
    pith_status rc = pithp_cuda_enter(st->device, &caller, e);
    if (rc != PITH_OK)
        return rc;
    const cudaError_t code = cudaMemsetAsync(to, (int)(plan.word & 0xff), bytes,
                                             pithp_cuda_stream_of(st)->queue);
    if (code != cudaSuccess)
        rc = pithp_cuda_fail(st->device, code, e, "cannot fill %zu bytes", bytes);
    pithp_cuda_leave(st->device, &caller);
    return rc;
}
