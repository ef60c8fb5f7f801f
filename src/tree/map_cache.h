/* Within the tree room: what the one-launch map keeps for a runtime. */
#ifndef PITH_TREE_MAP_CACHE_H
#define PITH_TREE_MAP_CACHE_H

#include "gpu/compile/compile_internal.h"
#include "tree/tree_internal.h"

typedef struct pithp_map_cache pithp_map_cache;

/* Compiled code of an expression and its dtypes. */
typedef struct pithp_map_code {
    pithp_module *module;
    pithp_launch launch; /* its function */
} pithp_map_code;

/* False: it is not there, or the scope's error is set. Code that was found must be
 * released. */
bool pithp_map_cache_find(pith_scope *s,
                          const void *key,
                          size_t bytes,
                          pithp_map_code *code);
/* Keep code; the caller's reference stays the caller's. */
void pithp_map_cache_add(pith_scope *s,
                         const void *key,
                         size_t bytes,
                         const pithp_map_code *code);
void pithp_map_code_release(const pithp_map_code *code);
int pithp_map_cache_count(pith_scope *s); /* for tests */

#endif
