/* Device memory: a stream-ordered pool of the device's own, so that allocating and
 * freeing are work in a stream like any other. When memory is short, everything that can
 * be given back is, and the error says how far that went. */
#include "gpu/cuda/cuda_internal.h"

#include <string.h>

pith_status pithp_pool_open_cuda(pithp_device *d, pithp_error *e) {
    pithp_cuda_device *state = pithp_cuda_device_of(d);
    struct cudaMemPoolProps props;
    memset(&props, 0, sizeof props); /* reserved members must be zero */
    props.allocType = cudaMemAllocationTypePinned;
    props.handleTypes = cudaMemHandleTypeNone;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = state->ordinal;
    cudaError_t code = cudaMemPoolCreate(&state->pool, &props);
    if (code != cudaSuccess)
        return pithp_cuda_fail(d, code, e, "cannot make a memory pool");
    uint64_t keep = UINT64_MAX; /* by default a pool gives all back at every wait */
    code = cudaMemPoolSetAttribute(state->pool, cudaMemPoolAttrReleaseThreshold, &keep);
    if (code != cudaSuccess) {
        pithp_pool_close_cuda(d);
        return pithp_cuda_fail(d, code, e, "cannot set up a memory pool");
    }
    return PITH_OK;
}

void pithp_pool_close_cuda(pithp_device *d) {
    pithp_cuda_device *state = pithp_cuda_device_of(d);
    if (state->pool && !atomic_load(&d->dead)) {
        (void)cudaMemPoolDestroy(state->pool);
        (void)cudaGetLastError();
    }
    state->pool = NULL;
}

static uint64_t pool_attribute(const pithp_cuda_device *state,
                               enum cudaMemPoolAttr which) {
    uint64_t value = 0;
    if (cudaMemPoolGetAttribute(state->pool, which, &value) != cudaSuccess) {
        (void)cudaGetLastError();
        return 0;
    }
    return value;
}

/* Wait for frees that are enqueued anywhere, then hand back what the pool and graphs
 * keep. */
static pith_status make_room(pithp_device *d, uint64_t *trimmed, pithp_error *e) {
    pithp_cuda_device *state = pithp_cuda_device_of(d);
    const cudaError_t code = cudaDeviceSynchronize();
    if (code != cudaSuccess)
        return pithp_cuda_fail_waiting(d, code, e);
    const uint64_t before = pool_attribute(state, cudaMemPoolAttrReservedMemCurrent);
    if (cudaMemPoolTrimTo(state->pool, 0) != cudaSuccess ||
        cudaDeviceGraphMemTrim(state->ordinal) != cudaSuccess)
        (void)cudaGetLastError(); /* the retry tells */
    const uint64_t after = pool_attribute(state, cudaMemPoolAttrReservedMemCurrent);
    *trimmed = before > after ? before - after : 0;
    return PITH_OK;
}

static void
say_short(const pithp_device *d, size_t bytes, uint64_t trimmed, pithp_error *e) {
    const pithp_cuda_device *state = pithp_cuda_device_of(d);
    size_t free_bytes = 0, total = state->total;
    if (cudaMemGetInfo(&free_bytes, &total) != cudaSuccess)
        (void)cudaGetLastError();
    pithp_error_set(
        e, PITH_E_MEMORY, NULL, NULL,
        "out of memory on cuda:%d (%s): %zu bytes asked for, %zu held by arrays, %zu of "
        "%zu free on the device, after waiting for the device, trimming the pool (%llu "
        "bytes given back) and one retry",
        state->ordinal, d->name, bytes, atomic_load(&d->live), free_bytes, total,
        (unsigned long long)trimmed);
}

static void *take(pithp_stream *st, size_t bytes, pithp_error *e) {
    pithp_device *d = st->device;
    pithp_cuda_device *state = pithp_cuda_device_of(d);
    const cudaStream_t queue = pithp_cuda_stream_of(st)->queue;
    void *data = NULL;
    uint64_t trimmed = 0;
    cudaError_t code = cudaMallocFromPoolAsync(&data, bytes, state->pool, queue);
    if (code == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        if (make_room(d, &trimmed, e) != PITH_OK)
            return NULL;
        code = cudaMallocFromPoolAsync(&data, bytes, state->pool, queue);
        if (code == cudaErrorMemoryAllocation) {
            (void)cudaGetLastError();
            say_short(d, bytes, trimmed, e);
            return NULL;
        }
    }
    if (code != cudaSuccess) {
        pithp_cuda_fail(d, code, e, "cannot allocate %zu bytes", bytes);
        return NULL;
    }
    return data;
}

void *pithp_allocate_cuda(pithp_stream *st, size_t bytes, pithp_error *e) {
    int previous;
    if (pithp_cuda_enter(st->device, &previous, e) != PITH_OK)
        return NULL;
    void *data = take(st, bytes, e);
    pithp_cuda_leave(st->device, previous);
    return data;
}

void pithp_release_cuda(pithp_stream *st, void *data, size_t bytes) {
    pithp_device *d = st->device;
    pithp_error e;
    int previous;
    if (!data)
        return;
    if (pithp_cuda_enter(d, &previous, &e) != PITH_OK)
        return; /* a dead device has no memory to give back */
    const cudaError_t code = cudaFreeAsync(data, pithp_cuda_stream_of(st)->queue);
    if (code != cudaSuccess) {
        pithp_cuda_fail(d, code, &e, "cannot free %zu bytes", bytes);
        pithp_log(d->runtime, PITH_LOG_ERROR, "%s", e.message);
    }
    pithp_cuda_leave(d, previous);
}

void pithp_memory_cuda(const pithp_device *d, pith_memory_info *info) {
    const pithp_cuda_device *state = pithp_cuda_device_of(d);
    int previous;
    info->total = state->total;
    if (atomic_load(&d->dead) || pithp_cuda_make_current(d, &previous) != cudaSuccess)
        return;
    info->pool = (size_t)pool_attribute(state, cudaMemPoolAttrReservedMemCurrent);
    pithp_cuda_leave(d, previous);
}
