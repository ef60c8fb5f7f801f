/* CUDA device memory: a stream-ordered pool per device, so that allocating and freeing
 * are stream operations. Freed memory stays in the pool until a trim. */
#include "gpu/cuda/cuda_internal.h"
#include "gpu/memory/backend_pool.h"

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
    uint64_t keep = UINT64_MAX; /* by default a pool releases its free memory at every
                                   synchronisation */
    code = cudaMemPoolSetAttribute(state->pool, cudaMemPoolAttrReleaseThreshold, &keep);
    if (code != cudaSuccess) {
        pithp_pool_close_cuda(d);
        return pithp_cuda_fail(d, code, e, "cannot set up a memory pool");
    }
    return PITH_OK;
}

void pithp_pool_close_cuda(pithp_device *d) {
    pithp_cuda_device *state = pithp_cuda_device_of(d);
    pithp_error ignored; /* a dead device has no pool */
    pithp_caller caller;
    if (state->pool && pithp_cuda_enter(d, &caller, &ignored) == PITH_OK) {
        pithp_cuda_forget(cudaMemPoolDestroy(state->pool));
        pithp_cuda_leave(d, &caller);
    }
    state->pool = NULL;
}

static uint64_t pool_attribute(const pithp_cuda_device *state,
                               enum cudaMemPoolAttr which) {
    uint64_t value = 0;
    const cudaError_t code = cudaMemPoolGetAttribute(state->pool, which, &value);
    pithp_cuda_forget(code);
    return code == cudaSuccess ? value : 0;
}

static void say_short(const pithp_device *d, size_t bytes, pithp_error *e) {
    const pithp_cuda_device *state = pithp_cuda_device_of(d);
    size_t free_bytes = 0, total = state->total;
    pithp_cuda_forget(cudaMemGetInfo(&free_bytes, &total));
    pithp_error_set(e, PITH_E_MEMORY, NULL, NULL,
                    "out of memory on cuda:%d (%s): %zu bytes requested, %zu "
                    "of %zu free on the device and %zu in the pool",
                    state->ordinal, d->name, bytes, free_bytes, total,
                    (size_t)pool_attribute(state, cudaMemPoolAttrReservedMemCurrent));
}

void *pithp_allocate_cuda(pithp_stream *st, size_t bytes, pithp_error *e) {
    pithp_caller caller;
    if (pithp_cuda_enter(st->device, &caller, e) != PITH_OK)
        return NULL;
    void *data = NULL;
    const cudaError_t code =
        cudaMallocFromPoolAsync(&data, bytes, pithp_cuda_device_of(st->device)->pool,
                                pithp_cuda_stream_of(st)->queue);
    if (code == cudaErrorMemoryAllocation) {
        pithp_cuda_forget(code);
        say_short(st->device, bytes, e);
    } else if (code != cudaSuccess) {
        pithp_cuda_fail(st->device, code, e, "cannot allocate %zu bytes", bytes);
    }
    pithp_cuda_leave(st->device, &caller);
    return code == cudaSuccess ? data : NULL;
}

/* Enter the device to free memory; memory and streams know their device, so a failure to
 * make it current is ignored. Returns false if the device is dead: it has no memory to
 * free. */
static bool enter_to_release(pithp_device *d, pithp_caller *caller) {
    pithp_error ignored;
    (void)pithp_cuda_enter(d, caller, &ignored);
    return !atomic_load(&d->dead);
}

void pithp_release_cuda(pithp_stream *st, void *data, size_t bytes) {
    pithp_device *d = st->device;
    pithp_error e;
    pithp_caller caller;
    if (!data || !enter_to_release(d, &caller))
        return;
    const cudaError_t code = cudaFreeAsync(data, pithp_cuda_stream_of(st)->queue);
    if (code != cudaSuccess) {
        pithp_cuda_fail(d, code, &e, "cannot free %zu bytes", bytes);
        pithp_log(d->runtime, PITH_LOG_ERROR, "%s", e.message);
    }
    pithp_cuda_leave(d, &caller);
}

/* The caller has waited for the streams, so that memory freed on them is in the pool. */
void pithp_trim_cuda(pithp_device *d) {
    const pithp_cuda_device *state = pithp_cuda_device_of(d);
    pithp_error ignored; /* the next allocation reports the error */
    pithp_caller caller;
    if (pithp_cuda_enter(d, &caller, &ignored) != PITH_OK)
        return;
    pithp_cuda_forget(cudaMemPoolTrimTo(state->pool, 0));
    pithp_cuda_forget(cudaDeviceGraphMemTrim(state->ordinal));
    pithp_cuda_leave(d, &caller);
}

void pithp_memory_cuda(const pithp_device *d, pith_memory_info *info) {
    const pithp_cuda_device *state = pithp_cuda_device_of(d);
    pithp_caller caller;
    size_t free_bytes = 0, total = 0;
    info->total = state->total;
    if (atomic_load(&d->dead) || pithp_cuda_make_current(d, &caller) != cudaSuccess)
        return;
    pithp_cuda_forget(cudaMemGetInfo(&free_bytes, &total));
    info->free = free_bytes;
    info->pool = (size_t)pool_attribute(state, cudaMemPoolAttrReservedMemCurrent);
    pithp_cuda_leave(d, &caller);
}

/* Mapped and pinned memory are the same allocation, so the device address costs
 * nothing. */
void *pithp_pin_cuda(pithp_device *d, size_t bytes, void **mapped, pithp_error *e) {
    pithp_caller caller;
    void *data = NULL;
    if (pithp_cuda_enter(d, &caller, e) != PITH_OK)
        return NULL;
    cudaError_t code = cudaHostAlloc(&data, bytes ? bytes : 1,
                                     cudaHostAllocMapped | cudaHostAllocPortable);
    if (code == cudaSuccess)
        code = cudaHostGetDevicePointer(mapped, data, 0);
    if (code != cudaSuccess) {
        pithp_cuda_fail(d, code, e, "cannot pin %zu bytes of host memory", bytes);
        if (data)
            pithp_cuda_forget(cudaFreeHost(data));
        data = NULL;
    }
    pithp_cuda_leave(d, &caller);
    return data;
}

void pithp_unpin_cuda(pithp_device *d, void *data, size_t bytes) {
    pithp_caller caller;
    (void)bytes;
    if (!enter_to_release(d, &caller))
        return;
    pithp_cuda_forget(cudaFreeHost(data));
    pithp_cuda_leave(d, &caller);
}

/* ---- Settings ---- */

static void
set_attribute(const pithp_cuda_device *state, enum cudaMemPoolAttr which, void *value) {
    pithp_cuda_forget(cudaMemPoolSetAttribute(state->pool, which, value));
}

static void set_pool_cuda(pithp_device *d, size_t keep, bool reproducible) {
    const pithp_cuda_device *state = pithp_cuda_device_of(d);
    pithp_error ignored;
    pithp_caller caller;
    uint64_t most = keep ? keep : UINT64_MAX;
    int reuse = !reproducible; /* reuse that depends on the timing of the device */
    if (pithp_cuda_enter(d, &caller, &ignored) != PITH_OK)
        return;
    set_attribute(state, cudaMemPoolAttrReleaseThreshold, &most);
    set_attribute(state, cudaMemPoolReuseAllowOpportunistic, &reuse);
    set_attribute(state, cudaMemPoolReuseAllowInternalDependencies, &reuse);
    pithp_cuda_leave(d, &caller);
}

static void *allocate_plain_cuda(pithp_device *d, size_t bytes, pithp_error *e) {
    void *data = NULL;
    pithp_caller caller;
    if (pithp_cuda_enter(d, &caller, e) != PITH_OK)
        return NULL;
    const cudaError_t code = cudaMalloc(&data, bytes);
    if (code == cudaErrorMemoryAllocation) {
        pithp_cuda_forget(code);
        say_short(d, bytes, e);
    } else if (code != cudaSuccess) {
        pithp_cuda_fail(d, code, e, "cannot allocate %zu bytes", bytes);
    }
    pithp_cuda_leave(d, &caller);
    return code == cudaSuccess ? data : NULL;
}

static void release_plain_cuda(pithp_device *d, void *data, size_t bytes) {
    pithp_caller caller;
    (void)bytes;
    if (!enter_to_release(d, &caller))
        return;
    pithp_cuda_forget(cudaFree(data));
    pithp_cuda_leave(d, &caller);
}

static const pithp_pool_ops ops = {.set = set_pool_cuda,
                                   .allocate_plain = allocate_plain_cuda,
                                   .release_plain = release_plain_cuda};
const pithp_pool_ops *const pithp_pool_ops_cuda = &ops;
