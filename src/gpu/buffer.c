/* Buffers: counted device memory. A buffer is written by work of one stream; work of
 * other streams that reads it waits for that, and freeing it waits for them. */
#include "gpu/device.h"
#include "gpu/gpu_internal.h"

#include <string.h>

static void count_live(pithp_device *d, size_t bytes) {
    const size_t live =
        atomic_fetch_add_explicit(&d->live, bytes, memory_order_relaxed) + bytes;
    size_t peak = atomic_load_explicit(&d->peak, memory_order_relaxed);
    while (live > peak && !atomic_compare_exchange_weak_explicit(&d->peak, &peak, live,
                                                                 memory_order_relaxed,
                                                                 memory_order_relaxed)) {
    }
}

static pithp_buffer *new_buffer(pith_scope *s) {
    pithp_buffer *b = pithp_allocate(s->runtime, sizeof *b);
    if (!b) {
        pithp_fail_memory(s, sizeof *b);
        return NULL;
    }
    memset(b, 0, sizeof *b);
    atomic_init(&b->refs, 1);
    b->stream = pithp_scope_stream(s);
    return b;
}

pithp_buffer *pithp_buffer_make(pith_scope *s, size_t bytes) {
    pithp_buffer *b = new_buffer(s);
    if (!b)
        return NULL;
    pithp_device *d = b->stream->device;
    pithp_error e;
    b->bytes = bytes;
    b->room = bytes ? bytes : 1;
    b->data = d->backend->allocate(b->stream, b->room, &e);
    if (!b->data) {
        pithp_fail_device(s, &e);
        pithp_release(s->runtime, b, sizeof *b);
        return NULL;
    }
    count_live(d, bytes);
    return b;
}

pithp_buffer *pithp_buffer_wrap(pith_scope *s,
                                void *data,
                                size_t bytes,
                                void (*release)(void *closure, void *data),
                                void *closure) {
    pithp_device *d = pithp_scope_device(s);
    if (!d->backend->addressable) { /* host memory cannot serve: a copy does */
        pithp_buffer *copy = pithp_buffer_make(s, bytes);
        if (copy && pithp_copy_in(s, copy->data, data, bytes) != PITH_OK) {
            pithp_buffer_release(copy, 1);
            return NULL;
        }
        if (copy && release)
            release(closure, data);
        return copy;
    }
    pithp_buffer *b = new_buffer(s);
    if (!b)
        return NULL;
    b->foreign = true;
    b->data = data;
    b->bytes = bytes;
    b->release = release;
    b->closure = closure;
    count_live(d, bytes);
    return b;
}

void pithp_buffer_retain(pithp_buffer *b, int count) {
    atomic_fetch_add_explicit(&b->refs, count, memory_order_relaxed);
}

/* What is enqueued on the writer's stream from here on runs after all that other streams
 * have read. */
static void await_readers(pithp_device *d, pithp_stream *st) {
    pthread_mutex_lock(&d->lock);
    for (pithp_stream *other = d->streams; other; other = other->next) {
        pithp_error e;
        if (other != st && d->backend->wait_for(st, other, &e) != PITH_OK)
            d->backend->synchronise(other, &e);
    }
    pthread_mutex_unlock(&d->lock);
}

static void destroy(pithp_buffer *b) {
    pithp_stream *st = b->stream;
    pithp_device *d = st->device;
    if (!d->immediate && atomic_load_explicit(&b->used_elsewhere, memory_order_relaxed))
        await_readers(d, st);
    if (b->foreign) {
        pithp_error e;
        d->backend->synchronise(st, &e); /* enqueued work may still read it */
        if (b->release)
            b->release(b->closure, b->data);
    } else {
        d->backend->release(st, b->data, b->room);
    }
    atomic_fetch_sub_explicit(&d->live, b->bytes, memory_order_relaxed);
    pithp_release(d->runtime, b, sizeof *b);
}

void pithp_buffer_release(pithp_buffer *b, int count) {
    if (!b)
        return;
    const int left =
        atomic_fetch_sub_explicit(&b->refs, count, memory_order_acq_rel) - count;
    PITH_ASSERT(left >= 0);
    if (left == 0)
        destroy(b);
}

pith_status pithp_buffer_await(pith_scope *s, pithp_buffer *b) {
    pithp_stream *st = pithp_scope_stream(s);
    pithp_device *d = st->device;
    if (b->stream->device != d)
        return pithp_fail(s, PITH_E_ARG, NULL, "the array belongs to another runtime");
    if (b->stream == st || d->immediate)
        return PITH_OK;
    atomic_store_explicit(&b->used_elsewhere, true, memory_order_relaxed);
    pithp_error e;
    if (d->backend->wait_for(st, b->stream, &e) != PITH_OK)
        return pithp_fail_device(s, &e);
    return PITH_OK;
}
