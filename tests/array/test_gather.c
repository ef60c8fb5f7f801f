/* Indices of several entries, and index arrays along an axis, against a plain statement
 * of what NumPy and JAX do with them: for every element of x[entries] the place it is
 * from. Random shapes, entries, modes and operations. */
#include "pith_test.h"

#include <pith/array.h>

enum { MOST = 4096, TRIALS = 1500 };

static uint64_t seed = 11;
static int below(int n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return n ? (int)((seed >> 33) % (uint64_t)n) : 0;
}

/* ---- The plain statement ---- */

typedef struct {
    int kind; /* of pith_entry_kind */
    int64_t at;
    pith_slice slice;
    pith_shape shape; /* of an index array */
    int64_t values[MOST];
    int64_t first, count; /* of a slice: what it picks */
} entry;

static int64_t product(pith_shape shape) {
    int64_t n = 1;
    for (int d = 0; d < shape.rank; d++)
        n *= shape.extents[d];
    return n;
}

/* A place along an axis by the mode; -1: none. */
static int64_t placed(int64_t i, int64_t extent, pith_index_mode mode) {
    if (mode == PITH_INDEX_WRAP)
        return extent ? (i % extent + extent) % extent : -1;
    i += i < 0 ? extent : 0;
    if (mode == PITH_INDEX_CLIP)
        return i < 0 ? 0 : i >= extent ? extent - 1 : i;
    return i < 0 || i >= extent ? -1 : i;
}

static void count_slice(entry *e, int64_t extent) {
    if (e->kind == PITH_ENTRY_IS_WHOLE)
        e->slice = PITH_WHOLE;
    const int64_t step = e->slice.step;
    e->first = -1;
    e->count = 0;
    /* every place that Python's range would give, by walking */
    int64_t start = e->slice.start, limit = e->slice.limit;
    if (start < 0)
        start += extent;
    if (limit < 0 && limit != INT64_MIN)
        limit += extent;
    if (step > 0) {
        start = start < 0 ? 0 : start;
        limit = limit > extent ? extent : limit;
        for (int64_t i = start; i < limit; i += step, e->count++)
            e->first = e->count ? e->first : i;
    } else {
        start = start >= extent ? extent - 1 : start;
        limit = limit == INT64_MIN || limit < -1 ? -1 : limit;
        for (int64_t i = start; i > limit; i += step, e->count++)
            e->first = e->count ? e->first : i;
    }
}

typedef struct {
    pith_shape shape;
    int64_t from[MOST]; /* of every element, in C order; -1: none */
} places;

static void broadcast_with(pith_shape *all, pith_shape one) {
    const int rank = one.rank > all->rank ? one.rank : all->rank;
    pith_shape joined = {rank, {0}};
    for (int d = 0; d < rank; d++) {
        const int a = d - (rank - all->rank), b = d - (rank - one.rank);
        const int64_t x = a < 0 ? 1 : all->extents[a], y = b < 0 ? 1 : one.extents[b];
        joined.extents[d] = x == 1 ? y : x;
    }
    *all = joined;
}

static int64_t value_at(const entry *e, pith_shape all, const int64_t *at) {
    int64_t offset = 0;
    for (int d = 0; d < e->shape.rank; d++) {
        const int64_t extent = e->shape.extents[d], i = at[all.rank - e->shape.rank + d];
        offset = offset * extent + (extent == 1 ? 0 : i);
    }
    return e->values[offset];
}

static void find_places(pith_shape x, entry *entries, pith_index_mode mode, places *out) {
    pith_shape all = {0, {0}};
    int first = -1, last = -1, chosen = 0, role[2 * PITH_MAX_RANK], rank = 0;
    for (int d = 0; d < x.rank; d++) {
        if (entries[d].kind <= PITH_ENTRY_IS_SLICE) {
            count_slice(&entries[d], x.extents[d]);
            continue;
        }
        if (entries[d].kind == PITH_ENTRY_IS_PLACE) {
            entries[d].shape = PITH_SCALAR;
            entries[d].values[0] = entries[d].at;
        }
        broadcast_with(&all, entries[d].shape);
        first = first < 0 ? d : first;
        last = d;
        chosen++;
    }
    const bool apart = chosen > 0 && last - first + 1 != chosen;
    for (int d = apart ? -1 : 0; d < x.rank; d++) {
        if (d < 0 || (!apart && d == first))
            for (int k = 0; k < all.rank; k++) {
                out->shape.extents[rank] = all.extents[k];
                role[rank++] = -1 - k;
            }
        if (d >= 0 && entries[d].kind <= PITH_ENTRY_IS_SLICE) {
            out->shape.extents[rank] = entries[d].count;
            role[rank++] = d;
        }
    }
    out->shape.rank = rank;
    const int64_t count = product(out->shape);
    for (int64_t i = 0; i < count; i++) {
        int64_t at[PITH_MAX_RANK] = {0}, along[PITH_MAX_RANK] = {0}, rest = i, from = 0;
        for (int d = rank - 1; d >= 0; d--) {
            const int64_t k = rest % out->shape.extents[d];
            rest /= out->shape.extents[d];
            if (role[d] < 0)
                at[-1 - role[d]] = k;
            else
                along[role[d]] = entries[role[d]].first + k * entries[role[d]].slice.step;
        }
        for (int d = 0; d < x.rank; d++) {
            const int64_t place =
                entries[d].kind <= PITH_ENTRY_IS_SLICE
                    ? along[d]
                    : placed(value_at(&entries[d], all, at), x.extents[d], mode);
            from = from < 0 || place < 0 ? -1 : from * x.extents[d] + place;
        }
        out->from[i] = from;
    }
}

/* ---- Random cases ---- */

static const pith_index_mode modes[] = {PITH_INDEX_DROP, PITH_INDEX_CLIP,
                                        PITH_INDEX_WRAP};

static pith_shape random_shape(int rank, int least) {
    pith_shape shape = {rank, {0}};
    for (int d = 0; d < rank; d++)
        shape.extents[d] = least + below(5 - least);
    return shape;
}

/* Entries for an array of that shape; index arrays broadcast against each other. */
static void random_entries(pith_shape x, entry *entries) {
    const pith_shape common = random_shape(below(3), 0);
    for (int d = 0; d < x.rank; d++) {
        entry *e = &entries[d];
        e->kind = below(4);
        e->at = below(2 * (int)x.extents[d] + 3) - x.extents[d] - 1;
        e->slice = below(2) ? PITH_WHOLE
                            : PITH_SLICE(below(9) - 4, below(9) - 4, below(2) ? 1 : -1);
        e->slice.step *= 1 + below(2);
        e->shape = common;
        for (int k = 0; k < common.rank; k++)
            e->shape.extents[k] = below(4) ? common.extents[k] : 1;
        const int cut = below(common.rank + 1); /* leading axes that it lacks */
        e->shape.rank -= cut;
        for (int k = 0; k < e->shape.rank; k++)
            e->shape.extents[k] = e->shape.extents[k + cut];
        const int64_t n = product(e->shape);
        for (int64_t i = 0; i < n; i++)
            e->values[i] = below(2 * (int)x.extents[d] + 3) - x.extents[d] - 1;
    }
}

static const pith_array *index_array(pith_scope *s, const entry *e) {
    static const pith_dtype dtypes[] = {PITH_I64, PITH_I32, PITH_I16, PITH_I8};
    return pith_cast(s, pith_array_copy(s, PITH_I64, e->shape, e->values),
                     dtypes[below(4)]);
}

static void
make_entries(pith_scope *s, pith_shape x, const entry *from, pith_index_entry *to) {
    for (int d = 0; d < x.rank; d++)
        to[d] =
            from[d].kind == PITH_ENTRY_IS_ARRAY
                ? PITH_ENTRY_ARRAY(index_array(s, &from[d]))
            : from[d].kind == PITH_ENTRY_IS_PLACE
                ? PITH_ENTRY_AT(from[d].at)
                : (pith_index_entry){(pith_entry_kind)from[d].kind, NULL, from[d].slice};
}

static bool
none_chooses_from_nothing(pith_shape x, const entry *entries, pith_index_mode mode) {
    for (int d = 0; d < x.rank; d++)
        if (x.extents[d] == 0 && mode != PITH_INDEX_DROP &&
            entries[d].kind > PITH_ENTRY_IS_SLICE)
            return false;
    return true;
}

static void same_shape(const pith_array *a, pith_shape shape) {
    const pith_spec *spec = pith_array_spec(a);
    cr_assert(spec->rank == shape.rank);
    for (int d = 0; d < shape.rank; d++)
        cr_assert(spec->shape[d] == shape.extents[d], "axis %d: %d, expected %d", d,
                  (int)spec->shape[d], (int)shape.extents[d]);
}

Test(gather, is_what_numpy_gives) {
    static entry entries[4];
    static places want;
    static double x[MOST], got[MOST];
    pith_runtime *rt = pt_open();
    for (int i = 0; i < MOST; i++)
        x[i] = i + 0.5;
    for (int trial = 0; trial < TRIALS; trial++) {
        pith_scope *s = pith_scope_open(rt);
        const pith_shape shape = random_shape(below(5), below(8) != 0);
        const pith_index_mode mode = modes[below(3)];
        pith_index_entry index[4];
        random_entries(shape, entries);
        if (none_chooses_from_nothing(shape, entries, mode)) {
            find_places(shape, entries, mode, &want);
            make_entries(s, shape, entries, index);
            const pith_array *a = pith_array_copy(s, PITH_F64, shape, x);
            const pith_array *r =
                pith_gather(s, a, shape.rank, index,
                            &(pith_take_options){.mode = mode, .fill = &(double){-1}});
            pt_ok(s, r);
            same_shape(r, want.shape);
            const int64_t n = product(want.shape);
            pt_ok(s, pith_read(s, r, got, (size_t)n * sizeof *got));
            for (int64_t i = 0; i < n; i++)
                cr_assert(got[i] == (want.from[i] < 0 ? -1 : x[want.from[i]]),
                          "trial %d element %d", trial, (int)i);
        }
        pith_scope_close(s);
    }
    pt_close(rt);
}

static int64_t joined(pith_scatter_operation operation, int64_t a, int64_t b) {
    switch (operation) {
        case PITH_SCATTER_SET:
            return b;
        case PITH_SCATTER_ADD:
            return a + b;
        case PITH_SCATTER_MUL:
            return (int64_t)((uint64_t)a * (uint64_t)b);
        case PITH_SCATTER_MIN:
            return a < b ? a : b;
        case PITH_SCATTER_MAX:
            return a > b ? a : b;
        case PITH_SCATTER_AND:
            return a & b;
        case PITH_SCATTER_OR:
            return a | b;
    }
    return 0;
}

Test(scatter, is_what_numpy_gives) {
    static entry entries[4];
    static places at;
    static int64_t x[MOST], value[MOST], want[MOST], got[MOST];
    pith_runtime *rt = pt_open();
    for (int trial = 0; trial < TRIALS; trial++) {
        pith_scope *s = pith_scope_open(rt);
        const pith_shape shape = random_shape(below(5), below(8) != 0);
        const pith_index_mode mode = modes[below(3)];
        const pith_scatter_operation operation = (pith_scatter_operation)below(7);
        pith_index_entry index[4];
        random_entries(shape, entries);
        if (none_chooses_from_nothing(shape, entries, mode)) {
            const bool scalar = below(3) == 0;
            find_places(shape, entries, mode, &at);
            make_entries(s, shape, entries, index);
            const int64_t n = product(shape), m = product(at.shape);
            for (int64_t i = 0; i < n; i++)
                want[i] = x[i] = below(200) - 100;
            for (int64_t i = 0; i < m; i++)
                value[i] = below(200) - 100;
            for (int64_t i = 0; i < m; i++)
                if (at.from[i] >= 0)
                    want[at.from[i]] =
                        joined(operation, want[at.from[i]], value[scalar ? 0 : i]);
            const pith_array *r = pith_scatter(
                s, operation, pith_array_copy(s, PITH_I64, shape, x), shape.rank, index,
                pith_array_copy(s, PITH_I64, scalar ? PITH_SCALAR : at.shape, value),
                &(pith_scatter_options){.mode = mode});
            pt_ok(s, r);
            same_shape(r, shape);
            pt_ok(s, pith_read(s, r, got, (size_t)n * sizeof *got));
            cr_assert(memcmp(got, want, (size_t)n * sizeof *got) == 0,
                      "trial %d operation %d", trial, (int)operation);
        }
        pith_scope_close(s);
    }
    pt_close(rt);
}

/* u64 indices beyond 2^63 lie outside, also beside indices of another dtype. */
Test(gather, takes_indices_of_several_dtypes) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = pith_reshape(s, pith_arange(s, PITH_I32, 6), PITH_SHAPE(2, 3));
    const pith_array *rows = pith_array_copy(s, PITH_U64, PITH_SHAPE(3),
                                             (uint64_t[]){1, UINT64_MAX, 0}),
                     *columns =
                         pith_array_copy(s, PITH_I8, PITH_SHAPE(3), (int8_t[]){-1, 0, 1});
    const pith_index_entry index[] = {PITH_ENTRY_ARRAY(rows), PITH_ENTRY_ARRAY(columns)};
    static const struct {
        pith_index_mode mode;
        int32_t want[3];
    } cases[] = {{PITH_INDEX_FILL, {5, INT32_MIN, 1}},
                 {PITH_INDEX_CLIP, {5, 3, 1}},
                 {PITH_INDEX_WRAP, {5, 3, 1}}}; /* 2^64 - 1 is odd */
    for (int k = 0; k < 3; k++) {
        int32_t got[3];
        const pith_array *r =
            pith_gather(s, x, 2, index, &(pith_take_options){.mode = cases[k].mode});
        pt_ok(s, pith_read(s, r, got, sizeof got));
        cr_assert(memcmp(got, cases[k].want, sizeof got) == 0, "mode %d", k);
    }
    pith_scope_close(s);
    pt_close(rt);
}

Test(gather, refuses) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = pith_zeros(s, PITH_F32, PITH_SHAPE(2, 3));
    const pith_array *two = pith_arange(s, PITH_I32, 2),
                     *three = pith_arange(s, PITH_I32, 3);
    const pith_index_entry apart[] = {PITH_ENTRY_ARRAY(two), PITH_ENTRY_ARRAY(three)},
                           real[] = {PITH_ENTRY_WHOLE, PITH_ENTRY_ARRAY(x)},
                           none[] = {PITH_ENTRY_ARRAY(NULL)},
                           still[] = {PITH_ENTRY_SLICE(0, 1, 0)},
                           beyond[] = {PITH_ENTRY_AT(2)};
    pt_fails(PITH_E_SHAPE, s, pith_gather(s, x, 2, apart, NULL));
    pt_says("pith_gather: entry 1: i32[3] does not broadcast with earlier entries");
    pt_fails(PITH_E_DTYPE, s, pith_gather(s, x, 2, real, NULL));
    pt_says("entry 1: expected an integer dtype, got f32");
    pt_fails(PITH_E_ARG, s, pith_gather(s, x, 1, none, NULL));
    pt_says("entry 0");
    pt_fails(PITH_E_ARG, s, pith_gather(s, x, 1, still, NULL));
    pt_says("step 0");
    pt_fails(PITH_E_ARG, s, pith_gather(s, x, 1, NULL, NULL));
    pt_fails(PITH_E_SHAPE, s, pith_gather(s, x, 3, (pith_index_entry[3]){{0}}, NULL));
    pt_says("3 entries for f32[2,3]");
    pt_fails(PITH_E_ARG, s,
             pith_gather(s, x, 1, beyond, &(pith_take_options){.axis = 1}));
    pt_fails(PITH_E_DTYPE, s,
             pith_gather(s, pith_zeros(s, PITH_I8, PITH_SHAPE(2)), 1, beyond,
                         &(pith_take_options){.fill = &(double){1000}}));
    pt_says("fill: 1000 is not exact in i8");
    pt_fails(PITH_E_SHAPE, s, pith_scatter(s, PITH_SCATTER_ADD, x, 1, beyond, two, NULL));
    pt_says("value: expected f32[3] or a shape that broadcasts to it, got i32[2]");
    pt_fails(PITH_E_ARG, s,
             pith_scatter(s, (pith_scatter_operation)9, x, 1, beyond, x, NULL));
    pt_fails(PITH_E_DTYPE, s,
             pith_scatter(s, PITH_SCATTER_AND, x, 1, beyond, three, NULL));
    /* the error surfaces where it is waited for, as for every operation */
    pith_gather(s, x, 1, beyond, &(pith_take_options){.mode = PITH_INDEX_ERROR});
    pt_fails(PITH_E_INDEX, s, pith_wait(s));
    pt_says(
        "pith_gather: index 2 at position 0 is out of range for axis 0 with extent 2");
    pith_scope_close(s);
    pt_close(rt);
}

Test(along_axis, takes_and_puts_place_by_place) {
    enum { A = 3, N = 4, B = 2, M = 5 };
    static double x[A * N * B], got[A * N * B], want[A * N * B], taken[A * M * B];
    static int16_t index[A * M * B];
    pith_runtime *rt = pt_open();
    for (int trial = 0; trial < 200; trial++) {
        pith_scope *s = pith_scope_open(rt);
        const pith_index_mode mode = modes[below(3)];
        const bool add = below(2);
        for (int i = 0; i < A * N * B; i++)
            x[i] = want[i] = below(1000);
        for (int i = 0; i < A * M * B; i++)
            index[i] = (int16_t)(below(2 * N + 4) - N - 2);
        const pith_array *a = pith_array_copy(s, PITH_F64, PITH_SHAPE(A, N, B), x),
                         *at = pith_array_copy(s, PITH_I16, PITH_SHAPE(A, M, B), index);
        const pith_array *r = pith_take_along_axis(
            s, a, at,
            &(pith_take_options){.axis = -2, .mode = mode, .fill = &(double){-1}});
        pt_ok(s, pith_read(s, r, taken, sizeof taken));
        for (int i = 0; i < A * M * B; i++) {
            const int64_t place = placed(index[i], N, mode),
                          from = (i / (M * B) * N + place) * B + i % B;
            cr_assert(taken[i] == (place < 0 ? -1 : x[from]));
            if (place >= 0)
                want[from] = add ? want[from] + i : i;
        }
        const pith_array *put = pith_put_along_axis(
            s, add ? PITH_SCATTER_ADD : PITH_SCATTER_SET, a, at,
            pith_reshape(s, pith_arange(s, PITH_F64, A * M * B), PITH_SHAPE(A, M, B)),
            &(pith_scatter_options){.axis = 1, .mode = mode});
        pt_ok(s, pith_read(s, put, got, sizeof got));
        cr_assert(memcmp(got, want, sizeof got) == 0);
        pith_scope_close(s);
    }
    pt_close(rt);
}

Test(along_axis, broadcasts_and_refuses) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = pith_reshape(s, pith_arange(s, PITH_I32, 6), PITH_SHAPE(2, 3)),
                     *last = pith_full(s, PITH_I8, PITH_SHAPE(1, 1), -1);
    int32_t got[6];
    const pith_array *r =
        pith_take_along_axis(s, x, last, &(pith_take_options){.axis = 1});
    pt_ok(s, pith_read(s, r, got, 2 * sizeof *got));
    cr_assert(got[0] == 2 && got[1] == 5);
    r = pith_put_along_axis(s, PITH_SCATTER_SET, x, last, pith_i32(s, 9),
                            &(pith_scatter_options){.axis = 1});
    pt_ok(s, pith_read(s, r, got, sizeof got));
    cr_assert(got[1] == 1 && got[2] == 9 && got[5] == 9);
    pt_fails(PITH_E_SHAPE, s, pith_take_along_axis(s, x, pith_i32(s, 0), NULL));
    pt_says("index: expected the extents of i32[2,3] except along axis 0, got i32[]");
    pt_fails(PITH_E_SHAPE, s,
             pith_put_along_axis(s, PITH_SCATTER_SET,
                                 pith_zeros(s, PITH_I32, PITH_SHAPE(2, 1)), x,
                                 pith_i32(s, 0), NULL));
    pt_says("does not have the extents");
    pith_scope_close(s);
    pt_close(rt);
}

/* Promises change no result that keeps them. */
Test(scatter, promises_give_the_same_bits) {
    enum { N = 1000, M = 100000 };
    static double value[M], plain[N], got[M];
    static int32_t sorted[M], unique[M];
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    for (int i = 0; i < M; i++) {
        value[i] = sin(i) * (i % 7 ? 1 : 1e9);
        sorted[i] = (int32_t)((int64_t)i * (N + 20) / M); /* the last ones are outside */
        unique[i] = (int32_t)((int64_t)i * 7919 % M);
    }
    const pith_array *values = pith_array_copy(s, PITH_F64, PITH_SHAPE(M), value),
                     *at = pith_array_copy(s, PITH_I32, PITH_SHAPE(M), sorted),
                     *once = pith_array_copy(s, PITH_I32, PITH_SHAPE(M), unique),
                     *zeros = pith_zeros(s, PITH_F64, PITH_SHAPE(N));
    pt_ok(s, pith_read(s, pith_scatter_add(s, zeros, at, values, NULL), plain,
                       sizeof plain));
    const pith_array *r =
        pith_scatter_add(s, zeros, at, values, &(pith_scatter_options){.sorted = true});
    pt_ok(s, pith_read(s, r, got, sizeof plain));
    cr_assert(memcmp(got, plain, sizeof plain) == 0);
    r = pith_scatter_set(s, pith_zeros(s, PITH_F64, PITH_SHAPE(M)), once, values,
                         &(pith_scatter_options){.unique = true});
    pt_ok(s, pith_read(s, r, got, sizeof got));
    for (int i = 0; i < M; i++)
        cr_assert(got[unique[i]] == value[i]);
    r = pith_scatter_add(s, zeros, at, values,
                         &(pith_scatter_options){.unordered = true});
    pt_ok(s, pith_read(s, r, got, sizeof plain));
    for (int i = 0; i < N; i++)
        cr_assert_float_eq(got[i], plain[i], 1e-3);
    pith_scope_close(s);
    pt_close(rt);
}

Test(dynamic_slice, is_clamped) {
    static const struct {
        int64_t starts[2];
        int64_t at[2];
    } cases[] = {{{0, 0}, {0, 0}},   {{1, 2}, {1, 2}},  {{9, 9}, {2, 2}},
                 {{-1, -4}, {2, 0}}, {{-9, 1}, {0, 1}}, {{INT64_MIN, INT64_MAX}, {0, 2}}};
    enum { ROWS = 4, COLUMNS = 4 };
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = pith_reshape(s, pith_arange(s, PITH_I16, ROWS * COLUMNS),
                                       PITH_SHAPE(ROWS, COLUMNS)),
                     *box = pith_full(s, PITH_I16, PITH_SHAPE(2, 2), -5);
    for (int k = 0; k < 6; k++) {
        const pith_array *starts =
            pith_array_copy(s, PITH_I64, PITH_SHAPE(2), cases[k].starts);
        int16_t got[4], after[ROWS * COLUMNS];
        pt_ok(s, pith_read(s, pith_dynamic_slice(s, x, starts, PITH_SHAPE(2, 2)), got,
                           sizeof got));
        pt_ok(s, pith_read(s, pith_dynamic_update_slice(s, x, box, starts), after,
                           sizeof after));
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLUMNS; j++) {
                const int64_t p = i - cases[k].at[0], q = j - cases[k].at[1];
                const bool in = p >= 0 && p < 2 && q >= 0 && q < 2;
                cr_assert(after[i * COLUMNS + j] == (in ? -5 : i * COLUMNS + j));
                cr_assert(!in || got[p * 2 + q] == i * COLUMNS + j);
            }
    }
    const pith_array *beyond =
        pith_array_copy(s, PITH_U64, PITH_SHAPE(2), (uint64_t[]){UINT64_MAX, 1});
    int16_t got[4];
    pt_ok(s, pith_read(s, pith_dynamic_slice(s, x, beyond, PITH_SHAPE(2, 2)), got,
                       sizeof got));
    cr_assert(got[0] == 9);
    const pith_array *none = pith_zeros(s, PITH_I32, PITH_SHAPE(0));
    pt_ok(s, pith_read_i64(s, pith_dynamic_slice(s, pith_i64(s, 7), none, PITH_SCALAR)) ==
                 7);
    pt_ok(s, pith_read_i64(s, pith_dynamic_update_slice(s, pith_i64(s, 7), pith_i64(s, 8),
                                                        none)) == 8);
    pt_fails(PITH_E_DTYPE, s,
             pith_dynamic_update_slice(s, x, pith_cast(s, box, PITH_I32), beyond));
    pt_says("pith_dynamic_update_slice: update: expected i16, got i32");
    pt_fails(PITH_E_SHAPE, s, pith_dynamic_slice(s, x, none, PITH_SHAPE(2, 2)));
    pt_says("expected a start for each axis of i16[4,4], got i32[0]");
    pt_fails(PITH_E_SHAPE, s, pith_dynamic_slice(s, x, beyond, PITH_SHAPE(2, 5)));
    pt_says("expected extents of at most those of i16[4,4], got [2,5]");
    pt_fails(PITH_E_SHAPE, s, pith_dynamic_slice(s, x, beyond, PITH_SHAPE(2)));
    pt_fails(PITH_E_DTYPE, s,
             pith_dynamic_slice(s, x, pith_zeros(s, PITH_F32, PITH_SHAPE(2)),
                                PITH_SHAPE(2, 2)));
    pith_scope_close(s);
    pt_close(rt);
}
