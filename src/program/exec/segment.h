/* Pieces of externals while a fused step runs: where they are, and what lies in several
 * of them side by side. */
#ifndef PITH_PROGRAM_EXEC_SEGMENT_H
#define PITH_PROGRAM_EXEC_SEGMENT_H

#include "program/plan/plan.h"

/* The index of element i. */
static inline void pithp_index_of(const pithp_fused_step *a, int64_t i, int64_t *index) {
    for (int d = a->rank - 1; d >= 0; d--) {
        index[d] = i % a->shape[d];
        i /= a->shape[d];
    }
}

/* The piece of x that an element is in. */
const pithp_external *
pithp_piece_at(const pithp_fused_step *a, const pithp_external *x, const int64_t *index);

/* How many of n elements of a row, from an index on, are in the same piece of every
 * external, and can be staged as one where that is needed. */
int64_t pithp_pieces_length(const pithp_fused_step *a, const int64_t *index, int64_t n);

/* Elements i to i + n of x side by side. */
void pithp_stage_pieces(char *to,
                        const pithp_fused_args *args,
                        const pithp_external *x,
                        int64_t i,
                        int64_t n);

#endif
