/* Functions on indices, one set an instruction set. */
#ifndef PITH_PROGRAM_HOST_VECTOR_GATHER_H
#define PITH_PROGRAM_HOST_VECTOR_GATHER_H

#include "program/op/params.h"

/* One array of indices along a dimension of that extent. */
typedef struct pithp_indexing {
    int64_t extent;
    pithp_index_mode mode;
    bool no_negative;
    bool unsigned64; /* the indices were u64: negative ones are beyond every extent */
} pithp_indexing;

/* Make indices offsets: where[i] = where[i] * extent + index[i], or -1 where the index is
 * out of range and mode drop or error, or where[i] was -1. */
typedef void (*pithp_resolve)(int64_t *where,
                              const int64_t *index,
                              int64_t n,
                              const pithp_indexing *rule);

/* The same of one array of i32 or i64 indices as they lie, `wide` telling which; not of
 * mode wrap. Whether any became -1. */
typedef bool (*pithp_resolve_one)(int64_t *where,
                                  const void *index,
                                  bool wide,
                                  int64_t n,
                                  const pithp_indexing *rule);

/* Elements from or to where one array of i32 or i64 indices says, up to the first index
 * that is negative or beyond the extent. How many they were. */
typedef int64_t (*pithp_direct)(void *to,
                                const void *from,
                                const void *index,
                                int64_t n,
                                int64_t extent);

typedef struct pithp_index_functions {
    pithp_resolve resolve;
    pithp_resolve_one resolve_one;
    /* n elements of 1, 2, 4 and 8 bytes from where they lie */
    void (*gather[4])(void *to, const void *from, const int64_t *where, int64_t n);
    pithp_direct gather_direct[2][4]; /* of i32 and of i64 indices */
} pithp_index_functions;

extern const pithp_index_functions pithp_index_base, pithp_index_v3, pithp_index_v4;

#endif
