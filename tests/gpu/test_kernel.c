/* Kernels launched through their typed functions: roles, dtypes, extents, indices,
 * atomics, and what a launch refuses. Built once for the host, where it runs everywhere,
 * and once for CUDA, where it is skipped without a device. */
#include "kernels/plain.h"
#include "kernels/real.h"
#include "pith_test.h"

#include <pith/array.h>

#ifndef PT_DEVICE
#    error "PT_DEVICE names the device"
#endif

static pith_runtime *open_device(void) {
    pith_runtime *rt = pith_open(&(pith_open_options){.device = PT_DEVICE});
    if (pith_runtime_code(rt) == PITH_E_UNSUPPORTED) {
        char reason[512];
        snprintf(reason, sizeof reason, "%s", pith_runtime_message(rt));
        pith_close(rt);
        cr_skip_test("%s", reason);
    }
    pith_close(rt);
    return pt_open_on(PT_DEVICE);
}

#define COPY(s, dtype, shape, ...) pith_array_copy(s, dtype, shape, __VA_ARGS__)

static void
expect_i32(pith_scope *s, const pith_array *a, int n, const int32_t *expected) {
    int32_t got[64];
    pt_ok(s, pith_read(s, a, got, (size_t)n * sizeof *got));
    for (int i = 0; i < n; i++)
        cr_assert_eq(got[i], expected[i], "element %d is %d, expected %d", i, got[i],
                     expected[i]);
}
static void
expect_i64(pith_scope *s, const pith_array *a, int n, const int64_t *expected) {
    int64_t got[64];
    pt_ok(s, pith_read(s, a, got, (size_t)n * sizeof *got));
    for (int i = 0; i < n; i++)
        cr_assert_eq(got[i], expected[i], "element %d is %lld, expected %lld", i,
                     (long long)got[i], (long long)expected[i]);
}

static const pith_array *zeros(pith_scope *s, pith_dtype dtype, pith_shape shape) {
    static const double bytes[64];
    return pith_array_copy(s, dtype, shape, bytes);
}

/* ---- dtypes ---- */

/* x + a, with a that only the right width and sign bring back. */
#define CHECK_ADD(dtype, CODE, type, x0, x1, a)                                          \
    do {                                                                                 \
        const type x[] = {x0, x1},                                                       \
                   expected[] = {(type)(x[0] + (a)), (type)(x[1] + (a))};                \
        type y[2] = {0, 0};                                                              \
        const pith_array *in = COPY(s, CODE, PITH_SHAPE(2), x);                          \
        pt_ok(s,                                                                         \
              pith_read(s, pith_launch(s, add_##dtype, in, (type)(a)).y, y, sizeof y));  \
        cr_assert(memcmp(y, expected, sizeof y) == 0, "add_" #dtype);                    \
    } while (0)

Test(kernel, every_dtype_goes_in_and_out) {
    pith_runtime *rt = open_device();
    pith_scope *s = pith_scope_open(rt);
    CHECK_ADD(i8, PITH_I8, int8_t, -100, 27, 100);
    CHECK_ADD(i16, PITH_I16, int16_t, -30000, 1, 32766);
    CHECK_ADD(i32, PITH_I32, int32_t, -2000000000, 7, 2000000000);
    CHECK_ADD(i64, PITH_I64, int64_t, -9007199254740993, 1, 9007199254740995);
    CHECK_ADD(u8, PITH_U8, uint8_t, 1, 55, 200);
    CHECK_ADD(u16, PITH_U16, uint16_t, 1, 2, 65533);
    CHECK_ADD(u32, PITH_U32, uint32_t, 1, 2, 4294967293u);
    CHECK_ADD(u64, PITH_U64, uint64_t, 1, 2, 18446744073709551613u);
    CHECK_ADD(f32, PITH_F32, float, 1.5f, -0.25f, 0.1f);
    CHECK_ADD(f64, PITH_F64, double, 1.5, -0.25, 0.1);
    pith_scope_close(s);
    pt_close(rt);
}

Test(kernel, bools_are_zero_or_one) {
    pith_runtime *rt = open_device();
    pith_scope *s = pith_scope_open(rt);
    const uint8_t x[] = {0, 1, 1};
    uint8_t kept[3], flipped[3];
    const pith_array *in = COPY(s, PITH_BOOL, PITH_SHAPE(3), x);
    pt_ok(s, pith_read(s, pith_launch(s, flip, in, true).y, kept, 3));
    pt_ok(s, pith_read(s, pith_launch(s, flip, in, false).y, flipped, 3));
    cr_assert(memcmp(kept, x, 3) == 0);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(flipped[i], 1 - x[i]);
    pith_scope_close(s);
    pt_close(rt);
}

Test(kernel, numbers_stored_as_bools_become_zero_or_one) {
    pith_runtime *rt = open_device();
    pith_scope *s = pith_scope_open(rt);
    enum { N = 300 };
    uint8_t x[N], y[N], z[N];
    for (int i = 0; i < N; i++)
        x[i] = (uint8_t)i;
    const masks_result r = pith_launch(s, masks, COPY(s, PITH_U8, PITH_SHAPE(N), x), 0x84,
                                       pith_ones(s, PITH_BOOL, PITH_SHAPE(N)));
    pt_ok(s, pith_read(s, r.y, y, N) && pith_read(s, r.z, z, N));
    for (int i = 0; i < N; i++)
        cr_assert(y[i] == ((x[i] & 0x84) != 0) && z[i] == 1, "%d: %d, %d", i, y[i], z[i]);
    pith_scope_close(s);
    pt_close(rt);
}

Test(kernel, half_floats_are_bits_with_helpers) {
    pith_runtime *rt = open_device();
    pith_scope *s = pith_scope_open(rt);
    const uint16_t x[] = {0x3c00, 0x0001, 0x7bff}; /* 1, 2^-24, 65504 */
    const uint16_t y[] = {0x3f80, 0xc000, 0x7f80}; /* 1, -2, infinity */
    const uint16_t u_expected[] = {0x4000, 0x3c00, 0x7bff};
    const uint16_t v_expected[] = {0x3fc0, 0xbfc0, 0x7f80};
    uint16_t u[3], v[3];
    const halves_result r =
        pith_launch(s, halves, COPY(s, PITH_F16, PITH_SHAPE(3), x),
                    COPY(s, PITH_BF16, PITH_SHAPE(3), y), 0x3c00, 0x3f00);
    pt_ok(s, pith_read(s, r.u, u, sizeof u));
    pt_ok(s, pith_read(s, r.v, v, sizeof v));
    cr_assert(memcmp(u, u_expected, sizeof u) == 0, "%x %x %x", u[0], u[1], u[2]);
    cr_assert(memcmp(v, v_expected, sizeof v) == 0, "%x %x %x", v[0], v[1], v[2]);
    pith_scope_close(s);
    pt_close(rt);
}

/* ---- Extents and roles ---- */

Test(kernel, extents_of_every_form_are_bound) {
    pith_runtime *rt = open_device();
    pith_scope *s = pith_scope_open(rt);
    const int32_t x[] = {1, 2, 3, 4, 5, 6, 7, 8}, edges[] = {0, 10, 30};
    const extents_result r =
        pith_launch(s, extents, COPY(s, PITH_I32, PITH_SHAPE(2, 4), x),
                    COPY(s, PITH_I32, PITH_SHAPE(3), edges), 2);
    pt_ok(s);
    expect_i64(s, r.sums, 2, (const int64_t[]){20, 46});
    expect_i64(s, r.fixed, 6, (const int64_t[]){22, 23, 24, 122, 123, 124});
    expect_i32(s, r.grid, 6, (const int32_t[]){7, 7, 7, 7, 7, 7});
    cr_assert_eq(pith_array_spec(r.grid)->shape[1], 3);
    expect_i32(s, r.none, 1, (const int32_t[]){-1});
    cr_assert_eq(pith_array_spec(r.none)->rank, 0);
    pith_scope_close(s);
    pt_close(rt);
}

Test(kernel, two_indices_run_over_every_pair) {
    enum { N = 257, M = 129 };
    static int32_t x[N], y[M];
    static int64_t table[N * M];
    for (int i = 0; i < N; i++)
        x[i] = i;
    for (int j = 0; j < M; j++)
        y[j] = j;
    pith_runtime *rt = open_device();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *t = pith_launch(s, outer, COPY(s, PITH_I32, PITH_SHAPE(N), x),
                                      COPY(s, PITH_I32, PITH_SHAPE(M), y))
                              .table;
    pt_ok(s, pith_read(s, t, table, sizeof table));
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++)
            cr_assert_eq(table[i * M + j], 1000 * i + j, "%d %d", i, j);
    pith_scope_close(s);
    pt_close(rt);
}

Test(kernel, empty_extents_run_nothing_and_still_make_outs) {
    pith_runtime *rt = open_device();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *none = COPY(s, PITH_I32, PITH_SHAPE(0), NULL);
    const pith_array *two = COPY(s, PITH_I32, PITH_SHAPE(2), (const int32_t[]){1, 2});
    const pith_array *t = pith_launch(s, outer, none, two).table;
    pt_ok(s, t);
    cr_assert_eq(pith_array_spec(t)->shape[0], 0);
    cr_assert_eq(pith_array_spec(t)->shape[1], 2);
    cr_assert_eq(pith_array_spec(pith_launch(s, outer, two, none).table)->shape[0], 2);
    const count_result r = pith_launch(s, count, none, 3);
    expect_i32(s, r.histogram, 3, (const int32_t[]){0, 0, 0});
    pith_scope_close(s);
    pt_close(rt);
}

Test(kernel, inout_leaves_what_was_given_unchanged) {
    pith_runtime *rt = open_device();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = COPY(s, PITH_I32, PITH_SHAPE(3), (const int32_t[]){1, 2, 3});
    const pith_array *once = pith_launch(s, bump, x, 10).x;
    const pith_array *twice = pith_launch(s, bump, once, 100).x;
    expect_i32(s, x, 3, (const int32_t[]){1, 2, 3});
    expect_i32(s, once, 3, (const int32_t[]){11, 12, 13});
    expect_i32(s, twice, 3, (const int32_t[]){111, 112, 113});
    pith_scope_close(s);
    pt_close(rt);
}

Test(kernel, takes_24_arguments) {
    pith_runtime *rt = open_device();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *a = COPY(s, PITH_I32, PITH_SHAPE(2), (const int32_t[]){1, 2});
    const pith_array *z = pith_launch(s, many, a, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
                                      13, 14, 15, 16, 17, 18, 19, 20, 21, 22)
                              .z;
    expect_i64(s, z, 2, (const int64_t[]){22232, 22233});
    pith_scope_close(s);
    pt_close(rt);
}

/* ---- Reals ---- */

Test(kernel, a_file_with_a_real_runs_in_each_dtype) {
    pith_runtime *rt = open_device();
    pith_scope *s = pith_scope_open(rt);
    const double x64[] = {1, 2}, y64[] = {0.1, 0.2};
    const float x32[] = {1, 2}, y32[] = {0.1f, 0.2f};
    double z64[2];
    float z32[2];
    const pith_array *z = pith_launch(s, axpy, COPY(s, PITH_F64, PITH_SHAPE(2), x64),
                                      COPY(s, PITH_F64, PITH_SHAPE(2), y64), 0.3)
                              .z;
    pt_ok(s, pith_read(s, z, z64, sizeof z64));
    z = pith_launch(s, axpy, COPY(s, PITH_F32, PITH_SHAPE(2), x32),
                    COPY(s, PITH_F32, PITH_SHAPE(2), y32), 0.3)
            .z;
    pt_ok(s, pith_read(s, z, z32, sizeof z32));
    for (int i = 0; i < 2; i++) {
        cr_assert(z64[i] == 0.3 * x64[i] + y64[i]);
        cr_assert(z32[i] == 0.3f * x32[i] + y32[i]);
    }
    pith_scope_close(s);
    pt_close(rt);
}

Test(kernel, launch_as_names_the_real_that_no_array_tells) {
    pith_runtime *rt = open_device();
    pith_scope *s = pith_scope_open(rt);
    float x[3];
    pt_ok(s, pith_read(s, pith_launch_dtype(s, PITH_F32, ramp, 3, 0.5).x, x, sizeof x));
    cr_assert(x[0] == 0 && x[1] == 0.5f && x[2] == 1);
    pt_fails(PITH_E_ARG, s, pith_launch(s, ramp, 3, 0.5).x);
    pt_says("ramp: no array determines its real dtype");
    pt_fails(PITH_E_DTYPE, s, pith_launch_dtype(s, PITH_F16, ramp, 3, 0.5).x);
    pt_says("ramp: real is f16, compiled for f32 f64");
    pt_fails(PITH_E_ARG, s, pith_launch_dtype(s, PITH_F64, ramp, -1, 0.5).x);
    pt_says("ramp: n: extent -1 is negative");
    const pith_array *one = COPY(s, PITH_I32, PITH_SHAPE(1), (const int32_t[]){21});
    expect_i32(s, pith_launch(s, doubled, one).y, 1, (const int32_t[]){42});
    pith_scope_close(s);
    pt_close(rt);
}

/* ---- Atomics ---- */

Test(kernel, integer_atomics_count_alike_in_any_order) {
    enum { N = 100000, BINS = 17 };
    static int32_t x[N];
    int32_t expected[BINS] = {0};
    int64_t sum = 0;
    for (int i = 0; i < N; i++) {
        x[i] = 1 + (int32_t)((uint32_t)i * 2654435761u >> 7) % (BINS - 1);
        expected[x[i]]++;
        sum += x[i];
    }
    pith_runtime *rt = open_device();
    pith_scope *s = pith_scope_open(rt);
    const count_result r =
        pith_launch(s, count, COPY(s, PITH_I32, PITH_SHAPE(N), x), BINS);
    pt_ok(s);
    expect_i32(s, r.histogram, BINS, expected);
    expect_i64(s, r.total, 2, (const int64_t[]){sum, BINS - 1});
    uint32_t least = 0;
    uint64_t most = 0;
    pt_ok(s, pith_read(s, r.least, &least, sizeof least));
    pt_ok(s, pith_read(s, r.most, &most, sizeof most));
    cr_assert(least == 1 && most == BINS - 1);
    pith_scope_close(s);
    pt_close(rt);
}

/* ---- What a launch refuses ---- */

Test(kernel, refuses_arrays_that_do_not_fit_their_declaration) {
    pith_runtime *rt = open_device();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = zeros(s, PITH_F64, PITH_SHAPE(9));
    const pith_array *table = zeros(s, PITH_I32, PITH_SHAPE(4, 8));
    const pith_array *count4 = zeros(s, PITH_I32, PITH_SHAPE(4));
    const pith_array *count5 = zeros(s, PITH_I32, PITH_SHAPE(5));
    const pith_array *wide = zeros(s, PITH_F64, PITH_SHAPE(4, 8));
    pt_ok(s, pith_launch(s, gather_sum, x, table, count4, 2.5).sum);
    pt_fails(PITH_E_SHAPE, s, pith_launch(s, gather_sum, x, table, count5, 2.5).sum);
    pt_says("gather_sum: count: expected i32[n=4], got i32[5]");
    pt_fails(PITH_E_DTYPE, s, pith_launch(s, gather_sum, x, wide, count4, 2.5).sum);
    pt_says("gather_sum: neighbour: expected i32[n,width], got f64[4,8]");
    pt_fails(PITH_E_SHAPE, s, pith_launch(s, gather_sum, x, count4, count4, 2.5).sum);
    pt_says("gather_sum: neighbour: expected i32[n,width], got i32[4]");
    pt_fails(PITH_E_DTYPE, s, pith_launch(s, gather_sum, count4, table, count4, 2.5).sum);
    pt_says("gather_sum: real is i32, compiled for f32 f64");
    pt_fails(PITH_E_SHAPE, s, pith_launch(s, extents, table, count4, 1).sums);
    pt_says("extents: edges: expected i32[n=4+1], got i32[4]");
    const pith_array *odd = zeros(s, PITH_I32, PITH_SHAPE(4, 7));
    pt_fails(PITH_E_SHAPE, s, pith_launch(s, extents, odd, count5, 1).sums);
    pt_says("extents: x: expected i32[n,2*w], got i32[4,7]");
    pith_scope_close(s);
    pt_close(rt);
}

Test(kernel, refuses_what_is_no_array_and_names_the_argument) {
    pith_runtime *rt = open_device();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = zeros(s, PITH_I32, PITH_SHAPE(3));
    pt_fails(PITH_E_ARG, s, pith_launch(s, outer, x, NULL).table);
    pt_says("outer");
    pt_says("y");
    pith_runtime *other_rt = pt_open_on(PT_DEVICE);
    pith_scope *other = pith_scope_open(other_rt);
    const pith_array *foreign = zeros(other, PITH_I32, PITH_SHAPE(3));
    pt_fails(PITH_E_ARG, s, pith_launch(s, outer, foreign, x).table);
    pt_says("outer");
    pith_scope_close(other);
    pt_close(other_rt);
    cr_assert_null(pith_launch(NULL, outer, x, x).table);
    pt_fails(PITH_E_ARG, s, outer_launch(s, PITH_DTYPE_NONE, NULL, NULL).table);
    pith_fail(s, PITH_E_IO, NULL, "an earlier failure");
    cr_assert_null(pith_launch(s, outer, x, x).table);
    cr_assert_eq(pith_code(s), PITH_E_IO);
    pith_clear(s);
    pith_scope_close(s);
    pt_close(rt);
}

Test(kernel, refuses_declarations_that_make_no_sense) {
    pith_runtime *rt = open_device();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = zeros(s, PITH_I32, PITH_SHAPE(3));
    pt_fails(PITH_E_ARG, s, pith_launch(s, bad_extents, x).y);
    pt_says("bad_extents: x: the declared extents \"[n,\"");
    pt_fails(PITH_E_ARG, s, pith_launch(s, unbound_out, x).y);
    pt_says("unbound_out: y: no argument gives the extent k");
    pt_fails(PITH_E_ARG, s, pith_launch(s, unbound_size, x).y);
    pt_says("unbound_size: size(k)");
    pt_fails(PITH_E_ARG, s, pith_launch(s, unbound_over, x).y);
    pt_says("unbound_over: over");
    pt_fails(PITH_E_SHAPE, s, pith_launch(s, negative_out, x).y);
    pt_says("negative_out: y: extent 0 of i32[n=3-4] is negative");
    pt_fails(PITH_E_ARG, s, pith_launch(s, bad_fill, x).y);
    pt_says("bad_fill: y: the fill 128 is not exact in i8");
    pith_scope_close(s);
    pt_close(rt);
}

Test(kernel, errors_carry_the_site_of_the_launch) {
    pith_runtime *rt = open_device();
    pith_scope *s = pith_scope_open(rt);
    char here[64];
    snprintf(here, sizeof here, "test_kernel.c:%d", __LINE__ + 1);
    pt_fails(PITH_E_ARG, s, pith_launch(s, doubled, NULL).y);
    cr_assert(strstr(pt_error.site, here), "%s is not %s", pt_error.site, here);
    pith_scope_close(s);
    pt_close(rt);
}
