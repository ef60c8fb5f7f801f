/* Runtimes. */
#ifndef PITH_BASE_RUNTIME_H
#define PITH_BASE_RUNTIME_H

#include "pith/base.h"

#include "base/biased_lock.h"
#include "base/block.h"
#include "base/error.h"
#include "base/room.h"

#include <pthread.h>
#include <stdatomic.h>

struct pith_runtime {
    uint32_t magic;
    bool open;
    pith_allocator allocator;
    atomic_size_t bytes_allocated;
    pithp_biased_lock blocks; /* guards free single blocks, reused first in, first out: */
    pithp_block *cached_first; /* linked by next */
    pithp_block *cached_last;
    int cached_count;
    pthread_mutex_t lock; /* guards free regions, the scope list and spec insertion */
    pithp_block *region_first, *region_last; /* free regions of several, the same way */
    int region_count;
    size_t region_bytes; /* of those */
    pith_scope *scopes;  /* roots, linked by next_sibling */
    pith_log_hook log_hook;
    void *log_closure;
    bool silent_checks; /* checks of level always are seen by collectors alone */
    atomic_uint save_requests, stop_requests; /* made so far, see run/request.c */
    atomic_uint stops_taken;                  /* stop requests that some run has obeyed */
    atomic_uint saves_taken;
    _Atomic(struct pithp_spec_table *) specs;
    _Atomic(const pithp_room_hooks *) hooks[PITHP_ROOM_COUNT];
    atomic_uint told_opened, told_closing; /* a bit for each room with that hook */
    void *room[PITHP_ROOM_COUNT];
    atomic_bool failed; /* `error` is set and stays */
    pithp_error error;  /* why it could not be opened, or died */
};

/* allocator NULL: the C library's. Never NULL: a static runtime with its error set when
 * memory is short. */
pith_runtime *pithp_runtime_create(const pith_allocator *allocator);
void pithp_runtime_destroy(pith_runtime *rt); /* closes scopes, calls hooks, frees all */
bool pithp_runtime_valid(const pith_runtime *rt);
/* From here on every scope of the runtime fails with this reason; the first one stays. */
void pithp_runtime_fail(pith_runtime *rt, pith_status code, const char *format, ...)
    PITH_FORMAT(3, 4);

#endif
