/* Factors and solves against what defines them: products that give the matrix back. */
#include "pith_test.h"

#include <pith/array.h>

static uint64_t seed = 11;
static double noise(void) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return ldexp((double)(int64_t)seed, -63);
}

static const pith_array *noises(pith_scope *s, pith_dtype dtype, pith_shape shape) {
    double data[4096];
    int64_t count = 1;
    for (int d = 0; d < shape.rank; d++)
        count *= shape.extents[d];
    for (int64_t i = 0; i < count; i++)
        data[i] = noise();
    return pith_cast(s, pith_array_copy(s, PITH_F64, shape, data), dtype);
}

/* a a^T + 4 on the diagonal: symmetric, far from singular. */
static const pith_array *positive(pith_scope *s, pith_dtype dtype, int64_t b, int64_t n) {
    const pith_array *a = noises(s, dtype, PITH_SHAPE(b, n, n));
    return pith_add(s, pith_matmul(s, a, pith_swapaxes(s, a, -1, -2)),
                    pith_mul(s, pith_eye(s, dtype, n, n, 0), pith_like(s, a, 4)));
}

static bool are_close(pith_scope *s, const pith_array *a, const pith_array *b) {
    const pith_dtype dtype = pith_array_spec(a)->dtype;
    const double bound = dtype == PITH_F64 ? 1e-12 : dtype == PITH_F32 ? 1e-4 : 0.1;
    return pith_read_bool(s, pith_all_close(s, a, b, bound, bound, false));
}

static const pith_dtype dtypes[] = {PITH_F64, PITH_F32, PITH_F16, PITH_BF16};
static const int64_t sizes[] = {1, 2, 3, 4, 7, 16};

Test(solve, factors_give_the_matrix_back) {
    pith_runtime *rt = pt_open();
    for (int d = 0; d < 4; d++)
        for (int k = 0; k < 6; k++)
            for (int upper = 0; upper < 2; upper++) {
                pith_scope *s = pith_scope_open(rt);
                const pith_array *a = positive(s, dtypes[d], 3, sizes[k]);
                /* the other triangle is not read */
                const pith_array *half = upper ? pith_triu(s, a, 0) : pith_tril(s, a, 0);
                const pith_array *f = pith_cholesky(s, half, upper),
                                 *t = pith_swapaxes(s, f, -1, -2);
                pt_ok(s, pith_array_spec(f) == pith_array_spec(a));
                pt_ok(s, are_close(s, pith_matmul(s, upper ? t : f, upper ? f : t), a));
                const pith_array *zeros =
                    upper ? pith_tril(s, f, -1) : pith_triu(s, f, 1);
                pt_ok(s,
                      pith_read_i64(s, pith_count_nonzero(s, zeros, PITH_ALL_AXES)) == 0);
                const pith_array *b = noises(s, dtypes[d], PITH_SHAPE(3, sizes[k], 2));
                const pith_array *x = pith_cholesky_solve(s, f, b, upper);
                pt_ok(s, are_close(s, pith_matmul(s, a, x), b));
                pith_scope_close(s);
            }
    pt_close(rt);
}

Test(solve, triangles_of_every_kind) {
    pith_runtime *rt = pt_open();
    for (int k = 0; k < 6; k++)
        for (int kind = 0; kind < 8; kind++) {
            pith_scope *s = pith_scope_open(rt);
            const pith_triangular_options o = {.upper = kind & 1,
                                               .transpose = kind >> 1 & 1,
                                               .unit_diagonal = kind >> 2};
            const int64_t n = sizes[k];
            const pith_array *a = positive(s, PITH_F64, 2, n), *one = pith_f64(s, 1);
            if (o.unit_diagonal) /* its elements stay small */
                a = pith_div(s, a, pith_f64(s, 16));
            const pith_array *b = noises(s, PITH_F64, PITH_SHAPE(2, n, 3));
            const pith_array *x = pith_solve_triangular(s, a, b, &o);
            const pith_array *t = o.upper ? pith_triu(s, a, o.unit_diagonal)
                                          : pith_tril(s, a, -o.unit_diagonal);
            if (o.unit_diagonal)
                t = pith_add(s, t, pith_mul(s, pith_eye(s, PITH_F64, n, n, 0), one));
            if (o.transpose)
                t = pith_swapaxes(s, t, -1, -2);
            pt_ok(s, are_close(s, pith_matmul(s, t, x), b));
            pith_scope_close(s);
        }
    pt_close(rt);
}

Test(solve, broadcasts_leading_axes_and_takes_nothing) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *a = pith_tril(s, positive(s, PITH_F64, 1, 3), 0),
                     *one = pith_reshape(s, a, PITH_SHAPE(3, 3)),
                     *b = noises(s, PITH_F64, PITH_SHAPE(4, 2, 3, 2));
    const pith_array *x = pith_solve_triangular(s, one, b, NULL);
    pt_ok(s, are_close(s, pith_matmul(s, one, x), b));
    const pith_array *wide = pith_broadcast_to(s, one, PITH_SHAPE(5, 3, 3)),
                     *column = noises(s, PITH_F64, PITH_SHAPE(3, 1));
    x = pith_solve_triangular(s, wide, column, NULL);
    pt_ok(s, pith_array_spec(x)->rank == 3 && pith_array_spec(x)->shape[0] == 5);
    const pith_array *none = pith_zeros(s, PITH_F64, PITH_SHAPE(2, 0, 0));
    pt_ok(s, pith_array_spec(pith_cholesky(s, none, false))->count == 0);
    x = pith_solve_triangular(s, none, pith_zeros(s, PITH_F64, PITH_SHAPE(2, 0, 4)),
                              NULL);
    pt_ok(s, pith_array_spec(x)->shape[2] == 4);
    pith_scope_close(s);
    pt_close(rt);
}

/* One matrix of a batch without a factor is NaN throughout; the others are factored. */
Test(solve, gives_nan_where_there_is_no_factor) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    static const double data[3][2][2] = {
        {{4, 0}, {2, 2}}, {{1, 0}, {2, 1}}, {{0, 0}, {0, 1}}};
    double f[3][2][2];
    const pith_array *a = pith_array_copy(s, PITH_F64, PITH_SHAPE(3, 2, 2), data);
    pt_ok(s, pith_read(s, pith_cholesky(s, a, false), f, sizeof f));
    cr_assert(f[0][0][0] == 2 && f[0][0][1] == 0 && f[0][1][0] == 1 && f[0][1][1] == 1);
    for (int k = 1; k < 3; k++)
        for (int i = 0; i < 4; i++)
            cr_assert(isnan(f[k][i / 2][i % 2]));
    pith_scope_close(s);
    pt_close(rt);
}

Test(solve, refuses_with_what_it_expected) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *a = pith_eye(s, PITH_F64, 3, 3, 0),
                     *b = pith_arange(s, PITH_F64, 3),
                     *wide = pith_ones(s, PITH_F64, PITH_SHAPE(2, 3)),
                     *whole = pith_ones(s, PITH_I32, PITH_SHAPE(3, 3));
    pt_fails(PITH_E_SHAPE, s, pith_cholesky(s, wide, false));
    cr_assert(strstr(pt_error.message, "[..., n, n], got f64[2,3]"), "%s",
              pt_error.message);
    pt_fails(PITH_E_DTYPE, s, pith_cholesky(s, whole, false));
    cr_assert(strstr(pt_error.message, "i32[3,3]"));
    pt_fails(PITH_E_SHAPE, s, pith_solve_triangular(s, a, b, NULL));
    cr_assert(strstr(pt_error.message, "f64[3,3] and f64[3]"), "%s", pt_error.message);
    pt_fails(PITH_E_SHAPE, s, pith_cholesky_solve(s, a, wide, false));
    pith_scope_close(s);
    pt_close(rt);
}
