/* Scopes: region-based memory management. A scope lives at the start of its own first
 * block; objects are bump-allocated in its blocks, and closing the scope frees all of
 * them. */
#include "base/base_internal.h"
#include "base/in_flight.h"
#include "base/private.h"

#include <string.h>

enum { HOLDS_PER_CHUNK = 62, LARGE_OBJECT = 16384 };

typedef struct pithp_hold_chunk {
    struct pithp_hold_chunk *next;
    int count;
    pithp_hold holds[HOLDS_PER_CHUNK];
} pithp_hold_chunk;

/* Static scopes for failed opens: shared, never written; every call on them fails. */
static pith_scope no_memory = {
    .magic = PITHP_SCOPE_MAGIC,
    .error = {.code = PITH_E_MEMORY, .message = "out of memory: no room for a scope"},
};
static pith_scope no_runtime = {
    .magic = PITHP_SCOPE_MAGIC,
    .error = {.code = PITH_E_ARG,
              .message = "pith_scope_open: the runtime is closed or not a runtime"},
};
static pith_scope no_parent = {
    .magic = PITHP_SCOPE_MAGIC,
    .error = {.code = PITH_E_SCOPE,
              .message = "pith_scope_open_in: the parent is closed or not a scope"},
};

static bool is_static(const pith_scope *s) {
    return s == &no_memory || s == &no_runtime || s == &no_parent;
}

bool pithp_scope_valid(const pith_scope *s) {
    return pithp_scope_writable(s) || is_static(s);
}

void pithp_scope_mark_read(const pith_scope *s) {
    if (!is_static(s))
        ((pith_scope *)(uintptr_t)s)->error_read = true;
}

void pithp_scope_break(pith_scope *s) {
    PITH_ASSERT(s->error.code != PITH_OK);
    s->broken = true;
}

/* After the runtime fails, every scope of it fails. */
static bool enter_failed_runtime(pith_scope *s) {
    if (s->error.code == PITH_OK) {
        s->error = s->runtime->error;
        s->error_read = false;
    }
    s->broken = true;
    return false;
}

bool pithp_enter_as(pith_scope *s, const char *function) {
    PITH_ASSERT(strncmp(function, "pith_", 5) == 0);
    if (PITHP_UNLIKELY(!pithp_scope_writable(s)))
        return false;
    s->function = function;
    if (s->site_depth > 0) {
        s->site_depth--;
        s->site = s->site_depth < PITHP_SITE_DEPTH ? s->sites[s->site_depth] : NULL;
    }
    if (PITHP_UNLIKELY(atomic_load_explicit(&s->runtime->failed, memory_order_acquire)))
        return enter_failed_runtime(s);
    return PITHP_LIKELY(s->error.code == PITH_OK);
}

static bool is_untraced(pith_scope *s, const char *function) {
    if (PITHP_LIKELY(!s->room[PITHP_ROOM_TRACE]))
        return true;
    pithp_fail(s, PITH_E_TRACED, NULL,
               "%s: not allowed while a function is traced "
               "(pith_no_tracing makes one that is not traced)",
               function);
    return false;
}

bool pithp_enter_untraced(pith_scope *s, const char *function) {
    return pithp_enter_as(s, function) && is_untraced(s, function);
}

bool pithp_may_change(const pith_runtime *rt, const char *function) {
    pith_scope *s = pithp_scope_in_flight(rt);
    return !s || is_untraced(s, function);
}

pith_scope *pith_call_site(pith_scope *s, const char *site) {
    if (PITHP_UNLIKELY(pithp_any_closing()))
        pithp_wait_for_close(s);
    if (pithp_scope_writable(s)) {
        if (s->site_depth < PITHP_SITE_DEPTH)
            s->sites[s->site_depth] = site;
        s->site_depth++;
    }
    return s;
}

/* ---- Opening and closing ---- */

/* NULL if out of memory. Members not set here need no initial value. Set one by one,
 * because every call opens a scope. */
static inline pith_scope *open_scope(pith_runtime *rt, pith_scope *parent) {
    pithp_block *block = pithp_block_acquire(rt, PITHP_BLOCK_BYTES);
    if (PITHP_UNLIKELY(!block))
        return NULL;
    pith_scope *s = (pith_scope *)((char *)block + sizeof *block);
    s->magic = PITHP_SCOPE_MAGIC;
    s->depth = parent ? parent->depth + 1 : 0;
    s->site_depth = 0;
    s->broken = false;
    s->error_read = true;
    s->no_validation = false;
    s->check_level = 0;
    s->runtime = rt;
    s->parent = parent;
    s->first_child = s->previous_sibling = NULL;
    s->blocks = block;
    s->bytes = block->bytes;
    s->cursor = (char *)block + ((sizeof *block + sizeof *s + 15) & ~(size_t)15);
    s->limit = (char *)block + block->bytes;
    s->holds = NULL;
    s->free_holds = NULL;
    memset(s->room, 0, sizeof s->room);
    s->collector = NULL;
    s->site = NULL;
    s->function = s->caller = s->leaf = NULL;
    s->cleared_site[0] = 0;
    s->error.code = PITH_OK;
    block->owner = s;
    return s;
}

static void link_scope(pith_scope *s, pith_scope **first) {
    s->next_sibling = *first;
    if (*first)
        (*first)->previous_sibling = s;
    *first = s;
}

static void unlink_scope(pith_scope *s, pith_scope **first) {
    if (s->previous_sibling)
        s->previous_sibling->next_sibling = s->next_sibling;
    else
        *first = s->next_sibling;
    if (s->next_sibling)
        s->next_sibling->previous_sibling = s->previous_sibling;
}

static const pithp_room_hooks *hooks_of(pith_runtime *rt, int room) {
    return atomic_load_explicit(&rt->hooks[room], memory_order_relaxed);
}

/* In order from the bottom room up. */
static void call_opened_hooks(pith_scope *s) {
    pith_runtime *rt = s->runtime;
    for (unsigned rooms = atomic_load_explicit(&rt->told_opened, memory_order_acquire);
         rooms; rooms &= rooms - 1)
        hooks_of(rt, __builtin_ctz(rooms))->root_opened(s);
}

/* In order from the top room down. */
static void call_closing_hooks(pith_scope *s) {
    pith_runtime *rt = s->runtime;
    unsigned rooms = atomic_load_explicit(&rt->told_closing, memory_order_acquire);
    while (rooms) {
        const int room = 31 - __builtin_clz(rooms);
        hooks_of(rt, room)->scope_closing(s);
        rooms &= ~(1u << room);
    }
}

void pithp_tell_rooms_clearing(pith_scope *s) {
    for (int room = 0; room < PITHP_ROOM_COUNT; room++) {
        const pithp_room_hooks *hooks = hooks_of(s->runtime, room);
        if (hooks && hooks->error_clearing)
            hooks->error_clearing(s);
    }
}

pith_scope *pith_scope_open(pith_runtime *rt) {
    if (!pithp_runtime_valid(rt))
        return &no_runtime;
    if (pithp_runtime_is_static(rt))
        return &no_memory;
    pith_scope *s = open_scope(rt, NULL);
    if (!s)
        return &no_memory;
    pthread_mutex_lock(&rt->lock);
    link_scope(s, &rt->scopes);
    if (rt->error.code != PITH_OK) {
        s->error = rt->error;
        s->broken = true;
    }
    pthread_mutex_unlock(&rt->lock);
    call_opened_hooks(s);
    return s;
}

pith_scope *pith_scope_open_in(pith_scope *parent) {
    if (!pithp_scope_writable(parent))
        return is_static(parent) ? parent : &no_parent;
    pith_scope *s = open_scope(parent->runtime, parent);
    if (PITHP_UNLIKELY(!s)) { /* a static scope cannot pass its error to the parent */
        pithp_fail_memory(parent, PITHP_BLOCK_BYTES);
        return &no_memory;
    }
    link_scope(s, &parent->first_child);
    if (PITHP_UNLIKELY(parent->error.code != PITH_OK))
        s->error = parent->error; /* a failed parent makes the child fail */
    s->room[PITHP_ROOM_GPU] = parent->room[PITHP_ROOM_GPU];
    s->room[PITHP_ROOM_MEMORY] = parent->room[PITHP_ROOM_MEMORY];
    s->room[PITHP_ROOM_TRACE] = parent->room[PITHP_ROOM_TRACE];
    s->broken = parent->broken;
    s->no_validation = parent->no_validation;
    s->site = parent->site;
    s->collector = parent->collector;
    s->check_level = parent->check_level;
    return s;
}

static void release_holds(pith_scope *s) {
    for (pithp_hold_chunk *chunk = s->holds; chunk; chunk = chunk->next)
        for (int i = chunk->count; i-- > 0;)
            if (chunk->holds[i].live)
                chunk->holds[i].release(s, chunk->holds[i].thing);
}

static void hand_over_error(const pith_scope *s) {
    if (s->error.code == PITH_OK)
        return;
    if (s->parent) {
        pithp_fail_as(s->parent, &s->error);
    } else if (!s->error_read) {
        pithp_log(s->runtime, PITH_LOG_ERROR, "%s", s->error.message);
    }
}

static void close_one(pith_scope *s) {
    pith_runtime *rt = s->runtime;
    call_closing_hooks(s);
    release_holds(s);
    hand_over_error(s);
    if (s->parent) {
        unlink_scope(s, &s->parent->first_child);
    } else {
        pthread_mutex_lock(&rt->lock);
        unlink_scope(s, &rt->scopes);
        pthread_mutex_unlock(&rt->lock);
    }
    s->magic = 0;
    for (pithp_block *block = s->blocks; block;) {
        pithp_block *next = block->next;
        pithp_block_free(rt, block);
        block = next;
    }
}

void pith_scope_close(pith_scope *s) {
    if (!pithp_scope_writable(s))
        return;
    /* Deepest first and iterative, because chains of scopes may be long. */
    for (;;) {
        pith_scope *leaf = s;
        while (leaf->first_child)
            leaf = leaf->first_child;
        const bool last = leaf == s;
        close_one(leaf);
        if (last)
            return;
    }
}

pith_runtime *pith_scope_runtime(const pith_scope *s) {
    return pithp_scope_writable(s) ? s->runtime : NULL;
}

size_t pith_scope_bytes(const pith_scope *s) {
    return pithp_scope_writable(s) ? s->bytes : 0;
}

bool pithp_scope_reaches(const pith_scope *s, const pith_scope *owner) {
    if (s == owner || !owner)
        return true;
    if (s->runtime != owner->runtime)
        return false;
    while (s->depth > owner->depth)
        s = s->parent;
    return s == owner;
}

/* ---- Memory of a scope ---- */

static void *new_region(pith_scope *s, size_t bytes) {
    size_t region;
    if (pithp_add_overflows(bytes, sizeof(pithp_block), &region))
        region = SIZE_MAX;
    pithp_block *block =
        region == SIZE_MAX ? NULL : pithp_block_acquire(s->runtime, region);
    if (!block) {
        pithp_fail_memory(s, bytes);
        return NULL;
    }
    block->owner = s;
    block->next = s->blocks;
    s->blocks = block;
    s->bytes += block->bytes;
    return block;
}

void *pithp_scope_allocate(pith_scope *s, size_t bytes) {
    const size_t rounded = (bytes + 15) & ~(size_t)15;
    if (PITHP_LIKELY(rounded >= bytes && rounded <= (size_t)(s->limit - s->cursor))) {
        void *memory = s->cursor;
        s->cursor += rounded;
        return memory;
    }
    if (rounded < bytes) {
        pithp_fail_memory(s, bytes);
        return NULL;
    }
    if (rounded >
        LARGE_OBJECT) { /* a region of its own; the current block stays in use */
        pithp_block *block = new_region(s, rounded);
        return block ? (char *)block + sizeof *block : NULL;
    }
    pithp_block *block = new_region(s, PITHP_BLOCK_BYTES - sizeof *block);
    if (!block)
        return NULL;
    s->cursor = (char *)block + sizeof *block;
    s->limit = (char *)block + block->bytes;
    void *memory = s->cursor;
    s->cursor += rounded;
    return memory;
}

void *pithp_object_make(pith_scope *s,
                        pithp_kind kind,
                        const void *descriptor,
                        size_t payload_bytes) {
    size_t bytes;
    if (pithp_add_overflows(payload_bytes, sizeof(pithp_header), &bytes)) {
        pithp_fail_memory(s, payload_bytes);
        return NULL;
    }
    pithp_header *h = pithp_scope_allocate(s, bytes);
    if (!h)
        return NULL;
    memset(h + 1, 0, payload_bytes);
    *h = (pithp_header){
        .magic = PITHP_OBJECT_MAGIC, .kind = (uint8_t)kind, .descriptor = descriptor};
    return h + 1;
}

/* NULL sets the error. */
static pithp_hold *next_hold(pith_scope *s) {
    pithp_hold_chunk *chunk = s->holds;
    if (PITHP_UNLIKELY(!chunk || chunk->count == HOLDS_PER_CHUNK)) {
        chunk = pithp_slab_make(s, sizeof *chunk);
        if (!chunk)
            return NULL;
        chunk->next = s->holds;
        chunk->count = 0;
        s->holds = chunk;
    }
    return &chunk->holds[chunk->count++];
}

pithp_hold *pithp_scope_hold(pith_scope *s,
                             void *thing,
                             void (*release)(pith_scope *s, void *thing)) {
    pithp_hold *hold = s->free_holds;
    if (hold)
        s->free_holds = hold->thing;
    else if (PITHP_UNLIKELY(!(hold = next_hold(s))))
        return NULL;
    hold->thing = thing;
    hold->release = release;
    hold->live = 1;
    return hold;
}

pithp_hold *pithp_scope_last_hold(pith_scope *s) {
    return s->holds ? &s->holds->holds[s->holds->count - 1] : NULL;
}

void pithp_hold_drop(pith_scope *s, pithp_hold *hold) {
    PITH_ASSERT(hold->live > 0);
    if (--hold->live > 0)
        return;
    hold->release(s, hold->thing);
    hold->thing = s->free_holds;
    s->free_holds = hold;
}
