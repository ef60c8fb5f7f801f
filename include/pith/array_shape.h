/**
 * @file
 * Shape operations: reshape, transpose, slice, concatenate, pad.
 *
 * Results, scopes and errors: see array.h.
 */
#ifndef PITH_ARRAY_SHAPE_H
#define PITH_ARRAY_SHAPE_H

#include <pith/array.h>

/** Padding of one axis, for pith_pad. */
typedef struct pith_padding {
    int64_t low PITH_DEFAULT;      /**< elements before the first; negative: removed */
    int64_t high PITH_DEFAULT;     /**< elements after the last; negative: removed */
    int64_t interior PITH_DEFAULT; /**< elements between neighbours; not negative */
} pith_padding;

/** Elements beyond the ends of an axis in pith_extend, as in numpy.pad. */
typedef enum pith_extension {
    PITH_EXTEND_EDGE,      /**< repeat the first and the last element */
    PITH_EXTEND_REFLECT,   /**< mirror at the first and the last element */
    PITH_EXTEND_SYMMETRIC, /**< mirror beside them, so that they occur twice */
    PITH_EXTEND_WRAP       /**< continue from the other end */
} pith_extension;

PITH_BEGIN

/** Broadcast to @p shape: repeat along new leading axes and axes of extent 1. */
PITH_API const pith_array *
pith_broadcast_to(pith_scope *s, const pith_array *a, pith_shape shape);
/** The same elements in another shape; one extent may be -1. Shares the data. */
PITH_API const pith_array *
pith_reshape(pith_scope *s, const pith_array *a, pith_shape shape);
/** Axis i of the result is axis order[i] of @p a; order NULL reverses the axes. */
PITH_API const pith_array *
pith_transpose(pith_scope *s, const pith_array *a, const int *order);
/** Insert axes of extent 1 at these axes of the result. Shares the data. */
PITH_API const pith_array *
pith_expand_dims(pith_scope *s, const pith_array *a, pith_axes axes);
/** Remove these axes of extent 1 (PITH_ALL_AXES: all of them). Shares the data. */
PITH_API const pith_array *
pith_squeeze(pith_scope *s, const pith_array *a, pith_axes axes);
/** Slice the first @p count axes; the others are whole. On the host a contiguous slice of
 * at least half of the memory that holds @p a shares that memory. */
PITH_API const pith_array *pith_slice_array(pith_scope *s,
                                            const pith_array *a,
                                            int64_t count,
                                            const pith_slice *slices);
/** The elements at one index of an axis, without that axis: a[:, index] for axis 1. */
PITH_API const pith_array *
pith_slice_at(pith_scope *s, const pith_array *a, int axis, int64_t index);
/** Reverse the order of the elements along axes. */
PITH_API const pith_array *pith_flip(pith_scope *s, const pith_array *a, pith_axes axes);
/** Concatenate @p count arrays (at least 1) along an axis; dtypes promote. */
PITH_API const pith_array *
pith_concatenate(pith_scope *s, int64_t count, const pith_array *const *arrays, int axis);
/** Stack @p count arrays of one shape along a new axis. */
PITH_API const pith_array *
pith_stack(pith_scope *s, int64_t count, const pith_array *const *arrays, int axis);
/** Exchange two axes. */
PITH_API const pith_array *
pith_swapaxes(pith_scope *s, const pith_array *a, int first, int second);
/** Move one axis to another position; the others keep their order. */
PITH_API const pith_array *
pith_moveaxis(pith_scope *s, const pith_array *a, int source, int destination);
/** Split @p a along an axis before the indices @p at, which are clipped as in slices.
 * @return count + 1 arrays, owned by @p s, or NULL. */
PITH_API const pith_array *const *pith_split(pith_scope *s,
                                             const pith_array *a,
                                             int64_t count,
                                             const int64_t *at,
                                             int axis);
/** Repeat each element of an axis @p repeats times. */
PITH_API const pith_array *
pith_repeat(pith_scope *s, const pith_array *a, int64_t repeats, int axis);
/** Repeat element i of an axis repeats[i] times; @p count is the extent of the axis. */
PITH_API const pith_array *pith_repeat_each(pith_scope *s,
                                            const pith_array *a,
                                            int64_t count,
                                            const int64_t *repeats,
                                            int axis);
/** Repeat the array repeats[i] times along axis i; missing leading axes are 1, as in
 * NumPy. */
PITH_API const pith_array *
pith_tile(pith_scope *s, const pith_array *a, int64_t count, const int64_t *repeats);
/** Rotate the elements along an axis by @p shift. */
PITH_API const pith_array *
pith_roll(pith_scope *s, const pith_array *a, int64_t shift, int axis);
/**
 * Pad with @p value before, after and between elements, or remove elements at the ends.
 *
 * @param value Rank 0, cast to a's dtype; NULL: 0.
 * @param padding One entry for each of the first @p count axes.
 */
PITH_API const pith_array *pith_pad(pith_scope *s,
                                    const pith_array *a,
                                    const pith_array *value,
                                    int64_t count,
                                    const pith_padding *padding);
/** Extend an array by low and high elements at the ends of the first @p count axes.
 *
 * @par Errors
 * PITH_E_SHAPE: such an axis is empty. */
PITH_API const pith_array *pith_extend(pith_scope *s,
                                       const pith_array *a,
                                       pith_extension extension,
                                       int64_t count,
                                       const pith_padding *padding);
/** A diagonal of the last two axes, as one last axis; offset 1 is above the main one. */
PITH_API const pith_array *
pith_diagonal(pith_scope *s, const pith_array *a, int64_t offset);
/** The last two axes with zeros above a diagonal. */
PITH_API const pith_array *
pith_tril(pith_scope *s, const pith_array *a, int64_t diagonal);
/** The last two axes with zeros below a diagonal. */
PITH_API const pith_array *
pith_triu(pith_scope *s, const pith_array *a, int64_t diagonal);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
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
#    define pith_swapaxes(s, ...)     pith_swapaxes(PITH_AT(s), __VA_ARGS__)
#    define pith_moveaxis(s, ...)     pith_moveaxis(PITH_AT(s), __VA_ARGS__)
#    define pith_split(s, ...)        pith_split(PITH_AT(s), __VA_ARGS__)
#    define pith_repeat(s, ...)       pith_repeat(PITH_AT(s), __VA_ARGS__)
#    define pith_repeat_each(s, ...)  pith_repeat_each(PITH_AT(s), __VA_ARGS__)
#    define pith_tile(s, ...)         pith_tile(PITH_AT(s), __VA_ARGS__)
#    define pith_roll(s, ...)         pith_roll(PITH_AT(s), __VA_ARGS__)
#    define pith_pad(s, ...)          pith_pad(PITH_AT(s), __VA_ARGS__)
#    define pith_extend(s, ...)       pith_extend(PITH_AT(s), __VA_ARGS__)
#    define pith_diagonal(s, ...)     pith_diagonal(PITH_AT(s), __VA_ARGS__)
#    define pith_tril(s, ...)         pith_tril(PITH_AT(s), __VA_ARGS__)
#    define pith_triu(s, ...)         pith_triu(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
