/* Trees with leaves of several dtypes, widths and numbers of rows, which compiled
 * functions move by one route: the bits of eager calls. Each case makes the same calls
 * whatever the number of ranks, so that messages can be counted (tests/route). */
#include "mesh/cases.h"

enum { ROWS = 40, BATCH = 3 };

/* Rows for the next two ranks, and some for this one. */
static const pith_route *route_of(mesh_test *t) {
    const int32_t row[] = {ROWS - 1, 0, 0, 7, 7, 12};
    const int64_t next = (t->rank + 1) % t->size, after = (t->rank + 2) % t->size;
    const int64_t to[] = {next, next, t->rank, after, after, after};
    return pith_route_make(t->s, pith_array_copy(t->s, PITH_I32, PITH_SHAPE(6), row),
                           pith_array_copy(t->s, PITH_I64, PITH_SHAPE(6), to), NULL,
                           pith_route_room(t->s, 5, 6, 12));
}

/* Floats of two dtypes, widths and numbers of rows. */
static const void *floats_of(mesh_test *t, int64_t seed) {
    const int64_t from = t->rank + 20 * seed;
    return pith_tuple_make(
        t->s, PITH_ITEMS(mesh_data(t, from, PITH_F64, PITH_SHAPE(ROWS, 3)),
                         mesh_data(t, from + 9, PITH_F32, PITH_SHAPE(ROWS + 5, 2))));
}

static const void *integers_of(mesh_test *t) {
    return pith_tuple_make(
        t->s, PITH_ITEMS(mesh_data(t, t->rank, PITH_I32, PITH_SHAPE(ROWS)),
                         mesh_data(t, t->rank, PITH_I8, PITH_SHAPE(2 * ROWS, 1, 5))));
}

/* The tree of both, there and back. */
static const void *
around(pith_scope *s, const void *r, const void *floats, const void *integers) {
    const void *all = pith_tuple_make(s, PITH_ITEMS(floats, integers));
    return pith_route_return(s, r, pith_route_send(s, r, all), all);
}
PITH_FUNCTION3(around_of, around, void, void, void, void)

/* By bits, leaf by leaf. */
static bool same(mesh_test *t, const void *a, const void *b) {
    static const char *const leaves[] = {"[0][0]", "[0][1]", "[1][0]", "[1][1]"};
    bool equal = pith_tree_equal(t->s, a, b);
    for (int k = 0; k < 4 && equal; k++)
        equal = mesh_equal(t, pith_tree_at(t->s, a, leaves[k]),
                           pith_tree_at(t->s, b, leaves[k]));
    return equal;
}

static const pith_derive_options by_floats = {.arguments = PITH_ARGUMENT(1)};

/* Four messages: compiled two, and two eager ones. */
static void trees_around(mesh_test *t) {
    const pith_route *r = route_of(t);
    const void *x = floats_of(t, 0), *q = integers_of(t),
               *got = pith_apply(t->s, pith_jit(t->s, &around_of, NULL), r, x, q);
    MESH_CHECK(t, same(t, got, around(t->s, r, x, q)));
}

/* More leaves than a step has addresses on its stack; as many messages. */
static void trees_of_many_leaves(mesh_test *t) {
    enum { LEAVES = 33 };
    static const pith_dtype dtypes[] = {PITH_F64, PITH_I16, PITH_F32, PITH_U8};
    const void *leaves[LEAVES];
    for (int k = 0; k < LEAVES; k++)
        leaves[k] = mesh_data(t, t->rank + k, dtypes[k % 4], PITH_SHAPE(ROWS + k, k % 3));
    const pith_route *r = route_of(t);
    const void *x = pith_list_make(t->s, LEAVES, leaves),
               *none = pith_tuple_make(t->s, 0, NULL),
               *got = pith_apply(t->s, pith_jit(t->s, &around_of, NULL), r, x, none);
    const void *want = around(t->s, r, x, none);
    for (int k = 0; k < LEAVES && !pith_failed(t->s); k++)
        MESH_CHECK(t, mesh_equal(t, pith_child(pith_child(got, 0), k),
                                 pith_child(pith_child(want, 0), k)));
    MESH_CHECK(t, !pith_failed(t->s));
}

/* ---- Derivatives ---- */

/* Two messages, which have values and tangents; and four eager ones. */
static void trees_pushed(mesh_test *t) {
    const pith_route *r = route_of(t);
    const void *x = floats_of(t, 0), *dx = floats_of(t, 1), *q = integers_of(t);
    const pith_pushed pushed =
        pith_jvp(t->s, &around_of, PITH_ITEMS(r, x, q), dx, &by_floats);
    const void *want =
        pith_tuple_make(t->s, PITH_ITEMS(pith_child(around(t->s, r, dx, q), 0),
                                         pith_tree_zeros_like(t->s, q)));
    MESH_CHECK(t, same(t, pushed.value, around(t->s, r, x, q)));
    MESH_CHECK(t, same(t, pushed.tangent, want));
}

/* The squares of one leaf, and the other times a number of the integers that came back.
 */
static const pith_array *
pull(pith_scope *s, const void *r, const void *x, const void *q) {
    const void *all = around(s, r, x, q);
    const pith_array *a = pith_tree_at(s, all, "[0][0]"),
                     *b = pith_tree_at(s, all, "[0][1]"),
                     *n = pith_tree_at(s, all, "[1][0]");
    const pith_array *squares = pith_sum(s, pith_mul(s, a, a), PITH_ALL_AXES),
                     *number = pith_cast(s, pith_sum(s, n, PITH_ALL_AXES), PITH_F64),
                     *sum = pith_sum(s, pith_cast(s, b, PITH_F64), PITH_ALL_AXES);
    return pith_psum(s, pith_add(s, squares, pith_mul(s, number, sum)), NULL, NULL);
}
PITH_FUNCTION3(pull_of, pull, pith_array, void, void, void)

static bool near(mesh_test *t, const void *got, const void *want, double eps) {
    const pith_array *a = pith_cast(t->s, got, PITH_F64),
                     *b = pith_cast(t->s, want, PITH_F64);
    const double rest = pith_read_f64(
        t->s, pith_max(t->s, pith_abs(t->s, pith_sub(t->s, a, b)), PITH_ALL_AXES));
    const double most =
        pith_read_f64(t->s, pith_max(t->s, pith_abs(t->s, b), PITH_ALL_AXES));
    return !pith_failed(t->s) && most > 0 && rest <= eps * most;
}

/* Going around is symmetric, so what is pulled back goes around, too. */
static void check_pulled(mesh_test *t, const pith_function *f) {
    const pith_route *r = route_of(t);
    const void *x = floats_of(t, 0), *q = integers_of(t);
    const void *slope = pith_apply(t->s, pith_grad(t->s, f, &by_floats), r, x, q);
    const void *all = around(t->s, r, x, q);
    const pith_array *a = pith_tree_at(t->s, all, "[0][0]"),
                     *b = pith_tree_at(t->s, all, "[0][1]"),
                     *n = pith_tree_at(t->s, all, "[1][0]");
    const pith_array *number =
        pith_cast(t->s, pith_sum(t->s, n, PITH_ALL_AXES), PITH_F32);
    const void *pulled =
        pith_tuple_make(t->s, PITH_ITEMS(pith_mul(t->s, a, 2),
                                         pith_add(t->s, pith_mul(t->s, b, 0), number)));
    const void *want = pith_child(around(t->s, r, pulled, q), 0);
    MESH_CHECK(t, near(t, pith_child(slope, 0), pith_child(want, 0), 1e-13));
    MESH_CHECK(t, near(t, pith_child(slope, 1), pith_child(want, 1), 1e-5));
}

/* Four messages, two of them of the transposition; and four eager ones. */
static void trees_pulled(mesh_test *t) {
    check_pulled(t, &pull_of);
}

/* Values are computed again. */
static const pith_array *
pull_again(pith_scope *s, const void *r, const void *x, const void *q) {
    return pith_apply(s, pith_recompute(s, &pull_of, NULL), r, x, q);
}
PITH_FUNCTION3(pull_again_of, pull_again, pith_array, void, void, void)

static void trees_pulled_again(mesh_test *t) {
    check_pulled(t, &pull_again_of);
}

/* ---- Batches ---- */

/* Two messages have the whole batch; and two eager ones for each entry. */
static void trees_of_a_batch(mesh_test *t) {
    const pith_route *r = route_of(t);
    const void *q = integers_of(t), *entries[BATCH];
    for (int k = 0; k < BATCH; k++)
        entries[k] = floats_of(t, k);
    const pith_function *batched =
        pith_vmap(t->s, &around_of,
                  &(pith_vmap_options){.in = PITH_MAPPED({"[0]", PITH_NOT_MAPPED},
                                                         {"[2]", PITH_NOT_MAPPED})});
    const void *all = pith_apply(t->s, pith_jit(t->s, batched, NULL), r,
                                 pith_tree_stack(t->s, BATCH, entries), q);
    for (int k = 0; k < BATCH; k++)
        entries[k] = around(t->s, r, entries[k], q);
    MESH_CHECK(t, same(t, all, pith_tree_stack(t->s, BATCH, entries)));
}

/* ---- Control flow ---- */

/* Where a tree goes, and with it. */
typedef struct Going {
    const void *floats, *integers;
    const pith_route *route;
} Going;
PITH_NODE(Going, PITH_TREE(floats), PITH_TREE(integers), PITH_CHILD(route, pith_route))

static const Going *go(pith_scope *s, const Going *g) {
    const void *all = around(s, g->route, g->floats, g->integers);
    Going next = *g;
    next.floats = pith_child(all, 0);
    next.integers = pith_child(all, 1);
    return pith_freeze(s, Going, &next);
}
PITH_FUNCTION1(go_of, go, Going, Going)
static const Going *stay(pith_scope *s, const Going *g) {
    (void)s;
    return g;
}
PITH_FUNCTION1(stay_of, stay, Going, Going)

static const Going *go_at(pith_scope *s, const pith_array *i, const Going *g) {
    return pith_cond(s, pith_less(s, i, 2), &go_of, &stay_of, g);
}
PITH_FUNCTION2(go_at_of, go_at, Going, pith_array, Going)
static const Going *go_often(pith_scope *s, const Going *g) {
    return pith_fori(s, 0, 3, &go_at_of, g);
}
PITH_FUNCTION1(go_often_of, go_often, Going, Going)

/* Two messages in each of two iterations, and as many eager ones. */
static void trees_in_a_loop(mesh_test *t) {
    const Going begin = {floats_of(t, 0), integers_of(t), route_of(t)};
    const Going *g = pith_freeze(t->s, Going, &begin),
                *got = pith_apply(t->s, pith_jit(t->s, &go_often_of, NULL), g);
    const Going *want = go(t->s, go(t->s, g));
    MESH_CHECK(t, same(t, pith_tuple_make(t->s, PITH_ITEMS(got->floats, got->integers)),
                       pith_tuple_make(t->s, PITH_ITEMS(want->floats, want->integers))));
}

const mesh_case mesh_route_tree_cases[] = {
    {"trees_around", trees_around},
    {"trees_of_many_leaves", trees_of_many_leaves},
    {"trees_pushed", trees_pushed},
    {"trees_pulled", trees_pulled},
    {"trees_pulled_again", trees_pulled_again},
    {"trees_of_a_batch", trees_of_a_batch},
    {"trees_in_a_loop", trees_in_a_loop},
    {NULL, NULL},
};
