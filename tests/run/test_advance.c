/* Loops of one's own: what a step keeps, drops and leaves alone. */
#include "../assert/assert_test.h"
#include "fail_allocator.h"

typedef struct {
    const pith_array *scale;
} Part;
PITH_NODE(Part, PITH_LEAF(scale, "f64[m]"))
typedef struct {
    const Part *part;
    const pith_array *x, *k;
    int64_t room;
} State;
PITH_NODE(State,
          PITH_CHILD(part, Part),
          PITH_LEAF(x, "f64[n]"),
          PITH_LEAF(k, "f64[n]"),
          PITH_STATIC(room, .initial = 4))

static const State *grow_room(pith_scope *s, const State *in, const pith_array *need) {
    State next = *in;
    next.room = pith_read_i64(s, need);
    return pith_freeze(s, State, &next);
}
PITH_FUNCTION2(grow_fix, grow_room, State, State, pith_array)

/* x + 1; more than `room` needs a repair, more than 20 has none. */
static const State *add_one(pith_scope *s, const State *in) {
    State next = *in;
    next.x = pith_add(s, in->x, pith_f64(s, 1));
    const pith_array *most = pith_cast(s, pith_max(s, next.x, PITH_ALL_AXES), PITH_I64);
    pith_check(s, pith_less_equal(s, most, pith_i64(s, 20)), "{most} is too much",
               .args = {{"most", most}});
    pith_check(s, pith_less_equal(s, most, pith_i64(s, in->room)), "need {most}",
               .args = {{"most", most}}, .fix = &grow_fix,
               .fix_args = pith_mul(s, most, pith_i64(s, 2)));
    return pith_freeze(s, State, &next);
}
PITH_FUNCTION1(add_one_step, add_one, State, State)

enum { N = 100000, LEAF = N * 8 };

static const State *start_state(pith_scope *s) {
    return pith_make(s, State, NULL, PITH_EXTENTS({"n", N}, {"m", 1000}));
}

BOTH(advance, a_loop_keeps_one_state) {
    RUNTIME;
    for (int compiled = 0; compiled < 2; compiled++) {
        pith_scope *loop = pith_scope_open_in(s);
        const pith_function *step =
            compiled ? pith_jit(loop, &add_one_step, NULL) : &add_one_step;
        const State *state = start_state(loop);
        for (int i = 0; i < 3; i++)
            state = pith_advance(loop, State, step, state);
        pt_ok(loop, state);
        const size_t live = pith_memory_about(rt).live, bytes = pith_scope_bytes(loop);
        for (int i = 0; i < 17; i++)
            state = pith_advance(loop, State, step, state);
        pt_ok(loop, state);
        cr_assert_eq(pith_read_f64(loop, pith_max(loop, state->x, PITH_ALL_AXES)), 20);
        cr_assert_leq(pith_memory_about(rt).live, live + LEAF / 4, "%zu, was %zu",
                      pith_memory_about(rt).live, live);
        cr_assert_leq(live, 4 * LEAF, "not %zu", live);
        cr_assert_leq(pith_scope_bytes(loop), bytes + 65536);
        cr_assert_eq(state->room, 22, "repaired from 4 to 10 to 22");
        pith_scope_close(loop);
    }
    CLOSE;
}

BOTH(advance, a_later_use_of_the_old_state_is_an_error) {
    RUNTIME;
    const State *first = start_state(s), *second, *third;
    const pith_array *x = first->x;
    pt_ok(s, second = pith_advance(s, State, &add_one_step, first));
    cr_assert_eq(second->k, first->k, "what is shared stays");
    pt_fails(PITH_E_ARG, s, pith_neg(s, x));
    pt_says("dropped");
    pt_fails(PITH_E_ARG, s, pith_advance(s, State, &add_one_step, first));
    const pith_array *y = second->x;
    pt_ok(s, third = pith_advance(s, State, &add_one_step, second));
    pt_fails(PITH_E_ARG, s, pith_neg(s, y));
    pt_fails(PITH_E_ARG, s, pith_advance(s, State, &add_one_step, second));
    pt_ok(s, pith_neg(s, third->k));
    cr_assert_eq(pith_read_f64(s, pith_max(s, third->x, PITH_ALL_AXES)), 2);
    cr_assert_eq(third->part, first->part);
    CLOSE;
}

BOTH(advance, a_step_that_fails_leaves_the_old_state) {
    RUNTIME;
    const State *state = start_state(s);
    for (int i = 0; i < 20; i++)
        state = pith_advance(s, State, &add_one_step, state);
    pt_ok(s, state);
    const size_t live = pith_memory_about(rt).live;
    const State *none = state;
    pt_fails(PITH_E_CHECK, s, none = pith_advance(s, State, &add_one_step, state));
    pt_says("21 is too much");
    cr_assert(none->x == NULL && none->room == 0, "the nil record");
    cr_assert_eq(pith_memory_about(rt).live, live);
    cr_assert_eq(pith_read_f64(s, pith_max(s, state->x, PITH_ALL_AXES)), 20);
    CLOSE;
}

static const State *back(pith_scope *s, const State *in) {
    State next = *in;
    next.x = pith_sub(s, in->x, pith_f64(s, 1));
    return pith_freeze(s, State, &next);
}
PITH_FUNCTION1(back_step, back, State, State)

BOTH(advance, edits_by_a_function_keep_one_state_too) {
    RUNTIME;
    const State *state = pith_advance(s, State, &add_one_step, start_state(s));
    const size_t live = pith_memory_about(rt).live, bytes = pith_scope_bytes(s);
    for (int i = 0; i < 40; i++) {
        state = pith_advance(s, State, &add_one_step, state);
        state = pith_advance(s, State, &back_step, state);
        pt_ok(s, state);
    }
    cr_assert_leq(pith_memory_about(rt).live, live + LEAF / 4);
    cr_assert_leq(pith_scope_bytes(s), bytes + 65536);
    cr_assert_eq(pith_read_f64(s, pith_max(s, state->x, PITH_ALL_AXES)), 1);
    CLOSE;
}

/* Two states made of one: a replica must survive the steps of the other. */
BOTH(advance, a_copy_made_of_a_state_is_a_state_of_its_own) {
    RUNTIME;
    const State *a = pith_advance(s, State, &add_one_step, start_state(s));
    State copy = *a;
    copy.room = 9;
    const State *b = pith_freeze(s, State, &copy);
    for (int i = 0; i < 3; i++)
        pt_ok(s, b = pith_advance(s, State, &add_one_step, b));
    pt_ok(s, a = pith_advance(s, State, &add_one_step, a));
    cr_assert_eq(pith_read_f64(s, pith_max(s, a->x, PITH_ALL_AXES)), 2);
    cr_assert_eq(pith_read_f64(s, pith_max(s, b->x, PITH_ALL_AXES)), 4);
    CLOSE;
}

static const Part *twice(pith_scope *s, const Part *in) {
    Part next = {.scale = pith_mul(s, in->scale, pith_f64(s, 2))};
    return pith_freeze(s, Part, &next);
}
PITH_FUNCTION1(twice_step, twice, Part, Part)

BOTH(advance, stepping_a_part_leaves_the_other_parts) {
    RUNTIME;
    const State *state = pith_advance(s, State, &add_one_step, start_state(s));
    const Part *old = state->part;
    State next = *state;
    pt_ok(s, next.part = pith_advance(s, Part, &twice_step, state->part));
    cr_assert(next.part != old);
    pt_fails(PITH_E_ARG, s, pith_neg(s, state->part->scale));
    pt_ok(s, pith_neg(s, next.x));
    const State *whole = pith_freeze(s, State, &next);
    pt_ok(s, whole);
    whole = pith_advance(s, State, &add_one_step, whole);
    pt_ok(s, whole);
    cr_assert_eq(pith_read_f64(s, pith_max(s, whole->x, PITH_ALL_AXES)), 2);
    CLOSE;
}

Test(advance, states_of_other_scopes_are_left_alone) {
    RUNTIME;
    const State *outside = start_state(s), *state = outside;
    pith_scope *inner = pith_scope_open_in(s);
    for (int i = 0; i < 3; i++)
        state = pith_advance(inner, State, &add_one_step, state);
    pt_ok(inner, state);
    pt_ok(s, state = pith_keep(s, state));
    pith_scope_close(inner);
    cr_assert_eq(pith_read_f64(s, pith_max(s, state->x, PITH_ALL_AXES)), 3);
    cr_assert_eq(pith_read_f64(s, pith_max(s, outside->x, PITH_ALL_AXES)), 0);
    CLOSE;
}

static const void *same(pith_scope *s, const void *in) {
    (void)s;
    return in;
}
PITH_FUNCTION1(same_step, same, void, void)
static const State *in_a_trace(pith_scope *s, const State *in) {
    return pith_advance(s, State, &add_one_step, in);
}
PITH_FUNCTION1(in_a_trace_step, in_a_trace, State, State)

Test(advance, takes_any_tree_and_refuses_what_is_no_state) {
    RUNTIME;
    const State *state = start_state(s);
    cr_assert_eq(pith_advance_any(s, NULL, &same_step, state), state, "the same stays");
    pt_ok(s, pith_neg(s, state->x));
    pt_fails(PITH_E_ARG, s, pith_advance_any(s, NULL, NULL, state));
    pt_fails(PITH_E_ARG, s, pith_advance_any(s, NULL, &same_step, NULL));
    const State loose = *state;
    pt_fails(PITH_E_ARG, s, pith_advance(s, State, &add_one_step, &loose));
    pt_says("not frozen");
    pt_fails(PITH_E_TRACED, s,
             pith_call(s, pith_jit(s, &in_a_trace_step, NULL), PITH_ITEMS(state)));
    CLOSE;
}

static pith_status scenario(const pith_open_options *options) {
    pith_runtime *rt = pith_open(options);
    pith_scope *s = pith_scope_open(rt);
    const State *state = pith_make(s, State, NULL, PITH_EXTENTS({"n", 3}, {"m", 2}));
    for (int i = 0; i < 6 && !pith_failed(s); i++) {
        const State *next = pith_advance(s, State, &add_one_step, state);
        if (!pith_failed(s))
            state = next;
    }
    const pith_status code = pith_code(s);
    if (code != PITH_OK && state->x) { /* what was committed last is whole */
        pith_clear(s);
        pith_tree_equal(s, state, state);
    }
    pith_scope_close(s);
    pith_close(rt);
    return code;
}

BOTH(advance, every_allocation_may_fail) {
    const pt_failures failures = pt_fail_each(scenario);
    cr_assert(failures.errors > 0);
}
