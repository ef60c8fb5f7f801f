/* Private interface of gpu: host memory of host arrays and of pinned requests, in blocks
 * aligned to PITHP_ALIGNMENT. Freed blocks of medium size are cached. */
#ifndef PITH_GPU_HOST_BLOCK_H
#define PITH_GPU_HOST_BLOCK_H

#include "gpu/gpu_internal.h"

/* The cache, for the memory manager, which frees it; NULL if memory is short. */
struct pithp_host_pool *pithp_host_blocks_make(pith_runtime *rt);
/* Return cached blocks to the allocator. Returns their bytes. */
size_t pithp_host_blocks_trim(pithp_device *d);
/* Whether a block of this size is cached: it takes no memory from the system. */
bool pithp_host_block_is_cached(pithp_device *d, size_t bytes);
/* A block of any content; NULL if the allocator fails. Large blocks may have huge
 * pages. */
void *pithp_host_block_take(pithp_device *d, size_t bytes);
void pithp_host_block_give(pithp_device *d, void *data, size_t bytes);

#endif
