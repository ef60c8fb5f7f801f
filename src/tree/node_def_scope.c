/* Node definitions per scope: references that a scope holds, and a cache of recent
 * definitions. A node like an earlier one of this scope or an enclosing one needs no
 * lock. */
#include "tree/node_def_internal.h"

#include <string.h>

enum { RECENTS = 16, FIRST_HELD = 16 };

/* State of the room per scope. */
typedef struct {
    const pithp_node_def *last;           /* held by this scope or an enclosing one */
    const pithp_node_def *last_container; /* the same */
    const pithp_node_def *
        *held; /* references of this scope: open addressing, NULL is free */
    size_t held_count, held_room;
    const pithp_node_def *first_held[FIRST_HELD];
    pithp_recent recent[RECENTS];
} scope_shapes;

/* ---- State of the room in runtimes and scopes ---- */

static void scope_closing(pith_scope *s);

static void runtime_closing(pith_runtime *rt) {
    pithp_tree_room *room = rt->room[PITHP_ROOM_TREE];
    pithp_node_def_table_free(rt, room->shapes);
    pithp_leaf_names_free(rt, room->leaf_names);
    pithp_release(rt, room, sizeof *room);
    rt->room[PITHP_ROOM_TREE] = NULL;
}

static const pithp_room_hooks hooks = {.scope_closing = scope_closing,
                                       .runtime_closing = runtime_closing};

static pithp_tree_room *make_room(pith_runtime *rt) {
    pithp_tree_room *room = pithp_allocate(rt, sizeof *room);
    struct pithp_node_def_table *shapes = room ? pithp_node_def_table_make(rt) : NULL;
    if (!shapes) {
        pithp_release(rt, room, sizeof *room);
        return NULL;
    }
    *room = (pithp_tree_room){.shapes = shapes};
    return room;
}

pithp_tree_room *pithp_tree_room_of(pith_scope *s) {
    pith_runtime *rt = s->runtime;
    pithp_tree_room *room =
        __atomic_load_n((pithp_tree_room **)&rt->room[PITHP_ROOM_TREE], __ATOMIC_ACQUIRE);
    if (PITHP_LIKELY(room != NULL))
        return room;
    pthread_mutex_lock(&rt->lock);
    room = rt->room[PITHP_ROOM_TREE];
    if (!room && (room = make_room(rt)) != NULL) {
        pithp_room_hook(rt, PITHP_ROOM_TREE, &hooks);
        __atomic_store_n((pithp_tree_room **)&rt->room[PITHP_ROOM_TREE], room,
                         __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&rt->lock);
    if (!room)
        pithp_fail_memory(s, sizeof *room);
    return room;
}

static scope_shapes *shapes_of(pith_scope *s) {
    scope_shapes *own = s->room[PITHP_ROOM_TREE];
    if (PITHP_LIKELY(own != NULL))
        return own;
    if (!pithp_tree_room_of(s))
        return NULL;
    own = pithp_scope_allocate(s, sizeof *own);
    if (own) {
        memset(own, 0, sizeof *own);
        own->held = own->first_held;
        own->held_room = FIRST_HELD;
    }
    s->room[PITHP_ROOM_TREE] = own;
    return own;
}

void pith_scope_set_validation(pith_scope *s, bool on) {
    (void)pithp_enter(s);
    if (!pithp_scope_writable(s))
        return;
    s->no_validation = !on; /* also for a failed scope */
    pithp_trace_note_set(s);
}

/* ---- References ---- */

static size_t entry_of(const scope_shapes *own, const pithp_node_def *node_def) {
    const size_t mask = own->held_room - 1;
    size_t i = ((uintptr_t)node_def >> 4) * 0x9e3779b97f4a7c15u >> 32 & mask;
    while (own->held[i] && own->held[i] != node_def)
        i = (i + 1) & mask;
    return i;
}

static bool is_held(const pith_scope *s, const pithp_node_def *node_def) {
    for (; s; s = s->parent) {
        const scope_shapes *own = s->room[PITHP_ROOM_TREE];
        if (own && (own->last == node_def || own->held[entry_of(own, node_def)]))
            return true;
    }
    return false;
}

static bool has_room(const scope_shapes *own) {
    return 4 * (own->held_count + 1) <= 3 * own->held_room;
}

static void release_held(pith_scope *s, const pithp_node_def **held, size_t room) {
    if (held != ((scope_shapes *)s->room[PITHP_ROOM_TREE])->first_held)
        pithp_release(s->runtime, held, room * sizeof *held);
}

static bool grow_held(pith_scope *s, scope_shapes *own) {
    if (has_room(own))
        return true;
    const size_t old_room = own->held_room, room = 2 * old_room;
    const pithp_node_def **old = own->held;
    const pithp_node_def **held = pithp_allocate(s->runtime, room * sizeof *held);
    if (!held) {
        pithp_fail_memory(s, room * sizeof *held);
        return false;
    }
    memset(held, 0, room * sizeof *held);
    own->held = held, own->held_room = room;
    for (size_t i = 0; i < old_room; i++)
        if (old[i])
            held[entry_of(own, old[i])] = old[i];
    release_held(s, old, old_room);
    return true;
}

/* Transfer the caller's reference to s, or release it if s has one already. */
static pith_status adopt_reference(pith_scope *s, pithp_node_def *node_def) {
    scope_shapes *own = shapes_of(s);
    const bool held = own && is_held(s, node_def);
    if (!own || held || !grow_held(s, own)) {
        pithp_node_def_release(s->runtime, node_def);
        if (held)
            own->last = node_def;
        return held ? PITH_OK : s->error.code;
    }
    own->held[entry_of(own, node_def)] = node_def;
    own->held_count++;
    own->last = node_def;
    return PITH_OK;
}

pith_status pithp_node_def_hold(pith_scope *s, const pithp_node_def *node_def) {
    scope_shapes *own = s->room[PITHP_ROOM_TREE];
    if (PITHP_LIKELY(own && own->last == node_def))
        return PITH_OK;
    if (is_held(s, node_def)) {
        if (own)
            own->last = node_def;
        return PITH_OK;
    }
    pithp_node_def *counted = (pithp_node_def *)(uintptr_t)node_def;
    atomic_fetch_add_explicit(&counted->refs, 1, memory_order_relaxed);
    return adopt_reference(s, counted);
}

/* ---- Look-up ---- */

/* Whether the statics are bytewise those of a node definition. Pointers to strings and
 * static records match only if the node definition owns them. */
static bool same_bits(const pithp_node_def *node_def, const void *value) {
    const pith_type *type = node_def->type;
    for (int32_t i = 0; i < type->static_count; i++) {
        const pithp_static_info *info = &type->statics[i];
        const char *a = (const char *)node_def->statics + info->offset;
        const char *b = (const char *)value + info->offset;
        uint64_t x = 0, y = 0;
        if (info->size == 8)
            memcpy(&x, a, 8), memcpy(&y, b, 8);
        else if (info->size == 4)
            memcpy(&x, a, 4), memcpy(&y, b, 4);
        else
            memcpy(&x, a, 1), memcpy(&y, b, 1);
        if (x != y)
            return false;
    }
    return true;
}

static pithp_recent *place_of_type(scope_shapes *own, const pith_type *type) {
    return &own->recent[((uintptr_t)type >> 4) * 0x9e3779b97f4a7c15u >> 60];
}
_Static_assert(RECENTS == 16, "four bits of the hash select the entry");

static pithp_recent *
remember(pith_scope *s, scope_shapes *own, const pithp_node_def *node_def) {
    pithp_recent *r = place_of_type(own, node_def->type);
    const pith_spec **specs = r->specs;
    int64_t room = r->room;
    if (room < node_def->slot_count) {
        room = node_def->slot_count < 16 ? 16 : node_def->slot_count;
        specs = pithp_scope_allocate(s, (size_t)room * sizeof *specs);
        if (!specs)
            return NULL;
    }
    *r = (pithp_recent){
        .type = node_def->type, .node_def = node_def, .specs = specs, .room = room};
    return r;
}

/* Take over an entry of an enclosing scope; the specs of its leaves were checked
 * there. */
static pithp_recent *
remember_as(pith_scope *s, scope_shapes *own, const pithp_recent *other) {
    pithp_recent *r = remember(s, own, other->node_def);
    if (!r || !other->checked)
        return r;
    if (r->node_def->slot_count)
        memcpy(r->specs, other->specs,
               (size_t)r->node_def->slot_count * sizeof *r->specs);
    r->checked = true;
    r->flags = other->flags;
    return r;
}

pithp_recent *pithp_recent_of_shape(pith_scope *s, const pithp_node_def *node_def) {
    scope_shapes *own = shapes_of(s);
    if (PITHP_UNLIKELY(!own))
        return NULL;
    pithp_recent *r = place_of_type(own, node_def->type);
    return PITHP_LIKELY(r->node_def == node_def) ? r : remember(s, own, node_def);
}

pithp_recent *pithp_recent_find(pith_scope *s, const pith_type *type, const void *value) {
    scope_shapes *own = shapes_of(s);
    if (PITHP_UNLIKELY(!own))
        return NULL;
    pithp_recent *r = place_of_type(own, type);
    if (PITHP_LIKELY(r->type == type && same_bits(r->node_def, value)))
        return r;
    for (pith_scope *p = s->parent; p; p = p->parent) {
        scope_shapes *others = p->room[PITHP_ROOM_TREE];
        const pithp_recent *found = others ? place_of_type(others, type) : NULL;
        if (found && found->type == type && same_bits(found->node_def, value))
            return remember_as(s, own, found);
    }
    pithp_node_def *node_def = pithp_node_def_of_statics(s, type, value);
    return node_def && adopt_reference(s, node_def) == PITH_OK
               ? remember(s, own, node_def)
               : NULL;
}

const pithp_node_def *
pithp_node_def_record(pith_scope *s, const pith_type *type, const void *value) {
    const pithp_recent *r = pithp_recent_find(s, type, value);
    return r ? r->node_def : NULL;
}

const pithp_node_def *pithp_node_def_container(pith_scope *s,
                                               pithp_kind kind,
                                               int64_t count,
                                               const char *const *keys,
                                               bool all_leaves) {
    scope_shapes *own = shapes_of(s);
    if (!own)
        return NULL;
    const pithp_node_def *last = own->last_container;
    if (last && last->kind == kind && last->slot_count == count &&
        last->all_leaves == all_leaves &&
        (kind != PITHP_KIND_DICT || pithp_keys_same(last->keys, keys, count)))
        return last;
    pithp_node_def_key key = {
        .kind = kind,
        .count = count,
        .keys = keys,
        .all_leaves = all_leaves,
        .hash = pithp_hash((uint64_t)kind * 2 + all_leaves, &count, sizeof count)};
    for (int64_t i = 0; kind == PITHP_KIND_DICT && i < count; i++)
        key.hash = pithp_hash(key.hash, keys[i], strlen(keys[i]) + 1);
    pithp_node_def *node_def = pithp_node_def_find(s, &key);
    if (!node_def || adopt_reference(s, node_def) != PITH_OK)
        return NULL;
    own->last_container = node_def;
    return node_def;
}

/* ---- Closing ---- */

/* Pass cached entries to the free entries of the parent. Of the scopes of a loop, one per
 * step, only the first then looks up node definitions and checks leaves. Only free
 * entries are used, so the references of a scope stay bounded. Never allocates or
 * fails. */
static void pass_to_parent(pith_scope *s, const scope_shapes *own) {
    pith_scope *parent = s->parent;
    for (int i = 0; parent && i < RECENTS; i++) {
        const pithp_recent *r = &own->recent[i];
        const scope_shapes *others = parent->room[PITHP_ROOM_TREE];
        if (!r->type || (others && (others->recent[i].type || !has_room(others))))
            continue;
        const size_t specs =
            (size_t)(r->node_def->slot_count + RECENTS) * sizeof *r->specs;
        if ((size_t)(parent->limit - parent->cursor) < sizeof *others + specs)
            continue;
        scope_shapes *heir = shapes_of(parent);
        if (heir && pithp_node_def_hold(parent, r->node_def) == PITH_OK)
            remember_as(parent, heir, r);
    }
}

static void scope_closing(pith_scope *s) {
    scope_shapes *own = s->room[PITHP_ROOM_TREE];
    if (!own)
        return;
    pass_to_parent(s, own);
    for (size_t i = 0; i < own->held_room; i++)
        if (own->held[i])
            pithp_node_def_release(s->runtime, (pithp_node_def *)(uintptr_t)own->held[i]);
    release_held(s, own->held, own->held_room);
    s->room[PITHP_ROOM_TREE] = NULL;
}
