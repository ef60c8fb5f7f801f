/**
 * @file
 * Operations that move elements without reading them: shapes, slices, joins.
 *
 * Results, scopes and errors: see array.h.
 */
#ifndef PITH_ARRAY_SHAPE_H
#define PITH_ARRAY_SHAPE_H

#include <pith/array.h>

/** What pith_pad does along one axis. */
typedef struct pith_padding {
    int64_t low PITH_DEFAULT;      /**< before the first element; negative: cut off */
    int64_t high PITH_DEFAULT;     /**< after the last one; negative: cut off */
    int64_t interior PITH_DEFAULT; /**< between neighbours; not negative */
} pith_padding;

/** What pith_extend puts before and after the elements of an axis, as numpy.pad. */
typedef enum pith_extension {
    PITH_EXTEND_EDGE,      /**< the first and the last element */
    PITH_EXTEND_REFLECT,   /**< mirrored at the first and the last element */
    PITH_EXTEND_SYMMETRIC, /**< mirrored beside them, which come twice */
    PITH_EXTEND_WRAP       /**< from the other end */
} pith_extension;

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
 * others whole. On the host a slice whose elements lie side by side, and are half or more
 * of the memory that holds @p a, shares that memory. */
PITH_API const pith_array *pith_slice_array(pith_scope *s,
                                            const pith_array *a,
                                            int64_t count,
                                            const pith_slice *slices);
/** The elements of one axis at one place, without that axis: a[:, index] for axis 1. */
PITH_API const pith_array *
pith_slice_at(pith_scope *s, const pith_array *a, int axis, int64_t index);
/** Reverse the order of the elements along axes. */
PITH_API const pith_array *pith_flip(pith_scope *s, const pith_array *a, pith_axes axes);
/** Join arrays along an axis that they have; dtypes promote. count is at least 1. */
PITH_API const pith_array *
pith_concatenate(pith_scope *s, int64_t count, const pith_array *const *arrays, int axis);
/** Join arrays of one shape along a new axis. */
PITH_API const pith_array *
pith_stack(pith_scope *s, int64_t count, const pith_array *const *arrays, int axis);
/** Two axes exchanged. */
PITH_API const pith_array *
pith_swapaxes(pith_scope *s, const pith_array *a, int first, int second);
/** One axis moved to another place, the others in their order. */
PITH_API const pith_array *
pith_moveaxis(pith_scope *s, const pith_array *a, int source, int destination);
/** Parts of @p a along an axis, cut before the places @p at, which are clipped as in
 * slices: count + 1 arrays, owned by @p s. */
PITH_API const pith_array *const *pith_split(pith_scope *s,
                                             const pith_array *a,
                                             int64_t count,
                                             const int64_t *at,
                                             int axis);
/** Every element of an axis @p repeats times, one after the other. */
PITH_API const pith_array *
pith_repeat(pith_scope *s, const pith_array *a, int64_t repeats, int axis);
/** Element i of an axis repeats[i] times; @p count is the axis' extent. */
PITH_API const pith_array *pith_repeat_each(pith_scope *s,
                                            const pith_array *a,
                                            int64_t count,
                                            const int64_t *repeats,
                                            int axis);
/** The array repeats[i] times along axis i; missing axes are 1 in front, as in NumPy. */
PITH_API const pith_array *
pith_tile(pith_scope *s, const pith_array *a, int64_t count, const int64_t *repeats);
/** Elements moved @p shift places along an axis; what leaves it comes in again. */
PITH_API const pith_array *
pith_roll(pith_scope *s, const pith_array *a, int64_t shift, int axis);
/**
 * Put @p value before, after and between the elements, or cut some off.
 *
 * @param value Rank 0, cast to a's dtype; NULL: 0.
 * @param padding One for each of the first @p count axes; others stay.
 */
PITH_API const pith_array *pith_pad(pith_scope *s,
                                    const pith_array *a,
                                    const pith_array *value,
                                    int64_t count,
                                    const pith_padding *padding);
/** Continue an array beyond its ends, low and high elements of each of the first @p count
 * axes. PITH_E_SHAPE for an axis without elements. */
PITH_API const pith_array *pith_extend(pith_scope *s,
                                       const pith_array *a,
                                       pith_extension extension,
                                       int64_t count,
                                       const pith_padding *padding);
/** The elements on a diagonal of the last two axes, as one last axis; 1: the one above
 * the main one. */
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
