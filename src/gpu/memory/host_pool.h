/* Memory of the host as device memory: blocks aligned to PITHP_ALIGNMENT, kept for reuse.
 */
#ifndef PITH_GPU_HOST_POOL_H
#define PITH_GPU_HOST_POOL_H

#include "gpu/gpu_internal.h"

typedef struct pithp_host_pool pithp_host_pool;

/* Of at most that many bytes in use and kept. NULL when memory is short. */
pithp_host_pool *pithp_host_pool_make(pith_runtime *rt, size_t most);
void pithp_host_pool_free(pithp_host_pool *p);
/* Any thread. NULL when the system's memory is short, after the pool was trimmed, or when
 * the pool's own most would be exceeded, before it is. */
void *pithp_host_pool_take(pithp_host_pool *p, size_t bytes);
void pithp_host_pool_give(pithp_host_pool *p, void *data, size_t bytes);
/* Keep so many bytes of large blocks at most; SIZE_MAX: no bound of the user's. */
void pithp_host_pool_set_keep(pithp_host_pool *p, size_t keep);
/* Give blocks kept for reuse back to the allocator, but for the smallest. */
void pithp_host_pool_trim(pithp_host_pool *p);
/* Bytes taken from the allocator, in use or not. */
size_t pithp_host_pool_reserved(pithp_host_pool *p);
/* Bytes in use, in units of the alignment, and kept: what counts for the most. */
size_t pithp_host_pool_held(pithp_host_pool *p);

#endif
