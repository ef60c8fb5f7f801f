/* Elementwise operations as users call them: promotion, broadcasting, casts; the values
 * of every row against golden data are in tests/program. */
#include "pith_test.h"

#include <float.h>
#include <math.h>
#include <pith/array.h>

static const pith_array *
vector(pith_scope *s, pith_dtype dtype, int count, const double *values) {
    return pith_cast(s, pith_array_copy(s, PITH_F64, PITH_SHAPE(count), values), dtype);
}

static void
expect(pith_scope *s, const pith_array *a, int count, const double *expected) {
    double got[64];
    pt_ok(s, pith_read(s, pith_cast(s, a, PITH_F64), got, (size_t)count * sizeof *got));
    for (int i = 0; i < count; i++)
        cr_assert(got[i] == expected[i] || (isnan(got[i]) && isnan(expected[i])),
                  "element %d: %g, expected %g", i, got[i], expected[i]);
}

Test(elementwise, broadcasts_as_numpy) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *row = vector(s, PITH_F64, 3, (double[]){1, 2, 3});
    const pith_array *column =
        pith_expand_dims(s, vector(s, PITH_F64, 2, (double[]){10, 20}), PITH_AXES(1));
    const pith_array *sum = pith_add(s, row, column);
    cr_assert(pith_array_spec(sum)->rank == 2 && pith_array_spec(sum)->shape[0] == 2);
    expect(s, sum, 6, (double[]){11, 12, 13, 21, 22, 23});
    expect(s, pith_mul(s, row, pith_f64(s, 2)), 3, (double[]){2, 4, 6});
    expect(s, pith_sub(s, pith_f64(s, 2), row), 3, (double[]){1, 0, -1});
    const pith_array *none = pith_zeros(s, PITH_F64, PITH_SHAPE(0, 3));
    cr_assert(pith_array_spec(pith_add(s, none, row))->count == 0);
    pt_fails(PITH_E_SHAPE, s, pith_add(s, row, vector(s, PITH_F64, 2, (double[]){1, 2})));
    pt_says("[3]");
    pith_scope_close(s);
    pt_close(rt);
}

Test(elementwise, promotes_as_the_array_api_standard) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    static const struct {
        pith_dtype a, b, both;
    } rows[] = {
        {PITH_I8, PITH_I32, PITH_I32},   {PITH_U8, PITH_I8, PITH_I16},
        {PITH_U32, PITH_I32, PITH_I64},  {PITH_U16, PITH_I64, PITH_I64},
        {PITH_F32, PITH_F64, PITH_F64},  {PITH_F16, PITH_F32, PITH_F32},
        {PITH_BF16, PITH_F64, PITH_F64}, {PITH_BOOL, PITH_BOOL, PITH_BOOL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const pith_array *a = pith_ones(s, rows[i].a, PITH_SHAPE(2)),
                         *b = pith_ones(s, rows[i].b, PITH_SHAPE(2));
        const pith_array *most = pith_maximum(s, a, b), *swapped = pith_maximum(s, b, a);
        pt_ok(s, most && swapped);
        cr_assert(pith_array_spec(most)->dtype == rows[i].both &&
                  pith_array_spec(swapped)->dtype == rows[i].both);
    }
    const pith_dtype refused[][2] = {{PITH_I32, PITH_F32},
                                     {PITH_BOOL, PITH_I8},
                                     {PITH_BOOL, PITH_F64},
                                     {PITH_U64, PITH_I64}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const pith_array *a = pith_ones(s, refused[i][0], PITH_SHAPE(2)),
                         *b = pith_ones(s, refused[i][1], PITH_SHAPE(2));
        pt_fails(PITH_E_DTYPE, s, pith_maximum(s, a, b));
        pt_says("no common dtype");
    }
    pith_scope_close(s);
    pt_close(rt);
}

Test(elementwise, refuses_dtypes_that_an_operation_has_no_meaning_for) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *i = pith_ones(s, PITH_I32, PITH_SHAPE(2)),
                     *b = pith_ones(s, PITH_BOOL, PITH_SHAPE(2));
    pt_fails(PITH_E_DTYPE, s, pith_exp(s, i));
    pt_fails(PITH_E_DTYPE, s, pith_div(s, i, i));
    pt_says("pith_floor_divide");
    pt_fails(PITH_E_DTYPE, s, pith_add(s, b, b));
    pt_fails(PITH_E_DTYPE, s, pith_bitwise_and(s, pith_f64(s, 1), pith_f64(s, 1)));
    pt_fails(PITH_E_DTYPE, s, pith_where(s, i, i, i));
    pith_scope_close(s);
    pt_close(rt);
}

Test(elementwise, where_and_clip_broadcast_and_promote) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = vector(s, PITH_F32, 4, (double[]){-2, -1, 1, NAN});
    const pith_array *positive = pith_greater(s, x, pith_like(s, x, 0));
    cr_assert(pith_array_spec(positive)->dtype == PITH_BOOL);
    expect(s, pith_where(s, positive, x, pith_f64(s, 7)), 4, (double[]){7, 7, 1, 7});
    expect(s, pith_clip(s, x, pith_like(s, x, -1), pith_like(s, x, 0.5)), 4,
           (double[]){-1, -1, 0.5, NAN});
    pith_scope_close(s);
    pt_close(rt);
}

Test(elementwise, casts_round_to_even_and_saturate) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const double x[] = {300, -300, NAN, 2.9, -2.9, INFINITY};
    expect(s, vector(s, PITH_I8, 6, x), 6, (double[]){127, -128, 0, 2, -2, 127});
    expect(s, vector(s, PITH_U8, 6, x), 6, (double[]){255, 0, 0, 2, 0, 255});
    expect(s, vector(s, PITH_F16, 2, (double[]){2049, 65520}), 2,
           (double[]){2048, INFINITY});
    expect(s, vector(s, PITH_BF16, 2, (double[]){257, 259}), 2, (double[]){256, 260});
    const pith_array *same = pith_f64(s, 1);
    const pith_array *cast = pith_cast(s, same, PITH_F64);
    cr_assert(cast != same && pith_read_f64(s, cast) == 1);
    pt_fails(PITH_E_DTYPE, s, pith_cast(s, same, PITH_DTYPE_NONE));
    pith_scope_close(s);
    pt_close(rt);
}

Test(elementwise, clips_with_one_bound) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const double x[] = {-3, 0, 5, NAN};
    const pith_array *a = vector(s, PITH_F64, 4, x), *one = pith_f64(s, 1);
    expect(s, pith_clip(s, a, one, NULL), 4, (double[]){1, 1, 5, NAN});
    expect(s, pith_clip(s, a, NULL, one), 4, (double[]){-3, 0, 1, NAN});
    pt_fails(PITH_E_ARG, s, pith_clip(s, a, NULL, NULL));
    pt_says("both bounds are NULL");
    pith_scope_close(s);
    pt_close(rt);
}

Test(elementwise, splits_and_scales_by_powers_of_two) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const double x[] = {0x1.8p-1073, -6, INFINITY, -0.0};
    const pith_array *a = vector(s, PITH_F64, 4, x), *exponent;
    const pith_array *mantissa = pith_frexp(s, a, &exponent);
    expect(s, mantissa, 4, (double[]){0.75, -0.75, INFINITY, -0.0});
    expect(s, exponent, 4, (double[]){-1072, 3, 0, 0});
    expect(s, pith_ldexp(s, mantissa, exponent), 4, x);
    const pith_array *far = vector(s, PITH_I64, 4, (double[]){1e15, -1e15, 2047, -2200});
    expect(s, pith_ldexp(s, pith_f64(s, -1), far), 4,
           (double[]){-INFINITY, -0.0, -INFINITY, -0.0});
    expect(s, pith_ldexp(s, pith_f64(s, 0x1p-1074), pith_i32(s, 2097)), 1,
           (double[]){0x1p1023});
    /* rounded once, to even: 0x1.8p-24 of f16, whose least is 0x1p-24 */
    expect(s,
           pith_ldexp(s, vector(s, PITH_F16, 2, (double[]){1.5, 1.25}), pith_i32(s, -24)),
           2, (double[]){0x1p-23, 0x1p-24});
    pt_fails(PITH_E_DTYPE, s, pith_ldexp(s, a, a));
    pt_says("b: expected integers");
    pt_fails(PITH_E_DTYPE, s, pith_ldexp(s, exponent, exponent));
    pt_fails(PITH_E_DTYPE, s, pith_frexp(s, exponent, &mantissa));
    cr_assert(!mantissa);
    pt_fails(PITH_E_ARG, s, pith_frexp(s, a, NULL));
    pith_scope_close(s);
    pt_close(rt);
}

Test(elementwise, takes_the_least_powers_of_what_is_not_finite) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const double x[] = {INFINITY, -INFINITY, 0, -0.0};
    const pith_array *a = vector(s, PITH_F64, 4, x), *least = pith_f64(s, 0x1p-1074);
    expect(s, pith_pow(s, a, least), 4, (double[]){INFINITY, INFINITY, 0, 0});
    expect(s, pith_pow(s, a, pith_neg(s, least)), 4,
           (double[]){0, 0, INFINITY, INFINITY});
    pith_scope_close(s);
    pt_close(rt);
}

Test(elementwise, takes_first_powers_of_all_there_is) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const double x[] = {DBL_MAX, -DBL_MAX, DBL_MIN, 0x1p-1074, -INFINITY, -0.0, 3};
    const pith_array *a = vector(s, PITH_F64, 7, x), *one = pith_f64(s, 1);
    expect(s, pith_pow(s, a, pith_add(s, one, pith_zeros(s, PITH_F64, PITH_SHAPE(7)))), 7,
           x);
    expect(s, pith_pow(s, a, one), 7, x);
    pith_scope_close(s);
    pt_close(rt);
}

Test(elementwise, leaves_integers_to_their_operations) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *i = vector(s, PITH_I8, 2, (double[]){-128, 7});
    expect(s, pith_nan_to_num(s, i), 2, (double[]){-128, 7});
    expect(s, pith_trunc_divide(s, i, pith_like(s, i, -2)), 2, (double[]){64, -3});
    expect(s, pith_shift_right_logical(s, i, pith_like(s, i, 7)), 2, (double[]){1, 0});
    pt_fails(PITH_E_DTYPE, s, pith_trunc_divide(s, pith_f32(s, 1), pith_f32(s, 1)));
    pt_says("pith_trunc_divide: expected integers, got f32");
    cr_assert(pith_promote_types(PITH_I8, PITH_U8) == PITH_I16);
    cr_assert(pith_promote_types(PITH_I8, PITH_F32) == PITH_DTYPE_NONE);
    cr_assert(pith_promote_types((pith_dtype)99, PITH_F32) == PITH_DTYPE_NONE);
    pith_scope_close(s);
    pt_close(rt);
}

/* The same bits for every number of threads and for small and large arrays. */
Test(elementwise, bits_do_not_depend_on_threads_or_place) {
    enum { N = 100003 };
    double *x = malloc(N * sizeof *x), *one = malloc(N * sizeof *one),
           *many = malloc(N * sizeof *many);
    for (int i = 0; i < N; i++)
        x[i] = (i - N / 2) * 0.00371;
    for (int threads = 1; threads <= 5; threads += 2) {
        pith_runtime *rt =
            pith_open(&(pith_open_options){.device = "host", .threads = threads});
        pith_scope *s = pith_scope_open(rt);
        const pith_array *a = pith_array_borrow(s, PITH_F64, PITH_SHAPE(N), x);
        pt_ok(s, pith_read(s, pith_sin(s, a), threads == 1 ? one : many, N * sizeof *x));
        cr_assert(threads == 1 || memcmp(one, many, N * sizeof *one) == 0, "%d threads",
                  threads);
        for (int i = 0; threads == 1 && i < 300; i += 7)
            cr_assert(pith_read_f64(s, pith_sin(s, pith_f64(s, x[i]))) == one[i]);
        pith_scope_close(s);
        pith_close(rt);
    }
    free(x), free(one), free(many);
}
