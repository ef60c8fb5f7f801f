/* Within gpu only: buffers that are kept for reuse, with their data. */
#ifndef PITH_GPU_CACHE_H
#define PITH_GPU_CACHE_H

#include "gpu/memory/ledger.h"
#include "gpu/memory/size_class.h"

/* What the manager alone knows of a buffer: every buffer is the first member of one. */
typedef struct pithp_buffer_record {
    pithp_buffer buffer;
    atomic_bool held;                  /* between its making and its end */
    struct pithp_allocator *allocator; /* of the data; NULL: the pool */
#ifndef NDEBUG
    _Atomic(const char *) site; /* of the call that made it; or NULL */
#endif
} pithp_buffer_record;
static inline pithp_buffer_record *pithp_buffer_record_of(const pithp_buffer *b) {
    return (pithp_buffer_record *)(uintptr_t)b;
}

struct pithp_cache_chunk;

/* Guarded by the ledger's lock. */
typedef struct pithp_cache {
    size_t small, small_most; /* bytes kept, and at most: of buffers that every device
                                 keeps */
    size_t large, large_most; /* of larger ones */
    pithp_buffer *spare;      /* without data */
    struct pithp_cache_chunk *chunks;
    pithp_buffer *classes[PITHP_CACHED_CLASSES];
} pithp_cache;

/* ---- The lock is held ---- */

/* A buffer with data of its class, and room for the bytes; NULL where none is kept. */
static inline pithp_buffer *pithp_cache_take(pithp_cache *c, int class, size_t bytes) {
    pithp_buffer *b = c->classes[class];
    if (PITHP_UNLIKELY(!b || b->room < bytes))
        return NULL;
    c->classes[class] = b->next;
    *(b->room <= PITHP_CACHED_MOST ? &c->small : &c->large) -= b->room;
    return b;
}

/* Keep a buffer with its data; false where enough is kept already. */
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

/* All large ones, linked. */
pithp_buffer *pithp_cache_take_large(pithp_cache *c);

/* ---- The lock is not held ---- */

/* A buffer without data, its stream set; NULL when memory is short. Any thread. */
pithp_buffer *pithp_cache_struct(pithp_stream *st);
void pithp_cache_struct_back(pithp_buffer *b);
/* Give the data of linked buffers back to where they came from. */
void pithp_cache_give(pithp_buffer *first);
/* Call `see` with every buffer that is held. */
void pithp_cache_each(pithp_device *d,
                      void (*see)(const pithp_buffer_record *r, void *closure),
                      void *closure);
/* Give the data of all that is kept back to where it came from. Any thread. */
void pithp_caches_trim(pithp_device *d);
/* Keep so many bytes of the device for reuse at most, a part of which is the backend's
 * pool's; SIZE_MAX: no bound of the user's. Any thread. */
void pithp_caches_bound(pithp_device *d, size_t keep);

#endif
