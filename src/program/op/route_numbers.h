/* The numbers of a route that is made, beside those of each rank (params.h, route_make):
 * need[3], the greatest of all ranks; bad[2], the first entries of this rank that go to
 * no rank, and those of no row, or -1. */
#ifndef PITH_PROGRAM_OP_ROUTE_NUMBERS_H
#define PITH_PROGRAM_OP_ROUTE_NUMBERS_H

enum { PITHP_ROUTE_NEEDS = 3, PITHP_ROUTE_NUMBERS = PITHP_ROUTE_NEEDS + 2 };

#endif
