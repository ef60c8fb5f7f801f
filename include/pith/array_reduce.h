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
 * Sum over axes in the dtype of @p a (bool: i64). Integers wrap.
 *
 * Order: pairwise. Blocks of 4,096 elements, 64 strided lanes in a block, a binary tree
 * over lanes and then over blocks: the same bits on every backend and number of threads.
 * f16, bf16 and f32 are accumulated in f64 and rounded once. Error bound for f64: about
 * (log2(n) + 64) / 2 units of 2^-53 of the sum of magnitudes (N. Higham, "The accuracy
 * of floating point summation", SIAM J. Sci. Comput. 14, 1993).
 */
PITH_API const pith_array *pith_sum(pith_scope *s, const pith_array *a, pith_axes axes);
/** Product over axes; order and dtype as pith_sum. */
PITH_API const pith_array *pith_prod(pith_scope *s, const pith_array *a, pith_axes axes);
/** Mean over axes: sum / count; floats. */
PITH_API const pith_array *pith_mean(pith_scope *s, const pith_array *a, pith_axes axes);
/** Minimum over axes; NaN propagates.
 *
 * @par Errors
 * PITH_E_SHAPE: the reduction is empty. */
PITH_API const pith_array *pith_min(pith_scope *s, const pith_array *a, pith_axes axes);
/** Maximum over axes; NaN propagates.
 *
 * @par Errors
 * PITH_E_SHAPE: the reduction is empty. */
PITH_API const pith_array *pith_max(pith_scope *s, const pith_array *a, pith_axes axes);
/** Whether any element is nonzero; bool. */
PITH_API const pith_array *pith_any(pith_scope *s, const pith_array *a, pith_axes axes);
/** Whether all elements are nonzero; bool. */
PITH_API const pith_array *pith_all(pith_scope *s, const pith_array *a, pith_axes axes);
/** Index of the minimum over axes, in C order of these axes; the first of equal elements;
 * NaN is smallest; i64.
 *
 * @par Errors
 * PITH_E_SHAPE: the reduction is empty. */
PITH_API const pith_array *
pith_argmin(pith_scope *s, const pith_array *a, pith_axes axes);
/** Index of the maximum, as pith_argmin; NaN is largest. */
PITH_API const pith_array *
pith_argmax(pith_scope *s, const pith_array *a, pith_axes axes);

/** Options of the reductions that end in _with; zero is the default. */
typedef struct pith_reduce_options {
    /** bool, broadcast to the operand: elements where it is false are skipped. */
    const pith_array *where PITH_DEFAULT;
    /** Rank 0: one more element. */
    const pith_array *initial PITH_DEFAULT;
} pith_reduce_options;

/** pith_sum with options. */
PITH_API const pith_array *pith_sum_with(pith_scope *s,
                                         const pith_array *a,
                                         pith_axes axes,
                                         const pith_reduce_options *options);
/** pith_prod with options. */
PITH_API const pith_array *pith_prod_with(pith_scope *s,
                                          const pith_array *a,
                                          pith_axes axes,
                                          const pith_reduce_options *options);
/** pith_min with options. `where` requires `initial`, which is the result of an empty
 * selection. */
PITH_API const pith_array *pith_min_with(pith_scope *s,
                                         const pith_array *a,
                                         pith_axes axes,
                                         const pith_reduce_options *options);
/** pith_max with options, as pith_min_with. */
PITH_API const pith_array *pith_max_with(pith_scope *s,
                                         const pith_array *a,
                                         pith_axes axes,
                                         const pith_reduce_options *options);
/** pith_any with options. */
PITH_API const pith_array *pith_any_with(pith_scope *s,
                                         const pith_array *a,
                                         pith_axes axes,
                                         const pith_reduce_options *options);
/** pith_all with options. */
PITH_API const pith_array *pith_all_with(pith_scope *s,
                                         const pith_array *a,
                                         pith_axes axes,
                                         const pith_reduce_options *options);
/** pith_mean with `where`, without `initial`; NaN for an empty selection. */
PITH_API const pith_array *pith_mean_with(pith_scope *s,
                                          const pith_array *a,
                                          pith_axes axes,
                                          const pith_reduce_options *options);
/** Variance over axes, floats: the sum of squared distances from the mean over count -
 * ddof. */
PITH_API const pith_array *
pith_var(pith_scope *s, const pith_array *a, pith_axes axes, double ddof);
/** Standard deviation: the square root of pith_var. */
PITH_API const pith_array *
pith_std(pith_scope *s, const pith_array *a, pith_axes axes, double ddof);
/** log(sum(exp(a))) without overflow; floats; -inf for an empty reduction. */
PITH_API const pith_array *
pith_logsumexp(pith_scope *s, const pith_array *a, pith_axes axes);
/**
 * Vector norm over axes, floats: sum(|a|^order)^(1/order).
 *
 * @param order 2: Euclidean; INFINITY: largest magnitude; -INFINITY: smallest magnitude;
 * 0: number of nonzero elements.
 */
PITH_API const pith_array *
pith_norm(pith_scope *s, const pith_array *a, double order, pith_axes axes);
/** Number of nonzero elements (NaN is nonzero); i64. */
PITH_API const pith_array *
pith_count_nonzero(pith_scope *s, const pith_array *a, pith_axes axes);
/** Whether all elements are close, as by pith_is_close; a bool of rank 0. */
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
