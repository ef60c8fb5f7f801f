/* Blocks: 64 KiB-aligned regions that hold scopes and objects, and the table that tells
 * for any address which region of ours holds it. Freed single blocks are kept and reused
 * first in, first out, so that a stale pointer is recognised for as long as possible. */
#include "base/base_internal.h"
#include "base/scope.h"

#include <stdlib.h>
#include <string.h>

#ifdef PITH_DEBUG
enum {
    CACHE_LEAST = 256
}; /* quarantine: no block is reused before so many others were freed */
#else
enum { CACHE_LEAST = 8 };
#endif
enum { CACHE_MOST = CACHE_LEAST + 256 };

_Atomic(pithp_block_leaf *) pithp_block_table[1 << PITHP_BLOCK_TOP_BITS];
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;

enum {
    BLOCK_BITS = PITHP_BLOCK_BITS,
    LEAF_BITS = PITHP_BLOCK_LEAF_BITS,
    TOP_BITS = PITHP_BLOCK_TOP_BITS
};

static pithp_block_leaf *leaf_of(uintptr_t block) {
    return atomic_load_explicit(&pithp_block_table[block >> LEAF_BITS],
                                memory_order_acquire);
}

/* The leaves of a region's entries; they live as long as the process. */
static bool ensure_leaves(uintptr_t first, size_t count) {
    for (uintptr_t top = first >> LEAF_BITS; top <= (first + count - 1) >> LEAF_BITS;
         top++) {
        if (top >> TOP_BITS)
            return false;
        if (atomic_load_explicit(&pithp_block_table[top], memory_order_acquire))
            continue;
        pithp_block_leaf *leaf = calloc(1, sizeof *leaf);
        if (!leaf)
            return false;
        pithp_block_leaf *expected = NULL;
        if (!atomic_compare_exchange_strong(&pithp_block_table[top], &expected, leaf))
            free(leaf);
    }
    return true;
}

static void mark(const pithp_block *block, pithp_block_state state) {
    const uintptr_t first = (uintptr_t)block >> BLOCK_BITS;
    const size_t count = block->bytes / PITHP_BLOCK_BYTES;
    for (size_t i = 0; i < count; i++) {
        const uint32_t entry = state == PITHP_BLOCK_NONE
                                   ? 0
                                   : ((uint32_t)i + 1) << 1 | (state == PITHP_BLOCK_LIVE);
        atomic_store_explicit(
            &leaf_of(first + i)->entry[(first + i) & ((1u << LEAF_BITS) - 1)], entry,
            memory_order_release);
    }
}

static pithp_block *take_cached(pith_runtime *rt) {
    pithp_block *block = NULL;
    pthread_mutex_lock(&rt->lock);
    if (rt->cached_count > CACHE_LEAST) {
        block = rt->cached_first;
        rt->cached_first = block->next;
        if (!rt->cached_first)
            rt->cached_last = NULL;
        rt->cached_count--;
    }
    pthread_mutex_unlock(&rt->lock);
    return block;
}

pithp_block *pithp_block_acquire(pith_runtime *rt, size_t bytes) {
    size_t rounded;
    if (pithp_add_overflows(bytes, PITHP_BLOCK_BYTES - 1, &rounded))
        return NULL;
    rounded &= ~(PITHP_BLOCK_BYTES - 1);
    pithp_block *block = rounded == PITHP_BLOCK_BYTES ? take_cached(rt) : NULL;
    if (!block) {
        block = pithp_allocate_aligned(rt, rounded, PITHP_BLOCK_BYTES);
        if (!block)
            return NULL;
        if (!ensure_leaves((uintptr_t)block >> BLOCK_BITS, rounded / PITHP_BLOCK_BYTES)) {
            pithp_release_aligned(rt, block, rounded, PITHP_BLOCK_BYTES);
            return NULL;
        }
    }
    *block = (pithp_block){.runtime = rt, .bytes = rounded};
    mark(block, PITHP_BLOCK_LIVE);
    return block;
}

static void release(pith_runtime *rt, pithp_block *block) {
    mark(block, PITHP_BLOCK_NONE);
    pithp_release_aligned(rt, block, block->bytes, PITHP_BLOCK_BYTES);
}

void pithp_block_free(pith_runtime *rt, pithp_block *block) {
    if (block->bytes != PITHP_BLOCK_BYTES) {
        release(rt, block);
        return;
    }
    mark(block, PITHP_BLOCK_FREED);
    block->next = NULL;
    pithp_block *surplus = NULL;
    pthread_mutex_lock(&rt->lock);
    if (rt->cached_last)
        rt->cached_last->next = block;
    else
        rt->cached_first = block;
    rt->cached_last = block;
    if (++rt->cached_count > CACHE_MOST) {
        surplus = rt->cached_first;
        rt->cached_first = surplus->next;
        rt->cached_count--;
    }
    pthread_mutex_unlock(&rt->lock);
    if (surplus)
        release(rt, surplus);
}

void pithp_block_cache_free(pith_runtime *rt) {
    while (rt->cached_first) {
        pithp_block *block = rt->cached_first;
        rt->cached_first = block->next;
        release(rt, block);
    }
    rt->cached_last = NULL;
    rt->cached_count = 0;
}

/* Blocks of the process: bump allocation, never freed. */
static char *permanent_cursor, *permanent_limit;

void *pithp_permanent(size_t bytes) {
    size_t rounded;
    if (pithp_add_overflows(bytes, 15, &rounded))
        return NULL;
    rounded &= ~(size_t)15;
    void *memory = NULL;
    pthread_mutex_lock(&table_lock);
    if ((size_t)(permanent_limit - permanent_cursor) < rounded) {
        size_t region = (rounded + sizeof(pithp_block) + PITHP_BLOCK_BYTES - 1) &
                        ~(PITHP_BLOCK_BYTES - 1);
        void *p = NULL;
        if (region < rounded || posix_memalign(&p, PITHP_BLOCK_BYTES, region) != 0)
            goto out;
        if (!ensure_leaves((uintptr_t)p >> BLOCK_BITS, region / PITHP_BLOCK_BYTES)) {
            free(p);
            goto out;
        }
        memset(p, 0, region);
        ((pithp_block *)p)->bytes = region;
        mark(p, PITHP_BLOCK_LIVE);
        permanent_cursor = (char *)p + sizeof(pithp_block);
        permanent_limit = (char *)p + region;
    }
    memory = permanent_cursor;
    permanent_cursor += rounded;
out:
    pthread_mutex_unlock(&table_lock);
    return memory;
}

const char *pithp_pointer_text(pithp_pointer verdict) {
    switch (verdict) {
        case PITHP_POINTER_OK:
            return "a live object";
        case PITHP_POINTER_NULL:
            return "NULL";
        case PITHP_POINTER_FOREIGN:
            return "not frozen, or not an object of pith";
        case PITHP_POINTER_FREED:
            return "freed: its scope is closed";
        case PITHP_POINTER_NO_OBJECT:
            return "not an object: it points inside other memory of pith";
        case PITHP_POINTER_DROPPED:
            return "dropped";
    }
    return "not an object";
}
