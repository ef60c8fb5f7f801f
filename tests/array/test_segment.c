/* Segment reductions, counts and histograms against loops. */
#include "pith_test.h"

#include <pith/array.h>

static uint64_t seed = 5;
static int below(int n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int)((seed >> 33) % (uint64_t)n);
}

typedef const pith_array *(*reduction)(pith_scope *s,
                                       const pith_array *data,
                                       const pith_array *ids,
                                       int64_t segments,
                                       const pith_segment_options *options);

enum { SUM, PROD, MIN, MAX };
static const reduction reductions[] = {(pith_segment_sum), (pith_segment_prod),
                                       (pith_segment_min), (pith_segment_max)};

static double joined(int operation, double a, double b) {
    return operation == SUM       ? a + b
           : operation == PROD    ? a * b
           : isnan(a) || isnan(b) ? (double)NAN
           : operation == MIN     ? fmin(a, b)
                                  : fmax(a, b);
}

Test(segment, combines_rows_in_order) {
    enum { ROWS = 300, COLUMNS = 3, SEGMENTS = 17 };
    static const double identities[] = {0, 1, (double)INFINITY, -(double)INFINITY};
    static double data[ROWS * COLUMNS], want[SEGMENTS * COLUMNS], got[SEGMENTS * COLUMNS];
    static int32_t ids[ROWS];
    pith_runtime *rt = pt_open();
    for (int trial = 0; trial < 60; trial++) {
        pith_scope *s = pith_scope_open(rt);
        const int operation = trial % 4, rows = below(ROWS + 1);
        const bool sorted = trial % 3 == 0;
        for (int i = 0; i < SEGMENTS * COLUMNS; i++)
            want[i] = identities[operation];
        for (int i = 0; i < rows; i++) {
            ids[i] = sorted ? i * (SEGMENTS + 2) / rows : below(SEGMENTS + 6) - 3;
            for (int k = 0; k < COLUMNS; k++) {
                double *x = &data[i * COLUMNS + k];
                *x = below(200) ? below(2000) * 0.01 - 10 : (double)NAN;
                if (ids[i] >= 0 && ids[i] < SEGMENTS)
                    want[ids[i] * COLUMNS + k] =
                        joined(operation, want[ids[i] * COLUMNS + k], *x);
            }
        }
        const pith_array *r = reductions[operation](
            s, pith_array_copy(s, PITH_F64, PITH_SHAPE(rows, COLUMNS), data),
            pith_array_copy(s, PITH_I32, PITH_SHAPE(rows), ids), SEGMENTS,
            &(pith_segment_options){.sorted = sorted});
        pt_ok(s, pith_read(s, r, got, sizeof got));
        for (int i = 0; i < SEGMENTS * COLUMNS; i++)
            cr_assert(got[i] == want[i] || (isnan(got[i]) && isnan(want[i])));
        pith_scope_close(s);
    }
    pt_close(rt);
}

/* Runs of about 40 elements, some outside of the segments, and an empty segment. */
Test(segment, sums_of_long_sorted_runs_keep_the_order_of_elements) {
    enum { ROWS = 40000, SEGMENTS = 900 };
    static float data[ROWS], want[SEGMENTS], got[SEGMENTS];
    static int64_t ids[ROWS];
    for (int i = 0, id = -2; i < ROWS; i++) {
        id += below(40) == 0 ? 1 + (below(20) == 0) : 0;
        ids[i] = id;
        data[i] = (float)(below(2000001) - 1000000) / 7;
        if (id >= 0 && id < SEGMENTS)
            want[id] += data[i];
    }
    cr_assert(ids[ROWS - 1] >= SEGMENTS);
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = pith_array_copy(s, PITH_F32, PITH_SHAPE(ROWS), data),
                     *wide = pith_array_copy(s, PITH_I64, PITH_SHAPE(ROWS), ids);
    static const pith_dtype sums[] = {PITH_F64, PITH_I32, PITH_U64};
    for (int k = 0; k < 2; k++) {
        const pith_array *at = k ? pith_cast(s, wide, PITH_I32) : wide;
        const pith_segment_options ascends = {.sorted = true};
        pt_ok(s, pith_read(s, pith_segment_sum(s, x, at, SEGMENTS, &ascends), got,
                           sizeof got));
        cr_assert(!memcmp(got, want, sizeof got));
        for (int d = 0; d < 3; d++) {
            const pith_array *other = pith_cast(s, x, sums[d]);
            const pith_array *same =
                pith_equal(s, pith_segment_sum(s, other, at, SEGMENTS, &ascends),
                           pith_segment_sum(s, other, at, SEGMENTS, NULL));
            cr_assert(pith_read_bool(s, pith_all(s, same, PITH_ALL_AXES)));
        }
    }
    pt_ok(s);
    pith_scope_close(s);
    pt_close(rt);
}

/* Rows of a few elements, of repeated and of invalid indices. */
static void sum_rows(pith_scope *s, pith_dtype dtype, int width) {
    enum { ROWS = 5000, PLACES = 37, MOST = 6 };
    static double data[ROWS * MOST];
    static int64_t ids[ROWS];
    double want[PLACES * MOST] = {0}, got[PLACES * MOST];
    for (int i = 0; i < ROWS; i++) {
        ids[i] = i % 7 ? below(PLACES + 4) - 2 : i / 100 % PLACES; /* from -2 */
        for (int k = 0; k < width; k++) {
            const float x = (float)(below(2000001) - 1000000) / 7;
            data[i * width + k] = dtype == PITH_F32 ? (double)x : (double)x / 3;
            if (ids[i] < -PLACES || ids[i] >= PLACES)
                continue;
            double *sum = &want[(ids[i] < 0 ? ids[i] + PLACES : ids[i]) * width + k];
            *sum += data[i * width + k];
            *sum = dtype == PITH_F32 ? (double)(float)*sum : *sum;
        }
    }
    const pith_array *x = pith_array_copy(s, PITH_F64, PITH_SHAPE(ROWS, width), data),
                     *at = pith_array_copy(s, PITH_I64, PITH_SHAPE(ROWS), ids),
                     *into = pith_zeros(s, dtype, PITH_SHAPE(PLACES, width));
    const pith_array *sum = pith_scatter_add(s, into, at, pith_cast(s, x, dtype), NULL);
    pt_ok(s, pith_read(s, pith_cast(s, sum, PITH_F64), got,
                       (size_t)(PLACES * width) * sizeof *got));
    cr_assert(!memcmp(got, want, (size_t)(PLACES * width) * sizeof *got));
}
Test(segment, sums_of_short_rows_keep_their_order) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    for (int width = 1; width <= 6; width++) {
        sum_rows(s, PITH_F32, width);
        sum_rows(s, PITH_F64, width);
    }
    pt_ok(s);
    pith_scope_close(s);
    pt_close(rt);
}

Test(segment, without_rows_gives_what_changes_nothing) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *none = pith_zeros(s, PITH_I8, PITH_SHAPE(0)),
                     *ids = pith_zeros(s, PITH_I32, PITH_SHAPE(0));
    static const int64_t want[] = {0, 1, INT8_MAX, INT8_MIN};
    for (int k = 0; k < 4; k++)
        cr_assert(pith_read_i64(s, reductions[k](s, none, ids, 1, NULL)) == want[k]);
    const pith_array *flags =
        pith_array_copy(s, PITH_BOOL, PITH_SHAPE(3), (bool[]){true, true, false});
    const pith_array *zeros = pith_zeros(s, PITH_I64, PITH_SHAPE(3));
    cr_assert(pith_read_i64(s, pith_segment_sum(s, flags, zeros, 1, NULL)) == 2);
    cr_assert(pith_read_bool(s, pith_segment_max(s, flags, zeros, 1, NULL)));
    pt_ok(s);
    pt_fails(PITH_E_SHAPE, s, pith_segment_sum(s, flags, ids, 1, NULL));
    pt_says("ids: expected one for each row of bool[3], got i32[0]");
    pt_fails(PITH_E_DTYPE, s, pith_segment_sum(s, zeros, flags, 1, NULL));
    pt_fails(PITH_E_ARG, s, pith_segment_sum(s, zeros, zeros, -1, NULL));
    pith_scope_close(s);
    pt_close(rt);
}

Test(segment, of_bool_begins_with_the_least_and_the_greatest) {
    static const bool data[] = {true, false, false};
    static const int32_t ids[] = {0, 0, 2}; /* segments 1 and 3 have no rows */
    static const uint8_t smallest[] = {0, 1, 0, 1}, largest[] = {1, 0, 0, 0};
    uint8_t got[4];
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = pith_array_copy(s, PITH_BOOL, PITH_SHAPE(3), data),
                     *at = pith_array_copy(s, PITH_I32, PITH_SHAPE(3), ids);
    pt_ok(s, pith_read(s, pith_segment_min(s, x, at, 4, NULL), got, sizeof got));
    cr_assert(!memcmp(got, smallest, sizeof got));
    pt_ok(s, pith_read(s, pith_segment_max(s, x, at, 4, NULL), got, sizeof got));
    cr_assert(!memcmp(got, largest, sizeof got));
    const pith_array *count = pith_segment_sum(s, x, at, 4, NULL);
    pt_ok(s, count);
    cr_assert(pith_array_spec(count)->dtype == PITH_I64);
    pith_scope_close(s);
    pt_close(rt);
}

Test(bincount, counts_and_weighs) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *ids = pith_array_copy(s, PITH_I8, PITH_SHAPE(6),
                                            (int8_t[]){2, -7, 2, 9, 0, 4}),
                     *weights = pith_array_copy(s, PITH_F32, PITH_SHAPE(6),
                                                (float[]){.5f, 1, 2, 4, 8, 16});
    int64_t counts[5];
    float sums[5];
    pt_ok(s, pith_read(s, pith_bincount(s, ids, NULL, 5), counts, sizeof counts));
    pt_ok(s, pith_read(s, pith_bincount(s, ids, weights, 5), sums, sizeof sums));
    cr_assert(!memcmp(counts, (int64_t[]){2, 0, 2, 0, 1}, sizeof counts));
    cr_assert(!memcmp(sums, (float[]){9, 0, 2.5f, 0, 16}, sizeof sums));
    pt_ok(s, pith_bincount(s, ids, NULL, 0));
    pt_fails(PITH_E_SHAPE, s, pith_bincount(s, ids, pith_f64(s, 1), 5));
    pt_fails(PITH_E_DTYPE, s, pith_bincount(s, weights, NULL, 5));
    pt_fails(PITH_E_ARG, s, pith_bincount(s, ids, NULL, -1));
    pith_scope_close(s);
    pt_close(rt);
}

Test(histogram, counts_as_numpy) {
    enum { N = 4000, BINS = 13 };
    static double x[N], edges[BINS + 1], weight[N], sums[BINS], want_sums[BINS];
    static int64_t counts[BINS], want[BINS];
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    for (int i = 0; i < N; i++) {
        x[i] = below(1000) * 0.01 - 3;
        weight[i] = below(16);
    }
    const pith_array *a = pith_array_copy(s, PITH_F64, PITH_SHAPE(2, N / 2), x),
                     *w = pith_array_copy(s, PITH_F64, PITH_SHAPE(2, N / 2), weight);
    const pith_array *e = pith_histogram_edges(s, a, BINS);
    pt_ok(s, pith_read(s, e, edges, sizeof edges));
    cr_assert(edges[0] == -3 && edges[BINS] == x[0] + (edges[BINS] - x[0]));
    x[7] = (double)NAN; /* in no bin */
    a = pith_array_copy(s, PITH_F64, PITH_SHAPE(2, N / 2), x);
    for (int i = 0; i < N; i++)
        for (int b = 0; b < BINS; b++)
            if (edges[b] <= x[i] &&
                (x[i] < edges[b + 1] || (b == BINS - 1 && x[i] == edges[BINS]))) {
                want[b]++;
                want_sums[b] += weight[i];
            }
    pt_ok(s, pith_read(s, pith_histogram(s, a, e, NULL), counts, sizeof counts));
    pt_ok(s, pith_read(s, pith_histogram(s, a, e, w), sums, sizeof sums));
    cr_assert(!memcmp(counts, want, sizeof want));
    cr_assert(!memcmp(sums, want_sums, sizeof sums));
    /* one value, none at all */
    double two[3];
    pt_ok(s, pith_read(s, pith_histogram_edges(s, pith_f64(s, 4), 2), two, sizeof two));
    cr_assert(two[0] == 3.5 && two[1] == 4 && two[2] == 4.5);
    const pith_array *empty = pith_zeros(s, PITH_F64, PITH_SHAPE(0));
    pt_ok(s, pith_read(s, pith_histogram_edges(s, empty, 2), two, sizeof two));
    cr_assert(two[0] == 0 && two[1] == 0.5 && two[2] == 1);
    pt_fails(PITH_E_ARG, s, pith_histogram_edges(s, a, 0));
    pt_fails(PITH_E_DTYPE, s, pith_histogram_edges(s, pith_i32(s, 1), 2));
    pt_fails(PITH_E_SHAPE, s, pith_histogram(s, a, pith_f64(s, 1), NULL));
    pt_says("edges: expected rank 1 and 2 or more, got f64[]");
    pt_fails(PITH_E_SHAPE, s, pith_histogram(s, a, e, e));
    pt_says("weights: expected the shape of");
    pith_scope_close(s);
    pt_close(rt);
}

Test(one_hot, marks_what_is_inside) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *index =
        pith_array_copy(s, PITH_I8, PITH_SHAPE(2, 2), (int8_t[]){0, 2, -1, 3});
    float got[12];
    pt_ok(s, pith_read(s, pith_one_hot(s, index, 3, PITH_F32), got, sizeof got));
    static const float want[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0};
    cr_assert(!memcmp(got, want, sizeof got));
    /* 300 classes are more than an i8 counts */
    const pith_array *many = pith_one_hot(s, index, 300, PITH_I32);
    cr_assert(pith_read_i64(s, pith_sum(s, many, PITH_ALL_AXES)) == 3);
    pt_fails(PITH_E_ARG, s, pith_one_hot(s, index, -1, PITH_F32));
    pt_fails(PITH_E_DTYPE, s, pith_one_hot(s, pith_f32(s, 1), 3, PITH_F32));
    pith_scope_close(s);
    pt_close(rt);
}
