/* Instance groups: instances that share a stream. */
#include "gpu/device.h"
#include "gpu/memory/manager.h"

#include <string.h>

const char *pithp_name_mistake(const char *name) {
    if (!name || !name[0])
        return "the name is NULL or empty";
    return strnlen(name, PITHP_NAME_BYTES) == PITHP_NAME_BYTES
               ? "the name has more than 63 bytes"
               : NULL;
}

pithp_group *pithp_group_find(const pithp_memory_manager *m, const char *name) {
    for (pithp_group *g = m->groups; g; g = g->next)
        if (strcmp(g->name, name) == 0)
            return g;
    return NULL;
}

pithp_group *pithp_group_join(pithp_device *d, const char *name) {
    pithp_memory_manager *m = d->memory;
    pithp_group *g = pithp_group_find(m, name);
    if (!g) {
        g = pithp_allocate(d->runtime, sizeof *g);
        if (!g)
            return NULL;
        *g = (pithp_group){.next = m->groups};
        memcpy(g->name, name, strlen(name) + 1);
        m->groups = g;
    }
    g->members++;
    return g;
}

pithp_stream *pithp_group_leave(pithp_device *d, pithp_group *g) {
    if (--g->members)
        return NULL;
    pithp_group **at = &d->memory->groups;
    while (*at != g)
        at = &(*at)->next;
    *at = g->next;
    pithp_stream *stream = g->stream;
    pithp_release(d->runtime, g, sizeof *g);
    return stream;
}

/* A stream is made without the lock. If two threads make one at the same time, the first
 * one is used. */
static pithp_stream *give_stream(pith_scope *s, pith_instance *i) {
    pithp_device *d = i->device;
    pithp_stream *made = pithp_stream_join(s, d);
    if (!made)
        return NULL;
    pithp_stream *taken = made;
    pthread_mutex_lock(&d->memory->lock);
    if (i->group && !i->group->stream) {
        i->group->stream = made;
        i->group->age = d->memory->age;
        made = NULL;
    }
    if (i->group) {
        taken = i->group->stream;
        pithp_stream_add_user(taken);
    }
    pthread_mutex_unlock(&d->memory->lock);
    if (made)
        pithp_stream_leave(made);
    return taken;
}

pithp_stream *pithp_group_stream(pith_scope *s, pith_instance *i) {
    pithp_device *d = i->device;
    pthread_mutex_lock(&d->memory->lock);
    pithp_stream *st = i->group ? i->group->stream : NULL;
    if (st)
        pithp_stream_add_user(st);
    pthread_mutex_unlock(&d->memory->lock);
    return st ? st : give_stream(s, i);
}

/* ---- Public functions ---- */

const char *pith_instance_group(const pith_instance *instance) {
    const pith_instance *i = pithp_instance_of_pointer(instance);
    if (!i)
        return "";
    pthread_mutex_lock(&i->device->memory->lock);
    const char *name = i->open && i->group ? i->group->name : "";
    pthread_mutex_unlock(&i->device->memory->lock);
    return name;
}

bool pith_instance_is_grouped(const pith_instance *instance) {
    const pith_instance *i = pithp_instance_of_pointer(instance);
    if (!i)
        return false;
    pthread_mutex_lock(&i->device->memory->lock);
    const bool grouped = i->open && i->group && i->group->members > 1 &&
                         strcmp(i->group->name, "default") != 0;
    pthread_mutex_unlock(&i->device->memory->lock);
    return grouped;
}

/* Check an instance that can be in a group, for `function`. */
static pith_instance *
grouped_instance(pith_scope *s, pith_instance *instance, const char *function) {
    pith_instance *i = pithp_instance_check(s, instance, function);
    if (!i || i != i->device->memory->standard)
        return i;
    pithp_fail(s, PITH_E_ARG, NULL, "%s: \"default\" has no group", function);
    return NULL;
}

/* Order work on the new stream after the work enqueued on the old one. */
static bool order_streams(pith_scope *s, pith_instance *i, pithp_stream *old) {
    pithp_stream *now = pithp_group_stream(s, i);
    pithp_error e;
    if (!now)
        return false;
    const bool ordered =
        now == old || i->device->backend->wait_for(now, old, &e) == PITH_OK;
    pithp_stream_leave(now);
    if (!ordered)
        pithp_fail_device(s, &e);
    return ordered;
}

bool(pith_instance_set_group)(pith_scope *s, pith_instance *instance, const char *group) {
    static const char function[] = "pith_instance_set_group";
    if (!pithp_enter_untraced(s, "pith_instance_set_group"))
        return false;
    pith_instance *i = grouped_instance(s, instance, function);
    if (!i)
        return false;
    const char *mistake = pithp_name_mistake(group);
    if (mistake) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: %s", function, mistake);
        return false;
    }
    pithp_device *d = i->device;
    pthread_mutex_lock(&d->memory->lock);
    pithp_group *to = pithp_group_join(d, group), *from = i->group;
    pithp_stream *old = to ? from->stream : NULL, *left = NULL;
    if (to) {
        if (old)
            pithp_stream_add_user(old);
        pithp_queue_move(i, to);
        i->group = to;
        left = pithp_group_leave(d, from);
    }
    pthread_mutex_unlock(&d->memory->lock);
    if (!to)
        return pithp_fail_memory(s, sizeof *to) == PITH_OK;
    const bool ordered = !old || order_streams(s, i, old);
    if (old)
        pithp_stream_leave(old);
    if (left)
        pithp_stream_leave(left);
    return ordered;
}

void *(pith_instance_stream)(pith_scope *s, pith_instance *instance) {
    if (!pithp_enter(s))
        return NULL;
    pith_instance *i = grouped_instance(s, instance, "pith_instance_stream");
    pithp_stream *st = i ? pithp_group_stream(s, i) : NULL;
    if (!st)
        return NULL;
    void *native = pithp_stream_native(st);
    pithp_stream_leave(st);
    return native;
}

bool(pith_instance_wait)(pith_scope *s, pith_instance *instance) {
    if (!pithp_enter(s))
        return false;
    pith_instance *i = grouped_instance(s, instance, "pith_instance_wait");
    pithp_stream *st = i ? pithp_group_stream(s, i) : NULL;
    if (!st)
        return false;
    pithp_error e;
    bool passed = true;
    if (st == pithp_scope_stream(s)) /* its failed checks belong to this scope */
        passed = pithp_synchronise(s) == PITH_OK;
    else if (st->device->backend->synchronise(st, &e) != PITH_OK)
        passed = pithp_fail_device(s, &e) == PITH_OK;
    pithp_stream_leave(st);
    return passed;
}

/* A group with a stream older than `age`. The lock is held. */
static pithp_group *old_group(const pithp_memory_manager *m, uint64_t age) {
    for (pithp_group *g = m->groups; g; g = g->next)
        if (g->stream && g->age < age)
            return g;
    return NULL;
}

/* Replace the stream of one such group; returns its old stream, or NULL. */
static pithp_stream *
replace_stream(pithp_memory_manager *m, uint64_t age, pithp_stream *fresh) {
    pthread_mutex_lock(&m->lock);
    pithp_group *g = old_group(m, age);
    pithp_stream *old = g ? g->stream : NULL;
    if (g) {
        g->stream = fresh;
        g->age = age;
    }
    pthread_mutex_unlock(&m->lock);
    return old;
}

bool(pith_memory_reset_streams)(pith_scope *s) {
    if (!pithp_enter_untraced(s, "pith_memory_reset_streams"))
        return false;
    pithp_device *d = pithp_scope_device(s);
    pithp_memory_manager *m = d->memory;
    pthread_mutex_lock(&m->lock);
    const uint64_t age = ++m->age;
    bool more = old_group(m, age) != NULL;
    pthread_mutex_unlock(&m->lock);
    while (more) {
        pithp_stream *fresh = pithp_stream_make(s, d);
        if (!fresh)
            return false;
        pithp_stream *old = replace_stream(m, age, fresh);
        pithp_error e;
        more = old != NULL;
        const bool waited = !more || d->backend->synchronise(old, &e) == PITH_OK;
        pithp_stream_leave(more ? old : fresh);
        if (!waited)
            return pithp_fail_device(s, &e) == PITH_OK;
    }
    return true;
}
