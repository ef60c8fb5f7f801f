/* The runner of cases, their data, and the cases of single collectives. */
#include "mesh/cases.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The runner ---- */

void mesh_failed(mesh_test *t, const char *file, int line, const char *what) {
    const char *slash = strrchr(file, '/');
    fprintf(stderr, "%s:%d: %s: rank %d of %d: %s: %s\n", slash ? slash + 1 : file, line,
            t->name, (int)t->rank, (int)t->size, what, pith_message(t->s));
    t->failures++;
}

int mesh_run_list(pith_scope *s,
                  const mesh_case *list,
                  const char *only,
                  const void *closure) {
    int failures = 0;
    for (const mesh_case *c = list; c->name; c++) {
        if (only && strcmp(only, c->name) != 0)
            continue;
        mesh_test t = {.s = pith_scope_open_in(s),
                       .rank = pith_axis_rank(s, NULL),
                       .size = pith_axis_size(s, NULL),
                       .name = c->name,
                       .closure = closure};
        c->run(&t);
        MESH_CHECK(&t, !pith_failed(t.s));
        pith_clear(t.s);
        pith_scope_close(t.s);
        failures += t.failures;
    }
    return failures;
}

int mesh_run_cases(pith_scope *s, const char *only) {
    static const mesh_case *const lists[] = {mesh_cases,
                                             mesh_in_use_cases,
                                             mesh_in_use_grow_cases,
                                             mesh_program_cases,
                                             mesh_halo_cases,
                                             mesh_route_cases,
                                             mesh_route_tree_cases,
                                             mesh_route_error_cases,
                                             mesh_shard_cases,
                                             mesh_shard_map_cases,
                                             mesh_shard_nest_cases,
                                             mesh_shard_flow_cases,
                                             mesh_shard_derive_cases,
                                             mesh_shard_mode_cases,
                                             mesh_shard_value_cases,
                                             mesh_shard_batch_cases,
                                             mesh_shard_check_cases,
                                             mesh_random_cases,
                                             mesh_hostile_cases,
                                             mesh_wrong_cases,
                                             mesh_decision_cases,
                                             mesh_alone_cases,
                                             mesh_cases_of_runs,
                                             mesh_cases_of_shard_runs};
    const size_t of_ranks = 5; /* the last need several: what ranks decide together */
    const size_t count =
        sizeof lists / sizeof *lists - (pith_axis_size(s, NULL) > 1 ? 0 : of_ranks);
    int failed = 0;
    for (size_t k = 0; k < count; k++)
        failed += mesh_run_list(s, lists[k], only, NULL);
    return failed;
}

/* ---- Data ---- */

static double element(int64_t rank, int64_t i) {
    uint64_t x =
        (uint64_t)rank * 0x9E3779B97F4A7C15u + (uint64_t)i * 0xBF58476D1CE4E5B9u + 7;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    x ^= x >> 31;
    /* magnitudes differ, so that the order of a sum shows */
    return ldexp((double)(int64_t)(x % 2000003) - 1000001, (int)(x >> 40) % 12 - 20);
}

const pith_array *
mesh_data(mesh_test *t, int64_t rank, pith_dtype dtype, pith_shape shape) {
    int64_t count = 1;
    for (int d = 0; d < shape.rank; d++)
        count *= shape.extents[d];
    double *values = malloc((size_t)(count + 1) * sizeof *values);
    for (int64_t i = 0; i < count; i++)
        values[i] = pith_dtype_is_float(dtype)
                        ? element(rank, i)
                        : fmod(floor(fabs(element(rank, i)) * 97), 251);
    const pith_array *f = pith_array_copy(t->s, PITH_F64, shape, values);
    free(values);
    if (dtype == PITH_I8 || dtype == PITH_BOOL)
        f = pith_cast(t->s, pith_remainder(t->s, f, 2.0), PITH_I8);
    return pith_cast(t->s, f, dtype);
}

bool mesh_equal(mesh_test *t, const pith_array *a, const pith_array *b) {
    const pith_spec *x = a ? pith_array_spec(a) : NULL,
                    *y = b ? pith_array_spec(b) : NULL;
    if (!x || x != y)
        return false;
    void *p = malloc(x->bytes + 1), *q = malloc(x->bytes + 1);
    const bool equal = pith_read(t->s, a, p, x->bytes) &&
                       pith_read(t->s, b, q, x->bytes) && memcmp(p, q, x->bytes) == 0;
    free(p);
    free(q);
    return equal;
}

bool mesh_fails(mesh_test *t, pith_status code, const char *text) {
    const bool fails = pith_code(t->s) == code && strstr(pith_message(t->s), text);
    if (!fails)
        fprintf(stderr, "rank %d: expected %s \"%s\", got %s \"%s\"\n", (int)t->rank,
                pith_status_name(code), text, pith_status_name(pith_code(t->s)),
                pith_message(t->s));
    pith_clear(t->s);
    return fails;
}

/* The data of all ranks as one array [P, ...]. */
static const pith_array *everything(mesh_test *t, pith_dtype dtype, pith_shape shape) {
    const pith_array *all[64];
    for (int64_t i = 0; i < t->size; i++)
        all[i] = mesh_data(t, i, dtype, shape);
    return pith_stack(t->s, t->size, all, 0);
}

static const pith_shape shapes[] = {
    {0, {0}},       {1, {0}},       {1, {5}},     {2, {3, 4}},
    {3, {2, 0, 3}}, {2, {700, 11}}, {1, {40001}},
};

#define EACH_SHAPE(n) for (size_t n = 0; n < sizeof shapes / sizeof *shapes; n++)
#define EACH_DTYPE(dtype)                                                                \
    for (pith_dtype dtype = PITH_BOOL; dtype <= PITH_F64; dtype = (pith_dtype)(dtype + 1))

/* ---- Sums ---- */

static void sums(mesh_test *t) {
    EACH_DTYPE(dtype)
    EACH_SHAPE(n) {
        const pith_array *own = mesh_data(t, t->rank, dtype, shapes[n]);
        const pith_array *all = everything(t, dtype, shapes[n]);
        MESH_CHECK(t, mesh_equal(t, pith_psum(t->s, own, "x", NULL),
                                 pith_sum(t->s, all, PITH_AXES(0))));
        MESH_CHECK(
            t, mesh_equal(t, pith_psum(t->s, own, NULL, NULL),
                          pith_sum(t->s, pith_all_stack(t->s, own, NULL), PITH_AXES(0))));
    }
    const pith_array *minus_zero = pith_f64(t->s, -0.0);
    MESH_CHECK(t, !signbit(pith_read_f64(t->s, pith_psum(t->s, minus_zero, NULL, NULL))));
}

/* Zeros with signs, infinities, NaN and tiny numbers, each with each on two ranks. */
static void sums_of_special_numbers(mesh_test *t) {
    static const double special[] = {0.0,  -0.0,  INFINITY, -INFINITY, NAN,
                                     1e38, -1e38, 1e-45,    5e-324};
    enum { N = sizeof special / sizeof *special };
    double own[N * N];
    for (int i = 0; i < N * N; i++)
        own[i] = special[t->rank == 0 ? i / N : (i + (int)t->rank - 1) % N];
    const pith_array *a = pith_array_copy(t->s, PITH_F64, PITH_SHAPE(N * N), own);
    for (int k = 0; k < 2; k++, a = pith_cast(t->s, a, PITH_F32)) {
        const pith_array *all = pith_all_stack(t->s, a, NULL);
        MESH_CHECK(t, mesh_equal(t, pith_psum(t->s, a, NULL, NULL),
                                 pith_sum(t->s, all, PITH_AXES(0))));
    }
}

static void sums_in_any_order(mesh_test *t) {
    const pith_collective_options unordered = {.unordered = true};
    EACH_DTYPE(dtype) {
        const pith_array *own = mesh_data(t, t->rank, dtype, PITH_SHAPE(100));
        const pith_array *sum = pith_psum(t->s, own, NULL, &unordered);
        const pith_array *expected = pith_psum(t->s, own, NULL, NULL);
        if (dtype < PITH_F32)
            MESH_CHECK(t, mesh_equal(t, sum, expected));
        else
            MESH_CHECK(t, pith_read_bool(t->s, pith_all(t->s,
                                                        pith_is_close(t->s, sum, expected,
                                                                      1e-2, 1e-3, false),
                                                        PITH_ALL_AXES)));
    }
    const pith_array *half = pith_pmean(t->s, pith_f32(t->s, 0.5f), NULL, &unordered);
    MESH_CHECK(t, pith_read_f64(t->s, half) == 0.5);
}

static void means_and_extremes(mesh_test *t) {
    /* the greatest bit counts: MPICH 4.0 takes it for a sign */
    const uint64_t large = t->rank ? 1 : UINT64_MAX - 1;
    const pith_array *u = pith_array_copy(t->s, PITH_U64, PITH_SCALAR, &large);
    MESH_CHECK(
        t, mesh_equal(t, pith_pmin(t->s, u, NULL),
                      t->size > 1 ? pith_cast(t->s, pith_i64(t->s, 1), PITH_U64) : u));
    EACH_DTYPE(dtype)
    EACH_SHAPE(n) {
        const pith_array *own = mesh_data(t, t->rank, dtype, shapes[n]);
        const pith_array *all = everything(t, dtype, shapes[n]);
        if (pith_dtype_is_float(dtype))
            MESH_CHECK(t, mesh_equal(t, pith_pmean(t->s, own, NULL, NULL),
                                     pith_mean(t->s, all, PITH_AXES(0))));
        MESH_CHECK(t, mesh_equal(t, pith_pmax(t->s, own, NULL),
                                 pith_max(t->s, all, PITH_AXES(0))));
        MESH_CHECK(t, mesh_equal(t, pith_pmin(t->s, own, NULL),
                                 pith_min(t->s, all, PITH_AXES(0))));
    }
    const pith_array *nan = pith_f64(t->s, t->rank == t->size - 1 ? NAN : 1);
    MESH_CHECK(t, isnan(pith_read_f64(t->s, pith_pmax(t->s, nan, NULL))));
    MESH_CHECK(t, isnan(pith_read_f64(t->s, pith_pmin(t->s, nan, NULL))));
    pith_pmean(t->s, pith_i32(t->s, 1), NULL, NULL);
    MESH_CHECK(
        t, mesh_fails(t, PITH_E_DTYPE, "pith_pmean: expected a float dtype, got i32"));
}

/* Rows that are not in use count as zeros. */
static void sums_of_rows_in_use(mesh_test *t) {
    const pith_collective_options used = {.rows = pith_i64(t->s, t->rank)};
    const pith_array *ones = pith_ones(t->s, PITH_F64, PITH_SHAPE(4, 2));
    const pith_array *sum = pith_psum(t->s, ones, NULL, &used);
    double got[8];
    MESH_CHECK(t, pith_read(t->s, sum, got, sizeof got));
    for (int64_t i = 0; i < 8; i++) {
        const int64_t row = i / 2;
        MESH_CHECK(t, got[i] == (double)(t->size > row + 1 ? t->size - row - 1 : 0));
    }
    const pith_collective_options bad = {.rows = pith_f32(t->s, 1)};
    pith_psum(t->s, ones, NULL, &bad);
    MESH_CHECK(t,
               mesh_fails(t, PITH_E_DTYPE, "pith_psum: rows: expected an i64 of rank 0"));
}

static void scans(mesh_test *t) {
    for (pith_dtype dtype = PITH_I8; dtype <= PITH_U64; dtype = (pith_dtype)(dtype + 1))
        EACH_SHAPE(n) {
            const pith_array *own = mesh_data(t, t->rank, dtype, shapes[n]);
            const pith_array *sum = pith_zeros(t->s, dtype, shapes[n]);
            for (int64_t i = 0; i < t->rank; i++)
                sum = pith_add(t->s, sum, mesh_data(t, i, dtype, shapes[n]));
            MESH_CHECK(t, mesh_equal(t, pith_pscan(t->s, own, NULL), sum));
        }
    pith_pscan(t->s, pith_f64(t->s, 1), NULL);
    MESH_CHECK(t, mesh_fails(t, PITH_E_DTYPE, "pith_pscan: expected integers, got f64"));
}

/* ---- Moves ---- */

/* Moves copy bytes: dtypes of three sizes stand for all. */
#define EACH_WIDTH(dtype)                                                                \
    for (pith_dtype dtype = PITH_U8; dtype; dtype = dtype == PITH_U8 ? PITH_F16          \
                                                    : dtype == PITH_F16                  \
                                                        ? PITH_F64                       \
                                                        : PITH_DTYPE_NONE)
#define EACH_FEW(n) for (size_t n = 0; n < 5; n += 2)

static void gathers(mesh_test *t) {
    EACH_WIDTH(dtype)
    EACH_SHAPE(n) {
        const pith_array *own = mesh_data(t, t->rank, dtype, shapes[n]), *all[64];
        for (int64_t i = 0; i < t->size; i++)
            all[i] = mesh_data(t, i, dtype, shapes[n]);
        MESH_CHECK(t, mesh_equal(t, pith_all_stack(t->s, own, NULL),
                                 pith_stack(t->s, t->size, all, 0)));
        for (int axis = -shapes[n].rank; axis < shapes[n].rank; axis++)
            MESH_CHECK(t, mesh_equal(t, pith_all_gather(t->s, own, NULL, axis),
                                     pith_concatenate(t->s, t->size, all, axis)));
        for (int64_t root = 0; root < t->size; root++)
            MESH_CHECK(t,
                       mesh_equal(t, pith_pbroadcast(t->s, own, NULL, root), all[root]));
    }
    pith_pbroadcast(t->s, pith_i32(t->s, 1), NULL, t->size);
    MESH_CHECK(t, mesh_fails(t, PITH_E_ARG, "pith_pbroadcast: root"));
    pith_all_gather(t->s, pith_i32(t->s, 1), NULL, 0);
    MESH_CHECK(
        t, mesh_fails(t, PITH_E_SHAPE, "pith_all_gather: axis 0 of an array of rank 0"));
}

static void blocks(mesh_test *t) {
    const int64_t p = t->size;
    const pith_shape whole = PITH_SHAPE(2 * p, 3, 4 * p);
    EACH_WIDTH(dtype) {
        const pith_array *own = mesh_data(t, t->rank, dtype, whole), *parts[64];
        for (int axis = 0; axis < 3; axis += 2) {
            const pith_array *sum = pith_psum(t->s, own, NULL, NULL);
            const int64_t n = pith_array_spec(sum)->shape[axis] / p;
            const pith_slice here = PITH_SLICE(t->rank * n, (t->rank + 1) * n, 1);
            const pith_slice slices[] = {axis ? PITH_WHOLE : here, PITH_WHOLE,
                                         axis ? here : PITH_WHOLE};
            MESH_CHECK(t, mesh_equal(t, pith_reduce_scatter(t->s, own, NULL, axis, NULL),
                                     pith_slice_array(t->s, sum, 3, slices)));
            for (int join = 0; join < 3; join++) {
                for (int64_t i = 0; i < p; i++)
                    parts[i] =
                        pith_slice_array(t->s, mesh_data(t, i, dtype, whole), 3, slices);
                MESH_CHECK(
                    t, mesh_equal(t, pith_all_to_all(t->s, own, NULL, axis, join, NULL),
                                  pith_concatenate(t->s, p, parts, join)));
            }
        }
    }
    if (p == 1)
        return;
    pith_reduce_scatter(t->s, pith_zeros(t->s, PITH_F32, PITH_SHAPE(2 * p + 1)), NULL, 0,
                        NULL);
    MESH_CHECK(t, mesh_fails(t, PITH_E_SHAPE, "expected a multiple of the"));
}

static void permutations(mesh_test *t) {
    const int64_t p = t->size, ends[][2] = {{p - 1, 0}}, itself[][2] = {{0, 0}};
    EACH_WIDTH(dtype)
    EACH_FEW(n) {
        const pith_array *own = mesh_data(t, t->rank, dtype, shapes[n]);
        const pith_array *zeros = pith_zeros(t->s, dtype, shapes[n]);
        const pith_array *last = mesh_data(t, p - 1, dtype, shapes[n]);
        MESH_CHECK(t, mesh_equal(t, pith_ppermute(t->s, own, NULL, 1, ends),
                                 t->rank ? zeros : last));
        MESH_CHECK(t, mesh_equal(t, pith_ppermute(t->s, own, NULL, 1, itself),
                                 t->rank ? zeros : own));
        MESH_CHECK(t, mesh_equal(t, pith_ppermute(t->s, own, NULL, 0, NULL), zeros));
        for (int64_t by = -p - 1; by <= p + 1; by++) {
            const int64_t from = t->rank - by, wrapped = ((from % p) + p) % p;
            MESH_CHECK(t, mesh_equal(t, pith_pshift(t->s, own, "x", by, true, NULL),
                                     mesh_data(t, wrapped, dtype, shapes[n])));
            MESH_CHECK(t, mesh_equal(t, pith_pshift(t->s, own, "x", by, false, NULL),
                                     from >= 0 && from < p
                                         ? mesh_data(t, from, dtype, shapes[n])
                                         : zeros));
        }
    }
    const int64_t twice[][2] = {{0, 0}, {0, 0}}, outside[][2] = {{0, p}};
    pith_ppermute(t->s, pith_i32(t->s, 1), NULL, 2, twice);
    MESH_CHECK(t, mesh_fails(t, PITH_E_ARG, "pair 1 sends from rank 0 a second time"));
    pith_ppermute(t->s, pith_i32(t->s, 1), NULL, 1, outside);
    MESH_CHECK(t, mesh_fails(t, PITH_E_ARG, "which does not exist"));
}

/* ---- Axes ---- */

static void groups(mesh_test *t) {
    if (t->size % 2)
        return;
    const int64_t half = t->size / 2, x = t->rank / half, y = t->rank % half;
    MESH_CHECK(t, pith_mesh_open(t->s, PITH_MESH_AXES({"x", 2}, {"y", 0}), NULL));
    const pith_array *number = pith_i64(t->s, t->rank);
    MESH_CHECK(t, pith_read_i64(t->s, pith_axis_index(t->s, "x")) == x);
    MESH_CHECK(t, pith_read_i64(t->s, pith_axis_index(t->s, "y,x")) == 2 * y + x);
    MESH_CHECK(t,
               pith_read_i64(t->s, pith_psum(t->s, number, "x", NULL)) == 2 * y + half);
    MESH_CHECK(t, pith_read_i64(t->s, pith_psum(t->s, number, "y", NULL)) ==
                      half * half * x + half * (half - 1) / 2);
    /* the slowest axis of the list comes first */
    const pith_array *turned = pith_all_stack(t->s, number, "y,x");
    int64_t numbers[64];
    MESH_CHECK(t, pith_read(t->s, turned, numbers, (size_t)t->size * sizeof *numbers));
    for (int64_t i = 0; i < t->size; i++)
        MESH_CHECK(t, numbers[i] == i % 2 * half + i / 2);
    MESH_CHECK(t, pith_read_i64(t->s, pith_pshift(t->s, number, "y", 1, true, NULL)) ==
                      x * half + (y + half - 1) % half);
    pith_psum(t->s, number, "z", NULL);
    MESH_CHECK(t, mesh_fails(t, PITH_E_ARG,
                             "pith_psum: axes \"z\": no such axis; the mesh has x, y"));
}

/* ---- Trees and rows ---- */

static void trees(mesh_test *t) {
    const pith_array *leaves[] = {
        mesh_data(t, t->rank, PITH_F64, PITH_SHAPE(3)),
        mesh_data(t, t->rank, PITH_I32, PITH_SHAPE(2, 2)),
        mesh_data(t, t->rank, PITH_F64, PITH_SCALAR),
        mesh_data(t, t->rank, PITH_BOOL, PITH_SHAPE(5)),
        mesh_data(t, t->rank, PITH_I64, PITH_SHAPE(0)),
    };
    enum { COUNT = sizeof leaves / sizeof *leaves };
    const void *tree = pith_tuple_make(t->s, COUNT, (const void *const *)leaves);
    const pith_array *const *sums = NULL;
    const pith_treedef *def =
        pith_tree_flatten(t->s, pith_tree_psum(t->s, tree, NULL, NULL), &sums);
    MESH_CHECK(t, def && pith_treedef_num_leaves(def) == COUNT);
    for (int i = 0; def && i < COUNT; i++)
        MESH_CHECK(t, mesh_equal(t, sums[i], pith_psum(t->s, leaves[i], NULL, NULL)));
}

static void rows(mesh_test *t) {
    static const int64_t counts[][8] = {
        {3, 5, 0, 1, 2, 7, 1, 1},
        {4096, 4096, 4096, 4096, 4096, 4096, 4096, 4096},
        {5000, 0, 3191, 1, 12288, 9, 0, 4095},
        {0, 0, 0, 0, 0, 0, 0, 0},
        {0, 1, 13000, 0, 6000, 2, 2, 8192},
    };
    static const pith_dtype dtypes[] = {PITH_F64, PITH_F32, PITH_BF16, PITH_I32,
                                        PITH_BOOL};
    if (t->size > 8)
        return;
    for (size_t n = 0; n < sizeof counts / sizeof *counts; n++)
        for (size_t k = 0; k < sizeof dtypes / sizeof *dtypes; k++) {
            const pith_array *all[8];
            for (int64_t i = 0; i < t->size; i++)
                all[i] = mesh_data(t, i, dtypes[k], PITH_SHAPE(counts[n][i], 2));
            const pith_array *whole = pith_concatenate(t->s, t->size, all, 0);
            const pith_array *expected = pith_sum(t->s, whole, PITH_AXES(0));
            MESH_CHECK(t, mesh_equal(t, pith_psum_rows(t->s, all[t->rank], NULL, NULL),
                                     expected));
            /* with room for more rows than are in use */
            const pith_array *room = mesh_data(t, 77, dtypes[k], PITH_SHAPE(100, 2));
            const pith_array *roomy =
                pith_concatenate(t->s, 2, (const pith_array *[]){all[t->rank], room}, 0);
            const pith_collective_options used = {.rows =
                                                      pith_i64(t->s, counts[n][t->rank])};
            MESH_CHECK(t,
                       mesh_equal(t, pith_psum_rows(t->s, roomy, NULL, &used), expected));
        }
    const pith_collective_options many = {.rows = pith_i64(t->s, 4)};
    pith_psum_rows(t->s, pith_zeros(t->s, PITH_F64, PITH_SHAPE(3)), NULL, &many);
    MESH_CHECK(t, mesh_fails(t, PITH_E_INDEX,
                             "pith_psum_rows: rows: 4 rows in use, expected 0 to 3"));
}

/* ---- Errors ---- */

static void differences(mesh_test *t) {
    if (t->size == 1)
        return;
    const bool odd = t->rank == t->size - 1;
    const pith_array *three = pith_zeros(t->s, PITH_F32, PITH_SHAPE(3));
    char other[32];
    snprintf(other, sizeof other, "rank %d (", (int)t->size - 1);
    /* another operation: both MPIs would give wrong numbers */
    if (odd)
        pith_pmax(t->s, three, NULL);
    else
        pith_psum(t->s, three, NULL, NULL);
    MESH_CHECK(t, strstr(pith_message(t->s), other) &&
                      strstr(pith_message(t->s), "rank 0 ("));
    MESH_CHECK(
        t, strstr(pith_message(t->s), "calls pith_psum of f32[3] over x at cases.c:"));
    MESH_CHECK(t, mesh_fails(t, PITH_E_DIVERGED,
                             "calls pith_pmax of f32[3] over x at cases.c:"));
    /* another dtype of the same size, another shape, another axis of a gather */
    pith_psum(t->s, odd ? pith_i32(t->s, 1) : pith_f32(t->s, 1), NULL, NULL);
    MESH_CHECK(t, mesh_fails(t, PITH_E_DIVERGED, "pith_psum of i32"));
    pith_psum(t->s, odd ? pith_zeros(t->s, PITH_F32, PITH_SHAPE(4)) : three, NULL, NULL);
    MESH_CHECK(t, mesh_fails(t, PITH_E_DIVERGED, "pith_psum of f32[4] over x"));
    pith_all_gather(t->s, pith_zeros(t->s, PITH_F32, PITH_SHAPE(3, 3)), NULL, odd);
    MESH_CHECK(t, mesh_fails(t, PITH_E_DIVERGED, "axis 1"));
    pith_pshift(t->s, three, "x", odd ? 1 : -1, false, NULL);
    MESH_CHECK(t, mesh_fails(t, PITH_E_DIVERGED,
                             "pith_pshift of f32[3] over x, by 1, wrap 0 at"));
    pith_pbroadcast(t->s, three, NULL, odd);
    MESH_CHECK(t, mesh_fails(t, PITH_E_DIVERGED, "f32[3] over x, root 1 at"));
    pith_psum(t->s, three, NULL, &(pith_collective_options){.unordered = odd});
    MESH_CHECK(t, mesh_fails(t, PITH_E_DIVERGED, "f32[3] over x, unordered at"));
    const void *pair[] = {three, odd ? three : pith_i32(t->s, 1)};
    pith_tree_psum(t->s, pith_tuple_make(t->s, 2, pair), NULL, NULL);
    MESH_CHECK(t, mesh_fails(t, PITH_E_DIVERGED, "pith_tree_psum"));
    /* the same leaves under other names */
    pair[1] = three;
    pith_tree_psum(
        t->s,
        pith_dict_make(
            t->s, 2, odd ? (const char *[]){"a", "c"} : (const char *[]){"a", "b"}, pair),
        NULL, NULL);
    MESH_CHECK(t, mesh_fails(t, PITH_E_DIVERGED, "pith_tree_psum"));
    MESH_CHECK(t, pith_agree(t->s));
}

/* A rank that has failed takes part in every collective, and its peers get its error. */
static void failures(mesh_test *t) {
    if (t->size == 1)
        return;
    const int64_t pairs[][2] = {{0, 1}};
    for (int call = 0; call < 13; call++) {
        const pith_array *a = pith_zeros(t->s, PITH_I32, PITH_SHAPE(t->size, t->size));
        if (t->rank == 1)
            a = pith_reshape(t->s, a, PITH_SHAPE(7, 13)); /* NULL */
        const void *made = call == 0    ? (const void *)pith_psum(t->s, a, NULL, NULL)
                           : call == 1  ? pith_pmax(t->s, a, NULL)
                           : call == 2  ? pith_pbroadcast(t->s, a, NULL, 0)
                           : call == 3  ? pith_pscan(t->s, a, NULL)
                           : call == 4  ? pith_all_gather(t->s, a, NULL, 1)
                           : call == 5  ? pith_all_stack(t->s, a, NULL)
                           : call == 6  ? pith_reduce_scatter(t->s, a, NULL, 0, NULL)
                           : call == 7  ? pith_all_to_all(t->s, a, NULL, 0, 1, NULL)
                           : call == 8  ? pith_ppermute(t->s, a, NULL, 1, pairs)
                           : call == 9  ? pith_pshift(t->s, a, NULL, 1, true, NULL)
                           : call == 10 ? pith_psum_rows(t->s, a, NULL, NULL)
                           : call == 11 ? pith_tree_psum(t->s, a, NULL, NULL)
                                        : pith_pmin(t->s, a, NULL);
        MESH_CHECK(t, !made);
        MESH_CHECK(t, t->rank == 1 || strstr(pith_message(t->s), ": rank 1 of "));
        MESH_CHECK(
            t, mesh_fails(t, t->rank == 1 ? PITH_E_SHAPE : PITH_E_PEER, "pith_reshape"));
    }
    /* an argument that is wrong on one rank */
    pith_psum(t->s, pith_i32(t->s, 1), t->rank == 1 ? "q" : "x", NULL);
    MESH_CHECK(t, mesh_fails(t, t->rank == 1 ? PITH_E_ARG : PITH_E_PEER, "no such axis"));
    MESH_CHECK(t, pith_agree(t->s));
}

const mesh_case mesh_cases[] = {
    {"sums", sums},
    {"sums_of_special_numbers", sums_of_special_numbers},
    {"sums_in_any_order", sums_in_any_order},
    {"means_and_extremes", means_and_extremes},
    {"sums_of_rows_in_use", sums_of_rows_in_use},
    {"scans", scans},
    {"gathers", gathers},
    {"blocks", blocks},
    {"permutations", permutations},
    {"groups", groups},
    {"trees", trees},
    {"rows", rows},
    {"differences", differences},
    {"failures", failures},
    {NULL, NULL},
};
