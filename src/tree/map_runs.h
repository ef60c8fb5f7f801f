/* Private interface of tree: memory runs of the elements of a map by expression. */
#ifndef PITH_TREE_MAP_RUNS_H
#define PITH_TREE_MAP_RUNS_H

#include "tree/tree_internal.h"

enum { PITHP_MAP_TREES = 8, PITHP_MAP_LOOPS = 64 };

/* Dtypes of the leaves of one item; that of the first tree and the result comes first. */
typedef struct pithp_map_loop {
    uint8_t dtypes[PITHP_MAP_TREES];
    uint8_t scalar; /* bit k: tree k has one element for all of the others */
} pithp_map_loop;

/* Elements that are contiguous in every tree. */
typedef struct pithp_map_run {
    int64_t loop, count;
    void *at[PITHP_MAP_TREES + 1]; /* the result, then each tree */
} pithp_map_run;

typedef struct pithp_map_runs {
    pithp_map_run *list; /* `bytes` of scratch memory */
    int64_t count;
    size_t bytes;
    int loop_count;
    bool too_many; /* too many loops: the list is not usable */
    pithp_map_loop loops[PITHP_MAP_LOOPS];
    int64_t items[PITHP_MAP_LOOPS]; /* an item with such leaves */
} pithp_map_runs;

/* Check that all leaves of a zip are concrete, ordered after their writers, and of one
 * shape per item. List their memory and that of the results. On failure the error is set
 * and the caller releases nothing. */
pith_status pithp_map_runs_make(pith_scope *s,
                                const pithp_zip *zip,
                                const pith_array *const *results,
                                pithp_map_runs *runs);
void pithp_map_runs_end(pith_scope *s, pithp_map_runs *runs);

/* A leaf must have the shape of the first tree's leaf, or rank 0. */
pith_status pithp_map_check_shape(pith_scope *s,
                                  const pithp_structure *t,
                                  int64_t item,
                                  int tree,
                                  const pith_spec *first,
                                  const pith_spec *spec);

#endif
