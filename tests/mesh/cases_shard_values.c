/* Cases of derivatives of functions over shards whose values are sharded too, such as
 * steps of a simulation. They are those of the same function of the rows of all ranks,
 * without a collective. */
#include "mesh/shard_trees.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 2, MANY = 3 }; /* rows of a rank, and columns */

/* ---- A step: of a weight that all ranks have and of rows, to a sum, rows, a weight ----
 */

static const pith_array *
moved(pith_scope *s, const pith_array *w, const pith_array *x, const pith_array *mean) {
    return pith_add(s, pith_sin(s, pith_mul(s, x, w)), pith_mul(s, mean, 0.25));
}

static const void *values_of(pith_scope *s, const pith_array *y, const pith_array *w) {
    const pith_array *sum = pith_sum(s, pith_square(s, y), PITH_ALL_AXES);
    return pith_tuple_make(s, PITH_ITEMS(sum, y, pith_mul(s, w, w)));
}

static const pith_array *move(pith_scope *s, const pith_array *w, const pith_array *x) {
    return moved(s, w, x, pith_pmean(s, x, "x", NULL));
}
PITH_FUNCTION2(move_function, move, pith_array, pith_array, pith_array)
static const void *step(pith_scope *s, const pith_array *w, const pith_array *x) {
    const void *own = values_of(s, move(s, w, x), w);
    const pith_array *sum =
        pith_psum(s, (const pith_array *)pith_child(own, 0), "x", NULL);
    return pith_tuple_make(s, PITH_ITEMS(sum, pith_child(own, 1), pith_child(own, 2)));
}
PITH_FUNCTION2(step_function, step, void, pith_array, pith_array)

/* The same of all rows. */
static const pith_array *
move_all(pith_scope *s, const pith_array *w, const pith_array *x) {
    const int64_t ranks = pith_array_spec(x)->shape[0] / ROWS;
    const pith_array *blocks = pith_reshape(s, x, PITH_SHAPE(ranks, ROWS, MANY)),
                     *mean = pith_reshape(s, pith_mean(s, blocks, PITH_AXES(0)),
                                          PITH_SHAPE(1, ROWS, MANY));
    return pith_reshape(s, moved(s, w, blocks, mean), PITH_SHAPE(ranks * ROWS, MANY));
}
PITH_FUNCTION2(move_all_function, move_all, pith_array, pith_array, pith_array)
static const void *step_all(pith_scope *s, const pith_array *w, const pith_array *x) {
    return values_of(s, move_all(s, w, x), w);
}
PITH_FUNCTION2(step_all_function, step_all, void, pith_array, pith_array)

static const pith_function *
mapped(pith_scope *s, const pith_function *f, const pith_shard_spec *out) {
    return pith_shard_map(
        s, f,
        &(pith_shard_options){.in = {PITH_SPECS({"", ""}), PITH_SPECS({"", "x"})},
                              .out = out});
}

/* ---- Comparison ---- */

static bool near_array(mesh_test *t, const pith_array *a, const pith_array *b) {
    double x[256], y[256];
    const size_t bytes = b ? pith_array_spec(b)->bytes : 0;
    if (!a || !b || bytes > sizeof y || pith_array_spec(a)->bytes != bytes ||
        !pith_read(t->s, a, x, bytes) || !pith_read(t->s, b, y, bytes))
        return false;
    for (size_t i = 0; i < bytes / sizeof *x; i++)
        if (!(fabs(x[i] - y[i]) <= 1e-12 * (1 + fabs(y[i]))))
            return false;
    return true;
}

/* Of a sharded tree and one of all rows. */
static bool near(mesh_test *t, const void *got, const void *want) {
    const void *all = pith_unshard(t->s, got, -1);
    const pith_array *const *a, *const *b;
    const int64_t count = pith_tree_num_leaves(want);
    bool fine = all && want && pith_tree_num_leaves(all) == count &&
                pith_tree_flatten(t->s, all, &a) && pith_tree_flatten(t->s, want, &b);
    for (int64_t k = 0; fine && k < count; k++)
        fine = near_array(t, a[k], b[k]);
    if (!fine || pith_failed(t->s))
        fprintf(stderr, "rank %d of %d: %s\n", (int)t->rank, (int)t->size,
                pith_message(t->s));
    return fine && !pith_failed(t->s);
}

typedef struct setting {
    const void *own[2], *all[2], *tangent, *tangent_all; /* a tuple for both arguments */
} setting;

static const pith_derive_options both = {.arguments =
                                             PITH_ARGUMENT(0) | PITH_ARGUMENT(1)},
                                 rows_only = {.arguments = PITH_ARGUMENT(1)};

static const pith_array *sharded(mesh_test *t, const pith_array *whole) {
    return pith_shard(t->s, whole, PITH_SPECS({"", "x"}));
}

static setting setting_of(mesh_test *t) {
    const pith_shape whole = PITH_SHAPE(ROWS * t->size, MANY), one = PITH_SHAPE(MANY);
    setting z = {
        .all = {mesh_data(t, 1, PITH_F64, one), mesh_data(t, 2, PITH_F64, whole)}};
    const pith_array *v = mesh_data(t, 3, PITH_F64, one),
                     *u = mesh_data(t, 4, PITH_F64, whole);
    z.own[0] = z.all[0];
    z.own[1] = sharded(t, z.all[1]);
    z.tangent = pith_tuple_make(t->s, PITH_ITEMS(v, sharded(t, u)));
    z.tangent_all = pith_tuple_make(t->s, PITH_ITEMS(v, u));
    return z;
}

/* ---- Tangents, linear maps, their transposes ---- */

static const void *
push(pith_scope *s, const void *primals, const void *tangent, const pith_function *f) {
    const void *given[] = {pith_child(primals, 0), pith_child(primals, 1)};
    return pith_jvp(s, f, 2, given, tangent, &both).tangent;
}
/* Of its value as the cotangent, which is known to be equal where the value is. */
static const void *pull(pith_scope *s, const void *primals, const pith_function *f) {
    const void *given[] = {pith_child(primals, 0), pith_child(primals, 1)};
    const pith_linearized l = pith_vjp(s, f, 2, given, &both);
    return l.map ? pith_call(s, l.map, 1, &l.value) : NULL;
}
static const pith_function *mapped_step(pith_scope *s) {
    return mapped(s, &step_function, PITH_SPECS({"", ""}, {"[1]", "x"}));
}
static const void *push_step(pith_scope *s, const void *primals, const void *tangent) {
    return push(s, primals, tangent, mapped_step(s));
}
PITH_FUNCTION2(push_step_function, push_step, void, void, void)
static const void *pull_step(pith_scope *s, const void *primals) {
    return pull(s, primals, mapped_step(s));
}
PITH_FUNCTION1(pull_step_function, pull_step, void, void)

static void derives_sharded_values(mesh_test *t) {
    const setting z = setting_of(t);
    const void *pair = pith_tuple_make(t->s, PITH_ITEMS(z.own[0], z.own[1])),
               *pair_all = pith_tuple_make(t->s, PITH_ITEMS(z.all[0], z.all[1]));
    const pith_function *f = mapped_step(t->s);
    const pith_pushed got = pith_jvp(t->s, f, 2, z.own, z.tangent, &both),
                      want = pith_jvp(t->s, &step_all_function, 2, z.all, z.tangent_all,
                                      &both);
    MESH_CHECK(t, near(t, got.value, want.value) && near(t, got.tangent, want.tangent));
    const pith_array *y = pith_child(got.tangent, 1);
    MESH_CHECK(t, strcmp(pith_array_sharding(y).axes, "x") == 0);
    const pith_linearized l = pith_linearize(t->s, f, 2, z.own, &both);
    MESH_CHECK(t, l.map && near(t, pith_call(t->s, l.map, 1, &z.tangent), want.tangent));
    const void *pulled = pull(t->s, pair_all, &step_all_function);
    const pith_linearized back = pith_vjp(t->s, f, 2, z.own, &both);
    MESH_CHECK(t, back.map && near(t, pith_call(t->s, back.map, 1, &back.value), pulled));
    /* and in compiled functions */
    for (int call = 0; call < 2; call++) {
        const pith_function *pushes = pith_jit(t->s, &push_step_function, NULL),
                            *pulls = pith_jit(t->s, &pull_step_function, NULL);
        MESH_CHECK(t, near(t, pith_apply(t->s, pushes, pair, z.tangent), want.tangent));
        MESH_CHECK(t, near(t, pith_apply(t->s, pulls, pair), pulled));
    }
}

/* ---- Control flow around the steps ---- */

/* A step of a pair of weight and rows, over shards or of all rows. */
static const void *step_pair(pith_scope *s, const void *pair) {
    const void *given[] = {pith_child(pair, 0), pith_child(pair, 1)};
    return pith_call(
        s, pith_array_sharding(given[1]).mesh ? mapped_step(s) : &step_all_function, 2,
        given);
}
static const void *advance(pith_scope *s, const void *pair) {
    const void *values = step_pair(s, pair);
    return pith_tuple_make(s, PITH_ITEMS(pith_child(values, 2), pith_child(values, 1)));
}
PITH_FUNCTION1(advance_function, advance, void, void)
static const pith_array *finish(pith_scope *s, const void *pair) {
    return pith_child(step_pair(s, pair), 0);
}
static const void *stay(pith_scope *s, const void *pair) {
    (void)s;
    return pair;
}
PITH_FUNCTION1(stay_function, stay, void, void)

static const void *advance_at(pith_scope *s, const pith_array *i, const void *pair) {
    (void)i;
    return advance(s, pair);
}
PITH_FUNCTION2(advance_at_function, advance_at, void, pith_array, void)
static const pith_array *by_range(pith_scope *s, const void *pair) {
    return finish(s, pith_fori(s, 0, 2, &advance_at_function, pair));
}
PITH_FUNCTION1(by_range_function, by_range, pith_array, void)
static const pith_array *by_budget(pith_scope *s, const void *pair) {
    const pith_loop_options few = {.kept_bytes = 2000};
    return finish(s, pith_fori_with(s, pith_i64(s, 0), pith_i64(s, 3),
                                    &advance_at_function, pair, &few));
}
PITH_FUNCTION1(by_budget_function, by_budget, pith_array, void)

static const pith_array *is_below(pith_scope *s, const void *counted) {
    return pith_less(s, (const pith_array *)pith_child(counted, 0), pith_i64(s, 2));
}
PITH_FUNCTION1(is_below_function, is_below, pith_array, void)
static const void *advance_counted(pith_scope *s, const void *counted) {
    const pith_array *i = pith_child(counted, 0);
    return pith_tuple_make(s, PITH_ITEMS(pith_add(s, i, pith_i64(s, 1)),
                                         advance(s, pith_child(counted, 1))));
}
PITH_FUNCTION1(advance_counted_function, advance_counted, void, void)
static const pith_array *by_record(pith_scope *s, const void *pair) {
    const void *first = pith_tuple_make(s, PITH_ITEMS(pith_i64(s, 0), pair));
    return finish(s, pith_child(pith_while_recorded(s, &is_below_function,
                                                    &advance_counted_function, first,
                                                    &(pith_record_options){.most = 3}),
                                1));
}
PITH_FUNCTION1(by_record_function, by_record, pith_array, void)

/* The weights are rows of the scan. */
static const void *advance_by(pith_scope *s, const void *x, const pith_array *w) {
    return pith_child(advance(s, pith_tuple_make(s, PITH_ITEMS(w, x))), 1);
}
PITH_FUNCTION2(advance_by_function, advance_by, void, void, pith_array)
static const pith_array *by_scan(pith_scope *s, const void *pair) {
    const pith_array *w = pith_child(pair, 0);
    const pith_array *both_rows[] = {w, pith_sin(s, w)};
    const void *x = pith_scan(s, &advance_by_function, pith_child(pair, 1),
                              pith_stack(s, 2, both_rows, 0), NULL, NULL);
    return finish(s, pith_tuple_make(s, PITH_ITEMS(w, x)));
}
PITH_FUNCTION1(by_scan_function, by_scan, pith_array, void)

/* What a branch is computed from is only used there. */
static const pith_array *by_branch(pith_scope *s, const void *pair) {
    const void *moved_pair =
        pith_cond(s, pith_bool(s, true), &advance_function, &stay_function, pair);
    const pith_array *ones = pith_ones(s, PITH_F64, PITH_SHAPE(MANY));
    return finish(s, pith_tuple_make(s, PITH_ITEMS(ones, pith_child(moved_pair, 1))));
}
PITH_FUNCTION1(by_branch_function, by_branch, pith_array, void)

/* The weight is a plain array: only the mapped function in the body says that it is equal
 * on all ranks. */
static void derives_around_flow(mesh_test *t) {
    static const pith_function *const ways[] = {&by_range_function, &by_budget_function,
                                                &by_record_function, &by_scan_function,
                                                &by_branch_function};
    const setting z = setting_of(t);
    const void *own = pith_tuple_make(t->s, PITH_ITEMS(z.own[0], z.own[1])),
               *all = pith_tuple_make(t->s, PITH_ITEMS(z.all[0], z.all[1]));
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
        const pith_function *f = pith_grad(t->s, ways[k], NULL);
        const void *want = pith_call(t->s, f, 1, &all);
        for (int way = 0; way < 2; way++, f = pith_jit(t->s, f, NULL))
            MESH_CHECK(t, near(t, pith_call(t->s, f, 1, &own), want));
    }
}

/* ---- Sharded results beside a value ---- */

typedef struct Judged {
    const pith_array *value, *aux;
} Judged;
PITH_NODE(Judged, PITH_LEAF(value, "f64[]"), PITH_LEAF(aux, "f64[...]"))

static const Judged *judge(pith_scope *s, const void *values) {
    return pith_record(s, Judged, .value = pith_child(values, 0),
                       .aux = pith_child(values, 1));
}
static const Judged *judge_own(pith_scope *s, const pith_array *w, const pith_array *x) {
    return judge(s, step(s, w, x));
}
PITH_FUNCTION2(judge_own_function, judge_own, Judged, pith_array, pith_array)
static const Judged *judge_all(pith_scope *s, const pith_array *w, const pith_array *x) {
    return judge(s, step_all(s, w, x));
}
PITH_FUNCTION2(judge_all_function, judge_all, Judged, pith_array, pith_array)

static void derives_with_sharded_aux(mesh_test *t) {
    const setting z = setting_of(t);
    const pith_derive_options o = {.arguments = both.arguments, .aux = true};
    const pith_function *f =
        mapped(t->s, &judge_own_function, PITH_SPECS({".value", ""}, {".aux", "x"}));
    const void *want =
        pith_call(t->s, pith_value_and_grad(t->s, &judge_all_function, &o), 2, z.all);
    const pith_function *g = pith_value_and_grad(t->s, f, &o);
    for (int way = 0; way < 2; way++, g = pith_jit(t->s, g, NULL))
        MESH_CHECK(t, near(t, pith_call(t->s, g, 2, z.own), want));
}

/* ---- Jacobians ---- */

static const pith_array *
sum_rows(pith_scope *s, const pith_array *w, const pith_array *x) {
    return pith_psum(s, pith_sum(s, pith_square(s, move(s, w, x)), PITH_AXES(0)), "x",
                     NULL);
}
PITH_FUNCTION2(sum_rows_function, sum_rows, pith_array, pith_array, pith_array)
static const pith_array *
sum_all_rows(pith_scope *s, const pith_array *w, const pith_array *x) {
    return pith_sum(s, pith_square(s, move_all(s, w, x)), PITH_AXES(0));
}
PITH_FUNCTION2(sum_all_rows_function, sum_all_rows, pith_array, pith_array, pith_array)

static const pith_array *norm(pith_scope *s, const pith_array *w, const pith_array *x) {
    return pith_sum(s, sum_rows(s, w, x), PITH_ALL_AXES);
}
PITH_FUNCTION2(norm_function, norm, pith_array, pith_array, pith_array)
static const pith_array *
own_norm(pith_scope *s, const pith_array *w, const pith_array *x) {
    return pith_sum(s, move(s, w, x), PITH_ALL_AXES);
}
PITH_FUNCTION2(own_norm_function, own_norm, pith_array, pith_array, pith_array)

/* Blocks are sharded as the rows are. */
static void derives_sharded_blocks(mesh_test *t) {
    const setting z = setting_of(t);
    const pith_function *rows_by_w = pith_jacobian_forward(
                            t->s, mapped(t->s, &move_function, PITH_SPECS({"", "x"})),
                            NULL),
                        *sums_by_rows = pith_jacobian_reverse(
                            t->s, mapped(t->s, &sum_rows_function, PITH_SPECS({"", ""})),
                            &rows_only);
    const pith_array *forward = pith_call(
                         t->s, pith_jacobian_forward(t->s, &move_all_function, NULL), 2,
                         z.all),
                     *reverse = pith_call(
                         t->s,
                         pith_jacobian_reverse(t->s, &sum_all_rows_function, &rows_only),
                         2, z.all);
    for (int way = 0; way < 2; way++) {
        const pith_array *a = pith_call(t->s, rows_by_w, 2, z.own),
                         *b = pith_call(t->s, sums_by_rows, 2, z.own);
        MESH_CHECK(t, near(t, a, forward) && near(t, b, reverse));
        MESH_CHECK(t, strcmp(pith_array_sharding(a).axes, "x") == 0);
        MESH_CHECK(t, strcmp(pith_array_sharding(b).axes, ";x") == 0);
        rows_by_w = pith_jit(t->s, rows_by_w, NULL);
        sums_by_rows = pith_jit(t->s, sums_by_rows, NULL);
    }
}

/* Unit vectors of shards would be set on all ranks at once. */
static void derives_no_units_of_shards(mesh_test *t) {
    const setting z = setting_of(t);
    const pith_shard_spec *none = PITH_SPECS({"", ""}), *x = PITH_SPECS({"", "x"});
    const struct {
        const pith_function *f;
        const char *text;
    } refused[] = {
        {pith_jacobian_forward(t->s, mapped(t->s, &sum_rows_function, none), &rows_only),
         "call pith_jacobian_reverse, or it within pith_shard_map"},
        {pith_jacobian_reverse(t->s, mapped(t->s, &move_function, x), NULL),
         "call pith_jacobian_forward, or it within pith_shard_map"},
        {pith_hessian(t->s, mapped(t->s, &norm_function, none), &rows_only),
         "call pith_hessian_product, or it within pith_shard_map"},
        {pith_grad(t->s, mapped(t->s, &own_norm_function, x), NULL),
         "got f64[] sharded \"x\": sum it over the ranks"},
    };
    for (size_t k = 0; k < sizeof refused / sizeof *refused; k++) {
        pith_call(t->s, refused[k].f, 2, z.own);
        MESH_CHECK(t, strstr(pith_message(t->s), "or use pith_unshard"));
        MESH_CHECK(t, mesh_fails(t, PITH_E_ARG, refused[k].text));
    }
    MESH_CHECK(t, pith_agree(t->s));
}

/* ---- Cotangents of shards that several ranks hold ---- */

/* Rows over x are equal along y, and so are their cotangents. */
static void derives_equal_shards(mesh_test *t) {
    if (t->size % 2)
        return;
    const setting z = setting_of(t);
    MESH_CHECK(t, pith_mesh_open(t->s, PITH_MESH_AXES({"x", 2}, {"y", 0}), NULL));
    const void *given[] = {z.own[0], sharded(t, rows(t, z.all[1], 0, 2 * ROWS))};
    const pith_function *f = mapped(t->s, &move_function, PITH_SPECS({"", "x"}));
    const pith_function *map = pith_vjp(t->s, f, 2, given, NULL).map;
    const pith_array *fine = given[1],
                     *own = pith_full(t->s, PITH_F64, PITH_SHAPE(ROWS, MANY),
                                      (double)pith_axis_rank(t->s, "y"));
    MESH_CHECK(t, map && pith_apply(t->s, map, fine));
    const pith_array *unequal = pith_shard_local(t->s, own, PITH_SPECS({"", "x"}));
    if (map)
        pith_apply(t->s, map, unequal);
    MESH_CHECK(t, t->size == 2
                      ? !pith_failed(t->s)
                      : mesh_fails(t, PITH_E_DIVERGED, "equal on all ranks along y"));
    MESH_CHECK(t, pith_agree(t->s));
}

const mesh_case mesh_shard_value_cases[] = {
    {"derives_sharded_values", derives_sharded_values},
    {"derives_around_flow", derives_around_flow},
    {"derives_with_sharded_aux", derives_with_sharded_aux},
    {"derives_sharded_blocks", derives_sharded_blocks},
    {"derives_no_units_of_shards", derives_no_units_of_shards},
    {"derives_equal_shards", derives_equal_shards},
    {NULL, NULL},
};
