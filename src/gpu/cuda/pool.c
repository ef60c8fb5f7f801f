/* Device memory: a stream-ordered pool of the device's own, so that allocating and
 * freeing are work in a stream like any other. What is freed stays in the pool until it
 * is trimmed. */
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

static void say_short(const pithp_device *d, size_t bytes, pithp_error *e) {
    const pithp_cuda_device *state = pithp_cuda_device_of(d);
    size_t free_bytes = 0, total = state->total;
    if (cudaMemGetInfo(&free_bytes, &total) != cudaSuccess)
        (void)cudaGetLastError();
    pithp_error_set(e, PITH_E_MEMORY, NULL, NULL,
                    "out of memory on cuda:%d (%s): %zu bytes asked for, %zu of %zu free "
                    "on the device and %zu in the pool",
                    state->ordinal, d->name, bytes, free_bytes, total,
                    (size_t)pool_attribute(state, cudaMemPoolAttrReservedMemCurrent));
}

void *pithp_allocate_cuda(pithp_stream *st, size_t bytes, pithp_error *e) {
    int previous;
    if (pithp_cuda_enter(st->device, &previous, e) != PITH_OK)
        return NULL;
    void *data = NULL;
    const cudaError_t code =
        cudaMallocFromPoolAsync(&data, bytes, pithp_cuda_device_of(st->device)->pool,
                                pithp_cuda_stream_of(st)->queue);
    if (code == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        say_short(st->device, bytes, e);
    } else if (code != cudaSuccess) {
        pithp_cuda_fail(st->device, code, e, "cannot allocate %zu bytes", bytes);
    }
    pithp_cuda_leave(st->device, previous);
    return code == cudaSuccess ? data : NULL;
}

/* Memory and streams say which device they are of: what is given back is, though that
 * does not become current. False: a dead device has no memory to give back. */
static bool enter_to_release(pithp_device *d, int *previous) {
    pithp_error ignored;
    if (pithp_cuda_enter(d, previous, &ignored) != PITH_OK)
        *previous = pithp_cuda_device_of(d)->ordinal; /* nothing to leave */
    return !atomic_load(&d->dead);
}

void pithp_release_cuda(pithp_stream *st, void *data, size_t bytes) {
    pithp_device *d = st->device;
    pithp_error e;
    int previous;
    if (!data || !enter_to_release(d, &previous))
        return;
    const cudaError_t code = cudaFreeAsync(data, pithp_cuda_stream_of(st)->queue);
    if (code != cudaSuccess) {
        pithp_cuda_fail(d, code, &e, "cannot free %zu bytes", bytes);
        pithp_log(d->runtime, PITH_LOG_ERROR, "%s", e.message);
    }
    pithp_cuda_leave(d, previous);
}

/* The streams have been waited for, so that what was freed on them is the pool's. */
void pithp_trim_cuda(pithp_device *d) {
    const pithp_cuda_device *state = pithp_cuda_device_of(d);
    pithp_error ignored; /* the allocation that follows says what is wrong */
    int previous;
    if (pithp_cuda_enter(d, &previous, &ignored) != PITH_OK)
        return;
    (void)cudaMemPoolTrimTo(state->pool, 0);
    (void)cudaDeviceGraphMemTrim(state->ordinal);
    (void)cudaGetLastError();
    pithp_cuda_leave(d, previous);
}

void pithp_memory_cuda(const pithp_device *d, pith_memory_info *info) {
    const pithp_cuda_device *state = pithp_cuda_device_of(d);
    int previous;
    size_t free_bytes = 0, total = 0;
    info->total = state->total;
    if (atomic_load(&d->dead) || pithp_cuda_make_current(d, &previous) != cudaSuccess)
        return;
    if (cudaMemGetInfo(&free_bytes, &total) != cudaSuccess)
        (void)cudaGetLastError();
    info->free = free_bytes;
    info->pool = (size_t)pool_attribute(state, cudaMemPoolAttrReservedMemCurrent);
    pithp_cuda_leave(d, previous);
}

/* Mapped and pinned memory are one: the address on the device costs nothing. */
void *pithp_pin_cuda(pithp_device *d, size_t bytes, void **mapped, pithp_error *e) {
    int previous;
    void *data = NULL;
    if (pithp_cuda_enter(d, &previous, e) != PITH_OK)
        return NULL;
    cudaError_t code = cudaHostAlloc(&data, bytes ? bytes : 1,
                                     cudaHostAllocMapped | cudaHostAllocPortable);
    if (code == cudaSuccess)
        code = cudaHostGetDevicePointer(mapped, data, 0);
    if (code != cudaSuccess) {
        pithp_cuda_fail(d, code, e, "cannot pin %zu bytes of host memory", bytes);
        (void)cudaFreeHost(data);
        data = NULL;
    }
    pithp_cuda_leave(d, previous);
    return data;
}

void pithp_unpin_cuda(pithp_device *d, void *data, size_t bytes) {
    int previous;
    (void)bytes;
    if (!enter_to_release(d, &previous))
        return;
    (void)cudaFreeHost(data);
    (void)cudaGetLastError();
    pithp_cuda_leave(d, previous);
}

/* ---- What users set ---- */

static void set_pool_cuda(pithp_device *d, size_t keep, bool reproducible) {
    const pithp_cuda_device *state = pithp_cuda_device_of(d);
    pithp_error ignored;
    int previous;
    uint64_t most = keep ? keep : UINT64_MAX;
    int reuse = !reproducible; /* of what the device happens to be done with */
    if (pithp_cuda_enter(d, &previous, &ignored) != PITH_OK)
        return;
    (void)cudaMemPoolSetAttribute(state->pool, cudaMemPoolAttrReleaseThreshold, &most);
    (void)cudaMemPoolSetAttribute(state->pool, cudaMemPoolReuseAllowOpportunistic,
                                  &reuse);
    (void)cudaMemPoolSetAttribute(state->pool, cudaMemPoolReuseAllowInternalDependencies,
                                  &reuse);
    (void)cudaGetLastError();
    pithp_cuda_leave(d, previous);
}

static void *allocate_plain_cuda(pithp_device *d, size_t bytes, pithp_error *e) {
    void *data = NULL;
    int previous;
    if (pithp_cuda_enter(d, &previous, e) != PITH_OK)
        return NULL;
    const cudaError_t code = cudaMalloc(&data, bytes);
    if (code == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        say_short(d, bytes, e);
    } else if (code != cudaSuccess) {
        pithp_cuda_fail(d, code, e, "cannot allocate %zu bytes", bytes);
    }
    pithp_cuda_leave(d, previous);
    return code == cudaSuccess ? data : NULL;
}

static void release_plain_cuda(pithp_device *d, void *data, size_t bytes) {
    int previous;
    (void)bytes;
    if (!enter_to_release(d, &previous))
        return;
    (void)cudaFree(data);
    (void)cudaGetLastError();
    pithp_cuda_leave(d, previous);
}

static const pithp_pool_ops ops = {.set = set_pool_cuda,
                                   .allocate_plain = allocate_plain_cuda,
                                   .release_plain = release_plain_cuda};
const pithp_pool_ops *const pithp_pool_ops_cuda = &ops;
