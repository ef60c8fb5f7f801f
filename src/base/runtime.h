/* Runtimes: the state that every room shares. */
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
    pithp_biased_lock blocks;  /* guards the FIFO list of free single blocks: */
    pithp_block *cached_first; /* linked by next */
    pithp_block *cached_last;
    int cached_count;
    pthread_mutex_t lock; /* guards free regions, scope list, spec insertion */
    pithp_block *region_first, *region_last; /* FIFO list of free multi-block regions */
    int region_count;
    size_t region_bytes; /* of the free regions */
    pith_scope *scopes;  /* roots, linked by next_sibling */
    pith_log_hook log_hook;
    void *log_closure;
    bool silent_checks; /* checks of level `always` reach collectors only */
    atomic_uint save_requests, stop_requests; /* number so far, see run/request.c */
    atomic_uint stops_taken;                  /* stop requests that a run has obeyed */
    atomic_uint saves_taken;
    _Atomic(struct pithp_spec_table *) specs;
    _Atomic(const pithp_room_hooks *) hooks[PITHP_ROOM_COUNT];
    atomic_uint told_opened, told_closing; /* bit mask of rooms with that hook */
    void *room[PITHP_ROOM_COUNT];
    atomic_bool failed; /* `error` is set and never cleared */
    pithp_error error;  /* why opening or the device failed */
};

/* allocator NULL: the C library's. If memory is short, returns a static runtime with its
 * error set, never NULL. */
pith_runtime *pithp_runtime_create(const pith_allocator *allocator);
void pithp_runtime_destroy(pith_runtime *rt); /* closes scopes, calls hooks, frees all */
bool pithp_runtime_valid(const pith_runtime *rt);
/* From here on every scope of the runtime fails with this reason. The first reason
 * stays. */
void pithp_runtime_fail(pith_runtime *rt, pith_status code, const char *format, ...)
    PITH_FORMAT(3, 4);

#endif
