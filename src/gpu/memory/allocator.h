/* Within gpu only: where the data of buffers come from. */
#ifndef PITH_GPU_SOURCE_H
#define PITH_GPU_SOURCE_H

#include "pith/memory_allocator.h"

#include "gpu/gpu_internal.h"

/* An allocator that was set; NULL stands for the backend's pool. It lives until it is
 * replaced, its last block has come back, and all is trimmed once more. */
typedef struct pithp_source {
    pithp_device *device;
    pith_memory_allocator given;
    struct pithp_arena *arena;
    int64_t blocks; /* handed out, and calls in progress; guarded by source_lock */
    bool replaced;
    struct pithp_source *next; /* of all there are */
} pithp_source;

/* Memory for work enqueued on st from here on, from what is set now; *source gets where
 * it goes back to. NULL with e set. Any thread. */
void *
pithp_source_take(pithp_stream *st, size_t bytes, pithp_source **source, pithp_error *e);
void pithp_source_give(pithp_stream *st, pithp_source *source, void *data, size_t bytes);
/* Those that were replaced and have all blocks back, linked; to be freed after the work
 * that is enqueued now: it may still touch their memory. */
pithp_source *pithp_sources_take_dead(pithp_device *d);
void pithp_sources_free(pithp_source *first);
/* What it changes about the backend's numbers. */
void pithp_source_info(pithp_device *d, pith_memory_info *info);
/* The runtime closes. */
void pithp_sources_close(pithp_device *d);

/* ---- Arenas (arena.c) ---- */

typedef struct pithp_arena pithp_arena;

pithp_arena *pithp_arena_make(pithp_device *d, size_t bytes, pithp_error *e);
void pithp_arena_free(pithp_arena *a);
void *pithp_arena_take(pithp_arena *a, pithp_stream *st, size_t bytes, pithp_error *e);
void pithp_arena_give(pithp_arena *a, pithp_stream *st, void *data);
size_t pithp_arena_left(pithp_arena *a); /* bytes */

/* Memory past the pool (allocator.c). */
void *pithp_plain_take(pithp_device *d, size_t bytes, pithp_error *e);
void pithp_plain_give(pithp_device *d, void *data, size_t bytes);

#endif
