/* Within the tree room: where the elements are that an expression over trees works on. */
#ifndef PITH_TREE_MAP_RUNS_H
#define PITH_TREE_MAP_RUNS_H

#include "tree/tree_internal.h"

enum { PITHP_MAP_TREES = 4, PITHP_MAP_LOOPS = 64 };

/* The leaves of one place, the first tree's (and the result's) first. */
typedef struct pithp_map_loop {
    uint8_t dtypes[PITHP_MAP_TREES];
    uint8_t scalar; /* bit k: that of tree k is one element for all of the others */
} pithp_map_loop;

/* Elements that lie one behind the other in every tree. */
typedef struct pithp_map_run {
    int64_t loop, count;
    void *at[PITHP_MAP_TREES + 1]; /* the result, then each tree */
} pithp_map_run;

typedef struct pithp_map_runs {
    pithp_map_run *list; /* in `bytes` of scratch memory */
    int64_t count;
    size_t bytes;
    int loop_count;
    bool too_many; /* loops: the list is of no use */
    pithp_map_loop loops[PITHP_MAP_LOOPS];
    int64_t items[PITHP_MAP_LOOPS]; /* a place with such leaves */
} pithp_map_runs;

/* Check that all leaves of a zip are concrete, ordered after what wrote them, and of
 * one shape in each place; list where they and the results lie. On failure the error is
 * set and there is nothing to end. */
pith_status pithp_map_runs_make(pith_scope *s,
                                const pithp_zip *zip,
                                const pith_array *const *results,
                                pithp_map_runs *runs);
void pithp_map_runs_end(pith_scope *s, pithp_map_runs *runs);

/* A leaf has the shape of the first tree's, or one element without axes. */
pith_status pithp_map_check_shape(pith_scope *s,
                                  const pithp_structure *t,
                                  int64_t item,
                                  int tree,
                                  const pith_spec *first,
                                  const pith_spec *spec);

#endif
