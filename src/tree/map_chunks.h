/* Within the tree room: where the elements are that a one-launch map works on. */
#ifndef PITH_TREE_MAP_CHUNKS_H
#define PITH_TREE_MAP_CHUNKS_H

#include "tree/expression.h"

/* The chunks of a launch while it runs. */
typedef struct pithp_map_chunks {
    pithp_map_chunk
        *list; /* in memory of the host, `bytes` of it; NULL: none is needed */
    size_t bytes;
    pithp_buffer *device; /* where they were copied to; NULL: not needed */
} pithp_map_chunks;

/* Check that all leaves of a forest are concrete, ordered after what wrote them, and of
 * one shape in each place; number the tuples of their dtypes in `text`; and describe
 * where they and the results lie in `args`. On failure the error is set and there is
 * nothing to end. */
pith_status pithp_map_chunks_make(pith_scope *s,
                                  const pithp_forest *forest,
                                  const pith_array *const *results,
                                  pithp_map_text *text,
                                  pithp_map_args *args,
                                  pithp_map_chunks *chunks);
void pithp_map_chunks_end(pith_scope *s, pithp_map_chunks *chunks);

/* What is refused at a place, traced or not: leaves of another shape than the first
 * tree's, and a division where one of them is of integers. */
pith_status pithp_map_check_shape(pith_scope *s,
                                  const pithp_structure *t,
                                  int64_t item,
                                  int tree,
                                  const pith_spec *first,
                                  const pith_spec *spec);
pith_status pithp_map_check_division(pith_scope *s,
                                     const pithp_structure *t,
                                     int64_t item,
                                     const char *expression);

#endif
