/* Instance registry. An instance is an object in memory that stays until the runtime
 * closes, so that handles of closed instances are recognised. */
#include "base/format.h"
#include "gpu/device.h"
#include "gpu/memory/allocation.h"
#include "gpu/memory/allocator.h"
#include "gpu/memory/available.h"
#include "gpu/memory/host_block.h"
#include "gpu/memory/host_pool.h"

#include <stdio.h>
#include <string.h>

/* Tag of instance objects. */
static const char tag[] = "instance";

typedef struct slot {
    _Alignas(16) pithp_header header;
    pith_instance instance;
} slot;

/* In the first bytes of a block, after its header. */
typedef struct pithp_instance_chunk {
    struct pithp_instance_chunk *next;
    uint64_t reserved;
} chunk;

/* ---- Warnings ---- */

void pithp_warning_add(pithp_warnings *w, pith_warning what, const char *format, ...) {
    if (w->count == PITHP_COUNT(w->told))
        return;
    va_list arguments;
    va_start(arguments, format);
    pithp_format_v(w->told[w->count].text, sizeof w->told[0].text, format, arguments);
    va_end(arguments);
    w->told[w->count++].what = what;
}

void pithp_warnings_tell(pithp_device *d, const pithp_warnings *w) {
    if (!w->count)
        return;
    pthread_mutex_lock(&d->memory->lock);
    const pith_warning_hook hook = d->memory->warn;
    void *closure = d->memory->warn_closure;
    pthread_mutex_unlock(&d->memory->lock);
    for (int i = 0; i < w->count; i++) {
        if (hook)
            hook(w->told[i].what, w->told[i].text, closure);
        else
            pithp_log(d->runtime, PITH_LOG_WARNING, "%s", w->told[i].text);
    }
}

void pith_memory_set_warning_hook(pith_runtime *rt,
                                  pith_warning_hook hook,
                                  void *closure) {
    pithp_device *d = pithp_runtime_valid(rt) ? pithp_runtime_device(rt) : NULL;
    if (!d || !pithp_may_change(rt, __func__))
        return;
    pthread_mutex_lock(&d->memory->lock);
    d->memory->warn = hook;
    d->memory->warn_closure = closure;
    pthread_mutex_unlock(&d->memory->lock);
}

/* ---- Slots; the lock is held ---- */

/* Other threads may read the kind of the pointer. */
static void set_kind(pith_instance *i, pithp_kind kind) {
    __atomic_store_n(&pithp_header_of(i)->kind, (uint8_t)kind, __ATOMIC_RELAXED);
}

static void free_slot(pithp_memory_manager *m, pith_instance *i) {
    i->retired = true;
    i->next = NULL;
    *m->free_last = i;
    m->free_last = &i->next;
}

static bool add_chunk(pithp_device *d) {
    pithp_memory_manager *m = d->memory;
    pithp_block *block = pithp_block_acquire(d->runtime, PITHP_BLOCK_BYTES);
    if (!block)
        return false;
    chunk *made = (chunk *)(void *)(block + 1);
    *made = (chunk){.next = m->chunks};
    m->chunks = made;
    slot *slots = (slot *)(void *)(made + 1);
    const size_t count =
        (PITHP_BLOCK_BYTES - sizeof *block - sizeof *made) / sizeof *slots;
    memset(slots, 0, count * sizeof *slots);
    for (size_t k = 0; k < count; k++) {
        slots[k].header = (pithp_header){
            .magic = PITHP_OBJECT_MAGIC, .kind = PITHP_KIND_FREE, .descriptor = tag};
        slots[k].instance.device = d;
        free_slot(m, &slots[k].instance);
    }
    return true;
}

/* A new open instance; NULL if memory is short. */
static pith_instance *take_slot(pithp_device *d, const char *name) {
    pithp_memory_manager *m = d->memory;
    if (!m->free_first && !add_chunk(d))
        return NULL;
    pith_instance *i = m->free_first;
    m->free_first = i->next;
    if (!m->free_first)
        m->free_last = &m->free_first;
    memset(&i->account, 0, sizeof i->account);
    i->account.cap = SIZE_MAX;
    memcpy(i->name, name, strlen(name) + 1);
    i->open = true;
    i->retired = i->manual = false;
    i->part_of = NULL;
    i->pushed = NULL;
    i->proportion = 0;
    i->group = NULL;
    i->scopes = 0;
    i->allocations = NULL;
    i->replaced = 0;
    i->used = i->told = ++m->clock;
    i->invalidate = NULL;
    i->ready = NULL;
    i->closure = NULL;
    i->next = NULL;
    set_kind(i, PITHP_KIND_OTHER);
    return i;
}

/* Free a closed instance without scopes and buffers. */
static void retire_when_done(pithp_memory_manager *m, pith_instance *i) {
    if (i->open || i->retired || i->scopes ||
        !pithp_account_is_done(i->device, &i->account))
        return;
    if (!i->part_of) {
        const pithp_account last = pithp_account_read(i->device, &i->account);
        m->gone_total += last.total;
        m->gone_buffers += last.total_buffers;
    }
    free_slot(m, i);
}

void pithp_instance_retire(pithp_device *d, pithp_account *a) {
    pthread_mutex_lock(&d->memory->lock);
    retire_when_done(d->memory, (pith_instance *)a);
    pthread_mutex_unlock(&d->memory->lock);
}

/* ---- Manager ---- */

pith_status pithp_memory_open(pithp_device *d, pithp_error *e) {
    pithp_memory_manager *m = pithp_allocate(d->runtime, sizeof *m);
    if (m) {
        memset(m, 0, sizeof *m);
        pthread_mutex_t *const locks[] = {&m->lock, &m->log_lock, &m->allocator_lock};
        int made = 0;
        while (made < PITHP_COUNT(locks) && pthread_mutex_init(locks[made], NULL) == 0)
            made++;
        if (made < PITHP_COUNT(locks)) {
            while (made)
                pthread_mutex_destroy(locks[--made]);
            pithp_release(d->runtime, m, sizeof *m);
            m = NULL;
        }
    }
    if (m) {
        m->keep = SIZE_MAX;
        m->host_blocks = pithp_host_blocks_make(d->runtime);
        m->pinned_budget = pithp_installed_read("") / 4;
        m->last = &m->first;
        m->free_last = &m->free_first;
        d->memory = m;
        m->standard = take_slot(d, "default");
        if (m->standard && m->host_blocks) {
            m->standard->proportion = 1;
            return PITH_OK;
        }
        pithp_memory_close(d);
    }
    pithp_error_set(e, PITH_E_MEMORY, NULL, NULL,
                    "out of memory: no room for a memory manager");
    return PITH_E_MEMORY;
}

static void close_group(pithp_device *d, pithp_group *g) {
    pithp_stream *st = pithp_group_leave(d, g);
    if (st)
        pithp_stream_leave(st);
}

void pithp_memory_close(pithp_device *d) {
    pithp_memory_manager *m = d->memory;
    if (!m)
        return;
    for (pith_instance *i = m->first; i; i = i->next) {
        pithp_allocations_free(d, pithp_allocations_take(i));
        pithp_requests_free(d, pithp_queue_take(i));
        close_group(d, i->group);
    }
    pithp_allocators_close(d);
    while (m->chunks) {
        chunk *c = m->chunks;
        m->chunks = c->next;
        pithp_block_free(d->runtime, (pithp_block *)(void *)c - 1);
    }
    if (m->host_blocks)
        pithp_host_pool_free(m->host_blocks);
    pthread_mutex_destroy(&m->lock);
    pthread_mutex_destroy(&m->log_lock);
    pthread_mutex_destroy(&m->allocator_lock);
    pithp_release(d->runtime, m, sizeof *m);
    d->memory = NULL;
}

/* ---- Handles ---- */

static bool is_instance(const pith_instance *i) {
    pithp_block *block = NULL;
    return pithp_pointer_check(i, &block) == PITHP_POINTER_OK &&
           __atomic_load_n(&pithp_header_of(i)->kind, __ATOMIC_RELAXED) ==
               PITHP_KIND_OTHER &&
           pithp_header_of(i)->descriptor == tag;
}

pith_instance *pithp_instance_of_pointer(const pith_instance *i) {
    return is_instance(i) ? (pith_instance *)(uintptr_t)i : NULL;
}

pith_instance *
pithp_instance_check(pith_scope *s, const pith_instance *i, const char *function) {
    pithp_block *block = NULL;
    const pithp_pointer verdict = pithp_pointer_check(i, &block);
    const char *why = NULL;
    if (verdict == PITHP_POINTER_DROPPED && pithp_header_of(i)->descriptor == tag)
        why = "is closed";
    else if (verdict != PITHP_POINTER_OK)
        why = pithp_pointer_text(verdict);
    else if (!is_instance(i))
        why = "is not an instance";
    else if (i->device->runtime != s->runtime)
        why = "belongs to another runtime";
    if (!why)
        return (pith_instance *)(uintptr_t)i;
    pithp_fail(s, PITH_E_ARG, NULL, "%s: the instance %s", function, why);
    return NULL;
}

/* ---- Registration ---- */

/* Includes "default"; NULL if not found. The lock is held. */
static pith_instance *find(pithp_memory_manager *m, const char *name) {
    if (strcmp(name, m->standard->name) == 0)
        return m->standard;
    for (pith_instance *i = m->first; i; i = i->next)
        if (strcmp(i->name, name) == 0)
            return i;
    return NULL;
}

static bool may_open(pithp_memory_manager *m,
                     const char *name,
                     const pith_instance_options *options,
                     pithp_warnings *w,
                     char why[256]) {
    if (find(m, name)) {
        snprintf(why, 256, "the name is already registered");
        return false;
    }
    const bool automatic = !(options->proportion < 0 || options->proportion > 0) &&
                           options->proportion <= 0; /* NaN is not automatic */
    return automatic ? pithp_share_fits_auto(m, NULL, why)
                     : pithp_share_fits(m, NULL, options->proportion, w, why);
}

/* The lock is held. NULL: why has the reason, or is empty if memory is short. */
static pith_instance *open_instance(pithp_device *d,
                                    const char *name,
                                    const pith_instance_options *options,
                                    pithp_warnings *w,
                                    char why[256]) {
    pithp_memory_manager *m = d->memory;
    if (!may_open(m, name, options, w, why))
        return NULL;
    pithp_group *g = pithp_group_join(d, options->group ? options->group : "default");
    pith_instance *i = g ? take_slot(d, name) : NULL;
    if (!i) {
        if (g)
            pithp_group_leave(d, g); /* a new or shared group: it returns no stream */
        return NULL;
    }
    i->group = g;
    i->manual = options->proportion > 0;
    i->proportion = options->proportion;
    i->invalidate = options->invalidate;
    i->ready = options->ready;
    i->closure = options->closure;
    *m->last = i;
    m->last = &i->next;
    pithp_share_balance(d, w);
    return i;
}

pith_instance *(pith_instance_open)(pith_scope *s,
                                    const char *name,
                                    const pith_instance_options *options) {
    const pith_instance_options none = {0};
    options = options ? options : &none;
    if (!pithp_enter_untraced(s, "pith_instance_open"))
        return NULL;
    const char *mistake = pithp_name_mistake(name);
    if (!mistake && options->group)
        mistake = pithp_name_mistake(options->group);
    if (mistake) {
        pithp_fail(s, PITH_E_ARG, NULL, "pith_instance_open: %s", mistake);
        return NULL;
    }
    pithp_device *d = pithp_scope_device(s);
    pithp_warnings w = {0};
    char why[256] = "";
    pthread_mutex_lock(&d->memory->lock);
    pith_instance *i = open_instance(d, name, options, &w, why);
    pthread_mutex_unlock(&d->memory->lock);
    if (i)
        pithp_warnings_tell(d, &w);
    else if (why[0])
        pithp_fail(s, PITH_E_ARG, NULL, "pith_instance_open: \"%s\": %s", name, why);
    else
        pithp_fail_memory(s, sizeof *i);
    return i;
}

void pith_instance_close(pith_instance *instance) {
    pith_instance *i = pithp_instance_of_pointer(instance);
    if (!i || !pithp_may_change(i->device->runtime, __func__))
        return;
    pithp_device *d = i->device;
    pithp_memory_manager *m = d->memory;
    pithp_warnings w = {0};
    pithp_stream *left = NULL;
    pithp_request *queued = NULL;
    pithp_allocation *allocations = NULL;
    pthread_mutex_lock(&m->lock);
    if (i->open && i != m->standard) {
        pith_instance **at = &m->first;
        while (*at != i)
            at = &(*at)->next;
        *at = i->next;
        if (!i->next)
            m->last = at;
        i->open = false;
        set_kind(i, PITHP_KIND_FREE);
        queued = pithp_queue_take(i);
        allocations = pithp_allocations_take(i);
        left = pithp_group_leave(d, i->group);
        i->group = NULL;
        pithp_account_close(d, &i->account);
        pithp_share_balance(d, &w);
        retire_when_done(m, i);
    }
    pthread_mutex_unlock(&m->lock);
    pithp_requests_free(d, queued);
    pithp_allocations_free(d, allocations);
    if (left)
        pithp_stream_leave(left);
    pithp_warnings_tell(d, &w);
}

pith_instance *pith_instance_find(const pith_runtime *rt, const char *name) {
    pithp_device *d = pithp_runtime_valid(rt) ? pithp_runtime_device(rt) : NULL;
    if (!d || !name)
        return NULL;
    pthread_mutex_lock(&d->memory->lock);
    pith_instance *i = find(d->memory, name);
    pthread_mutex_unlock(&d->memory->lock);
    return i;
}

const char *pith_instance_name(const pith_instance *instance) {
    const pith_instance *i = pithp_instance_of_pointer(instance);
    return i ? i->name : "";
}

/* ---- Parts ---- */

pith_instance *pithp_part_open(pith_instance *of, const pith_scope *s) {
    pithp_memory_manager *m = of->device->memory;
    pthread_mutex_lock(&m->lock);
    pith_instance *part = take_slot(of->device, "");
    if (part) {
        part->part_of = of;
        part->account.part_of = &of->account;
        part->pushed = s;
    }
    pthread_mutex_unlock(&m->lock);
    return part;
}

void pithp_part_close(pith_instance *part) {
    pithp_memory_manager *m = part->device->memory;
    pthread_mutex_lock(&m->lock);
    part->open = false;
    pithp_header_of(part)->kind = PITHP_KIND_FREE;
    pithp_account_close(part->device, &part->account);
    retire_when_done(m, part);
    pthread_mutex_unlock(&m->lock);
}

/* ---- Scopes ---- */

/* Add a user. Returns false if the instance was closed meanwhile. */
static bool enter_instance(pith_instance *i) {
    pithp_memory_manager *m = i->device->memory;
    pthread_mutex_lock(&m->lock);
    const bool open = i->open;
    i->scopes += open;
    i->used = ++m->clock;
    pthread_mutex_unlock(&m->lock);
    return open;
}

pith_instance *
pithp_instance_use(pith_scope *s, const pith_instance *instance, const char *function) {
    pith_instance *i = pithp_instance_check(s, instance, function);
    if (!i)
        return NULL;
    if (i != i->device->memory->standard && enter_instance(i))
        return i;
    pithp_fail(s, PITH_E_ARG, NULL, "%s: %s", function,
               i == i->device->memory->standard ? "\"default\" takes no requests"
                                                : "the instance is closed");
    return NULL;
}

void pithp_instance_unuse(pith_instance *i) {
    pithp_memory_manager *m = i->device->memory;
    pthread_mutex_lock(&m->lock);
    i->scopes--;
    retire_when_done(m, i);
    pthread_mutex_unlock(&m->lock);
}

void pithp_instance_leave(pith_scope *s) {
    pith_instance *i = pithp_scope_instance(s);
    if (i != i->device->memory->standard) /* it never closes, so it has no user count */
        pithp_instance_unuse(i);
}

pith_scope *pith_scope_open_on(pith_runtime *rt, pith_instance *instance) {
    pith_scope *s = pith_scope_open(rt);
    if (!pithp_enter(s))
        return s;
    pith_instance *i = pithp_instance_check(s, instance, "pith_scope_open_on");
    if (!i || i == i->device->memory->standard) {
        if (!i)
            pithp_scope_break(s);
        return s;
    }
    pithp_stream *st = pithp_group_stream(s, i);
    if (st && enter_instance(i)) {
        pithp_stream_leave(pithp_scope_stream(s));
        s->room[PITHP_ROOM_GPU] = st;
        s->room[PITHP_ROOM_MEMORY] = i;
        return s;
    }
    if (st) {
        pithp_stream_leave(st);
        pithp_fail(s, PITH_E_ARG, NULL, "pith_scope_open_on: the instance is closed");
    }
    pithp_scope_break(s);
    return s;
}

pith_instance *pith_scope_instance(const pith_scope *s) {
    return pithp_scope_writable(s) && pithp_scope_instance(s)
               ? pithp_instance_named(pithp_scope_instance(s))
               : NULL;
}
