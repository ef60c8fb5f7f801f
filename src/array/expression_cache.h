/* Within the array room: plans of expressions that a runtime keeps. */
#ifndef PITH_ARRAY_EXPRESSION_CACHE_H
#define PITH_ARRAY_EXPRESSION_CACHE_H

#include "array/expression.h"

struct pithp_executable;

struct pithp_fused_code {
    atomic_int refs;
    pith_runtime *runtime;
    struct pithp_executable *executable; /* NULL: the expression cannot be fused */
    bool was_asked;                      /* once, and there is no executable yet */
    pith_dtype dtype;                    /* of the result */
};

/* Code with a reference for the caller; NULL: it is not there, or the error is set. */
pithp_fused_code *pithp_fused_cache_find(pith_scope *s, const void *key, size_t bytes);
/* Keep code, of which the caller's reference stays the caller's. It takes the place of
 * code that was asked for once. */
void pithp_fused_cache_add(pith_scope *s,
                           const void *key,
                           size_t bytes,
                           pithp_fused_code *code);

#endif
