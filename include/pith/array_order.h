/**
 * @file
 * Operations along an axis that depend on order: scans, sorts, searches, sets.
 *
 * In every one of them NaN is greater than all numbers and equal to itself, and -0 is
 * equal to 0. Results, scopes and errors: see array.h.
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
    bool descending PITH_DEFAULT; /**< the greatest first, NaN before all; still stable */
} pith_sort_options;

/** Options of pith_search_sorted; zero is the default. */
typedef struct pith_search_options {
    bool right PITH_DEFAULT; /**< after the elements equal to a value, not before them */
} pith_search_options;

/** What pith_top_k gives; NULL members on failure. */
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

/** What pith_unique gives; NULL members on failure. */
typedef struct pith_unique_result {
    const pith_array *values;  /**< [size], ascending */
    const pith_array *index;   /**< [size], i64: the first place of each in C order */
    const pith_array *inverse; /**< a's shape, i64: the place of each element in values */
    const pith_array *counts;  /**< [size], i64: how often each is there; 0 for fills */
} pith_unique_result;

/** What pith_nonzero gives; NULL members on failure. */
typedef struct pith_indices {
    int count;                             /**< axes */
    const pith_array *axes[PITH_MAX_RANK]; /**< [size], i64: the places along each */
} pith_indices;

/** Options of pith_nonzero; zero is the default. */
typedef struct pith_nonzero_options {
    int64_t fill PITH_DEFAULT; /**< fills the positions after the last one */
} pith_nonzero_options;

/** Options of pith_isin; zero is the default. */
typedef struct pith_isin_options {
    /** Integers alone: elements and set lie in 0 to max_item - 1, and a table of as many
     * bools is looked up instead of a sorted set. What lies outside is in no set. 0:
     * sort. */
    int64_t max_item PITH_DEFAULT;
    bool invert PITH_DEFAULT; /**< whether an element is not in the set */
} pith_isin_options;

PITH_BEGIN

/* ---- Scans ---- */

/**
 * Running sums along an axis: a's dtype (bool: i64).
 *
 * Order: blocks of 480 elements, summed one after the other; to each the sum of the
 * blocks before it is added. Blocks are summed one after the other within groups of 512,
 * and groups likewise. A function of the place alone: the same bits on every backend and
 * number of threads. f16, bf16 and f32 are summed in f64 and rounded where
 * they are stored; integers wrap.
 */
PITH_API const pith_array *pith_cumsum(pith_scope *s,
                                       const pith_array *a,
                                       int axis,
                                       const pith_cumulative_options *options);
/** Running products; order and dtype as pith_cumsum. */
PITH_API const pith_array *pith_cumprod(pith_scope *s,
                                        const pith_array *a,
                                        int axis,
                                        const pith_cumulative_options *options);
/** The least so far; from the first NaN on NaN. */
PITH_API const pith_array *pith_cummin(pith_scope *s,
                                       const pith_array *a,
                                       int axis,
                                       const pith_cumulative_options *options);
/** The greatest so far; from the first NaN on NaN. */
PITH_API const pith_array *pith_cummax(pith_scope *s,
                                       const pith_array *a,
                                       int axis,
                                       const pith_cumulative_options *options);
/** log(exp(a[0]) + ... + exp(a[i])), computed in f64 without overflow; floats. */
PITH_API const pith_array *pith_cumlogsumexp(pith_scope *s,
                                             const pith_array *a,
                                             int axis,
                                             const pith_cumulative_options *options);
/** Differences of neighbours along an axis, n times: extent m becomes m - n (or 0). bool:
 * whether they differ; unsigned integers wrap. */
PITH_API const pith_array *pith_diff(pith_scope *s, const pith_array *a, int n, int axis);

/* ---- Sorts ---- */

/** The elements along an axis in ascending order, stable; NaN last. */
PITH_API const pith_array *
pith_sort(pith_scope *s, const pith_array *a, int axis, const pith_sort_options *options);
/** The places that sort an axis, stable; i64. */
PITH_API const pith_array *pith_argsort(pith_scope *s,
                                        const pith_array *a,
                                        int axis,
                                        const pith_sort_options *options);
/** The places that sort an axis by several keys of one shape, the last one first (as
 * numpy.lexsort); stable; i64. */
PITH_API const pith_array *
pith_lexsort(pith_scope *s, int64_t count, const pith_array *const *keys, int axis);
/**
 * Arrays of one shape reordered alike along an axis: ascending by the first @p keys of
 * them, the first one first, stable; the others are carried along.
 *
 * @param sorted Set to as many arrays, or NULL on failure.
 * @return Whether they are there.
 */
PITH_API bool pith_sort_by_keys(pith_scope *s,
                                int64_t count,
                                const pith_array *const *arrays,
                                int keys,
                                int axis,
                                const pith_array **sorted);
/** The k greatest elements along the last axis, the greatest first, NaN before all, the
 * first of equals first. */
PITH_API pith_top pith_top_k(pith_scope *s, const pith_array *a, int64_t k);
/** The middle value along an axis, which vanishes, or the mean of the middle two; NaN if
 * any is, or there is none; floats. */
PITH_API const pith_array *pith_median(pith_scope *s, const pith_array *a, int axis);

/* ---- Searches ---- */

/**
 * Where values belong in a sorted array: how many of its elements are less.
 *
 * Shapes: sorted [n], values any; dtypes promote. i32, as in JAX (i64 where n is beyond
 * it).
 */
PITH_API const pith_array *pith_search_sorted(pith_scope *s,
                                              const pith_array *sorted,
                                              const pith_array *values,
                                              const pith_search_options *options);
/** The bin of each value among ascending edges [n]: i of edges[i - 1] <= x < edges[i],
 * i64; right: of edges[i - 1] < x <= edges[i]. */
PITH_API const pith_array *pith_digitize(pith_scope *s,
                                         const pith_array *values,
                                         const pith_array *edges,
                                         bool right);
/** How many elements of a bool array [n] are true before the first false one; i64. */
PITH_API const pith_array *pith_partition_point(pith_scope *s, const pith_array *mask);
/** Whether each element of @p a is among those of @p set; bool, a's shape; dtypes
 * promote. NaN is in no set. */
PITH_API const pith_array *pith_isin(pith_scope *s,
                                     const pith_array *a,
                                     const pith_array *set,
                                     const pith_isin_options *options);

/* ---- Sets of a given size ---- */

/** The different elements of @p a, ascending, cut or filled to @p size; all NaN are one.
 */
PITH_API pith_unique_result pith_unique(pith_scope *s,
                                        const pith_array *a,
                                        int64_t size,
                                        const pith_unique_options *options);
/** The places of the elements that are not 0 (NaN is not), in C order, cut or filled to
 * @p size. @p a has rank 1 or more. */
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
