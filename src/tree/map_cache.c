/* What the one-launch map keeps for a runtime: compiled expressions, in a list, newest
 * first, of bounded length. */
#include "tree/map_cache.h"

#include "gpu/memory/reclaim.h"

#include <string.h>

enum { MOST_ENTRIES = 64 };

typedef struct entry {
    struct entry *newer, *older;
    uint64_t hash;
    size_t key_bytes;
    pithp_map_code code;
    char key[];
} entry;

struct pithp_map_cache {
    pthread_mutex_t lock; /* guards the list; modules are counted */
    entry *newest, *oldest;
    int count;
};

static void unlink_entry(pithp_map_cache *c, entry *e) {
    *(e->newer ? &e->newer->older : &c->newest) = e->older;
    *(e->older ? &e->older->newer : &c->oldest) = e->newer;
    c->count--;
}

static void link_newest(pithp_map_cache *c, entry *e) {
    e->newer = NULL;
    e->older = c->newest;
    *(c->newest ? &c->newest->newer : &c->oldest) = e;
    c->newest = e;
    c->count++;
}

void pithp_map_code_release(const pithp_map_code *code) {
    if (code->module)
        pithp_module_release(code->module);
}

static void free_entry(pith_runtime *rt, entry *e) {
    if (!e)
        return;
    pithp_map_code_release(&e->code);
    pithp_release(rt, e, sizeof *e + e->key_bytes);
}

/* Memory is short: what is used now stays until it was used. */
static void reclaim(pith_runtime *rt) {
    pithp_tree_room *room = rt->room[PITHP_ROOM_TREE];
    pithp_map_cache *cache = room ? atomic_load(&room->map_cache) : NULL;
    if (!cache)
        return;
    pthread_mutex_lock(&cache->lock);
    entry *first = NULL;
    while (cache->oldest) {
        entry *e = cache->oldest;
        unlink_entry(cache, e);
        e->older = first;
        first = e;
    }
    pthread_mutex_unlock(&cache->lock);
    while (first) {
        entry *e = first;
        first = e->older;
        free_entry(rt, e);
    }
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
    pithp_reclaimer_add(pithp_scope_device(s), reclaim);
    if (atomic_compare_exchange_strong(&room->map_cache, &cache, made))
        return made;
    pthread_mutex_destroy(&made->lock);
    pithp_release(s->runtime, made, sizeof *made);
    return cache;
}

static entry *find(pithp_map_cache *c, const void *key, size_t bytes, uint64_t hash) {
    entry *e = c->newest;
    while (e && (e->hash != hash || e->key_bytes != bytes || memcmp(e->key, key, bytes)))
        e = e->older;
    return e;
}

bool pithp_map_cache_find(pith_scope *s,
                          const void *key,
                          size_t bytes,
                          pithp_map_code *code) {
    pithp_map_cache *cache = open_cache(s);
    if (!cache)
        return false;
    pthread_mutex_lock(&cache->lock);
    entry *e = find(cache, key, bytes, pithp_hash(0, key, bytes));
    if (e) {
        unlink_entry(cache, e);
        link_newest(cache, e);
        *code = e->code;
        pithp_module_retain(code->module);
    }
    pthread_mutex_unlock(&cache->lock);
    return e;
}

void pithp_map_cache_add(pith_scope *s,
                         const void *key,
                         size_t bytes,
                         const pithp_map_code *code) {
    pithp_map_cache *cache = open_cache(s);
    entry *made = cache ? pithp_allocate(s->runtime, sizeof *made + bytes) : NULL;
    if (!made)
        return; /* it is only not kept */
    *made = (entry){.hash = pithp_hash(0, key, bytes), .key_bytes = bytes, .code = *code};
    memcpy(made->key, key, bytes);
    pithp_module_retain(code->module);
    entry *surplus = NULL;
    pthread_mutex_lock(&cache->lock);
    if (find(cache, key, bytes, made->hash)) { /* another thread was faster */
        surplus = made;
    } else {
        link_newest(cache, made);
        if (cache->count > MOST_ENTRIES) {
            surplus = cache->oldest;
            unlink_entry(cache, surplus);
        }
    }
    pthread_mutex_unlock(&cache->lock);
    free_entry(s->runtime, surplus);
}

int pithp_map_cache_count(pith_scope *s) {
    pithp_map_cache *cache = open_cache(s);
    if (!cache)
        return 0;
    pthread_mutex_lock(&cache->lock);
    const int count = cache->count;
    pthread_mutex_unlock(&cache->lock);
    return count;
}

void pithp_map_cache_close(pith_runtime *rt) {
    pithp_tree_room *room = rt->room[PITHP_ROOM_TREE];
    pithp_map_cache *cache = room ? atomic_load(&room->map_cache) : NULL;
    if (!cache)
        return;
    while (cache->oldest) {
        entry *e = cache->oldest;
        unlink_entry(cache, e);
        free_entry(rt, e);
    }
    pthread_mutex_destroy(&cache->lock);
    atomic_store(&room->map_cache, NULL);
    pithp_release(rt, cache, sizeof *cache);
}
