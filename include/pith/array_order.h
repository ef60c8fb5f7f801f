/**
 * @file
 * Operations along an axis that depend on order: scans, sorts, searches.
 *
 * Results, scopes and errors: see array.h.
 */
#ifndef PITH_ARRAY_ORDER_H
#define PITH_ARRAY_ORDER_H

#include <pith/array.h>

PITH_BEGIN

/** Running sums along an axis, in order. */
PITH_API const pith_array *pith_cumsum(pith_scope *s, const pith_array *a, int axis);
/** The elements along an axis in ascending order, stable; NaN last. */
PITH_API const pith_array *pith_sort(pith_scope *s, const pith_array *a, int axis);
/** The places that sort an axis, stable; i64. */
PITH_API const pith_array *pith_argsort(pith_scope *s, const pith_array *a, int axis);

PITH_END

#ifndef PITH_NO_SITES
#    define pith_cumsum(s, ...)  pith_cumsum(PITH_AT(s), __VA_ARGS__)
#    define pith_sort(s, ...)    pith_sort(PITH_AT(s), __VA_ARGS__)
#    define pith_argsort(s, ...) pith_argsort(PITH_AT(s), __VA_ARGS__)
#endif

#endif
