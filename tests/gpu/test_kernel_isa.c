/* The same bits from every instruction set, and from any division of the indices among
 * threads. On machines that lack one, the best there is runs in its place. */
#include "kernels/plain.h"
#include "kernels/real.h"
#include "pith_test.h"

#include <pith/array.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROWS = 1003, WIDTH = 40, MOST_BYTES = ROWS * WIDTH * 8 };

typedef size_t (*work)(pith_scope *s, pith_dtype real, void *bytes);

static uint32_t random_state;
static double random_number(void) {
    random_state = random_state * 1664525u + 1013904223u;
    return random_state / 4294967296.0 * 4 - 2;
}

static const pith_array *random_reals(pith_scope *s, pith_dtype real, int64_t n) {
    static double x[ROWS * WIDTH];
    random_state = 7;
    for (int64_t i = 0; i < n; i++)
        x[i] = random_number();
    return pith_cast(s, pith_array_copy(s, PITH_F64, PITH_SHAPE(n), x), real);
}

static size_t take(pith_scope *s, const pith_array *a, void *bytes, size_t at) {
    const size_t size = pith_array_spec(a) ? pith_array_spec(a)->bytes : 0;
    cr_assert(size > 0 && at + size <= MOST_BYTES);
    pt_ok(s, pith_read(s, a, (char *)bytes + at, size));
    return at + size;
}

static size_t do_axpy(pith_scope *s, pith_dtype real, void *bytes) {
    const pith_array *x = random_reals(s, real, ROWS);
    return take(s, pith_launch(s, axpy, x, pith_square(s, x), 0.7).z, bytes, 0);
}

static size_t do_gather_sum(pith_scope *s, pith_dtype real, void *bytes) {
    static int32_t neighbour[ROWS * WIDTH], number[ROWS];
    random_state = 3;
    for (int i = 0; i < ROWS; i++) {
        number[i] = i % (WIDTH / 8 + 1) * 8;
        for (int k = 0; k < WIDTH; k++)
            neighbour[i * WIDTH + k] = (int32_t)((random_number() + 2) / 4 * ROWS);
    }
    const gather_sum_result r =
        pith_launch(s, gather_sum, random_reals(s, real, ROWS),
                    pith_array_copy(s, PITH_I32, PITH_SHAPE(ROWS, WIDTH), neighbour),
                    pith_array_copy(s, PITH_I32, PITH_SHAPE(ROWS), number), 1.3);
    return take(s, r.energy, bytes, take(s, r.sum, bytes, 0));
}

/* The sums against plain ones in double, and what only a fused product leaves. */
static void check_products(pith_dtype real,
                           const double *x,
                           const int32_t *row,
                           int32_t count,
                           const double got[3],
                           double fused) {
    double xy = 0, yz = 0, xx = 0;
    for (int k = 0; k < count; k++) {
        const double *a = &x[3 * row[k]];
        xy += a[0] * a[1], yz += a[1] * a[2], xx += a[0] * a[0];
    }
    const double bound = real == PITH_F64 ? 1e-12 : 1e-4;
    cr_assert(fabs(got[0] - xy) < bound && fabs(got[1] - yz) < bound);
    cr_assert(fabs(got[2] - xx) < bound);
    cr_assert(fabs(fused) < bound);
}

static size_t do_row_products(pith_scope *s, pith_dtype real, void *bytes) {
    enum { N = 50, EACH = 16 };
    static int32_t neighbour[N * EACH], number[N];
    double x[N * 3], product[N * 3], fused[N], most = 0;
    random_state = 5;
    for (int i = 0; i < N; i++) {
        number[i] = i % 3 * 8;
        for (int k = 0; k < EACH; k++)
            neighbour[i * EACH + k] = (int32_t)((random_number() + 2) / 4 * N);
    }
    const pith_array *rows =
        pith_reshape(s, random_reals(s, real, 3 * N), PITH_SHAPE(N, 3));
    const row_products_result r =
        pith_launch(s, row_products, rows,
                    pith_array_copy(s, PITH_I32, PITH_SHAPE(N, EACH), neighbour),
                    pith_array_copy(s, PITH_I32, PITH_SHAPE(N), number));
    pt_ok(s, pith_read(s, pith_cast(s, rows, PITH_F64), x, sizeof x));
    pt_ok(s, pith_read(s, pith_cast(s, r.product, PITH_F64), product, sizeof product));
    pt_ok(s, pith_read(s, pith_cast(s, r.fused, PITH_F64), fused, sizeof fused));
    for (int i = 0; i < N; i++) {
        check_products(real, x, &neighbour[i * EACH], number[i], &product[3 * i],
                       fused[i]);
        most = fmax(most, fabs(fused[i]));
    }
    cr_assert(most > 0, "products are rounded before they are added");
    return take(s, r.fused, bytes, take(s, r.product, bytes, 0));
}

/* Rows of an array that ends where a page that cannot be read begins. */
static size_t do_gathered_rows(pith_scope *s, pith_dtype real, void *bytes) {
    enum { M = 64, N = 40 };
    static int32_t row[N * 8];
    double y[N * 24];
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t item = real == PITH_F64 ? sizeof(double) : sizeof(float);
    char *pages =
        mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert(pages != MAP_FAILED && mprotect(pages + page, page, PROT_NONE) == 0);
    char *x = pages + page - M * 3 * item;
    for (int i = 0; i < M * 3; i++)
        if (real == PITH_F64)
            ((double *)(void *)x)[i] = i;
        else
            ((float *)(void *)x)[i] = (float)i;
    random_state = 11;
    for (int k = 0; k < N * 8; k++)
        row[k] = k < 8 ? M - 1 : (int32_t)((random_number() + 2) / 4 * M);
    const pith_array *rows =
        pith_launch(s, gathered_rows, pith_array_borrow(s, real, PITH_SHAPE(M, 3), x),
                    pith_array_copy(s, PITH_I32, PITH_SHAPE(N, 8), row))
            .y;
    pt_ok(s, pith_read(s, pith_cast(s, rows, PITH_F64), y, sizeof y));
    for (int k = 0; k < N * 24; k++)
        cr_assert_eq(y[k], 3 * row[k / 24 * 8 + k % 8] + k / 8 % 3);
    const size_t size = take(s, rows, bytes, 0);
    munmap(pages, 2 * page);
    return size;
}

static size_t do_exact_maths(pith_scope *s, pith_dtype real, void *bytes) {
    return take(s, pith_launch(s, exact_maths, random_reals(s, real, ROWS)).y, bytes, 0);
}

/* Every pair of two zeros, numbers, infinities and two NaNs: the bits of pith_fmin and
 * pith_fmax, which are those of one operand. */
static size_t do_extremes(pith_scope *s, pith_dtype real, void *bytes) {
    enum { VALUES = 8, PAIRS = VALUES * VALUES };
    static const uint64_t values[VALUES] = {0,
                                            1ull << 63,
                                            0x3ff0000000000000,
                                            0xbff0000000000000,
                                            0x7ff0000000000000,
                                            0xfff0000000000000,
                                            0x7ff8000000000000,
                                            0xfff8001000000000};
    uint64_t x[PAIRS], y[PAIRS];
    char calls[2 * PAIRS * 8];
    for (int i = 0; i < PAIRS; i++) {
        x[i] = values[i / VALUES];
        y[i] = values[i % VALUES];
    }
    const pith_array *a = pith_array_copy(s, PITH_F64, PITH_SHAPE(PAIRS), x),
                     *b = pith_array_copy(s, PITH_F64, PITH_SHAPE(PAIRS), y);
    a = pith_cast(s, a, real);
    b = pith_cast(s, b, real);
    const extremes_result r = pith_launch(s, extremes, a, b);
    take(s, pith_fmax(s, a, b), calls, take(s, pith_fmin(s, a, b), calls, 0));
    const size_t size = take(s, r.larger, bytes, take(s, r.smaller, bytes, 0));
    cr_assert(!memcmp(bytes, calls, size));
    const bool is_f64 = real == PITH_F64; /* fmin(0, -0) and fmin(-0, 0) */
    const char *top = (const char *)bytes + (is_f64 ? 7 : 3);
    const size_t item = is_f64 ? 8 : 4;
    cr_assert_eq(top[1 * item], (char)0x80);
    cr_assert_eq(top[VALUES * item], 0);
    return size;
}

static size_t do_platform_maths(pith_scope *s, pith_dtype real, void *bytes) {
    const pith_array *x = pith_abs(s, random_reals(s, real, ROWS));
    return take(s, pith_launch(s, platform_maths, x).y, bytes, 0);
}

static size_t do_halves(pith_scope *s, PT_UNUSED pith_dtype real, void *bytes) {
    static uint16_t bits[10000];
    for (int i = 0; i < 10000; i++)
        bits[i] = (uint16_t)(i * 13 % 31744); /* finite */
    const halves_result r = pith_launch(
        s, halves, pith_array_copy(s, PITH_F16, PITH_SHAPE(10000), bits),
        pith_array_copy(s, PITH_BF16, PITH_SHAPE(10000), bits), 0x3555, 0x3eab);
    return take(s, r.v, bytes, take(s, r.u, bytes, 0));
}

static size_t do_append(pith_scope *s, pith_dtype real, void *bytes) {
    static int64_t x[8 * 256];
    for (int i = 0; i < 256; i++) /* every choice of lanes */
        for (int q = 0; q < 8; q++)
            x[8 * i + q] = 1000 * i + 10 * q + (i >> q & 1);
    const odd_of_group_result r = pith_launch_dtype(
        s, real, odd_of_group, pith_array_copy(s, PITH_I64, PITH_SHAPE(256, 8), x), 0.0);
    int32_t odd[256 * 16], found[256];
    pt_ok(s, pith_read(s, r.odd, odd, sizeof odd));
    pt_ok(s, pith_read(s, r.found, found, sizeof found));
    for (int i = 0; i < 256; i++) {
        int at = i % 8;
        for (int q = 0; q < 8; q++)
            if (i >> q & 1) {
                cr_assert_eq(odd[16 * i + at], 1000 * i + 10 * q + 1);
                odd[16 * i + at++] = 0;
            }
        cr_assert_eq(found[i], at);
    }
    memcpy(bytes, found, sizeof found); /* what is behind the list may differ */
    return sizeof found;
}

static size_t do_append_below(pith_scope *s, pith_dtype real, void *bytes) {
    static float x[8 * 256];
    for (int i = 0; i < 256; i++) /* what is not below: the limit itself, more, a NaN */
        for (int q = 0; q < 8; q++)
            x[8 * i + q] = i >> q & 1 ? 0.75f : q == 3 ? NAN : q % 2 ? 1.0f : 3.0f;
    const below_of_group_result r =
        pith_launch_dtype(s, real, below_of_group,
                          pith_array_copy(s, PITH_F32, PITH_SHAPE(256, 8), x), 1.0);
    int32_t below[256 * 16], found[256], counted[256];
    pt_ok(s, pith_read(s, r.below, below, sizeof below));
    pt_ok(s, pith_read(s, r.counted, counted, sizeof counted));
    pt_ok(s, pith_read(s, r.found, found, sizeof found));
    for (int i = 0; i < 256; i++) {
        int at = i % 8;
        for (int q = 0; q < 8; q++)
            if (i >> q & 1)
                cr_assert_eq(below[16 * i + at++], 8 * i + q);
        cr_assert_eq(found[i], at);
        cr_assert_eq(counted[i], at - i % 8);
    }
    memcpy(bytes, found, sizeof found);
    return sizeof found;
}

static void same_bits(work f) {
    static char expected[MOST_BYTES], got[MOST_BYTES];
    static const char *const isas[] = {"base", "v3", "v4"};
    static const pith_dtype reals[] = {PITH_F64, PITH_F32};
    for (int r = 0; r < 2; r++) {
        size_t size = 0;
        for (int isa = 0; isa < 3; isa++)
            for (int threads = 1; threads <= 3; threads++) {
                setenv("PITH_ISA", isas[isa], 1);
                pith_runtime *rt =
                    pith_open(&(pith_open_options){.device = "host", .threads = threads});
                pith_scope *s = pith_scope_open(rt);
                pt_ok(s);
                if (size == 0) {
                    size = f(s, reals[r], expected);
                } else {
                    cr_assert_eq(f(s, reals[r], got), size);
                    for (size_t b = 0; b < size; b++)
                        cr_assert(got[b] == expected[b],
                                  "%s with %d threads: byte %zu of %s", isas[isa],
                                  threads, b, pith_dtype_name(reals[r]));
                }
                pith_scope_close(s);
                pith_close(rt);
            }
    }
    unsetenv("PITH_ISA");
}

Test(kernel_isa, elementwise) {
    same_bits(do_axpy);
}
Test(kernel_isa, sums_in_lanes) {
    same_bits(do_gather_sum);
}
Test(kernel_isa, sums_of_products_of_rows) {
    same_bits(do_row_products);
}
Test(kernel_isa, gathered_rows) {
    same_bits(do_gathered_rows);
}
Test(kernel_isa, exact_maths) {
    same_bits(do_exact_maths);
}
Test(kernel_isa, extremes_choose_by_comparison) {
    same_bits(do_extremes);
}
Test(kernel_isa, platform_maths) {
    same_bits(do_platform_maths);
}
Test(kernel_isa, half_floats) {
    same_bits(do_halves);
}
Test(kernel_isa, appended_below) {
    same_bits(do_append_below);
}
Test(kernel_isa, appended_lanes) {
    same_bits(do_append);
}

Test(kernel_isa, half_floats_round_to_nearest_even) {
    for (uint32_t bits = 0; bits < 65536; bits++) { /* what is loaded is stored again */
        const float f16 = pith_f16_load((uint16_t)bits),
                    bf16 = pith_bf16_load((uint16_t)bits);
        cr_assert(isnan(f16) ? isnan(pith_f16_load(pith_f16_store(f16)))
                             : pith_f16_store(f16) == bits,
                  "f16 %x", bits);
        cr_assert(isnan(bf16) ? isnan(pith_bf16_load(pith_bf16_store(bf16)))
                              : pith_bf16_store(bf16) == bits,
                  "bf16 %x", bits);
    }
    cr_assert_eq(pith_f16_store(2049.0f), 0x6800);    /* half way between 2048 and 2050 */
    cr_assert_eq(pith_f16_store(2051.0f), 0x6802);    /* and between 2050 and 2052 */
    cr_assert_eq(pith_f16_store(65519.996f), 0x7bff); /* the last that is not infinite */
    cr_assert_eq(pith_f16_store(65520.0f), 0x7c00);
    cr_assert_eq(pith_f16_store(0x1p-25f), 0x0000); /* half of the least subnormal */
    cr_assert_eq(pith_f16_store(-0x1.8p-24f), 0x8002);
    cr_assert_eq(pith_bf16_store(1.00390625f), 0x3f80); /* half way: even */
    cr_assert_eq(pith_bf16_store(1.01171875f), 0x3f82);
    cr_assert_eq(pith_bf16_store(3.4e38f), 0x7f80);
}
