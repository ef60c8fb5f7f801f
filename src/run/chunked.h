/* Within run: split of leaves into chunks, and assembly of the result. */
#ifndef PITH_CHUNKED_H
#define PITH_CHUNKED_H

#include "pith/run_host.h"

#include "tree/tree_internal.h"

enum { PITHP_CHUNK_WHOLE = -1 }; /* in place of a leaf's axis */

/* The rule that gives the run axis of a leaf. */
typedef struct pithp_chunk_rule {
    int axis; /* as given by the user */
    bool (*whole)(const char *path, const pith_array *leaf, void *closure);
    void *closure;
} pithp_chunk_rule;

/* The run axis of every leaf of a structure, in memory of s. Ranks are those of a flat
 * tree or a host tree (one of them is NULL). NULL: error set. */
int *pithp_chunk_axes_of(pith_scope *s,
                         const pithp_chunk_rule *rule,
                         const pithp_structure *structure,
                         const pithp_flat *tree,
                         const pith_host_tree *host);
static inline int *
pithp_chunk_axes(pith_scope *s, const pithp_chunk_rule *rule, const pithp_flat *tree) {
    return pithp_chunk_axes_of(s, rule, &tree->structure, tree, NULL);
}
/* Chunk length of at most `most` that makes chunks equal, except for a shorter last
 * one. */
static inline int64_t pithp_chunk_even(int64_t runs, int64_t most) {
    if (runs < 1)
        return 0;
    const int64_t count = (runs - 1) / most + 1;
    return (runs - 1) / count + 1;
}
/* What became of a chunk: on all ranks the same. */
typedef enum pithp_chunk_end {
    PITHP_CHUNK_FINE,
    PITHP_CHUNK_SHRINKS, /* it exhausts the memory of a rank; no scope has an error */
    PITHP_CHUNK_FAILED   /* every rank has an error */
} pithp_chunk_end;
pithp_chunk_end pithp_chunk_agree(pith_scope *s, bool may_shrink);
/* Whether all ranks call a function with the same options, on as many runs, and none has
 * failed; else every rank has an error. */
bool pithp_chunk_call_agrees(pith_scope *s,
                             const char *function,
                             const pith_chunked_options *o,
                             int axis,
                             int64_t runs);
/* The least length of all ranks; 0: every rank has an error. */
int64_t pithp_chunk_length(pith_scope *s, int64_t length);
/* Warn about chunks shorter than planned. */
void pithp_chunk_warn(pith_scope *s, int64_t length, int64_t before);
bool pithp_chunk_options_fit(pith_scope *s, const pith_chunked_options *o);
/* Set an error unless all split leaves have this number of runs; `of` names the tree. */
pith_status pithp_chunk_runs_check(pith_scope *s,
                                   const pithp_flat *tree,
                                   const int *axes,
                                   int64_t runs,
                                   const char *of);

/* The result of a step, assembled chunk by chunk. */
typedef struct pithp_chunk_results {
    pith_scope *s; /* owner */
    const pithp_chunk_rule *rule;
    int64_t runs, done;               /* of the result; filled by chunks so far */
    int64_t count;                    /* number of chunks */
    const pith_treedef *def;          /* of the result; NULL before the first chunk */
    const pithp_structure *structure; /* of the first chunk */
    int *axes;
    const pith_array **leaves; /* of the result */
    char differs[256]; /* path of the first unsplit leaf that differs between chunks */
} pithp_chunk_results;

void pithp_chunk_results_begin(pithp_chunk_results *r,
                               pith_scope *s,
                               const pithp_chunk_rule *rule,
                               int64_t runs);
/* Add the result of the next chunk, of `length` runs. On failure the error of work is set
 * and nothing changes: the chunk may be repeated with fewer runs. */
pith_status pithp_chunk_results_add(pithp_chunk_results *r,
                                    pith_scope *work,
                                    const void *result,
                                    int64_t length);
/* The result as a tree of r->s, after all runs. NULL: its error is set. */
const void *pithp_chunk_results_end(pithp_chunk_results *r);

#endif
