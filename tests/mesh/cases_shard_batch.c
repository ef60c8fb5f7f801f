/* Cases of batches of functions over shards: a batch axis beside those of the ranks, a
 * batch of calls and calls of a batch. Every entry has the bits of a call of its own. */
#include "mesh/shard_trees.h"

#include <string.h>

enum { ENTRIES = 3, ROWS = 3 }; /* rows of a rank */

/* ---- Functions of one entry ---- */

/* Rows of this rank minus the mean of all, times a weight that is replicated. */
static const pith_array *
centre(pith_scope *s, const pith_array *x, const pith_array *weight) {
    const pith_array *all = pith_psum_rows(s, x, "x", NULL);
    return pith_mul(s, pith_sub(s, x, pith_mul(s, all, 0.25)), weight);
}
PITH_FUNCTION2(centre_function, centre, pith_array, pith_array, pith_array)

static const pith_array *
centred(pith_scope *s, const pith_array *x, const pith_array *weight) {
    const pith_shard_options o = {.in = {PITH_SPECS({"", "x"}), PITH_SPECS({"", ""})},
                                  .out = PITH_SPECS({"", "x"})};
    return pith_apply(s, pith_shard_map(s, &centre_function, &o), x, weight);
}
PITH_FUNCTION2(centred_function, centred, pith_array, pith_array, pith_array)

/* The sum over all rows of (x - w)^2. */
static const pith_array *cost(pith_scope *s, const pith_array *x, const pith_array *w) {
    const pith_array *each = pith_square(s, pith_sub(s, x, w));
    return pith_psum(s, pith_sum(s, each, PITH_ALL_AXES), NULL, NULL);
}
PITH_FUNCTION2(cost_function, cost, pith_array, pith_array, pith_array)

static const pith_array *costs(pith_scope *s, const pith_array *x, const pith_array *w) {
    const pith_shard_options o = {.in = {PITH_SPECS({"", "x"}), PITH_SPECS({"", ""})},
                                  .out = PITH_SPECS({"", ""})};
    return pith_apply(s, pith_shard_map(s, &cost_function, &o), x, w);
}
PITH_FUNCTION2(costs_function, costs, pith_array, pith_array, pith_array)

/* ---- Data ---- */

static const pith_array *batch_of(mesh_test *t, int64_t k, pith_shape shape) {
    return mesh_data(t, 10 + k, PITH_F64, shape);
}

static const pith_array *
entry_at(mesh_test *t, const pith_array *a, int axis, int64_t e) {
    return pith_slice_at(t->s, a, axis, e);
}

/* A call for each entry, joined along an axis of the whole results. axis_x, axis_w: of
 * the entries; -1: shared. */
static const pith_array *one_by_one(mesh_test *t,
                                    const pith_function *f,
                                    const pith_array *x,
                                    int axis_x,
                                    const pith_array *w,
                                    int axis_w,
                                    int out) {
    const pith_array *all[ENTRIES];
    for (int64_t e = 0; e < ENTRIES; e++) {
        const pith_array *own = axis_x < 0 ? x : entry_at(t, x, axis_x, e),
                         *shards = pith_shard(t->s, own, PITH_SPECS({"", "x"}));
        all[e] = pith_unshard(
            t->s, pith_apply(t->s, f, shards, axis_w < 0 ? w : entry_at(t, w, axis_w, e)),
            -1);
    }
    return pith_stack(t->s, ENTRIES, all, out);
}

/* Call by call and compiled, the batch is sharded so, and has these elements. */
static void check_batch(mesh_test *t,
                        const pith_function *batch,
                        const pith_array *x,
                        const pith_array *w,
                        const char *axes,
                        const pith_array *want) {
    for (int way = 0; way < 2; way++, batch = pith_jit(t->s, batch, NULL))
        for (int call = 0; call <= way; call++) {
            const pith_array *made = pith_apply(t->s, batch, x, w);
            MESH_CHECK(t, made && strcmp(pith_array_sharding(made).axes, axes) == 0);
            MESH_CHECK(t, mesh_equal(t, pith_unshard(t->s, made, -1), want));
        }
}

/* ---- Batches of calls ---- */

static void batches_beside_shards(mesh_test *t) {
    const int64_t n = ROWS * t->size;
    const pith_array *x = batch_of(t, 0, PITH_SHAPE(ENTRIES, n, 2)),
                     *w = batch_of(t, 1, PITH_SHAPE(ENTRIES));
    const pith_function *f = &centred_function;
    /* the axis of the batch before that of the ranks */
    check_batch(t, pith_vmap(t->s, f, NULL), pith_shard(t->s, x, PITH_SPECS({"", ";x"})),
                w, ";x", one_by_one(t, f, x, 0, w, 0, 0));
    check_batch(t, pith_vmap(t->s, f, &(pith_vmap_options){.chunk = 2}),
                pith_shard(t->s, x, PITH_SPECS({"", ";x"})), w, ";x",
                one_by_one(t, f, x, 0, w, 0, 0));
    /* after it, and with one weight */
    const pith_array *y = batch_of(t, 2, PITH_SHAPE(n, ENTRIES, 2)),
                     *one = pith_f64(t->s, 3);
    const pith_vmap_options after = {
        .in = PITH_MAPPED({"[0]", 1}, {"[1]", PITH_NOT_MAPPED}),
        .out = PITH_MAPPED({"", 1})};
    check_batch(t, pith_vmap(t->s, f, &after), pith_shard(t->s, y, PITH_SPECS({"", "x"})),
                one, "x", one_by_one(t, f, y, 1, one, -1, 1));
    /* shards that all entries share */
    const pith_array *z = batch_of(t, 3, PITH_SHAPE(n, 2));
    const pith_vmap_options shared = {.in = PITH_MAPPED({"[0]", PITH_NOT_MAPPED})};
    check_batch(t, pith_vmap(t->s, f, &shared),
                pith_shard(t->s, z, PITH_SPECS({"", "x"})), w, ";x",
                one_by_one(t, f, z, -1, w, 0, 0));
}

static void batches_of_sums(mesh_test *t) {
    const int64_t n = ROWS * t->size;
    const pith_array *x = batch_of(t, 0, PITH_SHAPE(ENTRIES, n)),
                     *w = batch_of(t, 1, PITH_SHAPE(ENTRIES));
    const pith_array *shards = pith_shard(t->s, x, PITH_SPECS({"", ";x"}));
    const pith_function *f = &costs_function,
                        *slope =
                            pith_grad(t->s, f, &(pith_derive_options){.arguments = 2});
    check_batch(t, pith_vmap(t->s, f, NULL), shards, w, "",
                one_by_one(t, f, x, 0, w, 0, 0));
    check_batch(t, pith_vmap(t->s, slope, NULL), shards, w, "",
                one_by_one(t, slope, x, 0, w, 0, 0));
    slope = pith_grad(t->s, f, NULL);
    check_batch(t, pith_vmap(t->s, slope, NULL), shards, w, ";x",
                one_by_one(t, slope, x, 0, w, 0, 0));
}

/* Two batches, and shards that are bound to the function. */
static const pith_array *bound(pith_scope *s, const pith_array *w, const pith_array *x) {
    return costs(s, x, w);
}
PITH_FUNCTION2(bound_function, bound, pith_array, pith_array, pith_array)
static const pith_array *
bound_batch(pith_scope *s, const pith_array *x, const pith_array *w) {
    return pith_apply(s, pith_vmap(s, pith_partial(s, &bound_function, x), NULL), w);
}
PITH_FUNCTION2(bound_batch_function, bound_batch, pith_array, pith_array, pith_array)

static void batches_nest(mesh_test *t) {
    const int64_t n = ROWS * t->size;
    const pith_array *x = batch_of(t, 0, PITH_SHAPE(2, ENTRIES, n)),
                     *w = batch_of(t, 1, PITH_SHAPE(2, ENTRIES)), *rows[2];
    const pith_function *f = &centred_function,
                        *twice = pith_vmap(t->s, pith_vmap(t->s, f, NULL), NULL);
    for (int64_t k = 0; k < 2; k++)
        rows[k] = one_by_one(t, f, entry_at(t, x, 0, k), 0, entry_at(t, w, 0, k), 0, 0);
    check_batch(t, twice, pith_shard(t->s, x, PITH_SPECS({"", ";;x"})), w, ";;x",
                pith_stack(t->s, 2, rows, 0));
    const pith_array *y = batch_of(t, 2, PITH_SHAPE(n)), *v = entry_at(t, w, 0, 0);
    check_batch(t, &bound_batch_function, pith_shard(t->s, y, PITH_SPECS({"", "x"})), v,
                "", one_by_one(t, &costs_function, y, -1, v, 0, 0));
}

/* ---- A batch within a function over shards ---- */

static const pith_array *
batch_rows(pith_scope *s, const pith_array *x, const pith_array *w) {
    const pith_vmap_options rows = {.in = PITH_MAPPED({"[1]", PITH_NOT_MAPPED})};
    return pith_apply(s, pith_vmap(s, &cost_function, &rows), x, w);
}
PITH_FUNCTION2(batch_rows_function, batch_rows, pith_array, pith_array, pith_array)

/* Row k of every rank together. */
static void batches_within(mesh_test *t) {
    const pith_array *x = batch_of(t, 0, PITH_SHAPE(ROWS * t->size, 4)),
                     *w = pith_f64(t->s, 2), *want[ROWS];
    const pith_shard_options o = {.in = {PITH_SPECS({"", "x"}), PITH_SPECS({"", ""})},
                                  .out = PITH_SPECS({"", ""})};
    const pith_function *f = pith_shard_map(t->s, &batch_rows_function, &o);
    for (int64_t k = 0; k < ROWS; k++) {
        const pith_array *of_rank[8];
        for (int64_t r = 0; r < t->size; r++)
            of_rank[r] = pith_sum(
                t->s,
                pith_square(t->s, pith_sub(t->s, entry_at(t, x, 0, r * ROWS + k), w)),
                PITH_ALL_AXES);
        want[k] = pith_sum(t->s, pith_stack(t->s, t->size, of_rank, 0), PITH_AXES(0));
    }
    check_batch(t, f, pith_shard(t->s, x, PITH_SPECS({"", "x"})), w, "",
                pith_stack(t->s, ROWS, want, 0));
}

/* ---- Records ---- */

typedef struct {
    const pith_array *grid, *scale;
    int64_t k;
} ShardGrid;
PITH_NODE(ShardGrid,
          PITH_LEAF(grid, "f64[k,2]", .shard = "x"),
          PITH_LEAF(scale, "f64[]"),
          PITH_STATIC(k))

static const ShardGrid *stretch(pith_scope *s, const ShardGrid *g) {
    ShardGrid next = *g;
    const pith_array *most = pith_pmax(s, pith_max(s, g->grid, PITH_ALL_AXES), NULL);
    next.grid = pith_mul(s, g->grid, g->scale);
    next.scale = pith_add(s, g->scale, most);
    return pith_freeze(s, ShardGrid, &next);
}
PITH_FUNCTION1(stretch_function, stretch, ShardGrid, ShardGrid)

static void batches_of_records(mesh_test *t) {
    const ShardGrid all = {.grid = batch_of(t, 0, PITH_SHAPE(ENTRIES, ROWS * t->size, 2)),
                           .scale = batch_of(t, 1, PITH_SHAPE(ENTRIES)),
                           .k = ROWS * t->size};
    const ShardGrid *batch = pith_freeze(t->s, ShardGrid, &all),
                    *shards = pith_shard(t->s, batch, PITH_SPECS({".grid", ";x"}));
    const pith_function *f = pith_shard_map(t->s, &stretch_function, NULL),
                        *map = pith_vmap(t->s, f, NULL);
    for (int way = 0; way < 2; way++, map = pith_jit(t->s, map, NULL)) {
        const ShardGrid *made = pith_apply(t->s, map, shards),
                        *whole = pith_unshard(t->s, made, -1);
        MESH_CHECK(t, t->size == 1 || pith_array_sharding(made->grid).axes[0] == ';');
        for (int64_t e = 0; e < ENTRIES; e++) {
            const ShardGrid one = {.grid = entry_at(t, all.grid, 0, e),
                                   .scale = entry_at(t, all.scale, 0, e),
                                   .k = all.k};
            const ShardGrid *want = pith_unshard(
                t->s,
                pith_apply(t->s, f,
                           pith_shard(t->s, pith_freeze(t->s, ShardGrid, &one), NULL)),
                -1);
            MESH_CHECK(t, mesh_equal(t, entry_at(t, whole->grid, 0, e), want->grid));
            MESH_CHECK(t, mesh_equal(t, entry_at(t, whole->scale, 0, e), want->scale));
        }
    }
}

/* ---- Refusals ---- */

static const ShardAtoms *shift(pith_scope *s, const ShardAtoms *a, const pith_array *by) {
    ShardAtoms next = *a;
    next.position = pith_add(s, a->position, by);
    return pith_freeze(s, ShardAtoms, &next);
}
PITH_FUNCTION2(shift_function, shift, ShardAtoms, ShardAtoms, pith_array)

static const pith_array *
own_sum(pith_scope *s, const pith_array *x, const pith_array *w) {
    return pith_mul(s, pith_sum(s, x, PITH_ALL_AXES), w);
}
PITH_FUNCTION2(own_sum_function, own_sum, pith_array, pith_array, pith_array)

static void batches_refuse(mesh_test *t) {
    const pith_array *x = batch_of(t, 0, PITH_SHAPE(ROWS * t->size, 4)),
                     *w = batch_of(t, 1, PITH_SHAPE(ROWS)),
                     *shards = pith_shard(t->s, x, PITH_SPECS({"", "x"}));
    const pith_shard_options o = {.in = {PITH_SPECS({"", "x"}), PITH_SPECS({"", ""})},
                                  .out = PITH_SPECS({"", "x"})};
    const pith_function *f = pith_vmap(t->s, &centred_function, NULL);
    for (int way = 0; way < 2; way++, f = pith_jit(t->s, f, NULL)) {
        pith_apply(t->s, f, shards, w);
        MESH_CHECK(
            t, mesh_fails(t, PITH_E_ARG,
                          "[0]: pith_vmap: centred: axis 0 of f64[3,4] sharded \"x\" "
                          "is to be mapped, but its entries lie on the ranks along x"));
    }
    /* one value of each rank, in a batch */
    const pith_vmap_options shared = {.in = PITH_MAPPED({"[0]", PITH_NOT_MAPPED})};
    pith_apply(t->s,
               pith_vmap(t->s, pith_shard_map(t->s, &own_sum_function, &o), &shared),
               shards, w);
    MESH_CHECK(t, mesh_fails(t, PITH_E_ARG, "cannot have a batch axis: "));
    /* counted rows, with a batch axis before them */
    const ShardAtoms *atoms = pith_shard(t->s, atoms_of(t, 11, 11), NULL);
    pith_apply(t->s,
               pith_vmap(t->s, pith_shard_map(t->s, &shift_function, NULL), &shared),
               atoms, w);
    MESH_CHECK(t, mesh_fails(t, PITH_E_ARG, ".position: pith_vmap: shift: f64["));
    pith_apply(t->s, pith_vectorize(t->s, &centred_function, NULL), shards, w);
    MESH_CHECK(t, mesh_fails(t, PITH_E_ARG, "pith_unshard"));
    MESH_CHECK(t, pith_agree(t->s));
}

const mesh_case mesh_shard_batch_cases[] = {
    {"batches_beside_shards", batches_beside_shards},
    {"batches_of_sums", batches_of_sums},
    {"batches_nest", batches_nest},
    {"batches_within", batches_within},
    {"batches_of_records", batches_of_records},
    {"batches_refuse", batches_refuse},
    {NULL, NULL},
};
