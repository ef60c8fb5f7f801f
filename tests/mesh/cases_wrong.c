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

#define WRONG(name, ...)                                                                 \
    static const void *name(mesh_test *t, const pith_array *good) {                      \
        (void)good;                                                                      \
        return __VA_ARGS__;                                                              \
    }
#define ROWS(...) (&(pith_collective_options){.rows = __VA_ARGS__})
static const pith_array *ones(mesh_test *t, pith_shape shape) {
    return pith_ones(t->s, PITH_F64, shape);
}

/* ---- Axes, operands and options of collectives ---- */

WRONG(no_array, pith_psum(t->s, NULL, "x", NULL))
WRONG(no_axes, pith_psum(t->s, good, "", NULL))
WRONG(axes_with_a_gap, pith_pmax(t->s, good, "x,,x"))
WRONG(axes_with_a_space, pith_pmin(t->s, good, " x"))
WRONG(axis_twice, pith_all_stack(t->s, good, "x,x"))
WRONG(other_axis, pith_all_gather(t->s, good, "q", 0))
WRONG(rows_of_floats, pith_psum(t->s, good, NULL, ROWS(pith_f64(t->s, 1))))
WRONG(rows_of_a_scalar, pith_psum(t->s, pith_f64(t->s, 1), NULL, ROWS(pith_i64(t->s, 1))))
WRONG(negative_rows, pith_psum(t->s, good, NULL, ROWS(pith_i64(t->s, -1))))
WRONG(too_many_rows, pith_pmean(t->s, good, NULL, ROWS(pith_i64(t->s, 100))))
WRONG(rows_to_shift,
      pith_pshift(t->s, good, "x", 1, true, ROWS(pith_i64(t->s, INT64_MAX))))
WRONG(rows_of_rows, pith_psum_rows(t->s, good, NULL, ROWS(pith_i64(t->s, INT64_MIN))))
WRONG(sum_of_a_scalar, pith_psum_rows(t->s, pith_f64(t->s, 1), NULL, NULL))
WRONG(mean_of_integers, pith_pmean(t->s, pith_i64(t->s, 1), NULL, NULL))
WRONG(scan_of_floats, pith_pscan(t->s, good, NULL))
WRONG(root_below, pith_pbroadcast(t->s, good, NULL, -1))
WRONG(root_above, pith_pbroadcast(t->s, good, NULL, INT64_MAX))
WRONG(gather_below, pith_all_gather(t->s, good, NULL, INT_MIN))
WRONG(gather_above, pith_all_gather(t->s, good, NULL, 2))
WRONG(stack_of_eight,
      pith_all_stack(t->s, ones(t, PITH_SHAPE(1, 1, 1, 1, 1, 1, 1, 1)), NULL))
WRONG(scatter_above, pith_reduce_scatter(t->s, good, NULL, 7, NULL))
WRONG(split_above, pith_all_to_all(t->s, good, NULL, INT_MAX, 0, NULL))
WRONG(join_below, pith_all_to_all(t->s, good, NULL, 0, -3, NULL))
WRONG(send_outside, pith_ppermute(t->s, good, "x", 1, (const int64_t[][2]){{0, t->size}}))
WRONG(send_from_below, pith_ppermute(t->s, good, "x", 1, (const int64_t[][2]){{-1, 0}}))
WRONG(send_twice, pith_ppermute(t->s, good, "x", 2, (const int64_t[][2]){{0, 0}, {0, 0}}))
WRONG(no_pairs, pith_ppermute(t->s, good, "x", 2, NULL))
WRONG(pairs_below, pith_ppermute(t->s, good, "x", -1, NULL))
WRONG(no_tree, pith_tree_psum(t->s, NULL, NULL, NULL))
WRONG(tree_over_others, pith_tree_psum(t->s, good, "y", NULL))
WRONG(tree_of_scalars,
      pith_tree_psum(t->s,
                     pith_tuple_make(t->s, 2, (const void *[]){good, pith_f64(t->s, 1)}),
                     NULL,
                     ROWS(pith_i64(t->s, 1))))

static const wrong collectives[] = {
    {"no_array", no_array, PITH_E_ARG, "pith_psum: a: expected an array, got"},
    {"no_axes", no_axes, PITH_E_ARG, "axes \"\": no such axis; the mesh has x"},
    {"axes_with_a_gap", axes_with_a_gap, PITH_E_ARG, "axes \"x,,x\": no such axis"},
    {"axes_with_a_space", axes_with_a_space, PITH_E_ARG, "axes \" x\": no such axis"},
    {"axis_twice", axis_twice, PITH_E_ARG, "axes \"x,x\": an axis is named twice"},
    {"other_axis", other_axis, PITH_E_ARG, "axes \"q\": no such axis; the mesh has x"},
    {"rows_of_floats", rows_of_floats, PITH_E_DTYPE,
     "expected an i64 of rank 0, got f64[]"},
    {"rows_of_a_scalar", rows_of_a_scalar, PITH_E_SHAPE, "rows of an array of rank 0"},
    {"negative_rows", negative_rows, PITH_E_INDEX,
     "rows: -1 rows in use, expected 0 to "},
    {"too_many_rows", too_many_rows, PITH_E_INDEX,
     "rows: 100 rows in use, expected 0 to "},
    {"rows_to_shift", rows_to_shift, PITH_E_INDEX, "expected 0 to "},
    {"rows_of_rows", rows_of_rows, PITH_E_INDEX, "rows in use, expected 0 to "},
    {"sum_of_a_scalar", sum_of_a_scalar, PITH_E_SHAPE, "rows of an array of rank 0"},
    {"mean_of_integers", mean_of_integers, PITH_E_DTYPE,
     "expected a float dtype, got i64"},
    {"scan_of_floats", scan_of_floats, PITH_E_DTYPE, "expected integers, got f64"},
    {"root_below", root_below, PITH_E_ARG, "root -1, expected 0 to "},
    {"root_above", root_above, PITH_E_ARG, "root 9223372036854775807, expected 0 to "},
    {"gather_below", gather_below, PITH_E_SHAPE, "axis -2147483648, expected -2 to 1"},
    {"gather_above", gather_above, PITH_E_SHAPE, "axis 2, expected -2 to 1"},
    {"stack_of_eight", stack_of_eight, PITH_E_SHAPE, "more than 8 axes"},
    {"scatter_above", scatter_above, PITH_E_SHAPE, "axis 7, expected -2 to 1"},
    {"split_above", split_above, PITH_E_SHAPE, "axis 2147483647, expected -2 to 1"},
    {"join_below", join_below, PITH_E_SHAPE, "axis -3, expected -2 to 1"},
    {"send_outside", send_outside, PITH_E_ARG, "pair 0 sends to rank "},
    {"send_from_below", send_from_below, PITH_E_ARG, "pair 0 sends from rank -1"},
    {"send_twice", send_twice, PITH_E_ARG, "pair 1 sends from rank 0 a second time"},
    {"no_pairs", no_pairs, PITH_E_ARG, "2 pairs at NULL"},
    {"pairs_below", pairs_below, PITH_E_ARG, "-1 pairs"},
    {"no_tree", no_tree, PITH_E_ARG, "pith_tree_psum: tree: expected a tree, got NULL"},
    {"tree_over_others", tree_over_others, PITH_E_ARG, "pith_tree_psum: axes \"y\""},
    {"tree_of_scalars", tree_of_scalars, PITH_E_SHAPE,
     "[1]: pith_tree_psum: rows of f64[], expected leaves with the same number of rows"},
};

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

WRONG(shard_nothing, pith_shard(t->s, NULL, NULL))
WRONG(shard_over_others, pith_shard(t->s, good, PITH_SPECS({"", "q"})))
WRONG(shard_twice, pith_shard(t->s, good, PITH_SPECS({"", "x;x"})))
WRONG(shard_third_axis, pith_shard(t->s, good, PITH_SPECS({"", ";;x"})))
WRONG(shard_by_a_space, pith_shard(t->s, good, PITH_SPECS({"", " x"})))
WRONG(shard_by_a_gap, pith_shard(t->s, good, PITH_SPECS({"", "x,,y"})))
WRONG(shard_no_leaf, pith_shard(t->s, good, PITH_SPECS({".foo", "x"})))
WRONG(shard_no_count, pith_shard(t->s, good, PITH_SPECS({"", "x", "count"})))
WRONG(shard_two_specs, pith_shard(t->s, good, PITH_SPECS({"", "x"}, {"", ";x"})))
WRONG(local_nothing, pith_shard_local(t->s, NULL, NULL))
WRONG(unshard_nothing, pith_unshard(t->s, NULL, -1))
WRONG(unshard_below, pith_unshard(t->s, good, INT64_MIN))
WRONG(unshard_above, pith_unshard(t->s, good, t->size))
WRONG(map_over_others, mapped(t, &(pith_shard_options){.axes = "q"}, good))
WRONG(map_over_nothing, mapped(t, &(pith_shard_options){.axes = ""}, good))
WRONG(map_a_plain_array, mapped(t, IN({"", "x"}), good))
WRONG(map_no_leaf, mapped(t, IN({".a", "x"}), good))
WRONG(map_nothing, mapped(t, NULL, NULL))

static const wrong shards[] = {
    {"shard_nothing", shard_nothing, PITH_E_ARG, "pith_shard: whole: expected a tree"},
    {"shard_over_others", shard_over_others, PITH_E_ARG, "axes \"q\": no such axis"},
    {"shard_twice", shard_twice, PITH_E_ARG, "spec \"x;x\": an axis is named twice"},
    {"shard_third_axis", shard_third_axis, PITH_E_ARG,
     "pith_shard: the spec \";;x\" is for 3 axes, the leaf is f64["},
    {"shard_by_a_space", shard_by_a_space, PITH_E_ARG, "spec \" x\": expected names"},
    {"shard_by_a_gap", shard_by_a_gap, PITH_E_ARG, "spec \"x,,y\": expected a name"},
    {"shard_no_leaf", shard_no_leaf, PITH_E_PATH,
     "the path '.foo' of a spec leads to no"},
    {"shard_no_count", shard_no_count, PITH_E_PATH,
     "pith_shard: the leaf 'count', which counts its rows, is not in the tree"},
    {"shard_two_specs", shard_two_specs, PITH_E_ARG, "two specs are of the path ''"},
    {"local_nothing", local_nothing, PITH_E_ARG,
     "pith_shard_local: local: expected a tree"},
    {"unshard_nothing", unshard_nothing, PITH_E_ARG,
     "pith_unshard: tree: expected a tree"},
    {"unshard_below", unshard_below, PITH_E_ARG,
     "root -9223372036854775808, expected -1 to"},
    {"unshard_above", unshard_above, PITH_E_ARG, ", expected -1 to "},
    {"map_over_others", map_over_others, PITH_E_ARG,
     "pith_shard_map: axes \"q\": no such"},
    {"map_over_nothing", map_over_nothing, PITH_E_ARG,
     "pith_shard_map: axes \"\": no such"},
    {"map_a_plain_array", map_a_plain_array, PITH_E_ARG, ",3], but its spec is \"x\""},
    {"map_no_leaf", map_no_leaf, PITH_E_PATH,
     "as_it_is: argument 1: pith_shard_map: the path '.a' of a spec leads to no leaf"},
    {"map_nothing", map_nothing, PITH_E_ARG, "as_it_is: argument 1: expected a tree"},
};

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
            MESH_CHECK(t, mesh_fails(t, PITH_E_INDEX, "out of range"));
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
