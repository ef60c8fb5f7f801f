/* Memory of the host as device memory: blocks aligned to PITHP_ALIGNMENT, kept for reuse.
 */
#ifndef PITH_GPU_HOST_POOL_H
#define PITH_GPU_HOST_POOL_H

#include "gpu/gpu_internal.h"

typedef struct pithp_host_pool pithp_host_pool;

pithp_host_pool *pithp_host_pool_make(pith_runtime *rt); /* NULL when memory is short */
void pithp_host_pool_free(pithp_host_pool *p);
/* Any thread. NULL when memory is short, after the pool was trimmed. */
void *pithp_host_pool_take(pithp_host_pool *p, size_t bytes);
void pithp_host_pool_give(pithp_host_pool *p, void *data, size_t bytes);
/* Give blocks kept for reuse back to the allocator, but for the smallest. */
void pithp_host_pool_trim(pithp_host_pool *p);
/* Bytes taken from the allocator, in use or not. */
size_t pithp_host_pool_reserved(pithp_host_pool *p);

#endif
