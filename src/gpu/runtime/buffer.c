/* Buffers: reference-counted device memory. Work of one stream writes a buffer; readers
 * on other streams wait for the writer, and freeing waits for the readers. */
#include "gpu/device.h"
#include "gpu/gpu_internal.h"
#include "gpu/memory/allocator.h"
#include "gpu/memory/cache.h"
#include "gpu/memory/event.h"
#include "gpu/memory/ledger.h"
#include "gpu/memory/manager.h"
#include "gpu/memory/poison.h"
#include "gpu/memory/reclaim.h"
#include "gpu/memory/size_class.h"

/* ---- Cache ---- */

/* The size class for the cache, or -1 if the buffer is not cached. *room: bytes to
 * allocate. */
static inline int class_of(const pithp_device *d, size_t bytes, size_t *room) {
    *room = bytes;
    if (PITHP_LIKELY(bytes <= PITHP_CACHED_MOST))
        return pithp_class_of(bytes, room);
    size_t ignored; /* larger buffers come from the pool, which rounds by itself */
    return d->immediate && bytes <= PITHP_CACHED_LARGE_MOST
               ? pithp_class_of(bytes, &ignored)
               : -1;
}

/* Whether freed memory can be poisoned: accesses are by the host. */
static inline bool guarded(const pithp_device *d) {
    return d->immediate && d->backend->addressable;
}

/* Whether a buffer may be cached with its memory. Valid with or without the lock of the
 * ledger: a buffer of an allocator replaced meanwhile is released by the next trim. */
static inline bool may_keep(const pithp_device *d, const pithp_buffer *b) {
    const struct pithp_allocator *allocator = pithp_buffer_record_of(b)->allocator;
    return b->class >= 0 &&
           allocator ==
               atomic_load_explicit(&d->memory->allocator, memory_order_relaxed) &&
           (!allocator || (b->room <= PITHP_CACHED_MOST &&
                           allocator->given.kind != PITH_ALLOCATOR_PLAIN));
}

/* Cache or release the memory of a dead buffer that did not fit into the cache at
 * first. */
static void give_back(pithp_buffer *b) {
    pithp_device *d = b->stream->device;
    pithp_buffer *others = NULL;
    bool kept = false;
    if (may_keep(d, b)) {
        pithp_cache *c = b->stream->cache;
        pithp_ledger_lock(d);
        if (b->room > PITHP_CACHED_MOST && b->room <= c->large_most)
            others = pithp_cache_take_large(c);
        kept = pithp_cache_keep(c, b);
        pithp_ledger_unlock(d);
    }
    if (!kept) {
        b->next = NULL;
        pithp_cache_give(b);
    }
    pithp_cache_give(others);
}

/* ---- Allocation ---- */

static bool make_data(pithp_buffer *b, int class, size_t room, pithp_shortage *why) {
    pithp_stream *st = b->stream;
    struct pithp_allocator **allocator = &pithp_buffer_record_of(b)->allocator;
    b->data = pithp_allocator_take(st, room, allocator, &why->error);
    if (!b->data) {
        why->where = PITHP_SHORT_OF_BACKEND;
        return false;
    }
    b->class = class;
    b->room = room;
    b->foreign = false;
    return true;
}

/* A new buffer from the allocator, not charged yet. */
static pithp_buffer *
make_fresh(pithp_stream *st, int class, size_t room, pithp_shortage *why) {
    pithp_buffer *b = pithp_cache_struct(st);
    if (!b) {
        pithp_error_set(&why->error, PITH_E_MEMORY, NULL, NULL,
                        "out of memory: %zu bytes of host memory", sizeof *b);
        why->where = PITHP_SHORT_OF_HOST;
    } else if (!make_data(b, class, room, why)) {
        pithp_cache_struct_back(b);
        b = NULL;
    }
    return b;
}

static pithp_buffer *refuse(pithp_shortage *why, pithp_charge charge) {
    why->where = charge == PITHP_DEVICE_FULL ? PITHP_SHORT_OF_DEVICE : PITHP_SHORT_OF_CAP;
    return NULL;
}

static inline void begin(pithp_buffer *b, struct pithp_account *account, size_t bytes) {
    b->account = account;
    b->bytes = bytes;
    pithp_site_set(b, NULL);
    atomic_store_explicit(&b->refs, 1, memory_order_relaxed);
    atomic_store_explicit(&b->used_elsewhere, false, memory_order_relaxed);
    atomic_store_explicit(&b->content_state, PITHP_CONTENT_UNKNOWN, memory_order_relaxed);
    atomic_store_explicit(&pithp_buffer_record_of(b)->held, true, memory_order_release);
}

static inline pithp_buffer *
begin_counted(pithp_device *d, pithp_buffer *b, struct pithp_account *a, size_t bytes) {
    if (guarded(d)) {
        pithp_unpoison(b->data, bytes);
        pithp_poison((char *)b->data + bytes, b->room - bytes);
    }
    begin(b, a, bytes);
    pithp_event_note(d, PITHP_EVENT_ALLOCATE, b);
    return b;
}

/* A cached buffer, charged; NULL if none fits or the charge fails. The lock is held. */
static inline pithp_buffer *take_kept(pithp_stream *st,
                                      pithp_account *account,
                                      int class,
                                      size_t bytes,
                                      pithp_charge *charge) {
    pithp_device *d = st->device;
    *charge = pithp_ledger_foresee(d, account, bytes);
    if (PITHP_UNLIKELY(*charge != PITHP_CHARGED || class < 0))
        return NULL;
    pithp_buffer *b = pithp_cache_take(st->cache, class, bytes);
    if (PITHP_UNLIKELY(!b))
        return NULL;
    pithp_ledger_add(d, account, bytes, 0);
    b->stream = st;
    return b;
}

pithp_buffer *pithp_buffer_try(pithp_stream *st,
                               struct pith_instance *i,
                               size_t bytes,
                               pithp_shortage *why) {
    pithp_device *d = st->device;
    pithp_account *account = &i->account;
    pithp_charge charge;
    size_t room;
    const int class = class_of(d, bytes, &room);
    pithp_ledger_lock(d);
    pithp_buffer *b = take_kept(st, account, class, bytes, &charge);
    pithp_ledger_unlock(d);
    if (PITHP_LIKELY(b))
        return begin_counted(d, b, account, bytes);
    if (charge != PITHP_CHARGED)
        return refuse(why, charge);
    b = make_fresh(st, class, room, why);
    if (!b)
        return NULL;
    pithp_ledger_lock(d);
    charge = pithp_ledger_charge(d, account, bytes);
    pithp_ledger_unlock(d);
    if (PITHP_LIKELY(charge == PITHP_CHARGED))
        return begin_counted(d, b, account, bytes);
    give_back(b);
    return refuse(why, charge);
}

/* The slow path, after a failed or skipped look-up in the cache. */
static pithp_buffer *make(pith_scope *s, size_t bytes) {
    pithp_stream *st = pithp_scope_stream(s);
    struct pith_instance *i = pithp_scope_instance(s);
    pithp_shortage why;
    pithp_buffer *b = pithp_buffer_try(st, i, bytes, &why);
    b = PITHP_LIKELY(b) ? b : pithp_reclaim_and_try(st, i, bytes, &why);
    if (PITHP_UNLIKELY(!b))
        pithp_fail_device(s, &why.error);
    return b;
}

pithp_buffer *pithp_buffer_make(pith_scope *s, size_t bytes) {
    pithp_buffer *b = make(s, bytes);
    if (PITHP_LIKELY(b))
        pithp_site_set(b, s->site);
    return b;
}

/* Take cached buffers under one lock; NULL for those not cached. */
static void
take_all_kept(pith_scope *s, int64_t count, const size_t *bytes, pithp_buffer **buffers) {
    pithp_stream *st = pithp_scope_stream(s);
    pithp_device *d = st->device;
    pithp_account *account = &pithp_scope_instance(s)->account;
    pithp_charge ignored;
    size_t room;
    pithp_ledger_lock(d);
    for (int64_t k = 0; k < count; k++)
        buffers[k] =
            take_kept(st, account, class_of(d, bytes[k], &room), bytes[k], &ignored);
    pithp_ledger_unlock(d);
    for (int64_t k = 0; k < count; k++)
        if (buffers[k])
            begin_counted(d, buffers[k], account, bytes[k]);
}

pith_status pithp_buffers_make(pith_scope *s,
                               int64_t count,
                               const size_t *bytes,
                               pithp_buffer **buffers) {
    enum { AT_ONCE = 32 }; /* bounds the time under the lock */
    for (int64_t done = 0; done < count;) {
        const int64_t left = count - done, now = left < AT_ONCE ? left : AT_ONCE;
        take_all_kept(s, now, bytes + done, buffers + done);
        for (const int64_t end = done + now; done < end; done++) {
            buffers[done] = buffers[done] ? buffers[done] : make(s, bytes[done]);
            if (PITHP_LIKELY(buffers[done])) {
                pithp_site_set(buffers[done], s->site);
                continue;
            }
            for (int64_t k = 0; k < end;
                 k++) /* entries after `done` may hold cached buffers */
                pithp_buffer_release(buffers[k], 1);
            return s->error.code;
        }
    }
    return PITH_OK;
}

/* Copy the user's memory if the device cannot access it; the user's memory is then no
 * longer needed. */
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
    pithp_ledger_lock(st->device);
    pithp_ledger_add(st->device, account, 0, bytes);
    pithp_ledger_unlock(st->device);
    pithp_event_note(st->device, PITHP_EVENT_ALLOCATE, b);
    return b;
}

/* ---- References ---- */

void pithp_buffer_retain(pithp_buffer *b, int count) {
    atomic_fetch_add_explicit(&b->refs, count, memory_order_relaxed);
}

/* Order work enqueued on st from now on after all reads of other streams. */
static void await_readers(pithp_device *d, pithp_stream *st) {
    for (pithp_stream *other = pithp_streams_first(d); other; other = other->next) {
        pithp_error e;
        if (other != st && d->backend->wait_for(st, other, &e) != PITH_OK)
            d->backend->synchronise(other, &e);
    }
}

static void release_foreign(pithp_device *d, pithp_buffer *b) {
    pithp_error e;
    if (!d->immediate)
        d->backend->synchronise(b->stream, &e); /* enqueued work may still read it */
    if (b->release)
        b->release(b->closure, b->data);
    pithp_ledger_lock(d);
    pithp_ledger_remove(d, b->account, 0, b->bytes);
    pithp_ledger_unlock(d);
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
    if (PITHP_UNLIKELY(d->poison)) {
        const unsigned char pattern = 0xDB;
        pithp_error e;
        (void)d->backend->fill(st, b->data, &pattern, 1, (int64_t)b->bytes, &e);
    }
    if (guarded(d))
        pithp_poison(b->data, b->room);
    /* Another thread may take the buffer once it is cached. */
    pithp_account *account = b->account;
    const size_t bytes = b->bytes;
    const bool may = may_keep(d, b);
    pithp_ledger_lock(d);
    const bool kept = may && pithp_cache_keep(st->cache, b);
    pithp_ledger_remove(d, account, bytes, 0);
    pithp_ledger_unlock(d);
    if (PITHP_UNLIKELY(!kept))
        give_back(b);
}

void pithp_buffer_release(pithp_buffer *b, int count) {
    if (!b)
        return;
    /* A caller with all references needs no decrement. */
    if (atomic_load_explicit(&b->refs, memory_order_acquire) != count &&
        atomic_fetch_sub_explicit(&b->refs, count, memory_order_acq_rel) != count)
        return;
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
