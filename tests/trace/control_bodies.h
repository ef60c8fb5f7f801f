/* Bodies of branches and loops over a record, and calls of a function in both ways. */
#ifndef PITH_TESTS_CONTROL_BODIES_H
#define PITH_TESTS_CONTROL_BODIES_H

#include "scope_test.h"

typedef struct {
    const pith_array *x, *count;
    int64_t width;
} State;
PITH_NODE(State,
          PITH_LEAF(x, "f64[n]"),
          PITH_LEAF(count, "i64[]"),
          PITH_STATIC(width, .initial = 2))
typedef struct {
    const State *carry;
    const pith_array *out;
} Step;
PITH_NODE(Step, PITH_CHILD(carry, State), PITH_LEAF(out, "f64[m]"))
typedef struct {
    const State *carry;
    const pith_array *out;
} Total;
PITH_NODE(Total, PITH_CHILD(carry, State), PITH_LEAF(out, "f64[]"))

static const State *state_of(pith_scope *in, const pith_array *x, const pith_array *n) {
    State next = pith_initial(State);
    next.x = x;
    next.count = n;
    return pith_freeze(in, State, &next);
}
static const State *some_state(int64_t n) {
    return state_of(s, pith_arange(s, PITH_F64, n), pith_i64(s, 0));
}

/* The same call eagerly and compiled, several times: equal, and the compiled result. */
static PT_UNUSED const void *
both_ways(const pith_function *f, int count, const void *const *arguments) {
    const pith_function *fast = pith_jit(s, f, NULL);
    const void *slow = pith_call(s, f, count, arguments), *got = NULL;
    pt_ok(s, slow);
    for (int k = 0; k < 2; k++) {
        got = pith_call(s, fast, count, arguments);
        pt_ok(s, got);
        pt_ok(s, pith_tree_equal(s, slow, got));
    }
    return got;
}
#define BOTH(f, ...) both_ways(f, PITH_ITEMS(__VA_ARGS__))

static const State *up(pith_scope *in, const State *a) {
    State next = *a;
    next.x = pith_add(in, a->x, pith_f64(in, 1));
    return pith_freeze(in, State, &next);
}
static const State *down(pith_scope *in, const State *a) {
    State next = *a;
    next.x = pith_neg(in, a->x);
    next.count = pith_add(in, a->count, pith_i64(in, 10));
    return pith_freeze(in, State, &next);
}
static const State *stay(pith_scope *in, const State *a) {
    (void)in;
    return a;
}
static const State *scaled(pith_scope *in, const State *a, const State *by) {
    State next = *a;
    next.x = pith_mul(in, a->x, by->x);
    return pith_freeze(in, State, &next);
}
PITH_FUNCTION1(up_step, up, State, State)
PITH_FUNCTION1(down_step, down, State, State)
PITH_FUNCTION1(stay_step, stay, State, State)
PITH_FUNCTION2(scaled_step, scaled, State, State, State)

static const pith_array *below_ten(pith_scope *in, const State *a) {
    return pith_less(in, a->count, pith_i64(in, 10));
}
PITH_FUNCTION1(below_ten_test, below_ten, pith_array, State)

static const State *add_index(pith_scope *in, const pith_array *i, const State *a) {
    State next = *a;
    next.count = pith_add(in, a->count, pith_cast(in, i, PITH_I64));
    next.x = pith_add(in, a->x, pith_cast(in, i, PITH_F64));
    return pith_freeze(in, State, &next);
}
PITH_FUNCTION2(add_index_step, add_index, State, pith_array, State)

static const Step *running(pith_scope *in, const State *a, const pith_array *row) {
    State next = *a;
    next.x = pith_add(in, a->x, row);
    next.count = pith_add(in, a->count, pith_i64(in, 1));
    const Step step = {.carry = pith_freeze(in, State, &next),
                       .out = pith_mul(in, next.x, pith_f64(in, 2))};
    return pith_freeze(in, Step, &step);
}
PITH_FUNCTION2(running_step, running, Step, State, pith_array)

static const Total *halve(pith_scope *in, const State *a, const void *nothing) {
    (void)nothing;
    State next = *a;
    next.x = pith_mul(in, a->x, pith_f64(in, 0.5));
    const Total total = {.carry = pith_freeze(in, State, &next),
                         .out = pith_sum(in, next.x, PITH_ALL_AXES)};
    return pith_freeze(in, Total, &total);
}
PITH_FUNCTION2(halve_step, halve, Total, State, void)

#endif
