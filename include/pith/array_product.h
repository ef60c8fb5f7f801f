/**
 * @file
 * Products of vectors, matrices and batches of them.
 *
 * Results, scopes and errors: see array.h. Operands of different dtypes are promoted.
 *
 * Arithmetic: integers wrap; bool multiplies by and, and adds by or. f32 and f64 are
 * summed in spans of 256 terms, each in order with fused multiply-adds; the spans are
 * added in order. Products of two vectors, or of a matrix and a vector with contiguous
 * terms, use lanes of 256 bytes that are added pairwise. |error| <= (256 + n / 256) u sum
 * |a||b| for n terms, u = 2^-53 or 2^-24. The result depends only on shapes and values:
 * not on the number of threads, nor on other matrices of a batch. Processors without
 * fused multiply-adds round each product as well. f16 and bf16 are multiplied and added
 * in f32 and rounded once. An element with NaN, or 0 times infinity, among its terms is
 * NaN. On CUDA large products of floats use cuBLAS. It adds in its own order within a
 * span, which may differ between a batch and a single matrix; the bound is the same.
 */
#ifndef PITH_ARRAY_PRODUCT_H
#define PITH_ARRAY_PRODUCT_H

#include <pith/array.h>

/** Options of pith_dot_general; zero is the default. */
typedef struct pith_dot_general_options {
    /** Contracted axes, in pairs: contract[0].axes[i] of a with contract[1].axes[i] of b.
     * `all` and `keep` must not be set. */
    pith_axes contract[2] PITH_DEFAULT;
    /** Batch axes, in pairs; they come first in the result. */
    pith_axes batch[2] PITH_DEFAULT;
    /** Dtype of the result, to which operands are cast first; PITH_DTYPE_NONE: their
     * promoted dtype. */
    pith_dtype dtype PITH_DEFAULT;
} pith_dot_general_options;

PITH_BEGIN

/**
 * Matrix product a @ b.
 *
 * Shapes: [..., m, k] and [..., k, n] give [..., m, n]; the leading axes broadcast. A
 * vector is [1, k] on the left and [k, 1] on the right; the result lacks that axis.
 *
 * @par Errors
 * PITH_E_SHAPE: an operand has rank 0, k differs, or axes do not broadcast.
 */
PITH_API const pith_array *
pith_matmul(pith_scope *s, const pith_array *a, const pith_array *b);

/** numpy.dot: contracts the last axis of @p a with the second last axis of @p b (the only
 * one of a vector). The other axes of a come before those of b. Rank 0 multiplies. */
PITH_API const pith_array *
pith_dot(pith_scope *s, const pith_array *a, const pith_array *b);

/** Inner product over the last axes of both, of equal extent; rank 0 multiplies. */
PITH_API const pith_array *
pith_inner(pith_scope *s, const pith_array *a, const pith_array *b);

/** Outer product of all elements in C order: [a.count, b.count]. */
PITH_API const pith_array *
pith_outer(pith_scope *s, const pith_array *a, const pith_array *b);

/** Contract the last @p count axes of @p a with the first @p count axes of @p b. */
PITH_API const pith_array *
pith_tensordot(pith_scope *s, const pith_array *a, const pith_array *b, int64_t count);

/** Contract pairs of axes: a_axes.axes[i] with b_axes.axes[i]. The result has the other
 * axes of @p a, then those of @p b. */
PITH_API const pith_array *pith_tensordot_axes(pith_scope *s,
                                               const pith_array *a,
                                               const pith_array *b,
                                               pith_axes a_axes,
                                               pith_axes b_axes);

/**
 * General product, on which the others are built, as lax.dot_general. The result has the
 * batch axes, then the other axes of @p a, then those of @p b.
 *
 * @par Errors
 * PITH_E_ARG: an axis is named twice, or lists differ in length. PITH_E_SHAPE: the
 * extents of a pair differ, or an axis is out of range.
 */
PITH_API const pith_array *pith_dot_general(pith_scope *s,
                                            const pith_array *a,
                                            const pith_array *b,
                                            const pith_dot_general_options *options);

/**
 * Einstein summation, as numpy.einsum: "ij,jk->ik".
 *
 * The letters (a to z, A to Z) of an operand name its axes; a letter has one extent
 * everywhere. A letter that an operand repeats takes the diagonal. Letters that the
 * result lacks are summed. "..." stands for unnamed axes, which broadcast from the right.
 * Without "->" the result has the axes of "...", then the letters that occur once,
 * capitals first. Spaces are ignored.
 *
 * Several operands are multiplied in pairs: first the pair whose product is smallest
 * compared with its operands. f16 and bf16 are rounded after each pair.
 *
 * @par Errors
 * PITH_E_ARG: the text is invalid, or its number of operands is wrong (1 to 64).
 * PITH_E_SHAPE: an extent or a rank contradicts the letters; the message names operand
 * and letter.
 */
PITH_API const pith_array *pith_einsum(pith_scope *s,
                                       const char *subscripts,
                                       int64_t count,
                                       const pith_array *const *operands);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_matmul(s, ...)         pith_matmul(PITH_AT(s), __VA_ARGS__)
#    define pith_dot(s, ...)            pith_dot(PITH_AT(s), __VA_ARGS__)
#    define pith_inner(s, ...)          pith_inner(PITH_AT(s), __VA_ARGS__)
#    define pith_outer(s, ...)          pith_outer(PITH_AT(s), __VA_ARGS__)
#    define pith_tensordot(s, ...)      pith_tensordot(PITH_AT(s), __VA_ARGS__)
#    define pith_tensordot_axes(s, ...) pith_tensordot_axes(PITH_AT(s), __VA_ARGS__)
#    define pith_dot_general(s, ...)    pith_dot_general(PITH_AT(s), __VA_ARGS__)
#    define pith_einsum(s, ...)         pith_einsum(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
