/* Fixes: which run, in which order, on what. */
#include "assert_test.h"

typedef struct {
    const pith_array *x;
    int64_t a, b;
} State;
PITH_NODE(State, PITH_LEAF(x, "f64[n]"), PITH_STATIC(a), PITH_STATIC(b))

static int calls; /* of fixes */

/* a becomes 10 a + the argument. */
static const State *append_to(pith_scope *s, const State *in, const pith_array *digit) {
    State next = *in;
    next.a = 10 * in->a + pith_read_i64(s, digit);
    calls++;
    return pith_freeze(s, State, &next);
}
PITH_FUNCTION2(append, append_to, State, State, pith_array)

static const State *grow_b(pith_scope *s, const State *in) {
    State next = *in;
    next.b = in->b < 8 ? 8 : in->b;
    calls++;
    return pith_freeze(s, State, &next);
}
PITH_FUNCTION1(grow, grow_b, State, State)

static const State *fail_to(pith_scope *s, const State *in) {
    calls++;
    pith_fail(s, PITH_E_CALLBACK, ".b", "no room left");
    return in;
}
PITH_FUNCTION1(failing, fail_to, State, State)

static const State *start(pith_scope *s) {
    State state = pith_initial(State);
    state.x = pith_ones(s, PITH_F64, PITH_SHAPE(3));
    return pith_freeze(s, State, &state);
}

static void check_digit(pith_scope *s, bool passes, int64_t digit) {
    pith_check(s, pith_bool(s, passes), "digit {d}", .args = {{"d", pith_i64(s, digit)}},
               .fix = &append, .fix_args = pith_i64(s, digit));
}

BOTH(fix, fixes_run_in_order_on_what_the_one_before_gave) {
    RUNTIME;
    const State *in = start(s);
    calls = 0;
    pith_collect_begin(s);
    pith_scope *child = pith_scope_open_in(s); /* arguments outlive their scope */
    check_digit(child, false, 1);
    check_digit(child, true, 2);
    check_digit(child, false, 3);
    pith_check(child, pith_bool(child, false), "b", .fix = &grow);
    pith_scope_close(child);
    const pith_result *r = pith_collect_end(s, NULL);
    pt_ok(s, r);
    const State *fixed = pith_result_fix_or_raise(s, r, in);
    pt_ok(s, fixed);
    cr_assert(fixed->a == 13 && fixed->b == 8 && calls == 3, "%lld", (long long)fixed->a);
    cr_assert(in->a == 0 && in->b == 0 && fixed->x == in->x);
    const pith_assertion *a = pith_result_get(s, r, 0);
    cr_assert(pith_assertion_fixable(a) && pith_assertion_fix(a) == &append);
    cr_assert(pith_read_i64(s, pith_assertion_fix_args(a)) == 1);
    cr_assert_str_eq(pith_assertion_arg_name(a, 0), "d");
    cr_assert_null(pith_assertion_arg_name(a, 1));
    fixed = pith_assertion_repair(s, pith_result_get(s, r, 1), in);
    cr_assert(fixed->a == 2, "a fix can be called by itself");
    CLOSE;
}

BOTH(fix, one_that_cannot_be_fixed_is_raised_before_any_fix_runs) {
    RUNTIME;
    const State *in = start(s);
    calls = 0;
    pith_collect_begin(s);
    check_digit(s, false, 1);
    pith_check(s, pith_bool(s, false), "cannot be fixed", .code = PITH_E_OVERFLOW);
    pith_check(s, pith_bool(s, false), "neither");
    const pith_result *r = pith_collect_end(s, NULL);
    const State *fixed = in;
    pt_fails(PITH_E_OVERFLOW, s, fixed = pith_result_fix_or_raise(s, r, in));
    pt_says("cannot be fixed (test_fix.c:");
    cr_assert(calls == 0 && fixed && fixed->a == 0 && !fixed->x, "the nil record");
    CLOSE;
}

BOTH(fix, one_that_fails_is_an_error) {
    RUNTIME;
    const State *in = start(s);
    pith_collect_begin(s);
    check_digit(s, false, 1);
    pith_check(s, pith_bool(s, false), "b", .fix = &failing);
    check_digit(s, false, 2);
    const pith_result *r = pith_collect_end(s, NULL);
    calls = 0;
    pt_fails(PITH_E_CALLBACK, s, pith_result_fix_or_raise(s, r, in));
    pt_says(".b: the fix of the check at ");
    pt_says("no room left");
    cr_assert(calls == 2);
    pt_fails(PITH_E_TYPE, s, pith_result_fix_or_raise(s, r, in->x));
    pt_fails(PITH_E_ARG, s, pith_result_fix_or_raise(s, r, (const State *)NULL));
    CLOSE;
}

BOTH(fix, without_a_failure_the_root_is_given_back) {
    RUNTIME;
    const State *in = start(s);
    pith_collect_begin(s);
    check_digit(s, true, 1);
    const pith_result *r = pith_collect_end(s, NULL);
    cr_assert(pith_result_fix_or_raise(s, r, in) == in);
    CLOSE;
}

BOTH(fix, a_partial_fix_lives_as_long_as_its_check) {
    RUNTIME;
    const State *in = start(s);
    pith_collect_begin(s);
    pith_scope *inner = pith_scope_open_in(s);
    const pith_function *fix = pith_partial(inner, &append, pith_i64(inner, 7));
    pith_check(inner, pith_bool(inner, false), "b", .fix = fix);
    pith_scope_close(inner);
    const pith_result *r = pith_collect_end(s, NULL);
    const State *fixed = pith_result_fix_or_raise(s, r, in);
    pt_ok(s, fixed);
    cr_assert(fixed->a == 7);
    CLOSE;
}

static const State *
of_three(pith_scope *s, const State *a, const State *b, const State *c) {
    (void)s, (void)b, (void)c;
    return a;
}
PITH_FUNCTION3(three, of_three, State, State, State, State)

BOTH(fix, what_is_no_fix_is_refused) {
    RUNTIME;
    pith_collect_begin(s);
    const pith_array *no = pith_bool(s, false);
    pt_fails(PITH_E_ARG, s, pith_check(s, no, "x", .fix = &append));
    pt_says("the fix append_to takes arguments, but fix_args is NULL");
    pt_fails(PITH_E_ARG, s, pith_check(s, no, "x", .fix = &three));
    pith_check(s, no, "x");
    const pith_result *r = pith_collect_end(s, NULL);
    cr_assert(pith_result_count(s, r) == 1);
    pt_fails(PITH_E_ARG, s, pith_assertion_repair(s, pith_result_get(s, r, 0), start(s)));
    pt_says("has no fix");
    CLOSE;
}
