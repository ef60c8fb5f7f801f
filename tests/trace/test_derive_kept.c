/* What is kept between the forward and the backward half of derivatives: bytes, and bits
 * of gradients. */
#include "pith/pith.h"

#include "pith_test.h"
#include "tree/function.h"

enum { COUNT = 64 };

#define SCOPED(name) PT_SCOPED(derive_kept, name)

static const pith_array *some_x(pith_scope *s) {
    double values[COUNT];
    for (int k = 0; k < COUNT; k++)
        values[k] = 0.25 + 0.03125 * k;
    return pith_array_copy(s, PITH_F64, PITH_SHAPE(COUNT), values);
}

/* Bytes of the arrays that a map keeps. */
static int64_t kept_bytes(const pith_function *map) {
    const void *residuals = NULL;
    int64_t bytes = 0;
    cr_assert(pithp_function_bound(map, 1, &residuals) == 1);
    for (int64_t k = 0; k < pith_child_count(residuals); k++)
        bytes += (int64_t)pith_array_spec(pith_child(residuals, k))->bytes;
    return bytes;
}

/* Bytes of the map of pith_vjp. The map and pith_grad have the same bits. */
static int64_t map_bytes(pith_scope *s, const pith_function *f, const pith_array *x) {
    const pith_linearized v = pith_vjp(s, f, PITH_ITEMS(x), NULL);
    pt_ok(s, v.map);
    const pith_array *g = pith_call(s, v.map, PITH_ITEMS(pith_f64(s, 1)));
    pt_ok(s, g);
    cr_assert(pith_tree_equal(s, g, pith_call(s, pith_grad(s, f, NULL), PITH_ITEMS(x))));
    return kept_bytes(v.map);
}

/* A sum, a chain of elementwise functions, and its sum. */
static const pith_array *chain(pith_scope *s, const pith_array *x) {
    const pith_array *y = pith_cumsum(s, x, 0, NULL);
    y = pith_exp(s, pith_sin(s, pith_sqrt(s, pith_square(s, y))));
    return pith_sum(s, y, PITH_ALL_AXES);
}
PITH_FUNCTION1(chain_of, chain, pith_array, pith_array)

SCOPED(elementwise_values_are_computed_again) {
    cr_assert(map_bytes(s, &chain_of, some_x(s)) == COUNT * 8); /* the cumulative sum */
}

/* ---- pith_recompute ---- */

enum { LAYERS = 6 };

/* Two sums and two elementwise functions: without recomputation the sums are kept. */
static const pith_array *layer(pith_scope *s, const pith_array *x) {
    x = pith_sin(s, pith_cumsum(s, x, 0, NULL));
    return pith_square(s, pith_cumsum(s, pith_name_kept(s, x, "waves"), 0, NULL));
}
PITH_FUNCTION1(layer_of, layer, pith_array, pith_array)

static pith_recompute_options options;
static bool recompute, compiled, loop;

static const pith_array *one(pith_scope *s, const pith_array *x) {
    const pith_function *f = &layer_of;
    if (recompute)
        f = pith_recompute(s, f, &options);
    if (compiled)
        f = pith_jit(s, f, NULL);
    return pith_call(s, f, PITH_ITEMS(x));
}

static const pith_array *step(pith_scope *s, const pith_array *i, const pith_array *x) {
    (void)i;
    return one(s, x);
}
PITH_FUNCTION2(step_of, step, pith_array, pith_array, pith_array)

static const pith_array *layers(pith_scope *s, const pith_array *x) {
    if (loop)
        x = pith_fori(s, 0, LAYERS, &step_of, x);
    for (int k = 0; k < LAYERS && !loop; k++)
        x = one(s, x);
    return pith_sum(s, x, PITH_ALL_AXES);
}
PITH_FUNCTION1(layers_of, layers, pith_array, pith_array)

/* Bytes of the map of `layers`, and its gradient. */
static int64_t layer_bytes(pith_scope *s,
                           bool with,
                           const pith_recompute_options *o,
                           const pith_array **gradient) {
    recompute = with;
    options = o ? *o : (pith_recompute_options){0};
    pith_jit_clear(pith_scope_runtime(s));
    *gradient = pith_call(s, pith_grad(s, &layers_of, NULL), PITH_ITEMS(some_x(s)));
    return map_bytes(s, &layers_of, some_x(s));
}

/* With recomputation the gradient has the same bits. Arrays of COUNT that are kept. */
static void expect_kept(pith_scope *s,
                        const pith_recompute_options *o,
                        int64_t without,
                        int64_t with) {
    const pith_array *a, *b;
    const int64_t all = layer_bytes(s, false, NULL, &a),
                  fewer = layer_bytes(s, true, o, &b);
    pt_ok(s, a && b);
    cr_assert(pith_tree_equal(s, a, b));
    cr_assert(all == without * COUNT * 8 && fewer == with * COUNT * 8,
              "kept %d and %d arrays", (int)(all / COUNT / 8), (int)(fewer / COUNT / 8));
}

SCOPED(arguments_of_recomputed_functions_are_kept) {
    expect_kept(s, NULL, 2 * LAYERS, LAYERS);
    compiled = true; /* parts */
    expect_kept(s, NULL, 2 * LAYERS, LAYERS);
}

SCOPED(named_results_are_kept) {
    expect_kept(s, &(pith_recompute_options){.names = PITH_NAMES("other", "waves")},
                2 * LAYERS, 2 * LAYERS);
}

SCOPED(steps_of_loops_are_recomputed) {
    loop = true;
    expect_kept(s, NULL, 2 * LAYERS, LAYERS);
}

SCOPED(the_gradient_needs_less_memory) {
    const pith_array *x = some_x(s);
    pith_program_costs costs[2];
    for (int k = 0; k < 2; k++) {
        recompute = k;
        pith_jit_clear(pith_scope_runtime(s));
        costs[k] = pith_program_cost(s, pith_grad(s, &layers_of, NULL), PITH_ITEMS(x));
    }
    /* Half of the arrays, and a second computation of both sums. */
    cr_assert(costs[1].workspace_bytes <= costs[0].workspace_bytes - 4 * COUNT * 8,
              "%zu and %zu bytes", costs[0].workspace_bytes, costs[1].workspace_bytes);
    cr_assert(costs[1].instructions >= costs[0].instructions + 2 * LAYERS,
              "%d and %d instructions", (int)costs[0].instructions,
              (int)costs[1].instructions);
}

static const pith_array *network(pith_scope *s, const pith_array *w) {
    const pith_array *y = pith_sin(s, pith_matmul(s, w, w));
    y = pith_exp(s, pith_cumsum(s, pith_matmul(s, y, w), 0, NULL));
    return pith_sum(s, y, PITH_ALL_AXES);
}
PITH_FUNCTION1(network_of, network, pith_array, pith_array)

SCOPED(products_are_kept) {
    const pith_array *w = pith_reshape(s, some_x(s), PITH_SHAPE(8, 8));
    const pith_recompute_options products = {.keep = PITH_KEPT_PRODUCTS};
    const pith_function *nothing = pith_recompute(s, &network_of, NULL),
                        *some = pith_recompute(s, &network_of, &products);
    /* w; with both products; w, the first product, its cumulative sum or exp of it */
    cr_assert(map_bytes(s, nothing, w) == 8 * 8 * 8);
    cr_assert(map_bytes(s, some, w) == 3 * 8 * 8 * 8);
    cr_assert(map_bytes(s, &network_of, w) == 3 * 8 * 8 * 8);
    const pith_array *g = pith_call(s, pith_grad(s, &network_of, NULL), PITH_ITEMS(w));
    cr_assert(
        pith_tree_equal(s, g, pith_call(s, pith_grad(s, nothing, NULL), PITH_ITEMS(w))));
    cr_assert(
        pith_tree_equal(s, g, pith_call(s, pith_grad(s, some, NULL), PITH_ITEMS(w))));
}

SCOPED(second_derivatives) {
    const pith_array *x = some_x(s), *h[2];
    for (int k = 0; k < 2; k++) {
        recompute = k;
        pith_jit_clear(pith_scope_runtime(s));
        const pith_function *f = pith_hessian_product(s, &layers_of, NULL);
        h[k] = pith_child(pith_call(s, f, PITH_ITEMS(x, x)), 1);
        pt_ok(s, h[k]);
    }
    cr_assert(pith_tree_equal(s, h[0], h[1]));
}

/* Checks are made once, and calls that report are not made again. */
static double checked;
static const pith_array *checking(pith_scope *s, const pith_array *x) {
    const pith_array *y = pith_cumsum(s, x, 0, NULL);
    pith_check(s, pith_greater(s, y, 0), "positive sums");
    y = pith_take(s, pith_square(s, y), pith_full(s, PITH_I64, PITH_SHAPE(2), checked),
                  &(pith_take_options){.mode = PITH_INDEX_ERROR});
    return pith_sum(s, pith_square(s, y), PITH_ALL_AXES);
}
PITH_FUNCTION1(checking_of, checking, pith_array, pith_array)

SCOPED(checks_are_made_once) {
    const pith_function *f = pith_recompute(s, &checking_of, NULL);
    const pith_function *g = pith_grad(s, f, NULL);
    const pith_array *x = some_x(s);
    checked = COUNT - 1;
    cr_assert(
        pith_tree_equal(s, pith_call(s, g, PITH_ITEMS(x)),
                        pith_call(s, pith_grad(s, &checking_of, NULL), PITH_ITEMS(x))));
    pt_ok(s);
    pith_collect_begin(s);
    const void *slope = pith_call(s, g, PITH_ITEMS(pith_neg(s, x)));
    const pith_result *all = pith_collect_end(s, slope);
    cr_assert(pith_result_count(s, all) == 1 && pith_result_failed(s, all) == 1);
    checked = COUNT;
    pith_jit_clear(pith_scope_runtime(s));
    double values[COUNT];
    pt_fails(PITH_E_INDEX, s,
             pith_read(s, pith_call(s, g, PITH_ITEMS(x)), values, sizeof values));
}

SCOPED(eager_calls_are_as_before) {
    const pith_array *x = some_x(s);
    const pith_function *f = pith_recompute(s, &layer_of, NULL);
    cr_assert(pith_tree_equal(s, pith_call(s, f, PITH_ITEMS(x)), layer(s, x)));
    cr_assert(pith_name_kept(s, x, "x") == x);
}

SCOPED(options_are_checked) {
    char long_name[65];
    memset(long_name, 'n', 64);
    long_name[64] = 0;
    pt_fails(PITH_E_ARG, s, pith_recompute(s, NULL, NULL));
    pt_fails(
        PITH_E_ARG, s,
        pith_recompute(s, &layer_of, &(pith_recompute_options){.keep = (pith_kept)7}));
    pt_fails(PITH_E_ARG, s,
             pith_recompute(s, &layer_of,
                            &(pith_recompute_options){.names = PITH_NAMES("a", "")}));
    pt_fails(PITH_E_ARG, s, pith_name_kept(s, some_x(s), ""));
    pt_fails(PITH_E_ARG, s, pith_name_kept(s, some_x(s), long_name));
    long_name[63] = 0;
    pt_ok(s, pith_name_kept(s, some_x(s), long_name));
}
