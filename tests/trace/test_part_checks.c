/* Checks, capacities, control flow and draws of compiled functions that others call: they
 * say and give the same whether the function runs, is recorded or was recorded before. */
#include "pith/pith.h"

#include "both.h"

#define RUNTIME                                                                          \
    pith_runtime *rt = pt_open();                                                        \
    pith_scope *s = pith_scope_open(rt);                                                 \
    runs = 0
#define CLOSE                                                                            \
    pt_ok(s);                                                                            \
    pith_scope_close(s);                                                                 \
    pt_close(rt)
static int runs;
static const pith_function *inner;

/* Results of a function of x and y, and of one that calls the same compiled inner
 * function: recorded for the first, put in for the second, which has another y. */
static void same_results(pith_scope *s, const pith_result *got, const pith_result *want) {
    pt_ok(s, got && want);
    cr_assert(pith_result_count(s, got) == pith_result_count(s, want), "%lld, not %lld",
              (long long)pith_result_count(s, got),
              (long long)pith_result_count(s, want));
    for (int64_t i = 0; i < pith_result_count(s, want); i++) {
        const pith_assertion *a = pith_result_get(s, got, i),
                             *b = pith_result_get(s, want, i);
        cr_assert_str_eq(pith_assertion_message(s, a), pith_assertion_message(s, b));
        cr_assert_str_eq(pith_assertion_site(a), pith_assertion_site(b));
        cr_assert_str_eq(pith_assertion_path(a), pith_assertion_path(b));
        cr_assert(pith_assertion_code(a) == pith_assertion_code(b));
    }
    pt_ok(s, pith_tree_equal(s, pith_result_value(got), pith_result_value(want)));
}

static void same_ways(pith_scope *s,
                      const pith_function *outer,
                      const pith_function *called,
                      const pith_array *x) {
    for (int64_t n = 1; n <= 3; n++) {
        const void *given[] = {x, pith_full(s, PITH_I64, PITH_SHAPE(n), 1)};
        inner = called;
        const pith_function *f = pith_jit(s, outer, NULL);
        const pith_result *want = pith_as_result(s, f, 2, given);
        const char *text = pith_program_text(s, f, 2, given);
        inner = pith_jit(s, called, NULL);
        f = pith_jit(s, outer, &(pith_jit_options){.keep_unused = true});
        same_results(s, pith_as_result(s, f, 2, given), want);
        cr_assert_str_eq(pith_program_text(s, f, 2, given), text);
    }
}

/* ---- Bodies of control flow ---- */

static const pith_array *checked(pith_scope *s, const pith_array *x) {
    runs++;
    pith_check(s, pith_less(s, x, pith_i64(s, 50)), "{x} is too much", .args = {{"x", x}},
               .code = PITH_E_OVERFLOW, .path = ".x");
    return pith_add(s, x, pith_i64(s, 7));
}
PITH_FUNCTION1(checked_function, checked, pith_array, pith_array)

static const pith_array *turn(pith_scope *s, const pith_array *i, const pith_array *x) {
    return pith_add(s, pith_apply(s, inner, x), i);
}
PITH_FUNCTION2(turn_body, turn, pith_array, pith_array, pith_array)
static const pith_array *below(pith_scope *s, const pith_array *x) {
    return pith_less(s, pith_apply(s, inner, x), pith_i64(s, 200));
}
PITH_FUNCTION1(below_function, below, pith_array, pith_array)

static const pith_array *
controls(pith_scope *s, const pith_array *x, const pith_array *y) {
    x = pith_fori(s, 0, 4, &turn_body, x);
    x = pith_while(s, &below_function, inner, x);
    x = pith_cond(s, pith_greater(s, x, pith_i64(s, 40)), inner, &checked_function, x);
    return pith_add(s, x, pith_sum(s, y, PITH_ALL_AXES));
}
PITH_FUNCTION2(controls_function, controls, pith_array, pith_array, pith_array)

BOTH(part_checks, in_control_flow_are_those_of_the_function) {
    RUNTIME;
    for (int64_t x = 1; x < 90; x += 40)
        same_ways(s, &controls_function, &checked_function, pith_i64(s, x));
    CLOSE;
}

BOTH(part_checks, one_part_is_for_bodies_and_what_is_around) {
    RUNTIME;
    inner = pith_jit(s, &checked_function, NULL);
    const pith_array *x = pith_i64(s, 1), *y = pith_ones(s, PITH_I64, PITH_SHAPE(2));
    const pith_function *f = pith_jit(s, &controls_function, NULL);
    pt_ok(s, pith_apply(s, f, x, y));
    cr_assert(runs == 2, "once, and once as the branch that is not compiled: %d", runs);
    pith_as_result(s, f, PITH_ITEMS(x, y));
    cr_assert(runs == 4, "others for who collects: %d", runs);
    cr_assert(pith_jit_about(rt).parts == 2);
    CLOSE;
}

/* ---- What was checked before ---- */

static const pith_array *asks(pith_scope *s, const pith_array *x) {
    runs++;
    pith_check(s, pith_less(s, x, pith_i64(s, 9)), "{x} in", .args = {{"x", x}});
    return pith_check_all(s);
}
PITH_FUNCTION1(asks_function, asks, pith_array, pith_array)

static const pith_array *
asks_twice(pith_scope *s, const pith_array *x, const pith_array *y) {
    const pith_array *first = pith_apply(s, inner, x);
    pith_check(s, pith_less(s, x, pith_i64(s, 5)), "{x} out", .args = {{"x", x}});
    const pith_array *second = pith_apply(s, inner, x);
    return pith_add(
        s, pith_add(s, pith_cast(s, first, PITH_I64), pith_cast(s, second, PITH_I64)), y);
}
PITH_FUNCTION2(asks_twice_function, asks_twice, pith_array, pith_array, pith_array)

BOTH(part_checks, of_who_is_around_are_asked_for) {
    RUNTIME;
    for (int64_t x = 3; x < 12; x += 4)
        same_ways(s, &asks_twice_function, &asks_function, pith_i64(s, x));
    CLOSE;
}

/* ---- Capacities of parts of a state ---- */

typedef struct {
    const pith_array *buffer, *filled, *speed;
    int64_t room;
} Tank;
PITH_NODE(Tank,
          PITH_LEAF(buffer, "f64[room]"),
          PITH_LEAF(filled, "i64[]"),
          PITH_LEAF(speed, "i64[]"),
          PITH_STATIC(room, .initial = 2))
typedef struct {
    const Tank *left, *right;
} World;
PITH_NODE(World, PITH_CHILD(left, Tank), PITH_CHILD(right, Tank))

static const Tank *fill(pith_scope *s, const Tank *in) {
    runs++;
    Tank next = *in;
    next.filled = pith_add(s, in->filled, in->speed);
    pith_capacity_require(s, pith_lens_capacity(s, PITH_LENS(Tank, room), in->room, 2.0),
                          next.filled);
    const pith_array *mine =
        pith_less(s, pith_arange(s, PITH_I64, in->room), next.filled);
    next.buffer = pith_add(s, in->buffer, pith_cast(s, mine, PITH_F64));
    return pith_freeze(s, Tank, &next);
}
PITH_FUNCTION1(fill_step, fill, Tank, Tank)

static const World *fill_both(pith_scope *s, const World *in) {
    const World *next = pith_at_lens(s, PITH_LENS(World, left), inner, in);
    return pith_at_lens(s, PITH_LENS(World, right), inner, next);
}
PITH_FUNCTION1(fill_both_step, fill_both, World, World)

static const World *some_world(pith_scope *s) {
    const Tank *empty = pith_make(s, Tank, NULL, NULL);
    Tank left = *empty, right = *empty;
    left.speed = pith_i64(s, 1);
    right.speed = pith_i64(s, 3);
    const World world = {.left = pith_freeze(s, Tank, &left),
                         .right = pith_freeze(s, Tank, &right)};
    return pith_freeze(s, World, &world);
}

BOTH(part_checks, that_grow_a_capacity_trace_what_grew) {
    RUNTIME;
    const World *world = some_world(s);
    inner = &fill_step;
    const World *want =
        pith_run(s, World, &fill_both_step, world, &(pith_run_options){.steps = 9});
    pt_ok(s, want);
    cr_assert(want->left->room == 16 && want->right->room == 32);
    inner = pith_jit(s, &fill_step, NULL);
    runs = 0;
    const World *got = pith_run(s, World, pith_jit(s, &fill_both_step, NULL), world,
                                &(pith_run_options){.steps = 9});
    pt_ok(s, got && pith_tree_equal(s, got, want));
    cr_assert(runs == 5, "rooms of 2, 4, 8, 16 and 32, in any caller: %d", runs);
    cr_assert(pith_jit_about(rt).misses > 4 && pith_jit_about(rt).part_hits > 4);
    CLOSE;
}

/* ---- Draws ---- */

static const pith_array *drawn(pith_scope *s, const pith_array *key) {
    runs++;
    return pith_random_normal(s, key, PITH_F64, PITH_SHAPE(5), NULL);
}
PITH_FUNCTION1(drawn_function, drawn, pith_array, pith_array)

static const pith_array *
draws(pith_scope *s, const pith_array *key, const pith_array *y) {
    const pith_array *a =
        pith_apply(s, inner, pith_random_fold_in(s, key, pith_i64(s, 1)));
    const pith_array *b =
        pith_apply(s, inner, pith_random_fold_in(s, key, pith_i64(s, 2)));
    return pith_add(s, pith_mul(s, a, b),
                    pith_cast(s, pith_sum(s, y, PITH_ALL_AXES), PITH_F64));
}
PITH_FUNCTION2(draws_function, draws, pith_array, pith_array, pith_array)

BOTH(part_checks, draws_are_those_of_their_keys) {
    RUNTIME;
    same_ways(s, &draws_function, &drawn_function, pith_random_key(s, 7));
    CLOSE;
}
