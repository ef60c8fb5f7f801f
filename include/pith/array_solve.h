/**
 * @file
 * Small linear systems: Cholesky factors and triangular solves of batches of matrices.
 *
 * Results, scopes and errors: see array.h. Floats only; f16 and bf16 are computed in f32.
 * The functions are composed of other operations. Some run once for each row or column,
 * for all matrices of a batch at once. They suit matrices of up to about a hundred rows.
 * Their derivatives are triangular solves and products. The gradient of a triangle that
 * is not read is 0.
 */
#ifndef PITH_ARRAY_SOLVE_H
#define PITH_ARRAY_SOLVE_H

#include <pith/array.h>

/** Options of pith_solve_triangular; zero is the default. */
typedef struct pith_triangular_options {
    bool upper PITH_DEFAULT;         /**< read the upper triangle; else the lower */
    bool transpose PITH_DEFAULT;     /**< solve with the transposed triangle */
    bool unit_diagonal PITH_DEFAULT; /**< take the diagonal as 1 and do not read it */
} pith_triangular_options;

PITH_BEGIN

/**
 * Cholesky factor of a: lower triangular l with a = l l^T, or with @p upper the upper
 * triangular u with a = u^T u.
 *
 * Shapes: [..., n, n]. Only the lower triangle of @p a is read; with @p upper, only the
 * upper one. If a matrix is not positive definite, its result is NaN throughout, as in
 * JAX. The other matrices of the batch are not affected.
 */
PITH_API const pith_array *pith_cholesky(pith_scope *s, const pith_array *a, bool upper);

/**
 * Solves a x = b for x, for a triangular @p a. The other triangle of a is not read.
 *
 * Shapes: a [..., n, n], b [..., n, k]; the leading axes broadcast. A zero on the
 * diagonal gives infinities and NaN, as division does.
 */
PITH_API const pith_array *pith_solve_triangular(pith_scope *s,
                                                 const pith_array *a,
                                                 const pith_array *b,
                                                 const pith_triangular_options *options);

/** Solves a x = b for x, given the Cholesky factor of a. @p upper says that the factor is
 * upper triangular. Shapes: as pith_solve_triangular. */
PITH_API const pith_array *pith_cholesky_solve(pith_scope *s,
                                               const pith_array *factor,
                                               const pith_array *b,
                                               bool upper);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_cholesky(s, ...)         pith_cholesky(PITH_AT(s), __VA_ARGS__)
#    define pith_solve_triangular(s, ...) pith_solve_triangular(PITH_AT(s), __VA_ARGS__)
#    define pith_cholesky_solve(s, ...)   pith_cholesky_solve(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
