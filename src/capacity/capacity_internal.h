/* Capacities and memory hints: what their files share. */
#ifndef PITH_CAPACITY_INTERNAL_H
#define PITH_CAPACITY_INTERNAL_H

#include "pith/memory_hint.h"

#include "tree/tree_internal.h"

/* The product of two numbers of 64 bits. */
__extension__ typedef unsigned __int128 pithp_u128;

#endif
