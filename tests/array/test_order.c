/* Sorting and running sums against plain C on random arrays of every dtype and several
 * shapes. */
#include "base/base_internal.h"
#include "pith_test.h"

#include <math.h>
#include <pith/array.h>

enum { MOST = 20000 };

/* What an element is worth, for comparing: NaN above everything, -0 as 0. */
static double worth(pith_dtype dtype, const char *element) {
    const double value = pithp_dtype_decode(dtype, element);
    return value == 0 ? 0 : value;
}

static bool is_nan_element(pith_dtype dtype, const char *element) {
    return isnan(pithp_dtype_decode(dtype, element));
}

static int order(pith_dtype dtype, const char *a, const char *b) {
    const bool p = is_nan_element(dtype, a), q = is_nan_element(dtype, b);
    if (p || q)
        return p - q;
    if (dtype == PITH_I64 || dtype == PITH_U64) { /* beyond what a double holds */
        uint64_t x, y;
        memcpy(&x, a, 8), memcpy(&y, b, 8);
        if (dtype == PITH_I64)
            x ^= UINT64_C(1) << 63, y ^= UINT64_C(1) << 63;
        return (x > y) - (x < y);
    }
    const double x = worth(dtype, a), y = worth(dtype, b);
    return (x > y) - (x < y);
}

static void fill(char *bytes, size_t n, uint64_t seed, pith_dtype dtype) {
    for (size_t i = 0; i < n; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        bytes[i] = dtype == PITH_BOOL ? (char)(seed >> 63) : (char)(seed >> 56);
        if (seed >> 40 & 1) /* many equal elements */
            bytes[i] &= dtype == PITH_BOOL ? 1 : (char)0x81;
    }
}

/* Sorted places of one line, by insertion into a list: slow, obvious, stable. */
static void check_line(pith_dtype dtype,
                       size_t size,
                       const char *from,
                       const char *sorted,
                       const int64_t *places,
                       int64_t n,
                       int64_t inner) {
    bool *seen = calloc((size_t)n, 1);
    for (int64_t i = 0; i < n; i++) {
        const int64_t place = places[i * inner];
        cr_assert(place >= 0 && place < n && !seen[place], "not a permutation");
        seen[place] = true;
        const char *here = from + (size_t)(place * inner) * size;
        cr_assert(memcmp(here, sorted + (size_t)(i * inner) * size, size) == 0,
                  "%s: sort and argsort differ at %d", pith_dtype_name(dtype), (int)i);
        if (i == 0)
            continue;
        const int64_t before = places[(i - 1) * inner];
        const int c = order(dtype, from + (size_t)(before * inner) * size, here);
        cr_assert(c < 0 || (c == 0 && before < place), "%s: out of order at %d",
                  pith_dtype_name(dtype), (int)i);
    }
    free(seen);
}

Test(order, sorts_every_dtype_stably_along_any_axis) {
    pith_runtime *rt = pt_open();
    pith_scope *outer = pith_scope_open(rt);
    static const int64_t shapes[][3] = {
        {1, 1, 1},    {1, 7, 1},    {9, 12, 1}, {5, 17, 3}, {4, 63, 1},
        {3, 64, 2},   {1, 65, 1},   {3, 16, 1}, {3, 48, 2}, {2, 49, 5},
        {4, 1000, 1}, {1, MOST, 1}, {0, 5, 1},  {5, 0, 2}};
    for (int dtype = PITH_BOOL; dtype < PITH_DTYPE_COUNT; dtype++)
        for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
            const int64_t *e = shapes[k];
            const size_t size = pith_dtype_size((pith_dtype)dtype),
                         bytes = (size_t)(e[0] * e[1] * e[2]) * size;
            char *from = malloc(bytes + 1), *sorted = malloc(bytes + 1);
            int64_t *places = malloc((size_t)(e[0] * e[1] * e[2]) * 8 + 8);
            fill(from, bytes, (uint64_t)dtype * 100 + k, (pith_dtype)dtype);
            pith_scope *s = pith_scope_open_in(outer);
            const pith_array *x =
                pith_array_copy(s, (pith_dtype)dtype, PITH_SHAPE(e[0], e[1], e[2]), from);
            pt_ok(s, pith_read(s, pith_sort(s, x, 1, NULL), sorted, bytes));
            pt_ok(s,
                  pith_read(s, pith_argsort(s, x, -2, NULL), places, bytes / size * 8));
            for (int64_t i = 0; i < e[0] * e[2] && e[1]; i++) {
                const int64_t base = i / e[2] * e[1] * e[2] + i % e[2];
                check_line((pith_dtype)dtype, size, from + (size_t)base * size,
                           sorted + (size_t)base * size, places + base, e[1], e[2]);
            }
            pith_scope_close(s);
            free(from), free(sorted), free(places);
        }
    pith_scope_close(outer);
    pt_close(rt);
}

Test(order, running_sums_of_every_number_type) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    enum { A = 3, N = 100, B = 70 };
    double expected[A * N * B], got[A * N * B];
    for (int dtype = PITH_I8; dtype < PITH_DTYPE_COUNT; dtype++) {
        const pith_array *x =
            pith_remainder(s, pith_arange(s, PITH_I64, A * N * B), pith_i64(s, 2));
        x = pith_reshape(s, pith_cast(s, x, (pith_dtype)dtype), PITH_SHAPE(A, N, B));
        for (int axis = 0; axis < 3; axis++) {
            const int inner = axis == 0   ? N * B
                              : axis == 1 ? B
                                          : 1,
                      extent = axis == 0   ? A
                               : axis == 1 ? N
                                           : B;
            for (int i = 0; i < A * N * B; i++)
                expected[i] = i % 2 + (i / inner % extent ? expected[i - inner] : 0);
            pt_ok(s, pith_read(s, pith_cast(s, pith_cumsum(s, x, axis, NULL), PITH_F64),
                               got, sizeof got));
            cr_assert(memcmp(got, expected, sizeof got) == 0, "%s, axis %d",
                      pith_dtype_name((pith_dtype)dtype), axis);
        }
    }
    const pith_array *yes = pith_ones(s, PITH_BOOL, PITH_SHAPE(200));
    cr_assert(pith_read_i64(s, pith_slice_at(s, pith_cumsum(s, yes, 0, NULL), 0, -1)) ==
              200);
    const pith_array *wraps = pith_full(s, PITH_I8, PITH_SHAPE(3), 100);
    cr_assert(pith_read_i64(s, pith_slice_at(s, pith_cumsum(s, wraps, 0, NULL), 0, -1)) ==
              300 - 256);
    cr_assert(pith_array_spec(
                  pith_cumsum(s, pith_zeros(s, PITH_F32, PITH_SHAPE(0, 2)), 0, NULL))
                  ->count == 0);
    pt_fails(PITH_E_SHAPE, s, pith_cumsum(s, pith_f64(s, 1), 0, NULL));
    pith_scope_close(s);
    pt_close(rt);
}
