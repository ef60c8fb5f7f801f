/* What a rank of a mesh reads of a leaf. */
#ifndef PITHP_CHECKPOINT_SLICE_H
#define PITHP_CHECKPOINT_SLICE_H

#include "checkpoint/load/load.h"
#include "tree/shard/shard.h"

/* By axis, in the rows in use of the whole. */
typedef struct pithp_slice {
    int64_t begin[PITH_MAX_RANK], count[PITH_MAX_RANK];
    int64_t extent[PITH_MAX_RANK]; /* of the shard, fill included */
    int64_t own[PITH_MAX_RANK];    /* this rank's number along the axis */
    bool same;                     /* as many ranks along each axis as wrote it */
} pithp_slice;

/* The sum of the first n counts. */
int64_t pithp_sum_before(const int64_t *counts, int64_t n);
/* Find the slice of axis d of a leaf. cut->same is true before the first axis. */
pith_status
pithp_slice_axis(pith_scope *w, const pithp_parted *x, int d, pithp_slice *cut);
/* Read a slice of the elements in the parts. field: has the fill; or NULL. NULL: the
 * error is set. */
const pith_array *pithp_slice_read(pith_scope *w,
                                   const pith_checkpoint *c,
                                   const pithp_doc_leaf *leaf,
                                   const pithp_slice *cut,
                                   const pithp_field *field);
/* The slice of an array that has the whole leaf. NULL: the error is set. */
const pith_array *
pithp_slice_cut(pith_scope *w, const pith_array *a, const pithp_slice *cut, double fill);

/* Cut the leaves of a tree that are in memory: of options.initial, and those that upgrade
 * hooks have seen or made (given.c). */
pith_status pithp_load_given(pithp_shard_tree *t, const pithp_document *d);
/* The rows in use here, of a leaf that counts them. NULL: the error is set (sharded.c).
 */
const pith_array *pithp_load_count(pith_scope *w, const pithp_doc_leaf *leaf);

#endif
