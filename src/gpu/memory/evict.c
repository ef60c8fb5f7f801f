/* Eviction: frees allocations of idle instances if memory is short, or of all instances
 * on request. Arrays owned by a scope are never evicted. */
#include "base/in_flight.h"
#include "gpu/memory/allocation.h"

uint64_t pithp_clearing_begin(pithp_device *d) {
    pthread_mutex_lock(&d->memory->lock);
    const uint64_t clearing = ++d->memory->clock;
    pthread_mutex_unlock(&d->memory->lock);
    return clearing;
}

/* Device memory that evicting an instance in this clearing would free. The lock is
 * held. */
static size_t evictable_of(const pith_instance *i, uint64_t clearing) {
    size_t bytes = 0;
    if (i->scopes > 0 || i->told >= clearing)
        return 0;
    for (const pithp_allocation *a = i->allocations; a; a = a->next)
        bytes += a->buffer ? a->given.bytes : 0;
    return bytes;
}

size_t pithp_evictable(const pithp_memory_manager *m, uint64_t clearing) {
    size_t bytes = 0;
    for (const pith_instance *i = m->first; i; i = i->next)
        bytes += evictable_of(i, clearing);
    return bytes;
}

/* The least recently used evictable instance. The lock is held. */
static pith_instance *least_recent(const pithp_memory_manager *m, uint64_t clearing) {
    pith_instance *least = NULL;
    for (pith_instance *i = m->first; i; i = i->next)
        if (evictable_of(i, clearing) > 0 && (!least || i->used < least->used))
            least = i;
    return least;
}

/* Mark an instance as in use, so that it stays open while its hook runs. The lock is
 * held. */
static void mark(pith_instance *i, uint64_t clearing) {
    i->told = clearing;
    i->scopes++;
}

/* Memory may run short while a function is traced; the calls of the hook are not
 * traced. */
static void call_hook(pith_instance *i) {
    if (!i->invalidate)
        return;
    pith_scope *s = pithp_scope_in_flight(i->device->runtime);
    void *trace = s ? s->room[PITHP_ROOM_TRACE] : NULL;
    if (s)
        s->room[PITHP_ROOM_TRACE] = NULL;
    i->invalidate(i, i->closure);
    if (s)
        s->room[PITHP_ROOM_TRACE] = trace;
}

bool pithp_evict_one(pithp_device *d, uint64_t clearing, size_t *bytes) {
    pithp_memory_manager *m = d->memory;
    pthread_mutex_lock(&m->lock);
    pith_instance *i = least_recent(m, clearing);
    if (i)
        mark(i, clearing);
    pthread_mutex_unlock(&m->lock);
    if (!i)
        return false;
    call_hook(i);
    const size_t before = pithp_account_read(d, &i->account).owned;
    pithp_instance_free_own(i);
    const size_t after = pithp_account_read(d, &i->account).owned;
    *bytes += before > after ? before - after : 0;
    pithp_instance_unuse(i);
    return true;
}

/* ---- Invalidation of all ---- */

/* The next instance older than `clearing`, marked as in use; or NULL. */
static pith_instance *next_uncalled(pithp_memory_manager *m, uint64_t clearing) {
    pthread_mutex_lock(&m->lock);
    pith_instance *i = m->first;
    while (i && i->told >= clearing)
        i = i->next;
    if (i)
        mark(i, clearing);
    pthread_mutex_unlock(&m->lock);
    return i;
}

/* All hooks run before any memory is freed. */
void pith_memory_invalidate_all(pith_runtime *rt) {
    pithp_device *d = pithp_runtime_valid(rt) ? pithp_runtime_device(rt) : NULL;
    pith_instance *i;
    if (!d || !pithp_may_change(rt, __func__))
        return;
    const uint64_t hooks = pithp_clearing_begin(d);
    while ((i = next_uncalled(d->memory, hooks))) {
        call_hook(i);
        pithp_instance_unuse(i);
    }
    const uint64_t frees = pithp_clearing_begin(d);
    while ((i = next_uncalled(d->memory, frees))) {
        pithp_instance_free_own(i);
        pithp_instance_unuse(i);
    }
}
