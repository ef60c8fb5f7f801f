/* Within the tree room: what the one-launch map keeps for a runtime. */
#ifndef PITH_TREE_MAP_CACHE_H
#define PITH_TREE_MAP_CACHE_H

#include "gpu/compile/compile_internal.h"
#include "tree/tree_internal.h"

typedef struct pithp_map_cache pithp_map_cache;

typedef enum pithp_map_cache_list {
    PITHP_MAP_CACHE_CODE,   /* module and launch, by the text's parts */
    PITHP_MAP_CACHE_TABLES, /* chunks, total and shift, by specs and loops of leaves */
    PITHP_MAP_CACHE_LISTS
} pithp_map_cache_list;

typedef struct pithp_map_cached {
    pithp_module *module;
    pithp_launch launch; /* its function */
    pithp_buffer *chunks;
    int64_t total, shift;
} pithp_map_cached;

/* False: it is not there, or the scope's error is set. A value that was found must be
 * released. */
bool pithp_map_cache_find(pith_scope *s,
                          pithp_map_cache_list which,
                          const void *key,
                          size_t bytes,
                          pithp_map_cached *value);
/* Keep a value; the caller's references stay the caller's. */
void pithp_map_cache_add(pith_scope *s,
                         pithp_map_cache_list which,
                         const void *key,
                         size_t bytes,
                         const pithp_map_cached *value);
void pithp_map_cached_release(const pithp_map_cached *value);
int pithp_map_cache_count(pith_scope *s, pithp_map_cache_list which); /* for tests */

#endif
