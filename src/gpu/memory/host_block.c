/* Blocks of host memory. Freed blocks of medium size stay allocated, up to a limit: the
 * kernel clears each page of a new one, which for the result of a step on host arrays
 * takes a tenth of the step. */
#include "gpu/memory/host_block.h"

#include "gpu/memory/host_pool.h"
#include "gpu/memory/manager.h"

#include <sys/mman.h>

#define CACHED_LEAST ((size_t)64 << 10) /* malloc keeps smaller blocks itself */
#define CACHED_MOST  ((size_t)16 << 20)
#define KEPT_MOST    ((size_t)64 << 20) /* of all cached blocks */
#define HUGE_BYTES   ((size_t)2 << 20)

struct pithp_host_pool *pithp_host_blocks_make(pith_runtime *rt) {
    pithp_host_pool *p = pithp_host_pool_make(rt, SIZE_MAX);
    if (p)
        pithp_host_pool_set_keep(p, KEPT_MOST);
    return p;
}

size_t pithp_host_blocks_trim(pithp_device *d) {
    const size_t before = pithp_host_pool_reserved(d->memory->host_blocks);
    pithp_host_pool_trim(d->memory->host_blocks);
    const size_t after = pithp_host_pool_reserved(d->memory->host_blocks);
    return before > after ? before - after : 0;
}

static bool may_cache(size_t bytes) {
    return bytes > CACHED_LEAST && bytes <= CACHED_MOST;
}

static size_t alignment_of(size_t bytes) {
    return bytes >= HUGE_BYTES ? HUGE_BYTES : PITHP_ALIGNMENT;
}

static void *allocate(pithp_device *d, size_t bytes) {
    void *data = pithp_allocate_aligned(d->runtime, bytes, alignment_of(bytes));
    if (data && bytes >= HUGE_BYTES) /* a hint: small pages also work */
        (void)madvise(data, bytes / HUGE_BYTES * HUGE_BYTES, MADV_HUGEPAGE);
    return data;
}

bool pithp_host_block_is_cached(pithp_device *d, size_t bytes) {
    return may_cache(bytes) && pithp_host_pool_has(d->memory->host_blocks, bytes);
}

void *pithp_host_block_take(pithp_device *d, size_t bytes) {
    if (may_cache(bytes))
        return pithp_host_pool_take(d->memory->host_blocks, bytes);
    void *data = allocate(d, bytes);
    if (data)
        return data;
    pithp_host_blocks_trim(d);
    return allocate(d, bytes);
}

void pithp_host_block_give(pithp_device *d, void *data, size_t bytes) {
    if (!may_cache(bytes)) {
        pithp_release_aligned(d->runtime, data, bytes, alignment_of(bytes));
        return;
    }
    pithp_host_pool_give(d->memory->host_blocks, data, bytes);
    if (pith_memory_allocator_kind(d->runtime) == PITH_ALLOCATOR_PLAIN)
        pithp_host_blocks_trim(d); /* tools look for uses of freed memory */
}
