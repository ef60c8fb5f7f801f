/* Copies and fills. Host memory goes through pinned segments of the stream that are used
 * in turn, so that a copy of any size needs 4 MiB and the host's part overlaps the
 * device's. */
#include "gpu/cuda/cuda_internal.h"
#include "gpu/cuda/fill.h"

#include <string.h>

static char *segment(const pithp_cuda_stream *state, int index) {
    return state->pinned + (size_t)index * PITHP_STAGING_SEGMENT_BYTES;
}

/* Pinned memory is made by the first copy. Without it copies still work, one by one. */
static bool have_staging(pithp_cuda_stream *state) {
    if (state->pinned)
        return true;
    for (int i = 0; i < PITHP_STAGING_SEGMENTS; i++)
        if (!state->drained[i] &&
            cudaEventCreateWithFlags(&state->drained[i], cudaEventDisableTiming) !=
                cudaSuccess) {
            state->drained[i] = NULL;
            (void)cudaGetLastError();
            return false;
        }
    void *pinned = NULL;
    if (cudaHostAlloc(&pinned, PITHP_STAGING_SEGMENTS * PITHP_STAGING_SEGMENT_BYTES,
                      cudaHostAllocDefault) != cudaSuccess) {
        (void)cudaGetLastError();
        return false;
    }
    state->pinned = pinned;
    return true;
}

/* The next piece, its segment free to be written: on a turn the segment left behind is
 * marked, and the one entered is waited for. */
static cudaError_t
begin_piece(pithp_cuda_stream *state, size_t bytes, pithp_staging_piece *piece) {
    const int left = state->staging.at;
    *piece = pithp_staging_next(&state->staging, bytes);
    if (!piece->turn)
        return cudaSuccess;
    const cudaError_t code = cudaEventRecord(state->drained[left], state->queue);
    return code == cudaSuccess ? cudaEventSynchronize(state->drained[piece->segment])
                               : code;
}

static cudaError_t copy_pageable(const pithp_cuda_stream *state,
                                 void *to,
                                 const void *from,
                                 size_t bytes,
                                 enum cudaMemcpyKind kind) {
    const cudaError_t code = cudaMemcpyAsync(to, from, bytes, kind, state->queue);
    return code == cudaSuccess ? cudaStreamSynchronize(state->queue) : code;
}

static cudaError_t
stage_in(pithp_cuda_stream *state, char *to, const char *host, size_t bytes) {
    while (bytes) {
        pithp_staging_piece piece;
        cudaError_t code = begin_piece(state, bytes, &piece);
        if (code != cudaSuccess)
            return code;
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

/* Every piece has a segment to itself; up to one less than all are under way while the
 * oldest is taken out. */
static cudaError_t
stage_out(pithp_cuda_stream *state, char *host, const char *from, size_t bytes) {
    struct {
        int segment;
        size_t bytes;
    } pending[PITHP_STAGING_SEGMENTS];
    int first = 0, count = 0;
    while (bytes || count) {
        if (bytes && count < PITHP_STAGING_SEGMENTS - 1) {
            pithp_staging_piece piece;
            pithp_staging_turn(&state->staging);
            cudaError_t code = begin_piece(state, bytes, &piece);
            if (code == cudaSuccess)
                code = cudaMemcpyAsync(segment(state, piece.segment), from, piece.bytes,
                                       cudaMemcpyDeviceToHost, state->queue);
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

pith_status pithp_copy_in_cuda(pithp_stream *st,
                               void *to,
                               const void *host,
                               size_t bytes,
                               pithp_error *e) {
    int previous;
    pith_status rc = pithp_cuda_enter(st->device, &previous, e);
    if (rc != PITH_OK)
        return rc;
    pithp_cuda_stream *state = pithp_cuda_stream_of(st);
    const cudaError_t code = have_staging(state) ? stage_in(state, to, host, bytes)
                                                 : copy_pageable(state, to, host, bytes,
                                                                 cudaMemcpyHostToDevice);
    if (code != cudaSuccess)
        rc = pithp_cuda_fail(st->device, code, e, "cannot copy %zu bytes in", bytes);
    pithp_cuda_leave(st->device, previous);
    return rc;
}

pith_status pithp_copy_out_cuda(pithp_stream *st,
                                void *host,
                                const void *from,
                                size_t bytes,
                                pithp_error *e) {
    int previous;
    pith_status rc = pithp_cuda_enter(st->device, &previous, e);
    if (rc != PITH_OK)
        return rc;
    pithp_cuda_stream *state = pithp_cuda_stream_of(st);
    const cudaError_t code = have_staging(state) ? stage_out(state, host, from, bytes)
                                                 : copy_pageable(state, host, from, bytes,
                                                                 cudaMemcpyDeviceToHost);
    if (code != cudaSuccess)
        rc = pithp_cuda_fail_waiting(st->device, code, e);
    pithp_cuda_leave(st->device, previous);
    return rc;
}

pith_status pithp_copy_cuda(pithp_stream *st,
                            void *to,
                            const void *from,
                            size_t bytes,
                            pithp_error *e) {
    int previous;
    pith_status rc = pithp_cuda_enter(st->device, &previous, e);
    if (rc != PITH_OK)
        return rc;
    const cudaError_t code =
        bytes ? cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice,
                                pithp_cuda_stream_of(st)->queue)
              : cudaSuccess;
    if (code != cudaSuccess)
        rc = pithp_cuda_fail(st->device, code, e, "cannot copy %zu bytes", bytes);
    pithp_cuda_leave(st->device, previous);
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
            /* a thread each 16 bytes, and no fewer than the 32 that do the ends */
            .count = (int64_t)(bytes / 16 + 32),
        };
        return pithp_launch_cuda(st, &fill, e);
    }
    int previous;
    pith_status rc = pithp_cuda_enter(st->device, &previous, e);
    if (rc != PITH_OK)
        return rc;
    const cudaError_t code = cudaMemsetAsync(to, (int)(plan.word & 0xff), bytes,
                                             pithp_cuda_stream_of(st)->queue);
    if (code != cudaSuccess)
        rc = pithp_cuda_fail(st->device, code, e, "cannot fill %zu bytes", bytes);
    pithp_cuda_leave(st->device, previous);
    return rc;
}
