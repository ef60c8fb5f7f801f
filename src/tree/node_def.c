/* Shapes: what nodes of one structure share. They are interned per runtime under a lock,
 * counted by the scopes that hold them, and freed with the last. */
#include "tree/node_def_internal.h"

#include <string.h>

enum { FIRST_BUCKETS = 64 };

typedef struct pithp_shape_table {
    pthread_mutex_t lock;
    pithp_shape **buckets;
    size_t mask;
    int64_t count;
} shape_table;

/* The owner of static records: they live as long as the shapes they are part of, and no
 * scope reaches this one, so that what uses them otherwise takes a copy. */
static pith_scope static_records;

uint64_t pithp_shape_hash_mask = UINT64_MAX;

/* ---- The table ---- */

shape_table *pithp_shape_table_make(pith_runtime *rt) {
    const size_t bytes = FIRST_BUCKETS * sizeof(pithp_shape *);
    shape_table *table = pithp_allocate(rt, sizeof *table);
    pithp_shape **buckets = pithp_allocate(rt, bytes);
    if (!table || !buckets || pthread_mutex_init(&table->lock, NULL) != 0) {
        pithp_release(rt, table, sizeof *table);
        pithp_release(rt, buckets, bytes);
        return NULL;
    }
    memset(buckets, 0, bytes);
    table->buckets = buckets;
    table->mask = FIRST_BUCKETS - 1;
    table->count = 0;
    return table;
}

void pithp_shape_table_free(pith_runtime *rt, shape_table *table) {
    PITH_ASSERT(table->count == 0);
    pithp_release(rt, table->buckets, (table->mask + 1) * sizeof *table->buckets);
    pthread_mutex_destroy(&table->lock);
    pithp_release(rt, table, sizeof *table);
}

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

void pithp_shape_release(pith_runtime *rt, pithp_shape *shape) {
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
            pithp_shape_release(rt, inner);
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

bool pithp_keys_same(const char *const *a, const char *const *b, int64_t count) {
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

static bool same_shape(const pithp_shape *shape, const pithp_shape_key *key) {
    if (shape->hash != key->hash || shape->kind != key->kind || shape->type != key->type)
        return false;
    if (key->type)
        return same_statics(shape, key->statics);
    return shape->slot_count == key->count && shape->all_leaves == key->all_leaves &&
           (key->kind != PITHP_KIND_DICT ||
            pithp_keys_same(shape->keys, key->keys, key->count));
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

static pithp_shape *make_record_shape(pith_runtime *rt, const pithp_shape_key *key) {
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

static pithp_shape *make_container_shape(pith_runtime *rt, const pithp_shape_key *key) {
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

pithp_shape *pithp_shape_find(pith_scope *s, pithp_shape_key *key) {
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
