/* Within run: how leaves are split into chunks, and the result that chunks fill. */
#ifndef PITH_CHUNKED_H
#define PITH_CHUNKED_H

#include "pith/run_host.h"

#include "tree/tree_internal.h"

enum { PITHP_CHUNK_WHOLE = -1 }; /* in the place of a leaf's axis */

/* What says which axis of a leaf the runs lie along. */
typedef struct pithp_chunk_rule {
    int axis; /* as the user gave it */
    bool (*whole)(const char *path, const pith_array *leaf, void *closure);
    void *closure;
} pithp_chunk_rule;

/* The axis of every leaf of a structure, whose ranks are those of a flat tree or of a
 * host tree (one of them is NULL), in memory of s. NULL: error set. */
int *pithp_chunk_axes_of(pith_scope *s,
                         const pithp_chunk_rule *rule,
                         const pithp_structure *structure,
                         const pithp_flat *tree,
                         const pith_host_tree *host);
static inline int *
pithp_chunk_axes(pith_scope *s, const pithp_chunk_rule *rule, const pithp_flat *tree) {
    return pithp_chunk_axes_of(s, rule, &tree->structure, tree, NULL);
}
/* So many runs that chunks are equal but for a short last one. */
static inline int64_t pithp_chunk_even(int64_t runs, int64_t most) {
    if (runs < 1)
        return 0;
    const int64_t count = (runs - 1) / most + 1;
    return (runs - 1) / count + 1;
}
/* Say that chunks are shorter than was planned. */
void pithp_chunk_warn(pith_scope *s, int64_t length, int64_t before);
bool pithp_chunk_options_fit(pith_scope *s, const pith_chunked_options *o);
/* Set an error unless all leaves that are split have that many runs; `of` says of what
 * tree. */
pith_status pithp_chunk_runs_check(pith_scope *s,
                                   const pithp_flat *tree,
                                   const int *axes,
                                   int64_t runs,
                                   const char *of);

/* The result of a step whose chunks come one after another. */
typedef struct pithp_chunk_results {
    pith_scope *s; /* owns all */
    const pithp_chunk_rule *rule;
    int64_t runs, done;               /* of the result; that chunks have filled */
    int64_t count;                    /* of chunks */
    const pith_treedef *def;          /* of the result; NULL before the first chunk */
    const pithp_structure *structure; /* of the first chunk */
    int *axes;
    const pith_array **leaves; /* of the result */
    char differs[256]; /* path of the first whole leaf that differs between chunks */
} pithp_chunk_results;

void pithp_chunk_results_begin(pithp_chunk_results *r,
                               pith_scope *s,
                               const pithp_chunk_rule *rule,
                               int64_t runs);
/* Take the result of the next chunk, of `length` runs. On failure the error of work is
 * set and nothing is taken: a shorter chunk may follow. */
pith_status pithp_chunk_results_add(pithp_chunk_results *r,
                                    pith_scope *work,
                                    const void *result,
                                    int64_t length);
/* The result as a tree of r->s, when all runs are filled. NULL: its error is set. */
const void *pithp_chunk_results_end(pithp_chunk_results *r);

#endif
