/* Runs of compiled functions whose checks all passed: their assertions are made on
 * request, and equal those of separate calls. */
#include "record_test.h"

typedef struct {
    const pith_array *x;
    int64_t room;
} Box;
PITH_NODE(Box, PITH_LEAF(x, "f64[n]"), PITH_STATIC(room))
typedef struct {
    const Box *left, *right;
} Boxes;
PITH_NODE(Boxes, PITH_CHILD(left, Box), PITH_CHILD(right, Box))

static const Box *widen(pith_scope *s, const Box *in, const pith_array *by) {
    Box next = *in;
    next.room = in->room + pith_read_i64(s, by);
    return pith_freeze(s, Box, &next);
}
PITH_FUNCTION2(widen_fix, widen, Box, Box, pith_array)

static const pith_array *passing(pith_scope *s, const pith_array *const *x) {
    const pith_array *top = pith_max(s, x[0], PITH_ALL_AXES);
    pith_check(s, pith_less(s, x[0], x[1]), "{x} below {limit:.1f}, {why}",
               .args = {{"x", x[0]}, {"limit", x[1]}}, .info = {{"why", "it fits"}},
               .path = ".x", .code = PITH_E_OVERFLOW);
    pith_check(s, pith_less(s, top, x[1]), "{top}", .args = {{"top", top}},
               .fix = &widen_fix, .fix_args = pith_cast(s, top, PITH_I64));
    pith_check(s, pith_less(s, pith_f64(s, 0), pith_f64(s, 1)), "always");
    return pith_mul(s, x[0], x[1]);
}

static const pith_array *f64s(pith_scope *s, double a, double b, double c) {
    return pith_array_copy(s, PITH_F64, PITH_SHAPE(3), (const double[]){a, b, c});
}

BOTH(passed, assertions_are_those_of_the_function) {
    RUNTIME;
    const pith_array *x[] = {f64s(s, 1, 2, 3), pith_f64(s, 5)};
    const pith_array *other[] = {f64s(s, 4, -2, 3), pith_f64(s, 4.5)};
    rt_same_checks(s, passing, 2, x, other);
    CLOSE;
}

static const Box *box_step(pith_scope *s, const Box *in) {
    Box next = *in;
    next.x = passing(s, (const pith_array *const[]){in->x, pith_f64(s, 9)});
    return pith_freeze(s, Box, &next);
}
PITH_FUNCTION1(box_function, box_step, Box, Box)

static const Box *box(pith_scope *s, double a, double b, double c) {
    const Box start = {.x = f64s(s, a, b, c), .room = 2};
    return pith_freeze(s, Box, &start);
}

BOTH(passed, values_are_those_of_their_run) {
    RUNTIME;
    const pith_function *f = pith_jit(s, &box_function, NULL);
    const pith_result *first = pith_as_result(s, f, PITH_ITEMS(box(s, 1, 2, 3)));
    const pith_result *second = pith_as_result(s, f, PITH_ITEMS(box(s, 7, 5, 6)));
    pith_jit_clear(rt); /* assertions outlive the program */
    pt_ok(s, first && second);
    cr_assert(pith_result_all_pass(s, first) && pith_result_count(s, first) == 3);
    const pith_assertion *a = pith_result_get(s, first, 1),
                         *b = pith_result_get(s, second, 1);
    cr_assert(a == pith_result_get(s, first, 1), "made once");
    cr_assert(pith_assertion_passed(a) && pith_assertion_first(a) == -1);
    cr_assert_str_eq(pith_assertion_message(s, a), "3.0");
    cr_assert_str_eq(pith_assertion_message(s, b), "7.0");
    cr_assert(pith_assertion_raise(s, b) == PITH_OK);
    cr_assert(pith_read_i64(s, pith_assertion_fix_args(b)) == 7);
    const Box *fixed = pith_assertion_repair(s, b, box(s, 0, 0, 0));
    pt_ok(s, fixed);
    cr_assert(fixed->room == 9);
    const pith_assertion *text = pith_result_get(s, second, 0);
    cr_assert_str_eq(pith_assertion_info(text, "why"), "it fits");
    cr_assert(pith_read_f64(s, pith_assertion_arg(s, text, "limit")) == 9);
    cr_assert(pith_array_spec(pith_assertion_predicate(s, text))->count == 3);
    CLOSE;
}

BOTH(passed, collectors_around_see_the_same_ones) {
    RUNTIME;
    const pith_function *f = pith_jit(s, &box_function, NULL);
    pith_collect_begin(s);
    pith_check(s, pith_bool(s, true), "before");
    const pith_result *inner = pith_as_result(s, f, PITH_ITEMS(box(s, 1, 2, 3)));
    pith_check(s, pith_bool(s, false), "after");
    const pith_result *outer = pith_collect_end(s, NULL);
    pt_ok(s, inner && outer);
    cr_assert(pith_result_count(s, inner) == 3 && pith_result_count(s, outer) == 5);
    cr_assert(pith_result_failed(s, inner) == 0 && pith_result_failed(s, outer) == 1);
    for (int i = 0; i < 3; i++)
        cr_assert(pith_result_get(s, outer, 1 + i) == pith_result_get(s, inner, i));
    cr_assert_str_eq(pith_assertion_text(pith_result_get(s, outer, 0)), "before");
    cr_assert_str_eq(pith_assertion_text(pith_result_get(s, outer, 4)), "after");
    CLOSE;
}

BOTH(passed, parts_of_a_root_are_repaired_in_it) {
    RUNTIME;
    const Boxes start = {.left = box(s, 1, 2, 3), .right = box(s, 4, 5, 6)};
    const Boxes *both = pith_freeze(s, Boxes, &start);
    const pith_lens *right = PITH_LENS(Boxes, right);
    pith_collect_begin(s);
    pith_at_lens(s, right, pith_jit(s, &box_function, NULL), both);
    const pith_result *r = pith_collect_end(s, NULL);
    pt_ok(s, r);
    cr_assert(pith_result_count(s, r) == 3);
    cr_assert_str_eq(pith_assertion_path(pith_result_get(s, r, 0)), ".right.x");
    const Boxes *fixed = pith_assertion_repair(s, pith_result_get(s, r, 1), both);
    pt_ok(s, fixed);
    cr_assert(fixed->left == both->left && fixed->right->room == 8);
    CLOSE;
}

Test(passed, every_failure_of_memory_is_survived) {
    setenv("PITH_JIT", "off", 1);
    RUNTIME;
    const pith_function *f = pith_jit(s, &box_function, NULL);
    const Box *x = box(s, 1, 2, 3);
    pith_as_result(s, f, PITH_ITEMS(x));
    pt_ok(s);
    bool failed = true;
    for (long long at = 1; failed && at < 200; at++) {
        pith_scope *inner = pith_scope_open_in(s);
        atomic_store(&pt_default_heap.fail_at,
                     atomic_load(&pt_default_heap.allocations) + at);
        const pith_result *r = pith_as_result(inner, f, PITH_ITEMS(x));
        const int64_t count = r ? pith_result_count(inner, r) : -1;
        failed = pith_failed(inner);
        cr_assert(failed ? pith_code(inner) == PITH_E_MEMORY : count == 3, "%s",
                  pith_message(inner));
        atomic_store(&pt_default_heap.fail_at, 0);
        pith_clear(inner);
        pith_scope_close(inner);
        pith_clear(s);
    }
    cr_assert(!failed);
    CLOSE;
}
