/* Private interface of gpu: cache of free buffers with their memory. */
#ifndef PITH_GPU_CACHE_H
#define PITH_GPU_CACHE_H

#include "gpu/memory/ledger.h"
#include "gpu/memory/size_class.h"

/* Memory manager's state of a buffer; every buffer is the first member of one. */
typedef struct pithp_buffer_record {
    pithp_buffer buffer;
    atomic_bool held;                  /* true while the buffer is in use */
    struct pithp_allocator *allocator; /* source of the memory; NULL: the pool */
#ifndef NDEBUG
    _Atomic(const char *) site; /* call site that made it, or NULL */
#endif
} pithp_buffer_record;
static inline pithp_buffer_record *pithp_buffer_record_of(const pithp_buffer *b) {
    return (pithp_buffer_record *)(uintptr_t)b;
}

struct pithp_cache_chunk;

/* The lock of the ledger guards it. */
typedef struct pithp_cache {
    size_t small, small_most; /* bytes in the cache, and the limit: of small buffers,
                                 which every device keeps */
    size_t large, large_most; /* of large buffers */
    pithp_buffer *spare;      /* buffer structs without memory */
    struct pithp_cache_chunk *chunks;
    pithp_buffer *classes[PITHP_CACHED_CLASSES];
} pithp_cache;

/* ---- The lock of the ledger is held ---- */

/* A cached buffer of the class with room for the bytes, or NULL. */
static inline pithp_buffer *pithp_cache_take(pithp_cache *c, int class, size_t bytes) {
    pithp_buffer *b = c->classes[class];
    if (PITHP_UNLIKELY(!b || b->room < bytes))
        return NULL;
    c->classes[class] = b->next;
    *(b->room <= PITHP_CACHED_MOST ? &c->small : &c->large) -= b->room;
    return b;
}

/* Put a buffer with its memory into the cache. Returns false if the cache is full. */
static inline bool pithp_cache_keep(pithp_cache *c, pithp_buffer *b) {
    const bool is_small = b->room <= PITHP_CACHED_MOST;
    size_t *kept = is_small ? &c->small : &c->large;
    if (PITHP_UNLIKELY(*kept + b->room > (is_small ? c->small_most : c->large_most)))
        return false;
    *kept += b->room;
    b->next = c->classes[b->class];
    c->classes[b->class] = b;
    return true;
}

/* Take all large buffers, linked. */
pithp_buffer *pithp_cache_take_large(pithp_cache *c);

/* ---- The lock of the ledger is not held ---- */

/* A buffer struct without memory, with its stream set; NULL if memory is short. Any
 * thread. */
pithp_buffer *pithp_cache_struct(pithp_stream *st);
void pithp_cache_struct_back(pithp_buffer *b);
/* Return the memory of linked buffers to its source. */
void pithp_cache_give(pithp_buffer *first);
/* Call `see` for every buffer in use. */
void pithp_cache_each(pithp_device *d,
                      void (*see)(const pithp_buffer_record *r, void *closure),
                      void *closure);
/* Return all cached memory to its source. Any thread. */
void pithp_caches_trim(pithp_device *d);
/* Set the limit of cached bytes per device, a part of which is for the backend's pool;
 * SIZE_MAX: no limit. Any thread. */
void pithp_caches_bound(pithp_device *d, size_t keep);

#endif
