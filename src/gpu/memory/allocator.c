/* User-set allocators: selection of the current one, and return of blocks to their
 * source. */
#include "gpu/memory/allocator.h"

#include "gpu/device.h"
#include "gpu/memory/backend_pool.h"
#include "gpu/memory/cache.h"
#include "gpu/memory/host_block.h"
#include "gpu/memory/manager.h"
#include "gpu/memory/poison.h"
#include "gpu/memory/reclaim.h"

#include <string.h>

/* ---- Memory outside the pool ---- */

void *pithp_plain_take(pithp_device *d, size_t bytes, pithp_error *e) {
    const pithp_pool_ops *ops = pithp_pool_ops_of(d);
    if (ops && ops->allocate_plain)
        return ops->allocate_plain(d, bytes, e);
    void *data = pithp_allocate_aligned(d->runtime, bytes, PITHP_ALIGNMENT);
    if (!data)
        pithp_error_set(e, PITH_E_MEMORY, NULL, NULL,
                        "out of memory: %zu bytes of host memory", bytes);
    return data;
}

void pithp_plain_give(pithp_device *d, void *data, size_t bytes) {
    const pithp_pool_ops *ops = pithp_pool_ops_of(d);
    if (ops && ops->release_plain)
        ops->release_plain(d, data, bytes);
    else
        pithp_release_aligned(d->runtime, data, bytes, PITHP_ALIGNMENT);
}

/* ---- Sources ---- */

static void free_allocator(pithp_allocator *s) {
    if (s->arena)
        pithp_memory_arena_free(s->arena);
    pithp_release(s->device->runtime, s, sizeof *s);
}

/* The current allocator, with one more user; NULL: the backend. */
static pithp_allocator *enter(pithp_memory_manager *m) {
    if (PITHP_LIKELY(!atomic_load_explicit(&m->allocator, memory_order_acquire)))
        return NULL;
    pthread_mutex_lock(&m->allocator_lock);
    pithp_allocator *s = atomic_load(&m->allocator);
    if (s)
        s->blocks++;
    pthread_mutex_unlock(&m->allocator_lock);
    return s;
}

static void leave(pithp_allocator *s) {
    pithp_memory_manager *m = s->device->memory;
    pthread_mutex_lock(&m->allocator_lock);
    const bool done = --s->blocks == 0 && s->replaced;
    if (done) {
        pithp_allocator **at = &m->allocators;
        while (*at != s)
            at = &(*at)->next;
        *at = s->next;
        s->next = m->dead_allocators;
        m->dead_allocators = s;
    }
    pthread_mutex_unlock(&m->allocator_lock);
}

pithp_allocator *pithp_allocators_take_dead(pithp_device *d) {
    pithp_memory_manager *m = d->memory;
    pthread_mutex_lock(&m->allocator_lock);
    pithp_allocator *first = m->dead_allocators;
    m->dead_allocators = NULL;
    pthread_mutex_unlock(&m->allocator_lock);
    return first;
}

void pithp_allocators_free(pithp_allocator *first) {
    while (first) {
        pithp_allocator *s = first;
        first = s->next;
        free_allocator(s);
    }
}

/* User functions run with the device current. */
static void
give_to_user(const pithp_allocator *s, pithp_stream *st, void *data, size_t bytes) {
    const pith_memory_allocator *a = &s->given;
    const pithp_backend *backend = st->device->backend;
    pithp_caller caller;
    pithp_error ignored; /* memory of a dead device is returned too */
    if (backend->enter)
        (void)backend->enter(st->device, &caller, &ignored);
    a->release(a->context, data, bytes, PITHP_ALIGNMENT, pithp_stream_native(st));
    if (backend->leave)
        backend->leave(st->device, &caller);
}

static void *
take_from_user(const pithp_allocator *s, pithp_stream *st, size_t bytes, pithp_error *e) {
    const pith_memory_allocator *a = &s->given;
    const pithp_backend *backend = st->device->backend;
    pithp_caller caller;
    if (backend->enter && backend->enter(st->device, &caller, e) != PITH_OK)
        return NULL;
    void *data = a->allocate(a->context, bytes, PITHP_ALIGNMENT, pithp_stream_native(st));
    if (backend->leave)
        backend->leave(st->device, &caller);
    if (data && (uintptr_t)data % PITHP_ALIGNMENT == 0)
        return data;
    if (data) {
        give_to_user(s, st, data, bytes);
        pithp_error_set(e, PITH_E_CALLBACK, NULL, NULL,
                        "the allocator returned %p, which is not a multiple of %d", data,
                        PITHP_ALIGNMENT);
    } else {
        pithp_error_set(e, PITH_E_MEMORY, NULL, NULL,
                        "out of memory: the allocator failed for %zu bytes", bytes);
    }
    return NULL;
}

void *pithp_allocator_take(pithp_stream *st,
                           size_t bytes,
                           pithp_allocator **allocator,
                           pithp_error *e) {
    pithp_allocator *s = enter(st->device->memory);
    void *data = NULL;
    *allocator = s;
    if (PITHP_LIKELY(!s))
        return st->device->backend->allocate(st, bytes, e);
    if (s->arena)
        data = pithp_memory_arena_take(s->arena, st, bytes, e);
    else if (s->given.kind == PITH_ALLOCATOR_USER)
        data = take_from_user(s, st, bytes ? bytes : 1, e);
    else
        data = pithp_plain_take(st->device, bytes ? bytes : 1, e);
    if (!data)
        leave(s);
    return data;
}

void pithp_allocator_give(pithp_stream *st,
                          pithp_allocator *s,
                          void *data,
                          size_t bytes) {
    pithp_device *d = st->device;
    pithp_error ignored; /* a dead device has nothing to wait for */
    if (PITHP_LIKELY(!s)) {
        d->backend->release(st, data, bytes);
        return;
    }
    if (d->backend->addressable)
        pithp_unpoison(data, bytes);
    if (s->arena) {
        pithp_memory_arena_give(s->arena, st, data);
    } else if (s->given.kind == PITH_ALLOCATOR_USER) {
        if (d->backend->addressable &&
            !d->immediate) /* users cannot wait for a host stream */
            d->backend->synchronise(st, &ignored);
        give_to_user(s, st, data, bytes ? bytes : 1);
    } else {
        if (!d->immediate)
            d->backend->synchronise(st, &ignored);
        pithp_plain_give(d, data, bytes ? bytes : 1);
    }
    leave(s);
}

void pithp_allocator_info(pithp_device *d, pith_memory_info *info) {
    pithp_allocator *s = d->memory ? enter(d->memory) : NULL;
    if (!s)
        return;
    if (s->arena) {
        info->pool = pithp_memory_arena_left(s->arena) + pithp_ledger_read(d).owned;
        info->free = 0; /* outside the arena */
    }
    leave(s);
}

/* ---- Setting ---- */

/* Make a new allocator current. */
static void replace(pithp_device *d, pithp_allocator *fresh) {
    pithp_memory_manager *m = d->memory;
    pthread_mutex_lock(&m->allocator_lock);
    pithp_allocator *old = atomic_exchange(&m->allocator, fresh);
    if (fresh) {
        fresh->next = m->allocators;
        m->allocators = fresh;
    }
    if (old) {
        old->replaced = true;
        old->blocks++;
    }
    pthread_mutex_unlock(&m->allocator_lock);
    if (old)
        leave(old);
}

static const char *mistake_in(const pith_memory_allocator *a) {
    if (a->kind == PITH_ALLOCATOR_USER)
        return a->allocate && a->release ? NULL : "a function is missing";
    return a->kind == PITH_ALLOCATOR_POOL || a->kind == PITH_ALLOCATOR_PLAIN ||
                   a->kind == PITH_ALLOCATOR_ARENA
               ? NULL
               : "invalid kind of allocator";
}

/* NULL sets the scope's error. */
static pithp_allocator *make_allocator(pith_scope *s,
                                       const pith_memory_allocator *given) {
    pithp_device *d = pithp_scope_device(s);
    pithp_allocator *made = pithp_allocate(d->runtime, sizeof *made);
    if (!made) {
        pithp_fail_memory(s, sizeof *made);
        return NULL;
    }
    *made = (pithp_allocator){.device = d, .given = *given};
    if (given->kind != PITH_ALLOCATOR_ARENA)
        return made;
    pithp_error e;
    const size_t bytes = given->arena ? given->arena : pith_memory_about(d->runtime).free;
    if (bytes > d->total)
        pithp_error_set(&e, PITH_E_MEMORY, NULL, NULL,
                        "no room for an arena of %zu bytes on a device of %zu", bytes,
                        d->total);
    else
        made->arena = pithp_memory_arena_make(d, bytes, &e);
    if (made->arena)
        return made;
    pithp_release(d->runtime, made, sizeof *made);
    pithp_fail(s, e.code, NULL, "pith_memory_set_allocator: %s", e.text);
    return NULL;
}

bool pith_memory_set_allocator(pith_scope *s, const pith_memory_allocator *allocator) {
    static const pith_memory_allocator pool;
    const pith_memory_allocator *given = allocator ? allocator : &pool;
    if (!pithp_enter_untraced(s, "pith_memory_set_allocator"))
        return false;
    const char *mistake = mistake_in(given);
    if (mistake) {
        pithp_fail(s, PITH_E_ARG, NULL, "pith_memory_set_allocator: %s", mistake);
        return false;
    }
    pithp_device *d = pithp_scope_device(s);
    const pithp_pool_ops *ops = pithp_pool_ops_of(d);
    const bool is_pool = given->kind == PITH_ALLOCATOR_POOL;
    pithp_allocator *made = is_pool ? NULL : make_allocator(s, given);
    if (!is_pool && !made)
        return false;
    pith_memory_invalidate_all(s->runtime);
    if (is_pool && ops &&
        ops->set) /* half of `keep` is for the buffer caches, half for the pool */
        ops->set(d, given->keep - given->keep / 2, given->reproducible);
    if (is_pool)
        pithp_caches_bound(d, given->keep ? given->keep : SIZE_MAX);
    replace(d, made);
    pithp_trim(d);
    return true;
}

pith_allocator_kind pith_memory_allocator_kind(const pith_runtime *rt) {
    pithp_device *d = pithp_runtime_valid(rt) ? pithp_runtime_device(rt) : NULL;
    pithp_allocator *s = d ? enter(d->memory) : NULL;
    const pith_allocator_kind kind = s ? s->given.kind : PITH_ALLOCATOR_POOL;
    if (s)
        leave(s);
    return kind;
}

size_t pith_memory_trim(pith_runtime *rt) {
    pithp_device *d = pithp_runtime_valid(rt) ? pithp_runtime_device(rt) : NULL;
    if (!d || !pithp_may_change(rt, __func__))
        return 0;
    const size_t of_host_arrays = pithp_host_blocks_trim(d);
    return of_host_arrays + pithp_trim(d);
}

void pithp_allocators_close(pithp_device *d) {
    pithp_memory_manager *m = d->memory;
    if (!m->allocators && !m->dead_allocators)
        return;
    replace(d, NULL);
    for (pithp_stream *st = d->streams; st; st = st->next) {
        pithp_error ignored;
        d->backend->synchronise(st, &ignored);
    }
    pithp_caches_trim(d);
    pithp_allocators_free(pithp_allocators_take_dead(d));
    pithp_allocators_free(m->allocators); /* blocks that were never returned */
    m->allocators = NULL;
}
