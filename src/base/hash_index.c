/* Hash index: chained buckets of entry numbers. */
#include "base/hash_index.h"

#include "base/memory.h"

#include <string.h>

static size_t bytes_of(int32_t capacity) {
    return (size_t)capacity * (sizeof(pithp_hash_entry) + sizeof(int32_t));
}

static int32_t *bucket_of(const pithp_hash_index *x, uint64_t hash) {
    return &x->buckets[hash & (uint64_t)(x->capacity - 1)];
}

/* Insert entry number x->count at the head of its bucket. */
static void insert(pithp_hash_index *x, uint64_t hash) {
    int32_t *bucket = bucket_of(x, hash);
    x->entries[x->count] = (pithp_hash_entry){hash, *bucket};
    *bucket = x->count++;
}

bool pithp_hash_index_reserve(pith_runtime *rt, pithp_hash_index *x, int32_t more) {
    enum { LEAST = 16, MOST = 1 << 30 };
    const int64_t want = (int64_t)x->count + more;
    int64_t capacity = x->capacity ? x->capacity : LEAST;
    if (want <= x->capacity)
        return true;
    while (capacity < want)
        capacity *= 2;
    if (capacity > MOST)
        return false;
    pithp_hash_index grown = {.capacity = (int32_t)capacity};
    grown.entries = pithp_allocate(rt, bytes_of(grown.capacity));
    if (!grown.entries)
        return false;
    grown.buckets = (int32_t *)(void *)(grown.entries + capacity);
    memset(grown.buckets, -1, (size_t)capacity * sizeof *grown.buckets);
    for (int32_t k = 0; k < x->count; k++)
        insert(&grown, x->entries[k].hash);
    pithp_hash_index_free(rt, x);
    *x = grown;
    return true;
}

void pithp_hash_index_add(pithp_hash_index *x, uint64_t hash) {
    insert(x, hash);
}

void pithp_hash_index_free(pith_runtime *rt, pithp_hash_index *x) {
    pithp_release(rt, x->entries, bytes_of(x->capacity));
    *x = (pithp_hash_index){.count = 0};
}

/* The entry itself, or the first one before it in its bucket, that has the hash. */
static int32_t find(const pithp_hash_index *x, int32_t entry, uint64_t hash) {
    while (entry >= 0 && x->entries[entry].hash != hash)
        entry = x->entries[entry].before;
    return entry;
}

int32_t pithp_hash_index_last(const pithp_hash_index *x, uint64_t hash) {
    return x->capacity ? find(x, *bucket_of(x, hash), hash) : -1;
}

int32_t pithp_hash_index_before(const pithp_hash_index *x, int32_t entry) {
    return find(x, x->entries[entry].before, x->entries[entry].hash);
}
