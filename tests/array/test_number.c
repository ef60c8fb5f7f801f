/* Numbers as operands: every function in C, without call sites and in C++, eager and
 * traced, against the same call with arrays; dtypes, exactness and errors. */
#include "numbers.h"
#include "pith_test.h"

#include <math.h>
#include <pith/pith.h>

#define PITH_TEST_NULL NULL

void number_results_c(pith_scope *s,
                      const pith_array *x,
                      const pith_array *i,
                      const pith_array *c,
                      const pith_array **results) {
    NUMBER_RESULTS(s, x, i, c, results);
}

enum { PLACES = 4 };

static const pith_array *floats(pith_scope *s, pith_dtype dtype) {
    return pith_cast(
        s,
        pith_array_copy(s, PITH_F64, PITH_SHAPE(PLACES), (double[]){-3, -0.25, 1, 2.5}),
        dtype);
}
static const pith_array *integers(pith_scope *s) {
    return pith_array_copy(s, PITH_I32, PITH_SHAPE(PLACES), (int32_t[]){-7, 0, 5, 900});
}
static const pith_array *flags(pith_scope *s) {
    return pith_array_copy(s, PITH_BOOL, PITH_SHAPE(PLACES), (bool[]){1, 0, 0, 1});
}

static void
expect_equal(pith_scope *s, const pith_array *a, const pith_array *b, int call) {
    cr_assert(a && b, "call %d: %s", call, pith_message(s));
    const pith_spec *spec = pith_array_spec(a);
    cr_assert(spec == pith_array_spec(b), "call %d: another spec", call);
    uint64_t x[PLACES], y[PLACES];
    pt_ok(s, pith_read(s, a, x, spec->bytes) && pith_read(s, b, y, spec->bytes));
    cr_assert(memcmp(x, y, spec->bytes) == 0, "call %d: other elements", call);
}

/* The same calls as NUMBER_RESULTS makes, with arrays of rank 0. */
static void expected(pith_scope *s,
                     const pith_array *x,
                     const pith_array *i,
                     const pith_array *c,
                     const pith_array **to) {
#define X(value) pith_like(s, x, value)
#define I(value) pith_like(s, i, value)
    const pith_array *all[] = {
        pith_add(s, x, X(2)),
        pith_add(s, X(2), x),
        pith_sub(s, X(1), x),
        pith_mul(s, x, X(0.1)),
        pith_div(s, X(1), x),
        pith_floor_divide(s, x, X(2)),
        pith_remainder(s, x, X(2)),
        pith_fmod(s, x, X(2)),
        pith_pow(s, x, X(2)),
        pith_pow(s, X(2), x),
        pith_ldexp(s, x, pith_i32(s, 3)),
        pith_logaddexp(s, x, X(0)),
        pith_atan2(s, x, X(1)),
        pith_hypot(s, X(3), x),
        pith_copysign(s, x, X(-1)),
        pith_nextafter(s, x, X(0)),
        pith_minimum(s, x, X(0)),
        pith_maximum(s, x, X(0)),
        pith_fmin(s, X(0), x),
        pith_fmax(s, X(0), x),
        pith_equal(s, x, X(1)),
        pith_not_equal(s, x, X(1)),
        pith_less(s, x, X(1)),
        pith_less_equal(s, x, X(1)),
        pith_greater(s, x, X(1)),
        pith_greater_equal(s, X(1), x),
        pith_logical_and(s, c, pith_bool(s, true)),
        pith_logical_or(s, c, pith_bool(s, false)),
        pith_logical_xor(s, c, pith_bool(s, true)),
        pith_is_close(s, x, X(1), 0, 0.5, false),
        pith_where(s, c, x, X(0)),
        pith_where(s, c, X(-1.5), x),
        pith_clip(s, x, X(0), X(1.5)),
        pith_clip(s, X(0), x, NULL),
        pith_clip(s, x, NULL, X(1)),
        pith_clip(s, x, X(-1), NULL),
        pith_add(s, i, I(3)),
        pith_mul(s, I(2), i),
        pith_trunc_divide(s, i, I(2)),
        pith_bitwise_and(s, i, I(0xff)),
        pith_bitwise_or(s, i, I(1)),
        pith_bitwise_xor(s, i, I('a')),
        pith_shift_left(s, i, I(2)),
        pith_shift_right(s, i, I(1)),
        pith_shift_right_logical(s, i, I(1)),
        pith_sub(s, pith_mul(s, pith_sub(s, x, X(1)), X(2)), x),
        NULL,
    };
    memcpy(to, all, sizeof all);
#undef X
#undef I
}

static void compare(number_results *calls, pith_dtype dtype) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = floats(s, dtype), *i = integers(s), *c = flags(s);
    const pith_array *got[NUMBER_CALLS], *right[NUMBER_CALLS];
    calls(s, x, i, c, got);
    expected(s, x, i, c, right);
    pt_ok(s);
    int n = 0;
    for (; right[n]; n++)
        expect_equal(s, got[n], right[n], n);
    cr_assert(!got[n] && n == 46);
    pith_scope_close(s);
    pt_close(rt);
}

Test(number, operands_of_every_function_in_c) {
    compare(number_results_c, PITH_F32);
    compare(number_results_c, PITH_F64);
}
Test(number, operands_without_call_sites) {
    compare(number_results_no_sites, PITH_F32);
}
#ifdef PITH_TEST_CXX
Test(number, operands_of_every_function_in_cxx) {
    compare(number_results_cxx, PITH_F32);
    compare(number_results_cxx, PITH_F64);
}

Test(number, enums_longs_and_zeros_in_cxx) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    expect_equal(s, number_enums_cxx(s, pith_f64(s, 5)), pith_f64(s, 12), 0);
    pith_scope_close(s);
    pt_close(rt);
}
#endif

/* ---- Traced ---- */

static const void *traced_calls(pith_scope *s, const pith_array *x) {
    const pith_array *got[NUMBER_CALLS];
    number_results_c(s, x, integers(s), flags(s), got);
    int64_t n = 0;
    while (got[n])
        n++;
    return pith_list_make(s, n, (const void *const *)got);
}
PITH_FUNCTION1(traced_function, traced_calls, void, pith_array)

Test(number, operands_while_traced) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = floats(s, PITH_F32);
    const pith_function *compiled = pith_jit(s, &traced_function, NULL);
    const void *once = pith_call(s, &traced_function, 1, (const void *[]){x});
    pt_ok(s, once);
    for (int turn = 0; turn < 2; turn++) {
        const void *again = pith_call(s, compiled, 1, (const void *[]){x});
        pt_ok(s, again);
        for (int64_t n = 0; n < 46; n++)
            expect_equal(s, pith_child(again, n), pith_child(once, n), (int)n);
    }
    pith_scope_close(s);
    pt_close(rt);
}

/* ---- The values that numbers take ---- */

Test(number, of_64_bits_are_exact) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *i = pith_i64(s, 0), *u = pith_cast(s, i, PITH_U64);
    uint64_t got = 0;
    cr_assert(pith_read_i64(s, pith_add(s, i, INT64_MAX)) == INT64_MAX);
    cr_assert(pith_read_i64(s, pith_add(s, i, INT64_MIN)) == INT64_MIN);
    cr_assert(pith_read_i64(s, pith_add(s, i, (uint64_t)INT64_MAX)) == INT64_MAX);
    cr_assert(pith_read_i64(s, pith_add(s, i, (1LL << 53) + 1)) == (1LL << 53) + 1);
    pt_ok(s, pith_read(s, pith_add(s, u, UINT64_MAX), &got, sizeof got));
    cr_assert(got == UINT64_MAX);
    pt_ok(s, pith_read(s, pith_add(s, u, INT64_MAX), &got, sizeof got));
    cr_assert(got == INT64_MAX);
    pt_fails(PITH_E_DTYPE, s, pith_add(s, i, UINT64_MAX));
    pt_says("pith_add: b: expected a number exact in i64, got 18446744073709551615");
    pt_fails(PITH_E_DTYPE, s, pith_add(s, u, -1));
    pt_fails(PITH_E_DTYPE, s, pith_add(s, i, 0x1p63));
    /* Rounded once: 2^24 + 1 and 2^25 + 3 lie between floats. */
    const pith_array *f = pith_f32(s, 0);
    cr_assert(pith_read_f64(s, pith_add(s, f, (1 << 24) + 1)) == 16777216);
    cr_assert(pith_read_f64(s, pith_add(s, f, (1LL << 60) + (1LL << 36) + 1)) ==
              0x1p60 + 0x1p37);
    pith_scope_close(s);
    pt_close(rt);
}

Test(number, must_fit_the_dtype_of_the_arrays) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *i8 = pith_zeros(s, PITH_I8, PITH_SHAPE(2)),
                     *u8 = pith_zeros(s, PITH_U8, PITH_SHAPE(2)),
                     *b = pith_zeros(s, PITH_BOOL, PITH_SHAPE(2)),
                     *f16 = pith_zeros(s, PITH_F16, PITH_SHAPE(2)),
                     *f32 = pith_zeros(s, PITH_F32, PITH_SHAPE(2));
    pt_ok(s, pith_add(s, i8, 127) && pith_add(s, i8, -128) && pith_add(s, u8, 255) &&
                 pith_add(s, i8, 3.0) && pith_logical_or(s, b, true));
    pt_fails(PITH_E_DTYPE, s, pith_add(s, i8, 300));
    pt_says("pith_add: b: expected a number exact in i8, got 300");
    pt_fails(PITH_E_DTYPE, s, pith_sub(s, 0.5, i8));
    pt_says("pith_sub: a: expected a number exact in i8, got 0.5");
    pt_fails(PITH_E_DTYPE, s, pith_add(s, i8, 128));
    pt_fails(PITH_E_DTYPE, s, pith_add(s, i8, -129));
    pt_fails(PITH_E_DTYPE, s, pith_add(s, u8, -1));
    pt_fails(PITH_E_DTYPE, s, pith_add(s, u8, (double)NAN));
    pt_fails(PITH_E_DTYPE, s, pith_logical_or(s, b, 2));
    pt_fails(PITH_E_DTYPE, s, pith_logical_or(s, b, -1));
    pt_fails(PITH_E_DTYPE, s, pith_add(s, f32, 1e300));
    pt_says("pith_add: b: expected a number in the range of f32, got 1e+300");
    pt_fails(PITH_E_DTYPE, s, pith_add(s, f16, 100000));
    pt_fails(PITH_E_DTYPE, s, pith_clip(s, i8, 0, 0.1));
    pt_says("pith_clip: high: expected a number exact in i8, got 0.1");
    pt_fails(PITH_E_DTYPE, s, pith_ldexp(s, f32, 0.5));
    pt_says("pith_ldexp: b: expected a number exact in i32, got 0.5");
    pt_ok(s, pith_where(s, b, f32, (double)INFINITY) && pith_mul(s, f16, (double)NAN));
    pith_scope_close(s);
    pt_close(rt);
}

Test(number, dtypes_are_those_of_the_arrays) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    for (pith_dtype d = PITH_I8; d < PITH_DTYPE_COUNT; d++) {
        const pith_array *x = pith_ones(s, d, PITH_SHAPE(2));
        cr_assert(pith_array_spec(pith_mul(s, x, 2))->dtype == d);
        cr_assert(pith_array_spec(pith_where(s, pith_less(s, x, 2.0), x, 0))->dtype == d);
        pt_ok(s);
    }
    /* Of several arrays: what they promote to. */
    const pith_array *x = pith_clip(s, 0.5, pith_f32(s, 0), pith_f64(s, 1));
    cr_assert(pith_array_spec(x)->dtype == PITH_F64 && pith_array_spec(x)->rank == 0);
    pt_fails(PITH_E_DTYPE, s, pith_clip(s, 1, pith_f32(s, 0), pith_i32(s, 1)));
    pt_says("pith_clip: f32 and i32 have no common dtype");
    pith_scope_close(s);
    pt_close(rt);
}

Test(number, errors_name_the_function_and_its_site) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = pith_f64(s, 1), *c = pith_bool(s, true);
    pt_fails(PITH_E_ARG, s, pith_add(s, 1, 2.0));
    pt_says("pith_add: expected an array among the operands, got numbers only");
    pt_says("test_number.c");
    pt_fails(PITH_E_ARG, s, pith_where(s, c, 1, 0));
    pt_says("pith_where: expected an array among");
    pt_fails(PITH_E_ARG, s, pith_clip(s, 1, 0, 2));
    pt_fails(PITH_E_ARG, s, pith_clip(s, 1, NULL, NULL));
    pt_fails(PITH_E_ARG, s, pith_clip(s, x, NULL, NULL));
    pt_fails(PITH_E_ARG, s, pith_mul(s, NULL, 2));
    pt_says("pith_mul: a: expected an array, got a pointer that is NULL");
    pt_fails(PITH_E_ARG, s, pith_mul(s, 2, (const pith_array *)NULL));
    pt_says("pith_mul: b: expected");
    pt_fails(PITH_E_ARG, s, pith_where(s, NULL, x, 1));
    pt_says("pith_where: condition");
    pt_fails(PITH_E_ARG, s, pith_mul(s, pith_add(s, 1, 2), 2));
    pt_says("pith_add: expected");
    /* The sites of calls around a failing one stay right. */
    pt_fails(PITH_E_SHAPE, s,
             pith_add(s, pith_mul(s, pith_zeros(s, PITH_F64, PITH_SHAPE(2)), 2),
                      pith_add(s, pith_zeros(s, PITH_F64, PITH_SHAPE(3)), 1)));
    pt_says("pith_add");
    const pith_array *none = pith_add(NULL, x, 2);
    cr_assert(!none);
    pith_scope_close(s);
    pt_close(rt);
}

Test(number, arrays_of_numbers_do_not_stay) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = pith_f64(s, 1);
    size_t before = 0;
    for (int i = 0; i < 20000; i++) {
        const pith_array *y = pith_mul(s, x, i);
        pith_drop(s, y);
        if (i == 5000)
            before = pith_scope_bytes(s);
    }
    cr_assert(pith_scope_bytes(s) == before);
    pith_scope_close(s);
    pt_close(rt);
}

/* The functions without macros: pointers, and names in parentheses. */
Test(number, functions_are_still_pointers) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *(*const function)(pith_scope *, const pith_array *,
                                        const pith_array *) = pith_mul;
    const pith_array *x = pith_f64(s, 3);
    cr_assert(pith_read_f64(s, function(s, x, x)) == 9);
    cr_assert(pith_read_f64(s, (pith_mul)(s, x, x)) == 9);
    pith_scope_close(s);
    pt_close(rt);
}
