/* Geometry of search_sorted. */
#ifndef PITH_PROGRAM_HOST_SEARCH_H
#define PITH_PROGRAM_HOST_SEARCH_H

#include "program/op/call.h"

/* Elements of a sorted array. */
static inline int64_t pithp_search_length(const pithp_call *call) {
    const pith_spec *sorted = call->operands[0];
    return sorted->shape[sorted->rank - 1];
}

/* Adjacent values that search the same sorted array. */
static inline int64_t pithp_search_each(const pithp_call *call) {
    const pith_spec *values = call->operands[1];
    int64_t each = 1;
    for (int d = call->operands[0]->rank - 1; d < values->rank; d++)
        each *= values->shape[d];
    return each;
}

#endif
