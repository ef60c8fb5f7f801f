/* Buffers: counted device memory. A buffer is written by work of one stream; work of
 * other streams that reads it waits for that, and freeing it waits for them. */
#include "gpu/device.h"
#include "gpu/gpu_internal.h"
#include "gpu/memory/cache.h"
#include "gpu/memory/event.h"
#include "gpu/memory/ladder.h"
#include "gpu/memory/ledger.h"
#include "gpu/memory/manager.h"
#include "gpu/memory/poison.h"
#include "gpu/memory/size_class.h"
#include "gpu/memory/source.h"

_Static_assert(PITHP_CACHED_CLASSES == 8 + 8 * 5, "the classes up to 64 KiB");

/* ---- Making ---- */

/* Of a size that streams keep no buffers of. */
static pithp_buffer *
make_uncached(pithp_stream *st, int class, size_t room, pithp_shortage *why) {
    pithp_buffer *b = pithp_cache_struct(st);
    if (!b) {
        pithp_error_set(&why->error, PITH_E_MEMORY, NULL, NULL,
                        "out of memory: %zu bytes of host memory", sizeof *b);
        why->where = PITHP_SHORT_OF_HOST;
        return NULL;
    }
    pithp_source **source = &pithp_buffer_record_of(b)->source;
    b->data = pithp_source_take(st, room, source, &why->error);
    if (!b->data) {
        why->where = PITHP_SHORT_OF_BACKEND;
        pithp_cache_struct_back(b);
        return NULL;
    }
    b->class = class;
    b->room = room;
    b->foreign = false;
    return b;
}

/* Its memory may be used again. */
static void give_back(pithp_buffer *b) {
    pithp_stream *st = b->stream;
    struct pithp_source *source = pithp_buffer_record_of(b)->source;
    const bool current =
        source == atomic_load_explicit(&st->device->memory->source, memory_order_relaxed);
    if (b->class >= 0 && current && pithp_cache_keep(b))
        return;
    pithp_source_give(st, source, b->data, b->room);
    pithp_cache_struct_back(b);
}

static pithp_buffer *refuse(pithp_shortage *why, pithp_charge charge) {
    why->where = charge == PITHP_DEVICE_FULL ? PITHP_SHORT_OF_DEVICE : PITHP_SHORT_OF_CAP;
    return NULL;
}

static void begin(pithp_buffer *b, struct pithp_account *account, size_t bytes) {
    b->account = account;
    b->bytes = bytes;
    pithp_site_set(b, NULL);
    atomic_store_explicit(&pithp_buffer_record_of(b)->held, true, memory_order_relaxed);
    atomic_store_explicit(&b->refs, 1, memory_order_relaxed);
    atomic_store_explicit(&b->used_elsewhere, false, memory_order_relaxed);
    atomic_store_explicit(&b->content_state, PITHP_CONTENT_UNKNOWN, memory_order_relaxed);
}

pithp_buffer *pithp_buffer_try(pithp_stream *st,
                               struct pith_instance *i,
                               size_t bytes,
                               pithp_shortage *why) {
    pithp_device *d = st->device;
    pithp_account *account = &i->account;
    pithp_buffer *b = NULL;
    int class = -1;
    size_t room = bytes;
    if (PITHP_LIKELY(bytes <= PITHP_CACHED_MOST)) {
        class = pithp_class_of(bytes, &room);
        b = pithp_cache_take(st, class);
    }
    if (PITHP_UNLIKELY(!b)) {
        const pithp_charge charge = pithp_ledger_foresee(d, account, bytes);
        if (PITHP_UNLIKELY(charge != PITHP_CHARGED))
            return refuse(why, charge);
        b = make_uncached(st, class, room, why);
        if (PITHP_UNLIKELY(!b))
            return NULL;
    }
    const pithp_charge charge = pithp_ledger_charge(d, account, bytes);
    if (PITHP_UNLIKELY(charge != PITHP_CHARGED)) {
        give_back(b);
        return refuse(why, charge);
    }
    if (d->immediate && d->backend->addressable) {
        pithp_unpoison(b->data, bytes);
        pithp_poison((char *)b->data + bytes, b->room - bytes);
    }
    begin(b, account, bytes);
    pithp_event_note(d, PITHP_EVENT_ALLOCATE, b);
    return b;
}

pithp_buffer *pithp_buffer_make(pith_scope *s, size_t bytes) {
    pithp_stream *st = pithp_scope_stream(s);
    struct pith_instance *i = pithp_scope_instance(s);
    pithp_shortage why;
    pithp_buffer *b = pithp_buffer_try(st, i, bytes, &why);
    if (PITHP_UNLIKELY(!b))
        b = pithp_ladder_climb(st, i, bytes, &why);
    if (PITHP_LIKELY(b))
        pithp_site_set(b, s->site);
    else
        pithp_fail_device(s, &why.error);
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
    b->room = 0;
    b->release = release;
    b->closure = closure;
    pithp_account *account = &pithp_scope_instance(s)->account;
    begin(b, account, bytes);
    pithp_site_set(b, s->site);
    pithp_ledger_lend(st->device, account, bytes);
    pithp_event_note(st->device, PITHP_EVENT_ALLOCATE, b);
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
    pithp_ledger_unlend(d, b->account, b->bytes);
    pithp_cache_struct_back(b);
}

static void destroy(pithp_buffer *b) {
    pithp_stream *st = b->stream;
    pithp_device *d = st->device;
    if (!d->immediate && atomic_load_explicit(&b->used_elsewhere, memory_order_relaxed))
        await_readers(d, st);
    pithp_event_note(d, PITHP_EVENT_FREE, b);
    atomic_store_explicit(&pithp_buffer_record_of(b)->held, false, memory_order_relaxed);
    if (PITHP_UNLIKELY(b->foreign)) {
        release_foreign(d, b);
        return;
    }
    pithp_ledger_credit(d, b->account, b->bytes);
    if (PITHP_UNLIKELY(d->poison)) {
        const unsigned char pattern = 0xDB;
        pithp_error e;
        (void)d->backend->fill(st, b->data, &pattern, 1, (int64_t)b->bytes, &e);
    }
    give_back(b);
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
