/* Derivations where features meet: derivatives in loops in branches, bound trees of bound
 * functions, lenses, empty arrays, integers beside floats, and compiled functions of
 * which other inputs move. */
#include "derive_modes.h"

/* ---- Gradients of gradients in scans in branches ---- */

FUNCTION(wave, total(in, IN("sin(x) * x * x", {"x", x})))
FUNCTION(wave_slope, pith_call(in, pith_grad(in, &wave_of, NULL), PITH_ITEMS(x)))
FUNCTION(steep, total(in, pith_square(in, wave_slope(in, x))))

typedef struct {
    const void *carry, *out;
} Step;
PITH_NODE(Step, PITH_TREE(carry), PITH_TREE(out))

static const Step *descend(pith_scope *in, const pith_array *x, const pith_array *rate) {
    const pith_array *g = pith_call(in, pith_grad(in, &steep_of, NULL), PITH_ITEMS(x));
    const pith_array *next = pith_sub(in, x, pith_mul(in, rate, g));
    return pith_record(in, Step, .carry = next, .out = pith_cos(in, next));
}
PITH_FUNCTION2(descend_of, descend, Step, pith_array, pith_array)
static const pith_array *descended(pith_scope *in, const pith_array *x) {
    const void *outs;
    const pith_array *last =
        pith_scan(in, &descend_of, x, PITH_VECTOR(in, f64, 1e-3, 2e-3), &outs,
                  &(pith_loop_options){.reverse = true});
    const pith_array *all = outs;
    return pith_add(in, total(in, last), total(in, pith_square(in, all)));
}
PITH_FUNCTION1(descended_of, descended, pith_array, pith_array)
FUNCTION(branch,
         pith_cond(in, pith_less(in, total(in, x), 10.0), &descended_of, &wave_of, x))
FUNCTION(other_branch,
         pith_cond(in, pith_less(in, total(in, x), -10.0), &descended_of, &wave_of, x))

Test(derive_nested, gradients_in_scans_in_branches, .init = open_scope) {
    in_every_mode(&branch_of, some_x());
    in_every_mode(&other_branch_of, some_x());
    close_scope();
}

/* ---- Bound trees of bound functions ---- */

static const pith_array *
cubic(pith_scope *in, const pith_array *x, const pith_array *a, const pith_array *b) {
    return total(in, IN("a * x * x * x + b * x * a", {"x", x}, {"a", a}, {"b", b}));
}
PITH_FUNCTION3(cubic_of, cubic, pith_array, pith_array, pith_array, pith_array)
/* partial of partial, with trees that move outside. */
static const pith_array *twice_bound(pith_scope *in, const pith_array *x) {
    const pith_function *f = pith_partial(
        in, pith_partial(in, &cubic_of, pith_sin(in, x)), pith_square(in, x));
    const pith_array *g = pith_call(in, pith_grad(in, f, NULL), PITH_ITEMS(x));
    return total(
        in, pith_mul(in, g,
                     pith_call(in, pith_grad(in, f, NULL), PITH_ITEMS(pith_cos(in, x)))));
}
PITH_FUNCTION1(twice_bound_of, twice_bound, pith_array, pith_array)

static const pith_array *bound_step(pith_scope *in,
                                    const pith_array *i,
                                    const pith_array *x,
                                    const pith_array *a) {
    const pith_function *f = pith_partial(in, pith_partial(in, &cubic_of, x), a);
    const pith_array *g = pith_call(in, pith_grad(in, f, NULL), PITH_ITEMS(x));
    return IN("0.5 * tanh(g) + 0.1 * f64(i) * a", {"g", g}, {"i", i}, {"a", a});
}
PITH_FUNCTION3(bound_step_of, bound_step, pith_array, pith_array, pith_array, pith_array)
FUNCTION(
    bound_loop,
    total(in, pith_fori(in, 0, 3, pith_partial(in, &bound_step_of, pith_tanh(in, x)), x)))

Test(derive_nested, bound_trees_of_bound_functions, .init = open_scope) {
    in_every_mode(&twice_bound_of, some_x());
    in_every_mode(&bound_loop_of, some_x());
    close_scope();
}

/* ---- Maps ---- */

FUNCTION(elementwise, IN("x * exp(-x * x)", {"x", x}))
/* A map as a body of a loop, and the transpose of the map of another. */
static const pith_array *mapped_step(pith_scope *in,
                                     const pith_array *i,
                                     const pith_array *t,
                                     const pith_array *x) {
    const pith_linearized l = pith_linearize(in, &elementwise_of, PITH_ITEMS(x), NULL);
    const pith_function *back = pith_linear_transpose(in, l.map, t);
    (void)i;
    return pith_add(in, pith_call(in, l.map, PITH_ITEMS(t)),
                    pith_call(in, back, PITH_ITEMS(pith_square(in, t))));
}
PITH_FUNCTION3(mapped_step_of,
               mapped_step,
               pith_array,
               pith_array,
               pith_array,
               pith_array)
FUNCTION(
    mapped,
    total(in, pith_fori(in, 0, 2, pith_partial(in, &mapped_step_of, pith_sin(in, x)), x)))

static const pith_array *
apply_map(pith_scope *in, const pith_array *i, const pith_array *t, const pith_array *x) {
    const pith_linearized v = pith_vjp(in, &elementwise_of, PITH_ITEMS(x), NULL);
    const pith_array *g = pith_call(in, v.map, PITH_ITEMS(t));
    return pith_add(in, g, pith_mul(in, pith_cast(in, i, PITH_F64), v.value));
}
PITH_FUNCTION3(apply_map_of, apply_map, pith_array, pith_array, pith_array, pith_array)
FUNCTION(pulled,
         total(in,
               pith_fori(in, 0, 3, pith_partial(in, &apply_map_of, x), pith_cos(in, x))))
/* A map made outside of a branch and called in both. */
static const pith_array *call_map(pith_scope *in, const void *t, const pith_array *x) {
    const pith_linearized v = pith_vjp(in, &elementwise_of, PITH_ITEMS(x), NULL);
    return pith_call(in, v.map, PITH_ITEMS(t));
}
PITH_FUNCTION2(call_map_of, call_map, pith_array, void, pith_array)
FUNCTION(mapped_branch,
         total(in,
               pith_square(in,
                           pith_cond(in,
                                     pith_less(in, total(in, x), 0.0),
                                     &elementwise_of,
                                     pith_partial(in, &call_map_of, x),
                                     x))))
static const pith_array *closed_map(pith_scope *in, const pith_array *x) {
    const pith_linearized l = pith_linearize(in, &elementwise_of, PITH_ITEMS(x), NULL);
    return total(in, pith_square(in, pith_cond(in, pith_less(in, total(in, x), 0.0),
                                               &elementwise_of, l.map, pith_sin(in, x))));
}
PITH_FUNCTION1(closed_map_of, closed_map, pith_array, pith_array)
static const pith_array *iterated_map(pith_scope *in,
                                      const pith_array *i,
                                      const pith_array *t,
                                      const void *map_of) {
    (void)i;
    const pith_linearized l =
        pith_linearize(in, &elementwise_of, PITH_ITEMS(map_of), NULL);
    return pith_call(in, l.map, PITH_ITEMS(t));
}
PITH_FUNCTION3(iterated_map_of, iterated_map, pith_array, pith_array, pith_array, void)
FUNCTION(
    map_loop,
    total(in,
          pith_fori(in, 0, 3, pith_partial(in, &iterated_map_of, x), pith_sin(in, x))))

Test(derive_nested, maps_in_loops_and_branches, .init = open_scope) {
    in_every_mode(&mapped_of, some_x());
    in_every_mode(&pulled_of, some_x());
    in_every_mode(&mapped_branch_of, some_x());
    in_every_mode(&closed_map_of, some_x());
    in_every_mode(&map_loop_of, some_x());
    close_scope();
}

/* ---- Compiled functions of which other inputs move ---- */

static const pith_array *mix(pith_scope *in, const pith_array *x, const pith_array *y) {
    return total(in, IN("sin(x) * y + x / (y * y + 2)", {"x", x}, {"y", y}));
}
PITH_FUNCTION2(mix_of, mix, pith_array, pith_array, pith_array)
static const pith_array *both_ways(pith_scope *in, const pith_array *x) {
    const pith_function *f = pith_jit(in, &mix_of, NULL);
    const pith_array *one = PITH_VECTOR(in, f64, 1, 2, 3, 4);
    const pith_array *a = pith_call(in, f, PITH_ITEMS(x, one)),
                     *b = pith_call(in, f, PITH_ITEMS(one, x)),
                     *c = pith_call(in, f, PITH_ITEMS(x, x)),
                     *d = pith_call(in, f, PITH_ITEMS(one, one));
    return IN("a * b + c * d", {"a", a}, {"b", b}, {"c", c}, {"d", d});
}
PITH_FUNCTION1(both_ways_of, both_ways, pith_array, pith_array)
static const pith_array *inner_grads(pith_scope *in, const pith_array *x) {
    const pith_function *f = pith_jit(in, &mix_of, NULL);
    const pith_derive_options first = {.arguments = 1}, second = {.arguments = 2};
    const pith_array *one = PITH_VECTOR(in, f64, 1, 2, 3, 4);
    const pith_function *dx = pith_jit(in, pith_grad(in, f, &first), NULL),
                        *dy = pith_jit(in, pith_grad(in, f, &second), NULL);
    return total(in, IN("a * b + c * d", {"a", pith_call(in, dx, PITH_ITEMS(x, one))},
                        {"b", pith_call(in, dy, PITH_ITEMS(one, x))},
                        {"c", pith_call(in, dx, PITH_ITEMS(one, x))},
                        {"d", pith_call(in, dy, PITH_ITEMS(x, x))}));
}
PITH_FUNCTION1(inner_grads_of, inner_grads, pith_array, pith_array)

Test(derive_nested, compiled_functions_of_which_other_inputs_move, .init = open_scope) {
    in_every_mode(&both_ways_of, some_x());
    in_every_mode(&inner_grads_of, some_x());
    close_scope();
}

/* ---- Integers and flags beside floats ---- */

typedef struct {
    const pith_array *x, *count, *on;
} State;
PITH_NODE(State,
          PITH_LEAF(x, "f64[n]"),
          PITH_LEAF(count, "i64[]"),
          PITH_LEAF(on, "bool[]"))
static const State *count_on(pith_scope *in, const pith_array *i, const State *state) {
    const pith_array *n = pith_cast(in, state->count, PITH_F64);
    return pith_record(
        in, State,
        .x = pith_where(in, state->on,
                        IN("x + 0.1 * n * sin(x)", {"x", state->x}, {"n", n}), state->x),
        .count = pith_add(in, state->count, i),
        .on = pith_less(in, total(in, state->x), 3.0));
}
PITH_FUNCTION2(count_on_of, count_on, State, pith_array, State)
static const pith_array *counted(pith_scope *in, const pith_array *x) {
    const State *state = pith_record(in, State, .x = x, .count = pith_i64(in, 1),
                                     .on = pith_bool(in, true));
    state = pith_fori(in, 0, 4, &count_on_of, state);
    return pith_add(in, total(in, pith_square(in, state->x)),
                    pith_cast(in, state->count, PITH_F64));
}
PITH_FUNCTION1(counted_of, counted, pith_array, pith_array)

static const pith_array *going(pith_scope *in, const State *state) {
    return pith_less(in, state->count, 6);
}
static const State *go(pith_scope *in, const State *state) {
    return count_on(in, pith_i64(in, 2), state);
}
PITH_FUNCTION1(going_of, going, pith_array, State)
PITH_FUNCTION1(go_of, go, State, State)
static const pith_array *gone(pith_scope *in, const pith_array *x) {
    const State *state = pith_record(in, State, .x = x, .count = pith_i64(in, 1),
                                     .on = pith_bool(in, true));
    state = pith_while(in, &going_of, &go_of, state);
    return pith_add(in, total(in, pith_square(in, state->x)),
                    pith_cast(in, state->count, PITH_F64));
}
PITH_FUNCTION1(gone_of, gone, pith_array, pith_array)
static const pith_array *count_three(pith_scope *in, const pith_array *x) {
    const State *state = pith_record(in, State, .x = x, .count = pith_i64(in, 1),
                                     .on = pith_bool(in, true));
    for (int k = 0; k < 3; k++)
        state = go(in, state);
    return pith_add(in, total(in, pith_square(in, state->x)),
                    pith_cast(in, state->count, PITH_F64));
}
PITH_FUNCTION1(three_of, count_three, pith_array, pith_array)

Test(derive_nested, integers_and_flags_as_carries, .init = open_scope) {
    in_every_mode(&counted_of, some_x());
    const pith_array *x = some_x(), *t = direction_like(x);
    near(pith_jvp(s, &gone_of, PITH_ITEMS(x), t, NULL).tangent, 0,
         at(pith_jvp(s, &three_of, PITH_ITEMS(x), t, NULL).tangent, 0));
    pt_fails(PITH_E_DERIVATIVE, s,
             pith_call(s, pith_grad(s, &gone_of, NULL), PITH_ITEMS(x)));
    close_scope();
}

/* State in, state out: gradients of the integers are zeros, aux is the state. */
typedef struct {
    const void *value, *aux;
} Valued;
PITH_NODE(Valued, PITH_TREE(value), PITH_TREE(aux))
static const Valued *advance(pith_scope *in, const State *state) {
    const State *next = pith_fori(in, 0, 3, &count_on_of, state);
    return pith_record(in, Valued, .value = total(in, pith_square(in, next->x)),
                       .aux = pith_tuple_make(in, PITH_ITEMS(next, state)));
}
PITH_FUNCTION1(advance_of, advance, Valued, State)

Test(derive_nested, aux_with_integers_and_arguments, .init = open_scope) {
    const State *state = pith_record(s, State, .x = some_x(), .count = pith_i64(s, 1),
                                     .on = pith_bool(s, true));
    const pith_derive_options o = {.aux = true, .skip_integers = true};
    const void *all =
        pith_call(s, pith_value_and_grad(s, &advance_of, &o), PITH_ITEMS(state));
    const State *next = pith_fori(s, 0, 3, &count_on_of, state);
    cr_assert(pith_tree_equal(s, item(item(all, 2), 0), next));
    cr_assert(pith_tree_equal(s, item(item(all, 2), 1), state));
    const State *g = item(all, 1);
    cr_assert(pith_read_i64(s, g->count) == 0 && !pith_read_bool(s, g->on));
    /* A direction with arbitrary integers: they are not read. */
    const State *t = pith_record(s, State, .x = direction_like(state->x),
                                 .count = pith_i64(s, 99), .on = pith_bool(s, true));
    const pith_pushed y = pith_jvp(s, &advance_of, PITH_ITEMS(state), t, &o);
    pt_ok(s, y.tangent);
    near(y.tangent, 0, product_of_arrays(g->x, t->x));
    cr_assert(pith_tree_equal(s, y.aux, item(all, 2)));
    const pith_linearized v = pith_vjp(s, &advance_of, PITH_ITEMS(state), &o),
                          l = pith_linearize(s, &advance_of, PITH_ITEMS(state), &o);
    pt_ok(s, v.map && l.map);
    cr_assert(pith_tree_equal(s, pith_call(s, v.map, PITH_ITEMS(pith_f64(s, 1))), g));
    cr_assert(pith_tree_equal(s, pith_call(s, l.map, PITH_ITEMS(t)), y.tangent));
    cr_assert(pith_tree_equal(s, v.aux, y.aux) && pith_tree_equal(s, l.aux, y.aux));
    const void *h =
        pith_call(s, pith_hessian_product(s, &advance_of, &o), PITH_ITEMS(state, t));
    cr_assert(pith_child_count(h) == 3 && pith_tree_equal(s, item(h, 0), g));
    const State *row = item(h, 1);
    cr_assert(pith_read_i64(s, row->count) == 0 && !pith_read_bool(s, row->on));
    cr_assert(pith_tree_equal(s, item(h, 2), y.aux));
    close_scope();
}

/* ---- Nothing, and everything ---- */

FUNCTION(squares, total(in, pith_square(in, x)))
static const Step *drop(pith_scope *in, const pith_array *sum, const pith_array *x) {
    const pith_array *next = pith_add(in, sum, pith_square(in, x));
    return pith_record(in, Step, .carry = next, .out = pith_mul(in, next, x));
}
PITH_FUNCTION2(drop_of, drop, Step, pith_array, pith_array)
static const pith_array *scanned(pith_scope *in, const pith_array *x) {
    const void *outs;
    const pith_array *last = pith_scan(in, &drop_of, pith_f64(in, 1), x, &outs, NULL);
    const pith_array *all = outs;
    return pith_add(in, last, total(in, all));
}
PITH_FUNCTION1(scanned_of, scanned, pith_array, pith_array)
FUNCTION(sorted,
         total(in,
               pith_mul(in,
                        pith_sort(in, x, 0, NULL),
                        pith_cumprod(in, pith_sin(in, x), 0, NULL))))
FUNCTION(identity, x)
FUNCTION(constant, pith_f64(in, 3))

Test(derive_nested, empty_arrays, .init = open_scope) {
    const pith_array *none = pith_zeros(s, PITH_F64, PITH_SHAPE(0));
    const pith_function *const functions[] = {&wave_of,   &squares_of, &scanned_of,
                                              &sorted_of, &mapped_of,  &pulled_of};
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++)
        in_every_mode(functions[k], none);
    in_every_mode(&scanned_of, some_x());
    in_every_mode(&sorted_of, some_x());
    close_scope();
}

Test(derive_nested, identities_and_constants, .init = open_scope) {
    const pith_array *x = pith_f64(s, 3);
    near(pith_call(s, pith_grad(s, &identity_of, NULL), PITH_ITEMS(x)), 0, 1);
    near(pith_call(s, pith_grad(s, &constant_of, NULL), PITH_ITEMS(some_x())), 3, 0);
    const pith_linearized v = pith_vjp(s, &identity_of, PITH_ITEMS(some_x()), NULL),
                          l = pith_linearize(s, &identity_of, PITH_ITEMS(some_x()), NULL);
    const pith_array *t = direction_like(some_x());
    cr_assert(pith_tree_equal(s, pith_call(s, v.map, PITH_ITEMS(t)), t));
    cr_assert(pith_tree_equal(s, pith_call(s, l.map, PITH_ITEMS(t)), t));
    const pith_linearized c = pith_vjp(s, &constant_of, PITH_ITEMS(some_x()), NULL);
    near(pith_call(s, c.map, PITH_ITEMS(pith_f64(s, 2))), 2, 0);
    near(pith_jvp(s, &constant_of, PITH_ITEMS(some_x()), t, NULL).tangent, 0, 0);
    const void *h = pith_call(s, pith_hessian_product(s, &constant_of, NULL),
                              PITH_ITEMS(some_x(), t));
    near(item(h, 0), 1, 0);
    near(item(h, 1), 1, 0);
    close_scope();
}

/* The same array as both arguments, in two leaves of one, and as its own tangent. */
Test(derive_nested, one_array_in_several_places, .init = open_scope) {
    const pith_array *x = some_x();
    const pith_derive_options both = {.arguments = PITH_ARGUMENT(0) | PITH_ARGUMENT(1)};
    const void *g = pith_call(s, pith_grad(s, &mix_of, &both), PITH_ITEMS(x, x));
    for (int i = 0; i < 4; i++) {
        const double v = at(x, i), q = v * v + 2;
        near(item(g, 0), i, cos(v) * v + 1 / q);
        near(item(g, 1), i, sin(v) - 2 * v * v / (q * q));
    }
    const void *pair = pith_tuple_make(s, PITH_ITEMS(x, x));
    const pith_pushed y = pith_jvp(s, &mix_of, PITH_ITEMS(x, x), pair, &both);
    near(y.tangent, 0,
         product_of_arrays(item(g, 0), x) + product_of_arrays(item(g, 1), x));
    close_scope();
}
