/* Searches and sets of a given size, sorts by several keys, scans backwards: against
 * plain statements of each, on random values with many equal ones, zeros of both signs
 * and NaN. */
#include "pith_test.h"

#include <pith/array.h>

enum { N = 60, TRIALS = 150 };

static uint64_t seed = 9;
static int below(int n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return n ? (int)((seed >> 33) % (uint64_t)n) : 0;
}

static double draw(void) {
    const int k = below(12);
    return k == 0 ? (double)NAN : k == 1 ? -0.0 : below(9) - 4;
}

/* NaN is greatest and equals itself. */
static int compare(double a, double b) {
    return isnan(a) || isnan(b) ? isnan(a) - isnan(b) : (a > b) - (a < b);
}

static const pith_array *vector(pith_scope *s, int n, const double *x) {
    return pith_array_copy(s, PITH_F64, PITH_SHAPE(n), x);
}

static void
read_places(pith_scope *s, const pith_array *a, int64_t count, int64_t *places) {
    const pith_array *wide = pith_cast(s, a, PITH_I64);
    pt_ok(s, pith_read(s, wide, places, (size_t)count * sizeof *places));
}

Test(unique, is_what_a_plain_search_finds) {
    static double x[N], found[N], values[N + 5];
    static int64_t index[N + 5], inverse[N], counts[N + 5], first[N], number[N];
    pith_runtime *rt = pt_open();
    for (int trial = 0; trial < TRIALS; trial++) {
        pith_scope *s = pith_scope_open(rt);
        const int n = below(N), size = below(16);
        int distinct = 0;
        for (int i = 0; i < n; i++)
            x[i] = draw();
        for (int i = 0; i < n; i++) { /* insert where it belongs unless it is there */
            int at = 0;
            while (at < distinct && compare(found[at], x[i]) < 0)
                at++;
            if (at < distinct && compare(found[at], x[i]) == 0)
                continue;
            for (int k = distinct++; k > at; k--) {
                found[k] = found[k - 1];
                first[k] = first[k - 1];
            }
            found[at] = x[i];
            first[at] = i;
        }
        for (int k = 0; k < distinct; k++)
            number[k] = 0;
        const bool filled = below(2);
        const pith_unique_result u =
            pith_unique(s, vector(s, n, x), size,
                        &(pith_unique_options){.fill = filled ? &(double){7} : NULL});
        pt_ok(s, pith_read(s, u.values, values, (size_t)size * sizeof *values));
        read_places(s, u.index, size, index);
        read_places(s, u.inverse, n, inverse);
        read_places(s, u.counts, size, counts);
        for (int i = 0; i < n; i++) {
            cr_assert(inverse[i] >= 0 && inverse[i] < distinct);
            cr_assert(compare(found[inverse[i]], x[i]) == 0);
            number[inverse[i]]++;
        }
        for (int k = 0; k < size; k++) {
            const bool there = k < distinct;
            const double want = there ? found[k] : filled ? 7 : n ? found[0] : 0;
            cr_assert(compare(values[k], want) == 0, "%g, expected %g", values[k], want);
            cr_assert(index[k] == (there ? first[k] : n ? first[0] : 0));
            cr_assert(counts[k] == (there ? number[k] : 0));
        }
        pith_scope_close(s);
    }
    pt_close(rt);
}

Test(nonzero, gives_places_in_c_order) {
    enum { ROWS = 5, COLUMNS = 7 };
    static double x[ROWS * COLUMNS];
    int64_t rows[50], columns[50];
    pith_runtime *rt = pt_open();
    for (int trial = 0; trial < TRIALS; trial++) {
        pith_scope *s = pith_scope_open(rt);
        const int size = below(50), fill = below(5) - 2;
        for (int i = 0; i < ROWS * COLUMNS; i++)
            x[i] = draw();
        const pith_indices p =
            pith_nonzero(s, pith_array_copy(s, PITH_F64, PITH_SHAPE(ROWS, COLUMNS), x),
                         size, &(pith_nonzero_options){.fill = fill});
        pt_ok(s, p.count == 2);
        read_places(s, p.axes[0], size, rows);
        read_places(s, p.axes[1], size, columns);
        int k = 0;
        for (int i = 0; i < ROWS * COLUMNS && k < size; i++)
            if (x[i] != 0) {
                cr_assert(rows[k] == i / COLUMNS && columns[k] == i % COLUMNS);
                k++;
            }
        for (; k < size; k++)
            cr_assert(rows[k] == fill && columns[k] == fill);
        pith_scope_close(s);
    }
    pt_close(rt);
}

Test(search_sorted, counts_what_comes_before) {
    static double sorted[N], values[N];
    int64_t left[N], right[N], bins[N], bins_right[N];
    bool in[N];
    pith_runtime *rt = pt_open();
    for (int trial = 0; trial < TRIALS; trial++) {
        pith_scope *s = pith_scope_open(rt);
        const int n = below(N), m = below(N);
        for (int i = 0; i < n; i++)
            sorted[i] = draw();
        for (int i = 0; i < m; i++)
            values[i] = draw();
        const pith_array *a = pith_sort(s, vector(s, n, sorted), 0, NULL),
                         *v = vector(s, m, values);
        read_places(s, pith_search_sorted(s, a, v, NULL), m, left);
        read_places(s, pith_search_sorted(s, a, v, &(pith_search_options){.right = true}),
                    m, right);
        read_places(s, pith_digitize(s, v, a, false), m, bins);
        read_places(s, pith_digitize(s, v, a, true), m, bins_right);
        pt_ok(s, pith_read(s, pith_isin(s, v, vector(s, n, sorted), NULL), in,
                           (size_t)m * sizeof *in));
        for (int i = 0; i < m; i++) {
            int less = 0, not_greater = 0;
            bool found = false;
            for (int k = 0; k < n; k++) {
                less += compare(sorted[k], values[i]) < 0;
                not_greater += compare(sorted[k], values[i]) <= 0;
                found |= sorted[k] == values[i];
            }
            cr_assert(left[i] == less && right[i] == not_greater);
            cr_assert(bins[i] == not_greater && bins_right[i] == less);
            cr_assert(in[i] == found);
        }
        pith_scope_close(s);
    }
    pt_close(rt);
}

Test(isin, looks_dense_items_up) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *a = pith_array_copy(s, PITH_I32, PITH_SHAPE(2, 3),
                                          (int32_t[]){0, -1, 4, 9, 3, 200}),
                     *set = pith_array_copy(s, PITH_U64, PITH_SHAPE(4),
                                            (uint64_t[]){4, 0, 200, UINT64_MAX});
    bool got[6];
    pt_ok(s, pith_read(s, pith_isin(s, a, set, &(pith_isin_options){.max_item = 10}), got,
                       sizeof got));
    cr_assert(!memcmp(got, (bool[]){true, false, true, false, false, false}, sizeof got));
    const pith_isin_options out = {.max_item = 10, .invert = true};
    pt_ok(s, pith_read(s, pith_isin(s, a, set, &out), got, sizeof got));
    cr_assert(!memcmp(got, (bool[]){false, true, false, true, true, true}, sizeof got));
    pt_fails(PITH_E_DTYPE, s, pith_isin(s, a, set, NULL));
    pt_says("i32 and u64 have no common dtype");
    pt_fails(PITH_E_ARG, s, pith_isin(s, a, set, &(pith_isin_options){.max_item = -1}));
    pith_scope_close(s);
    pt_close(rt);
}

Test(sort_by_keys, orders_rows_and_carries_the_rest) {
    static double a[2 * N], b[2 * N], got_a[2 * N], got_b[2 * N];
    static int64_t place[2 * N], lex[2 * N];
    pith_runtime *rt = pt_open();
    for (int trial = 0; trial < TRIALS; trial++) {
        pith_scope *s = pith_scope_open(rt);
        const int axis = trial % 2;
        for (int i = 0; i < 2 * N; i++) {
            a[i] = draw();
            b[i] = draw();
        }
        const pith_shape shape = axis ? PITH_SHAPE(2, N) : PITH_SHAPE(2 * N, 1);
        const pith_array *arrays[] = {pith_array_copy(s, PITH_F64, shape, a),
                                      pith_array_copy(s, PITH_F64, shape, b),
                                      pith_iota(s, PITH_I64, shape, axis)};
        const pith_array *sorted[3], *backwards[] = {arrays[1], arrays[0]};
        pt_ok(s, pith_sort_by_keys(s, 3, arrays, 2, axis, sorted));
        pt_ok(s, pith_read(s, sorted[0], got_a, sizeof got_a));
        pt_ok(s, pith_read(s, sorted[1], got_b, sizeof got_b));
        pt_ok(s, pith_read(s, sorted[2], place, sizeof place));
        pt_ok(s, pith_read(s, pith_lexsort(s, 2, backwards, axis), lex, sizeof lex));
        cr_assert(!memcmp(lex, place, sizeof place));
        for (int i = 0; i < 2 * N; i++) {
            const int line = axis ? i / N * N : 0;
            cr_assert(compare(a[line + place[i]], got_a[i]) == 0);
            cr_assert(compare(b[line + place[i]], got_b[i]) == 0);
            if (i == line)
                continue;
            const int first = compare(got_a[i - 1], got_a[i]),
                      second = compare(got_b[i - 1], got_b[i]);
            cr_assert(first ? first < 0 : second ? second < 0 : place[i - 1] < place[i]);
        }
        pith_scope_close(s);
    }
    pith_scope *s = pith_scope_open(rt);
    const pith_array *two[] = {pith_arange(s, PITH_I32, 2), pith_arange(s, PITH_I32, 3)},
                     *sorted[2];
    pt_fails(PITH_E_SHAPE, s, pith_sort_by_keys(s, 2, two, 1, 0, sorted));
    pt_says("array 1: expected the shape of i32[2], got i32[3]");
    pt_fails(PITH_E_ARG, s, pith_sort_by_keys(s, 1, two, 2, 0, sorted));
    pt_fails(PITH_E_ARG, s, pith_sort_by_keys(s, 1, two, 1, 0, NULL));
    pt_fails(PITH_E_ARG, s, pith_lexsort(s, 0, two, 0));
    pith_scope_close(s);
    pt_close(rt);
}

Test(top_k, is_the_front_of_a_descending_sort) {
    static double x[3 * N], all[3 * N], top[3 * N];
    int64_t places[3 * N];
    pith_runtime *rt = pt_open();
    for (int k = 0; k <= N; k += 6) {
        pith_scope *s = pith_scope_open(rt);
        for (int i = 0; i < 3 * N; i++)
            x[i] = draw();
        const pith_array *a = pith_array_copy(s, PITH_F64, PITH_SHAPE(3, N), x);
        const pith_array *down =
            pith_sort(s, a, -1, &(pith_sort_options){.descending = true});
        pt_ok(s, pith_read(s, down, all, sizeof all));
        const pith_top t = pith_top_k(s, a, k);
        pt_ok(s, pith_array_spec(t.indices)->dtype == PITH_I32);
        pt_ok(s, pith_read(s, t.values, top, (size_t)(3 * k) * sizeof *top));
        read_places(s, t.indices, 3 * k, places);
        for (int i = 0; i < 3 * k; i++) {
            cr_assert(compare(top[i], all[i / k * N + i % k]) == 0);
            cr_assert(compare(x[i / k * N + places[i]], top[i]) == 0);
            cr_assert(i % k == 0 || compare(top[i - 1], top[i]) > 0 ||
                      places[i - 1] < places[i]);
        }
        pt_fails(PITH_E_SHAPE, s, pith_top_k(s, a, N + 1).values);
        cr_assert(pith_top_k(s, NULL, 1).values == NULL);
        pith_clear(s);
        pith_scope_close(s);
    }
    pt_close(rt);
}

Test(median, is_the_middle) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const double huge = 1.7e308, tiny = 4.9e-324;
    const double x[5][4] = {{4, 1, 3, 2},
                            {huge, huge, huge, huge},
                            {tiny, tiny, tiny, tiny},
                            {1, (double)NAN, 2, 3},
                            {-huge, huge, huge, -huge}};
    const double want[5] = {2.5, huge, tiny, (double)NAN, 0};
    double got[5];
    const pith_array *a = pith_array_copy(s, PITH_F64, PITH_SHAPE(5, 4), x);
    pt_ok(s, pith_read(s, pith_median(s, a, 1), got, sizeof got));
    for (int i = 0; i < 5; i++)
        cr_assert(compare(got[i], want[i]) == 0, "%g, expected %g", got[i], want[i]);
    pt_ok(s,
          pith_read(s, pith_median(s, pith_transpose(s, a, NULL), 0), got, sizeof got));
    cr_assert(got[0] == 2.5);
    pt_ok(s, isnan(pith_read_f64(
                 s, pith_median(s, pith_zeros(s, PITH_F32, PITH_SHAPE(0)), 0))));
    pt_fails(PITH_E_DTYPE, s, pith_median(s, pith_arange(s, PITH_I32, 3), 0));
    pith_scope_close(s);
    pt_close(rt);
}

Test(partition_point, counts_leading_trues) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *mask =
        pith_array_copy(s, PITH_BOOL, PITH_SHAPE(4), (bool[]){true, true, false, true});
    cr_assert(pith_read_i64(s, pith_partition_point(s, mask)) == 2);
    cr_assert(pith_read_i64(s, pith_partition_point(
                                   s, pith_zeros(s, PITH_BOOL, PITH_SHAPE(0)))) == 0);
    pt_ok(s);
    pt_fails(PITH_E_DTYPE, s, pith_partition_point(s, pith_arange(s, PITH_I32, 3)));
    pt_fails(PITH_E_SHAPE, s, pith_partition_point(s, pith_bool(s, true)));
    pith_scope_close(s);
    pt_close(rt);
}

Test(diff, takes_neighbours_apart) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x =
        pith_array_copy(s, PITH_I32, PITH_SHAPE(2, 3), (int32_t[]){1, 4, 9, 2, 2, 7});
    int32_t got[6];
    pt_ok(s, pith_read(s, pith_diff(s, x, 1, -1), got, 16));
    cr_assert(!memcmp(got, (int32_t[]){3, 5, 0, 5}, 16));
    pt_ok(s, pith_read(s, pith_diff(s, x, 2, 1), got, 8));
    cr_assert(!memcmp(got, (int32_t[]){2, 5}, 8));
    pt_ok(s, pith_read(s, pith_diff(s, x, 1, 0), got, 12));
    cr_assert(!memcmp(got, (int32_t[]){1, -2, -2}, 12));
    cr_assert(pith_array_spec(pith_diff(s, x, 9, 0))->shape[0] == 0);
    pt_ok(s, pith_read(s, pith_diff(s, x, 0, 0), got, 24));
    bool differs[2];
    const pith_array *flags =
        pith_array_copy(s, PITH_BOOL, PITH_SHAPE(3), (bool[]){true, false, false});
    pt_ok(s, pith_read(s, pith_diff(s, flags, 1, 0), differs, sizeof differs));
    cr_assert(differs[0] && !differs[1]);
    pt_fails(PITH_E_ARG, s, pith_diff(s, x, -1, 0));
    pt_fails(PITH_E_SHAPE, s, pith_diff(s, pith_f64(s, 1), 1, 0));
    pith_scope_close(s);
    pt_close(rt);
}

typedef const pith_array *(*scan)(pith_scope *s,
                                  const pith_array *a,
                                  int axis,
                                  const pith_cumulative_options *options);

Test(scan, goes_both_ways) {
    static const scan scans[] = {(pith_cumsum), (pith_cumprod), (pith_cummin),
                                 (pith_cummax), (pith_cumlogsumexp)};
    static double x[N], got[N];
    pith_runtime *rt = pt_open();
    for (int trial = 0; trial < 60; trial++) {
        pith_scope *s = pith_scope_open(rt);
        const int n = 1 + below(N), k = trial % 5;
        const bool reverse = below(2);
        for (int i = 0; i < n; i++) /* products stay exact */
            x[i] = k == 1 ? 1 << below(2) : below(64) * 0.125 - 4;
        const pith_array *r = scans[k](s, vector(s, n, x), 0,
                                       &(pith_cumulative_options){.reverse = reverse});
        pt_ok(s, pith_read(s, r, got, (size_t)n * sizeof *got));
        double sofar = 0;
        for (int i = 0; i < n; i++) {
            const int at = reverse ? n - 1 - i : i;
            const double next = x[at];
            sofar = i == 0   ? next
                    : k == 0 ? sofar + next
                    : k == 1 ? sofar * next
                    : k == 2 ? fmin(sofar, next)
                    : k == 3 ? fmax(sofar, next)
                             : log(exp(sofar) + exp(next));
            cr_assert(fabs(got[at] - sofar) <= (k == 4 ? 1e-12 : 0), "%d: %g, %g", k,
                      got[at], sofar);
        }
        pith_scope_close(s);
    }
    pith_scope *s = pith_scope_open(rt);
    double far[4];
    const pith_array *extremes =
        vector(s, 4, (double[]){-(double)INFINITY, 1000, 1000, (double)INFINITY});
    pt_ok(s, pith_read(s, pith_cumlogsumexp(s, extremes, 0, NULL), far, sizeof far));
    cr_assert(far[0] == -(double)INFINITY && far[1] == 1000 &&
              far[3] == (double)INFINITY);
    cr_assert(fabs(far[2] - 1000 - log(2)) < 1e-12);
    pt_fails(PITH_E_DTYPE, s, pith_cumlogsumexp(s, pith_arange(s, PITH_I32, 3), 0, NULL));
    pith_scope_close(s);
    pt_close(rt);
}

/* Lines so long that blocks of them are looked through first. */
Test(top_k, of_long_lines_is_the_front_of_a_descending_sort) {
    enum { LONG = 20011, MOST = 300 };
    static const pith_dtype dtypes[] = {PITH_F32, PITH_F64, PITH_BF16,
                                        PITH_I8,  PITH_U64, PITH_BOOL};
    static const int64_t counts[] = {1, 7, MOST};
    static float values[LONG];
    int32_t got[MOST];
    int64_t expected[MOST];
    pith_runtime *rt = pt_open();
    for (int ascending = 0; ascending < 2; ascending++) {
        pith_scope *s = pith_scope_open(rt);
        for (int i = 0; i < LONG; i++) {
            values[i] = (float)(ascending ? i / 40 : i * 7919 % 97) / 4;
            if (i % 211 == 5)
                values[i] = i % 2 ? 0.0f : -0.0f;
        }
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
            for (int i = 0; i < 20 && dtypes[d] == PITH_F32; i++)
                values[i * 997 + 3] = i % 3 ? -NAN : NAN;
            const pith_array *x = pith_cast(
                s, pith_array_copy(s, PITH_F32, PITH_SHAPE(LONG), values), dtypes[d]);
            const pith_array *sorted =
                pith_argsort(s, x, 0, &(pith_sort_options){.descending = true});
            pt_ok(s, pith_read(s, pith_slice_array(s, sorted, 1, &PITH_SLICE(0, MOST, 1)),
                               expected, sizeof expected));
            for (int c = 0; c < 3; c++) {
                const pith_top top = pith_top_k(s, x, counts[c]);
                pt_ok(s, pith_read(s, top.indices, got, (size_t)counts[c] * sizeof *got));
                for (int i = 0; i < counts[c]; i++)
                    cr_assert(got[i] == expected[i], "%s, %lld: place %d is %d, not %lld",
                              pith_dtype_name(dtypes[d]), (long long)counts[c], i, got[i],
                              (long long)expected[i]);
            }
            for (int i = 0; i < 20 && dtypes[d] == PITH_F32; i++)
                values[i * 997 + 3] = 1;
        }
        pith_scope_close(s);
    }
    pt_close(rt);
}
