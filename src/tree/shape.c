/* Shapes: what nodes of one structure share. They are interned per runtime under a lock,
 * counted by the scopes that hold them, and freed with the last; a scope that makes a
 * node like an earlier one of its own or of a scope around it finds the shape without a
 * lock. */
#include "tree/node_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { RECENTS = 16, FIRST_BUCKETS = 64, FIRST_HELD = 16 };

typedef struct pithp_shape_table {
    pthread_mutex_t lock;
    pithp_shape **buckets;
    size_t mask;
    int64_t count;
} shape_table;

/* What the room keeps for a scope. */
typedef struct {
    bool no_check;
    const pithp_shape *last;           /* held by this scope or one around it */
    const pithp_shape *last_container; /* alike */
    const pithp_shape **held;          /* by this scope: open addressing, NULL is free */
    size_t held_count, held_room;
    pithp_recent recent[RECENTS];
} scope_shapes;

/* The owner of static records: they live as long as the shapes they are part of, and no
 * scope reaches this one, so that what uses them otherwise takes a copy. */
static pith_scope static_records;

uint64_t pithp_shape_hash_mask = UINT64_MAX;

/* ---- The room in runtimes and scopes ---- */

static void release_shape(pith_runtime *rt, pithp_shape *shape);

static void scope_opened(pith_scope *s, pith_scope *parent);

static void scope_closing(pith_scope *s) {
    scope_shapes *own = s->room[PITHP_ROOM_TREE];
    if (!own)
        return;
    for (size_t i = 0; i < own->held_room; i++)
        if (own->held[i])
            release_shape(s->runtime, (pithp_shape *)(uintptr_t)own->held[i]);
    pithp_release(s->runtime, own->held, own->held_room * sizeof *own->held);
    s->room[PITHP_ROOM_TREE] = NULL;
}

static void runtime_closing(pith_runtime *rt) {
    pithp_tree_room *room = rt->room[PITHP_ROOM_TREE];
    shape_table *table = room->shapes;
    pithp_map_cache_close(rt);
    PITH_ASSERT(table->count == 0);
    pithp_release(rt, table->buckets, (table->mask + 1) * sizeof *table->buckets);
    pthread_mutex_destroy(&table->lock);
    pithp_release(rt, table, sizeof *table);
    pithp_release(rt, room, sizeof *room);
    rt->room[PITHP_ROOM_TREE] = NULL;
}

static const pithp_room_hooks hooks = {scope_opened, scope_closing, runtime_closing};

static pithp_tree_room *make_room(pith_runtime *rt) {
    const size_t bucket_bytes = FIRST_BUCKETS * sizeof(pithp_shape *);
    pithp_tree_room *room = pithp_allocate(rt, sizeof *room);
    shape_table *table = pithp_allocate(rt, sizeof *table);
    pithp_shape **buckets = pithp_allocate(rt, bucket_bytes);
    if (!room || !table || !buckets || pthread_mutex_init(&table->lock, NULL) != 0) {
        pithp_release(rt, room, sizeof *room);
        pithp_release(rt, table, sizeof *table);
        pithp_release(rt, buckets, bucket_bytes);
        return NULL;
    }
    memset(buckets, 0, bucket_bytes);
    table->buckets = buckets;
    table->mask = FIRST_BUCKETS - 1;
    table->count = 0;
    *room = (pithp_tree_room){.shapes = table};
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
    if (own)
        memset(own, 0, sizeof *own);
    s->room[PITHP_ROOM_TREE] = own;
    return own;
}

static void scope_opened(pith_scope *s, pith_scope *parent) {
    if (!parent || pithp_hooks_run(parent))
        return;
    scope_shapes *own = shapes_of(s);
    if (own)
        own->no_check = true;
}

bool pithp_hooks_run(const pith_scope *s) {
    const scope_shapes *own = s->room[PITHP_ROOM_TREE];
    return !own || !own->no_check;
}

void pith_no_check(pith_scope *s, bool suspend) {
    (void)pithp_enter(s);
    if (!pithp_scope_writable(s)) /* a failed scope too gets its checks back */
        return;
    scope_shapes *own = shapes_of(s);
    if (own)
        own->no_check = suspend;
}

/* ---- Holding ---- */

static size_t place_of(const scope_shapes *own, const pithp_shape *shape) {
    const size_t mask = own->held_room - 1;
    size_t i = ((uintptr_t)shape >> 4) * 0x9e3779b97f4a7c15u >> 32 & mask;
    while (own->held[i] && own->held[i] != shape)
        i = (i + 1) & mask;
    return i;
}

static bool is_held(const pith_scope *s, const pithp_shape *shape) {
    for (; s; s = s->parent) {
        const scope_shapes *own = s->room[PITHP_ROOM_TREE];
        if (own &&
            (own->last == shape || (own->held_room && own->held[place_of(own, shape)])))
            return true;
    }
    return false;
}

static bool grow_held(pith_scope *s, scope_shapes *own) {
    if (own->held_room && 4 * (own->held_count + 1) <= 3 * own->held_room)
        return true;
    const size_t old_room = own->held_room;
    const size_t room = old_room ? 2 * old_room : FIRST_HELD;
    const pithp_shape **old = own->held;
    const pithp_shape **held = pithp_allocate(s->runtime, room * sizeof *held);
    if (!held) {
        pithp_fail_memory(s, room * sizeof *held);
        return false;
    }
    memset(held, 0, room * sizeof *held);
    own->held = held, own->held_room = room;
    for (size_t i = 0; i < old_room; i++)
        if (old[i])
            held[place_of(own, old[i])] = old[i];
    pithp_release(s->runtime, old, old_room * sizeof *old);
    return true;
}

/* Give s a reference that the caller has, or give it back where s needs none. */
static pith_status adopt_reference(pith_scope *s, pithp_shape *shape) {
    scope_shapes *own = shapes_of(s);
    const bool held = own && is_held(s, shape);
    if (!own || held || !grow_held(s, own)) {
        release_shape(s->runtime, shape);
        if (held)
            own->last = shape;
        return held ? PITH_OK : s->error.code;
    }
    own->held[place_of(own, shape)] = shape;
    own->held_count++;
    own->last = shape;
    return PITH_OK;
}

pith_status pithp_shape_hold(pith_scope *s, const pithp_shape *shape) {
    scope_shapes *own = s->room[PITHP_ROOM_TREE];
    if (PITHP_LIKELY(own && own->last == shape))
        return PITH_OK;
    if (own && is_held(s, shape)) {
        own->last = shape;
        return PITH_OK;
    }
    pithp_shape *counted = (pithp_shape *)(uintptr_t)shape;
    atomic_fetch_add_explicit(&counted->refs, 1, memory_order_relaxed);
    return adopt_reference(s, counted);
}

/* ---- The table ---- */

static void unlink_shape(shape_table *table, const pithp_shape *shape) {
    pithp_shape **link = &table->buckets[shape->hash & table->mask];
    while (*link != shape)
        link = &(*link)->next;
    *link = shape->next;
    table->count--;
}

static void free_shape(pith_runtime *rt, pithp_shape *shape) {
    if (shape->instance)
        pithp_block_free(rt, shape->instance);
    pithp_release(rt, shape, shape->bytes);
}

/* The shapes of the static records of a record's shape. */
static pithp_shape *static_record_shape(const pithp_shape *shape, int32_t i) {
    const pithp_static_info *info = &shape->type->statics[i];
    const void *record;
    if (info->kind != PITH_STATIC_RECORD_)
        return NULL;
    memcpy(&record, (const char *)shape->statics + info->offset, sizeof record);
    return record ? (pithp_shape *)(uintptr_t)pithp_shape_of(record) : NULL;
}

static void release_shape(pith_runtime *rt, pithp_shape *shape) {
    int refs = atomic_load_explicit(&shape->refs, memory_order_relaxed);
    while (refs > 1)
        if (atomic_compare_exchange_weak_explicit(&shape->refs, &refs, refs - 1,
                                                  memory_order_release,
                                                  memory_order_relaxed))
            return;
    /* The last one leaves under the lock, so that nobody finds a shape that is going. */
    shape_table *table = ((pithp_tree_room *)rt->room[PITHP_ROOM_TREE])->shapes;
    pthread_mutex_lock(&table->lock);
    const bool last =
        atomic_fetch_sub_explicit(&shape->refs, 1, memory_order_acq_rel) == 1;
    if (last)
        unlink_shape(table, shape);
    pthread_mutex_unlock(&table->lock);
    if (!last)
        return;
    /* Static records nest as deep as types do. */
    for (int32_t i = 0; shape->type && i < shape->type->static_count; i++) {
        pithp_shape *inner = static_record_shape(shape, i);
        if (inner)
            release_shape(rt, inner);
    }
    free_shape(rt, shape);
}

static void grow_table(pith_runtime *rt, shape_table *table) {
    if ((size_t)table->count <= table->mask)
        return;
    const size_t old_mask = table->mask, mask = 2 * (old_mask + 1) - 1;
    pithp_shape **old = table->buckets;
    pithp_shape **buckets = pithp_allocate(rt, (mask + 1) * sizeof *buckets);
    if (!buckets)
        return; /* longer chains serve too */
    memset(buckets, 0, (mask + 1) * sizeof *buckets);
    for (size_t i = 0; i <= old_mask; i++)
        for (pithp_shape *shape = old[i], *next; shape; shape = next) {
            next = shape->next;
            shape->next = buckets[shape->hash & mask];
            buckets[shape->hash & mask] = shape;
        }
    pithp_release(rt, old, (old_mask + 1) * sizeof *old);
    table->buckets = buckets;
    table->mask = mask;
}

/* What a shape is looked up by. */
typedef struct {
    pithp_kind kind;
    bool all_leaves;
    const pith_type *type;
    const char *statics; /* canonical; static records are their shapes */
    int64_t count;
    const char *const *keys;
    uint64_t hash;
} shape_key;

static bool same_keys(const char *const *a, const char *const *b, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        if (strcmp(a[i], b[i]) != 0)
            return false;
    return true;
}

static bool same_string(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_statics(const pithp_shape *shape, const char *statics) {
    for (int32_t i = 0; i < shape->type->static_count; i++) {
        const pithp_static_info *info = &shape->type->statics[i];
        const char *a = (const char *)shape->statics + info->offset;
        const char *b = statics + info->offset;
        if (info->kind == PITH_STATIC_TEXT || info->kind == PITH_STATIC_RECORD_) {
            const void *x, *y;
            memcpy(&x, a, sizeof x);
            memcpy(&y, b, sizeof y);
            if (info->kind == PITH_STATIC_TEXT ? !same_string(x, y)
                                               : static_record_shape(shape, i) != y)
                return false;
        } else if (memcmp(a, b, info->size) != 0) {
            return false;
        }
    }
    return true;
}

static bool same_shape(const pithp_shape *shape, const shape_key *key) {
    if (shape->hash != key->hash || shape->kind != key->kind || shape->type != key->type)
        return false;
    if (key->type)
        return same_statics(shape, key->statics);
    return shape->slot_count == key->count && shape->all_leaves == key->all_leaves &&
           (key->kind != PITHP_KIND_DICT ||
            same_keys(shape->keys, key->keys, key->count));
}

/* ---- Making shapes ---- */

static size_t padded(size_t bytes) {
    return (bytes + 15) & ~(size_t)15;
}

/* Bytes of strings that a record's shape copies. */
static size_t text_bytes(const pith_type *type, const char *statics) {
    size_t bytes = 0;
    for (int32_t i = 0; i < type->static_count; i++) {
        const char *text;
        if (type->statics[i].kind != PITH_STATIC_TEXT)
            continue;
        memcpy(&text, statics + type->statics[i].offset, sizeof text);
        bytes += text ? strlen(text) + 1 : 0;
    }
    return bytes;
}

/* The record of a leafless shape that serves as a static of others. NULL: memory was
 * short. */
static const void *instance_of(pith_runtime *rt, pithp_shape *shape) {
    if (!shape->instance) {
        const size_t bytes =
            sizeof(pithp_block) + sizeof(pithp_header) + shape->payload_bytes;
        shape->instance = pithp_block_acquire(rt, bytes);
        if (!shape->instance)
            return NULL;
        shape->instance->owner = &static_records;
        pithp_header *h = (pithp_header *)(shape->instance + 1);
        *h = (pithp_header){
            .magic = PITHP_OBJECT_MAGIC, .kind = PITHP_KIND_RECORD, .shape = shape};
        memcpy(h + 1, shape->statics, shape->payload_bytes);
    }
    return (const pithp_header *)(shape->instance + 1) + 1;
}

/* Copy strings behind the statics and put static records in place of their shapes. */
static bool
finish_statics(pith_runtime *rt, const pith_type *type, char *statics, char *text) {
    for (int32_t i = 0; i < type->static_count; i++) {
        char *at = statics + type->statics[i].offset;
        const void *pointer;
        if (type->statics[i].kind == PITH_STATIC_TEXT) {
            memcpy(&pointer, at, sizeof pointer);
            if (!pointer)
                continue;
            const size_t bytes = strlen(pointer) + 1;
            memcpy(text, pointer, bytes);
            memcpy(at, &text, sizeof text);
            text += bytes;
        } else if (type->statics[i].kind == PITH_STATIC_RECORD_) {
            memcpy(&pointer, at, sizeof pointer);
            const void *record = instance_of(rt, (pithp_shape *)(uintptr_t)pointer);
            if (!record)
                return false;
            memcpy(at, &record, sizeof record);
        }
    }
    return true;
}

static pithp_shape *make_record_shape(pith_runtime *rt, const shape_key *key) {
    const pith_type *type = key->type;
    const size_t head = padded(sizeof(pithp_shape)), body = padded(type->size);
    const size_t bytes = head + body + text_bytes(type, key->statics);
    char *memory = pithp_allocate(rt, bytes);
    if (!memory)
        return NULL;
    memcpy(memory + head, key->statics, type->size);
    if (!finish_statics(rt, type, memory + head, memory + head + body)) {
        pithp_release(rt, memory, bytes);
        return NULL;
    }
    pithp_shape *shape = (pithp_shape *)(void *)memory;
    *shape = (pithp_shape){
        .kind = PITHP_KIND_RECORD,
        .all_leaves = type->all_leaves,
        .type = type,
        .slot_count = type->slot_count,
        .slot_offsets = type->slot_offsets,
        .payload_bytes = type->size,
        .statics = memory + head,
        .hash = key->hash,
        .bytes = bytes,
    };
    return shape;
}

static pithp_shape *make_container_shape(pith_runtime *rt, const shape_key *key) {
    size_t bytes = padded(sizeof(pithp_shape));
    const size_t head = bytes;
    const bool dict = key->kind == PITHP_KIND_DICT;
    for (int64_t i = 0; dict && i < key->count; i++)
        bytes += sizeof(char *) + strlen(key->keys[i]) + 1;
    char *memory = pithp_allocate(rt, bytes);
    if (!memory)
        return NULL;
    const char **keys = (const char **)(void *)(memory + head);
    char *text = (char *)(keys + (dict ? key->count : 0));
    for (int64_t i = 0; dict && i < key->count; i++) {
        keys[i] = text;
        text = stpcpy(text, key->keys[i]) + 1;
    }
    pithp_shape *shape = (pithp_shape *)(void *)memory;
    *shape = (pithp_shape){
        .kind = key->kind,
        .all_leaves = key->all_leaves,
        .slot_count = key->count,
        .payload_bytes = (size_t)key->count * sizeof(void *),
        .keys = dict ? keys : NULL,
        .hash = key->hash,
        .bytes = bytes,
    };
    return shape;
}

/* The shape of a key, with a reference for the caller. NULL: error set. */
static pithp_shape *find_or_make(pith_scope *s, shape_key *key) {
    pithp_tree_room *room = pithp_tree_room_of(s);
    if (!room)
        return NULL;
    pith_runtime *rt = s->runtime;
    shape_table *table = room->shapes;
    key->hash &= pithp_shape_hash_mask;
    pthread_mutex_lock(&table->lock);
    pithp_shape *shape = table->buckets[key->hash & table->mask];
    while (shape && !same_shape(shape, key))
        shape = shape->next;
    if (!shape) {
        shape = key->type ? make_record_shape(rt, key) : make_container_shape(rt, key);
        if (shape) {
            grow_table(rt, table);
            shape->next = table->buckets[key->hash & table->mask];
            table->buckets[key->hash & table->mask] = shape;
            table->count++;
            for (int32_t i = 0; key->type && i < key->type->static_count; i++) {
                pithp_shape *inner = static_record_shape(shape, i);
                if (inner)
                    atomic_fetch_add_explicit(&inner->refs, 1, memory_order_relaxed);
            }
        }
    }
    if (shape)
        atomic_fetch_add_explicit(&shape->refs, 1, memory_order_relaxed);
    pthread_mutex_unlock(&table->lock);
    if (!shape)
        pithp_fail_memory(s, sizeof *shape);
    return shape;
}

int64_t pithp_shape_count(pith_runtime *rt) {
    pithp_tree_room *room =
        __atomic_load_n((pithp_tree_room **)&rt->room[PITHP_ROOM_TREE], __ATOMIC_ACQUIRE);
    if (!room)
        return 0;
    pthread_mutex_lock(&room->shapes->lock);
    const int64_t count = room->shapes->count;
    pthread_mutex_unlock(&room->shapes->lock);
    return count;
}

/* ---- Statics in canonical form ---- */

static pith_status
refuse_static(pith_scope *s, const pith_field *d, const char *format, ...)
    PITH_FORMAT(3, 4);
static pith_status
refuse_static(pith_scope *s, const pith_field *d, const char *format, ...) {
    char path[PITHP_PATH_BYTES];
    snprintf(path, sizeof path, ".%s", d->name);
    va_list arguments;
    va_start(arguments, format);
    pithp_fail_v(s, PITH_E_ARG, path, s->site, format, arguments);
    va_end(arguments);
    return PITH_E_ARG;
}

/* The record that a static field points to: frozen, or a type's initial one. NULL: error
 * set. */
static const pithp_shape *
static_record(pith_scope *s, const pithp_field *f, const void *record) {
    pithp_block *block = NULL;
    const pithp_pointer verdict = pithp_pointer_check(record, &block);
    if (verdict != PITHP_POINTER_OK) {
        refuse_static(s, &f->declared, "expected %s, got %s%s", f->child->name,
                      record ? "a pointer that is " : "", pithp_pointer_text(verdict));
        return NULL;
    }
    const pithp_header *h = pithp_header_of(record);
    const pithp_shape *shape = h->kind == PITHP_KIND_RECORD ? h->shape : NULL;
    if (!shape || shape->type != f->child ||
        ((h->flags & PITHP_FLAG_NIL) && !(h->flags & PITHP_FLAG_INITIAL))) {
        refuse_static(s, &f->declared, "expected %s, got %s%s", f->child->name,
                      shape && shape->type == f->child
                          ? "the nil record of a failed call: "
                      : shape ? "another record: "
                              : "an object that is no record",
                      shape ? shape->type->name : "");
        return NULL;
    }
    /* By value: the same statics give the same shape, wherever the record lives. */
    return pithp_shape_record(s, f->child, record);
}

static pith_status
canonical_static(pith_scope *s, const pithp_field *f, const char *value, char *to) {
    const pith_field *d = &f->declared;
    const char *from = value + d->offset;
    to += d->offset;
    switch (d->static_kind) {
        case PITH_STATIC_I64:
        case PITH_STATIC_TEXT:
            memcpy(to, from, d->size);
            break;
        case PITH_STATIC_F64: {
            double number;
            memcpy(&number, from, sizeof number);
            if (isnan(number))
                number = (double)NAN;
            memcpy(to, &number, sizeof number);
            break;
        }
        case PITH_STATIC_BOOL:
            *to = *from != 0;
            break;
        case PITH_STATIC_CHOICE: {
            int choice, count = 0;
            memcpy(&choice, from, sizeof choice);
            while (d->names[count])
                count++;
            if (choice < 0 || choice >= count)
                return refuse_static(s, d, "expected 0 to %d (%s to %s), got %d",
                                     count - 1, d->names[0], d->names[count - 1], choice);
            memcpy(to, from, sizeof choice);
            break;
        }
        case PITH_STATIC_DTYPE_: {
            int dtype;
            memcpy(&dtype, from, sizeof dtype);
            if (dtype < 0 || dtype >= PITH_DTYPE_COUNT)
                return refuse_static(s, d, "%d is no dtype", dtype);
            memcpy(to, from, sizeof dtype);
            break;
        }
        case PITH_STATIC_RECORD_: {
            const void *record;
            memcpy(&record, from, sizeof record);
            const pithp_shape *shape = static_record(s, f, record);
            if (!shape)
                return s->error.code;
            memcpy(to, &shape, sizeof shape);
            break;
        }
        case PITH_STATIC_NONE:
            break;
    }
    return PITH_OK;
}

static uint64_t hash_statics(const pith_type *type, const char *statics) {
    uint64_t hash = pithp_hash(PITHP_KIND_RECORD, &type, sizeof type);
    for (int32_t i = 0; i < type->static_count; i++) {
        const pithp_static_info *info = &type->statics[i];
        const char *text;
        if (info->kind == PITH_STATIC_TEXT) {
            memcpy(&text, statics + info->offset, sizeof text);
            hash = text ? pithp_hash(hash, text, strlen(text) + 1) : hash + 1;
        } else {
            hash = pithp_hash(hash, statics + info->offset, info->size);
        }
    }
    return hash;
}

static const pithp_shape *
intern_record(pith_scope *s, const pith_type *type, const void *value) {
    enum { ROOM = 1024 };
    char few[ROOM];
    char *statics = type->size <= ROOM ? few : pithp_allocate(s->runtime, type->size);
    if (!statics) {
        pithp_fail_memory(s, type->size);
        return NULL;
    }
    memset(statics, 0, type->size);
    pith_status rc = PITH_OK;
    for (int32_t i = 0; i < type->static_count && rc == PITH_OK; i++)
        rc = canonical_static(s, &type->fields[type->statics[i].field], value, statics);
    pithp_shape *shape = NULL;
    if (rc == PITH_OK) {
        shape_key key = {.kind = PITHP_KIND_RECORD,
                         .type = type,
                         .statics = statics,
                         .hash = hash_statics(type, statics)};
        shape = find_or_make(s, &key);
    }
    if (statics != few)
        pithp_release(s->runtime, statics, type->size);
    return shape && adopt_reference(s, shape) == PITH_OK ? shape : NULL;
}

/* ---- Finding shapes ---- */

/* Statics of the same bytes as those of a shape. Strings and static records have the same
 * pointers only if they are that shape's own. */
static bool same_bits(const pithp_shape *shape, const void *value) {
    const pith_type *type = shape->type;
    for (int32_t i = 0; i < type->static_count; i++) {
        const pithp_static_info *info = &type->statics[i];
        const char *a = (const char *)shape->statics + info->offset;
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
_Static_assert(RECENTS == 16, "four bits of the hash choose the place");

static pithp_recent *
remember(pith_scope *s, scope_shapes *own, const pithp_shape *shape) {
    pithp_recent *r = place_of_type(own, shape->type);
    const pith_spec **specs = r->specs;
    int64_t room = r->room;
    if (room < shape->slot_count) {
        room = shape->slot_count < 16 ? 16 : shape->slot_count;
        specs = pithp_scope_allocate(s, (size_t)room * sizeof *specs);
        if (!specs)
            return NULL;
    }
    *r =
        (pithp_recent){.type = shape->type, .shape = shape, .specs = specs, .room = room};
    return r;
}

/* What a scope around this one remembers: its leaves' specs were checked there. */
static pithp_recent *
remember_as(pith_scope *s, scope_shapes *own, const pithp_recent *other) {
    pithp_recent *r = remember(s, own, other->shape);
    if (!r || !other->checked)
        return r;
    if (r->shape->slot_count)
        memcpy(r->specs, other->specs, (size_t)r->shape->slot_count * sizeof *r->specs);
    r->checked = true;
    r->flags = other->flags;
    return r;
}

pithp_recent *pithp_recent_of_shape(pith_scope *s, const pithp_shape *shape) {
    scope_shapes *own = shapes_of(s);
    if (PITHP_UNLIKELY(!own))
        return NULL;
    pithp_recent *r = place_of_type(own, shape->type);
    return PITHP_LIKELY(r->shape == shape) ? r : remember(s, own, shape);
}

pithp_recent *pithp_recent_find(pith_scope *s, const pith_type *type, const void *value) {
    scope_shapes *own = shapes_of(s);
    if (PITHP_UNLIKELY(!own))
        return NULL;
    pithp_recent *r = place_of_type(own, type);
    if (PITHP_LIKELY(r->type == type && same_bits(r->shape, value)))
        return r;
    for (pith_scope *p = s->parent; p; p = p->parent) {
        scope_shapes *others = p->room[PITHP_ROOM_TREE];
        const pithp_recent *found = others ? place_of_type(others, type) : NULL;
        if (found && found->type == type && same_bits(found->shape, value))
            return remember_as(s, own, found);
    }
    const pithp_shape *shape = intern_record(s, type, value);
    return shape ? remember(s, own, shape) : NULL;
}

const pithp_shape *
pithp_shape_record(pith_scope *s, const pith_type *type, const void *value) {
    const pithp_recent *r = pithp_recent_find(s, type, value);
    return r ? r->shape : NULL;
}

const pithp_shape *pithp_shape_container(pith_scope *s,
                                         pithp_kind kind,
                                         int64_t count,
                                         const char *const *keys,
                                         bool all_leaves) {
    scope_shapes *own = shapes_of(s);
    if (!own)
        return NULL;
    const pithp_shape *last = own->last_container;
    if (last && last->kind == kind && last->slot_count == count &&
        last->all_leaves == all_leaves &&
        (kind != PITHP_KIND_DICT || same_keys(last->keys, keys, count)))
        return last;
    shape_key key = {
        .kind = kind,
        .count = count,
        .keys = keys,
        .all_leaves = all_leaves,
        .hash = pithp_hash((uint64_t)kind * 2 + all_leaves, &count, sizeof count)};
    for (int64_t i = 0; kind == PITHP_KIND_DICT && i < count; i++)
        key.hash = pithp_hash(key.hash, keys[i], strlen(keys[i]) + 1);
    pithp_shape *shape = find_or_make(s, &key);
    if (!shape || adopt_reference(s, shape) != PITH_OK)
        return NULL;
    own->last_container = shape;
    return shape;
}
