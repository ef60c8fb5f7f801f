/**
 * @file
 * Small linear systems: Cholesky factors and triangular solves of batches of matrices.
 *
 * Results, scopes and errors: see array.h. Floats only; f16 and bf16 are computed in f32.
 * They are made of other operations, some for each row or column but for all matrices of
 * a batch at once: meant for matrices of up to about a hundred rows.
 */
#ifndef PITH_ARRAY_SOLVE_H
#define PITH_ARRAY_SOLVE_H

#include <pith/array.h>

/** Options of pith_solve_triangular; zero is the default. */
typedef struct pith_triangular_options {
    bool upper PITH_DEFAULT;         /**< the upper triangle is read; else the lower */
    bool transpose PITH_DEFAULT;     /**< solve with the transposed triangle */
    bool unit_diagonal PITH_DEFAULT; /**< the diagonal counts as 1, and is not read */
} pith_triangular_options;

PITH_BEGIN

/**
 * The Cholesky factor l, lower triangular with a = l l^T; @p upper: u with a = u^T u.
 *
 * Shapes: [..., n, n]. Of @p a only that triangle is read. A matrix that is not positive
 * definite has no factor: its result is NaN throughout, as in JAX, and the rest of the
 * batch is not touched by it.
 */
PITH_API const pith_array *pith_cholesky(pith_scope *s, const pith_array *a, bool upper);

/**
 * x with a x = b, where @p a is triangular: its other triangle is not read.
 *
 * Shapes: a [..., n, n], b [..., n, k]; the leading axes broadcast. A zero on the
 * diagonal gives infinities and NaN, as division does.
 */
PITH_API const pith_array *pith_solve_triangular(pith_scope *s,
                                                 const pith_array *a,
                                                 const pith_array *b,
                                                 const pith_triangular_options *options);

/** x with a x = b, given the Cholesky factor of a and which triangle it is. Shapes: as
 * pith_solve_triangular. */
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
