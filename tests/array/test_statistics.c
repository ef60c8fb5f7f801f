/* Reductions with options, moments and norms, against sums worked out here, and rows made
 * by a rule. */
#include "pith_test.h"

#include <pith/array.h>

enum { ROWS = 7, COLUMNS = 9, COUNT = ROWS * COLUMNS };

static double values[COUNT];
static uint8_t mask[COUNT];

/* Values of every size, and a mask that leaves the last row empty. */
static const pith_array *grid(pith_scope *s, pith_dtype dtype, const pith_array **where) {
    uint64_t seed = 3;
    for (int i = 0; i < COUNT; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        values[i] = (double)((int64_t)(seed >> 40) - (1 << 23)) / 65536;
        mask[i] = i / COLUMNS != ROWS - 1 && (seed >> 35 & 1);
        if (dtype == PITH_F32)
            values[i] = (double)(float)values[i];
    }
    *where = pith_array_copy(s, PITH_BOOL, PITH_SHAPE(ROWS, COLUMNS), mask);
    return pith_cast(s, pith_array_copy(s, PITH_F64, PITH_SHAPE(ROWS, COLUMNS), values),
                     dtype);
}

static bool near(double a, double b, double relative) {
    return a == b || fabs(a - b) <= relative * fabs(b) || (isnan(a) && isnan(b));
}

Test(statistics, reduces_some_elements) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *where, *x = grid(s, PITH_F64, &where);
    const pith_reduce_options masked = {.where = where},
                              both = {.where = where, .initial = pith_f64(s, -3)};
    double sum[ROWS], low[ROWS], mean[ROWS];
    pt_ok(s, pith_read(s, pith_sum_with(s, x, PITH_AXES(1), &both), sum, sizeof sum));
    pt_ok(s, pith_read(s, pith_min_with(s, x, PITH_AXES(-1), &both), low, sizeof low));
    pt_ok(s,
          pith_read(s, pith_mean_with(s, x, PITH_AXES(1), &masked), mean, sizeof mean));
    for (int i = 0; i < ROWS; i++) {
        double total = 0, least = -3, count = 0;
        for (int k = i * COLUMNS; k < (i + 1) * COLUMNS; k++)
            if (mask[k]) {
                total += values[k];
                least = values[k] < least ? values[k] : least;
                count++;
            }
        cr_assert(near(sum[i], total - 3, 1e-14) && low[i] == least);
        cr_assert(near(mean[i], total / count, 1e-14)); /* of nothing NaN */
    }
    const pith_reduce_options row = {
        .where = pith_slice_at(s, where, 0, 2)}; /* broadcast over the rows */
    cr_assert(pith_array_spec(pith_prod_with(s, x, PITH_AXES_KEPT(0), &row))->rank == 2);
    const pith_reduce_options never = {.where =
                                           pith_zeros(s, PITH_BOOL, PITH_SHAPE(ROWS, 1))};
    cr_assert(pith_read_f64(s, pith_prod_with(s, x, PITH_ALL_AXES, &never)) == 1);
    cr_assert(!pith_read_bool(s, pith_any_with(s, x, PITH_ALL_AXES, &never)));
    cr_assert(pith_read_bool(s, pith_all_with(s, x, PITH_ALL_AXES, &never)));
    const pith_reduce_options seven = {.initial = pith_f64(s, 7)};
    const pith_array *none = pith_zeros(s, PITH_F64, PITH_SHAPE(0, 2));
    double most[2];
    pt_ok(s, pith_read(s, pith_max_with(s, none, PITH_AXES(0), &seven), most, 16));
    cr_assert(most[0] == 7 && most[1] == 7);
    cr_assert(pith_read_f64(s, pith_max_with(s, x, PITH_ALL_AXES, NULL)) ==
              pith_read_f64(s, pith_max(s, x, PITH_ALL_AXES)));
    const pith_array *count = pith_sum_with(s, where, PITH_ALL_AXES, &masked);
    cr_assert(pith_array_spec(count)->dtype == PITH_I64 &&
              pith_read_i64(s, count) ==
                  pith_read_i64(s, pith_count_nonzero(s, where, PITH_ALL_AXES)));
    pith_scope_close(s);
    pt_close(rt);
}

Test(statistics, places_over_all_axes) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *where, *x = grid(s, PITH_F64, &where);
    int most = 0;
    for (int i = 0; i < COUNT; i++)
        most = values[i] > values[most] ? i : most;
    cr_assert(pith_read_i64(s, pith_argmax(s, x, PITH_ALL_AXES)) == most);
    const pith_axes kept = {.all = true, .keep = true};
    cr_assert(pith_array_spec(pith_argmin(s, x, kept))->rank == 2);
    pt_fails(PITH_E_SHAPE, s, pith_argmax(s, x, PITH_AXES(2)));
    pith_scope_close(s);
    pt_close(rt);
}

Test(statistics, moments_and_norms) {
    static const pith_dtype dtypes[] = {PITH_F64, PITH_F32, PITH_F16, PITH_BF16};
    static const double relative[] = {1e-14, 1e-6, 2e-3, 2e-2};
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    for (int k = 0; k < 4; k++) {
        const pith_array *where, *x = grid(s, dtypes[k], &where);
        const pith_array *wide = pith_cast(s, x, PITH_F64); /* as rounded */
        pt_ok(s, pith_read(s, wide, values, sizeof values));
        double mean = 0, square = 0, size = 0, norm = 0, cubes = 0, most = 0, powers = 0;
        for (int i = 0; i < COUNT; i++) {
            mean += values[i] / COUNT;
            size += fabs(values[i]);
            norm += values[i] * values[i];
            cubes += pow(fabs(values[i]), 3);
            most = fmax(most, fabs(values[i]));
            powers += exp(values[i]);
        }
        for (int i = 0; i < COUNT; i++)
            square += (values[i] - mean) * (values[i] - mean);
        const struct {
            const pith_array *got;
            double want;
        } cases[] = {
            {pith_var(s, x, PITH_ALL_AXES, 0), square / COUNT},
            {pith_var(s, x, PITH_ALL_AXES, 1.5), square / (COUNT - 1.5)},
            {pith_std(s, x, PITH_ALL_AXES, 1), sqrt(square / (COUNT - 1))},
            {pith_norm(s, x, 1, PITH_ALL_AXES), size},
            {pith_norm(s, x, 2, PITH_ALL_AXES), sqrt(norm)},
            {pith_norm(s, x, 3, PITH_ALL_AXES), cbrt(cubes)},
            {pith_norm(s, x, (double)INFINITY, PITH_ALL_AXES), most},
            {pith_norm(s, x, 0, PITH_ALL_AXES), COUNT},
            {pith_logsumexp(s, x, PITH_ALL_AXES), log(powers)},
        };
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            pt_ok(s, cases[i].got);
            cr_assert(pith_array_spec(cases[i].got)->dtype == dtypes[k]);
            const double got = pith_read_f64(s, cases[i].got);
            cr_expect(near(got, cases[i].want, relative[k]), "%s, case %zu: %.17g, %.17g",
                      pith_dtype_name(dtypes[k]), i, got, cases[i].want);
        }
        cr_assert(pith_array_spec(pith_std(s, x, PITH_AXES_KEPT(0), 0))->shape[0] == 1);
    }
    pith_scope_close(s);
    pt_close(rt);
}

Test(statistics, extremes_of_logsumexp_and_moments) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    static const double rows[][2] = {{1000, 1000},
                                     {-(double)INFINITY, -(double)INFINITY},
                                     {(double)INFINITY, 0},
                                     {-2000, -(double)INFINITY}};
    const double want[] = {1000 + log(2), -(double)INFINITY, (double)INFINITY, -2000};
    double got[4];
    const pith_array *x = pith_array_copy(s, PITH_F64, PITH_SHAPE(4, 2), rows);
    pt_ok(s, pith_read(s, pith_logsumexp(s, x, PITH_AXES(1)), got, sizeof got));
    for (int i = 0; i < 4; i++)
        cr_assert(near(got[i], want[i], 1e-15));
    const pith_array *none = pith_zeros(s, PITH_F64, PITH_SHAPE(0));
    cr_assert(pith_read_f64(s, pith_logsumexp(s, none, PITH_ALL_AXES)) ==
              -(double)INFINITY);
    cr_assert(isnan(pith_read_f64(s, pith_var(s, none, PITH_ALL_AXES, 0))));
    const pith_array *one = pith_full(s, PITH_F32, PITH_SHAPE(1), 3);
    cr_assert(pith_read_f64(s, pith_var(s, one, PITH_ALL_AXES, 0)) == 0);
    cr_assert(isnan(pith_read_f64(s, pith_var(s, one, PITH_ALL_AXES, 1))));
    const pith_array *big = pith_full(s, PITH_F32, PITH_SHAPE(2), 1e30);
    cr_assert(near(pith_read_f64(s, pith_norm(s, big, 2, PITH_ALL_AXES)), sqrt(2) * 1e30,
                   1e-6));
    const pith_array *half = pith_full(s, PITH_F16, PITH_SHAPE(3), 60000);
    cr_assert(pith_read_f64(s, pith_mean_with(
                                   s, half, PITH_ALL_AXES,
                                   &(pith_reduce_options){
                                       .where = pith_ones(s, PITH_BOOL, PITH_SCALAR)})) ==
              60000);
    pith_scope_close(s);
    pt_close(rt);
}

Test(statistics, close_arrays) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const double inf = (double)INFINITY, nan = (double)NAN;
    const double a[] = {1, 1, inf, inf, nan, 0, 1, inf},
                 b[] = {1 + 1e-9, 1.1, inf, -inf, nan, 1e-9, nan, 1};
    const uint8_t want[2][8] = {{1, 0, 1, 0, 0, 1, 0, 0}, {1, 0, 1, 0, 1, 1, 0, 0}};
    const pith_array *x = pith_array_copy(s, PITH_F64, PITH_SHAPE(8), a),
                     *y = pith_array_copy(s, PITH_F64, PITH_SHAPE(8), b);
    for (int nans = 0; nans < 2; nans++) {
        uint8_t got[8];
        pt_ok(s, pith_read(s, pith_is_close(s, x, y, 1e-8, 1e-8, nans), got, 8));
        cr_assert(memcmp(got, want[nans], 8) == 0);
        cr_assert(!pith_read_bool(s, pith_all_close(s, x, y, 1e-8, 1e-8, nans)));
        cr_assert(pith_read_bool(s, pith_all_close(s, x, x, 0, 0, nans)) == (nans == 1));
    }
    /* integers that no f64 tells apart */
    const pith_array *large = pith_i64(s, INT64_MAX), *next = pith_i64(s, INT64_MAX - 1);
    cr_assert(!pith_read_bool(s, pith_all_close(s, large, next, 0, 0, false)));
    cr_assert(pith_read_bool(s, pith_all_close(s, large, next, 0, 1, false)));
    cr_assert(!pith_read_bool(
        s, pith_all_close(s, large, pith_i64(s, INT64_MIN), 0, 1e18, false)));
    pt_fails(PITH_E_DTYPE, s, pith_all_close(s, large, x, 0, 0, false));
    pith_scope_close(s);
    pt_close(rt);
}

Test(statistics, refuses_what_does_not_fit) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *where, *x = grid(s, PITH_F64, &where);
    const pith_array *i = pith_arange(s, PITH_I32, 4);
    const pith_reduce_options real = {.where = x},
                              wide = {.where = pith_expand_dims(s, where, PITH_AXES(0))},
                              only = {.where = where}, row = {.initial = x};
    pt_fails(PITH_E_DTYPE, s, pith_sum_with(s, x, PITH_ALL_AXES, &real));
    pt_says("where: expected bool that broadcasts to f64[7,9], got f64[7,9]");
    pt_fails(PITH_E_SHAPE, s, pith_sum_with(s, x, PITH_ALL_AXES, &wide));
    pt_fails(PITH_E_ARG, s, pith_max_with(s, x, PITH_ALL_AXES, &only));
    pt_says("where without initial");
    pt_fails(PITH_E_SHAPE, s, pith_prod_with(s, x, PITH_ALL_AXES, &row));
    pt_says("initial: expected rank 0");
    pt_fails(PITH_E_ARG, s,
             pith_mean_with(s, x, PITH_ALL_AXES,
                            &(pith_reduce_options){.initial = pith_f64(s, 1)}));
    pt_fails(PITH_E_DTYPE, s, pith_var(s, i, PITH_ALL_AXES, 0));
    pt_says("pith_var: expected a float dtype, got i32");
    pt_fails(PITH_E_DTYPE, s, pith_logsumexp(s, i, PITH_ALL_AXES));
    pt_fails(PITH_E_DTYPE, s, pith_norm(s, i, 2, PITH_ALL_AXES));
    pt_fails(PITH_E_ARG, s, pith_norm(s, x, (double)NAN, PITH_ALL_AXES));
    pt_fails(PITH_E_ARG, s, pith_var(s, x, PITH_ALL_AXES, (double)INFINITY));
    pt_fails(PITH_E_SHAPE, s, pith_std(s, x, PITH_AXES(5), 0));
    pith_scope_close(s);
    pt_close(rt);
}

Test(statistics, rows_by_a_rule) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    cr_assert(pith_array_spec(pith_range(s, PITH_I32, 5, 0, 2))->count == 0);
    cr_assert(pith_array_spec(pith_range(s, PITH_I32, 5, 0, -2))->count == 3);
    cr_assert(pith_array_spec(pith_range(s, PITH_F32, 0, 1, 0.1))->count == 10);
    double ends[3];
    const double huge = 0x1.fffffffffffffp1023;
    pt_ok(s, pith_read(s, pith_linspace(s, PITH_F64, -huge, huge, 3, true), ends, 24));
    cr_assert(ends[0] == -huge && ends[1] == 0 && ends[2] == huge);
    pt_ok(s, pith_read(s, pith_linspace(s, PITH_F64, 0, 0.3, 3, true), ends, 24));
    cr_assert(ends[0] == 0 && ends[1] == 0.15 && ends[2] == 0.3);
    cr_assert(pith_read_f64(s, pith_linspace(s, PITH_F64, 2, 5, 1, true)) == 2);
    pt_fails(PITH_E_ARG, s, pith_range(s, PITH_F64, 0, 1, 0));
    pt_fails(PITH_E_ARG, s, pith_range(s, PITH_F64, 0, (double)INFINITY, 1));
    pt_fails(PITH_E_DTYPE, s, pith_range(s, PITH_I32, 0, 3, 0.5));
    pt_fails(PITH_E_DTYPE, s, pith_range(s, PITH_BOOL, 0, 1, 1));
    pt_fails(PITH_E_DTYPE, s, pith_linspace(s, PITH_I32, 0, 1, 2, true));
    pt_fails(PITH_E_ARG, s, pith_linspace(s, PITH_F32, 0, (double)NAN, 2, true));
    pt_fails(PITH_E_SHAPE, s, pith_linspace(s, PITH_F32, 0, 1, -1, true));
    pith_scope_close(s);
    pt_close(rt);
}
