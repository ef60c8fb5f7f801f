/**
 * @file
 * Operations that move elements without reading them: shapes, slices, joins.
 *
 * Results, scopes and errors: see array.h.
 */
#ifndef PITH_ARRAY_SHAPE_H
#define PITH_ARRAY_SHAPE_H

#include <pith/array.h>

PITH_BEGIN

/** Repeat along new leading axes and axes of extent 1 until the shape is @p shape. */
PITH_API const pith_array *
pith_broadcast_to(pith_scope *s, const pith_array *a, pith_shape shape);
/** The same elements in another shape; one extent may be -1. Shares the data. */
PITH_API const pith_array *
pith_reshape(pith_scope *s, const pith_array *a, pith_shape shape);
/** Axis i of the result is axis order[i] of @p a; order NULL reverses the axes. */
PITH_API const pith_array *
pith_transpose(pith_scope *s, const pith_array *a, const int *order);
/** New axes of extent 1 at these places of the result. Shares the data. */
PITH_API const pith_array *
pith_expand_dims(pith_scope *s, const pith_array *a, pith_axes axes);
/** Without these axes of extent 1 (PITH_ALL_AXES: every such axis). Shares the data. */
PITH_API const pith_array *
pith_squeeze(pith_scope *s, const pith_array *a, pith_axes axes);
/** The elements that @p slices pick, one slice for each of the first @p count axes;
 * others whole. */
PITH_API const pith_array *
pith_slice_array(pith_scope *s, const pith_array *a, int count, const pith_slice *slices);
/** The elements of one axis at one place, without that axis: a[:, index] for axis 1. */
PITH_API const pith_array *
pith_slice_at(pith_scope *s, const pith_array *a, int axis, int64_t index);
/** Reverse the order of the elements along axes. */
PITH_API const pith_array *pith_flip(pith_scope *s, const pith_array *a, pith_axes axes);
/** Join arrays along an axis that they have; dtypes promote. count is at least 1. */
PITH_API const pith_array *
pith_concatenate(pith_scope *s, int count, const pith_array *const *arrays, int axis);
/** Join arrays of one shape along a new axis. */
PITH_API const pith_array *
pith_stack(pith_scope *s, int count, const pith_array *const *arrays, int axis);

PITH_END

#ifndef PITH_NO_SITES
#    define pith_broadcast_to(s, ...) pith_broadcast_to(PITH_AT(s), __VA_ARGS__)
#    define pith_reshape(s, ...)      pith_reshape(PITH_AT(s), __VA_ARGS__)
#    define pith_transpose(s, ...)    pith_transpose(PITH_AT(s), __VA_ARGS__)
#    define pith_expand_dims(s, ...)  pith_expand_dims(PITH_AT(s), __VA_ARGS__)
#    define pith_squeeze(s, ...)      pith_squeeze(PITH_AT(s), __VA_ARGS__)
#    define pith_slice_array(s, ...)  pith_slice_array(PITH_AT(s), __VA_ARGS__)
#    define pith_slice_at(s, ...)     pith_slice_at(PITH_AT(s), __VA_ARGS__)
#    define pith_flip(s, ...)         pith_flip(PITH_AT(s), __VA_ARGS__)
#    define pith_concatenate(s, ...)  pith_concatenate(PITH_AT(s), __VA_ARGS__)
#    define pith_stack(s, ...)        pith_stack(PITH_AT(s), __VA_ARGS__)
#endif

#endif
