/* Cases of wrong arguments. Every rank makes the call, or the last one alone while the
 * others make another: an error that says what was expected is on every rank, nothing
 * waits, and the job goes on. */
#include "mesh/shard_trees.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

typedef const void *wrong_call(mesh_test *t, const pith_array *good);

typedef struct wrong {
    const char *name;
    wrong_call *call;
    pith_status code;
    const char *text;
} wrong;

/* The call by all ranks, then by the last of several. */
static void check_wrong(mesh_test *t, const wrong *w) {
    const pith_array *good = pith_ones(t->s, PITH_F64, PITH_SHAPE(6 * t->size, 3));
    const bool last = t->rank == t->size - 1;
    const int failures = t->failures;
    w->call(t, good);
    MESH_CHECK(t, mesh_fails(t, w->code, w->text));
    if (t->size > 1) {
        const void *made = last ? w->call(t, good) : pith_psum(t->s, good, NULL, NULL);
        const pith_status code = pith_code(t->s);
        MESH_CHECK(t, !made);
        MESH_CHECK(t, code == PITH_E_DIVERGED || code == (last ? w->code : PITH_E_PEER));
        pith_agree(t->s);
        pith_clear(t->s);
    }
    MESH_CHECK(t, pith_psum(t->s, good, NULL, NULL));
    if (t->failures > failures)
        fprintf(stderr, "rank %d of %d: in %s\n", (int)t->rank, (int)t->size, w->name);
}

/* Lists of calls and their errors, as functions and as rows of a table. */
#define CALL(name, code, text, ...)                                                      \
    static const void *name(mesh_test *t, const pith_array *good) {                      \
        (void)good;                                                                      \
        return __VA_ARGS__;                                                              \
    }
#define ROW(name, code, text, ...) {#name, name, code, text},
#define ROWS(...)                  (&(pith_collective_options){.rows = __VA_ARGS__})
static const pith_array *ones(mesh_test *t, pith_shape shape) {
    return pith_ones(t->s, PITH_F64, shape);
}

/* ---- Axes, operands and options of collectives ---- */

/* clang-format off */
#define COLLECTIVES(X)                                                                   \
    X(no_array, PITH_E_ARG, "pith_psum: a: expected an array, got",                      \
      pith_psum(t->s, NULL, "x", NULL))                                                  \
    X(no_axes, PITH_E_ARG, "axes \"\": no such axis; the mesh has x",                    \
      pith_psum(t->s, good, "", NULL))                                                   \
    X(axes_with_a_gap, PITH_E_ARG, "axes \"x,,x\": no such axis",                        \
      pith_pmax(t->s, good, "x,,x"))                                                     \
    X(axes_with_a_space, PITH_E_ARG, "axes \" x\": no such axis",                        \
      pith_pmin(t->s, good, " x"))                                                       \
    X(axis_twice, PITH_E_ARG, "axes \"x,x\": an axis is named twice",                    \
      pith_all_stack(t->s, good, "x,x"))                                                 \
    X(other_axis, PITH_E_ARG, "axes \"q\": no such axis; the mesh has x",                \
      pith_all_gather(t->s, good, "q", 0))                                               \
    X(rows_of_floats, PITH_E_DTYPE, "expected an i64 of rank 0, got f64[]",              \
      pith_psum(t->s, good, NULL, ROWS(pith_f64(t->s, 1))))                              \
    X(rows_of_a_scalar, PITH_E_SHAPE, "rows of an array of rank 0",                      \
      pith_psum(t->s, pith_f64(t->s, 1), NULL, ROWS(pith_i64(t->s, 1))))                 \
    X(negative_rows, PITH_E_INDEX, "rows: -1 rows in use, expected 0 to ",               \
      pith_psum(t->s, good, NULL, ROWS(pith_i64(t->s, -1))))                             \
    X(too_many_rows, PITH_E_INDEX, "rows: 100 rows in use, expected 0 to ",              \
      pith_pmean(t->s, good, NULL, ROWS(pith_i64(t->s, 100))))                           \
    X(rows_to_shift, PITH_E_INDEX, "expected 0 to ",                                     \
      pith_pshift(t->s, good, "x", 1, true, ROWS(pith_i64(t->s, INT64_MAX))))            \
    X(rows_of_rows, PITH_E_INDEX, "rows in use, expected 0 to ",                         \
      pith_psum_rows(t->s, good, NULL, ROWS(pith_i64(t->s, INT64_MIN))))                 \
    X(sum_of_a_scalar, PITH_E_SHAPE, "rows of an array of rank 0",                       \
      pith_psum_rows(t->s, pith_f64(t->s, 1), NULL, NULL))                               \
    X(mean_of_integers, PITH_E_DTYPE, "expected a float dtype, got i64",                 \
      pith_pmean(t->s, pith_i64(t->s, 1), NULL, NULL))                                   \
    X(scan_of_floats, PITH_E_DTYPE, "expected integers, got f64",                        \
      pith_pscan(t->s, good, NULL))                                                      \
    X(root_below, PITH_E_ARG, "root -1, expected 0 to ",                                 \
      pith_pbroadcast(t->s, good, NULL, -1))                                             \
    X(root_above, PITH_E_ARG, "root 9223372036854775807, expected 0 to ",                \
      pith_pbroadcast(t->s, good, NULL, INT64_MAX))                                      \
    X(gather_below, PITH_E_SHAPE, "axis -2147483648, expected -2 to 1",                  \
      pith_all_gather(t->s, good, NULL, INT_MIN))                                        \
    X(gather_above, PITH_E_SHAPE, "axis 2, expected -2 to 1",                            \
      pith_all_gather(t->s, good, NULL, 2))                                              \
    X(stack_of_eight, PITH_E_SHAPE, "more than 8 axes",                                  \
      pith_all_stack(t->s, ones(t, PITH_SHAPE(1, 1, 1, 1, 1, 1, 1, 1)), NULL))           \
    X(scatter_above, PITH_E_SHAPE, "axis 7, expected -2 to 1",                           \
      pith_reduce_scatter(t->s, good, NULL, 7, NULL))                                    \
    X(split_above, PITH_E_SHAPE, "axis 2147483647, expected -2 to 1",                    \
      pith_all_to_all(t->s, good, NULL, INT_MAX, 0, NULL))                               \
    X(join_below, PITH_E_SHAPE, "axis -3, expected -2 to 1",                             \
      pith_all_to_all(t->s, good, NULL, 0, -3, NULL))                                    \
    X(send_outside, PITH_E_ARG, "pair 0 sends to rank ",                                 \
      pith_ppermute(t->s, good, "x", 1, (const int64_t[][2]){{0, t->size}}))             \
    X(send_from_below, PITH_E_ARG, "pair 0 sends from rank -1",                          \
      pith_ppermute(t->s, good, "x", 1, (const int64_t[][2]){{-1, 0}}))                  \
    X(send_twice, PITH_E_ARG, "pair 1 sends from rank 0 a second time",                  \
      pith_ppermute(t->s, good, "x", 2, (const int64_t[][2]){{0, 0}, {0, 0}}))           \
    X(no_pairs, PITH_E_ARG, "2 pairs at NULL",                                           \
      pith_ppermute(t->s, good, "x", 2, NULL))                                           \
    X(pairs_below, PITH_E_ARG, "-1 pairs",                                               \
      pith_ppermute(t->s, good, "x", -1, NULL))                                          \
    X(no_tree, PITH_E_ARG, "pith_tree_psum: tree: expected a tree, got NULL",            \
      pith_tree_psum(t->s, NULL, NULL, NULL))                                            \
    X(tree_over_others, PITH_E_ARG, "pith_tree_psum: axes \"y\"",                        \
      pith_tree_psum(t->s, good, "y", NULL))                                             \
    X(tree_of_scalars, PITH_E_SHAPE,                                                     \
      "[1]: pith_tree_psum: rows of f64[], expected leaves with the same number of rows",\
      pith_tree_psum(t->s,                                                               \
                     pith_tuple_make(t->s, 2, (const void *[]){good, pith_f64(t->s, 1)}),\
                     NULL, ROWS(pith_i64(t->s, 1))))
/* clang-format on */
COLLECTIVES(CALL)
static const wrong collectives[] = {COLLECTIVES(ROW)};

static void wrong_collectives(mesh_test *t) {
    for (size_t k = 0; k < sizeof collectives / sizeof *collectives; k++)
        check_wrong(t, &collectives[k]);
}

/* ---- Shards ---- */

static const pith_array *as_it_is(pith_scope *s, const pith_array *a) {
    (void)s;
    return a;
}
PITH_FUNCTION1(as_it_is_function, as_it_is, pith_array, pith_array)

static const void *
mapped(mesh_test *t, const pith_shard_options *o, const pith_array *a) {
    return pith_apply(t->s, pith_shard_map(t->s, &as_it_is_function, o), a);
}
#define IN(...) (&(pith_shard_options){.in = {PITH_SPECS(__VA_ARGS__)}})

/* clang-format off */
#define SHARDS(X)                                                                        \
    X(shard_nothing, PITH_E_ARG, "pith_shard: whole: expected a tree",                   \
      pith_shard(t->s, NULL, NULL))                                                      \
    X(shard_over_others, PITH_E_ARG, "axes \"q\": no such axis",                         \
      pith_shard(t->s, good, PITH_SPECS({"", "q"})))                                     \
    X(shard_twice, PITH_E_ARG, "spec \"x;x\": an axis is named twice",                   \
      pith_shard(t->s, good, PITH_SPECS({"", "x;x"})))                                   \
    X(shard_third_axis, PITH_E_ARG, "pith_shard: the spec \";;x\" is for 3 axes, the leaf is f64[", \
      pith_shard(t->s, good, PITH_SPECS({"", ";;x"})))                                   \
    X(shard_by_a_space, PITH_E_ARG, "spec \" x\": expected names",                       \
      pith_shard(t->s, good, PITH_SPECS({"", " x"})))                                    \
    X(shard_by_a_gap, PITH_E_ARG, "spec \"x,,y\": expected a name",                      \
      pith_shard(t->s, good, PITH_SPECS({"", "x,,y"})))                                  \
    X(shard_no_leaf, PITH_E_PATH, "the path '.foo' of a spec leads to no",               \
      pith_shard(t->s, good, PITH_SPECS({".foo", "x"})))                                 \
    X(shard_no_count, PITH_E_PATH, "pith_shard: the leaf 'count', which counts its rows, is not in the tree", \
      pith_shard(t->s, good, PITH_SPECS({"", "x", "count"})))                            \
    X(shard_two_specs, PITH_E_ARG, "two specs are of the path ''",                       \
      pith_shard(t->s, good, PITH_SPECS({"", "x"}, {"", ";x"})))                         \
    X(local_nothing, PITH_E_ARG, "pith_shard_local: local: expected a tree",             \
      pith_shard_local(t->s, NULL, NULL))                                                \
    X(unshard_nothing, PITH_E_ARG, "pith_unshard: tree: expected a tree",                \
      pith_unshard(t->s, NULL, -1))                                                      \
    X(unshard_below, PITH_E_ARG, "root -9223372036854775808, expected -1 to",            \
      pith_unshard(t->s, good, INT64_MIN))                                               \
    X(unshard_above, PITH_E_ARG, ", expected -1 to ",                                    \
      pith_unshard(t->s, good, t->size))                                                 \
    X(map_over_others, PITH_E_ARG, "pith_shard_map: axes \"q\": no such",                \
      mapped(t, &(pith_shard_options){.axes = "q"}, good))                               \
    X(map_over_nothing, PITH_E_ARG, "pith_shard_map: axes \"\": no such",                \
      mapped(t, &(pith_shard_options){.axes = ""}, good))                                \
    X(map_a_plain_array, PITH_E_ARG, ",3], but its spec is \"x\"",                       \
      mapped(t, IN({"", "x"}), good))                                                    \
    X(map_no_leaf, PITH_E_PATH, "as_it_is: argument 1: pith_shard_map: the path '.a' of a spec leads to no leaf", \
      mapped(t, IN({".a", "x"}), good))                                                  \
    X(map_nothing, PITH_E_ARG, "as_it_is: argument 1: expected a tree",                  \
      mapped(t, NULL, NULL))
/* clang-format on */
SHARDS(CALL)
static const wrong shards[] = {SHARDS(ROW)};

/* Errors that do not communicate. */
static void wrong_maps(mesh_test *t) {
    pith_shard_map(t->s, NULL, NULL);
    MESH_CHECK(t, mesh_fails(t, PITH_E_ARG, "pith_shard_map: expected a function"));
    const pith_shard_options second = {.in = {NULL, PITH_SPECS({"", "x"})}};
    pith_shard_map(t->s, &as_it_is_function, &second);
    MESH_CHECK(t, mesh_fails(t, PITH_E_ARG, "specs of argument 2, but as_it_is has 1"));
    pith_shard_map(t->s, &as_it_is_function, IN({".a", "x"}, {".a", ""}));
    MESH_CHECK(t, mesh_fails(t, PITH_E_ARG, "two specs are of the path '.a'"));
    MESH_CHECK(t, pith_axis_size(t->s, "x,") == 0);
    MESH_CHECK(t, mesh_fails(t, PITH_E_ARG, "pith_axis_size: axes \"x,\": no such axis"));
    MESH_CHECK(t, pith_axis_rank(t->s, "y") == -1);
    MESH_CHECK(t, mesh_fails(t, PITH_E_ARG, "pith_axis_rank: axes \"y\": no such axis"));
    MESH_CHECK(t, !pith_array_sharding(NULL).mesh && !pith_mesh_of(NULL));
    MESH_CHECK(t, !pith_mesh_about(NULL).size);
}

static void wrong_shards(mesh_test *t) {
    for (size_t k = 0; k < sizeof shards / sizeof *shards; k++)
        check_wrong(t, &shards[k]);
    wrong_maps(t);
}

/* ---- Times of the engine ---- */

static void wrong_times(mesh_test *t) {
    static const struct {
        const char *operation;
        int64_t bytes, repeats;
        pith_status code;
        const char *text;
    } all[] = {
        {NULL, 8, 1, PITH_E_ARG, "operation 'NULL', expected agree, reduce or exchange"},
        {"sleep", 8, 1, PITH_E_ARG, "operation 'sleep'"},
        {"reduce", -8, 1, PITH_E_ARG, "-8 bytes and 1 repeats, expected bytes from 0"},
        {"agree", 8, 0, PITH_E_ARG, "8 bytes and 0 repeats"},
        {"exchange", INT64_MAX, 1, PITH_E_MEMORY, "out of memory"},
    };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        MESH_CHECK(t, pith_mesh_time_engine(t->s, all[k].operation, all[k].bytes,
                                            all[k].repeats) == 0);
        MESH_CHECK(t, mesh_fails(t, all[k].code, all[k].text));
    }
    if (pith_axis_size(t->s, NULL) > 1) { /* other messages, of another number */
        pith_mesh_time_engine(t->s, "exchange", t->rank ? 8 : 9, t->rank ? 41 : 10);
        MESH_CHECK(t, mesh_fails(t, PITH_E_DIVERGED, "but their arguments differ"));
    }
    MESH_CHECK(t, pith_agree(t->s));
}

/* ---- Rows in use ---- */

static const pith_array *
sum_in_use(pith_scope *s, const pith_array *a, const pith_array *rows) {
    return pith_psum(s, a, "x", &(pith_collective_options){.rows = rows});
}
PITH_FUNCTION2(sum_in_use_function, sum_in_use, pith_array, pith_array, pith_array)

/* In a compiled function, too, a number that the rows do not have is an error; and in a
 * tree the rows are those of each leaf. */
static void wrong_rows(mesh_test *t) {
    const pith_function *f = pith_jit(t->s, &sum_in_use_function, NULL);
    const pith_array *a = mesh_data(t, t->rank, PITH_F64, PITH_SHAPE(4, 3)),
                     *b = mesh_data(t, 9 + t->rank, PITH_F64, PITH_SHAPE(4)),
                     *two = pith_i64(t->s, 2);
    const pith_array *want = sum_in_use(t->s, a, two);
    for (int call = 0; call < 2; call++) {
        MESH_CHECK(t, mesh_equal(t, pith_apply(t->s, f, a, two), want));
        for (int64_t rows = -1; rows <= 5; rows += 6) {
            pith_apply(t->s, f, a, pith_i64(t->s, rows));
            pith_wait(t->s);
            MESH_CHECK(t, mesh_fails(t, PITH_E_INDEX, " rows in use, expected 0 to "));
        }
    }
    const void *tree = pith_tuple_make(t->s, 2, (const void *[]){a, b});
    const void *made =
        pith_tree_psum(t->s, tree, "x", &(pith_collective_options){.rows = two});
    MESH_CHECK(t, mesh_equal(t, pith_child(made, 0), want));
    MESH_CHECK(t, mesh_equal(t, pith_child(made, 1), sum_in_use(t->s, b, two)));
}

const mesh_case mesh_wrong_cases[] = {
    {"wrong_collectives", wrong_collectives},
    {"wrong_shards", wrong_shards},
    {"wrong_times", wrong_times},
    {"wrong_rows", wrong_rows},
    {NULL, NULL},
};
