/**
 * @file
 * Rows combined by segments: what belongs together is named by an array of numbers.
 *
 * Results, scopes and errors: see array.h.
 */
#ifndef PITH_ARRAY_SEGMENT_H
#define PITH_ARRAY_SEGMENT_H

#include <pith/array.h>

/** Options of segment reductions; zero is the default. */
typedef struct pith_segment_options {
    bool sorted PITH_DEFAULT;    /**< a promise: ids ascend */
    bool unordered PITH_DEFAULT; /**< floats may add up in any order, see
                                    pith_scatter_options */
} pith_segment_options;

PITH_BEGIN

/**
 * Add the rows of each segment; 0 for segments without rows.
 *
 * Shapes: data [n, ...], ids [n] (integers): [segments, ...] in data's dtype (bool: i64,
 * the number of true ones). Rows are added in order, on every backend, and each step is
 * rounded to the dtype: unlike pith_sum, f16 and bf16 are not accumulated in a wider one.
 * Rows with ids outside 0 to segments - 1 are left out, negative ids too.
 */
PITH_API const pith_array *pith_segment_sum(pith_scope *s,
                                            const pith_array *data,
                                            const pith_array *ids,
                                            int64_t segments,
                                            const pith_segment_options *options);
/** Multiply the rows of each segment; 1 for segments without rows. Shapes, dtype and
 * order as pith_segment_sum. */
PITH_API const pith_array *pith_segment_prod(pith_scope *s,
                                             const pith_array *data,
                                             const pith_array *ids,
                                             int64_t segments,
                                             const pith_segment_options *options);
/** Take the smallest of each segment, NaN if any is, in data's dtype. Segments without
 * rows hold infinity, the greatest integer, or true. */
PITH_API const pith_array *pith_segment_min(pith_scope *s,
                                            const pith_array *data,
                                            const pith_array *ids,
                                            int64_t segments,
                                            const pith_segment_options *options);
/** Take the largest of each segment, NaN if any is, in data's dtype. Segments without
 * rows hold -infinity, the least integer, or false. */
PITH_API const pith_array *pith_segment_max(pith_scope *s,
                                            const pith_array *data,
                                            const pith_array *ids,
                                            int64_t segments,
                                            const pith_segment_options *options);
/**
 * How often each number 0 to length - 1 is in @p ids [n], or with @p weights [n] their
 * sums.
 *
 * i64, or the dtype of the weights. Negative ids count as 0, those from length on are
 * left out, as in JAX.
 */
PITH_API const pith_array *pith_bincount(pith_scope *s,
                                         const pith_array *ids,
                                         const pith_array *weights,
                                         int64_t length);
/** The edges of @p bins bins of one width from the least to the greatest of @p a's
 * elements (0 to 1 where there are none; half a unit more to both sides where they are
 * equal), as numpy.histogram_bin_edges; [bins + 1] in a's dtype, floats. */
PITH_API const pith_array *
pith_histogram_edges(pith_scope *s, const pith_array *a, int64_t bins);
/**
 * How many elements lie in each bin between ascending edges [n + 1], or with @p weights
 * (of a's shape) the sums of theirs: [n], i64 or the dtype of the weights.
 *
 * A bin holds its left edge, the last one its right one too. What lies outside, and NaN,
 * is left out.
 */
PITH_API const pith_array *pith_histogram(pith_scope *s,
                                          const pith_array *a,
                                          const pith_array *edges,
                                          const pith_array *weights);
/** For each number of @p index a row of @p classes elements of that dtype: 1 at the place
 * of the number, 0 elsewhere; all 0 where it is outside; [..., classes]. */
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
