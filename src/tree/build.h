/* Unflattening: from structures and leaves to trees. */
#ifndef PITHP_TREE_BUILD_H
#define PITHP_TREE_BUILD_H

#include "tree/structure.h"

/* ---- Composed structures (ops/compose.c) ---- */

/* outer with inner at every item, in arrays that pithp_composed_end releases. any: items
 * may be any trees. On failure the error is set and the caller releases nothing. */
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

/* Build the nodes of a structure in s around items. Items are checked as user input, and
 * kept if they do not outlive s. If a spec differs from the structure's, the items are
 * checked against the declarations of their records. Hooks run unless suspended. Picked
 * items may be any tree. `owner`: scope of the tree or treedef that the structure comes
 * from. NULL sets the error. */
const void *pithp_build(pith_scope *s,
                        const pithp_structure *t,
                        const pith_scope *owner,
                        const pith_array *const *items);
/* The same for leaves made in s with the specs of the structure. */
const void *pithp_build_made(pith_scope *s,
                             const pithp_structure *t,
                             const pith_scope *owner,
                             const pith_array *const *made);
/* The failure result of a maker of a tree of this type: the nil record of its type, or
 * NULL. Safe for any pointer. */
const void *pithp_nil_for(const void *tree);
const void *pithp_nil_of(const pithp_structure *t);

/* Fill new arrays. Neighbours with equal dtype and value share one fill, which may also
 * write the bytes between them. bits: the element of each array, in the first bytes
 * (ops/like.c). */
pith_status pithp_arrays_fill(pith_scope *s,
                              int64_t count,
                              const pith_array *const *arrays,
                              const uint64_t *bits);

#endif
