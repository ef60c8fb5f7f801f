/* Private interface of gpu: settings of a backend's pool, and memory outside it. */
#ifndef PITH_GPU_BACKEND_POOL_H
#define PITH_GPU_BACKEND_POOL_H

#include "gpu/gpu_internal.h"

/* May be called from any thread. */
typedef struct pithp_pool_ops {
    /* Keep at most this many bytes for reuse, 0: no limit. reproducible: reuse depends
     * only on program order. */
    void (*set)(pithp_device *d, size_t keep, bool reproducible);
    /* Memory outside the pool and without stream order: freed when no work uses it. */
    void *(*allocate_plain)(pithp_device *d, size_t bytes, pithp_error *e);
    void (*release_plain)(pithp_device *d, void *data, size_t bytes);
} pithp_pool_ops;

extern const pithp_pool_ops pithp_pool_ops_host;
/* NULL if the library was built without CUDA. */
extern const pithp_pool_ops *const pithp_pool_ops_cuda;

/* Of the backend that opened the device, or NULL. */
static inline const pithp_pool_ops *pithp_pool_ops_of(const pithp_device *d) {
    if (d->backend->open == pithp_backend_host.open)
        return &pithp_pool_ops_host;
    return pithp_backend_cuda && d->backend->open == pithp_backend_cuda->open
               ? pithp_pool_ops_cuda
               : NULL;
}

#endif
