/* Private interface of gpu: sources of buffer memory. */
#ifndef PITH_GPU_ALLOCATOR_H
#define PITH_GPU_ALLOCATOR_H

#include "pith/memory_allocator.h"

#include "gpu/gpu_internal.h"

/* A user-set allocator; NULL stands for the backend's pool. It lives until it is
 * replaced, its last block is returned, and caches are trimmed again. */
typedef struct pithp_allocator {
    pithp_device *device;
    pith_memory_allocator given;
    struct pithp_memory_arena *arena;
    int64_t blocks; /* blocks in use, plus calls in progress; guarded by allocator_lock */
    bool replaced;
    struct pithp_allocator *next; /* in the list of all allocators */
} pithp_allocator;

/* Allocate from the current allocator, for work enqueued on st from here on; *allocator:
 * where to return it. NULL sets e. Any thread. */
void *pithp_allocator_take(pithp_stream *st,
                           size_t bytes,
                           pithp_allocator **allocator,
                           pithp_error *e);
void pithp_allocator_give(pithp_stream *st,
                          pithp_allocator *allocator,
                          void *data,
                          size_t bytes);
/* Take the list of replaced allocators without blocks in use. Free them after the work
 * enqueued so far, which may still access their memory. */
pithp_allocator *pithp_allocators_take_dead(pithp_device *d);
void pithp_allocators_free(pithp_allocator *first);
/* Adjust the backend's memory numbers for the allocator. */
void pithp_allocator_info(pithp_device *d, pith_memory_info *info);
/* Free everything when the runtime closes. */
void pithp_allocators_close(pithp_device *d);

/* ---- Arenas (arena.c) ---- */

typedef struct pithp_memory_arena pithp_memory_arena;

pithp_memory_arena *
pithp_memory_arena_make(pithp_device *d, size_t bytes, pithp_error *e);
void pithp_memory_arena_free(pithp_memory_arena *a);
void *pithp_memory_arena_take(pithp_memory_arena *a,
                              pithp_stream *st,
                              size_t bytes,
                              pithp_error *e);
void pithp_memory_arena_give(pithp_memory_arena *a, pithp_stream *st, void *data);
size_t pithp_memory_arena_left(pithp_memory_arena *a); /* bytes */

/* Memory outside the pool (allocator.c). */
void *pithp_plain_take(pithp_device *d, size_t bytes, pithp_error *e);
void pithp_plain_give(pithp_device *d, void *data, size_t bytes);

#endif
