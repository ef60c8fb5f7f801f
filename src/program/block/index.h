/* Functions on indices, one set an instruction set. */
#ifndef PITHP_INDEX_H
#define PITHP_INDEX_H

#include "program/program_internal.h"

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

extern void
pithp_resolve_base(int64_t *, const int64_t *, int64_t, const pithp_indexing *);
extern void pithp_resolve_v3(int64_t *, const int64_t *, int64_t, const pithp_indexing *);
extern void pithp_resolve_v4(int64_t *, const int64_t *, int64_t, const pithp_indexing *);

#endif
