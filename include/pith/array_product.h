/**
 * @file
 * Products of arrays: of vectors, matrices and batches of them.
 *
 * Results, scopes and errors: see array.h. Operands of different dtypes are promoted.
 *
 * Numbers: integers wrap; bool is multiplied by and, added by or. f32 and f64 are added
 * in spans of 256 terms, each in order by fused multiply-adds, the spans in order; a
 * product of two vectors, or of a matrix and a vector whose terms lie side by side in
 * both, in lanes of 256 bytes that meet by halves. |error| <= (256 + n / 256) u sum
 * |a||b| for n terms, u 2^-53 or 2^-24. The result depends on shapes and values alone:
 * never on the number of threads, nor on what else is in a batch. Processors without
 * fused multiply-adds round each product as well. f16 and bf16 are multiplied and added
 * in f32 and rounded once. An element with NaN, or 0 times infinity, among its terms is
 * NaN. On CUDA large products of floats are cuBLAS's: within a span it adds in an order
 * of its own, which may be another one for a batch than for one of its matrices alone;
 * the bound is the same.
 */
#ifndef PITH_ARRAY_PRODUCT_H
#define PITH_ARRAY_PRODUCT_H

#include <pith/array.h>

/** Options of pith_dot_general; zero is the default. */
typedef struct pith_dot_general_options {
    /** Axes that are summed over, in pairs: contract[0].axes[i] of a, contract[1].axes[i]
     * of b. `all` and `keep` must not be set. */
    pith_axes contract[2] PITH_DEFAULT;
    /** Axes that are walked together, in pairs; they come first in the result. */
    pith_axes batch[2] PITH_DEFAULT;
    /** What operands are cast to first, and so the result's; none: what they promote to.
     */
    pith_dtype dtype PITH_DEFAULT;
} pith_dot_general_options;

PITH_BEGIN

/**
 * The matrix product a @ b.
 *
 * Shapes: [..., m, k] and [..., k, n] give [..., m, n]; the leading axes broadcast. A
 * vector counts as [1, k] on the left and as [k, 1] on the right, and that axis goes.
 *
 * @par Errors
 * PITH_E_SHAPE: an operand has rank 0, k differs, or axes do not broadcast.
 */
PITH_API const pith_array *
pith_matmul(pith_scope *s, const pith_array *a, const pith_array *b);

/** numpy.dot: the last axis of @p a with the last but one of @p b (its only one where it
 * is a vector), every other axis of a before those of b; rank 0 multiplies. */
PITH_API const pith_array *
pith_dot(pith_scope *s, const pith_array *a, const pith_array *b);

/** Sums over the last axes of both, of one extent; rank 0 multiplies. */
PITH_API const pith_array *
pith_inner(pith_scope *s, const pith_array *a, const pith_array *b);

/** Every element of @p a, in C order, times every one of @p b: [a.count, b.count]. */
PITH_API const pith_array *
pith_outer(pith_scope *s, const pith_array *a, const pith_array *b);

/** Sums over the last @p count axes of @p a and as many first ones of @p b. */
PITH_API const pith_array *
pith_tensordot(pith_scope *s, const pith_array *a, const pith_array *b, int64_t count);

/** Sums over pairs of axes: a_axes.axes[i] with b_axes.axes[i]. The result has the other
 * axes of @p a, then those of @p b. */
PITH_API const pith_array *pith_tensordot_axes(pith_scope *s,
                                               const pith_array *a,
                                               const pith_array *b,
                                               pith_axes a_axes,
                                               pith_axes b_axes);

/**
 * The product that the others are made of, as lax.dot_general: the result has the batch
 * axes, then the rest of @p a, then the rest of @p b.
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
 * A sum of products by its indices, as numpy.einsum: "ij,jk->ik".
 *
 * Each operand's letters (a to z, A to Z) name its axes; a letter has one extent
 * everywhere. A letter that an operand has twice takes the diagonal; letters that are not
 * in the result are summed. ... stands for the axes that no letter names, which broadcast
 * from the right. Without -> the result has what ... stands for, then the letters that
 * stand once, capitals first. Spaces count for nothing.
 *
 * Several operands are multiplied in pairs, the pair first whose product is smallest
 * against what it replaces; f16 and bf16 are rounded after each pair.
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
