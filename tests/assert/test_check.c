/* Checks: which of them count, where they go, and when they become errors. */
#include "assert_test.h"
#include "kernels.h"

BOTH(assert, collects_what_a_function_checks) {
    RUNTIME;
    const pith_array *four = pith_f64(s, 4), *minus = pith_f64(s, -4);
    const pith_result *r = pith_as_result(s, &sqrt_step, ARGS(four));
    pt_ok(s, r);
    cr_assert(pith_result_all_pass(s, r));
    cr_assert(pith_result_count(s, r) == 1 && pith_result_failed(s, r) == 0);
    cr_assert(pith_read_f64(s, pith_result_value(r)) == 2);
    cr_assert(pith_result_raise(s, r) == PITH_OK);
    pt_ok(s);
    r = pith_as_result(s, &sqrt_step, ARGS(minus));
    pt_ok(s, r);
    cr_assert(!pith_result_all_pass(s, r) && !pith_result_all_pass(s, r));
    cr_assert(isnan(pith_read_f64(s, pith_result_value(r))), "it was not stopped");
    const pith_assertion *a = pith_result_get(s, r, 0);
    cr_assert(!pith_assertion_passed(a) && pith_assertion_first(a) == 0);
    cr_assert(pith_assertion_code(a) == PITH_E_CHECK && !pith_assertion_fixable(a));
    cr_assert_str_eq(pith_assertion_message(s, a), "cannot take the root of -4.0");
    cr_assert_str_eq(pith_assertion_text(a), "cannot take the root of {value}");
    cr_assert(pith_read_f64(s, pith_assertion_arg(s, a, "value")) == -4);
    cr_assert(!pith_read_bool(s, pith_assertion_predicate(s, a)));
    pt_fails(PITH_E_CHECK, s, pith_result_raise(s, r));
    pt_says("cannot take the root of -4.0 (assert_test.h:");
    CLOSE;
}

Test(assert, an_invisible_check_does_nothing) {
    RUNTIME;
    const pith_array *minus = pith_f64(s, -4);
    const pith_array *bad = not_negative(s, minus);
    const size_t before = pith_scope_bytes(s);
    const long long allocations = atomic_load(&pt_default_heap.allocations);
    for (int i = 0; i < 1000; i++)
        pith_check(s, bad, "not collected {no_such_name}", .args = {{"x", minus}});
    cr_assert(pith_scope_bytes(s) == before);
    cr_assert(atomic_load(&pt_default_heap.allocations) == allocations);
    cr_assert(!pith_check_enabled(s, PITH_CHECK_DEBUG));
    cr_assert(pith_check_enabled(s, PITH_CHECK_ALWAYS));
    cr_assert(!pith_check_enabled(s, PITH_CHECK_OFF));
    pith_wait(s);
    pith_check(s, bad, "off", .level = PITH_CHECK_OFF);
    pith_collect_begin(s);
    cr_assert(pith_check_enabled(s, PITH_CHECK_DEBUG));
    pith_check(s, bad, "off", .level = PITH_CHECK_OFF);
    const pith_result *r = pith_collect_end(s, NULL);
    cr_assert(pith_result_count(s, r) == 0 && pith_result_all_pass(s, r));
    CLOSE;
}

static int line_of_check;
static void check_always(pith_scope *s, const pith_array *x) {
    line_of_check = __LINE__ + 1;
    pith_check(s, not_negative(s, x), "{x} is negative", .args = {{"x", x}},
               .level = PITH_CHECK_ALWAYS, .code = PITH_E_CAPACITY, .path = ".x");
}

BOTH(assert, of_level_always_is_an_error_at_the_next_wait) {
    RUNTIME;
    const pith_array *good = pith_f64(s, 3), *bad = pith_f64(s, -3);
    check_always(s, good);
    pith_wait(s);
    pt_ok(s);
    check_always(s, bad);
    check_always(s, pith_f64(s, -5));
    cr_assert(!pith_failed(s), "no wait yet");
    pt_fails(PITH_E_CAPACITY, s, pith_wait(s));
    pt_says(".x: -3.0 is negative (test_check.c:");
    cr_assert_str_eq(pt_error.path, ".x");
    pt_site(line_of_check);
    pith_wait(s); /* it was told once */
    pt_ok(s);
    check_always(s, bad);
    pt_fails(PITH_E_CAPACITY, s, pith_read_f64(s, good));
    pith_scope *child = pith_scope_open_in(s);
    check_always(child, pith_f64(child, -7));
    pith_scope_close(child); /* what was unread is the parent's */
    pt_ok(s);
    pt_fails(PITH_E_CAPACITY, s, pith_wait(s));
    pt_says("-7.0 is negative");
    CLOSE;
}

BOTH(assert, of_level_always_comes_in_the_order_of_the_program) {
    RUNTIME;
    const pith_array *bad = pith_f64(s, -3);
    const pith_array *x =
        pith_array_copy(s, PITH_I32, PITH_SHAPE(1), (const int32_t[]){9});
    pt_ok(s, pith_launch(s, below, x, 3).y);
    check_always(s, bad);
    pt_fails(PITH_E_CHECK, s, pith_wait(s));
    pt_says("below: the check at kernels.h");
    check_always(s, bad);
    pt_ok(s, pith_launch(s, below, x, 3).y);
    pt_fails(PITH_E_CAPACITY, s, pith_wait(s));
    CLOSE;
}

BOTH(assert, many_of_level_always_take_bounded_memory) {
    RUNTIME;
    const pith_array *good = pith_f64(s, 3), *fine = not_negative(s, good);
    long long bytes = 0;
    for (int i = 0; i < 30000; i++) {
        pith_check(s, fine, "never", .level = PITH_CHECK_ALWAYS);
        if (i == 15000)
            bytes = atomic_load(&pt_default_heap.bytes);
    }
    cr_assert(atomic_load(&pt_default_heap.bytes) <= bytes + 65536);
    CLOSE;
}

Test(assert, a_runtime_can_be_silent) {
    pith_runtime *rt =
        pith_open(&(pith_open_options){.device = "host", .silent_checks = true});
    pith_scope *s = pith_scope_open(rt);
    check_always(s, pith_f64(s, -3));
    const int32_t nine = 9;
    pt_ok(s,
          pith_launch(s, below, pith_array_copy(s, PITH_I32, PITH_SHAPE(1), &nine), 3).y);
    pith_wait(s);
    pt_ok(s);
    pith_collect_begin(s);
    check_always(s, pith_f64(s, -3));
    const pith_result *r = pith_collect_end(s, NULL);
    cr_assert(pith_result_failed(s, r) == 1, "collectors see them");
    pt_ok(s);
    pith_scope_close(s);
    pith_close(rt);
}

Test(assert, a_scope_can_raise_the_level) {
    RUNTIME;
    const pith_array *bad = pith_f64(s, -3);
    pith_check_set_level(s, PITH_CHECK_ALWAYS);
    pith_scope *child = pith_scope_open_in(s);
    pith_collect_begin(child);
    checked_sqrt(child, bad);
    check_always(child, bad);
    const pith_result *r = pith_collect_end(child, NULL);
    cr_assert(pith_result_count(child, r) == 1, "that of level debug does not count");
    pith_check_set_level(child, PITH_CHECK_OFF);
    check_always(child, bad);
    pith_wait(child);
    pt_ok(child);
    pith_check_set_level(child, PITH_CHECK_DEBUG);
    pith_collect_begin(child);
    checked_sqrt(child, bad);
    cr_assert(pith_result_count(child, pith_collect_end(child, NULL)) == 1);
    pt_fails(PITH_E_ARG, child, pith_check_set_level(child, (pith_check_level)7));
    pt_fails(PITH_E_ARG, child,
             pith_check(child, bad, "too low", .level = (pith_check_level)7));
    pt_says("pith_check: invalid level: 7");
    cr_assert(!pith_check_enabled(child, (pith_check_level)7));
    pith_scope_close(child);
    CLOSE;
}

static const pith_array *numbers(pith_scope *s, int64_t count, const int32_t *x) {
    return pith_array_copy(s, PITH_I32, PITH_SHAPE(count), x);
}

BOTH(assert, kernels_that_fail_are_assertions_in_order) {
    RUNTIME;
    const pith_array *x = numbers(s, 4, (const int32_t[]){1, 5, 2, 9});
    pith_collect_begin(s);
    pt_ok(s, pith_launch(s, below, x, 10).y);
    pith_check(s, pith_bool(s, true), "before");
    pt_ok(s, pith_launch(s, below, x, 4).y);
    pt_ok(s, pith_launch(s, below, x, 10).y);
    pith_check(s, pith_bool(s, false), "after");
    pt_ok(s, pith_launch(s, fits, x, 3).y);
    pith_wait(s);
    pt_ok(s); /* no error of the scope */
    const pith_array *far =
        pith_take(s, x, pith_i32(s, 70), &(pith_take_options){.mode = PITH_INDEX_ERROR});
    const pith_result *r = pith_collect_end(s, far);
    pt_ok(s, r);
    cr_assert(!pith_result_all_pass(s, r));
    cr_assert(pith_result_count(s, r) == 5 && pith_result_failed(s, r) == 4);
    cr_assert(pith_result_value(r) == far);
    const char *texts[] = {"before", "below: the check at kernels.h:", "after",
                           "fits: room of y[n,room] is too small: have 3, need 9",
                           "pith_take: "};
    const pith_status codes[] = {PITH_E_CHECK, PITH_E_CHECK, PITH_E_CHECK,
                                 PITH_E_CAPACITY, PITH_E_INDEX};
    const int64_t first[] = {-1, 1, 0, 1, 0};
    for (int i = 0; i < 5; i++) {
        const pith_assertion *a = pith_result_get(s, r, i);
        const char *text = pith_assertion_message(s, a);
        cr_assert(strncmp(text, texts[i], strlen(texts[i])) == 0, "%s", text);
        cr_assert(pith_assertion_code(a) == codes[i]);
        cr_assert(pith_assertion_first(a) == first[i], "%d: %lld", i,
                  (long long)pith_assertion_first(a));
        cr_assert(pith_assertion_passed(a) == (i == 0));
        cr_assert(strncmp(pith_assertion_site(a), "test_check.c:", 13) == 0);
        if (i)
            cr_assert(pith_result_get_failed(s, r, i - 1) == a);
    }
    pt_fails(PITH_E_CHECK, s, pith_result_raise(s, r));
    pt_says("first at index 1, greatest need 9");
    pt_fails(PITH_E_INDEX, s, pith_result_get(s, r, 5));
    pt_fails(PITH_E_INDEX, s, pith_result_get_failed(s, r, -1));
    pt_fails(PITH_E_ARG, s, pith_assertion_predicate(s, pith_result_get(s, r, 1)));
    pt_fails(PITH_E_CHECK, s, pith_assertion_raise(s, pith_result_get(s, r, 1)));
    cr_assert(pith_assertion_raise(s, pith_result_get(s, r, 0)) == PITH_OK);
    CLOSE;
}

BOTH(assert, kernels_that_pass_are_no_assertions) {
    RUNTIME;
    const pith_array *x = numbers(s, 4, (const int32_t[]){1, 5, 2, 9});
    pith_collect_begin(s);
    for (int i = 0; i < 300; i++)
        pt_ok(s, pith_launch(s, below, x, 10).y);
    const pith_result *r = pith_collect_end(s, NULL);
    cr_assert(pith_result_all_pass(s, r) && pith_result_count(s, r) == 0);
    CLOSE;
}

BOTH(assert, takes_predicates_of_any_shape_and_integers) {
    static const int64_t zeros[3];
    RUNTIME;
    for (int d = PITH_BOOL; d <= PITH_U64; d++) {
        const pith_dtype dtype = (pith_dtype)d;
        pith_collect_begin(s);
        const pith_array *ones = pith_full(s, dtype, PITH_SHAPE(1000, 3), 1);
        pith_check(s, ones, "passes");
        pith_check(s, pith_zeros(s, dtype, PITH_SHAPE(0, 3)), "passes");
        pith_check(s, pith_full(s, dtype, PITH_SCALAR, 1), "passes");
        pith_check(s, pith_zeros(s, dtype, PITH_SCALAR), "fails");
        const pith_array *at = pith_array_copy(s, PITH_I64, PITH_SHAPE(1), zeros);
        const pith_array *none = pith_zeros(s, dtype, PITH_SHAPE(1, 3));
        at = pith_add(s, at, pith_i64(s, 777));
        pith_check(s, pith_scatter_set(s, ones, at, none, NULL), "fails");
        const pith_result *r = pith_collect_end(s, NULL);
        pt_ok(s, r);
        cr_assert(pith_result_count(s, r) == 5);
        for (int i = 0; i < 5; i++)
            cr_assert(pith_assertion_passed(pith_result_get(s, r, i)) == (i < 3));
        cr_assert(pith_assertion_first(pith_result_get(s, r, 4)) == 3 * 777);
        cr_assert_str_eq(pith_assertion_message(s, pith_result_get(s, r, 4)),
                         "fails (first failing index [777, 0])");
    }
    CLOSE;
}

BOTH(assert, refuses_what_is_no_predicate) {
    RUNTIME;
    pith_collect_begin(s);
    const pith_array *x = pith_f32(s, 1), *t = pith_bool(s, true);
    pt_fails(PITH_E_DTYPE, s, pith_check(s, x, "no"));
    pt_says("expected a predicate of bool or integers, got f32[]");
    pt_fails(PITH_E_ARG, s, pith_check(s, NULL, "no"));
    pt_fails(PITH_E_ARG, s, pith_check(s, t, "no", .args = {{"x", NULL}}));
    pt_fails(PITH_E_ARG, s, pith_check(s, t, "no", .info = {{"x", NULL}}));
    pt_fails(PITH_E_ARG, s, pith_check_with(s, t, NULL));
    pt_fails(PITH_E_ARG, s,
             pith_check_with(s, t, &(pith_check_options){.message = NULL}));
    pt_fails(PITH_E_ARG, s, pith_check(s, t, "no", .code = (pith_status)99));
    pith_fail(s, PITH_E_CALLBACK, NULL, "before");
    pith_check(s, x, "not looked at");
    cr_assert(pith_code(s) == PITH_E_CALLBACK);
    cr_assert_null(pith_check_all(s));
    pith_clear(s);
    const pith_result *r = pith_collect_end(s, NULL);
    cr_assert(pith_result_count(s, r) == 0, "nothing of it was collected");
    CLOSE;
}

static const pith_array *inner_step(pith_scope *s, const pith_array *x) {
    const pith_result *r = pith_as_result(s, &sqrt_step, ARGS(x));
    cr_assert(pith_result_count(s, r) == 1);
    pith_check(s, pith_bool(s, true), "outside");
    return pith_result_value(r);
}
PITH_FUNCTION1(nested, inner_step, pith_array, pith_array)

BOTH(assert, nested_collectors_both_receive) {
    RUNTIME;
    pith_check(s, pith_bool(s, false), "before all");
    const pith_array *minus = pith_f64(s, -4);
    pith_collect_begin(s);
    const pith_result *inner = pith_as_result(s, &nested, ARGS(minus));
    pith_check(s, pith_bool(s, true), "last");
    const pith_result *outer = pith_collect_end(s, NULL);
    pt_ok(s);
    cr_assert(pith_result_count(s, inner) == 2 && pith_result_count(s, outer) == 3);
    cr_assert(!pith_result_all_pass(s, inner) && !pith_result_all_pass(s, outer));
    for (int i = 0; i < 2; i++)
        cr_assert(pith_result_get(s, inner, i) == pith_result_get(s, outer, i));
    cr_assert(!pith_assertion_passed(pith_result_get(s, outer, 0)));
    cr_assert(pith_assertion_passed(pith_result_get(s, outer, 2)));
    CLOSE;
}

BOTH(assert, children_inherit_the_collector) {
    RUNTIME;
    pith_collect_begin(s);
    pith_scope *left_open = pith_scope_open_in(s);
    for (int i = 0; i < 3; i++) {
        pith_scope *child = pith_scope_open_in(s), *work = pith_scope_open_in(child);
        const pith_array *x = pith_f64(work, -1.0 - i);
        checked_sqrt(work, x);
        pith_drop(work, x); /* the assertion has it */
        pith_scope_close(child);
    }
    const pith_result *r = pith_collect_end(s, NULL);
    cr_assert(pith_result_failed(s, r) == 3);
    cr_assert_str_eq(pith_assertion_message(s, pith_result_get(s, r, 2)),
                     "cannot take the root of -3.0");
    checked_sqrt(left_open, pith_f64(left_open, -9));
    cr_assert(pith_result_count(s, r) == 3, "it has ended");
    check_always(left_open, pith_f64(left_open, -9));
    pt_fails(PITH_E_CAPACITY, left_open, pith_wait(left_open));
    pith_scope_close(left_open);
    CLOSE;
}

BOTH(assert, the_conjunction_so_far) {
    RUNTIME;
    cr_assert(pith_read_bool(s, pith_check_all(s)), "without a collector");
    pith_collect_begin(s);
    cr_assert(pith_read_bool(s, pith_check_all(s)), "of none");
    pith_check(s, pith_bool(s, true), "passes");
    const pith_array *before = pith_check_all(s);
    pith_collect_begin(s);
    pith_check(s, pith_bool(s, false), "fails");
    const pith_array *after = pith_check_all(s);
    const pith_result *inner = pith_collect_end(s, NULL);
    pith_collect_begin(s);
    pith_check(s, pith_bool(s, true), "passes");
    cr_assert(!pith_read_bool(s, pith_check_all(s)), "of the collectors around, too");
    const pith_result *second = pith_collect_end(s, NULL);
    const pith_result *outer = pith_collect_end(s, NULL);
    cr_assert(pith_read_bool(s, before) && !pith_read_bool(s, after));
    cr_assert(pith_array_spec(after)->dtype == PITH_BOOL &&
              pith_array_spec(after)->rank == 0);
    cr_assert(!pith_result_all_pass(s, inner) && pith_result_all_pass(s, second));
    cr_assert(!pith_result_all_pass(s, outer));
    pith_collect_begin(s);
    const int32_t nine = 9;
    pt_ok(s, pith_launch(s, below, numbers(s, 1, &nine), 3).y);
    cr_assert(!pith_read_bool(s, pith_check_all(s)), "of kernels, too");
    pith_collect_end(s, NULL);
    CLOSE;
}

static char told[512];
static void listen(pith_log_level level, const char *message, void *closure) {
    (void)closure;
    if (level == PITH_LOG_ERROR)
        snprintf(told, sizeof told, "%s", message);
}

BOTH(assert, a_collection_without_an_end_loses_nothing) {
    RUNTIME;
    told[0] = 0;
    pith_set_log_hook(rt, listen, NULL);
    pith_scope *child = pith_scope_open_in(s);
    pith_collect_begin(child);
    checked_sqrt(child, pith_f64(child, -1));
    check_always(child, pith_f64(child, -2));
    pith_scope_close(child);
    cr_assert(pith_code(s) == PITH_E_CAPACITY, "%s", pith_message(s));
    cr_assert(strstr(pith_message(s), "-2.0 is negative"), "%s", pith_message(s));
    pith_clear(s);
    pith_scope *root = pith_scope_open(rt);
    pith_collect_begin(root);
    check_always(root, pith_f64(root, -2));
    pith_scope_close(root);
    cr_assert(strstr(told, "-2.0 is negative"), "%s", told);
    pith_set_log_hook(rt, NULL, NULL);
    CLOSE;
}

static const pith_array *fails(pith_scope *s, const pith_array *x) {
    checked_sqrt(s, x);
    pith_collect_begin(s); /* never ended */
    pith_fail(s, PITH_E_CALLBACK, ".x", "asked to fail");
    return x;
}
PITH_FUNCTION1(fails_step, fails, pith_array, pith_array)

BOTH(assert, an_error_is_no_assertion) {
    RUNTIME;
    const pith_array *x = pith_f64(s, -1);
    const pith_result *r = (const pith_result *)&x;
    pt_fails(PITH_E_CALLBACK, s, r = pith_as_result(s, &fails_step, ARGS(x)));
    cr_assert_null(r);
    cr_assert(!pith_check_enabled(s, PITH_CHECK_DEBUG), "the collector has ended");
    const void *value = x;
    pt_fails(PITH_E_CALLBACK, s,
             value = pith_with_assertions(s, &fails_step, ARGS(x), &r));
    cr_assert(!value && !r);
    pt_fails(PITH_E_ARG, s, pith_with_assertions(s, &sqrt_step, ARGS(x), NULL));
    value = pith_with_assertions(s, &sqrt_step, ARGS(x), &r);
    cr_assert(value == pith_result_value(r) && pith_result_failed(s, r) == 1);
    pt_fails(PITH_E_ARG, s, pith_as_result(s, NULL, ARGS(x)));
    pt_fails(PITH_E_ARG, s, pith_collect_end(s, NULL));
    pt_says("this scope has no collection");
    CLOSE;
}

BOTH(assert, results_answer_their_own_streams_while_they_live) {
    RUNTIME;
    pith_scope *child = pith_scope_open_in(s), *other = pith_scope_open(rt);
    const pith_array *x = pith_f64(child, -1);
    const pith_result *r = pith_as_result(child, &sqrt_step, ARGS(x));
    cr_assert(pith_result_failed(s, r) == 1, "a scope around it may ask");
    pt_fails(PITH_E_ARG, other, pith_result_all_pass(other, r));
    pt_says("the result was made in a scope that does not enclose this one");
    pt_fails(PITH_E_ARG, s,
             pith_result_all_pass(s, (const pith_result *)(const void *)x));
    pt_fails(PITH_E_ARG, s, pith_result_all_pass(s, NULL));
    const pith_assertion *a = pith_result_get(s, r, 0);
    pith_scope_close(child);
    pt_fails(PITH_E_ARG, s, pith_result_all_pass(s, r));
    pt_says("closed");
    pt_fails(PITH_E_ARG, s, pith_assertion_message(s, a));
    cr_assert(!pith_assertion_passed(a) && pith_assertion_first(a) == -1);
    cr_assert(pith_assertion_code(a) == PITH_E_ARG && !pith_assertion_fixable(a));
    pith_scope_close(other);
    CLOSE;
}
