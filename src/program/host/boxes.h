/* Geometry of dynamic_slice and dynamic_update_slice: one box or one for each index of
 * leading axes. */
#ifndef PITH_PROGRAM_HOST_BOXES_H
#define PITH_PROGRAM_HOST_BOXES_H

#include "program/op/call.h"

typedef struct pithp_boxes {
    int rank;          /* of a box */
    int64_t count;     /* number of boxes */
    int64_t box, next; /* elements of a box; and from its array to the next, or 0 */
    int64_t shape[PITHP_MAX_RANK], whole[PITHP_MAX_RANK]; /* of a box, and of its array */
} pithp_boxes;

/* The boxes of an accepted call; box: the spec of the slice or update. */
static inline pithp_boxes pithp_boxes_of(const pithp_call *call, const pith_spec *box) {
    const pith_spec *x = call->operands[0],
                    *starts = call->operands[call->operand_count - 1];
    pithp_boxes b = {
        .rank = (int)starts->shape[starts->rank - 1], .count = 1, .box = 1, .next = 1};
    for (int d = 0; d < starts->rank - 1; d++)
        b.count *= starts->shape[d];
    for (int d = 0; d < b.rank; d++) {
        b.shape[d] = box->shape[box->rank - b.rank + d];
        b.whole[d] = x->shape[x->rank - b.rank + d];
        b.box *= b.shape[d];
        b.next *= b.whole[d];
    }
    if (x->rank == b.rank)
        b.next = 0;
    return b;
}

#endif
