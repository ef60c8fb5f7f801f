/* Sharded trees: their leaves, specs and statics, for this room and those above.
 *
 * The spec of a sharded leaf describes this rank's shard, and carries an interned
 * placement (base/spec.h). Functions here read the specs of the leaves of a tree, from
 * options, declarations or placements, and make the leaves of another tree of the same
 * structure. */
#ifndef PITHP_TREE_SHARD_H
#define PITHP_TREE_SHARD_H

#include "pith/shard.h"

#include "mesh/mesh_internal.h"
#include "tree/shard/text.h"
#include "tree/tree_internal.h"

/* Whether a tree has sharded leaves; false for any other pointer (place.c). */
bool pithp_is_sharded(const pith_scope *s, const void *tree);

/* ---- Leaves and their specs (spec.c) ---- */

typedef struct pithp_shard_leaf {
    const void *record;          /* that holds it; NULL: none does */
    const pithp_field *field;    /* its declaration; NULL: none */
    char axes[PITHP_SHARD_TEXT]; /* "": replicated */
    const char *rows;            /* NULL: all are in use */
    int64_t counter;             /* the leaf that counts its rows; -1: none */
    bool counts;                 /* it counts the rows of others */
} pithp_shard_leaf;

typedef struct pithp_shard_tree {
    pith_scope *w; /* of temporaries */
    const void *root;
    pithp_flat flat;
    pithp_shard_leaf *leaves; /* in memory of w */
    const pith_array **items; /* leaves of the tree to be made; in memory of w */
    bool flattened;
} pithp_shard_tree;

/* Flatten a checked tree, and read the specs of its leaves. placed: they are those of its
 * sharded leaves; else `specs` (NULL: none) or the declarations hold. Call
 * pithp_shard_tree_end in any case. */
pith_status pithp_shard_tree_read(pith_scope *w,
                                  pithp_shard_tree *t,
                                  const void *tree,
                                  const pith_shard_spec *specs,
                                  bool placed);
/* Find the leaves that count rows. */
pith_status pithp_shard_tree_link(pithp_shard_tree *t);
void pithp_shard_tree_end(pithp_shard_tree *t);
/* The tree in s with `items` as its leaves. Statics follow changed extents that name
 * them (statics.c). quiet: without validation hooks. NULL: the error of s or w is set. */
const void *pithp_shard_tree_build(pith_scope *s, pithp_shard_tree *t, bool quiet);
/* Agree with the other ranks on a call of `function`, which made a tree in t->w or has
 * failed, and end it: the tree is moved to s. Every rank calls it; t->w may be NULL.
 * given: the tree that the user passed. */
const void *pithp_shard_tree_agree(pith_scope *s,
                                   pithp_shard_tree *t,
                                   const char *function,
                                   uint64_t digest,
                                   const void *result,
                                   const void *given);
/* What ranks compare: structure, statics, specs of leaves. */
uint64_t pithp_shard_tree_digest(const pithp_shard_tree *t);
/* A hash of the elements of a checked array. */
uint64_t pithp_shard_hash(pith_scope *w, uint64_t h, const pith_array *a);

/* The rows of a rank if all are divided evenly. */
typedef struct pithp_shard_part {
    int64_t begin, count;
} pithp_shard_part;
static inline pithp_shard_part
pithp_shard_part_of(int64_t rows, int64_t ranks, int64_t rank) {
    const int64_t each = rows / ranks, more = rows % ranks;
    return (pithp_shard_part){rank * each + (rank < more ? rank : more),
                              each + (rank < more)};
}

/* ---- Placements (place.c) ---- */

/* The spec of a shard under the placement that axes and rows say. NULL: the error of w is
 * set, without a path. */
const pith_spec *pithp_shard_spec_of(pith_scope *w,
                                     const pith_spec *shard,
                                     const char *axes,
                                     const char *rows);

/* Make leaf k of the new tree from a shard, without a copy. NULL: an error is set, which
 * gets the path. */
pith_status
pithp_shard_tree_place(pithp_shard_tree *t, int64_t k, const pith_array *shard);

/* ---- Gathers to one rank (root.c) ---- */

/* The arrays of all ranks along axes, as [ranks, elements] on one rank of the mesh; every
 * rank calls it, also after an error. NULL on the other ranks, or with the error set. */
const pith_array *
pithp_shard_stack_at(pith_scope *w, const pith_array *a, const char *axes, int64_t root);

#endif
