/* Block allocator: 64 KiB-aligned regions for scopes and objects, and a table from
 * address to region. Freed single blocks are reused first in, first out, so that stale
 * pointers stay recognisable for as long as possible. */
#include "base/base_internal.h"
#include "base/private.h"

#include <stdlib.h>
#include <string.h>

#ifdef PITH_DEBUG
enum {
    CACHE_LEAST = 256
}; /* quarantine: at least this many blocks are freed before one is reused */
#else
enum { CACHE_LEAST = 8 };
#endif
enum { CACHE_MOST = CACHE_LEAST + 256 };
/* Limits of the free list of multi-block regions: count and total bytes. */
enum { REGIONS_MOST = 32 };
static const size_t region_bytes_most = (size_t)64 << 20;

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

/* ---- Memory of the process ---- */

static pithp_block *permanent; /* guarded by table_lock */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool ends; /* destructors have started */

static __attribute__((destructor)) void note_end(void) {
    ends = true;
}

/* At the end of a process other threads may still read the table, so it stays. An
 * unloaded library, such as a plugin with the archive in it, has no such threads. atexit
 * functions run before destructors at process exit, and after them in dlclose. */
static void free_all(void) {
    if (!ends)
        return;
    for (size_t top = 0; top < (size_t)1 << TOP_BITS; top++)
        free(atomic_load_explicit(&pithp_block_table[top], memory_order_relaxed));
    while (permanent) {
        pithp_block *next = permanent->next;
        free(permanent);
        permanent = next;
    }
}

static void prepare(void) {
    atexit(free_all);
}

/* Allocate the table leaves for the entries of a region. */
static bool ensure_leaves(uintptr_t first, size_t count) {
    for (uintptr_t top = first >> LEAF_BITS; top <= (first + count - 1) >> LEAF_BITS;
         top++) {
        if (top >> TOP_BITS)
            return false;
        if (atomic_load_explicit(&pithp_block_table[top], memory_order_acquire))
            continue;
        pthread_once(&once, prepare);
        pithp_block_leaf *leaf = calloc(1, sizeof *leaf);
        if (!leaf)
            return false;
        pithp_block_leaf *expected = NULL;
        if (!atomic_compare_exchange_strong(&pithp_block_table[top], &expected, leaf))
            free(leaf);
    }
    return true;
}

static inline void mark_one(uintptr_t block, uint32_t entry) {
    atomic_store_explicit(
        &leaf_of(block)->entry[block & (((uintptr_t)1 << LEAF_BITS) - 1)], entry,
        memory_order_release);
}

static inline void mark(const pithp_block *block, pithp_block_state state) {
    const uintptr_t first = (uintptr_t)block >> BLOCK_BITS;
    const uint32_t live = state == PITHP_BLOCK_LIVE;
    mark_one(first, state == PITHP_BLOCK_NONE ? 0 : 1u << 1 | live);
    for (size_t i = 1; i < block->bytes / PITHP_BLOCK_BYTES; i++)
        mark_one(first + i,
                 state == PITHP_BLOCK_NONE ? 0 : ((uint32_t)i + 1) << 1 | live);
}

static pithp_block *take_cached(pith_runtime *rt) {
    pithp_block *block = NULL;
    pithp_biased_lock_take(&rt->blocks);
    if (rt->cached_count > CACHE_LEAST) {
        block = rt->cached_first;
        rt->cached_first =
            block->next; /* the list stays non-empty, so cached_last stays valid */
        rt->cached_count--;
    }
    pithp_biased_lock_release(&rt->blocks);
    return block;
}

/* Best fit: the smallest free region that fits and is at most twice as large. */
static pithp_block *take_region(pith_runtime *rt, size_t bytes) {
    pithp_block *best = NULL, *before_best = NULL;
    pthread_mutex_lock(&rt->lock);
    for (pithp_block *block = rt->region_first, *before = NULL; block;
         before = block, block = block->next)
        if (block->bytes >= bytes && block->bytes / 2 <= bytes &&
            (!best || block->bytes < best->bytes))
            best = block, before_best = before;
    if (best) {
        *(before_best ? &before_best->next : &rt->region_first) = best->next;
        if (rt->region_last == best)
            rt->region_last = before_best;
        rt->region_count--;
        rt->region_bytes -= best->bytes;
    }
    pthread_mutex_unlock(&rt->lock);
    return best;
}

pithp_block *pithp_block_acquire(pith_runtime *rt, size_t bytes) {
    size_t rounded;
    if (pithp_add_overflows(bytes, PITHP_BLOCK_BYTES - 1, &rounded))
        return NULL;
    rounded &= ~(PITHP_BLOCK_BYTES - 1);
    pithp_block *block =
        rounded == PITHP_BLOCK_BYTES ? take_cached(rt) : take_region(rt, rounded);
    if (!block) {
        block = pithp_allocate_aligned(rt, rounded, PITHP_BLOCK_BYTES);
        if (!block)
            return NULL;
        if (!ensure_leaves((uintptr_t)block >> BLOCK_BITS, rounded / PITHP_BLOCK_BYTES)) {
            pithp_release_aligned(rt, block, rounded, PITHP_BLOCK_BYTES);
            return NULL;
        }
        *block = (pithp_block){.runtime = rt, .bytes = rounded};
    } else {
        block->owner = NULL;
        block->next = NULL;
    }
    mark(block, PITHP_BLOCK_LIVE);
    return block;
}

static void release(pith_runtime *rt, pithp_block *block) {
    mark(block, PITHP_BLOCK_NONE);
    pithp_release_aligned(rt, block, block->bytes, PITHP_BLOCK_BYTES);
}

/* Releases the oldest regions if the free list is over its limits. */
static void free_region(pith_runtime *rt, pithp_block *block) {
    if (block->bytes > region_bytes_most / 2) {
        release(rt, block);
        return;
    }
    mark(block, PITHP_BLOCK_FREED);
    block->next = NULL;
    pithp_block *surplus = NULL;
    pthread_mutex_lock(&rt->lock);
    *(rt->region_last ? &rt->region_last->next : &rt->region_first) = block;
    rt->region_last = block;
    rt->region_count++;
    rt->region_bytes += block->bytes;
    while (rt->region_count > REGIONS_MOST || rt->region_bytes > region_bytes_most) {
        pithp_block *oldest = rt->region_first;
        rt->region_first = oldest->next;
        rt->region_count--;
        rt->region_bytes -= oldest->bytes;
        oldest->next = surplus;
        surplus = oldest;
    }
    pthread_mutex_unlock(&rt->lock);
    while (surplus) {
        pithp_block *next = surplus->next;
        release(rt, surplus);
        surplus = next;
    }
}

void pithp_block_free(pith_runtime *rt, pithp_block *block) {
    if (block->bytes != PITHP_BLOCK_BYTES) {
        free_region(rt, block);
        return;
    }
    mark(block, PITHP_BLOCK_FREED);
    block->next = NULL;
    pithp_block *surplus = NULL;
    pithp_biased_lock_take(&rt->blocks);
    *(rt->cached_count++ ? &rt->cached_last->next : &rt->cached_first) = block;
    rt->cached_last = block;
    if (PITHP_UNLIKELY(rt->cached_count > CACHE_MOST)) {
        surplus = rt->cached_first;
        rt->cached_first = surplus->next;
        rt->cached_count--;
    }
    pithp_biased_lock_release(&rt->blocks);
    if (surplus)
        release(rt, surplus);
}

void pithp_block_cache_free(pith_runtime *rt) {
    while (rt->cached_first) {
        pithp_block *block = rt->cached_first;
        rt->cached_first = block->next;
        release(rt, block);
    }
    rt->cached_count = 0;
    while (rt->region_first) {
        pithp_block *block = rt->region_first;
        rt->region_first = block->next;
        release(rt, block);
    }
    rt->region_last = NULL;
    rt->region_count = 0;
    rt->region_bytes = 0;
}

/* ---- Scratch and permanent memory ---- */

enum { LEAST_SCRATCH_REGION = 32768 };

void *pithp_scratch_allocate(pith_runtime *rt, size_t bytes) {
    size_t region;
    if (bytes < LEAST_SCRATCH_REGION)
        return pithp_allocate(rt, bytes);
    if (pithp_add_overflows(bytes, sizeof(pithp_block), &region))
        return NULL;
    pithp_block *block = pithp_block_acquire(rt, region);
    return block ? block + 1 : NULL;
}

void pithp_scratch_release(pith_runtime *rt, void *memory, size_t bytes) {
    if (bytes < LEAST_SCRATCH_REGION || !memory)
        pithp_release(rt, memory, bytes);
    else
        pithp_block_free(rt, (pithp_block *)memory - 1);
}

static size_t kept_bytes(size_t bytes) {
    return bytes < LEAST_SCRATCH_REGION ? LEAST_SCRATCH_REGION : bytes;
}

void *pithp_kept_allocate(pith_runtime *rt, size_t bytes) {
    return pithp_scratch_allocate(rt, kept_bytes(bytes));
}

void pithp_kept_release(pith_runtime *rt, void *memory, size_t bytes) {
    if (memory)
        pithp_scratch_release(rt, memory, kept_bytes(bytes));
}

/* Bump allocator over blocks that live until the process ends. */
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
        *(pithp_block *)p = (pithp_block){.bytes = region, .next = permanent};
        permanent = p;
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
