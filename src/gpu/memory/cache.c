/* Buffer cache: free buffers keep their memory, so that a reuse does not call the
 * backend. If work runs when it is enqueued, all streams share one cache. Otherwise each
 * stream caches the buffers it wrote, and stream order makes reuse safe. */
#include "gpu/memory/cache.h"

#include "gpu/device.h"
#include "gpu/memory/allocator.h"
#include "gpu/memory/manager.h"

#include <string.h>

enum { PER_CHUNK = 31 };
#define SMALL_MOST ((size_t)16 << 20) /* maximum bytes of small buffers */

typedef struct pithp_cache_chunk {
    struct pithp_cache_chunk *next;
    pithp_buffer_record records[PER_CHUNK];
} chunk;

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Set the limits of the cache. Larger blocks are cached by the pool. */
static void bound(pithp_device *d, pithp_cache *c) {
    pithp_ledger_lock(d);
    const size_t part = d->memory->keep / 4;
    c->small_most = least(part, SMALL_MOST);
    c->large_most =
        d->immediate ? least(least(part, PITHP_CACHED_LARGE_MOST), d->total / 8) : 0;
    pithp_ledger_unlock(d);
}

struct pithp_cache *pithp_cache_make(pithp_device *d) {
    pithp_cache *c = pithp_allocate(d->runtime, sizeof *c);
    if (!c)
        return NULL;
    memset(c, 0, sizeof *c);
    bound(d, c);
    return c;
}

/* ---- Buffer structs without memory ---- */

static bool add_chunk(pithp_stream *st) {
    pithp_device *d = st->device;
    chunk *made = pithp_allocate(d->runtime, sizeof *made);
    if (!made)
        return false;
    memset(made, 0, sizeof *made);
    for (int i = 0; i + 1 < PER_CHUNK; i++)
        made->records[i].buffer.next = &made->records[i + 1].buffer;
    pithp_cache *c = st->cache;
    pithp_ledger_lock(d);
    made->next = c->chunks;
    c->chunks = made;
    made->records[PER_CHUNK - 1].buffer.next = c->spare;
    c->spare = &made->records[0].buffer;
    pithp_ledger_unlock(d);
    return true;
}

pithp_buffer *pithp_cache_struct(pithp_stream *st) {
    pithp_cache *c = st->cache;
    for (;;) {
        pithp_ledger_lock(st->device);
        pithp_buffer *b = c->spare;
        if (b)
            c->spare = b->next;
        pithp_ledger_unlock(st->device);
        if (b)
            b->stream = st;
        if (b || !add_chunk(st))
            return b;
    }
}

void pithp_cache_struct_back(pithp_buffer *b) {
    pithp_cache *c = b->stream->cache;
    pithp_ledger_lock(b->stream->device);
    b->next = c->spare;
    c->spare = b;
    pithp_ledger_unlock(b->stream->device);
}

/* ---- Eviction ---- */

/* Take all buffers of the classes from `class` on. The lock is held. */
static pithp_buffer *take_from(pithp_cache *c, int class) {
    pithp_buffer *all = NULL;
    for (; class < PITHP_CACHED_CLASSES; class ++)
        for (pithp_buffer *b = c->classes[class]; b; b = c->classes[class]) {
            c->classes[class] = b->next;
            b->next = all;
            all = b;
        }
    c->large = 0;
    return all;
}

pithp_buffer *pithp_cache_take_large(pithp_cache *c) {
    size_t room;
    return take_from(c, pithp_class_of(PITHP_CACHED_MOST, &room) + 1);
}

void pithp_cache_give(pithp_buffer *first) {
    while (first) {
        pithp_buffer *b = first;
        first = b->next;
        pithp_allocator_give(b->stream, pithp_buffer_record_of(b)->allocator, b->data,
                             b->room);
        pithp_cache_struct_back(b);
    }
}

static void trim(pithp_device *d, pithp_cache *c) {
    pithp_ledger_lock(d);
    pithp_buffer *all = take_from(c, 0);
    c->small = 0;
    pithp_ledger_unlock(d);
    pithp_cache_give(all);
}

/* ---- Iteration over caches ---- */

/* The next cache: the device's, or the next stream's; NULL at the end. *last and *st
 * begin as NULL. */
static pithp_cache *
next_cache(pithp_device *d, const pithp_cache *last, pithp_stream **st) {
    if (d->cache)
        return last ? NULL : d->cache;
    *st = last ? (*st)->next : pithp_streams_first(d);
    return *st ? (*st)->cache : NULL;
}

void pithp_caches_trim(pithp_device *d) {
    pithp_stream *st = NULL;
    for (pithp_cache *c = NULL; (c = next_cache(d, c, &st));)
        trim(d, c);
}

void pithp_caches_bound(pithp_device *d, size_t keep) {
    pithp_stream *st = NULL;
    pithp_ledger_lock(d);
    d->memory->keep = keep;
    pithp_ledger_unlock(d);
    for (pithp_cache *c = NULL; (c = next_cache(d, c, &st));)
        bound(d, c);
}

void pithp_cache_each(pithp_device *d,
                      void (*see)(const pithp_buffer_record *r, void *closure),
                      void *closure) {
    pithp_stream *st = NULL;
    for (pithp_cache *c = NULL; (c = next_cache(d, c, &st));) {
        pithp_ledger_lock(d);
        const chunk *at = c->chunks;
        pithp_ledger_unlock(d);
        for (; at; at = at->next)
            for (int i = 0; i < PER_CHUNK; i++)
                if (atomic_load_explicit(&at->records[i].held, memory_order_acquire))
                    see(&at->records[i], closure);
    }
}

void pithp_cache_free(pithp_device *d, struct pithp_cache *c) {
    trim(d, c);
    while (c->chunks) {
        chunk *first = c->chunks;
        c->chunks = first->next;
        pithp_release(d->runtime, first, sizeof *first);
    }
    pithp_release(d->runtime, c, sizeof *c);
}
