/* Within gpu only: what a backend can do about its pool besides allocating from it. */
#ifndef PITH_GPU_BACKEND_POOL_H
#define PITH_GPU_BACKEND_POOL_H

#include "gpu/gpu_internal.h"

/* Any thread. */
typedef struct pithp_pool_ops {
    /* Keep so many bytes for reuse at most, 0: all; reproducible: let the order of the
     * program alone say what is reused. */
    void (*set)(pithp_device *d, size_t keep, bool reproducible);
    /* Memory past the pool and past streams: returned when nothing uses it. */
    void *(*allocate_plain)(pithp_device *d, size_t bytes, pithp_error *e);
    void (*release_plain)(pithp_device *d, void *data, size_t bytes);
} pithp_pool_ops;

extern const pithp_pool_ops pithp_pool_ops_host;
/* NULL where the library was built without CUDA. */
extern const pithp_pool_ops *const pithp_pool_ops_cuda;

/* Of the backend that opened the device; NULL for one that has none. */
static inline const pithp_pool_ops *pithp_pool_ops_of(const pithp_device *d) {
    if (d->backend->open == pithp_backend_host.open)
        return &pithp_pool_ops_host;
    return pithp_backend_cuda && d->backend->open == pithp_backend_cuda->open
               ? pithp_pool_ops_cuda
               : NULL;
}

#endif
