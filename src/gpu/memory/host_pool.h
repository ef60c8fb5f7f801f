/* Host memory pool: device memory of the host backend, in blocks aligned to
 * PITHP_ALIGNMENT. */
#ifndef PITH_GPU_HOST_POOL_H
#define PITH_GPU_HOST_POOL_H

#include "gpu/gpu_internal.h"

typedef struct pithp_host_pool pithp_host_pool;

/* most: limit of the bytes in use and cached. NULL if memory is short. */
pithp_host_pool *pithp_host_pool_make(pith_runtime *rt, size_t most);
void pithp_host_pool_free(pithp_host_pool *p);
/* Any thread. NULL if the system has no memory even after a trim, or if the limit would
 * be exceeded. */
void *pithp_host_pool_take(pithp_host_pool *p, size_t bytes);
/* Whether a block for these bytes is cached. */
bool pithp_host_pool_has(pithp_host_pool *p, size_t bytes);
void pithp_host_pool_give(pithp_host_pool *p, void *data, size_t bytes);
/* Set the limit of cached bytes in large blocks; SIZE_MAX: no limit. */
void pithp_host_pool_set_keep(pithp_host_pool *p, size_t keep);
/* Return cached large blocks to the allocator. */
void pithp_host_pool_trim(pithp_host_pool *p);
/* Bytes allocated, in use or cached. */
size_t pithp_host_pool_reserved(pithp_host_pool *p);
/* Bytes in use, in units of the alignment, and cached: those that count against the
 * limit. */
size_t pithp_host_pool_held(pithp_host_pool *p);

#endif
