/**
 * @file
 * Segment reductions: rows combined by segment ids, and histograms.
 *
 * Results, scopes and errors: see array.h.
 */
#ifndef PITH_ARRAY_SEGMENT_H
#define PITH_ARRAY_SEGMENT_H

#include <pith/array.h>

/** Options of segment reductions; zero is the default. */
typedef struct pith_segment_options {
    bool sorted PITH_DEFAULT; /**< a promise: ids ascend */
    bool unordered
        PITH_DEFAULT; /**< floats may be added in any order, see pith_scatter_options */
} pith_segment_options;

PITH_BEGIN

/**
 * Sum of the rows of each segment; 0 for an empty segment.
 *
 * Shapes: data [n, ...], ids [n] (integers); the result is [segments, ...] in data's
 * dtype (bool: i64, the number of true elements). Rows are added in order on every
 * backend, and each sum is rounded to the dtype: unlike in pith_sum, f16 and bf16 are
 * not accumulated in a wider dtype. Rows with ids outside 0 to segments - 1 are dropped,
 * negative ids too.
 */
PITH_API const pith_array *pith_segment_sum(pith_scope *s,
                                            const pith_array *data,
                                            const pith_array *ids,
                                            int64_t segments,
                                            const pith_segment_options *options);
/** Product of the rows of each segment; 1 for an empty segment. Shapes, dtype and order
 * as pith_segment_sum. */
PITH_API const pith_array *pith_segment_prod(pith_scope *s,
                                             const pith_array *data,
                                             const pith_array *ids,
                                             int64_t segments,
                                             const pith_segment_options *options);
/** Minimum of each segment in data's dtype; NaN propagates. An empty segment is infinity,
 * the largest integer, or true. */
PITH_API const pith_array *pith_segment_min(pith_scope *s,
                                            const pith_array *data,
                                            const pith_array *ids,
                                            int64_t segments,
                                            const pith_segment_options *options);
/** Maximum of each segment in data's dtype; NaN propagates. An empty segment is
 * -infinity, the least integer, or false. */
PITH_API const pith_array *pith_segment_max(pith_scope *s,
                                            const pith_array *data,
                                            const pith_array *ids,
                                            int64_t segments,
                                            const pith_segment_options *options);
/**
 * Count of each integer 0 to length - 1 in @p ids [n], or the sums of its @p weights [n].
 *
 * The result is i64, or has the dtype of the weights. Negative ids count as 0; ids of
 * length and more are dropped, as in JAX.
 */
PITH_API const pith_array *pith_bincount(pith_scope *s,
                                         const pith_array *ids,
                                         const pith_array *weights,
                                         int64_t length);
/** The edges of @p bins equal bins from the minimum to the maximum of @p a (0 to 1 for an
 * empty array; widened by 1/2 on both sides if they are equal), as
 * numpy.histogram_bin_edges; [bins + 1] in a's dtype, floats. */
PITH_API const pith_array *
pith_histogram_edges(pith_scope *s, const pith_array *a, int64_t bins);
/**
 * Number of elements in each bin between ascending edges [n + 1], or the sums of their
 * @p weights (of a's shape): [n], i64 or the dtype of the weights.
 *
 * A bin includes its left edge; the last bin includes its right edge too. Elements
 * outside and NaN are dropped.
 */
PITH_API const pith_array *pith_histogram(pith_scope *s,
                                          const pith_array *a,
                                          const pith_array *edges,
                                          const pith_array *weights);
/** One-hot encoding: for each integer of @p index a row of @p classes elements, 1 at that
 * position and 0 elsewhere; all 0 if it is out of range; [..., classes]. */
PITH_API const pith_array *
pith_one_hot(pith_scope *s, const pith_array *index, int64_t classes, pith_dtype dtype);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_segment_sum(s, ...)     pith_segment_sum(PITH_AT(s), __VA_ARGS__)
#    define pith_segment_prod(s, ...)    pith_segment_prod(PITH_AT(s), __VA_ARGS__)
#    define pith_segment_min(s, ...)     pith_segment_min(PITH_AT(s), __VA_ARGS__)
#    define pith_segment_max(s, ...)     pith_segment_max(PITH_AT(s), __VA_ARGS__)
#    define pith_bincount(s, ...)        pith_bincount(PITH_AT(s), __VA_ARGS__)
#    define pith_histogram_edges(s, ...) pith_histogram_edges(PITH_AT(s), __VA_ARGS__)
#    define pith_histogram(s, ...)       pith_histogram(PITH_AT(s), __VA_ARGS__)
#    define pith_one_hot(s, ...)         pith_one_hot(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
