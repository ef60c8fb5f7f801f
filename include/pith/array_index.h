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
 * The slices of @p a along an axis at the places in @p index.
 *
 * Shapes: a [..., n, ...], index any (integers): its axes replace axis n. Negative
 * indices count from the end; what lies outside follows options->mode. Errors:
 * PITH_E_INDEX (mode error; the first offending place), besides those of every operation.
 */
PITH_API const pith_array *pith_take(pith_scope *s,
                                     const pith_array *a,
                                     const pith_array *index,
                                     const pith_take_options *options);
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
 * backend. */
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
/** As pith_scatter_add, taking the smaller. */
PITH_API const pith_array *pith_scatter_min(pith_scope *s,
                                            const pith_array *into,
                                            const pith_array *index,
                                            const pith_array *value,
                                            const pith_scatter_options *options);
/** As pith_scatter_add, taking the larger. */
PITH_API const pith_array *pith_scatter_max(pith_scope *s,
                                            const pith_array *into,
                                            const pith_array *index,
                                            const pith_array *value,
                                            const pith_scatter_options *options);

PITH_END

#ifndef PITH_NO_SITES
#    define pith_take(s, ...)        pith_take(PITH_AT(s), __VA_ARGS__)
#    define pith_scatter_set(s, ...) pith_scatter_set(PITH_AT(s), __VA_ARGS__)
#    define pith_scatter_add(s, ...) pith_scatter_add(PITH_AT(s), __VA_ARGS__)
#    define pith_scatter_mul(s, ...) pith_scatter_mul(PITH_AT(s), __VA_ARGS__)
#    define pith_scatter_min(s, ...) pith_scatter_min(PITH_AT(s), __VA_ARGS__)
#    define pith_scatter_max(s, ...) pith_scatter_max(PITH_AT(s), __VA_ARGS__)
#endif

#endif
