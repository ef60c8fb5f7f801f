/**
 * @file
 * Operations along an axis that depend on order: scans, sorts, searches, sets.
 *
 * All of them order NaN after all numbers and equal to itself, and -0 equal to 0.
 * Results, scopes and errors: see array.h.
 */
#ifndef PITH_ARRAY_ORDER_H
#define PITH_ARRAY_ORDER_H

#include <pith/array.h>

/** Options of scans; zero is the default. */
typedef struct pith_cumulative_options {
    bool reverse PITH_DEFAULT; /**< from the last element to the first */
} pith_cumulative_options;

/** Options of sorts; zero is the default. */
typedef struct pith_sort_options {
    bool descending PITH_DEFAULT; /**< largest first, NaN before all numbers; stable */
} pith_sort_options;

/** Options of pith_search_sorted; zero is the default. */
typedef struct pith_search_options {
    bool right PITH_DEFAULT; /**< after equal elements, not before them */
} pith_search_options;

/** Result of pith_top_k; NULL members on failure. */
typedef struct pith_top {
    const pith_array *values;  /**< [..., k] */
    const pith_array *indices; /**< [..., k], i32 (i64 along axes beyond i32) */
} pith_top;

/** Options of pith_unique; zero is the default. */
typedef struct pith_unique_options {
    /** Fills the positions after the last value; must be exact in an integer dtype. NULL:
     * the least value found. */
    const double *fill PITH_DEFAULT;
} pith_unique_options;

/** Result of pith_unique; NULL members on failure. */
typedef struct pith_unique_result {
    const pith_array *values;  /**< [size], ascending */
    const pith_array *index;   /**< [size], i64: the first index of each in C order */
    const pith_array *inverse; /**< a's shape, i64: the index of each element in values */
    const pith_array *counts;  /**< [size], i64: the number of occurrences; 0 for fills */
} pith_unique_result;

/** Result of pith_nonzero; NULL members on failure. */
typedef struct pith_indices {
    int count; /**< number of axes */
    const pith_array
        *axes[PITH_MAX_RANK]; /**< [size], i64: the indices along each axis */
} pith_indices;

/** Options of pith_nonzero; zero is the default. */
typedef struct pith_nonzero_options {
    int64_t fill PITH_DEFAULT; /**< fills the entries after the last index */
} pith_nonzero_options;

/** Options of pith_isin; zero is the default. */
typedef struct pith_isin_options {
    /** For integers: elements and set lie in 0 to max_item - 1, and a table of max_item
     * bools replaces the search in a sorted set. Values outside are in no set. 0: sort.
     */
    int64_t max_item PITH_DEFAULT;
    bool invert PITH_DEFAULT; /**< whether an element is not in the set */
} pith_isin_options;

PITH_BEGIN

/* ---- Scans ---- */

/**
 * Cumulative sum along an axis in a's dtype (bool: i64).
 *
 * Order: blocks of 480 elements are summed sequentially, and the sum of all blocks before
 * it is added to each. Block sums are added sequentially within groups of 512, and
 * group sums likewise. The order depends only on the index: the same bits on every
 * backend and number of threads. f16, bf16 and f32 are summed in f64 and rounded when
 * stored. Integers wrap.
 */
PITH_API const pith_array *pith_cumsum(pith_scope *s,
                                       const pith_array *a,
                                       int axis,
                                       const pith_cumulative_options *options);
/** Cumulative product; order and dtype as pith_cumsum. */
PITH_API const pith_array *pith_cumprod(pith_scope *s,
                                        const pith_array *a,
                                        int axis,
                                        const pith_cumulative_options *options);
/** Cumulative minimum; NaN from the first NaN on. */
PITH_API const pith_array *pith_cummin(pith_scope *s,
                                       const pith_array *a,
                                       int axis,
                                       const pith_cumulative_options *options);
/** Cumulative maximum; NaN from the first NaN on. */
PITH_API const pith_array *pith_cummax(pith_scope *s,
                                       const pith_array *a,
                                       int axis,
                                       const pith_cumulative_options *options);
/** Cumulative log(exp(a[0]) + ... + exp(a[i])), computed in f64 without overflow; floats.
 */
PITH_API const pith_array *pith_cumlogsumexp(pith_scope *s,
                                             const pith_array *a,
                                             int axis,
                                             const pith_cumulative_options *options);
/** Differences of neighbours along an axis, n times: extent m becomes m - n (or 0). bool:
 * whether they differ. Unsigned integers wrap. */
PITH_API const pith_array *pith_diff(pith_scope *s, const pith_array *a, int n, int axis);

/* ---- Sorts ---- */

/** Sort along an axis in ascending order, stable; NaN last. */
PITH_API const pith_array *
pith_sort(pith_scope *s, const pith_array *a, int axis, const pith_sort_options *options);
/** Indices that sort an axis, stable; i64. */
PITH_API const pith_array *pith_argsort(pith_scope *s,
                                        const pith_array *a,
                                        int axis,
                                        const pith_sort_options *options);
/** Indices that sort an axis by several keys of one shape, the last key first (as
 * numpy.lexsort); stable; i64. */
PITH_API const pith_array *
pith_lexsort(pith_scope *s, int64_t count, const pith_array *const *keys, int axis);
/**
 * Sort arrays of one shape together along an axis, stable: ascending by the first @p keys
 * arrays, the first key first. The other arrays are reordered alike.
 *
 * @param sorted Set to @p count arrays, or to NULL on failure.
 * @return Whether it succeeded.
 */
PITH_API bool pith_sort_by_keys(pith_scope *s,
                                int64_t count,
                                const pith_array *const *arrays,
                                int keys,
                                int axis,
                                const pith_array **sorted);
/** The k largest elements along the last axis, largest first, NaN before all numbers. Of
 * equal elements the first comes first. */
PITH_API pith_top pith_top_k(pith_scope *s, const pith_array *a, int64_t k);
/** Median along an axis, which is removed: the middle value, or the mean of the middle
 * two. NaN propagates; NaN for an empty axis. Floats. */
PITH_API const pith_array *pith_median(pith_scope *s, const pith_array *a, int axis);

/* ---- Searches ---- */

/**
 * Binary search: for each value the number of elements of a sorted array that are less.
 *
 * Shapes: sorted [n], values any; dtypes promote. The result is i32, as in JAX (i64 if n
 * exceeds i32).
 */
PITH_API const pith_array *pith_search_sorted(pith_scope *s,
                                              const pith_array *sorted,
                                              const pith_array *values,
                                              const pith_search_options *options);
/** The bin of each value among ascending edges [n]: i with edges[i - 1] <= x < edges[i],
 * i64; with right: edges[i - 1] < x <= edges[i]. */
PITH_API const pith_array *pith_digitize(pith_scope *s,
                                         const pith_array *values,
                                         const pith_array *edges,
                                         bool right);
/** The number of true elements of a bool array [n] before the first false one; i64. */
PITH_API const pith_array *pith_partition_point(pith_scope *s, const pith_array *mask);
/** Whether each element of @p a is in @p set; bool, a's shape; dtypes promote. NaN is in
 * no set. */
PITH_API const pith_array *pith_isin(pith_scope *s,
                                     const pith_array *a,
                                     const pith_array *set,
                                     const pith_isin_options *options);

/* ---- Sets of a given size ---- */

/** The distinct elements of @p a, ascending, truncated or filled to @p size. All NaN are
 * one element.
 */
PITH_API pith_unique_result pith_unique(pith_scope *s,
                                        const pith_array *a,
                                        int64_t size,
                                        const pith_unique_options *options);
/** The indices of the nonzero elements (NaN is nonzero) in C order, truncated or filled
 * to @p size. @p a has rank 1 or more. */
PITH_API pith_indices pith_nonzero(pith_scope *s,
                                   const pith_array *a,
                                   int64_t size,
                                   const pith_nonzero_options *options);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_cumsum(s, ...)          pith_cumsum(PITH_AT(s), __VA_ARGS__)
#    define pith_cumprod(s, ...)         pith_cumprod(PITH_AT(s), __VA_ARGS__)
#    define pith_cummin(s, ...)          pith_cummin(PITH_AT(s), __VA_ARGS__)
#    define pith_cummax(s, ...)          pith_cummax(PITH_AT(s), __VA_ARGS__)
#    define pith_cumlogsumexp(s, ...)    pith_cumlogsumexp(PITH_AT(s), __VA_ARGS__)
#    define pith_diff(s, ...)            pith_diff(PITH_AT(s), __VA_ARGS__)
#    define pith_sort(s, ...)            pith_sort(PITH_AT(s), __VA_ARGS__)
#    define pith_argsort(s, ...)         pith_argsort(PITH_AT(s), __VA_ARGS__)
#    define pith_lexsort(s, ...)         pith_lexsort(PITH_AT(s), __VA_ARGS__)
#    define pith_sort_by_keys(s, ...)    pith_sort_by_keys(PITH_AT(s), __VA_ARGS__)
#    define pith_top_k(s, ...)           pith_top_k(PITH_AT(s), __VA_ARGS__)
#    define pith_median(s, ...)          pith_median(PITH_AT(s), __VA_ARGS__)
#    define pith_search_sorted(s, ...)   pith_search_sorted(PITH_AT(s), __VA_ARGS__)
#    define pith_digitize(s, ...)        pith_digitize(PITH_AT(s), __VA_ARGS__)
#    define pith_partition_point(s, ...) pith_partition_point(PITH_AT(s), __VA_ARGS__)
#    define pith_isin(s, ...)            pith_isin(PITH_AT(s), __VA_ARGS__)
#    define pith_unique(s, ...)          pith_unique(PITH_AT(s), __VA_ARGS__)
#    define pith_nonzero(s, ...)         pith_nonzero(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
