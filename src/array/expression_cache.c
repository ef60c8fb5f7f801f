/* Expression cache: plans of expressions kept by a runtime, in a list of bounded length,
 * newest first. */
#include "array/expression_cache.h"

#include "array/room.h"
#include "gpu/memory/reclaim.h"

#include <string.h>

enum { MOST_ENTRIES = 64 };

typedef struct entry {
    struct entry *newer, *older;
    uint64_t hash;
    size_t key_bytes;
    pithp_fused_code *code; /* one reference */
    char key[];
} entry;

typedef struct pithp_fused_cache {
    pthread_mutex_t lock; /* guards the list; codes are counted */
    entry *newest, *oldest;
    int count;
} fused_cache;

static void unlink_entry(fused_cache *c, entry *e) {
    *(e->newer ? &e->newer->older : &c->newest) = e->older;
    *(e->older ? &e->older->newer : &c->oldest) = e->newer;
    c->count--;
}

static void link_newest(fused_cache *c, entry *e) {
    e->newer = NULL;
    e->older = c->newest;
    *(c->newest ? &c->newest->newer : &c->oldest) = e;
    c->newest = e;
    c->count++;
}

static void free_entry(pith_runtime *rt, entry *e) {
    if (!e)
        return;
    pithp_fused_code_release(e->code);
    pithp_release(rt, e, sizeof *e + e->key_bytes);
}

/* Reclaim under memory pressure; code in use survives by its reference count. */
static void reclaim(pith_runtime *rt) {
    pithp_array_room *room = pithp_array_room_at(rt);
    fused_cache *cache = room ? atomic_load(&room->fused_cache) : NULL;
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

/* The cache of the runtime, made on first use. NULL: error set. */
static fused_cache *open_cache(pith_scope *s) {
    pithp_array_room *room = pithp_array_room_of(s);
    if (!room)
        return NULL;
    fused_cache *cache = atomic_load_explicit(&room->fused_cache, memory_order_acquire);
    if (cache)
        return cache;
    fused_cache *made = pithp_allocate(s->runtime, sizeof *made);
    if (!made) {
        pithp_fail_memory(s, sizeof *made);
        return NULL;
    }
    *made = (fused_cache){0};
    pthread_mutex_init(&made->lock, NULL);
    pithp_reclaimer_add(pithp_scope_device(s), reclaim);
    if (atomic_compare_exchange_strong(&room->fused_cache, &cache, made))
        return made;
    pthread_mutex_destroy(&made->lock);
    pithp_release(s->runtime, made, sizeof *made);
    return cache;
}

static entry *find(fused_cache *c, const void *key, size_t bytes, uint64_t hash) {
    entry *e = c->newest;
    while (e && (e->hash != hash || e->key_bytes != bytes || memcmp(e->key, key, bytes)))
        e = e->older;
    return e;
}

pithp_fused_code *pithp_fused_cache_find(pith_scope *s, const void *key, size_t bytes) {
    fused_cache *cache = open_cache(s);
    if (!cache)
        return NULL;
    pthread_mutex_lock(&cache->lock);
    entry *e = find(cache, key, bytes, pithp_hash(0, key, bytes));
    if (e) {
        unlink_entry(cache, e);
        link_newest(cache, e);
        atomic_fetch_add_explicit(&e->code->refs, 1, memory_order_relaxed);
    }
    pithp_fused_code *code = e ? e->code : NULL;
    pthread_mutex_unlock(&cache->lock);
    return code;
}

void pithp_fused_cache_add(pith_scope *s,
                           const void *key,
                           size_t bytes,
                           pithp_fused_code *code) {
    fused_cache *cache = open_cache(s);
    entry *made = cache ? pithp_allocate(s->runtime, sizeof *made + bytes) : NULL;
    if (!made)
        return; /* it is only not cached */
    *made = (entry){.hash = pithp_hash(0, key, bytes), .key_bytes = bytes, .code = code};
    memcpy(made->key, key, bytes);
    atomic_fetch_add_explicit(&code->refs, 1, memory_order_relaxed);
    entry *surplus = NULL;
    pthread_mutex_lock(&cache->lock);
    entry *old = find(cache, key, bytes, made->hash);
    if (old && !old->code->was_asked) { /* another thread was faster */
        surplus = made;
    } else if (old) {
        unlink_entry(cache, old);
        link_newest(cache, made);
        surplus = old;
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

int pithp_fused_cached(pith_scope *s) {
    fused_cache *cache = open_cache(s);
    if (!cache)
        return 0;
    pthread_mutex_lock(&cache->lock);
    const int count = cache->count;
    pthread_mutex_unlock(&cache->lock);
    return count;
}

void pithp_fused_cache_close(pith_runtime *rt) {
    pithp_array_room *room = pithp_array_room_at(rt);
    fused_cache *cache = room ? atomic_load(&room->fused_cache) : NULL;
    if (!cache)
        return;
    while (cache->oldest) {
        entry *e = cache->oldest;
        unlink_entry(cache, e);
        free_entry(rt, e);
    }
    pthread_mutex_destroy(&cache->lock);
    atomic_store(&room->fused_cache, NULL);
    pithp_release(rt, cache, sizeof *cache);
}
