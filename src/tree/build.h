/* From leaves and structures to trees. */
#ifndef PITHP_TREE_BUILD_H
#define PITHP_TREE_BUILD_H

#include "tree/structure.h"

/* ---- Structures made of others (ops/compose.c) ---- */

/* outer with inner in the place of every item, in arrays to be released with
 * pithp_composed_end. any: items are to be any trees. On failure the error is set and
 * there is nothing to end. */
typedef struct pithp_composed {
    pithp_structure structure;
    pith_runtime *rt;
    size_t token_bytes, spec_bytes;
} pithp_composed;
pith_status pithp_compose(pith_scope *s,
                          pithp_composed *made,
                          const pithp_structure *outer,
                          const pithp_structure *inner,
                          bool any);
void pithp_composed_end(pithp_composed *made);

/* ---- Nodes around leaves (build.c) ---- */

/* The nodes of a structure in s around items, which are checked as what a user passes,
 * and kept where they do not outlive s. Items whose specs differ from the structure's are
 * checked against what their records declare; hooks run unless suspended. Picked places
 * take any tree. `owner`: the scope of what the structure was made of. NULL: error set.
 */
const void *pithp_build(pith_scope *s,
                        const pithp_structure *t,
                        const pith_scope *owner,
                        const pith_array *const *items);
/* The same around leaves that were made in s with the specs of the structure. */
const void *pithp_build_made(pith_scope *s,
                             const pithp_structure *t,
                             const pith_scope *owner,
                             const pith_array *const *made);
/* What a maker of a tree like this one returns when it fails: the nil record of its type,
 * or NULL. Safe for any pointer. */
const void *pithp_nil_for(const void *tree);
const void *pithp_nil_of(const pithp_structure *t);

/* Fill new arrays, neighbours of one dtype and value in one go: bytes between them may be
 * written. bits: the element of each, in the first bytes (ops/like.c). */
pith_status pithp_arrays_fill(pith_scope *s,
                              int64_t count,
                              const pith_array *const *arrays,
                              const uint64_t *bits);

#endif
