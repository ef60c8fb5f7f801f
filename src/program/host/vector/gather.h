/* Index resolution and gather functions, one set per instruction set. */
#ifndef PITH_PROGRAM_HOST_VECTOR_GATHER_H
#define PITH_PROGRAM_HOST_VECTOR_GATHER_H

#include "program/op/params.h"

/* One index array along a dimension of that extent. */
typedef struct pithp_indexing {
    int64_t extent;
    pithp_index_mode mode;
    bool no_negative;
    bool unsigned64; /* the indices were u64: negative ones are out of range */
} pithp_indexing;

/* Resolve indices to offsets: where[i] = where[i] * extent + index[i]. -1: the index is
 * out of range in mode drop or error, or where[i] was -1. */
typedef void (*pithp_resolve)(int64_t *where,
                              const int64_t *index,
                              int64_t n,
                              const pithp_indexing *rule);

/* The same for a single array of i32 or i64 (`wide`) indices; not for mode wrap. Returns
 * whether any became -1. */
typedef bool (*pithp_resolve_one)(int64_t *where,
                                  const void *index,
                                  bool wide,
                                  int64_t n,
                                  const pithp_indexing *rule);

/* Move elements from or to a single array of i32 or i64 indices, up to the first index
 * that is negative or out of range. Returns their number. */
typedef int64_t (*pithp_direct)(void *to,
                                const void *from,
                                const void *index,
                                int64_t n,
                                int64_t extent);

typedef struct pithp_index_functions {
    pithp_resolve resolve;
    pithp_resolve_one resolve_one;
    /* n elements of 1, 2, 4 and 8 bytes, by offsets */
    void (*gather[4])(void *to, const void *from, const int64_t *where, int64_t n);
    pithp_direct gather_direct[2][4]; /* by i32 and by i64 indices */
} pithp_index_functions;

extern const pithp_index_functions pithp_index_base, pithp_index_v3, pithp_index_v4;

#endif
