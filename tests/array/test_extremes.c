/* Numbers at the ends: subnormal ones, NaN with payloads, zeros with signs, the least and
 * greatest integers; in every place of a vector, with one thread and several. */
#include "array/expression_parts.h"
#include "pith_test.h"

#include <math.h>
#include <pith/array.h>

/* Odd, so that every instruction set has a body and a tail. */
enum { MANY = 1237 };

static const pith_array *repeated(pith_scope *s, pith_dtype dtype, const void *one) {
    static char bytes[MANY * 8];
    const size_t size = pith_dtype_size(dtype);
    for (size_t i = 0; i < MANY; i++)
        memcpy(bytes + i * size, one, size);
    return pith_array_copy(s, dtype, PITH_SHAPE(MANY), bytes);
}

/* Every element of a has exactly these bits. */
static void
expect_bits_at(int line, pith_scope *s, const pith_array *a, const void *one, int row) {
    static char got[MANY * 8];
    pt_ok(s, a);
    const size_t size = pith_dtype_size(pith_array_spec(a)->dtype);
    pt_ok(s, pith_read(s, a, got, MANY * size));
    for (size_t i = 0; i < MANY; i++)
        if (memcmp(got + i * size, one, size) != 0) {
            uint64_t bits = 0, want = 0;
            memcpy(&bits, got + i * size, size);
            memcpy(&want, one, size);
            cr_assert(bits == want, "line %d, row %d, element %zu: %llx for %llx", line,
                      row, i, (unsigned long long)bits, (unsigned long long)want);
        }
}
#define expect_bits(...) expect_bits_at(__LINE__, __VA_ARGS__)

#define F64(x) repeated(s, PITH_F64, &(double){x})
#define F32(x) repeated(s, PITH_F32, &(float){x})

/* ---- Subnormal numbers ---- */

Test(extremes, subnormal_numbers_are_not_flushed) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const struct {
        const pith_array *got;
        double want;
    } doubles[] = {
        {pith_add(s, F64(0x1p-1074), F64(0x1p-1074)), 0x1p-1073},
        {pith_sub(s, F64(0x1.8p-1022), F64(0x1p-1022)), 0x1p-1023},
        {pith_mul(s, F64(0x1p-1022), F64(0.5)), 0x1p-1023},
        {pith_div(s, F64(0x1p-1022), F64(0x1p52)), 0x1p-1074},
        {pith_mul(s, F64(0x1p-1074), F64(0x1p1000)), 0x1p-74},
        {pith_sqrt(s, F64(0x1p-1074)), 0x1p-537},
        {pith_neg(s, F64(0x1p-1074)), -0x1p-1074},
        {pith_maximum(s, F64(0x1p-1074), F64(0)), 0x1p-1074},
        {pith_nextafter(s, F64(0), F64(1)), 0x1p-1074},
        {pith_sin(s, F64(0x1p-1060)), 0x1p-1060},
        {pith_cast(s, F32(0x1p-149f), PITH_F64), 0x1p-149},
        {pith_cast(s, pith_less(s, F64(0), F64(0x1p-1074)), PITH_F64), 1},
    };
    const struct {
        const pith_array *got;
        float want;
    } floats[] = {
        {pith_add(s, F32(0x1p-149f), F32(0x1p-149f)), 0x1p-148f},
        {pith_mul(s, F32(0x1p-126f), F32(0.5f)), 0x1p-127f},
        {pith_div(s, F32(0x1p-126f), F32(8)), 0x1p-129f},
        {pith_cast(s, F64(0x1p-149), PITH_F32), 0x1p-149f},
        {pith_cast(s, F64(0x1.8p-150), PITH_F32), 0x1p-149f},
        {pith_cast(s, pith_cast(s, F32(0x1p-24f), PITH_F16), PITH_F32), 0x1p-24f},
        {pith_cast(s, pith_cast(s, F32(0x1p-133f), PITH_BF16), PITH_F32), 0x1p-133f},
        {pith_exp2(s, F32(-149)), 0x1p-149f},
        {pith_tanh(s, F32(0x1p-140f)), 0x1p-140f},
    };
    for (size_t i = 0; i < sizeof doubles / sizeof *doubles; i++)
        expect_bits(s, doubles[i].got, &doubles[i].want, (int)i);
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
        expect_bits(s, floats[i].got, &floats[i].want, (int)i);
    /* 1.01 of the least number; devices may be wrong by one of its units */
    const double tiny =
        pith_read_f64(s, pith_slice_at(s, pith_exp(s, F64(-745)), 0, 0)) / 0x1p-1074;
    cr_expect(pt_usual_is_host() ? tiny == 1 : tiny >= 0 && tiny <= 2, "%g", tiny);
    cr_expect(pith_read_f64(s, pith_sum(s, F64(0x1p-1074), PITH_ALL_AXES)) ==
              MANY * 0x1p-1074);
    cr_expect(pith_read_f64(s, pith_slice_at(s, pith_cumsum(s, F32(0x1p-149f), 0, NULL),
                                             0, -1)) == MANY * 0x1p-149);
    pith_scope_close(s);
    pt_close(rt);
}

/* ---- NaN and signs ---- */

Test(extremes, payloads_of_nan_and_signs_of_zero_move_unchanged) {
    static const uint64_t nan64[] = {0x7FF8000000ABCDEF, 0xFFF0000000000001,
                                     0x8000000000000000},
                          kept64[] = {0x7FF8000000ABCDEF, 0x7FF0000000000001, 0};
    static const uint32_t nan32[] = {0x7FC0ABCD, 0xFF800001, 0x80000000};
    const uint64_t sign = (uint64_t)1 << 63;
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *index = pith_arange(s, PITH_I64, MANY);
    const pith_array *yes = pith_equal(s, index, index);
    for (int k = 0; k < 3; k++) {
        const pith_array *a = repeated(s, PITH_F64, &nan64[k]),
                         *f = repeated(s, PITH_F32, &nan32[k]);
        const uint64_t negated = nan64[k] ^ sign;
        expect_bits(s, pith_where(s, yes, a, F64(1)), &nan64[k], k);
        expect_bits(s, pith_where(s, pith_logical_not(s, yes), F32(1), f), &nan32[k], k);
        expect_bits(s, pith_take(s, a, index, NULL), &nan64[k], k);
        expect_bits(s, pith_flip(s, f, PITH_ALL_AXES), &nan32[k], k);
        expect_bits(s, pith_scatter_set(s, F64(0), index, a, NULL), &nan64[k], k);
        expect_bits(s, pith_sort(s, a, 0, NULL), &nan64[k], k);
        if (k < 2 && !pt_usual_is_host())
            continue; /* a NaN that is computed there has a sign of its own */
        expect_bits(s, pith_neg(s, a), &negated, k);
        expect_bits(s, pith_abs(s, a), &kept64[k], k);
        expect_bits(s, pith_copysign(s, pith_abs(s, a), a), &nan64[k], k);
    }
    pith_scope_close(s);
    pt_close(rt);
}

Test(extremes, zeros_keep_their_signs) {
    static const double minus = -0.0, plus = 0.0;
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *minuses[] = {pith_mul(s, F64(0), F64(-1)),
                                   pith_div(s, F64(-1), F64((double)INFINITY)),
                                   pith_sqrt(s, F64(-0.0)),
                                   pith_round(s, F64(-0.3)),
                                   pith_ceil(s, F64(-0.9)),
                                   pith_trunc(s, F64(-0.9)),
                                   pith_fmod(s, F64(-4), F64(2)),
                                   pith_sin(s, F64(-0.0)),
                                   pith_asinh(s, F64(-0.0)),
                                   pith_log1p(s, F64(-0.0)),
                                   pith_expm1(s, F64(-0.0)),
                                   pith_cbrt(s, F64(-0.0)),
                                   pith_erf(s, F64(-0.0)),
                                   pith_erf_inv(s, F64(-0.0)),
                                   pith_cast(s, F32(-0.0f), PITH_F64)};
    const pith_array *pluses[] = {
        pith_add(s, F64(-0.0), F64(0)), pith_sub(s, F64(1), F64(1)),
        pith_remainder(s, F64(-4), F64(2)), pith_mul(s, F64(-0.0), F64(-1))};
    for (size_t i = 0; i < sizeof minuses / sizeof *minuses; i++)
        expect_bits(s, minuses[i], &minus, (int)i);
    for (size_t i = 0; i < sizeof pluses / sizeof *pluses; i++)
        expect_bits(s, pluses[i], &plus, (int)i);
    pith_scope_close(s);
    pt_close(rt);
}

/* ---- Integers ---- */

#define ENDS(DTYPE, type, least, greatest)                                               \
    {                                                                                    \
        const type low = least, high = greatest, none = 0, all = (type)-1;               \
        const pith_array *l = repeated(s, DTYPE, &low), *h = repeated(s, DTYPE, &high),  \
                         *m = repeated(s, DTYPE, &all), *one = pith_ones(s, DTYPE, n),   \
                         *zero = pith_zeros(s, DTYPE, n);                                \
        expect_bits(s, pith_add(s, h, one), &low, 0);                                    \
        expect_bits(s, pith_sub(s, l, one), &high, 1);                                   \
        expect_bits(s, pith_mul(s, l, m), low ? &low : &none, 2);                        \
        expect_bits(s, pith_floor_divide(s, l, m), low ? &low : &none, 3);               \
        expect_bits(s, pith_floor_divide(s, h, zero), &none, 4);                         \
        expect_bits(s, pith_remainder(s, l, m), &none, 5);                               \
        expect_bits(s, pith_fmod(s, h, zero), &none, 6);                                 \
        expect_bits(s, pith_neg(s, l), low ? &low : &none, 7);                           \
        expect_bits(s, pith_abs(s, l), low ? &low : &none, 8);                           \
        expect_bits(s, pith_shift_left(s, h, h), &none, 9);                              \
        expect_bits(s, pith_shift_right(s, l, h), low ? &all : &none, 10);               \
        expect_bits(s, pith_maximum(s, l, h), &high, 11);                                \
        expect_bits(s, pith_cast(s, F64((double)INFINITY), DTYPE), &high, 12);           \
        expect_bits(s, pith_cast(s, F64(-(double)INFINITY), DTYPE), &low, 13);           \
        expect_bits(s, pith_cast(s, F32(1e30f), DTYPE), &high, 14);                      \
        expect_bits(s, pith_cast(s, F64((double)NAN), DTYPE), &none, 15);                \
    }

Test(extremes, of_two_zeros_the_second_is_the_extreme) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    typedef const pith_array *(*extreme)(pith_scope *, const pith_array *,
                                         const pith_array *);
    static const extreme extremes[] = {(pith_minimum), (pith_maximum), (pith_fmin),
                                       (pith_fmax)};
    const double minus = -0.0, plus = 0.0;
    const float minus_f32 = -0.0f, plus_f32 = 0.0f;
    for (int i = 0; i < 4; i++) {
        expect_bits(s, extremes[i](s, F64(minus), F64(plus)), &plus, i);
        expect_bits(s, extremes[i](s, F64(plus), F64(minus)), &minus, i);
        expect_bits(s, extremes[i](s, F32(minus_f32), F32(plus_f32)), &plus_f32, i);
        expect_bits(s, extremes[i](s, F32(plus_f32), F32(minus_f32)), &minus_f32, i);
    }
    const pith_array *one = pith_f64(s, 1), *less = pith_f64(s, -1);
    expect_bits(s, pith_clip(s, F64(minus), pith_f64(s, plus), one), &plus, 0);
    expect_bits(s, pith_clip(s, F64(plus), less, pith_f64(s, minus)), &minus, 1);
    pith_scope_close(s);
    pt_close(rt);
}

Test(extremes, integers_wrap_and_casts_saturate) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_shape n = PITH_SHAPE(MANY);
    ENDS(PITH_I8, int8_t, INT8_MIN, INT8_MAX)
    ENDS(PITH_I16, int16_t, INT16_MIN, INT16_MAX)
    ENDS(PITH_I32, int32_t, INT32_MIN, INT32_MAX)
    ENDS(PITH_I64, int64_t, INT64_MIN, INT64_MAX)
    ENDS(PITH_U8, uint8_t, 0, UINT8_MAX)
    ENDS(PITH_U16, uint16_t, 0, UINT16_MAX)
    ENDS(PITH_U32, uint32_t, 0, UINT32_MAX)
    ENDS(PITH_U64, uint64_t, 0, UINT64_MAX)
    pith_scope_close(s);
    pt_close(rt);
}

/* Counts below 0 and from the width on shift out all bits. Arrays of counts, and one for
 * all elements, of which the compiler makes other code. */
#define SHIFTS(DTYPE, type, wide)                                                        \
    for (int k = 0; k < 5; k++)                                                          \
        for (int count = -2; count < (int)(8 * sizeof(type)) + 2; count++) {             \
            const type x = (type)starts[k];                                              \
            const bool all = count < 0 || count >= (int)(8 * sizeof(type));              \
            const wide w = x;                                                            \
            const uint64_t u = (uint64_t)w,                                              \
                           bits = u & (uint64_t)-1 >> spare(sizeof(type));               \
            const bool negative = (wide)-1 >> 1 == (wide)-1 && u >> 63;                  \
            const type left = all ? 0 : (type)(u << count),                              \
                       right = all ? (type)(negative ? -1 : 0) : (type)(w >> count),     \
                       logical = all ? 0 : (type)(bits >> count), by = (type)count;      \
            const pith_array *a = repeated(s, DTYPE, &x),                                \
                             *one = pith_array_copy(s, DTYPE, PITH_SCALAR, &by);         \
            for (int each = 0; each < 2; each++) {                                       \
                const pith_array *b = each ? repeated(s, DTYPE, &by) : one;              \
                expect_bits(s, pith_shift_left(s, a, b), &left, count);                  \
                expect_bits(s, pith_shift_right(s, a, b), &right, count);                \
                expect_bits(s, pith_shift_right_logical(s, a, b), &logical, count);      \
            }                                                                            \
        }

/* Bits of 8 bytes beyond a type's. */
static int spare(size_t size) {
    return 64 - 8 * (int)size;
}

Test(extremes, shifts_by_every_count) {
    static const uint64_t starts[] = {0, 1, UINT64_MAX, 0x9E3779B97F4A7C15,
                                      0x8080808080808080};
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    SHIFTS(PITH_I8, int8_t, int64_t)
    SHIFTS(PITH_I16, int16_t, int64_t)
    SHIFTS(PITH_I32, int32_t, int64_t)
    SHIFTS(PITH_I64, int64_t, int64_t)
    SHIFTS(PITH_U8, uint8_t, uint64_t)
    SHIFTS(PITH_U16, uint16_t, uint64_t)
    SHIFTS(PITH_U32, uint32_t, uint64_t)
    SHIFTS(PITH_U64, uint64_t, uint64_t)
    pith_scope_close(s);
    pt_close(rt);
}

/* Up to the last argument with a finite result; the truth is mpmath's. */
Test(extremes, lgamma_is_infinite_where_it_is_too_large_alone) {
    static const double x[] = {0x1p1000,
                               0x1.2aa4f4a405be2p+1003,
                               0x1.6c8e5ca239029p+1014,
                               0x1.70ee4737a0181p+1014,
                               0x1.74c5de97bb960p+1014,
                               0x1.8p1014,
                               (double)INFINITY,
                               -0x1p1001};
    static const double wanted[] = {0x1.5a12d6d005c94p+1009, 0x1.9506705986a02p+1012,
                                    0x1.f3fc83052cbf4p+1023, 0x1.f9feab9be8971p+1023,
                                    0x1.ff459d10b4223p+1023, (double)INFINITY,
                                    (double)INFINITY,        (double)INFINITY};
    enum { N = sizeof x / sizeof *x };
    double y[N];
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    /* CUDA documents 4 units in the last place */
    const double bound = pt_usual_is_host() ? 2e-16 : 9e-16;
    const pith_array *a = pith_array_copy(s, PITH_F64, PITH_SHAPE(N), x);
    pt_ok(s, pith_read(s, pith_lgamma(s, a), y, sizeof y));
    for (int i = 0; i < N; i++)
        cr_expect(y[i] == wanted[i] || fabs(y[i] / wanted[i] - 1) < bound,
                  "lgamma(%a): expected %a, got %a", x[i], wanted[i], y[i]);
    pith_scope_close(s);
    pt_close(rt);
}

/* ---- Threads ---- */

typedef struct unary {
    const pith_array *(*function)(pith_scope *s, const pith_array *a);
    pithp_operand_rule rule;
} unary;

#define PITHP_UNARY(name, PRIMITIVE, rule) {(pith_##name), PITHP_OPERANDS_##rule},
static const unary functions[] = {
#include "array/elementwise.def"
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* Results of all unary functions of floats; those of other dtypes are left out. */
static void apply_all(int threads, pith_dtype dtype, char *to, size_t bytes, int64_t n) {
    pith_runtime *rt =
        pith_open(&(pith_open_options){.device = "host", .threads = threads});
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x =
        pith_random_uniform(s, pith_random_key(s, 4), dtype, PITH_SHAPE(n), -3, 3, NULL);
    for (size_t k = 0; k < FUNCTIONS; k++) {
        if (functions[k].rule == PITHP_OPERANDS_WHOLE)
            continue;
        const pith_array *made = functions[k].function(s, x);
        pt_ok(s, made);
        if (pith_array_spec(made)->dtype == dtype)
            pt_ok(s, pith_read(s, made, to + k * bytes, bytes));
        pith_drop(s, made);
    }
    pith_scope_close(s);
    pith_close(rt);
}

Test(extremes, results_do_not_depend_on_threads) {
    enum { N = 100003 };
    for (int k = 0; k < 2; k++) {
        const pith_dtype dtype = k ? PITH_F32 : PITH_F64;
        const size_t bytes = N * pith_dtype_size(dtype);
        char *alone = calloc(FUNCTIONS, bytes), *together = calloc(FUNCTIONS, bytes);
        apply_all(1, dtype, alone, bytes, N);
        apply_all(5, dtype, together, bytes, N);
        cr_expect(memcmp(alone, together, FUNCTIONS * bytes) == 0);
        free(alone);
        free(together);
    }
}

/* Poles, borders, orders that have no derivative, and orders whose factorial overflows.
 */
/* Equal; finite values of devices, whose logarithms and powers differ, nearly so. */
static bool is_near(double got, double wanted) {
    return got == wanted || (!pt_usual_is_host() && isfinite(wanted) && wanted != 0 &&
                             fabs(got / wanted - 1) < 1e-14);
}

Test(extremes, polygamma_has_the_values_of_its_limits) {
    static const struct {
        double order, at, wanted;
    } cases[] = {
        {0, 1, -0x1.2788cfc6fb619p-1},
        {0, -2, NAN},
        {1, 0, INFINITY},
        {1, -0.0, INFINITY},
        {2, 0, -INFINITY},
        {2, -0.0, INFINITY},
        {1, -3, INFINITY},
        {2, -3, NAN},
        {1, -1e300, INFINITY},
        {2, -1e300, NAN},
        {1, INFINITY, 0},
        {2, INFINITY, -0.0},
        {1, -INFINITY, NAN},
        {1, 5e-324, INFINITY},
        {1, 1e200, 1e-200},
        {170, 1e-300, -INFINITY},
        {300, 0.5, -INFINITY},
        {300, -1.3, INFINITY},
        {300, -1.7, -INFINITY},
        {300, -1.5, -INFINITY},
        {301, -1.3, INFINITY},
        {1e5, 4e4, -0.0},
        {-1, 1, NAN},
        {0.5, 1, NAN},
        {INFINITY, 1, NAN},
        {NAN, 1, NAN},
        {1, NAN, NAN},
        {0, NAN, NAN},
    };
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        double y = 0;
        pt_ok(s, pith_read(s, pith_polygamma(s, cases[k].order, pith_f64(s, cases[k].at)),
                           &y, sizeof y));
        cr_assert(isnan(cases[k].wanted) ? isnan(y)
                                         : is_near(y, cases[k].wanted) &&
                                               !signbit(y) == !signbit(cases[k].wanted),
                  "polygamma(%g, %g): expected %a, got %a", cases[k].order, cases[k].at,
                  cases[k].wanted, y);
    }
    pith_scope_close(s);
    pt_close(rt);
}
