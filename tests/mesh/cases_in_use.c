/* Cases of collectives of rows in use: they give what collectives of arrays with zeros in
 * the other rows give, bit for bit, eager and compiled. */
#include "mesh/cases.h"

#include <stdlib.h>
#include <string.h>

/* ---- One collective of each kind ---- */

static const pith_array *
in_use(pith_scope *s, int kind, const pith_array *a, const pith_array *rows) {
    const pith_collective_options how = {.rows = rows, .unordered = kind == 1};
    switch (kind) {
        case 0:
        case 1:
            return pith_psum(s, a, NULL, &how);
        case 2:
            return pith_reduce_scatter(s, a, NULL, 0, &how);
        case 3:
            return pith_reduce_scatter(s, a, NULL, -1, &how);
        case 4:
            return pith_all_to_all(s, a, NULL, 0, -1, &how);
        case 5:
            return pith_all_to_all(s, a, NULL, -1, 0, &how);
        case 6:
            return pith_pshift(s, a, NULL, 1, true, &how);
        default:
            return pith_pshift(s, a, NULL, -1, false, &how);
    }
}
enum { KINDS = 8 };

#define COMPILED(kind)                                                                   \
    static const pith_array *kind_##kind(pith_scope *s, const pith_array *a,             \
                                         const pith_array *rows) {                       \
        return in_use(s, kind, a, rows);                                                 \
    }                                                                                    \
    PITH_FUNCTION2(kind_##kind##_function, kind_##kind, pith_array, pith_array,          \
                   pith_array)
COMPILED(0)
COMPILED(1)
COMPILED(2)
COMPILED(3)
COMPILED(4)
COMPILED(5)
COMPILED(6)
COMPILED(7)
static const pith_function *const functions[KINDS] = {
    &kind_0_function, &kind_1_function, &kind_2_function, &kind_3_function,
    &kind_4_function, &kind_5_function, &kind_6_function, &kind_7_function};

/* ---- Comparison ---- */

/* Zeros in the rows that are not in use. */
static const pith_array *masked(mesh_test *t, const pith_array *a, int64_t rows) {
    const pith_spec *spec = pith_array_spec(a);
    pith_shape column = {.rank = spec->rank, .extents = {spec->shape[0]}};
    for (int d = 1; d < spec->rank; d++)
        column.extents[d] = 1;
    return pith_where(
        t->s, pith_less(t->s, pith_iota(t->s, PITH_I64, column, 0), pith_i64(t->s, rows)),
        a, pith_zeros(t->s, spec->dtype, PITH_SCALAR));
}

/* Sums in the engine's order depend on the length. */
static bool is_exact(int kind, pith_dtype dtype) {
    return kind != 1 || !pith_dtype_is_float(dtype);
}

static void compare(mesh_test *t, const pith_array *a, int64_t count) {
    const pith_array *zeros = masked(t, a, count), *rows = pith_i64(t->s, count);
    for (int kind = 0; kind < KINDS; kind++) {
        if (!is_exact(kind, pith_array_spec(a)->dtype))
            continue;
        const pith_array *expected = in_use(t->s, kind, zeros, NULL);
        MESH_CHECK(t, mesh_equal(t, in_use(t->s, kind, a, rows), expected));
        const void *given[] = {a, rows};
        const pith_function *f = pith_jit(t->s, functions[kind], NULL);
        for (int call = 0; call < 2; call++)
            MESH_CHECK(t, mesh_equal(t, pith_call(t->s, f, 2, given), expected));
    }
}

/* ---- Cases ---- */

/* Rows in use of a rank: none, some, all. Other numbers are refused (cases_wrong.c). */
static int64_t count_of(int64_t rank, int turn, int64_t extent) {
    const int64_t counts[] = {0, 1, extent, extent / 2, 2};
    const int64_t count = turn == 0 ? 0 : counts[(rank * 3 + turn) % 5];
    return count < extent ? count : extent;
}

static void rows_in_use(mesh_test *t) {
    static const pith_dtype dtypes[] = {PITH_F64, PITH_F32, PITH_BF16, PITH_I32,
                                        PITH_U8,  PITH_I64, PITH_BOOL};
    const int64_t p = t->size;
    const pith_shape shapes[] = {
        {2, {3 * p, p}}, {3, {p, 3, 2 * p}}, {2, {700 * p, 7 * p}}, {2, {0, p}}};
    for (size_t k = 0; k < sizeof dtypes / sizeof *dtypes; k++)
        for (size_t n = 0; n < sizeof shapes / sizeof *shapes; n++)
            for (int turn = 0; turn < 4; turn++) {
                pith_scope *outer = t->s;
                t->s = pith_scope_open_in(outer);
                compare(t, mesh_data(t, t->rank, dtypes[k], shapes[n]),
                        count_of(t->rank, turn, shapes[n].extents[0]));
                pith_scope_close(t->s);
                t->s = outer;
            }
}

static void rows_of_some_ranks(mesh_test *t) {
    if (t->size == 1)
        return;
    const pith_array *a = pith_ones(t->s, PITH_F64, PITH_SHAPE(4));
    const pith_collective_options used = {.rows = pith_i64(t->s, 2)};
    pith_psum(t->s, a, NULL, t->rank ? &used : NULL);
    MESH_CHECK(t, mesh_fails(t, PITH_E_DIVERGED, "of f64[4] over x, rows in use at"));
    pith_psum(t->s, pith_f64(t->s, 1), NULL, &used);
    MESH_CHECK(t, mesh_fails(t, PITH_E_SHAPE, "pith_psum: rows of an array of rank 0"));
    MESH_CHECK(t, pith_agree(t->s));
}

/* The rows of every leaf. */
static void rows_of_trees(mesh_test *t) {
    const pith_array *leaves[] = {
        mesh_data(t, t->rank, PITH_F64, PITH_SHAPE(6, 2)),
        mesh_data(t, t->rank, PITH_I32, PITH_SHAPE(6)),
        mesh_data(t, t->rank, PITH_F64, PITH_SHAPE(6)),
        mesh_data(t, t->rank, PITH_BOOL, PITH_SHAPE(6, 0)),
    };
    enum { COUNT = sizeof leaves / sizeof *leaves };
    const pith_collective_options used = {.rows = pith_i64(t->s, t->rank % 3 + 1)};
    const void *tree = pith_tuple_make(t->s, COUNT, (const void *const *)leaves);
    const pith_array *const *sums = NULL;
    const pith_treedef *def =
        pith_tree_flatten(t->s, pith_tree_psum(t->s, tree, NULL, &used), &sums);
    for (int i = 0; def && i < COUNT; i++)
        MESH_CHECK(t, mesh_equal(t, sums[i], pith_psum(t->s, leaves[i], NULL, &used)));
    const void *other[] = {leaves[0], pith_zeros(t->s, PITH_F64, PITH_SHAPE(5))};
    pith_tree_psum(t->s, pith_tuple_make(t->s, 2, other), NULL, &used);
    MESH_CHECK(t, strstr(pith_message(t->s), "[1]"));
    MESH_CHECK(t, mesh_fails(t, PITH_E_SHAPE,
                             "rows of f64[5], expected leaves with the same number"));
    const void *number[] = {leaves[0], pith_f64(t->s, 1)};
    pith_tree_psum(t->s, pith_tuple_make(t->s, 2, number), NULL, &used);
    MESH_CHECK(t, mesh_fails(t, PITH_E_SHAPE, "rows of f64[], expected"));
}

const mesh_case mesh_in_use_cases[] = {
    {"rows_in_use", rows_in_use},
    {"rows_of_some_ranks", rows_of_some_ranks},
    {"rows_of_trees", rows_of_trees},
    {NULL, NULL},
};
