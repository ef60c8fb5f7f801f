/* Buffers: counted device memory. A buffer is written by work of one stream; work of
 * other streams that reads it waits for that, and freeing it waits for them. */
#include "gpu/device.h"
#include "gpu/gpu_internal.h"
#include "gpu/memory/cache.h"
#include "gpu/memory/poison.h"
#include "gpu/memory/size_class.h"

_Static_assert(PITHP_CACHED_CLASSES == 8 + 8 * 5, "the classes up to 64 KiB");

/* ---- The ledger ---- */

static void count_live(pithp_device *d, size_t bytes) {
    const size_t live =
        atomic_fetch_add_explicit(&d->live, bytes, memory_order_relaxed) + bytes;
    size_t peak = atomic_load_explicit(&d->peak, memory_order_relaxed);
    while (PITHP_UNLIKELY(live > peak) &&
           !atomic_compare_exchange_weak_explicit(
               &d->peak, &peak, live, memory_order_relaxed, memory_order_relaxed))
        continue;
}

static void count_dead(pithp_device *d, size_t bytes) {
    atomic_fetch_sub_explicit(&d->live, bytes, memory_order_relaxed);
}

/* ---- Making ---- */

/* Everything that is kept for reuse goes back to the system, after the work that uses it.
 */
static void trim(pithp_device *d) {
    pithp_error e;
    pthread_mutex_lock(&d->lock);
    for (pithp_stream *st = d->streams; st; st = st->next)
        pithp_cache_trim(st);
    for (pithp_stream *st = d->streams; st; st = st->next)
        d->backend->synchronise(st, &e); /* a dead device is found by the next try */
    pthread_mutex_unlock(&d->lock);
    if (d->backend->trim)
        d->backend->trim(d);
}

/* Memory from the backend. Short of it, what is kept is given up and one more try made.
 */
static void *take_memory(pith_scope *s, size_t bytes) {
    pithp_stream *st = pithp_scope_stream(s);
    pithp_device *d = st->device;
    pithp_error e;
    void *data = d->backend->allocate(st, bytes, &e);
    if (data)
        return data;
    if (e.code == PITH_E_MEMORY) {
        trim(d);
        data = d->backend->allocate(st, bytes, &e);
        if (data)
            return data;
    }
    if (e.code == PITH_E_MEMORY)
        pithp_fail(s, PITH_E_MEMORY, NULL,
                   "%s; %zu bytes are in use, and nothing was left to free", e.text,
                   atomic_load(&d->live));
    else
        pithp_fail_device(s, &e);
    return NULL;
}

static pithp_buffer *make_uncached(pith_scope *s, int class, size_t room) {
    pithp_buffer *b = pithp_cache_struct(pithp_scope_stream(s));
    if (!b) {
        pithp_fail_memory(s, sizeof *b);
        return NULL;
    }
    b->data = take_memory(s, room);
    if (!b->data) {
        pithp_cache_struct_back(b);
        return NULL;
    }
    b->class = class;
    b->room = room;
    b->foreign = false;
    return b;
}

pithp_buffer *pithp_buffer_make(pith_scope *s, size_t bytes) {
    pithp_stream *st = pithp_scope_stream(s);
    pithp_buffer *b = NULL;
    if (PITHP_LIKELY(bytes <= PITHP_CACHED_MOST)) {
        size_t room;
        const int class = pithp_class_of(bytes, &room);
        b = pithp_cache_take(st, class);
        if (PITHP_UNLIKELY(!b))
            b = make_uncached(s, class, room);
    } else {
        b = make_uncached(s, -1, bytes);
    }
    if (PITHP_UNLIKELY(!b))
        return NULL;
    if (st->device->immediate && st->device->backend->addressable) {
        pithp_unpoison(b->data, bytes);
        pithp_poison((char *)b->data + bytes, b->room - bytes);
    }
    b->bytes = bytes;
    atomic_store_explicit(&b->refs, 1, memory_order_relaxed);
    atomic_store_explicit(&b->used_elsewhere, false, memory_order_relaxed);
    atomic_store_explicit(&b->content_state, PITHP_CONTENT_UNKNOWN, memory_order_relaxed);
    count_live(st->device, bytes);
    return b;
}

/* Where the host cannot lend its memory: a copy, after which the user's is not needed. */
static pithp_buffer *wrap_copy(pith_scope *s,
                               void *data,
                               size_t bytes,
                               void (*release)(void *closure, void *data),
                               void *closure) {
    pithp_buffer *b = pithp_buffer_make(s, bytes);
    if (!b)
        return NULL;
    if (pithp_copy_in(s, b->data, data, bytes) != PITH_OK) {
        pithp_buffer_release(b, 1);
        return NULL;
    }
    if (release)
        release(closure, data);
    return b;
}

pithp_buffer *pithp_buffer_wrap(pith_scope *s,
                                void *data,
                                size_t bytes,
                                void (*release)(void *closure, void *data),
                                void *closure) {
    pithp_stream *st = pithp_scope_stream(s);
    if (!st->device->backend->addressable)
        return wrap_copy(s, data, bytes, release, closure);
    pithp_buffer *b = pithp_cache_struct(st);
    if (!b) {
        pithp_fail_memory(s, sizeof *b);
        return NULL;
    }
    b->foreign = true;
    b->class = -1;
    b->data = data;
    b->bytes = bytes;
    b->room = 0;
    b->release = release;
    b->closure = closure;
    atomic_store_explicit(&b->refs, 1, memory_order_relaxed);
    atomic_store_explicit(&b->used_elsewhere, false, memory_order_relaxed);
    atomic_store_explicit(&b->content_state, PITHP_CONTENT_UNKNOWN, memory_order_relaxed);
    count_live(st->device, bytes);
    atomic_fetch_add_explicit(&st->device->lent, bytes, memory_order_relaxed);
    return b;
}

/* ---- References ---- */

void pithp_buffer_retain(pithp_buffer *b, int count) {
    atomic_fetch_add_explicit(&b->refs, count, memory_order_relaxed);
}

/* What is enqueued on st from here on runs after all that other streams have read. */
static void await_readers(pithp_device *d, pithp_stream *st) {
    pthread_mutex_lock(&d->lock);
    for (pithp_stream *other = d->streams; other; other = other->next) {
        pithp_error e;
        if (other != st && d->backend->wait_for(st, other, &e) != PITH_OK)
            d->backend->synchronise(other, &e);
    }
    pthread_mutex_unlock(&d->lock);
}

static void release_foreign(pithp_device *d, pithp_buffer *b) {
    pithp_error e;
    if (!d->immediate)
        d->backend->synchronise(b->stream, &e); /* enqueued work may still read it */
    if (b->release)
        b->release(b->closure, b->data);
    atomic_fetch_sub_explicit(&d->lent, b->bytes, memory_order_relaxed);
    pithp_cache_struct_back(b);
}

static void destroy(pithp_buffer *b) {
    pithp_stream *st = b->stream;
    pithp_device *d = st->device;
    if (!d->immediate && atomic_load_explicit(&b->used_elsewhere, memory_order_relaxed))
        await_readers(d, st);
    count_dead(d, b->bytes);
    if (PITHP_UNLIKELY(b->foreign)) {
        release_foreign(d, b);
        return;
    }
    if (PITHP_UNLIKELY(d->poison)) {
        const unsigned char pattern = 0xDB;
        pithp_error e;
        (void)d->backend->fill(st, b->data, &pattern, 1, (int64_t)b->bytes, &e);
    }
    if (b->class >= 0 && pithp_cache_keep(b))
        return;
    d->backend->release(st, b->data, b->room);
    pithp_cache_struct_back(b);
}

void pithp_buffer_release(pithp_buffer *b, int count) {
    if (!b)
        return;
    /* Who holds all references need not count them down. */
    if (atomic_load_explicit(&b->refs, memory_order_acquire) != count &&
        atomic_fetch_sub_explicit(&b->refs, count, memory_order_acq_rel) != count)
        return;
    destroy(b);
}

pith_status pithp_buffer_await(pith_scope *s, pithp_buffer *b) {
    pithp_stream *st = pithp_scope_stream(s);
    pithp_device *d = st->device;
    if (b->stream->device != d)
        return pithp_fail(s, PITH_E_ARG, NULL, "an array of another runtime");
    if (b->stream == st || d->immediate)
        return PITH_OK;
    atomic_store_explicit(&b->used_elsewhere, true, memory_order_relaxed);
    pithp_error e;
    if (d->backend->wait_for(st, b->stream, &e) != PITH_OK)
        return pithp_fail_device(s, &e);
    return PITH_OK;
}
