/* Cases of derivatives of functions over shards, taken outside of them: of a sum over the
 * rows x of all ranks of (x - w)^2, whose derivatives are known. */
#include "mesh/shard_trees.h"

enum { ROWS = 12 }; /* a multiple of 1 to 4 */

static const pith_array *
distance(pith_scope *s, const pith_array *w, const pith_array *x) {
    const pith_array *each = pith_square(s, pith_sub(s, x, w));
    return pith_psum(s, pith_sum(s, each, PITH_ALL_AXES), NULL, NULL);
}
PITH_FUNCTION2(distance_function, distance, pith_array, pith_array, pith_array)

static const pith_array *mapped(pith_scope *s, const pith_array *w, const pith_array *x) {
    const pith_shard_options specs = {
        .in = {PITH_SPECS({"", "", NULL}), PITH_SPECS({"", "x", NULL})},
        .out = PITH_SPECS({"", "", NULL})};
    return pith_apply(s, pith_shard_map(s, &distance_function, &specs), w, x);
}
PITH_FUNCTION2(mapped_function, mapped, pith_array, pith_array, pith_array)

/* Four calls of a compiled function with a collective, of w, w + 1, ... */
enum { CALLS = 4 };
static const pith_array *
distances(pith_scope *s, const pith_array *w, const pith_array *x) {
    const pith_function *f = pith_jit(s, &distance_function, NULL);
    const pith_array *sum = pith_apply(s, f, w, x);
    for (int k = 1; k < CALLS; k++)
        sum = pith_add(s, sum, pith_apply(s, f, pith_add(s, w, (double)k), x));
    return sum;
}
PITH_FUNCTION2(distances_function, distances, pith_array, pith_array, pith_array)
static const pith_array *
mapped_calls(pith_scope *s, const pith_array *w, const pith_array *x) {
    const pith_shard_options specs = {
        .in = {PITH_SPECS({"", "", NULL}), PITH_SPECS({"", "x", NULL})},
        .out = PITH_SPECS({"", "", NULL})};
    return pith_apply(s, pith_shard_map(s, &distances_function, &specs), w, x);
}
PITH_FUNCTION2(mapped_calls_function, mapped_calls, pith_array, pith_array, pith_array)

/* With terms of w outside of the mapped function, and w there as computed from u. */
static const pith_array *
penalised(pith_scope *s, const pith_array *u, const pith_array *x) {
    const pith_array *w = pith_mul(s, u, 2.0);
    return pith_add(s, mapped(s, w, x), pith_square(s, u));
}
PITH_FUNCTION2(penalised_function, penalised, pith_array, pith_array, pith_array)

/* With a term of an array that the mapped function does not have. */
static const pith_array *
other(pith_scope *s, const pith_array *w, const pith_array *x, const pith_array *v) {
    return pith_add(s, mapped(s, w, x), pith_square(s, v));
}
PITH_FUNCTION3(other_function, other, pith_array, pith_array, pith_array, pith_array)

static const pith_array *other_equal(pith_scope *s,
                                     const pith_array *w,
                                     const pith_array *x,
                                     const pith_array *v) {
    return other(s, w, x, pith_pbroadcast(s, v, NULL, 0));
}
PITH_FUNCTION3(other_equal_function,
               other_equal,
               pith_array,
               pith_array,
               pith_array,
               pith_array)

/* Three steps of descent, in a loop that carries the weight. */
static const pith_array *
descend(pith_scope *s, const pith_array *i, const pith_array *w, const pith_array *x) {
    (void)i;
    const pith_function *slope = pith_grad(s, &mapped_function, NULL);
    return pith_sub(s, w, pith_mul(s, pith_apply(s, slope, w, x), 0.03125));
}
PITH_FUNCTION3(descend_function, descend, pith_array, pith_array, pith_array, pith_array)
static const pith_array *
descent(pith_scope *s, const pith_array *w, const pith_array *x) {
    return pith_fori(s, 0, 3, pith_partial(s, &descend_function, x), w);
}
PITH_FUNCTION2(descent_function, descent, pith_array, pith_array, pith_array)

/* ---- Cases ---- */

static const pith_array *all_rows(mesh_test *t) { /* 0, 1, 2, ...: of sum 66 */
    return pith_iota(t->s, PITH_F64, PITH_SHAPE(ROWS), 0);
}

static const pith_array *sharded(mesh_test *t) {
    return pith_shard(t->s, all_rows(t), PITH_SPECS({"", "x", NULL}));
}

static bool is(mesh_test *t, const pith_array *a, double number) {
    return pith_read_f64(t->s, a) == number && !pith_failed(t->s);
}

/* By the weight, which all ranks have: the terms of all ranks, once. */
static void derives_of_replicated(mesh_test *t) {
    const pith_array *w = pith_f64(t->s, 3), *x = sharded(t);
    const pith_function *f = pith_grad(t->s, &mapped_function, NULL);
    MESH_CHECK(t, is(t, pith_apply(t->s, f, w, x), 2 * (ROWS * 3.0 - 66)));
    f = pith_jit(t->s, f, NULL);
    MESH_CHECK(t, is(t, pith_apply(t->s, f, w, x), 2 * (ROWS * 3.0 - 66)));
}

/* Equal calls within it are derived once. */
static void derives_calls_once(mesh_test *t) {
    const pith_array *w = pith_f64(t->s, 3), *x = sharded(t);
    const double want = 2 * (CALLS * (ROWS * 3.0 - 66) + ROWS * 6);
    pith_runtime *rt = pith_scope_runtime(t->s);
    const int64_t before = pith_jit_about(rt).derived_calls;
    const pith_function *f =
        pith_jit(t->s, pith_grad(t->s, &mapped_calls_function, NULL), NULL);
    MESH_CHECK(t, is(t, pith_apply(t->s, f, w, x), want));
    MESH_CHECK(t, pith_jit_about(rt).derived_calls - before >= CALLS - 1);
    const void *given[] = {w, x};
    const pith_pushed y =
        pith_jvp(t->s, &mapped_calls_function, 2, given, pith_f64(t->s, 1), NULL);
    MESH_CHECK(t, is(t, y.tangent, want));
}

/* By the rows: sharded as these, and each its own term. */
static void derives_of_shards(mesh_test *t) {
    const pith_array *w = pith_f64(t->s, 3);
    const pith_array *want = pith_mul(t->s, pith_sub(t->s, all_rows(t), w), 2.0);
    const pith_function *f = pith_value_and_grad(
        t->s, &mapped_function, &(pith_derive_options){.arguments = 1 << 1});
    for (int way = 0; way < 2; way++, f = pith_jit(t->s, f, NULL)) {
        const pith_tuple *pair = pith_apply(t->s, f, w, sharded(t));
        const pith_array *slope = pith_child(pair, 1);
        MESH_CHECK(t, is(t, pith_child(pair, 0), 506 - 6 * 66 + ROWS * 9.0));
        MESH_CHECK(t,
                   t->size == 1 || pith_array_sharding(slope).whole.extents[0] == ROWS);
        MESH_CHECK(t, equal_trees(t, pith_unshard(t->s, slope, -1), want));
    }
}

/* A term outside counts once, on any number of ranks. */
static void derives_terms_outside(mesh_test *t) {
    const pith_array *u = pith_f64(t->s, 1.5), *x = sharded(t);
    const double want = 2 * 2 * (ROWS * 3.0 - 66) + 2 * 1.5;
    const pith_function *f = pith_grad(t->s, &penalised_function, NULL);
    MESH_CHECK(t, is(t, pith_apply(t->s, f, u, x), want));
    f = pith_jit(t->s, f, NULL);
    MESH_CHECK(t, is(t, pith_apply(t->s, f, u, x), want));
}

/* One of an array that may differ between ranks would count the others several times. */
static void derives_own_terms(mesh_test *t) {
    const pith_array *w = pith_f64(t->s, 3), *x = sharded(t), *v = pith_f64(t->s, 1);
    const pith_function *f = pith_grad(t->s, &other_function, NULL);
    pith_apply(t->s, pith_jit(t->s, f, NULL), w, x, v);
    MESH_CHECK(t, mesh_fails(t, PITH_E_DERIVATIVE, "equal along x"));
    f = pith_grad(t->s, &other_equal_function, NULL);
    const pith_array *slope = pith_apply(t->s, pith_jit(t->s, f, NULL), w, x, v);
    MESH_CHECK(t, is(t, slope, 2 * (ROWS * 3.0 - 66)));
}

static void derives_in_loops(mesh_test *t) {
    const pith_function *f = pith_jit(t->s, &descent_function, NULL);
    double w = 3;
    for (int k = 0; k < 3; k++)
        w -= 0.03125 * 2 * (ROWS * w - 66);
    MESH_CHECK(t, is(t, pith_apply(t->s, f, pith_f64(t->s, 3), sharded(t)), w));
}

const mesh_case mesh_shard_derive_cases[] = {
    {"derives_of_replicated", derives_of_replicated},
    {"derives_calls_once", derives_calls_once},
    {"derives_of_shards", derives_of_shards},
    {"derives_terms_outside", derives_terms_outside},
    {"derives_own_terms", derives_own_terms},
    {"derives_in_loops", derives_in_loops},
    {NULL, NULL},
};
