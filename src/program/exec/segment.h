/* Piecewise views at run time: select the pieces of an index, and stage elements of
 * several pieces contiguously. */
#ifndef PITH_PROGRAM_EXEC_SEGMENT_H
#define PITH_PROGRAM_EXEC_SEGMENT_H

#include "program/plan/plan.h"

/* The multi-index of element i. */
static inline void pithp_index_of(const pithp_fused_step *a, int64_t i, int64_t *index) {
    for (int d = a->rank - 1; d >= 0; d--) {
        index[d] = i % a->shape[d];
        i /= a->shape[d];
    }
}

/* The piece of x that contains an index. */
const pithp_external *
pithp_piece_at(const pithp_fused_step *a, const pithp_external *x, const int64_t *index);

/* The number of elements, at most n, of a row from an index on that are in one piece of
 * every external, and that fit into one block if a piece needs staging. */
int64_t pithp_pieces_length(const pithp_fused_step *a, const int64_t *index, int64_t n);

/* Stage elements i to i + n of x contiguously. */
void pithp_stage_pieces(char *to,
                        const pithp_fused_args *args,
                        const pithp_external *x,
                        int64_t i,
                        int64_t n);

#endif
