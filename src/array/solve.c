/* Small linear systems, batched: Cholesky factors and triangular solves, column by column
 * and row by row of all matrices at once. They are composed of other operations, so they
 * run, and will be differentiable, wherever those do. */
#include "array/array_internal.h"

#include <math.h>
#include <string.h>

/* ---- Checks ---- */

/* Check that a holds square matrices of floats. */
static bool is_square(pith_scope *s, const char *function, const pith_array *a) {
    char text[PITHP_SPEC_TEXT_BYTES];
    if (pithp_operand_check(s, a, function, "a") != PITH_OK)
        return false;
    const pith_spec *spec = pithp_array_spec(a);
    pithp_spec_print(spec, text);
    if (!pith_dtype_is_float(spec->dtype)) {
        pithp_fail(s, PITH_E_DTYPE, NULL, "%s: expected a float dtype, got %s", function,
                   text);
        return false;
    }
    if (spec->rank < 2 || spec->shape[spec->rank - 1] != spec->shape[spec->rank - 2]) {
        pithp_fail(s, PITH_E_SHAPE, NULL, "%s: a: expected [..., n, n], got %s", function,
                   text);
        return false;
    }
    return true;
}

/* The broadcast leading axes, then the rows and columns of b. */
static bool
common_shape(pith_scope *s, const pith_spec *a, const pith_spec *b, pith_shape *shape) {
    char texts[2][PITHP_SPEC_TEXT_BYTES];
    bool fit = b->rank >= 2 && b->shape[b->rank - 2] == a->shape[a->rank - 1];
    shape->rank = a->rank > b->rank ? a->rank : b->rank;
    for (int d = 1; d <= shape->rank && fit; d++) {
        const int64_t of_a = d > 2 && d <= a->rank ? a->shape[a->rank - d] : 1,
                      of_b = d <= b->rank ? b->shape[b->rank - d] : 1;
        fit = of_a == of_b || of_a == 1 || of_b == 1;
        shape->extents[shape->rank - d] = of_a == 1 ? of_b : of_a;
    }
    if (!fit)
        pithp_fail_function(s, PITH_E_SHAPE, NULL,
                            "expected a [..., n, n] and b [..., n, k], got %s and %s",
                            pithp_spec_print(a, texts[0]), pithp_spec_print(b, texts[1]));
    return fit;
}

/* ---- Parts of matrices ---- */

/* Rows [top, bottom) and columns [left, right) of every matrix. */
static const pith_array *part(pith_scope *w,
                              const pith_array *a,
                              int64_t top,
                              int64_t bottom,
                              int64_t left,
                              int64_t right) {
    pith_slice slices[PITHP_MAX_RANK];
    const int rank = a ? pithp_array_spec(a)->rank : 2;
    for (int d = 0; d < rank; d++)
        slices[d] = PITH_WHOLE;
    slices[rank - 2] = PITH_SLICE(top, bottom, 1);
    slices[rank - 1] = PITH_SLICE(left, right, 1);
    return pith_slice_array(w, a, rank, slices);
}

static const pith_array *
join(pith_scope *w, const pith_array *a, const pith_array *b, int axis) {
    return a ? pith_concatenate(w, 2, (const pith_array *[]){a, b}, axis) : b;
}

/* ---- Substitution ---- */

/* Substitution for a x = b, row by row; each row needs the earlier ones. */
static const pith_array *substitute(pith_scope *w,
                                    const pith_array *a,
                                    const pith_array *b,
                                    bool upper,
                                    bool unit) {
    const int64_t n = pithp_array_spec(a)->shape[pithp_array_spec(a)->rank - 1];
    const pith_array *known = n ? NULL : b;
    for (int64_t step = 0; step < n && w->error.code == PITH_OK; step++) {
        const int64_t i = upper ? n - 1 - step : step;
        const pith_array *row = part(w, b, i, i + 1, 0, INT64_MAX);
        if (known) {
            const pith_array *of_known =
                part(w, a, i, i + 1, upper ? i + 1 : 0, upper ? n : i);
            row = pith_sub(w, row, pith_matmul(w, of_known, known));
        }
        if (!unit)
            row = pith_div(w, row, part(w, a, i, i + 1, i, i + 1));
        known = upper && known ? join(w, row, known, -2) : join(w, known, row, -2);
    }
    return known;
}

/* In f32 at least; a NULL operand is an earlier failure. */
static const pith_array *widened(pith_scope *w, const pith_array *a) {
    return pith_dtype_size(pithp_array_spec(a)->dtype) == 2 ? pith_cast(w, a, PITH_F32)
                                                            : a;
}

static const pith_array *solve(pith_scope *w,
                               const pith_array *a,
                               const pith_array *b,
                               const pith_triangular_options *o) {
    const pith_array *operands[] = {a, b};
    pith_shape shape;
    if (pithp_promote_all(w, "pith_solve_triangular", 2, operands) != PITH_OK ||
        !common_shape(w, pithp_array_spec(a), pithp_array_spec(b), &shape))
        return NULL;
    const pith_dtype dtype = pithp_array_spec(operands[0])->dtype;
    a = widened(w, operands[0]);
    b = a ? widened(w, operands[1]) : NULL;
    if (!b)
        return NULL;
    const pith_array *matrix = o->transpose ? pith_swapaxes(w, a, -1, -2) : a;
    const pith_array *right = pith_broadcast_to(w, b, shape);
    if (!matrix || !right)
        return NULL;
    const pith_array *x =
        substitute(w, matrix, right, o->upper != o->transpose, o->unit_diagonal);
    return x ? pith_cast(w, x, dtype) : NULL;
}

const pith_array *pith_solve_triangular(pith_scope *s,
                                        const pith_array *a,
                                        const pith_array *b,
                                        const pith_triangular_options *options) {
    static const char function[] = "pith_solve_triangular";
    const pith_triangular_options o =
        options ? *options : (pith_triangular_options){.upper = false};
    if (!pithp_enter(s) || !is_square(s, function, a) ||
        pithp_operand_check(s, b, function, "b") != PITH_OK)
        return NULL;
    pith_scope *w = pithp_temporaries_open(s);
    return w ? pithp_temporaries_close(s, w, solve(w, a, b, &o)) : NULL;
}

const pith_array *pith_cholesky_solve(pith_scope *s,
                                      const pith_array *factor,
                                      const pith_array *b,
                                      bool upper) {
    static const char function[] = "pith_cholesky_solve";
    if (!pithp_enter(s) || !is_square(s, function, factor) ||
        pithp_operand_check(s, b, function, "b") != PITH_OK)
        return NULL;
    pith_scope *w = pithp_temporaries_open(s);
    if (!w)
        return NULL;
    const pith_array *x = solve(
        w, factor, b, &(pith_triangular_options){.upper = upper, .transpose = upper});
    if (x)
        x = solve(w, factor, x,
                  &(pith_triangular_options){.upper = upper, .transpose = !upper});
    return pithp_temporaries_close(s, w, x);
}

/* ---- Factors ---- */

/* Column j of the lower factor from row j on, given the columns before it
 * (Cholesky-Crout). */
static const pith_array *factor_column(pith_scope *w,
                                       const pith_array *a,
                                       const pith_array *before,
                                       int64_t j,
                                       int64_t n) {
    const pith_array *column = part(w, a, j, n, j, j + 1);
    if (before) {
        const pith_array *row = pith_swapaxes(w, part(w, before, j, j + 1, 0, j), -1, -2);
        column = pith_sub(w, column, pith_matmul(w, part(w, before, j, n, 0, j), row));
    }
    const pith_array *pivot = pith_sqrt(w, part(w, column, 0, 1, 0, 1));
    const pith_array *rest = pith_div(w, part(w, column, 1, INT64_MAX, 0, 1), pivot);
    return join(w, pivot, rest, -2);
}

/* A factor without positive pivots is invalid: the whole matrix becomes NaN. */
static const pith_array *or_nan(pith_scope *w, const pith_array *factor) {
    const pith_array *pivots = pith_diagonal(w, factor, 0);
    const pith_array *zero = pith_like(w, factor, 0),
                     *nan = pith_like(w, factor, (double)NAN);
    const pith_array *sound =
        pith_all(w, pith_greater(w, pivots, zero), PITH_AXES_KEPT(-1));
    return pith_where(w, pith_expand_dims(w, sound, PITH_AXES(-1)), factor, nan);
}

static const pith_array *factorise(pith_scope *w, const pith_array *a, bool upper) {
    const pith_dtype dtype = pithp_array_spec(a)->dtype;
    const int rank = pithp_array_spec(a)->rank;
    const int64_t n = pithp_array_spec(a)->shape[rank - 1];
    const pith_array *all = NULL, *wide = widened(w, a);
    if (n == 0)
        return pithp_alias(w, a, pithp_array_spec(a));
    if (wide && upper)
        wide = pith_swapaxes(w, wide, -1, -2);
    for (int64_t j = 0; j < n && w->error.code == PITH_OK; j++) {
        pith_padding above[PITHP_MAX_RANK] = {{0}};
        above[rank - 2].low = j;
        const pith_array *column = factor_column(w, wide, all, j, n);
        const pith_array *zero = pith_like(w, wide, 0);
        all = join(w, all, pith_pad(w, column, zero, rank, above), -1);
    }
    if (w->error.code != PITH_OK)
        return NULL;
    all = or_nan(w, all);
    if (upper)
        all = pith_swapaxes(w, all, -1, -2);
    return all ? pith_cast(w, all, dtype) : NULL;
}

const pith_array *pith_cholesky(pith_scope *s, const pith_array *a, bool upper) {
    if (!pithp_enter(s) || !is_square(s, "pith_cholesky", a))
        return NULL;
    pith_scope *w = pithp_temporaries_open(s);
    return w ? pithp_temporaries_close(s, w, factorise(w, a, upper)) : NULL;
}
