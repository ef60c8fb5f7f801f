/* Capacities and memory hints: what their files share. */
#ifndef PITH_CAPACITY_INTERNAL_H
#define PITH_CAPACITY_INTERNAL_H

#include "pith/capacity.h"
#include "pith/memory_hint.h"

#include "tree/tree_internal.h"

/* The product of two numbers of 64 bits. */
__extension__ typedef unsigned __int128 pithp_u128;

/* The size that a capacity of that size grows to (pith_grown_size), of checked numbers:
 * size >= 0, base no nan. */
int64_t pithp_growth(int64_t size, int64_t need, double base);
/* A need that may be a fraction, rounded up; false: no number that a size can be. */
bool pithp_need_of(double value, int64_t *need);

#endif
