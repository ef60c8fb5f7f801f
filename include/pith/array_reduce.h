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
/** The place of the smallest over axes, in C order of these; the first of equals (NaN is
 * smallest); i64. An empty reduction is PITH_E_SHAPE. */
PITH_API const pith_array *
pith_argmin(pith_scope *s, const pith_array *a, pith_axes axes);
/** The place of the largest; as pith_argmin (NaN is largest). */
PITH_API const pith_array *
pith_argmax(pith_scope *s, const pith_array *a, pith_axes axes);

/** Options of the reductions that end in _with; zero is the default. */
typedef struct pith_reduce_options {
    /** bool, broadcast to the operand: elements where it is false are left out. */
    const pith_array *where PITH_DEFAULT;
    /** Rank 0: combined with the result as one more element. */
    const pith_array *initial PITH_DEFAULT;
} pith_reduce_options;

/** pith_sum of some elements. */
PITH_API const pith_array *pith_sum_with(pith_scope *s,
                                         const pith_array *a,
                                         pith_axes axes,
                                         const pith_reduce_options *options);
/** pith_prod of some elements. */
PITH_API const pith_array *pith_prod_with(pith_scope *s,
                                          const pith_array *a,
                                          pith_axes axes,
                                          const pith_reduce_options *options);
/** pith_min of some elements; with where, initial is needed, and it is the result of
 * nothing. */
PITH_API const pith_array *pith_min_with(pith_scope *s,
                                         const pith_array *a,
                                         pith_axes axes,
                                         const pith_reduce_options *options);
/** pith_max of some elements; as pith_min_with. */
PITH_API const pith_array *pith_max_with(pith_scope *s,
                                         const pith_array *a,
                                         pith_axes axes,
                                         const pith_reduce_options *options);
/** pith_any of some elements. */
PITH_API const pith_array *pith_any_with(pith_scope *s,
                                         const pith_array *a,
                                         pith_axes axes,
                                         const pith_reduce_options *options);
/** pith_all of some elements. */
PITH_API const pith_array *pith_all_with(pith_scope *s,
                                         const pith_array *a,
                                         pith_axes axes,
                                         const pith_reduce_options *options);
/** pith_mean of some elements, NaN where there are none; without initial. */
PITH_API const pith_array *pith_mean_with(pith_scope *s,
                                          const pith_array *a,
                                          pith_axes axes,
                                          const pith_reduce_options *options);
/** The mean of squared distances from the mean, floats only: their sum over count - ddof.
 */
PITH_API const pith_array *
pith_var(pith_scope *s, const pith_array *a, pith_axes axes, double ddof);
/** The square root of pith_var. */
PITH_API const pith_array *
pith_std(pith_scope *s, const pith_array *a, pith_axes axes, double ddof);
/** log(sum(exp(a))) without overflow, floats only; of nothing -inf. */
PITH_API const pith_array *
pith_logsumexp(pith_scope *s, const pith_array *a, pith_axes axes);
/**
 * The norm of vectors over axes, floats only: sum(|a|^order)^(1/order).
 *
 * @param order 2 is the Euclidean one, INFINITY the largest, -INFINITY the smallest
 * magnitude, 0 the number of elements that are not 0.
 */
PITH_API const pith_array *
pith_norm(pith_scope *s, const pith_array *a, double order, pith_axes axes);
/** The number of elements that are not 0 (NaN is not); i64. */
PITH_API const pith_array *
pith_count_nonzero(pith_scope *s, const pith_array *a, pith_axes axes);
/** Whether all elements are near, as pith_is_close says; a bool of rank 0. */
PITH_API const pith_array *pith_all_close(pith_scope *s,
                                          const pith_array *a,
                                          const pith_array *b,
                                          double rtol,
                                          double atol,
                                          bool equal_nan);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_sum(s, ...)           pith_sum(PITH_AT(s), __VA_ARGS__)
#    define pith_prod(s, ...)          pith_prod(PITH_AT(s), __VA_ARGS__)
#    define pith_mean(s, ...)          pith_mean(PITH_AT(s), __VA_ARGS__)
#    define pith_min(s, ...)           pith_min(PITH_AT(s), __VA_ARGS__)
#    define pith_max(s, ...)           pith_max(PITH_AT(s), __VA_ARGS__)
#    define pith_any(s, ...)           pith_any(PITH_AT(s), __VA_ARGS__)
#    define pith_all(s, ...)           pith_all(PITH_AT(s), __VA_ARGS__)
#    define pith_argmin(s, ...)        pith_argmin(PITH_AT(s), __VA_ARGS__)
#    define pith_argmax(s, ...)        pith_argmax(PITH_AT(s), __VA_ARGS__)
#    define pith_sum_with(s, ...)      pith_sum_with(PITH_AT(s), __VA_ARGS__)
#    define pith_prod_with(s, ...)     pith_prod_with(PITH_AT(s), __VA_ARGS__)
#    define pith_min_with(s, ...)      pith_min_with(PITH_AT(s), __VA_ARGS__)
#    define pith_max_with(s, ...)      pith_max_with(PITH_AT(s), __VA_ARGS__)
#    define pith_any_with(s, ...)      pith_any_with(PITH_AT(s), __VA_ARGS__)
#    define pith_all_with(s, ...)      pith_all_with(PITH_AT(s), __VA_ARGS__)
#    define pith_mean_with(s, ...)     pith_mean_with(PITH_AT(s), __VA_ARGS__)
#    define pith_var(s, ...)           pith_var(PITH_AT(s), __VA_ARGS__)
#    define pith_std(s, ...)           pith_std(PITH_AT(s), __VA_ARGS__)
#    define pith_logsumexp(s, ...)     pith_logsumexp(PITH_AT(s), __VA_ARGS__)
#    define pith_norm(s, ...)          pith_norm(PITH_AT(s), __VA_ARGS__)
#    define pith_count_nonzero(s, ...) pith_count_nonzero(PITH_AT(s), __VA_ARGS__)
#    define pith_all_close(s, ...)     pith_all_close(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
