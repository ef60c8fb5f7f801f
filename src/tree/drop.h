/* Giving trees back before their scope closes (drop.c). */
#ifndef PITHP_TREE_DROP_H
#define PITHP_TREE_DROP_H

#include "base/base_internal.h"

/* Objects of a tree that are about to be dropped. */
typedef struct pithp_doomed {
    pith_runtime *rt;
    const void **objects; /* sorted, each once */
    int64_t count, room;
} pithp_doomed;

/* Whether the objects of a scope may be dropped. */
typedef bool (*pithp_may_drop)(const pith_scope *owner, void *closure);

/* Note the nodes and leaves that `tree` reaches, whose owners may drop them, and that
 * `kept` does not reach. On failure the error of s is set, and there is nothing to end.
 */
pith_status pithp_doomed_make(pith_scope *s,
                              pithp_doomed *d,
                              const void *tree,
                              const void *kept,
                              pithp_may_drop may_drop,
                              void *closure);
/* Drop them: a later use of one is an error. */
void pithp_doomed_drop(const pithp_doomed *d);
void pithp_doomed_end(pithp_doomed *d);

#endif
