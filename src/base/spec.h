/* Specs: dtype and extents of arrays, interned per runtime. */
#ifndef PITH_BASE_SPEC_H
#define PITH_BASE_SPEC_H

#include "pith/base.h"

/* The interned spec of a dtype and shape. NULL sets the error (rank over PITH_MAX_RANK,
 * negative extent, overflow of the bytes, out of memory). */
const pith_spec *
pithp_spec(pith_scope *s, pith_dtype dtype, int rank, const int64_t *shape);
/* "f64[256,3]" */
enum { PITHP_SPEC_TEXT_BYTES = 192 };
const char *pithp_spec_print(const pith_spec *spec, char text[PITHP_SPEC_TEXT_BYTES]);
const char *
pithp_shape_print(int rank, const int64_t *shape, char text[PITHP_SPEC_TEXT_BYTES]);

#endif
