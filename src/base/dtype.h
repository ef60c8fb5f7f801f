/* Dtypes: conversion of elements to and from double. */
#ifndef PITH_BASE_DTYPE_H
#define PITH_BASE_DTYPE_H

#include "pith/base.h"

bool pithp_dtype_is_signed(pith_dtype dtype); /* signed integers only */
/* Convert a number to an element: floats round to nearest even, integers saturate (NaN
 * gives 0), bool is value != 0. Returns whether the conversion is exact; NaN is exact in
 * floats. */
bool pithp_dtype_encode(pith_dtype dtype, double value, void *element);
/* Convert an element to double; i64 and u64 beyond 2^53 are rounded. */
double pithp_dtype_decode(pith_dtype dtype, const void *element);

#endif
