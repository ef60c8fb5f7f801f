/**
 * @file
 * Taking and setting elements at places that an array of indices names.
 *
 * Results, scopes and errors: see array.h.
 */
#ifndef PITH_ARRAY_INDEX_H
#define PITH_ARRAY_INDEX_H

#include <pith/array.h>

PITH_BEGIN

/**
 * Takes slices of @p a along an axis, at the indices in @p index.
 *
 * Shapes: a [..., n, ...], index any (integers): its axes replace axis n. Negative
 * indices count from the end (but see PITH_INDEX_CLIP); options->mode
 * determines the result for indices out of range.
 *
 * @par Errors
 * PITH_E_INDEX: an index is out of range in mode error; the message names the first one.
 */
PITH_API const pith_array *pith_take(pith_scope *s,
                                     const pith_array *a,
                                     const pith_array *index,
                                     const pith_take_options *options);
/**
 * Along an axis, for each place of the result the element that @p index names there:
 * result[i, j] = a[index[i, j], j] for axis 0.
 *
 * Shapes: those of a and index broadcast against each other but along the axis, where the
 * result has index's extent. Out of range: as pith_gather.
 */
PITH_API const pith_array *pith_take_along_axis(pith_scope *s,
                                                const pith_array *a,
                                                const pith_array *index,
                                                const pith_take_options *options);
/**
 * a[entry 0, entry 1, ...], as NumPy indexes; axes that @p entries leave out are whole.
 *
 * Shapes: index arrays and places broadcast against each other, and choose together;
 * their axes stand where the first of them stood, or first if slices stand between them.
 * An index array is of any integer dtype. Slices are clipped to their axes;
 * options->mode determines the result for other indices out of range.
 *
 * @par Errors
 * PITH_E_SHAPE: there are more entries than axes, or index arrays do not broadcast.
 * PITH_E_INDEX: an index is out of range in mode error.
 *
 *     pith_gather(s, x, PITH_ENTRIES(PITH_ENTRY_ARRAY(i), PITH_ENTRY_WHOLE,
 *                                    PITH_ENTRY_AT(-1)), NULL)  // x[i, :, -1]
 */
PITH_API const pith_array *pith_gather(pith_scope *s,
                                       const pith_array *a,
                                       int64_t count,
                                       const pith_index_entry *entries,
                                       const pith_take_options *options);
/**
 * A copy of @p into with into[entry 0, entry 1, ...] joined by @p value.
 *
 * Shapes: value broadcasts to the shape that pith_gather gives for these entries, and is
 * cast to into's dtype. Where places repeat, set keeps the last update, and the others
 * join them in order (C order of the result of that gather), on every backend, unless
 * options->unordered. min and max give NaN where any is.
 */
PITH_API const pith_array *pith_scatter(pith_scope *s,
                                        pith_scatter_operation operation,
                                        const pith_array *into,
                                        int64_t count,
                                        const pith_index_entry *entries,
                                        const pith_array *value,
                                        const pith_scatter_options *options);
/**
 * A copy of @p into with the elements that @p index names along an axis joined by
 * @p value, the counterpart of pith_take_along_axis: into[index[i, j], j] for axis 0.
 *
 * Shapes: index has into's extents, or 1, but along the axis; value broadcasts to index.
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
 * to it; value is cast to into's dtype. With repeated indices the last one wins, on every
 * backend.
 */
PITH_API const pith_array *pith_scatter_set(pith_scope *s,
                                            const pith_array *into,
                                            const pith_array *index,
                                            const pith_array *value,
                                            const pith_scatter_options *options);
/** As pith_scatter_set, adding; repeated indices add in the order of @p index, on every
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
/** As pith_scatter_add, taking the smaller; NaN if either is. */
PITH_API const pith_array *pith_scatter_min(pith_scope *s,
                                            const pith_array *into,
                                            const pith_array *index,
                                            const pith_array *value,
                                            const pith_scatter_options *options);
/** As pith_scatter_add, taking the larger; NaN if either is. */
PITH_API const pith_array *pith_scatter_max(pith_scope *s,
                                            const pith_array *into,
                                            const pith_array *index,
                                            const pith_array *value,
                                            const pith_scatter_options *options);
/** As pith_scatter_set, taking the bits that both have; integers and bool. */
PITH_API const pith_array *pith_scatter_and(pith_scope *s,
                                            const pith_array *into,
                                            const pith_array *index,
                                            const pith_array *value,
                                            const pith_scatter_options *options);
/** As pith_scatter_set, taking the bits that either has; integers and bool. */
PITH_API const pith_array *pith_scatter_or(pith_scope *s,
                                           const pith_array *into,
                                           const pith_array *index,
                                           const pith_array *value,
                                           const pith_scatter_options *options);
/**
 * The elements of @p a in a box that begins at @p starts, known when the work runs.
 *
 * Shapes: starts [rank] (integers), sizes at most a's extents. A negative start counts
 * from the end, once; then it is clamped so that the box lies within @p a, as in JAX.
 */
PITH_API const pith_array *pith_dynamic_slice(pith_scope *s,
                                              const pith_array *a,
                                              const pith_array *starts,
                                              pith_shape sizes);
/** A copy of @p a with @p update (of a's rank and dtype) in the box that begins at
 * @p starts, which are those of pith_dynamic_slice. */
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
