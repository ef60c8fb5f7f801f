/* Gradients of functions with capacities in steps: each need is reported once, and
 * repaired as that of the function itself. */
#include "../assert/assert_test.h"

#include <math.h>

/* Atoms on a line, with a list of near pairs whose length is a capacity. */
typedef struct {
    const pith_array *x;
    int64_t room;
} Gas;
PITH_NODE(Gas, PITH_LEAF(x, "f64[n]"), PITH_STATIC(room, .initial = 2))

/* Pairs i * n + j of atoms that are nearer than 1; n * n after the last. */
static const pith_array *near_pairs(pith_scope *s, const Gas *gas, int64_t n) {
    const pith_array *column = pith_reshape(s, gas->x, PITH_SHAPE(n, 1));
    const pith_array *near =
        pith_reshape(s, pith_less(s, pith_abs(s, pith_sub(s, column, gas->x)), 1.0),
                     PITH_SHAPE(n * n));
    pith_capacity_require(s, pith_lens_capacity(s, PITH_LENS(Gas, room), gas->room, 2),
                          pith_sum(s, pith_cast(s, near, PITH_I64), PITH_ALL_AXES));
    return pith_nonzero(s, near, gas->room, &(pith_nonzero_options){.fill = n * n})
        .axes[0];
}

static const pith_array *energy(pith_scope *s, const Gas *gas) {
    const pith_take_options clip = {.mode = PITH_INDEX_CLIP};
    const int64_t n = pith_array_spec(gas->x)->shape[0];
    const pith_array *pair = near_pairs(s, gas, n),
                     *i = pith_floor_divide(s, pair, pith_i64(s, n)),
                     *j = pith_remainder(s, pair, pith_i64(s, n));
    const pith_array *gap =
        pith_sub(s, pith_take(s, gas->x, i, &clip), pith_take(s, gas->x, j, &clip));
    const pith_array *e = pith_exp(s, pith_neg(s, pith_mul(s, gap, gap)));
    e = pith_where(s, pith_less(s, pair, pith_i64(s, n * n)), e, 0.0);
    return pith_sum(s, e, PITH_ALL_AXES);
}
PITH_FUNCTION1(energy_of, energy, pith_array, Gas)

static const pith_derive_options positions = {.paths = PITH_PATHS("[0].x")};

static const Gas *step(pith_scope *s, const Gas *gas) {
    const pith_array *slope = pith_apply(s, pith_grad(s, &energy_of, &positions), gas);
    Gas next = *gas;
    next.x = pith_sub(s, gas->x, pith_mul(s, slope, 0.01));
    return pith_freeze(s, Gas, &next);
}
PITH_FUNCTION1(step_of, step, Gas, Gas)

/* The gradient of the end of five steps, which are computed again. */
static const Gas *indexed_step(pith_scope *s, const pith_array *i, const Gas *gas) {
    (void)i;
    return pith_apply(s, pith_recompute(s, &step_of, NULL), gas);
}
PITH_FUNCTION2(indexed_step_of, indexed_step, Gas, pith_array, Gas)
static const pith_array *end(pith_scope *s, const Gas *gas) {
    const Gas *last = pith_fori(s, 0, 5, &indexed_step_of, gas);
    return pith_sum(s, pith_mul(s, last->x, last->x), PITH_ALL_AXES);
}
PITH_FUNCTION1(end_of, end, pith_array, Gas)
static const Gas *learn(pith_scope *s, const Gas *gas) {
    Gas next = *gas;
    next.x = pith_apply(s, pith_grad(s, &end_of, &positions), gas);
    return pith_freeze(s, Gas, &next);
}
PITH_FUNCTION1(learn_of, learn, Gas, Gas)

static const Gas *gas_of(pith_scope *s, int64_t room) {
    const double x[] = {0.5, -1.25, 2, 0.75};
    return pith_record(s, Gas, .x = pith_array_copy(s, PITH_F64, PITH_SHAPE(4), x),
                       .room = room);
}

static void is_repaired(pith_scope *s, const pith_function *f) {
    double wanted[4], got[4];
    const Gas *large = pith_apply(s, f, gas_of(s, 16));
    pt_ok(s, large && pith_read(s, large->x, wanted, sizeof wanted));
    const pith_propagate_options once = {.steps = 1};
    const Gas *small = pith_propagate(s, Gas, f, gas_of(s, 2), &once);
    pt_ok(s, small && pith_read(s, small->x, got, sizeof got));
    cr_assert(small->room == 8, "room %d", (int)small->room);
    for (int k = 0; k < 4; k++)
        cr_assert(isfinite(got[k]) && got[k] == wanted[k], "%g, expected %g", got[k],
                  wanted[k]);
    (void)pith_apply(s, f, gas_of(s, 2));
    pt_fails(PITH_E_CAPACITY, s, pith_wait(s));
    pt_says("capacity is too small: have 2, need 6, new 8");
    cr_assert_str_eq(pt_error.path, ".room");
}

Test(derive_capacity, steps_with_gradients_are_repaired) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    is_repaired(s, &step_of);
    is_repaired(s, pith_jit(s, &step_of, NULL));
    is_repaired(s, &learn_of);
    is_repaired(s, pith_jit(s, &learn_of, NULL));
    /* In forward mode, and where the value of a map is computed. */
    const Gas *small = gas_of(s, 2);
    (void)pith_jvp(s, &end_of, PITH_ITEMS(small), small->x, &positions);
    pt_fails(PITH_E_CAPACITY, s, pith_wait(s));
    (void)pith_vjp(s, &end_of, PITH_ITEMS(small), &positions);
    pt_fails(PITH_E_CAPACITY, s, pith_wait(s));
    const pith_gradient_check twice = {.order = 2, .derive = &positions};
    pt_ok(s, pith_check_gradient(s, &energy_of, PITH_ITEMS(gas_of(s, 16)), &twice));
    pt_ok(s, pith_check_gradient(s, &end_of, PITH_ITEMS(gas_of(s, 16)), &twice));
    pith_scope_close(s);
    pt_close(rt);
}
