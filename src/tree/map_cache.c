/* What the one-launch map keeps for a runtime: compiled expressions, and tables of chunks
 * by the specs of leaves. Both are lists, newest first, of bounded length. */
#include "tree/map_cache.h"

#include <string.h>

enum { MOST_ENTRIES = 64 };

typedef struct entry {
    struct entry *newer, *older;
    uint64_t hash;
    size_t key_bytes;
    pithp_map_cached value;
    char key[];
} entry;

typedef struct list {
    entry *newest, *oldest;
    int count;
} list;

struct pithp_map_cache {
    pthread_mutex_t lock; /* guards the lists; values are counted */
    list lists[PITHP_MAP_CACHE_LISTS];
};

static void unlink_entry(list *l, entry *e) {
    *(e->newer ? &e->newer->older : &l->newest) = e->older;
    *(e->older ? &e->older->newer : &l->oldest) = e->newer;
    l->count--;
}

static void link_newest(list *l, entry *e) {
    e->newer = NULL;
    e->older = l->newest;
    *(l->newest ? &l->newest->newer : &l->oldest) = e;
    l->newest = e;
    l->count++;
}

static void retain(const pithp_map_cached *value) {
    if (value->module)
        pithp_module_retain(value->module);
    if (value->chunks)
        pithp_buffer_retain(value->chunks, 1);
}

void pithp_map_cached_release(const pithp_map_cached *value) {
    if (value->module)
        pithp_module_release(value->module);
    if (value->chunks)
        pithp_buffer_release(value->chunks, 1);
}

static void free_entry(pith_runtime *rt, entry *e) {
    if (!e)
        return;
    pithp_map_cached_release(&e->value);
    pithp_release(rt, e, sizeof *e + e->key_bytes);
}

/* The cache of the runtime, made when it is first used. NULL: error set. */
static pithp_map_cache *open_cache(pith_scope *s) {
    pithp_tree_room *room = pithp_tree_room_of(s);
    if (!room)
        return NULL;
    pithp_map_cache *cache = atomic_load_explicit(&room->map_cache, memory_order_acquire);
    if (cache)
        return cache;
    pithp_map_cache *made = pithp_allocate(s->runtime, sizeof *made);
    if (!made) {
        pithp_fail_memory(s, sizeof *made);
        return NULL;
    }
    *made = (pithp_map_cache){0};
    pthread_mutex_init(&made->lock, NULL);
    if (atomic_compare_exchange_strong(&room->map_cache, &cache, made))
        return made;
    pthread_mutex_destroy(&made->lock);
    pithp_release(s->runtime, made, sizeof *made);
    return cache;
}

static entry *find(list *l, const void *key, size_t bytes, uint64_t hash) {
    entry *e = l->newest;
    while (e && (e->hash != hash || e->key_bytes != bytes || memcmp(e->key, key, bytes)))
        e = e->older;
    return e;
}

bool pithp_map_cache_find(pith_scope *s,
                          pithp_map_cache_list which,
                          const void *key,
                          size_t bytes,
                          pithp_map_cached *value) {
    pithp_map_cache *cache = open_cache(s);
    if (!cache)
        return false;
    list *l = &cache->lists[which];
    pthread_mutex_lock(&cache->lock);
    entry *e = find(l, key, bytes, pithp_hash(which, key, bytes));
    if (e) {
        unlink_entry(l, e);
        link_newest(l, e);
        *value = e->value;
        retain(value);
    }
    pthread_mutex_unlock(&cache->lock);
    return e;
}

void pithp_map_cache_add(pith_scope *s,
                         pithp_map_cache_list which,
                         const void *key,
                         size_t bytes,
                         const pithp_map_cached *value) {
    pithp_map_cache *cache = open_cache(s);
    entry *made = cache ? pithp_allocate(s->runtime, sizeof *made + bytes) : NULL;
    if (!made)
        return; /* it is only not kept */
    *made = (entry){
        .hash = pithp_hash(which, key, bytes), .key_bytes = bytes, .value = *value};
    memcpy(made->key, key, bytes);
    retain(value);
    list *l = &cache->lists[which];
    entry *surplus = NULL;
    pthread_mutex_lock(&cache->lock);
    if (find(l, key, bytes, made->hash)) { /* another thread was faster */
        surplus = made;
    } else {
        link_newest(l, made);
        if (l->count > MOST_ENTRIES) {
            surplus = l->oldest;
            unlink_entry(l, surplus);
        }
    }
    pthread_mutex_unlock(&cache->lock);
    free_entry(s->runtime, surplus);
}

int pithp_map_cache_count(pith_scope *s, pithp_map_cache_list which) {
    pithp_map_cache *cache = open_cache(s);
    if (!cache)
        return 0;
    pthread_mutex_lock(&cache->lock);
    const int count = cache->lists[which].count;
    pthread_mutex_unlock(&cache->lock);
    return count;
}

void pithp_map_cache_close(pith_runtime *rt) {
    pithp_tree_room *room = rt->room[PITHP_ROOM_TREE];
    pithp_map_cache *cache = room ? atomic_load(&room->map_cache) : NULL;
    if (!cache)
        return;
    for (int i = 0; i < PITHP_MAP_CACHE_LISTS; i++) {
        list *l = &cache->lists[i];
        while (l->oldest) {
            entry *e = l->oldest;
            unlink_entry(l, e);
            free_entry(rt, e);
        }
    }
    pthread_mutex_destroy(&cache->lock);
    atomic_store(&room->map_cache, NULL);
    pithp_release(rt, cache, sizeof *cache);
}
