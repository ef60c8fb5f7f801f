/* How reductions see their operand, for the host and for CUDA. */
#ifndef PITH_PROGRAM_REDUCE_H
#define PITH_PROGRAM_REDUCE_H

#include "program/block/reduce.h"
#include "program/rules.h"

typedef struct pithp_reduce_view {
    int64_t outer, length, inner;
    int64_t blocks; /* of the length; at least 1 */
    bool moved;     /* the reduced axes must be moved together, to the end */
} pithp_reduce_view;

pithp_reduce_view pithp_reduce_view_of(const pithp_call *call);

/* Copy the operand with its kept axes first and its reduced ones last. */
pith_status pithp_reduce_emit_moving(const pithp_call *call,
                                     void *to,
                                     const pithp_sink *sink,
                                     const pithp_memory *memory);

#endif
