/* Streams: each root scope has one; its children and the scopes of an instance group
 * share it. The device pools streams, so that opening a scope rarely opens one of the
 * backend. */
#include "base/in_flight.h"
#include "gpu/device.h"
#include "gpu/gpu_internal.h"
#include "gpu/memory/manager.h"

#include <string.h>

static pithp_stream *take_idle(pithp_device *d) {
    pthread_mutex_lock(&d->lock);
    pithp_stream *st = d->idle;
    if (st) {
        d->idle = st->next_idle;
        st->users = 1;
    }
    pthread_mutex_unlock(&d->lock);
    return st;
}

pithp_stream *pithp_stream_make(pith_scope *s, pithp_device *d) {
    pithp_stream *st = pithp_allocate(d->runtime, sizeof *st);
    if (!st) {
        pithp_fail_memory(s, sizeof *st);
        return NULL;
    }
    memset(st, 0, sizeof *st);
    st->device = d;
    st->cache = d->cache ? d->cache : pithp_cache_make(d);
    if (!st->cache) {
        pithp_fail(s, PITH_E_MEMORY, NULL, "out of memory: no room for a stream");
        goto no_cache;
    }
    pithp_error e;
    if (d->backend->stream_open(st, &e) != PITH_OK) {
        pithp_fail(s, e.code, NULL, "%s", e.text);
        goto no_stream;
    }
    st->users = 1;
    pthread_mutex_lock(&d->lock);
    st->next = d->streams;
    d->streams = st;
    pthread_mutex_unlock(&d->lock);
    return st;
no_stream:
    if (!d->cache)
        pithp_cache_free(d, st->cache);
no_cache:
    pithp_release(d->runtime, st, sizeof *st);
    return NULL;
}

pithp_stream *pithp_streams_first(pithp_device *d) {
    pthread_mutex_lock(&d->lock);
    pithp_stream *first = d->streams;
    pthread_mutex_unlock(&d->lock);
    return first;
}

pithp_stream *pithp_stream_join(pith_scope *s, pithp_device *d) {
    pithp_stream *st = take_idle(d);
    return st ? st : pithp_stream_make(s, d);
}

void pithp_stream_add_user(pithp_stream *st) {
    pthread_mutex_lock(&st->device->lock);
    st->users++;
    pthread_mutex_unlock(&st->device->lock);
}

void pithp_stream_leave(pithp_stream *st) {
    pithp_device *d = st->device;
    pthread_mutex_lock(&d->lock);
    if (--st->users == 0) {
        st->next_idle = d->idle;
        d->idle = st;
    }
    pthread_mutex_unlock(&d->lock);
}

void pithp_stream_attach(pith_scope *s) {
    pithp_device *d = pithp_runtime_device(s->runtime);
    pithp_stream *st = pithp_stream_join(s, d);
    s->room[PITHP_ROOM_GPU] = st;
    s->room[PITHP_ROOM_MEMORY] = d->memory->standard;
    if (!st)
        pithp_scope_break(s);
}

/* Children share the stream of their root, so their pending checks move to the parent. A
 * root waits; a failure becomes its error, which base logs. */
void pithp_stream_detach(pith_scope *s) {
    pithp_stream *st = pithp_scope_stream(s);
    if (!st)
        return;
    pithp_memory_pop_all(s);
    if (s->parent) {
        pithp_pending_hand_over(st, s, s->parent);
        return;
    }
    pithp_synchronise(s);
    pithp_pending_close(st); /* empty, unless the device could not be read */
    pithp_instance_leave(s);
    pithp_stream_leave(st);
}

void pithp_streams_close(pithp_device *d) {
    pithp_error e;
    for (pithp_stream *st = d->streams; st; st = st->next)
        d->backend->synchronise(st, &e); /* a dead device has already been reported */
    if (d->cache)
        pithp_cache_free(d, d->cache);
    while (d->streams) {
        pithp_stream *st = d->streams;
        d->streams = st->next;
        if (!d->cache)
            pithp_cache_free(d, st->cache);
        d->backend->stream_close(st);
        pithp_release(d->runtime, st, sizeof *st);
    }
}

/* ---- Waiting ---- */

static pith_status examine(pith_scope *s, pithp_stream *st) {
    pithp_error e;
    if (pithp_pending_examine(st, &e) != PITH_OK)
        return pithp_fail_device(s, &e);
    return s->error.code;
}

pith_status pithp_synchronise(pith_scope *s) {
    pithp_stream *st = pithp_scope_stream(s);
    pithp_error e;
    if (PITHP_UNLIKELY(st->device->backend->synchronise(st, &e) != PITH_OK))
        return pithp_fail_device(s, &e);
    return PITHP_UNLIKELY(pithp_pending_any(st)) ? examine(s, st) : s->error.code;
}

pith_status pithp_stream_drain(pith_scope *s) {
    pithp_stream *st = pithp_scope_stream(s);
    pithp_error e;
    return PITHP_LIKELY(st->device->backend->synchronise(st, &e) == PITH_OK)
               ? PITH_OK
               : pithp_fail_device(s, &e);
}

/* Also waits on a failed scope: the caller may be about to free memory that enqueued work
 * reads. */
void pith_wait(pith_scope *s) {
    PITHP_IN_FLIGHT(s, "pith_wait");
    if (!pithp_enter(s) && (!pithp_scope_writable(s) || !pithp_scope_stream(s)))
        return;
    pithp_synchronise(s);
}

/* ---- Copies ---- */

pith_status pithp_copy_in(pith_scope *s, void *to, const void *host, size_t bytes) {
    pithp_stream *st = pithp_scope_stream(s);
    pithp_error e;
    if (bytes && st->device->backend->copy_in(st, to, host, bytes, &e) != PITH_OK)
        return pithp_fail_device(s, &e);
    return PITH_OK;
}

pith_status pithp_copy_out(pith_scope *s, void *host, const void *from, size_t bytes) {
    pithp_stream *st = pithp_scope_stream(s);
    pithp_error e;
    if (!bytes)
        return pithp_synchronise(s);
    if (st->device->backend->copy_out(st, host, from, bytes, &e) != PITH_OK)
        return pithp_fail_device(s, &e);
    return PITHP_UNLIKELY(pithp_pending_any(st)) ? examine(s, st) : s->error.code;
}

pith_status pithp_copy(pith_scope *s, void *to, const void *from, size_t bytes) {
    pithp_stream *st = pithp_scope_stream(s);
    pithp_error e;
    if (bytes && st->device->backend->copy(st, to, from, bytes, &e) != PITH_OK)
        return pithp_fail_device(s, &e);
    return PITH_OK;
}

pith_status
pithp_fill(pith_scope *s, void *to, const void *pattern, size_t width, int64_t count) {
    pithp_stream *st = pithp_scope_stream(s);
    pithp_error e;
    if (width != 1 && width != 2 && width != 4 && width != 8)
        return pithp_fail(s, PITH_E_INTERNAL, NULL, "fill: invalid pattern of %zu bytes",
                          width);
    if (count > 0 &&
        st->device->backend->fill(st, to, pattern, width, count, &e) != PITH_OK)
        return pithp_fail_device(s, &e);
    return PITH_OK;
}
