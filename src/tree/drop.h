/* Early release of trees, before their scope closes (drop.c). */
#ifndef PITHP_TREE_DROP_H
#define PITHP_TREE_DROP_H

#include "base/base_internal.h"

/* Objects of a tree that are about to be dropped. */
typedef struct pithp_doomed {
    pith_runtime *rt;
    const void **objects; /* sorted, without duplicates */
    int64_t count, room;
} pithp_doomed;

/* Whether the objects of a scope may be dropped. */
typedef bool (*pithp_may_drop)(const pith_scope *owner, void *closure);

/* Collect the nodes and leaves that `tree` reaches and `kept` does not, if their owners
 * may drop them. On failure the error of s is set and the caller releases nothing. */
pith_status pithp_doomed_make(pith_scope *s,
                              pithp_doomed *d,
                              const void *tree,
                              const void *kept,
                              pithp_may_drop may_drop,
                              void *closure);
/* Drop the objects: a later use of one is an error. */
void pithp_doomed_drop(const pithp_doomed *d);
void pithp_doomed_end(pithp_doomed *d);

#endif
