/* Hash index: finds the entries of a list by their hashes. Entries are numbered in the
 * order in which they are added; the caller keeps and compares their contents. */
#ifndef PITH_BASE_HASH_INDEX_H
#define PITH_BASE_HASH_INDEX_H

#include "pith/base.h"

#include <stdbool.h>

typedef struct pithp_hash_entry {
    uint64_t hash;
    int32_t before; /* previous entry of its bucket, or -1 */
} pithp_hash_entry;

typedef struct pithp_hash_index { /* zero: empty */
    pithp_hash_entry *entries;
    int32_t
        *buckets; /* the last entry of each, or -1; capacity of them, a power of two */
    int32_t count, capacity;
} pithp_hash_index;

/* Make room for `more` entries. False: memory is short, and the index is unchanged. */
bool pithp_hash_index_reserve(pith_runtime *rt, pithp_hash_index *x, int32_t more);
/* Add entry number x->count, which has room. */
void pithp_hash_index_add(pithp_hash_index *x, uint64_t hash);
void pithp_hash_index_free(pith_runtime *rt, pithp_hash_index *x);

/* The last entry with a hash, and the one before such an entry; -1: none. */
int32_t pithp_hash_index_last(const pithp_hash_index *x, uint64_t hash);
int32_t pithp_hash_index_before(const pithp_hash_index *x, int32_t entry);

#endif
