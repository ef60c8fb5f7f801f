/**
 * @file
 * Gather and scatter: reading and writing elements at indices.
 *
 * Results, scopes and errors: see array.h.
 */
#ifndef PITH_ARRAY_INDEX_H
#define PITH_ARRAY_INDEX_H

#include <pith/array.h>

PITH_BEGIN

/**
 * Take slices of @p a along an axis, at the indices in @p index.
 *
 * Shapes: a [..., n, ...], index any (integers); the axes of index replace the axis n.
 * Negative indices count from the end (but see PITH_INDEX_CLIP). options->mode defines
 * the result for indices out of range.
 *
 * @par Errors
 * PITH_E_INDEX: an index is out of range in mode error; the message names the first one.
 */
PITH_API const pith_array *pith_take(pith_scope *s,
                                     const pith_array *a,
                                     const pith_array *index,
                                     const pith_take_options *options);
/**
 * Take one element along an axis for each position: result[i, j] = a[index[i, j], j] for
 * axis 0.
 *
 * Shapes: a and index broadcast against each other, except along the axis, where the
 * result has the extent of index. Indices out of range: as pith_gather.
 */
PITH_API const pith_array *pith_take_along_axis(pith_scope *s,
                                                const pith_array *a,
                                                const pith_array *index,
                                                const pith_take_options *options);
/**
 * Gather: a[entry 0, entry 1, ...] as in NumPy. Axes without an entry are whole.
 *
 * Shapes: index arrays and single indices broadcast against each other and select
 * together. Their axes take the position of the first of them, or come first if slices
 * separate them. Index arrays have any integer dtype. Slices are clipped to their axes.
 * options->mode defines the result for other indices out of range.
 *
 *     pith_gather(s, x, PITH_ENTRIES(PITH_ENTRY_ARRAY(i), PITH_ENTRY_WHOLE,
 *                                    PITH_ENTRY_AT(-1)), NULL)  // x[i, :, -1]
 *
 * @par Errors
 * PITH_E_SHAPE: there are more entries than axes, or index arrays do not broadcast.
 * PITH_E_INDEX: an index is out of range in mode error.
 */
PITH_API const pith_array *pith_gather(pith_scope *s,
                                       const pith_array *a,
                                       int64_t count,
                                       const pith_index_entry *entries,
                                       const pith_take_options *options);
/**
 * Scatter: a copy of @p into in which into[entry 0, entry 1, ...] is combined with
 * @p value.
 *
 * Shapes: value broadcasts to the shape of pith_gather for these entries and is cast to
 * into's dtype. If indices repeat, set keeps the last update; the other operations
 * combine updates in C order of that gather on every backend, unless
 * options->unordered. min and max give NaN if an update or element is NaN.
 */
PITH_API const pith_array *pith_scatter(pith_scope *s,
                                        pith_scatter_operation operation,
                                        const pith_array *into,
                                        int64_t count,
                                        const pith_index_entry *entries,
                                        const pith_array *value,
                                        const pith_scatter_options *options);
/**
 * Scatter along an axis, the counterpart of pith_take_along_axis: a copy of @p into in
 * which into[index[i, j], j] (axis 0) is combined with @p value.
 *
 * Shapes: index has into's extents, or 1, except along the axis; value broadcasts to
 * index.
 */
PITH_API const pith_array *pith_put_along_axis(pith_scope *s,
                                               pith_scatter_operation operation,
                                               const pith_array *into,
                                               const pith_array *index,
                                               const pith_array *value,
                                               const pith_scatter_options *options);
/**
 * A copy of @p into with the slices at @p index along an axis replaced by @p value.
 *
 * Shapes: into [n, ...] (axis 0), index [m] or a scalar, value [m, ...] or broadcastable
 * to it. Value is cast to into's dtype. If indices repeat, the last update wins on every
 * backend.
 */
PITH_API const pith_array *pith_scatter_set(pith_scope *s,
                                            const pith_array *into,
                                            const pith_array *index,
                                            const pith_array *value,
                                            const pith_scatter_options *options);
/** As pith_scatter_set, adding. Repeated indices add in the order of @p index on every
 * backend, unless options->unordered. */
PITH_API const pith_array *pith_scatter_add(pith_scope *s,
                                            const pith_array *into,
                                            const pith_array *index,
                                            const pith_array *value,
                                            const pith_scatter_options *options);
/** As pith_scatter_add, multiplying. */
PITH_API const pith_array *pith_scatter_mul(pith_scope *s,
                                            const pith_array *into,
                                            const pith_array *index,
                                            const pith_array *value,
                                            const pith_scatter_options *options);
/** As pith_scatter_add, with the minimum; NaN propagates. */
PITH_API const pith_array *pith_scatter_min(pith_scope *s,
                                            const pith_array *into,
                                            const pith_array *index,
                                            const pith_array *value,
                                            const pith_scatter_options *options);
/** As pith_scatter_add, with the maximum; NaN propagates. */
PITH_API const pith_array *pith_scatter_max(pith_scope *s,
                                            const pith_array *into,
                                            const pith_array *index,
                                            const pith_array *value,
                                            const pith_scatter_options *options);
/** As pith_scatter_add, with bitwise and; integers and bool. */
PITH_API const pith_array *pith_scatter_and(pith_scope *s,
                                            const pith_array *into,
                                            const pith_array *index,
                                            const pith_array *value,
                                            const pith_scatter_options *options);
/** As pith_scatter_add, with bitwise or; integers and bool. */
PITH_API const pith_array *pith_scatter_or(pith_scope *s,
                                           const pith_array *into,
                                           const pith_array *index,
                                           const pith_array *value,
                                           const pith_scatter_options *options);
/**
 * A slice of constant size whose start is known only when the work runs.
 *
 * Shapes: starts [rank] (integers), sizes at most a's extents. A negative start counts
 * from the end, once. Then it is clamped so that the slice lies within @p a, as in JAX.
 */
PITH_API const pith_array *pith_dynamic_slice(pith_scope *s,
                                              const pith_array *a,
                                              const pith_array *starts,
                                              pith_shape sizes);
/** A copy of @p a with @p update (of a's rank and dtype) at @p starts, as in
 * pith_dynamic_slice. */
PITH_API const pith_array *pith_dynamic_update_slice(pith_scope *s,
                                                     const pith_array *a,
                                                     const pith_array *update,
                                                     const pith_array *starts);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_take(s, ...)            pith_take(PITH_AT(s), __VA_ARGS__)
#    define pith_take_along_axis(s, ...) pith_take_along_axis(PITH_AT(s), __VA_ARGS__)
#    define pith_gather(s, ...)          pith_gather(PITH_AT(s), __VA_ARGS__)
#    define pith_scatter(s, ...)         pith_scatter(PITH_AT(s), __VA_ARGS__)
#    define pith_put_along_axis(s, ...)  pith_put_along_axis(PITH_AT(s), __VA_ARGS__)
#    define pith_scatter_set(s, ...)     pith_scatter_set(PITH_AT(s), __VA_ARGS__)
#    define pith_scatter_add(s, ...)     pith_scatter_add(PITH_AT(s), __VA_ARGS__)
#    define pith_scatter_mul(s, ...)     pith_scatter_mul(PITH_AT(s), __VA_ARGS__)
#    define pith_scatter_min(s, ...)     pith_scatter_min(PITH_AT(s), __VA_ARGS__)
#    define pith_scatter_max(s, ...)     pith_scatter_max(PITH_AT(s), __VA_ARGS__)
#    define pith_scatter_and(s, ...)     pith_scatter_and(PITH_AT(s), __VA_ARGS__)
#    define pith_scatter_or(s, ...)      pith_scatter_or(PITH_AT(s), __VA_ARGS__)
#    define pith_dynamic_slice(s, ...)   pith_dynamic_slice(PITH_AT(s), __VA_ARGS__)
#    define pith_dynamic_update_slice(s, ...)                                            \
        pith_dynamic_update_slice(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
