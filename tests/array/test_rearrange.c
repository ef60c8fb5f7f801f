/* Rearrangements as users call them, against index arithmetic written out here. The
 * values of fixed cases are in the golden families. */
#include "pith_test.h"

#include <pith/array.h>

static uint64_t seed = 7;
static int64_t below(int64_t n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return n > 0 ? (int64_t)((seed >> 33) % (uint64_t)n) : 0;
}

/* An array of random rank, extents (some of them 0) and integer dtype, holding 0, 1, ...
 */
enum { MOST = 4096 };
static const pith_array *random_array(pith_scope *s, int least_rank, int most_rank) {
    static const pith_dtype dtypes[] = {PITH_I16, PITH_I32, PITH_I64, PITH_U16,
                                        PITH_U64, PITH_F32, PITH_F64};
    pith_shape shape = {.rank = least_rank + (int)below(most_rank - least_rank + 1)};
    for (int d = 0; d < shape.rank; d++)
        shape.extents[d] = shape.rank > 4 ? 1 + below(2) : below(20) ? 1 + below(5) : 0;
    int64_t count = 1;
    for (int d = 0; d < shape.rank; d++)
        count *= shape.extents[d];
    return pith_reshape(s, pith_arange(s, dtypes[below(7)], count), shape);
}

static void read_numbers(pith_scope *s, const pith_array *a, double values[MOST]) {
    pt_ok(s, a);
    const pith_array *wide = pith_cast(s, a, PITH_F64);
    cr_assert(pith_array_spec(wide)->count <= MOST);
    pt_ok(s, pith_read(s, wide, values, pith_array_spec(wide)->bytes));
}

/* The place of element `at` of a shape, in C order. */
static int64_t place_in(int rank, const int64_t *shape, const int64_t *at) {
    int64_t place = 0;
    for (int d = 0; d < rank; d++)
        place = place * shape[d] + at[d];
    return place;
}

static void coordinates(int64_t i, int rank, const int64_t *shape, int64_t *at) {
    for (int d = rank - 1; d >= 0; d--) {
        at[d] = i % shape[d];
        i /= shape[d];
    }
}

/* Element i of `got` must be the one of `from` that `source` names (-1: zero). */
static void
check_places(pith_scope *s,
             const pith_array *from,
             const pith_array *got,
             bool (*source)(const void *closure, const int64_t *to, int64_t *at),
             const void *closure) {
    static double values[MOST];
    read_numbers(s, got, values);
    const pith_spec *spec = pith_array_spec(got), *origin = pith_array_spec(from);
    cr_assert(spec->dtype == origin->dtype);
    for (int64_t i = 0; i < spec->count; i++) {
        int64_t to[PITH_MAX_RANK], at[PITH_MAX_RANK];
        coordinates(i, spec->rank, spec->shape, to);
        const double want = source(closure, to, at)
                                ? (double)place_in(origin->rank, origin->shape, at)
                                : 0;
        cr_assert(values[i] == want, "element %lld: %g, not %g", (long long)i, values[i],
                  want);
    }
}

typedef struct {
    int rank, axis, other;
    int64_t amount, extent;
    const int64_t *list;
} rule;

static bool rolled(const void *closure, const int64_t *to, int64_t *at) {
    const rule *r = closure;
    memcpy(at, to, (size_t)r->rank * sizeof *at);
    at[r->axis] = ((to[r->axis] - r->amount) % r->extent + r->extent) % r->extent;
    return true;
}

static bool repeats(const void *closure, const int64_t *to, int64_t *at) {
    const rule *r = closure;
    memcpy(at, to, (size_t)r->rank * sizeof *at);
    at[r->axis] = to[r->axis] / r->amount;
    return true;
}

static bool swapped(const void *closure, const int64_t *to, int64_t *at) {
    const rule *r = closure;
    memcpy(at, to, (size_t)r->rank * sizeof *at);
    at[r->axis] = to[r->other];
    at[r->other] = to[r->axis];
    return true;
}

static bool moved(const void *closure, const int64_t *to, int64_t *at) {
    const rule *r = closure; /* axis went to other */
    for (int d = 0, next = 0; d < r->rank; d++)
        at[d] = d == r->axis ? to[r->other] : to[next += next == r->other, next++];
    return true;
}

static bool lower(const void *closure, const int64_t *to, int64_t *at) {
    const rule *r = closure;
    memcpy(at, to, (size_t)r->rank * sizeof *at);
    return to[r->rank - 1] - to[r->rank - 2] <= r->amount;
}

static bool upper(const void *closure, const int64_t *to, int64_t *at) {
    const rule *r = closure;
    memcpy(at, to, (size_t)r->rank * sizeof *at);
    return to[r->rank - 1] - to[r->rank - 2] >= r->amount;
}

static bool on_diagonal(const void *closure, const int64_t *to, int64_t *at) {
    const rule *r = closure; /* rank of the matrix */
    memcpy(at, to, (size_t)(r->rank - 1) * sizeof *at);
    at[r->rank - 2] = to[r->rank - 2] - (r->amount < 0 ? r->amount : 0);
    at[r->rank - 1] = to[r->rank - 2] + (r->amount > 0 ? r->amount : 0);
    return true;
}

Test(rearrange, moves_axes_and_elements_of_random_arrays) {
    pith_runtime *rt = pt_open();
    for (int k = 0; k < 400; k++) {
        pith_scope *s = pith_scope_open(rt);
        const pith_array *a = random_array(s, 1, 8);
        const pith_spec *spec = pith_array_spec(a);
        rule r = {.rank = spec->rank,
                  .axis = (int)below(spec->rank),
                  .other = (int)below(spec->rank),
                  .amount = below(23) - 11};
        r.extent = spec->shape[r.axis];
        const int axis = below(2) ? r.axis : r.axis - r.rank;
        check_places(s, a, pith_roll(s, a, r.amount, axis), rolled, &r);
        check_places(s, a, pith_swapaxes(s, a, axis, r.other), swapped, &r);
        check_places(s, a, pith_moveaxis(s, a, axis, r.other), moved, &r);
        r.amount = below(4);
        check_places(s, a, pith_repeat(s, a, r.amount, axis), repeats, &r);
        pith_scope_close(s);
    }
    pt_close(rt);
}

Test(rearrange, takes_diagonals_and_triangles) {
    pith_runtime *rt = pt_open();
    for (int k = 0; k < 200; k++) {
        pith_scope *s = pith_scope_open(rt);
        const pith_array *a = random_array(s, 2, 8);
        rule r = {.rank = pith_array_spec(a)->rank, .amount = below(15) - 7};
        check_places(s, a, pith_tril(s, a, r.amount), lower, &r);
        check_places(s, a, pith_triu(s, a, r.amount), upper, &r);
        const pith_array *diagonal = pith_diagonal(s, a, r.amount);
        check_places(s, a, diagonal, on_diagonal, &r);
        const int64_t rows = pith_array_spec(a)->shape[r.rank - 2],
                      columns = pith_array_spec(a)->shape[r.rank - 1];
        int64_t count = 0;
        for (int64_t i = 0; i < rows; i++)
            count += i + r.amount >= 0 && i + r.amount < columns;
        cr_assert(pith_array_spec(diagonal)->shape[r.rank - 2] == count);
        pith_scope_close(s);
    }
    pith_scope *s = pith_scope_open(rt);
    const pith_array *a = pith_ones(s, PITH_F32, PITH_SHAPE(3, 3));
    cr_assert(pith_array_spec(pith_diagonal(s, a, INT64_MIN))->count == 0);
    cr_assert(pith_read_f64(s, pith_sum(s, pith_tril(s, a, INT64_MAX), PITH_ALL_AXES)) ==
              9);
    cr_assert(pith_read_f64(s, pith_sum(s, pith_eye(s, PITH_F64, 3, 4, INT64_MIN),
                                        PITH_ALL_AXES)) == 0);
    pith_scope_close(s);
    pt_close(rt);
}

/* The parts joined are the array; repeated parts are a tiled one. */
Test(rearrange, splits_what_concatenation_joins) {
    pith_runtime *rt = pt_open();
    for (int k = 0; k < 200; k++) {
        pith_scope *s = pith_scope_open(rt);
        const pith_array *a = random_array(s, 1, 6);
        const int axis = (int)below(pith_array_spec(a)->rank);
        const int64_t n = pith_array_spec(a)->shape[axis];
        int64_t at[3] = {below(n + 1), below(n + 1), n + 5};
        if (at[1] < at[0])
            at[1] = at[0];
        const pith_array *const *parts = pith_split(s, a, 3, at, axis);
        pt_ok(s, parts);
        cr_assert(pith_array_spec(parts[1])->shape[axis] == at[1] - at[0]);
        cr_assert(pith_array_spec(parts[3])->shape[axis] == 0);
        const pith_array *joined = pith_concatenate(s, 4, parts, axis);
        cr_assert(
            pith_read_bool(s, pith_all(s, pith_equal(s, joined, a), PITH_ALL_AXES)));
        const pith_array *const thrice[] = {a, a, a};
        int64_t repeats[PITH_MAX_RANK];
        for (int d = 0; d < pith_array_spec(a)->rank; d++)
            repeats[d] = d == axis ? 3 : 1;
        const pith_array *tiled = pith_tile(s, a, pith_array_spec(a)->rank, repeats);
        cr_assert(pith_read_bool(
            s, pith_all(s, pith_equal(s, tiled, pith_concatenate(s, 3, thrice, axis)),
                        PITH_ALL_AXES)));
        pith_scope_close(s);
    }
    pt_close(rt);
}

/* What padding adds, negative padding takes away; interior elements are sliced away. */
Test(rearrange, cuts_off_what_it_padded) {
    pith_runtime *rt = pt_open();
    for (int k = 0; k < 200; k++) {
        pith_scope *s = pith_scope_open(rt);
        const pith_array *a = random_array(s, 1, 4);
        const int rank = pith_array_spec(a)->rank;
        pith_padding there[4], back[4];
        pith_slice every[4];
        for (int d = 0; d < rank; d++) {
            there[d] =
                (pith_padding){.low = below(3), .high = below(3), .interior = below(3)};
            back[d] = (pith_padding){.low = -there[d].low, .high = -there[d].high};
            every[d] = PITH_SLICE(0, INT64_MAX, there[d].interior + 1);
        }
        const pith_array *padded = pith_pad(s, a, pith_i64(s, 7), rank, there);
        const pith_array *cut = pith_pad(s, padded, NULL, rank, back);
        const pith_array *same = pith_slice_array(s, cut, rank, every);
        pt_ok(s, same);
        cr_assert(pith_array_spec(same) == pith_array_spec(a));
        cr_assert(pith_read_bool(s, pith_all(s, pith_equal(s, same, a), PITH_ALL_AXES)));
        if (pith_array_spec(a)->count) {
            double of_a[1], of_padded[1];
            pt_ok(s, pith_read(s, pith_cast(s, pith_sum(s, a, PITH_ALL_AXES), PITH_F64),
                               of_a, 8));
            pt_ok(s, pith_read(s,
                               pith_cast(s,
                                         pith_sum(s, pith_cast(s, padded, PITH_F64),
                                                  PITH_ALL_AXES),
                                         PITH_F64),
                               of_padded, 8));
            const pith_array *wide = pith_cast(s, a, PITH_F64);
            const double sum = pith_read_f64(s, pith_sum(s, wide, PITH_ALL_AXES));
            const int64_t added =
                pith_array_spec(padded)->count - pith_array_spec(a)->count;
            cr_assert(of_padded[0] == sum + 7.0 * (double)added);
        }
        pith_scope_close(s);
    }
    pt_close(rt);
}

Test(rearrange, extends_beyond_the_ends) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    static const struct {
        pith_extension extension;
        int64_t n, want[14]; /* 6 before, the elements, 5 after */
    } cases[] = {
        {PITH_EXTEND_EDGE, 3, {0, 0, 0, 0, 0, 0, 0, 1, 2, 2, 2, 2, 2, 2}},
        {PITH_EXTEND_REFLECT, 3, {2, 1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2, 1}},
        {PITH_EXTEND_SYMMETRIC, 3, {0, 1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0, 1}},
        {PITH_EXTEND_WRAP, 3, {0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1}},
        {PITH_EXTEND_REFLECT, 1, {0}},
        {PITH_EXTEND_WRAP, 1, {0}},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const pith_array *a = pith_arange(s, PITH_I64, cases[k].n);
        int64_t got[14];
        const pith_array *longer = pith_extend(
            s, a, cases[k].extension, 1, &(pith_padding){.low = 6, .high = 11 - 3 - 3});
        const size_t bytes = (size_t)(cases[k].n + 11) * sizeof *got;
        pt_ok(s, pith_read(s, longer, got, bytes));
        cr_assert(memcmp(got, cases[k].want, bytes) == 0, "case %zu", k);
    }
    pith_scope_close(s);
    pt_close(rt);
}

/* Rows of [20, 3] and columns of [2, 20], in runs of neighbours. */
Test(rearrange, extensions_by_less_than_the_extent) {
    enum { N = 20, LOW = 4, HIGH = 3, ALL = LOW + N + HIGH };
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *tall = pith_reshape(s, pith_arange(s, PITH_I64, 3 * N),
                                          PITH_SHAPE(N, 3)),
                     *wide = pith_reshape(s, pith_arange(s, PITH_I64, 2 * N),
                                          PITH_SHAPE(2, N));
    for (int e = PITH_EXTEND_EDGE; e <= PITH_EXTEND_WRAP; e++) {
        const pith_padding by[2] = {{.low = LOW, .high = HIGH}, {0}},
                           across[2] = {{0}, {.low = LOW, .high = HIGH}};
        int64_t rows[ALL][3], columns[2][ALL];
        pt_ok(s, pith_read(s, pith_extend(s, tall, (pith_extension)e, 2, by), rows,
                           sizeof rows));
        pt_ok(s, pith_read(s, pith_extend(s, wide, (pith_extension)e, 2, across), columns,
                           sizeof columns));
        for (int64_t i = 0; i < ALL; i++) {
            const int64_t x = i - LOW, off = x < 0 ? -x : x - (N - 1);
            const bool within = x >= 0 && x < N;
            const int64_t in = e == PITH_EXTEND_EDGE        ? 0
                               : e == PITH_EXTEND_REFLECT   ? off
                               : e == PITH_EXTEND_SYMMETRIC ? off - 1
                                                            : N - off;
            const int64_t at = within ? x : x < 0 ? in : N - 1 - in;
            for (int64_t j = 0; j < 3; j++)
                cr_assert_eq(rows[i][j], 3 * at + j, "%d, row %d", e, (int)i);
            for (int64_t j = 0; j < 2; j++)
                cr_assert_eq(columns[j][i], N * j + at, "%d, column %d", e, (int)i);
        }
    }
    pith_scope_close(s);
    pt_close(rt);
}

Test(rearrange, refuses_what_does_not_fit) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *a = pith_zeros(s, PITH_F32, PITH_SHAPE(2, 3)),
                     *row = pith_zeros(s, PITH_F32, PITH_SHAPE(3)),
                     *none = pith_zeros(s, PITH_F32, PITH_SHAPE(0)),
                     *deep = pith_zeros(s, PITH_F32, PITH_SHAPE(1, 1, 1, 1, 1, 1, 1, 1));
    pt_fails(PITH_E_SHAPE, s, pith_swapaxes(s, a, 0, 2));
    pt_says("pith_swapaxes: axis 2, expected -2 to 1");
    pt_fails(PITH_E_SHAPE, s, pith_moveaxis(s, a, -3, 0));
    pt_fails(PITH_E_SHAPE, s, pith_roll(s, pith_f32(s, 1), 1, 0));
    pt_fails(PITH_E_ARG, s, pith_split(s, a, -1, NULL, 0));
    pt_fails(PITH_E_ARG, s, pith_split(s, a, 1, NULL, 0));
    pt_fails(PITH_E_ARG, s, pith_repeat(s, a, -1, 0));
    pt_says("-1 repeats");
    pt_fails(PITH_E_OVERFLOW, s, pith_repeat(s, a, INT64_MAX, 0));
    pt_fails(PITH_E_ARG, s, pith_repeat_each(s, a, 2, (int64_t[]){1, 2}, 1));
    pt_says("expected 3 repeats, got 2");
    pt_fails(PITH_E_ARG, s, pith_repeat_each(s, a, 2, (int64_t[]){1, -2}, 0));
    pt_says("repeats[1] is -2");
    pt_fails(PITH_E_ARG, s, pith_tile(s, a, 1, (int64_t[]){-2}));
    pt_fails(PITH_E_SHAPE, s, pith_tile(s, a, 9, (int64_t[]){1, 1, 1, 1, 1, 1, 1, 1, 1}));
    pt_fails(PITH_E_ARG, s, pith_pad(s, row, NULL, 2, (pith_padding[2]){{1, 1, 0}}));
    pt_fails(PITH_E_ARG, s, pith_pad(s, row, NULL, 1, NULL));
    pt_fails(PITH_E_ARG, s,
             pith_extend(s, row, PITH_EXTEND_WRAP, 1, &(pith_padding){.low = -1}));
    pt_fails(PITH_E_SHAPE, s,
             pith_extend(s, none, PITH_EXTEND_WRAP, 1, &(pith_padding){.low = 1}));
    pt_says("has no elements");
    pt_fails(PITH_E_ARG, s,
             pith_extend(s, row, (pith_extension)9, 1, &(pith_padding){.low = 1}));
    pt_fails(PITH_E_SHAPE, s, pith_diagonal(s, row, 0));
    pt_says("expected two axes or more, got f32[3]");
    pt_ok(s, pith_roll(s, deep, 5, -1) && pith_repeat(s, deep, 2, 7));
    pith_scope_close(s);
    pt_close(rt);
}

/* Operations made of others take no site of the calls around them. */
Test(rearrange, keeps_the_sites_of_calls_around_it) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *row = pith_arange(s, PITH_F32, 4), *number = pith_i32(s, 1);
    (pith_add)(pith_call_site(s, "outer"),
               (pith_std)(pith_call_site(s, "moment"),
                          (pith_roll)(pith_call_site(s, "roll"), row, 1, 0),
                          PITH_ALL_AXES, 1),
               number);
    cr_assert(pith_code(s) == PITH_E_DTYPE);
    cr_assert(strcmp(pith_error_site(s), "outer") == 0, "%s", pith_error_site(s));
    pith_clear(s);
    (pith_add)(pith_call_site(s, "outer"), row,
               (pith_tile)(pith_call_site(s, "tile"), row, -1, NULL));
    cr_assert(strcmp(pith_error_site(s), "tile") == 0, "%s", pith_error_site(s));
    pith_clear(s);
    pith_scope_close(s);
    pt_close(rt);
}
