/* Where the values of checks come from in a compiled function: made for them alone,
 * shared with each other or with the result, inputs, constants, what a branch hands on.
 * Its assertions are those of the function itself, whichever of them fail. */
#include "assert_test.h"

typedef struct {
    const pith_array *x, *words, *a, *b, *which, *ok;
} State;
PITH_NODE(State,
          PITH_LEAF(x, "f64[3]"),
          PITH_LEAF(words, "i32[4]"),
          PITH_LEAF(a, "bool[]"),
          PITH_LEAF(b, "bool[]"),
          PITH_LEAF(which, "bool[]"),
          PITH_LEAF(ok, "bool[]"))

static const void *first_of(pith_scope *s, const State *in) {
    (void)s;
    return in->a;
}
static const void *second_of(pith_scope *s, const State *in) {
    (void)s;
    return in->b;
}
PITH_FUNCTION1(first_function, first_of, void, State)
PITH_FUNCTION1(second_function, second_of, void, State)

enum { CHECKS = 12 };

static const State *check_all(pith_scope *s, const State *in) {
    State next = *in;
    const pith_array *limit = pith_f64(s, 10), *sum = pith_sum(s, in->x, PITH_ALL_AXES),
                     *small = pith_less(s, sum, limit),
                     *each = pith_less(s, in->x, limit),
                     *square = pith_reshape(s, pith_logical_or(s, in->a, in->which),
                                            PITH_SHAPE(1, 1)),
                     *later = pith_less(s, pith_min(s, in->x, PITH_ALL_AXES), limit),
                     *either =
                         pith_cond(s, in->which, &first_function, &second_function, in);
    next.ok = pith_less(s, pith_take(s, in->x, pith_i64(s, 1), NULL), pith_f64(s, 5));
    pith_check(s, in->a, "an input, {a}", .args = {{"a", in->a}});
    pith_check(s, small, "of its own, {sum}", .args = {{"sum", sum}}, .fix_args = sum);
    pith_check(s, small, "the same, {limit} {x}",
               .args = {{"limit", limit}, {"x", in->x}});
    pith_check(s, each, "each, {x} at {index}", .args = {{"x", in->x}});
    pith_check(s, in->words, "integers, {words}", .args = {{"words", in->words}});
    pith_check(s, square, "of rank 2, {square}", .args = {{"square", square}});
    pith_check(s, next.ok, "in the result, {ok}", .args = {{"ok", next.ok}});
    pith_check(s, either, "handed on, {either}", .args = {{"either", either}});
    pith_check(s, pith_less(s, pith_f64(s, 1), limit), "always, {limit}",
               .args = {{"limit", limit}});
    pith_check(s, pith_logical_not(s, in->b), "first an argument, {later}",
               .args = {{"later", later}});
    pith_check(s, later, "then a predicate");
    pith_check(s, pith_not_equal(s, in->words, pith_i32(s, 7)), "integers again");
    next.x = pith_mul(s, in->x, limit);
    return pith_freeze(s, State, &next);
}
PITH_FUNCTION1(check_function, check_all, State, State)

static void
same_assertion(pith_scope *s, const pith_assertion *a, const pith_assertion *b) {
    cr_assert(pith_assertion_passed(a) == pith_assertion_passed(b));
    cr_assert(pith_assertion_first(a) == pith_assertion_first(b));
    cr_assert_str_eq(pith_assertion_message(s, a), pith_assertion_message(s, b));
    const pith_array *p = pith_assertion_predicate(s, a),
                     *q = pith_assertion_predicate(s, b);
    cr_assert(pith_array_spec(p) == pith_array_spec(q));
    cr_assert(pith_tree_equal(s, p, q));
    const void *f = pith_assertion_fix_args(a), *g = pith_assertion_fix_args(b);
    cr_assert(!f == !g && (!f || pith_tree_equal(s, f, g)));
}

static State some_state(pith_scope *s, unsigned bits) {
    const double big = bits & 1 ? 11 : 1, middle = bits & 2 ? 6 : 2;
    const int32_t word = bits & 4 ? 0 : bits & 8 ? 7 : 3;
    return (State){
        .x = pith_array_copy(s, PITH_F64, PITH_SHAPE(3),
                             (const double[]){bits & 16 ? 12 : 0.5, middle, big}),
        .words = pith_array_copy(s, PITH_I32, PITH_SHAPE(4),
                                 (const int32_t[]){1, word, 2, word}),
        .a = pith_bool(s, bits & 32),
        .b = pith_bool(s, bits & 64),
        .which = pith_bool(s, bits & 128),
        .ok = pith_bool(s, true),
    };
}

BOTH(held, values_come_from_anywhere) {
    RUNTIME;
    const pith_function *f = pith_jit(s, &check_function, NULL);
    int passed = 0;
    for (unsigned bits = 0; bits < 256; bits++) {
        pith_scope *in = pith_scope_open_in(s);
        const State start = some_state(in, bits);
        const State *state = pith_freeze(in, State, &start);
        const pith_result *own = pith_as_result(in, &check_function, ARGS(state)),
                          *again = pith_as_result(in, f, ARGS(state));
        pt_ok(in, own && again);
        cr_assert(pith_result_count(in, own) == CHECKS);
        cr_assert(pith_result_count(in, again) == CHECKS);
        cr_assert(pith_result_failed(in, own) == pith_result_failed(in, again));
        for (int i = 0; i < CHECKS; i++)
            same_assertion(in, pith_result_get(in, own, i),
                           pith_result_get(in, again, i));
        passed += pith_result_failed(in, own) == 0;
        pith_scope_close(in);
    }
    cr_assert(passed == 1);
    CLOSE;
}

/* ---- Many flags in a row ---- */

enum { MANY = 600 };

static const pith_array *check_many(pith_scope *s, const pith_array *x) {
    const pith_array *zero = pith_i32(s, 0);
    for (int i = 0; i < MANY; i++) {
        const pith_array *element = pith_take(s, x, pith_i64(s, i), NULL);
        pith_check(s, pith_less_equal(s, zero, element), "{element}",
                   .args = {{"element", element}});
    }
    return pith_add(s, x, x);
}
PITH_FUNCTION1(many_function, check_many, pith_array, pith_array)

BOTH(held, each_of_many_is_seen) {
    RUNTIME;
    const pith_function *f = pith_jit(s, &many_function, NULL);
    for (int bad = -1; bad < MANY; bad += bad < 0 ? 1 : 13) {
        pith_scope *in = pith_scope_open_in(s);
        int32_t elements[MANY];
        for (int i = 0; i < MANY; i++)
            elements[i] = i == bad ? -1 - i : i;
        const pith_array *x = pith_array_copy(in, PITH_I32, PITH_SHAPE(MANY), elements);
        const pith_result *r = pith_as_result(in, f, ARGS(x));
        pt_ok(in, r);
        cr_assert(pith_result_count(in, r) == MANY);
        cr_assert(pith_result_failed(in, r) == (bad >= 0));
        const int at = bad < 0 ? MANY - 1 : bad;
        char text[16];
        snprintf(text, sizeof text, "%d", elements[at]);
        cr_assert_str_eq(pith_assertion_message(in, pith_result_get(in, r, at)), text);
        cr_assert(pith_assertion_passed(pith_result_get(in, r, at)) == (bad < 0));
        pith_scope_close(in);
    }
    CLOSE;
}
