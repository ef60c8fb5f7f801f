/* Cases of functions over shards within others, over other axes of the mesh. */
#include "mesh/shard_trees.h"

#include <string.h>

/* A mesh of two axes; false: there is an odd number of ranks. */
static bool open_two(mesh_test *t) {
    return t->size % 2 == 0 &&
           pith_mesh_open(t->s, PITH_MESH_AXES({"x", 2}, {"y", 0}), NULL) != NULL;
}

/* ---- One over x, one over y ---- */

static const pith_array *add_y(pith_scope *s, const pith_array *x) {
    return pith_add(s, x, pith_cast(s, pith_axis_index(s, "y"), PITH_F64));
}
PITH_FUNCTION1(add_y_function, add_y, pith_array, pith_array)

/* Over x; inside, its argument is still sharded over y. */
static const pith_array *over_y(pith_scope *s, const pith_array *x) {
    const pith_shard_spec *spec = PITH_SPECS({"", "x,y", NULL});
    const pith_function *f =
        pith_shard_map(s, &add_y_function,
                       &(pith_shard_options){.in = {spec}, .out = spec, .axes = "y"});
    return pith_apply(s, f, x);
}
PITH_FUNCTION1(over_y_function, over_y, pith_array, pith_array)

static void maps_nest(mesh_test *t) {
    const int64_t half = t->size / 2;
    if (!open_two(t))
        return;
    const pith_array *whole = mesh_data(t, 7, PITH_F64, PITH_SHAPE(2 * t->size));
    const pith_shard_spec *spec = PITH_SPECS({"", "x,y", NULL});
    const pith_array *a = pith_shard(t->s, whole, spec);
    const pith_function *f =
        pith_shard_map(t->s, &over_y_function,
                       &(pith_shard_options){.in = {spec}, .out = spec, .axes = "x"});
    const pith_array *b = pith_apply(t->s, f, a);
    MESH_CHECK(t, pith_array_spec(b) == pith_array_spec(a));
    const pith_array *parts[64];
    for (int64_t r = 0; r < t->size; r++)
        parts[r] = pith_add(t->s, rows(t, whole, 2 * r, 2 * r + 2), (double)(r % half));
    MESH_CHECK(t, mesh_equal(t, pith_unshard(t->s, b, -1),
                             pith_concatenate(t->s, t->size, parts, 0)));
    /* the same axis twice */
    const pith_function *g = pith_shard_map(
        t->s, &over_y_function, &(pith_shard_options){.in = {spec}, .out = spec});
    pith_apply(t->s, g, a);
    MESH_CHECK(t, mesh_fails(t, PITH_E_ARG, "the axis y is mapped already"));
}

/* ---- Eager and compiled, at each level ---- */

/* Blocks of a matrix, "x;y", and a weight that all ranks have. Sums run over either axis,
 * wherever it was mapped. */
static const pith_array *
mix(pith_scope *s, const pith_array *a, const pith_array *weight) {
    const pith_array *scaled = pith_mul(s, a, weight);
    const pith_array *along_y =
        pith_psum(s, pith_sum(s, scaled, PITH_AXES(1)), "y", NULL);
    const pith_array *along_x = pith_psum(s, pith_sum(s, a, PITH_AXES(0)), "x", NULL);
    return pith_add(s, pith_add(s, scaled, along_x),
                    pith_reshape(s, along_y, PITH_SHAPE(2, 1)));
}
PITH_FUNCTION2(mix_function, mix, pith_array, pith_array, pith_array)

typedef struct nest {
    pith_function call; /* first */
    bool inner_jit, around_inner_jit;
} nest;

static const pith_function *
over(pith_scope *s, const pith_function *f, const char *axes) {
    const pith_shard_spec *blocks = PITH_SPECS({"", "x;y", NULL});
    return pith_shard_map(
        s, f,
        &(pith_shard_options){
            .in = {blocks, PITH_SPECS({"", "", NULL})}, .out = blocks, .axes = axes});
}

/* Over x; what it gets is sharded along y still. */
static const void *
call_nest(const pith_function *self, pith_scope *s, const void *const *given) {
    const nest *n = (const nest *)(const void *)self;
    const pith_function *f =
        n->inner_jit ? pith_jit(s, &mix_function, NULL) : &mix_function;
    f = over(s, f, "y");
    if (n->around_inner_jit)
        f = pith_jit(s, f, NULL);
    return pith_call(s, f, 2, given);
}

static nest nest_of(int way) {
    return (nest){.call = {.name = "nest", .call = call_nest, .arity = 2},
                  .inner_jit = way & 1,
                  .around_inner_jit = way & 2};
}

/* The same on one rank, with the order of sums over ranks. */
static const pith_array *
mixed(mesh_test *t, const pith_array *a, const pith_array *weight) {
    const int64_t ny = t->size / 2;
    const pith_array *strips[2], *blocks[2][32], *sums[32];
    for (int64_t i = 0; i < 2; i++)
        for (int64_t j = 0; j < ny; j++)
            blocks[i][j] =
                pith_slice_array(t->s, a, 2,
                                 (const pith_slice[]){PITH_SLICE(2 * i, 2 * i + 2, 1),
                                                      PITH_SLICE(3 * j, 3 * j + 3, 1)});
    for (int64_t i = 0; i < 2; i++) {
        const pith_array *made[32];
        for (int64_t j = 0; j < ny; j++)
            sums[j] = pith_sum(t->s, pith_mul(t->s, blocks[i][j], weight), PITH_AXES(1));
        const pith_array *along_y = pith_reshape(
            t->s, pith_sum(t->s, pith_stack(t->s, ny, sums, 0), PITH_AXES(0)),
            PITH_SHAPE(2, 1));
        for (int64_t j = 0; j < ny; j++) {
            const pith_array *both[] = {pith_sum(t->s, blocks[0][j], PITH_AXES(0)),
                                        pith_sum(t->s, blocks[1][j], PITH_AXES(0))};
            const pith_array *along_x =
                pith_sum(t->s, pith_stack(t->s, 2, both, 0), PITH_AXES(0));
            made[j] = pith_add(
                t->s, pith_add(t->s, pith_mul(t->s, blocks[i][j], weight), along_x),
                along_y);
        }
        strips[i] = pith_concatenate(t->s, ny, made, 1);
    }
    return pith_concatenate(t->s, 2, strips, 0);
}

static void nest_with_jit(mesh_test *t) {
    if (!open_two(t))
        return;
    const pith_array *whole = mesh_data(t, 7, PITH_F64, PITH_SHAPE(4, 3 * (t->size / 2)));
    const pith_array *weight = mesh_data(t, 9, PITH_F64, PITH_SHAPE(3));
    const pith_array *a = pith_shard(t->s, whole, PITH_SPECS({"", "x;y", NULL}));
    const pith_array *want = mixed(t, whole, weight);
    for (int way = 0; way < 16; way++) {
        const nest n = nest_of(way);
        const pith_function *f = way & 4 ? pith_jit(t->s, &n.call, NULL) : &n.call;
        f = over(t->s, f, "x");
        if (way & 8)
            f = pith_jit(t->s, f, NULL);
        for (int call = 0; call < 2; call++) {
            const pith_array *b = pith_call(t->s, f, PITH_ITEMS(a, weight));
            MESH_CHECK(t, pith_array_spec(b) == pith_array_spec(a));
            MESH_CHECK(t, mesh_equal(t, pith_unshard(t->s, b, -1), want));
        }
        pith_jit_clear(pith_scope_runtime(t->s)); /* n is gone */
    }
}

/* ---- Between the levels ---- */

static const pith_array *
read_between(pith_scope *s, const pith_array *a, const pith_array *weight) {
    return pith_mul(s, a, weight);
}
PITH_FUNCTION2(read_between_function, read_between, pith_array, pith_array, pith_array)

static const pith_array *
mix_again(pith_scope *s, const pith_array *i, const pith_array *a, const pith_array *w) {
    (void)i;
    return pith_apply(s, over(s, &mix_function, "y"), a, w);
}
PITH_FUNCTION3(mix_again_function,
               mix_again,
               pith_array,
               pith_array,
               pith_array,
               pith_array)
static const pith_array *
loop_between(pith_scope *s, const pith_array *a, const pith_array *weight) {
    return pith_fori(s, 0, 2, pith_partial(s, &mix_again_function, weight), a);
}
PITH_FUNCTION2(loop_between_function, loop_between, pith_array, pith_array, pith_array)

/* Leaves stay sharded along y: elements are out of reach, and loops carry them. */
static void nest_between(mesh_test *t) {
    if (!open_two(t))
        return;
    const pith_array *whole = mesh_data(t, 7, PITH_F64, PITH_SHAPE(4, 3 * (t->size / 2)));
    const pith_array *weight = mesh_data(t, 9, PITH_F64, PITH_SHAPE(3));
    const pith_array *a = pith_shard(t->s, whole, PITH_SPECS({"", "x;y", NULL}));
    const pith_function *reads = over(t->s, &read_between_function, "x"),
                        *loops = over(t->s, &loop_between_function, "x");
    const pith_array *want = mixed(t, mixed(t, whole, weight), weight);
    for (int compiled = 0; compiled < 2; compiled++) {
        pith_call(t->s, compiled ? pith_jit(t->s, reads, NULL) : reads,
                  PITH_ITEMS(a, weight));
        MESH_CHECK(t, strstr(pith_message(t->s), "pith_unshard"));
        MESH_CHECK(t, mesh_fails(t, PITH_E_ARG, "got f64[2,3] sharded \";y\""));
        const pith_array *b = pith_call(
            t->s, compiled ? pith_jit(t->s, loops, NULL) : loops, PITH_ITEMS(a, weight));
        MESH_CHECK(t, mesh_equal(t, pith_unshard(t->s, b, -1), want));
    }
}

/* ---- Gradients of what all ranks have, two levels deep ---- */

static const pith_array *
loss(pith_scope *s, const pith_array *weight, const pith_array *a) {
    return pith_sum(s, pith_mul(s, pith_mul(s, weight, weight), a), PITH_ALL_AXES);
}
PITH_FUNCTION2(loss_function, loss, pith_array, pith_array, pith_array)
static const pith_array *
slope(pith_scope *s, const pith_array *a, const pith_array *weight) {
    return pith_apply(s, pith_grad(s, &loss_function, NULL), weight, a);
}
PITH_FUNCTION2(slope_function, slope, pith_array, pith_array, pith_array)
static const pith_array *
slope_over_y(pith_scope *s, const pith_array *a, const pith_array *weight) {
    const pith_shard_options o = {
        .in = {PITH_SPECS({"", "x;y", NULL}), PITH_SPECS({"", "", NULL})},
        .out = PITH_SPECS({"", "", NULL}),
        .axes = "y"};
    return pith_apply(s, pith_shard_map(s, &slope_function, &o), a, weight);
}
PITH_FUNCTION2(slope_over_y_function, slope_over_y, pith_array, pith_array, pith_array)

static void nest_gradients(mesh_test *t) {
    if (!open_two(t))
        return;
    const pith_array *rows_of =
        pith_iota(t->s, PITH_F64, PITH_SHAPE(4, 3 * (t->size / 2)), 0); /* exact sums */
    const pith_array *weight = pith_iota(t->s, PITH_F64, PITH_SHAPE(3), 0);
    const pith_array *a = pith_shard(t->s, rows_of, PITH_SPECS({"", "x;y", NULL}));
    const pith_shard_options o = {
        .in = {PITH_SPECS({"", "x;y", NULL}), PITH_SPECS({"", "", NULL})},
        .out = PITH_SPECS({"", "", NULL}),
        .axes = "x"};
    const pith_function *eager = pith_shard_map(t->s, &slope_over_y_function, &o),
                        *ways[] = {eager, pith_jit(t->s, eager, NULL)};
    const pith_array *want =
        pith_mul(t->s, weight, 12.0 * (double)(t->size / 2)); /* 2 w (0 + 1 + 2 + 3) */
    for (int k = 0; k < 4; k++)
        MESH_CHECK(t, mesh_equal(t, pith_apply(t->s, ways[k % 2], a, weight), want));
}

const mesh_case mesh_shard_nest_cases[] = {
    {"maps_nest", maps_nest},
    {"nest_with_jit", nest_with_jit},
    {"nest_between", nest_between},
    {"nest_gradients", nest_gradients},
    {NULL, NULL},
};
