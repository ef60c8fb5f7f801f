/* Reductions as users call them, against sums worked out here in another way. */
#include "pith_test.h"

#include <math.h>
#include <pith/array.h>

static const pith_array *
grid(pith_scope *s, pith_dtype dtype, int64_t a, int64_t b, int64_t c) {
    return pith_cast(
        s, pith_reshape(s, pith_arange(s, PITH_I64, a * b * c), PITH_SHAPE(a, b, c)),
        dtype);
}

Test(reduce, sums_over_any_axes) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    enum { A = 3, B = 5, C = 7 };
    const pith_array *x = grid(s, PITH_F64, A, B, C);
    for (unsigned mask = 0; mask < 8; mask++) {
        pith_axes axes = {.count = 0};
        for (int d = 0; d < 3; d++)
            if (mask >> d & 1)
                axes.axes[axes.count++] = (int8_t)(d % 2 ? d - 3 : d);
        double expected[A * B * C] = {0}, got[A * B * C];
        const int64_t extents[3] = {mask & 1 ? 1 : A, mask & 2 ? 1 : B, mask & 4 ? 1 : C};
        for (int i = 0, n = 0; i < A; i++)
            for (int j = 0; j < B; j++)
                for (int k = 0; k < C; k++, n++) {
                    const int64_t at[3] = {mask & 1 ? 0 : i, mask & 2 ? 0 : j,
                                           mask & 4 ? 0 : k};
                    expected[(at[0] * extents[1] + at[1]) * extents[2] + at[2]] += n;
                }
        const pith_array *sum = pith_sum(s, x, axes);
        pt_ok(s, sum);
        const pith_spec *spec = pith_array_spec(sum);
        cr_assert(spec->rank == 3 - axes.count);
        pt_ok(s, pith_read(s, sum, got, spec->bytes));
        cr_assert(memcmp(got, expected, spec->bytes) == 0, "axes %u", mask);
        axes.keep = true;
        const pith_spec *kept = pith_array_spec(pith_sum(s, x, axes));
        cr_assert(kept->rank == 3 && memcmp(kept->shape, extents, sizeof extents) == 0);
    }
    cr_assert(pith_read_f64(s, pith_sum(s, x, PITH_ALL_AXES)) == 104 * 105 / 2);
    pith_scope_close(s);
    pt_close(rt);
}

Test(reduce, dtypes_and_identities) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *yes = pith_ones(s, PITH_BOOL, PITH_SHAPE(300));
    const pith_array *count = pith_sum(s, yes, PITH_ALL_AXES);
    cr_assert(pith_array_spec(count)->dtype == PITH_I64 &&
              pith_read_i64(s, count) == 300);
    cr_assert(pith_read_i64(s, pith_sum(s, pith_full(s, PITH_I8, PITH_SHAPE(3), 100),
                                        PITH_ALL_AXES)) == 300 - 256);
    const pith_array *none = pith_zeros(s, PITH_F32, PITH_SHAPE(0, 3));
    cr_assert(pith_read_f64(s, pith_sum(s, none, PITH_ALL_AXES)) == 0);
    cr_assert(pith_read_f64(s, pith_prod(s, none, PITH_ALL_AXES)) == 1);
    cr_assert(pith_read_bool(s, pith_all(s, none, PITH_ALL_AXES)) &&
              !pith_read_bool(s, pith_any(s, none, PITH_ALL_AXES)));
    pt_fails(PITH_E_SHAPE, s, pith_max(s, none, PITH_AXES(0)));
    cr_assert(pith_array_spec(pith_max(s, none, PITH_AXES(1)))->count == 0);
    const pith_array *half = pith_full(s, PITH_F16, PITH_SHAPE(100000), 60000);
    cr_assert(pith_read_f64(s, pith_mean(s, half, PITH_ALL_AXES)) == 60000,
              "a mean does not overflow on the way");
    pt_fails(PITH_E_DTYPE, s, pith_mean(s, yes, PITH_ALL_AXES));
    pt_fails(PITH_E_SHAPE, s, pith_sum(s, half, PITH_AXES(1)));
    pt_fails(PITH_E_ARG, s, pith_sum(s, none, PITH_AXES(0, -2)));
    pith_scope_close(s);
    pt_close(rt);
}

/* As in NumPy and JAX, also where the result has no element. */
Test(reduce, refuses_to_choose_from_nothing) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *(*const choose[])(pith_scope *, const pith_array *, pith_axes) = {
        pith_min, pith_max, pith_argmin, pith_argmax};
    for (int k = 0; k < 4; k++) {
        pt_fails(PITH_E_SHAPE, s,
                 choose[k](s, pith_zeros(s, PITH_I32, PITH_SHAPE(0, 0)), PITH_AXES(0)));
        pt_fails(PITH_E_SHAPE, s,
                 choose[k](s, pith_zeros(s, PITH_F64, PITH_SHAPE(3, 0)), PITH_AXES(1)));
        const pith_array *none =
            choose[k](s, pith_zeros(s, PITH_F32, PITH_SHAPE(3, 0)), PITH_AXES(0));
        pt_ok(s, none);
        cr_assert(pith_array_spec(none)->count == 0);
    }
    pith_scope_close(s);
    pt_close(rt);
}

Test(reduce, nan_is_greatest_and_least) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const double values[] = {3, -1, NAN, 9, NAN};
    const pith_array *x = pith_array_copy(s, PITH_F64, PITH_SHAPE(5), values);
    cr_assert(isnan(pith_read_f64(s, pith_max(s, x, PITH_ALL_AXES))) &&
              isnan(pith_read_f64(s, pith_min(s, x, PITH_ALL_AXES))));
    cr_assert(pith_read_i64(s, pith_argmax(s, x, PITH_AXES(0))) == 2 &&
              pith_read_i64(s, pith_argmin(s, x, PITH_AXES(-1))) == 2);
    const pith_array *head = pith_slice_array(s, x, 1, &PITH_SLICE(0, 2, 1));
    cr_assert(pith_read_i64(s, pith_argmax(s, head, PITH_AXES(0))) == 0 &&
              pith_read_f64(s, pith_min(s, head, PITH_ALL_AXES)) == -1);
    pith_scope_close(s);
    pt_close(rt);
}

/* Rows of several blocks: the first of equal ones, wherever it lies, and nan before all.
 */
Test(reduce, finds_places_in_long_rows) {
    enum { ROWS = 5, LENGTH = 3 * 4096 + 17 };
    static const pith_dtype dtypes[] = {PITH_BOOL, PITH_I8,  PITH_U16, PITH_I32,
                                        PITH_U64,  PITH_I64, PITH_F16, PITH_BF16,
                                        PITH_F32,  PITH_F64};
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    double *values = calloc(ROWS * LENGTH, sizeof *values);
    const int64_t places[ROWS] = {0, 4095, 4096, 9000, LENGTH - 1};
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        for (int special = 0; special < 3;
             special++) { /* the best: 1, among zeros, nan */
            const bool real = pith_dtype_is_float(dtypes[d]);
            for (int64_t r = 0; r < ROWS; r++)
                for (int64_t i = 0; i < LENGTH; i++)
                    values[r * LENGTH + i] =
                        i >= places[r] && (i - places[r]) % 5000 == 0
                            ? (special == 0   ? 1
                               : special == 1 ? (real ? -0.0 : 0)
                                              : (real ? (double)NAN : 1))
                            : 0;
            const pith_array *x = pith_cast(
                s, pith_array_copy(s, PITH_F64, PITH_SHAPE(ROWS, LENGTH), values),
                dtypes[d]);
            int64_t most[ROWS], least[ROWS];
            pt_ok(s, pith_read(s, pith_argmax(s, x, PITH_AXES(1)), most, sizeof most));
            pt_ok(s, pith_read(s, pith_argmin(s, x, PITH_AXES(1)), least, sizeof least));
            for (int r = 0; r < ROWS; r++) {
                const bool nan = real && special == 2;
                cr_expect(most[r] == (special == 1 ? 0 : places[r]), "%s, row %d: %lld",
                          pith_dtype_name(dtypes[d]), r, (long long)most[r]);
                cr_expect(least[r] == (nan                         ? places[r]
                                       : special == 1 || places[r] ? 0
                                                                   : 1),
                          "%s, row %d: %lld", pith_dtype_name(dtypes[d]), r,
                          (long long)least[r]);
            }
        }
    free(values);
    pith_scope_close(s);
    pt_close(rt);
}

/* The bound that array.h states, and the same bits for every number of threads. */
Test(reduce, sums_keep_their_bound_and_their_bits) {
    enum { N = 300001 };
    double *x = malloc(N * sizeof *x), first = 0;
    float *f = malloc(N * sizeof *f);
    long double exact = 0, magnitude = 0, exact_f = 0;
    uint64_t state = 7;
    for (int i = 0; i < N; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        x[i] = ((double)(state >> 11) * 0x1p-53 - 0.5) * (i % 3 ? 1e6 : 1e-3);
        f[i] = (float)x[i];
        exact += x[i], magnitude += fabs(x[i]), exact_f += f[i];
    }
    for (int threads = 1; threads <= 3; threads++) {
        pith_runtime *rt =
            pith_open(&(pith_open_options){.device = "host", .threads = threads});
        pith_scope *s = pith_scope_open(rt);
        const double sum =
            pith_read_f64(s, pith_sum(s, pith_array_borrow(s, PITH_F64, PITH_SHAPE(N), x),
                                      PITH_ALL_AXES));
        const double sum_f =
            pith_read_f64(s, pith_sum(s, pith_array_borrow(s, PITH_F32, PITH_SHAPE(N), f),
                                      PITH_ALL_AXES));
        pt_ok(s);
        if (threads == 1)
            first = sum;
        cr_assert(memcmp(&sum, &first, sizeof sum) == 0, "%d threads", threads);
        cr_assert(fabsl(sum - exact) <= (log2(N) + 64) / 2 * 0x1p-53L * magnitude);
        cr_assert(sum_f == (double)(float)exact_f,
                  "f32 is accumulated in f64 and rounded once");
        pith_scope_close(s);
        pith_close(rt);
    }
    free(x), free(f);
}

Test(reduce, running_sums_and_order) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const int32_t values[] = {3, 1, 2, 3, -5, 1};
    const pith_array *x = pith_array_copy(s, PITH_I32, PITH_SHAPE(2, 3), values);
    int32_t got[6];
    pt_ok(s, pith_read(s, pith_cumsum(s, x, 1, NULL), got, sizeof got));
    cr_assert(memcmp(got, (int32_t[]){3, 4, 6, 3, -2, -1}, sizeof got) == 0);
    pt_ok(s, pith_read(s, pith_cumsum(s, x, 0, NULL), got, sizeof got));
    cr_assert(memcmp(got, (int32_t[]){3, 1, 2, 6, -4, 3}, sizeof got) == 0);
    pt_ok(s, pith_read(s, pith_sort(s, x, -1, NULL), got, sizeof got));
    cr_assert(memcmp(got, (int32_t[]){1, 2, 3, -5, 1, 3}, sizeof got) == 0);
    int64_t places[6];
    const pith_array *flat = pith_reshape(s, x, PITH_SHAPE(6));
    pt_ok(s, pith_read(s, pith_argsort(s, flat, 0, NULL), places, sizeof places));
    cr_assert(memcmp(places, (int64_t[]){4, 1, 5, 2, 0, 3}, sizeof places) == 0,
              "stable");
    pt_fails(PITH_E_SHAPE, s, pith_sort(s, pith_f64(s, 1), 0, NULL));
    pith_scope_close(s);
    pt_close(rt);
}
