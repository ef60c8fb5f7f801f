/* Small linear systems, batched: Cholesky factors and triangular solves, column by column
 * and row by row of all matrices at once. They are composed of other operations, so they
 * run wherever those do. Their derivatives are triangular solves and products. */
#include "array/own_rule.h"

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
static const pith_array *
substitute(pith_scope *w, const pithp_own_options *o, const pith_array *const *operands) {
    const pith_array *a = operands[0], *b = operands[1];
    const bool upper = o->upper;
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
        if (!o->unit)
            row = pith_div(w, row, part(w, a, i, i + 1, i, i + 1));
        known = upper && known ? join(w, row, known, -2) : join(w, known, row, -2);
    }
    return known;
}

static const pith_array *triangle_solve(pith_scope *w,
                                        const pithp_own_options *o,
                                        const pith_array *a,
                                        const pith_array *b);

/* The solution for the transposed matrix. */
static const pith_array *solve_transposed(pith_scope *w,
                                          const pithp_own_options *o,
                                          const pith_array *a,
                                          const pith_array *b) {
    const pithp_own_options other = {.upper = !o->upper, .unit = o->unit};
    return triangle_solve(w, &other, pith_swapaxes(w, a, -1, -2), b);
}

/* The elements of a matrix that are read. */
static const pith_array *
read_triangle(pith_scope *w, const pithp_own_options *o, const pith_array *a) {
    return o->upper ? pith_triu(w, a, o->unit ? 1 : 0)
                    : pith_tril(w, a, o->unit ? -1 : 0);
}

/* a dx + da x = db */
static const pith_array *solve_tangent(pith_scope *w,
                                       const pithp_own_options *o,
                                       const pith_array *const *x,
                                       const pith_array *const *t) {
    const pith_array *right = t[1];
    if (t[0]) {
        const pith_array *moved = pith_matmul(w, read_triangle(w, o, t[0]), x[2]);
        right = right ? pith_sub(w, right, moved) : pith_neg(w, moved);
    }
    return triangle_solve(w, o, x[0], right);
}

/* The sum over the axes along which a spec was broadcast. */
static const pith_array *
sum_broadcast(pith_scope *w, const pith_array *a, const pith_spec *spec) {
    if (!a)
        return NULL;
    const pith_spec *from = pithp_array_spec(a);
    const int more = from->rank - spec->rank;
    pith_axes axes = {.keep = true};
    pith_shape shape = {.rank = spec->rank};
    memcpy(shape.extents, spec->shape, sizeof shape.extents);
    for (int d = 0; d < from->rank && axes.count < PITH_MAX_RANK; d++)
        if (d < more || (spec->shape[d - more] == 1 && from->shape[d] != 1))
            axes.axes[axes.count++] = (int8_t)d;
    return axes.count ? pith_reshape(w, pith_sum(w, a, axes), shape) : a;
}

/* With s = a^-T ct: s for b, and -s x^T for a. */
static const pith_array *solve_cotangent(pith_scope *w,
                                         const pithp_own_options *o,
                                         const pith_array *const *x,
                                         const pith_array *ct,
                                         int k) {
    const pith_array *of_b = solve_transposed(w, o, x[0], ct);
    if (k == 1)
        return of_b;
    const pith_array *whole = pith_matmul(w, of_b, pith_swapaxes(w, x[2], -1, -2)),
                     *sum = sum_broadcast(w, whole, pithp_array_spec(x[0]));
    return pith_neg(w, read_triangle(w, o, sum));
}

static const pithp_own_kind solve_kind = {.name = "triangular solve",
                                          .count = 2,
                                          .value = substitute,
                                          .tangent = solve_tangent,
                                          .cotangent = solve_cotangent,
                                          .kept = {1 | 4, 1}};

/* As pith_solve_triangular for floats of at least 32 bits, where a broadcasts to b. */
static const pith_array *triangle_solve(pith_scope *w,
                                        const pithp_own_options *o,
                                        const pith_array *a,
                                        const pith_array *b) {
    return a && b ? pithp_own_call(w, &solve_kind, o, (const pith_array *[]){a, b})
                  : NULL;
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
    const pith_array *x = triangle_solve(
        w,
        &(pithp_own_options){.upper = o->upper != o->transpose, .unit = o->unit_diagonal},
        matrix, right);
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

/* The lower factor of the lower triangles. */
static const pith_array *
factor(pith_scope *w, const pithp_own_options *o, const pith_array *const *a) {
    const int rank = pithp_array_spec(a[0])->rank;
    const int64_t n = pithp_array_spec(a[0])->shape[rank - 1];
    const pith_array *all = NULL;
    (void)o;
    for (int64_t j = 0; j < n && w->error.code == PITH_OK; j++) {
        pith_padding above[PITHP_MAX_RANK] = {{0}};
        above[rank - 2].low = j;
        const pith_array *column = factor_column(w, a[0], all, j, n);
        const pith_array *zero = pith_like(w, a[0], 0);
        all = join(w, all, pith_pad(w, column, zero, rank, above), -1);
    }
    return w->error.code == PITH_OK ? or_nan(w, all) : NULL;
}

/* The lower triangle with half of the diagonal: the part of a symmetric matrix m in
 * m = p + p^T. */
static const pith_array *half(pith_scope *w, const pith_array *m) {
    if (!m)
        return NULL;
    const pith_spec *spec = pithp_array_spec(m);
    const int64_t n = spec->shape[spec->rank - 1];
    const pith_array *lower = pith_tril(w, m, 0), *one = pith_like(w, m, 1),
                     *diagonal = pith_eye(w, spec->dtype, n, n, 0);
    return pith_div(w, lower, pith_add(w, diagonal, one));
}

/* l^-1 m l^-T, transposed */
static const pith_array *
divided(pith_scope *w, const pith_array *l, const pith_array *m) {
    static const pithp_own_options lower = {.upper = false};
    const pith_array *left = triangle_solve(w, &lower, l, m);
    return triangle_solve(w, &lower, l, pith_swapaxes(w, left, -1, -2));
}

/* l half(l^-1 da l^-T), where da is the symmetric matrix of which a triangle moves. */
static const pith_array *factor_tangent(pith_scope *w,
                                        const pithp_own_options *o,
                                        const pith_array *const *x,
                                        const pith_array *const *t) {
    const pith_array *below = pith_tril(w, t[0], -1);
    const pith_array *whole =
        pith_add(w, pith_tril(w, t[0], 0), pith_swapaxes(w, below, -1, -2));
    (void)o;
    return pith_matmul(w, x[1], half(w, divided(w, x[1], whole)));
}

/* half(s + s^T) of s = l^-T half(l^T ct) l^-1 */
static const pith_array *factor_cotangent(pith_scope *w,
                                          const pithp_own_options *o,
                                          const pith_array *const *x,
                                          const pith_array *ct,
                                          int k) {
    static const pithp_own_options lower = {.upper = false};
    const pith_array *l = x[1], *lt = pith_swapaxes(w, l, -1, -2);
    const pith_array *left =
        solve_transposed(w, &lower, l, half(w, pith_matmul(w, lt, ct)));
    const pith_array *both =
        solve_transposed(w, &lower, l, pith_swapaxes(w, left, -1, -2));
    (void)o, (void)k;
    return half(w, pith_add(w, both, pith_swapaxes(w, both, -1, -2)));
}

static const pithp_own_kind factor_kind = {.name = "cholesky",
                                           .count = 1,
                                           .value = factor,
                                           .tangent = factor_tangent,
                                           .cotangent = factor_cotangent,
                                           .kept = {2}};

static const pith_array *factorise(pith_scope *w, const pith_array *a, bool upper) {
    const pith_spec *spec = pithp_array_spec(a);
    const pith_array *wide = widened(w, a);
    if (spec->shape[spec->rank - 1] == 0)
        return pithp_alias(w, a, spec);
    if (wide && upper)
        wide = pith_swapaxes(w, wide, -1, -2);
    const pith_array *all =
        wide
            ? pithp_own_call(w, &factor_kind, &(pithp_own_options){.upper = false}, &wide)
            : NULL;
    if (all && upper)
        all = pith_swapaxes(w, all, -1, -2);
    return all ? pith_cast(w, all, spec->dtype) : NULL;
}

const pith_array *pith_cholesky(pith_scope *s, const pith_array *a, bool upper) {
    if (!pithp_enter(s) || !is_square(s, "pith_cholesky", a))
        return NULL;
    pith_scope *w = pithp_temporaries_open(s);
    return w ? pithp_temporaries_close(s, w, factorise(w, a, upper)) : NULL;
}
