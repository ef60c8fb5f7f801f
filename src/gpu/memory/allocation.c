/* Allocations on request: labelled memory of instances, until they free it, close, or are
 * invalidated. */
#include "gpu/memory/allocation.h"

#include "gpu/device.h"
#include "gpu/memory/reclaim.h"

#include <string.h>

/* ---- Release ---- */

static void free_one(pithp_device *d, pithp_allocation *a) {
    pithp_error e;
    if (a->buffer) {
        pithp_buffer_release(a->buffer, 1);
    } else {
        if (!d->immediate) /* enqueued work may still use it */
            d->backend->synchronise(a->stream, &e);
        pithp_pinned_give(d, a->given.host, a->given.bytes);
    }
    pithp_release(d->runtime, a, sizeof *a);
}

void pithp_allocation_release(pithp_device *d, pithp_allocation *a) {
    if (atomic_fetch_sub_explicit(&a->refs, 1, memory_order_acq_rel) == 1)
        free_one(d, a);
}

void pithp_allocations_free(pithp_device *d, pithp_allocation *first) {
    while (first) {
        pithp_allocation *next = first->next;
        pithp_allocation_release(d, first);
        first = next;
    }
}

pithp_allocation *pithp_allocations_take(pith_instance *i) {
    pithp_allocation *first = i->allocations;
    i->allocations = NULL;
    return first;
}

void pithp_instance_free_own(pith_instance *i) {
    pthread_mutex_lock(&i->device->memory->lock);
    pithp_allocation *first = pithp_allocations_take(i);
    pthread_mutex_unlock(&i->device->memory->lock);
    pithp_allocations_free(i->device, first);
}

pithp_allocation *pithp_allocation_take(pith_instance *i, const char *label) {
    for (pithp_allocation **at = &i->allocations; *at; at = &(*at)->next) {
        pithp_allocation *a = *at;
        if (strcmp(a->label, label) != 0)
            continue;
        *at = a->next;
        a->next = NULL;
        return a;
    }
    return NULL;
}

/* ---- Making ---- */

static pithp_buffer *
obtain(pithp_stream *st, pith_instance *i, size_t bytes, pithp_error *e) {
    pithp_shortage why;
    pithp_buffer *b = pithp_buffer_try(st, i, bytes, &why);
    b = b ? b : pithp_reclaim_and_try(st, i, bytes, &why);
    if (!b)
        *e = why.error;
    return b;
}

static pithp_allocation *
make_one(pithp_stream *st, const pithp_request *r, int64_t length, pithp_error *e) {
    pithp_device *d = st->device;
    pithp_allocation *a = pithp_allocate(d->runtime, sizeof *a);
    if (!a) {
        pithp_error_set(e, PITH_E_MEMORY, NULL, NULL,
                        "out of memory: %zu bytes of host memory", sizeof *a);
        return NULL;
    }
    *a = (pithp_allocation){.stream = st, .refs = 1};
    memcpy(a->label, r->label, sizeof a->label);
    a->given = (pith_allocation){.label = a->label,
                                 .memory = r->asked.memory,
                                 .dtype = r->asked.dtype,
                                 .shape = pithp_request_shape(r, length),
                                 .whole = r->asked.shape,
                                 .chunk_axis = r->asked.chunk_axis,
                                 .bytes = pithp_request_bytes(r, length)};
    bool made;
    if (r->asked.memory == PITH_MEMORY_DEVICE) {
        a->buffer = obtain(st, r->instance, a->given.bytes, e);
        a->given.data = a->buffer ? a->buffer->data : NULL;
        made = a->buffer;
    } else {
        void *mapped = NULL;
        a->given.host = pithp_pinned_take(d, a->given.bytes, &mapped, e);
        a->given.data = r->asked.memory == PITH_MEMORY_MAPPED ? mapped : NULL;
        made = a->given.host;
    }
    if (made)
        return a;
    pithp_release(d->runtime, a, sizeof *a);
    return NULL;
}

pithp_allocation *pithp_allocations_make(pithp_stream *st,
                                         const pithp_request *first,
                                         const int64_t *length,
                                         uint64_t serial,
                                         pithp_error *e) {
    pithp_allocation *made = NULL, **last = &made;
    for (const pithp_request *r = first; r; r = r->next) {
        pithp_allocation *a = make_one(st, r, length ? *length : r->runs, e);
        if (!a) {
            pithp_allocations_free(st->device, made);
            return NULL;
        }
        a->serial = serial;
        *last = a;
        last = &a->next;
    }
    return made;
}

pithp_allocation *pithp_allocations_link(const pithp_request *first,
                                         pithp_allocation *made) {
    pithp_allocation *surplus = NULL;
    for (const pithp_request *r = first; r; r = r->next) {
        pithp_allocation *a = made;
        made = made->next;
        pith_instance *i = r->instance;
        pithp_allocation *gone = i->open ? pithp_allocation_take(i, a->label) : a;
        if (i->open) {
            a->next = i->allocations;
            i->allocations = a;
        }
        if (gone) {
            gone->next = surplus;
            surplus = gone;
        }
    }
    return surplus;
}

/* ---- Public functions ---- */

static bool allocate_whole(pith_scope *s,
                           pith_instance *instance,
                           const pith_request *requests,
                           int64_t count,
                           const char *function) {
    if (!pithp_enter_untraced(s, function))
        return false;
    pith_instance *i = pithp_instance_use(s, instance, function);
    if (!i)
        return false;
    pithp_device *d = i->device;
    pithp_request *first = pithp_requests_make(s, requests, count, i, function);
    pithp_stream *st = first ? pithp_group_stream(s, i) : NULL;
    pithp_error e;
    pithp_allocation *made = st ? pithp_allocations_make(st, first, NULL, 0, &e) : NULL;
    if (made) {
        pthread_mutex_lock(&d->memory->lock);
        pithp_allocation *surplus = pithp_allocations_link(first, made);
        pthread_mutex_unlock(&d->memory->lock);
        pithp_allocations_free(d, surplus);
    } else if (st) {
        pithp_fail_device(s, &e);
    }
    if (st)
        pithp_stream_leave(st);
    pithp_requests_free(d, first);
    pithp_instance_unuse(i);
    return made != NULL;
}

bool(pith_instance_allocate_all)(pith_scope *s,
                                 pith_instance *instance,
                                 int64_t count,
                                 const pith_request *requests) {
    return allocate_whole(s, instance, requests, count, "pith_instance_allocate_all");
}

const pith_allocation *(pith_instance_allocate)(pith_scope *s,
                                                pith_instance *instance,
                                                const pith_request *request) {
    return allocate_whole(s, instance, request, 1, "pith_instance_allocate")
               ? pith_instance_find_allocation(instance, request->label)
               : NULL;
}

const pith_allocation *pith_instance_find_allocation(pith_instance *instance,
                                                     const char *label) {
    const pith_instance *i = pithp_instance_of_pointer(instance);
    const pithp_allocation *a = NULL;
    if (!i || !label)
        return NULL;
    pthread_mutex_lock(&i->device->memory->lock);
    for (a = i->allocations; a && strcmp(a->label, label) != 0;)
        a = a->next;
    pthread_mutex_unlock(&i->device->memory->lock);
    return a ? &a->given : NULL;
}

bool(pith_instance_free)(pith_scope *s, pith_instance *instance, const char *label) {
    static const char function[] = "pith_instance_free";
    if (!pithp_enter_untraced(s, "pith_instance_free"))
        return false;
    pith_instance *i = pithp_instance_use(s, instance, function);
    if (!i)
        return false;
    pthread_mutex_lock(&i->device->memory->lock);
    pithp_allocation *a = label ? pithp_allocation_take(i, label) : NULL;
    pthread_mutex_unlock(&i->device->memory->lock);
    if (!a)
        pithp_fail(s, PITH_E_ARG, NULL, "%s: \"%s\" has no allocation \"%.64s\"",
                   function, i->name, label ? label : "(null)");
    pithp_allocations_free(i->device, a);
    pithp_instance_unuse(i);
    return a != NULL;
}

void pith_instance_free_all(pith_instance *instance) {
    pith_instance *i = pithp_instance_of_pointer(instance);
    if (i && pithp_may_change(i->device->runtime, __func__))
        pithp_instance_free_own(i);
}

int64_t pith_memory_free(pith_runtime *rt, const char *label) {
    pithp_device *d = pithp_runtime_valid(rt) ? pithp_runtime_device(rt) : NULL;
    pithp_allocation *all = NULL;
    int64_t count = 0;
    if (!d || !label || !pithp_may_change(rt, __func__))
        return 0;
    pthread_mutex_lock(&d->memory->lock);
    for (pith_instance *i = d->memory->first; i; i = i->next) {
        pithp_allocation *a = pithp_allocation_take(i, label);
        if (!a)
            continue;
        a->next = all;
        all = a;
        count++;
    }
    pthread_mutex_unlock(&d->memory->lock);
    pithp_allocations_free(d, all);
    return count;
}

/* ---- Copies ---- */

/* A live allocation of the instance, retained; or NULL. */
static pithp_allocation *own(pith_instance *i, const pith_allocation *given) {
    pthread_mutex_lock(&i->device->memory->lock);
    pithp_allocation *a = i->allocations;
    while (a && &a->given != given)
        a = a->next;
    if (a)
        pithp_allocation_retain(a);
    pthread_mutex_unlock(&i->device->memory->lock);
    return a;
}

static bool is_own(pith_instance *i, const pith_allocation *given) {
    pithp_allocation *a = own(i, given);
    if (a)
        pithp_allocation_release(i->device, a);
    return a != NULL;
}

static pith_status copy_one(pithp_stream *st,
                            const pith_allocation *a,
                            void *host,
                            bool out,
                            pithp_error *e) {
    const pithp_backend *backend = st->device->backend;
    if (!a->data) { /* pinned host memory: wait for enqueued work before the copy */
        const pith_status rc = backend->synchronise(st, e);
        if (rc == PITH_OK)
            memcpy(out ? host : a->host, out ? a->host : host, a->bytes);
        return rc;
    }
    return out ? backend->copy_out(st, host, a->data, a->bytes, e)
               : backend->copy_in(st, a->data, host, a->bytes, e);
}

/* Exactly one of `in` and `out` is not NULL: the host addresses. */
static bool copy_all(pith_scope *s,
                     pith_instance *instance,
                     const pith_allocation *const *given,
                     const void *const *in,
                     void *const *out,
                     int64_t count,
                     const char *function) {
    if (!pithp_enter_untraced(s, function))
        return false;
    pith_instance *i = pithp_instance_use(s, instance, function);
    if (!i)
        return false;
    pithp_stream *st = NULL;
    bool good = count >= 0 && given && (in || out);
    for (int k = 0; good && k < count; k++)
        good = (out ? out[k] : in[k]) && is_own(i, given[k]);
    if (!good)
        pithp_fail(s, PITH_E_ARG, NULL,
                   "%s: an allocation to copy is NULL or not a live "
                   "allocation of \"%s\"",
                   function, i->name);
    else
        st = pithp_group_stream(s, i);
    for (int k = 0; st && good && k < count; k++) {
        pithp_error e;
        pithp_allocation *a = own(i, given[k]);
        if (!a)
            continue; /* another thread has freed it */
        void *host = out ? out[k] : (void *)(uintptr_t)in[k];
        good = !a->given.bytes || copy_one(st, &a->given, host, out, &e) == PITH_OK;
        pithp_allocation_release(i->device, a);
        if (!good)
            pithp_fail_device(s, &e);
    }
    if (st)
        pithp_stream_leave(st);
    pithp_instance_unuse(i);
    return st && good;
}

bool(pith_instance_to_device)(pith_scope *s,
                              pith_instance *instance,
                              int64_t count,
                              const pith_allocation *const *to,
                              const void *const *host) {
    return copy_all(s, instance, to, host, NULL, count, "pith_instance_to_device");
}

bool(pith_instance_from_device)(pith_scope *s,
                                pith_instance *instance,
                                int64_t count,
                                const pith_allocation *const *from,
                                void *const *host) {
    return copy_all(s, instance, from, NULL, host, count, "pith_instance_from_device");
}
