/* Small buffers are kept by the stream that wrote them, with their data: taking one again
 * needs no word with the backend, and the order of the stream makes reuse safe. */
#include "gpu/memory/cache.h"

#include "gpu/device.h"
#include "gpu/memory/event.h"
#include "gpu/memory/poison.h"
#include "gpu/memory/size_class.h"
#include "gpu/memory/source.h"

#include <sched.h>
#include <string.h>

enum { PER_CHUNK = 31 };
#define KEPT_MOST ((size_t)16 << 20) /* bytes of data that one stream keeps */

typedef struct chunk {
    struct chunk *next;
    pithp_buffer_record records[PER_CHUNK];
} chunk;

struct pithp_cache {
    atomic_flag locked; /* buffers are released by any thread */
    size_t kept;
    pithp_buffer *spare; /* without data */
    chunk *chunks;
    pithp_buffer *classes[PITHP_CACHED_CLASSES];
};

/* Held for a few instructions; a holder that lost its core is yielded to. */
static void lock(struct pithp_cache *c) {
    while (atomic_flag_test_and_set_explicit(&c->locked, memory_order_acquire))
        sched_yield();
}
static void unlock(struct pithp_cache *c) {
    atomic_flag_clear_explicit(&c->locked, memory_order_release);
}

struct pithp_cache *pithp_cache_make(pith_runtime *rt) {
    struct pithp_cache *c = pithp_allocate(rt, sizeof *c);
    if (!c)
        return NULL;
    memset(c, 0, sizeof *c);
    atomic_flag_clear(&c->locked);
    return c;
}

static bool add_chunk(pithp_stream *st) {
    chunk *made = pithp_allocate(st->device->runtime, sizeof *made);
    if (!made)
        return false;
    memset(made, 0, sizeof *made);
    for (int i = 0; i < PER_CHUNK; i++) {
        pithp_buffer *b = &made->records[i].buffer;
        b->stream = st;
        b->next = i + 1 < PER_CHUNK ? &made->records[i + 1].buffer : NULL;
    }
    struct pithp_cache *c = st->cache;
    lock(c);
    made->next = c->chunks;
    c->chunks = made;
    made->records[PER_CHUNK - 1].buffer.next = c->spare;
    c->spare = &made->records[0].buffer;
    unlock(c);
    return true;
}

pithp_buffer *pithp_cache_struct(pithp_stream *st) {
    struct pithp_cache *c = st->cache;
    for (;;) {
        lock(c);
        pithp_buffer *b = c->spare;
        if (b)
            c->spare = b->next;
        unlock(c);
        if (b || !add_chunk(st))
            return b;
    }
}

void pithp_cache_struct_back(pithp_buffer *b) {
    struct pithp_cache *c = b->stream->cache;
    lock(c);
    b->next = c->spare;
    c->spare = b;
    unlock(c);
}

/* Memory of an immediate host that nobody may touch while it is kept. */
static bool guarded(const pithp_stream *st) {
    return st->device->immediate && st->device->backend->addressable;
}

pithp_buffer *pithp_cache_take(pithp_stream *st, int class) {
    struct pithp_cache *c = st->cache;
    lock(c);
    pithp_buffer *b = c->classes[class];
    if (b) {
        c->classes[class] = b->next;
        c->kept -= b->room;
    }
    unlock(c);
    return b;
}

bool pithp_cache_keep(pithp_buffer *b) {
    struct pithp_cache *c = b->stream->cache;
    if (guarded(b->stream))
        pithp_poison(b->data, b->room);
    lock(c);
    const bool room = c->kept + b->room <= KEPT_MOST;
    if (room) {
        b->next = c->classes[b->class];
        c->classes[b->class] = b;
        c->kept += b->room;
    }
    unlock(c);
    return room;
}

void pithp_cache_each(pithp_stream *st,
                      void (*see)(const pithp_buffer_record *r, void *closure),
                      void *closure) {
    struct pithp_cache *c = st->cache;
    lock(c);
    chunk *first = c->chunks;
    unlock(c);
    for (chunk *at = first; at; at = at->next)
        for (int i = 0; i < PER_CHUNK; i++)
            if (atomic_load_explicit(&at->records[i].held, memory_order_relaxed))
                see(&at->records[i], closure);
}

void pithp_cache_trim(pithp_stream *st) {
    for (int class = 0; class < PITHP_CACHED_CLASSES; class ++) {
        pithp_buffer *b;
        while ((b = pithp_cache_take(st, class))) {
            pithp_source_give(st, pithp_buffer_record_of(b)->source, b->data, b->room);
            pithp_cache_struct_back(b);
        }
    }
}

void pithp_cache_free(pithp_stream *st) {
    struct pithp_cache *c = st->cache;
    pithp_cache_trim(st);
    while (c->chunks) {
        chunk *first = c->chunks;
        c->chunks = first->next;
        pithp_release(st->device->runtime, first, sizeof *first);
    }
    pithp_release(st->device->runtime, c, sizeof *c);
}
