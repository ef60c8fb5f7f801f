/* Specs: dtype and extents of arrays, interned per runtime. */
#ifndef PITH_BASE_SPEC_H
#define PITH_BASE_SPEC_H

#include "pith/base.h"

/* Values inside programs have up to this rank: stacked residuals of loops and batches add
 * axes to arrays of the user, whose rank is at most PITH_MAX_RANK. */
enum { PITHP_MAX_RANK = PITH_SPEC_RANK };

/* The interned spec of a dtype and shape. NULL sets the error (rank over max_rank, which
 * is at most PITHP_MAX_RANK; negative extent; overflow of the bytes; out of memory). */
const pith_spec *pithp_spec_within(pith_scope *s,
                                   pith_dtype dtype,
                                   int rank,
                                   const int64_t *shape,
                                   int max_rank);
/* The spec of an array. */
static inline const pith_spec *
pithp_spec(pith_scope *s, pith_dtype dtype, int rank, const int64_t *shape) {
    return pithp_spec_within(s, dtype, rank, shape, PITH_MAX_RANK);
}
/* The spec of a value inside a program. */
static inline const pith_spec *
pithp_spec_of_value(pith_scope *s, pith_dtype dtype, int rank, const int64_t *shape) {
    return pithp_spec_within(s, dtype, rank, shape, PITHP_MAX_RANK);
}
/* "f64[256,3]" */
enum { PITHP_SPEC_TEXT_BYTES = 272 };
const char *pithp_spec_print(const pith_spec *spec, char text[PITHP_SPEC_TEXT_BYTES]);
const char *
pithp_shape_print(int rank, const int64_t *shape, char text[PITHP_SPEC_TEXT_BYTES]);

#endif
