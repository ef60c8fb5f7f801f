/* The form of the rows of routes (params.h). */
#ifndef PITH_PROGRAM_OP_ROUTE_H
#define PITH_PROGRAM_OP_ROUTE_H

#include "program/op/op.h"

/* The numbers of a route that is made, beside those of each rank: need[3], the greatest
 * of all ranks; bad[2], the first entries of this rank that go to no rank, and those of
 * no row, or -1. */
enum { PITHP_ROUTE_NEEDS = 3, PITHP_ROUTE_NUMBERS = PITHP_ROUTE_NEEDS + 2 };

/* The last operands of route_send and route_return: peer, send, sent and received. */
enum { PITHP_ROUTE_OPERANDS = 4 };

static inline bool pithp_moves_by_route(pithp_primitive p) {
    return p == PITHP_OP_ROUTE_SEND || p == PITHP_OP_ROUTE_RETURN;
}
/* Arrays that take part for each leaf: x, or x and into. */
static inline int pithp_route_arrays(pithp_primitive p) {
    return p == PITHP_OP_ROUTE_SEND ? 1 : 2;
}
/* The leaves of a row with a number of operands: its results. */
static inline int pithp_route_leaves(pithp_primitive p, int operands) {
    return (operands - PITHP_ROUTE_OPERANDS) / pithp_route_arrays(p);
}

#endif
