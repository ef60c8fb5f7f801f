/* Element types: elements as numbers. */
#ifndef PITH_BASE_DTYPE_H
#define PITH_BASE_DTYPE_H

#include "pith/base.h"

bool pithp_dtype_is_signed(pith_dtype dtype); /* a signed integer */
/* Write one element with that value: floats round to nearest even, integers saturate
 * (NaN: 0), bool is value != 0. Returns whether the element is exactly the value (any NaN
 * is, in a float). */
bool pithp_dtype_encode(pith_dtype dtype, double value, void *element);
/* The value of one element; i64 and u64 beyond 2^53 are rounded. */
double pithp_dtype_decode(pith_dtype dtype, const void *element);

#endif
