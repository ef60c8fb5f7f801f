/* Node definitions: the shared structure of nodes, hash-consed per runtime under a lock.
 * Scopes hold references to them; the last release frees one. */
#include "tree/node_def_internal.h"
#include "tree/static_kind.h"

#include <string.h>

enum { FIRST_BUCKETS = 64 };

typedef struct pithp_node_def_table {
    pthread_mutex_t lock;
    pithp_node_def **buckets;
    size_t mask;
    int64_t count;
} shape_table;

/* Owner of static records, which live as long as the node definitions that contain them.
 * No scope reaches this owner, so any other use copies the record. */
static pith_scope static_records;

uint64_t pithp_node_def_hash_mask = UINT64_MAX;

/* ---- The table ---- */

shape_table *pithp_node_def_table_make(pith_runtime *rt) {
    const size_t bytes = FIRST_BUCKETS * sizeof(pithp_node_def *);
    shape_table *table = pithp_allocate(rt, sizeof *table);
    pithp_node_def **buckets = pithp_allocate(rt, bytes);
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

void pithp_node_def_table_free(pith_runtime *rt, shape_table *table) {
    PITH_ASSERT(table->count == 0);
    pithp_release(rt, table->buckets, (table->mask + 1) * sizeof *table->buckets);
    pthread_mutex_destroy(&table->lock);
    pithp_release(rt, table, sizeof *table);
}

static void unlink_shape(shape_table *table, const pithp_node_def *node_def) {
    pithp_node_def **link = &table->buckets[node_def->hash & table->mask];
    while (*link != node_def)
        link = &(*link)->next;
    *link = node_def->next;
    table->count--;
}

static void free_shape(pith_runtime *rt, pithp_node_def *node_def) {
    if (node_def->instance)
        pithp_block_free(rt, node_def->instance);
    pithp_release(rt, node_def, node_def->bytes);
}

/* The node definition of static i, if it is a record. */
static pithp_node_def *static_record_shape(const pithp_node_def *node_def, int32_t i) {
    const pithp_static_info *info = &node_def->type->statics[i];
    const void *record;
    if (info->kind != PITH_STATIC_KIND_RECORD)
        return NULL;
    memcpy(&record, (const char *)node_def->statics + info->offset, sizeof record);
    return record ? (pithp_node_def *)(uintptr_t)pithp_node_def_of(record) : NULL;
}

void pithp_node_def_release(pith_runtime *rt, pithp_node_def *node_def) {
    int refs = atomic_load_explicit(&node_def->refs, memory_order_relaxed);
    while (refs > 1)
        if (atomic_compare_exchange_weak_explicit(&node_def->refs, &refs, refs - 1,
                                                  memory_order_release,
                                                  memory_order_relaxed))
            return;
    /* The last reference is dropped under the lock, so that no look-up finds a node
     * definition that is being freed. */
    shape_table *table = ((pithp_tree_room *)rt->room[PITHP_ROOM_TREE])->shapes;
    pthread_mutex_lock(&table->lock);
    const bool last =
        atomic_fetch_sub_explicit(&node_def->refs, 1, memory_order_acq_rel) == 1;
    if (last)
        unlink_shape(table, node_def);
    pthread_mutex_unlock(&table->lock);
    if (!last)
        return;
    /* The depth of the recursion is the nesting depth of the types. */
    for (int32_t i = 0; node_def->type && i < node_def->type->static_count; i++) {
        pithp_node_def *inner = static_record_shape(node_def, i);
        if (inner)
            pithp_node_def_release(rt, inner);
    }
    free_shape(rt, node_def);
}

static void grow_table(pith_runtime *rt, shape_table *table) {
    if ((size_t)table->count <= table->mask)
        return;
    const size_t old_mask = table->mask, mask = 2 * (old_mask + 1) - 1;
    pithp_node_def **old = table->buckets;
    pithp_node_def **buckets = pithp_allocate(rt, (mask + 1) * sizeof *buckets);
    if (!buckets)
        return; /* longer chains still work */
    memset(buckets, 0, (mask + 1) * sizeof *buckets);
    for (size_t i = 0; i <= old_mask; i++)
        for (pithp_node_def *node_def = old[i], *next; node_def; node_def = next) {
            next = node_def->next;
            node_def->next = buckets[node_def->hash & mask];
            buckets[node_def->hash & mask] = node_def;
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

static bool same_statics(const pithp_node_def *node_def, const char *statics) {
    for (int32_t i = 0; i < node_def->type->static_count; i++) {
        const pithp_static_info *info = &node_def->type->statics[i];
        const char *a = (const char *)node_def->statics + info->offset;
        const char *b = statics + info->offset;
        const pithp_node_def *record;
        if (info->kind == PITH_STATIC_KIND_RECORD) {
            memcpy(&record, b, sizeof record);
            if (static_record_shape(node_def, i) != record)
                return false;
        } else if (!pithp_static_equal(info->kind, a, b)) {
            return false;
        }
    }
    return true;
}

static bool same_shape(const pithp_node_def *node_def, const pithp_node_def_key *key) {
    if (node_def->hash != key->hash || node_def->kind != key->kind ||
        node_def->type != key->type)
        return false;
    if (key->type)
        return same_statics(node_def, key->statics);
    return node_def->slot_count == key->count &&
           node_def->all_leaves == key->all_leaves &&
           (key->kind != PITHP_KIND_DICT ||
            pithp_keys_same(node_def->keys, key->keys, key->count));
}

/* ---- Making node definitions ---- */

static size_t padded(size_t bytes) {
    return (bytes + 15) & ~(size_t)15;
}

/* Bytes of the strings that the node definition of a record copies. */
static size_t text_bytes(const pith_type *type, const char *statics) {
    size_t bytes = 0;
    for (int32_t i = 0; i < type->static_count; i++) {
        const char *text;
        if (type->statics[i].kind != PITH_STATIC_KIND_TEXT)
            continue;
        memcpy(&text, statics + type->statics[i].offset, sizeof text);
        bytes += text ? strlen(text) + 1 : 0;
    }
    return bytes;
}

/* The record of a leafless node definition, for use as a static of others. NULL if memory
 * is short. */
static const void *instance_of(pith_runtime *rt, pithp_node_def *node_def) {
    if (!node_def->instance) {
        const size_t bytes =
            sizeof(pithp_block) + sizeof(pithp_header) + node_def->payload_bytes;
        node_def->instance = pithp_block_acquire(rt, bytes);
        if (!node_def->instance)
            return NULL;
        node_def->instance->owner = &static_records;
        pithp_header *h = (pithp_header *)(node_def->instance + 1);
        *h = (pithp_header){.magic = PITHP_OBJECT_MAGIC,
                            .kind = PITHP_KIND_RECORD,
                            .descriptor = node_def};
        memcpy(h + 1, node_def->statics, node_def->payload_bytes);
    }
    return (const pithp_header *)(node_def->instance + 1) + 1;
}

/* Copy strings after the statics, and replace node definitions by their static
 * records. */
static bool
finish_statics(pith_runtime *rt, const pith_type *type, char *statics, char *text) {
    for (int32_t i = 0; i < type->static_count; i++) {
        char *at = statics + type->statics[i].offset;
        const void *pointer;
        if (type->statics[i].kind == PITH_STATIC_KIND_TEXT) {
            memcpy(&pointer, at, sizeof pointer);
            if (!pointer)
                continue;
            const size_t bytes = strlen(pointer) + 1;
            memcpy(text, pointer, bytes);
            memcpy(at, &text, sizeof text);
            text += bytes;
        } else if (type->statics[i].kind == PITH_STATIC_KIND_RECORD) {
            memcpy(&pointer, at, sizeof pointer);
            const void *record = instance_of(rt, (pithp_node_def *)(uintptr_t)pointer);
            if (!record)
                return false;
            memcpy(at, &record, sizeof record);
        }
    }
    return true;
}

static pithp_node_def *make_record_shape(pith_runtime *rt,
                                         const pithp_node_def_key *key) {
    const pith_type *type = key->type;
    const size_t head = padded(sizeof(pithp_node_def)), body = padded(type->size);
    const size_t bytes = head + body + text_bytes(type, key->statics);
    char *memory = pithp_allocate(rt, bytes);
    if (!memory)
        return NULL;
    memcpy(memory + head, key->statics, type->size);
    if (!finish_statics(rt, type, memory + head, memory + head + body)) {
        pithp_release(rt, memory, bytes);
        return NULL;
    }
    pithp_node_def *node_def = (pithp_node_def *)(void *)memory;
    *node_def = (pithp_node_def){
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
    return node_def;
}

static pithp_node_def *make_container_shape(pith_runtime *rt,
                                            const pithp_node_def_key *key) {
    size_t bytes = padded(sizeof(pithp_node_def));
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
    pithp_node_def *node_def = (pithp_node_def *)(void *)memory;
    *node_def = (pithp_node_def){
        .kind = key->kind,
        .all_leaves = key->all_leaves,
        .slot_count = key->count,
        .payload_bytes = (size_t)key->count * sizeof(void *),
        .keys = dict ? keys : NULL,
        .hash = key->hash,
        .bytes = bytes,
    };
    return node_def;
}

pithp_node_def *pithp_node_def_find(pith_scope *s, pithp_node_def_key *key) {
    pithp_tree_room *room = pithp_tree_room_of(s);
    if (!room)
        return NULL;
    pith_runtime *rt = s->runtime;
    shape_table *table = room->shapes;
    key->hash &= pithp_node_def_hash_mask;
    pthread_mutex_lock(&table->lock);
    pithp_node_def *node_def = table->buckets[key->hash & table->mask];
    while (node_def && !same_shape(node_def, key))
        node_def = node_def->next;
    if (!node_def) {
        node_def = key->type ? make_record_shape(rt, key) : make_container_shape(rt, key);
        if (node_def) {
            grow_table(rt, table);
            node_def->next = table->buckets[key->hash & table->mask];
            table->buckets[key->hash & table->mask] = node_def;
            table->count++;
            for (int32_t i = 0; key->type && i < key->type->static_count; i++) {
                pithp_node_def *inner = static_record_shape(node_def, i);
                if (inner)
                    atomic_fetch_add_explicit(&inner->refs, 1, memory_order_relaxed);
            }
        }
    }
    if (node_def)
        atomic_fetch_add_explicit(&node_def->refs, 1, memory_order_relaxed);
    pthread_mutex_unlock(&table->lock);
    if (!node_def)
        pithp_fail_memory(s, sizeof *node_def);
    return node_def;
}

int64_t pithp_node_def_count(pith_runtime *rt) {
    pithp_tree_room *room =
        __atomic_load_n((pithp_tree_room **)&rt->room[PITHP_ROOM_TREE], __ATOMIC_ACQUIRE);
    if (!room)
        return 0;
    pthread_mutex_lock(&room->shapes->lock);
    const int64_t count = room->shapes->count;
    pthread_mutex_unlock(&room->shapes->lock);
    return count;
}
