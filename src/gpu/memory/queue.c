/* Request queues: all requests of a group are allocated together, split into the same
 * chunks. */
#include "gpu/device.h"
#include "gpu/memory/allocation.h"

#include <stdio.h>
#include <string.h>

/* ---- The queue of a group; the lock is held ---- */

/* Remove and return the requests of an instance; with label, only that one. */
static pithp_request *
take_out(pithp_group *g, const pith_instance *i, const char *label) {
    pithp_request *out = NULL;
    for (pithp_request **at = &g->queue; *at;) {
        pithp_request *r = *at;
        if (r->instance == i && (!label || strcmp(r->label, label) == 0)) {
            *at = r->next;
            r->next = out;
            out = r;
        } else {
            at = &r->next;
        }
    }
    return out;
}

static void append(pithp_group *g, pithp_request *first) {
    pithp_request **at = &g->queue;
    while (*at)
        at = &(*at)->next;
    *at = first;
}

pithp_request *pithp_queue_take(pith_instance *i) {
    return i->group ? take_out(i->group, i, NULL) : NULL;
}

void pithp_queue_move(pith_instance *i, pithp_group *to) {
    append(to, take_out(i->group, i, NULL));
}

/* ---- Queueing ---- */

bool(pith_instance_queue)(pith_scope *s,
                          pith_instance *instance,
                          int64_t count,
                          const pith_request *requests) {
    static const char function[] = "pith_instance_queue";
    if (!pithp_enter_untraced(s, "pith_instance_queue"))
        return false;
    pith_instance *i = pithp_instance_use(s, instance, function);
    if (!i)
        return false;
    pithp_device *d = i->device;
    pithp_request *first = pithp_requests_make(s, requests, count, i, function),
                  *gone = NULL;
    const bool queued = first != NULL;
    if (first) {
        pthread_mutex_lock(&d->memory->lock);
        for (const pithp_request *r = first; r && i->open; r = r->next) {
            pithp_request *old = take_out(i->group, i, r->label);
            if (old) {
                old->next = gone;
                gone = old;
            }
        }
        if (i->open)
            append(i->group, first);
        pithp_request *lost = i->open ? NULL : first;
        pthread_mutex_unlock(&d->memory->lock);
        pithp_requests_free(d, lost);
        pithp_requests_free(d, gone);
    }
    pithp_instance_unuse(i);
    return queued;
}

void pith_instance_clear_queue(pith_instance *instance) {
    pith_instance *i = pithp_instance_of_pointer(instance);
    if (!i || !pithp_may_change(i->device->runtime, __func__))
        return;
    pthread_mutex_lock(&i->device->memory->lock);
    pithp_request *gone = i->open ? pithp_queue_take(i) : NULL;
    pthread_mutex_unlock(&i->device->memory->lock);
    pithp_requests_free(i->device, gone);
}

/* ---- Allocation of the queue ---- */

/* Take the whole queue of an instance's group, and mark its instances as in use. The lock
 * is held. */
static pithp_request *begin(pith_instance *i, char group[PITHP_NAME_BYTES]) {
    pithp_group *g = i->group;
    pithp_request *first = g->queue;
    g->queue = NULL;
    memcpy(group, g->name, PITHP_NAME_BYTES);
    for (pithp_request *r = first; r; r = r->next) {
        r->instance->scopes++;
        r->instance->used = ++i->device->memory->clock;
    }
    return first;
}

static bool is_queued(const pithp_group *g, const pith_instance *i, const char *label) {
    for (const pithp_request *r = g->queue; r; r = r->next)
        if (r->instance == i && strcmp(r->label, label) == 0)
            return true;
    return false;
}

/* Nothing was allocated: put the requests back, except those queued again meanwhile. */
static void put_back(pithp_device *d, pithp_request *first) {
    pithp_request *lost = NULL;
    while (first) {
        pithp_request *r = first;
        first = r->next;
        r->next = NULL;
        pith_instance *i = r->instance;
        pthread_mutex_lock(&d->memory->lock);
        pithp_group *g = i->open ? i->group : NULL;
        if (g && !is_queued(g, i, r->label)) {
            append(g, r);
        } else {
            r->next = lost;
            lost = r;
        }
        pthread_mutex_unlock(&d->memory->lock);
        pithp_instance_unuse(i);
    }
    pithp_requests_free(d, lost);
}

/* For each instance, compute the bytes that its requests will replace; returns the
 * sum. */
static size_t count_replaced(pithp_device *d, const pithp_request *first) {
    size_t sum = 0;
    pthread_mutex_lock(&d->memory->lock);
    for (const pithp_request *r = first; r; r = r->next)
        r->instance->replaced = 0;
    for (const pithp_request *r = first; r; r = r->next)
        for (const pithp_allocation *a = r->instance->allocations; a; a = a->next)
            if (a->buffer && strcmp(a->label, r->label) == 0) {
                r->instance->replaced += a->given.bytes;
                sum += a->given.bytes;
            }
    pthread_mutex_unlock(&d->memory->lock);
    return sum;
}

/* A split of a group's requests into chunks. */
typedef struct {
    bool fits;
    pith_chunks chunks;
    pith_status code; /* if they do not fit */
    char why[512];
} split;

/* Split requests to fit the memory of a group after idle instances free `evictable` bytes
 * and its own requests replace `replaced` bytes. The lock is held. */
static void split_into(pithp_device *d,
                       const pithp_request *first,
                       const char *group,
                       size_t replaced,
                       size_t evictable,
                       pithp_warnings *w,
                       split *into) {
    const pithp_memory_manager *m = d->memory;
    const pithp_group *g = pithp_group_find(m, group);
    const size_t left = g ? pithp_share_available(d, g, evictable, w) : 0;
    pithp_budget budget = {.capped = m->limits == PITH_LIMITS_ACTIVE};
    if (pithp_add_overflows(left, replaced, &budget.available))
        budget.available = SIZE_MAX;
    into->fits =
        pithp_chunks_plan(first, group, budget, &into->chunks, w, &into->code, into->why);
}

/* Split requests to fit the free memory, or the memory after evicting all idle instances
 * if that gives longer chunks; returns true then. The lock is held. */
static bool needs_eviction(pithp_device *d,
                           const pithp_request *first,
                           const char *group,
                           size_t replaced,
                           uint64_t clearing,
                           pithp_warnings *w,
                           split *best) {
    const size_t evictable = pithp_evictable(d->memory, clearing);
    pithp_warnings then_warnings = {0};
    split then;
    split_into(d, first, group, replaced, 0, w, best);
    if (evictable == 0 || (best->fits && best->chunks.count <= 1))
        return false;
    split_into(d, first, group, replaced, evictable, &then_warnings, &then);
    if (!then.fits || (best->fits && then.chunks.length <= best->chunks.length))
        return false;
    *best = then;
    *w = then_warnings;
    return true;
}

/* Split the requests of a group. Evicts idle instances, the least recently used first, as
 * long as that gives longer chunks. */
static bool plan(pithp_device *d,
                 const pithp_request *first,
                 const char *group,
                 pith_chunks *chunks,
                 pithp_error *e) {
    pithp_memory_manager *m = d->memory;
    pithp_warnings w;
    split best;
    size_t freed = 0;
    const size_t replaced = count_replaced(d, first);
    const uint64_t clearing = pithp_clearing_begin(d);
    bool evict;
    do {
        w = (pithp_warnings){0};
        pthread_mutex_lock(&m->lock);
        evict = needs_eviction(d, first, group, replaced, clearing, &w, &best);
        pthread_mutex_unlock(&m->lock);
        /* False if another thread uses the last idle instance now. */
    } while (evict && pithp_evict_one(d, clearing, &freed));
    if (evict) {
        w = (pithp_warnings){0};
        pthread_mutex_lock(&m->lock);
        split_into(d, first, group, replaced, 0, &w, &best);
        pthread_mutex_unlock(&m->lock);
    }
    pithp_warnings_tell(d, &w);
    *chunks = best.chunks;
    if (!best.fits)
        pithp_error_set(e, best.code, NULL, NULL, "pith_instance_allocate_queue: %s",
                        best.why);
    return best.fits;
}

static void free_replaced(pithp_device *d, const pithp_request *first) {
    for (const pithp_request *r = first; r; r = r->next) {
        pthread_mutex_lock(&d->memory->lock);
        pithp_allocation *a = pithp_allocation_take(r->instance, r->label);
        pthread_mutex_unlock(&d->memory->lock);
        pithp_allocations_free(d, a);
    }
}

/* Allocate in chunks, which may become shorter than planned: rounding and fragmentation
 * take memory that the ledger does not count. */
static pithp_allocation *allocate(pithp_stream *st,
                                  const pithp_request *first,
                                  pith_chunks *chunks,
                                  uint64_t serial,
                                  pithp_error *e) {
    const int64_t planned = chunks->length;
    for (;;) {
        pithp_allocation *made =
            pithp_allocations_make(st, first, &chunks->length, serial, e);
        if (made && chunks->length < planned) {
            pithp_warnings w = {0};
            pithp_warning_add(&w, PITH_WARNING_SHRUNK,
                              "chunks of %lld runs instead of %lld: there was less "
                              "memory than planned",
                              (long long)chunks->length, (long long)planned);
            pithp_warnings_tell(st->device, &w);
        }
        if (made || e->code != PITH_E_MEMORY || chunks->length <= 1)
            return made;
        *chunks = pithp_chunks_of(chunks->runs, (chunks->length + 1) / 2);
    }
}

/* ---- Ready hooks ---- */

static bool is_first_of_instance(const pithp_request *first, const pithp_request *r) {
    while (first != r && first->instance != r->instance)
        first = first->next;
    return first == r;
}

/* Collect and retain the allocations of an instance from this call that are still live.
 * The lock is held. */
static int gather(const pithp_request *first,
                  const pith_instance *i,
                  uint64_t serial,
                  const pith_allocation **into) {
    int count = 0;
    for (const pithp_request *r = first; r; r = r->next)
        for (pithp_allocation *a = r->instance == i ? i->allocations : NULL; a;
             a = a->next)
            if (a->serial == serial && strcmp(a->label, r->label) == 0) {
                pithp_allocation_retain(a);
                into[count++] = &a->given;
            }
    return count;
}

static void tell(pithp_device *d,
                 const pithp_request *first,
                 uint64_t serial,
                 pith_chunks chunks,
                 const pith_allocation **into) {
    for (const pithp_request *r = first; r; r = r->next) {
        pith_instance *i = r->instance;
        if (!is_first_of_instance(first, r))
            continue;
        pthread_mutex_lock(&d->memory->lock);
        const int count = gather(first, i, serial, into);
        pthread_mutex_unlock(&d->memory->lock);
        const pith_response response = {count, into, chunks};
        if (i->ready && count)
            i->ready(i, &response, i->closure);
        for (int k = 0; k < count; k++) /* `given` is the first member */
            pithp_allocation_release(d, (pithp_allocation *)(uintptr_t)into[k]);
    }
}

/* ---- Calls ---- */

/* Allocate and link. Returns false if nothing was allocated; e has the reason. */
static bool serve(pith_scope *s,
                  pith_instance *i,
                  const pithp_request *first,
                  const char *group,
                  uint64_t serial,
                  pith_chunks *chunks,
                  pithp_error *e) {
    pithp_device *d = i->device;
    if (!plan(d, first, group, chunks, e))
        return false;
    pithp_stream *st = pithp_group_stream(s, i);
    if (!st)
        return false; /* keeps the scope's error */
    free_replaced(d, first);
    pithp_allocation *made = allocate(st, first, chunks, serial, e);
    pithp_allocation *surplus = NULL;
    if (made) {
        pthread_mutex_lock(&d->memory->lock);
        surplus = pithp_allocations_link(first, made);
        pthread_mutex_unlock(&d->memory->lock);
    }
    pithp_allocations_free(d, surplus);
    pithp_stream_leave(st);
    return made != NULL;
}

static size_t count_of(const pithp_request *first) {
    size_t count = 0;
    for (const pithp_request *r = first; r; r = r->next)
        count++;
    return count;
}

static bool serve_and_tell(pith_scope *s,
                           pith_instance *i,
                           pithp_request *first,
                           const char *group,
                           uint64_t serial) {
    pithp_device *d = i->device;
    pithp_error e;
    pith_chunks chunks;
    const size_t bytes = count_of(first) * sizeof(pith_allocation *);
    const pith_allocation **into = pithp_allocate(d->runtime, bytes);
    if (!into)
        pithp_error_set(&e, PITH_E_MEMORY, NULL, NULL,
                        "out of memory: %zu bytes of host memory", bytes);
    const bool served = into && serve(s, i, first, group, serial, &chunks, &e);
    if (served) {
        tell(d, first, serial, chunks, into);
        for (const pithp_request *r = first; r; r = r->next)
            pithp_instance_unuse(r->instance);
        pithp_requests_free(d, first);
    } else {
        if (!pith_failed(s))
            pithp_fail_device(s, &e);
        put_back(d, first);
    }
    pithp_release(d->runtime, into, bytes);
    return served;
}

bool(pith_instance_allocate_queue)(pith_scope *s, pith_instance *instance) {
    if (!pithp_enter_untraced(s, "pith_instance_allocate_queue"))
        return false;
    pith_instance *i = pithp_instance_use(s, instance, "pith_instance_allocate_queue");
    if (!i)
        return false;
    pithp_memory_manager *m = i->device->memory;
    char group[PITHP_NAME_BYTES] = "";
    pthread_mutex_lock(&m->lock);
    const uint64_t serial = ++m->clock;
    pithp_request *first = i->open ? begin(i, group) : NULL;
    pthread_mutex_unlock(&m->lock);
    const bool served = !first || serve_and_tell(s, i, first, group, serial);
    pithp_instance_unuse(i);
    return served;
}

bool(pith_memory_chunks)(pith_scope *s,
                         const char *group,
                         int64_t count,
                         const pith_request *requests,
                         pith_chunks *chunks) {
    static const char function[] = "pith_memory_chunks";
    if (!pithp_enter(s))
        return false;
    if (!group || !chunks) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: NULL", function);
        return false;
    }
    pithp_device *d = pithp_scope_device(s);
    pithp_request *first = pithp_requests_make(s, requests, count, NULL, function);
    if (!first)
        return false;
    pithp_warnings w = {0};
    split best = {.code = PITH_E_ARG};
    snprintf(best.why, sizeof best.why, "no group \"%.64s\"", group);
    const uint64_t clearing = pithp_clearing_begin(d);
    pthread_mutex_lock(&d->memory->lock);
    if (pithp_group_find(d->memory, group))
        needs_eviction(d, first, group, 0, clearing, &w, &best);
    pthread_mutex_unlock(&d->memory->lock);
    pithp_warnings_tell(d, &w);
    pithp_requests_free(d, first);
    if (best.fits)
        *chunks = best.chunks;
    else
        pithp_fail(s, best.code, NULL, "%s: %s", function, best.why);
    return best.fits;
}
