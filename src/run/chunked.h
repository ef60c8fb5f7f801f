/* Within run: the results of chunks, and joining them. */
#ifndef PITH_CHUNKED_H
#define PITH_CHUNKED_H

#include "pith/run_chunked.h"

#include "tree/tree_internal.h"

enum { PITHP_CHUNK_WHOLE = -1 }; /* in the place of a leaf's axis */

/* What says which axis of a leaf the runs lie along. */
typedef struct pithp_chunk_rule {
    int axis; /* as the user gave it */
    bool (*whole)(const char *path, const pith_array *leaf, void *closure);
    void *closure;
} pithp_chunk_rule;

/* The axis of every leaf of a flat tree, in memory of s. NULL: error set. */
int *pithp_chunk_axes(pith_scope *s,
                      const pithp_chunk_rule *rule,
                      const pithp_flat *tree);
/* Set an error unless all leaves that are split have that many runs; `of` says of what
 * tree. */
pith_status pithp_chunk_runs_check(pith_scope *s,
                                   const pithp_flat *tree,
                                   const int *axes,
                                   int64_t runs,
                                   const char *of);

/* Leaves of the result of one chunk. */
typedef struct pithp_chunk_piece {
    struct pithp_chunk_piece *next;
    const pith_array *leaves[];
} pithp_chunk_piece;

/* The results of the chunks so far. */
typedef struct pithp_chunk_results {
    pith_scope *s; /* that owns all */
    const pithp_chunk_rule *rule;
    const pith_treedef *def;          /* of the first one; NULL: there is none yet */
    const pithp_structure *structure; /* of def */
    int *axes;
    pithp_chunk_piece *first, **last;
    int64_t count;
    char differs[256]; /* path of the first whole leaf that chunks disagree about */
} pithp_chunk_results;

void pithp_chunk_results_begin(pithp_chunk_results *r,
                               pith_scope *s,
                               const pithp_chunk_rule *rule);
/* Take the result of the next chunk, of that many runs; an error is set on work. */
pith_status pithp_chunk_results_add(pithp_chunk_results *r,
                                    pith_scope *work,
                                    const void *result,
                                    int64_t runs);
/* All results as one tree of r->s. NULL: its error is set. */
const void *pithp_chunk_results_join(pithp_chunk_results *r);

#endif
