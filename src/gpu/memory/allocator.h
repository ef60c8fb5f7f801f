/* Within gpu only: where the data of buffers come from. */
#ifndef PITH_GPU_ALLOCATOR_H
#define PITH_GPU_ALLOCATOR_H

#include "pith/memory_allocator.h"

#include "gpu/gpu_internal.h"

/* An allocator that was set; NULL stands for the backend's pool. It lives until it is
 * replaced, its last block has come back, and all is trimmed once more. */
typedef struct pithp_allocator {
    pithp_device *device;
    pith_memory_allocator given;
    struct pithp_memory_arena *arena;
    int64_t blocks; /* handed out, and calls in progress; guarded by allocator_lock */
    bool replaced;
    struct pithp_allocator *next; /* of all there are */
} pithp_allocator;

/* Memory for work enqueued on st from here on, from what is set now; *allocator gets
 * where it goes back to. NULL with e set. Any thread. */
void *pithp_allocator_take(pithp_stream *st,
                           size_t bytes,
                           pithp_allocator **allocator,
                           pithp_error *e);
void pithp_allocator_give(pithp_stream *st,
                          pithp_allocator *allocator,
                          void *data,
                          size_t bytes);
/* Those that were replaced and have all blocks back, linked; to be freed after the work
 * that is enqueued now: it may still touch their memory. */
pithp_allocator *pithp_allocators_take_dead(pithp_device *d);
void pithp_allocators_free(pithp_allocator *first);
/* What it changes about the backend's numbers. */
void pithp_allocator_info(pithp_device *d, pith_memory_info *info);
/* The runtime closes. */
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

/* Memory past the pool (allocator.c). */
void *pithp_plain_take(pithp_device *d, size_t bytes, pithp_error *e);
void pithp_plain_give(pithp_device *d, void *data, size_t bytes);

#endif
