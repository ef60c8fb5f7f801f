/* Within the array room: the cache of expression plans. */
#ifndef PITH_ARRAY_EXPRESSION_CACHE_H
#define PITH_ARRAY_EXPRESSION_CACHE_H

#include "array/expression.h"

struct pithp_executable;

struct pithp_fused_code {
    atomic_int refs;
    pith_runtime *runtime;
    struct pithp_executable *executable; /* NULL: the expression cannot be fused */
    bool was_asked;                      /* used once; no executable yet */
    pith_dtype dtype;                    /* of the result */
};

/* Code with a reference for the caller; NULL: not found, or the error is set. */
pithp_fused_code *pithp_fused_cache_find(pith_scope *s, const void *key, size_t bytes);
/* Add code; the caller keeps its reference. It replaces an entry that was used once. */
void pithp_fused_cache_add(pith_scope *s,
                           const void *key,
                           size_t bytes,
                           pithp_fused_code *code);

#endif
