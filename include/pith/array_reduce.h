/**
 * @file
 * Reductions of arrays over axes.
 *
 * Results, scopes and errors: see array.h.
 */
#ifndef PITH_ARRAY_REDUCE_H
#define PITH_ARRAY_REDUCE_H

#include <pith/array.h>

PITH_BEGIN

/**
 * The sum over axes; the dtype of @p a (bool: i64). Integers wrap.
 *
 * Order: blocks of 4,096 elements, 64 strided lanes in a block, a binary tree over lanes
 * and then over blocks: the same bits on every backend and number of threads. f16, bf16
 * and f32 are accumulated in f64 and rounded once. Bound for f64: about (log2(n) + 64) /
 * 2 units of 2^-53 of the sum of magnitudes.
 */
PITH_API const pith_array *pith_sum(pith_scope *s, const pith_array *a, pith_axes axes);
/** The product; order and dtype as pith_sum. */
PITH_API const pith_array *pith_prod(pith_scope *s, const pith_array *a, pith_axes axes);
/** sum / count, floats only. */
PITH_API const pith_array *pith_mean(pith_scope *s, const pith_array *a, pith_axes axes);
/** The smallest; NaN if any is. An empty reduction is PITH_E_SHAPE. */
PITH_API const pith_array *pith_min(pith_scope *s, const pith_array *a, pith_axes axes);
/** The largest; NaN if any is. An empty reduction is PITH_E_SHAPE. */
PITH_API const pith_array *pith_max(pith_scope *s, const pith_array *a, pith_axes axes);
/** Whether any is true (not 0); bool. */
PITH_API const pith_array *pith_any(pith_scope *s, const pith_array *a, pith_axes axes);
/** Whether all are true (not 0); bool. */
PITH_API const pith_array *pith_all(pith_scope *s, const pith_array *a, pith_axes axes);
/** The place of the smallest along an axis, the first of equals (NaN is smallest); i64.
 */
PITH_API const pith_array *pith_argmin(pith_scope *s, const pith_array *a, int axis);
/** The place of the largest along an axis, the first of equals (NaN is largest); i64. */
PITH_API const pith_array *pith_argmax(pith_scope *s, const pith_array *a, int axis);

PITH_END

#ifndef PITH_NO_SITES
#    define pith_sum(s, ...)    pith_sum(PITH_AT(s), __VA_ARGS__)
#    define pith_prod(s, ...)   pith_prod(PITH_AT(s), __VA_ARGS__)
#    define pith_mean(s, ...)   pith_mean(PITH_AT(s), __VA_ARGS__)
#    define pith_min(s, ...)    pith_min(PITH_AT(s), __VA_ARGS__)
#    define pith_max(s, ...)    pith_max(PITH_AT(s), __VA_ARGS__)
#    define pith_any(s, ...)    pith_any(PITH_AT(s), __VA_ARGS__)
#    define pith_all(s, ...)    pith_all(PITH_AT(s), __VA_ARGS__)
#    define pith_argmin(s, ...) pith_argmin(PITH_AT(s), __VA_ARGS__)
#    define pith_argmax(s, ...) pith_argmax(PITH_AT(s), __VA_ARGS__)
#endif

#endif
