/* Checks of functions that are traced: what a run of the program says is what the
 * function says when its calls run at once. */
#include "record_test.h"

typedef struct {
    const pith_array *low, *high;
    int64_t room;
} Bounds;
PITH_NODE(Bounds, PITH_LEAF(low, "f64"), PITH_LEAF(high, "f64"), PITH_STATIC(room))

static const Bounds *widen_bounds(pith_scope *s, const Bounds *in, const Bounds *by) {
    Bounds next = *in;
    next.high = pith_add(s, in->high, by->high);
    next.room = in->room + by->room;
    return pith_freeze(s, Bounds, &next);
}
PITH_FUNCTION2(widen, widen_bounds, Bounds, Bounds, Bounds)

/* Several checks: of elements, with texts, a path and a code, with trees for a fix, and
 * of a value that is no more than an input or a constant. */
static const pith_array *many_checks(pith_scope *s, const pith_array *const *x) {
    const pith_array *zero = pith_f64(s, 0), *top = pith_max(s, x[0], PITH_ALL_AXES);
    pith_check(s, pith_greater_equal(s, x[0], zero), "no {x:.1f} at {index}, {why}",
               .args = {{"x", x[0]}}, .info = {{"why", "it is below"}}, .path = ".x");
    const pith_array *y = pith_mul(s, x[0], x[1]);
    Bounds by = {.low = zero, .high = top, .room = 3};
    pith_check(s, pith_less(s, top, x[1]), "{top:g} and {limit:g}",
               .args = {{"top", top}, {"limit", x[1]}}, .code = PITH_E_OVERFLOW,
               .level = PITH_CHECK_ALWAYS, .fix = &widen,
               .fix_args = pith_freeze(s, Bounds, &by));
    pith_check(s, pith_bool(s, false), "never, {y}", .args = {{"y", y}});
    pith_check(s, pith_less(s, zero, pith_f64(s, 1)), "always");
    return y;
}

static const pith_array *f64s(pith_scope *s, double a, double b, double c) {
    return pith_array_copy(s, PITH_F64, PITH_SHAPE(3), (const double[]){a, b, c});
}

BOTH(record, runs_say_what_calls_say) {
    RUNTIME;
    const pith_array *good[] = {f64s(s, 1, 2, 3), pith_f64(s, 5)};
    const pith_array *bad[] = {f64s(s, 1, -2, 8), pith_f64(s, 5)};
    rt_same_checks(s, many_checks, 2, good, bad);
    CLOSE;
}

BOTH(record, fix_arguments_are_those_of_the_run) {
    RUNTIME;
    const pith_array *x[] = {f64s(s, 1, 2, 3), pith_f64(s, 5)};
    const pith_array *bad[] = {f64s(s, 1, 2, 8), pith_f64(s, 5)};
    pith_collect_begin(s);
    rt_compiled c = rt_compile(s, many_checks, 2, x);
    pith_collect_end(s, NULL);
    pith_collect_begin(s);
    rt_run(s, &c, bad);
    const pith_result *r = pith_collect_end(s, NULL);
    rt_free(&c); /* assertions outlive the program */
    const pith_assertion *a = pith_result_get_failed(s, r, 0);
    const Bounds *by = pith_assertion_fix_args(a);
    cr_assert(by && by->room == 3 && pith_read_f64(s, by->high) == 8);
    Bounds start = {.low = pith_f64(s, 0), .high = pith_f64(s, 1), .room = 1};
    const Bounds *fixed = pith_assertion_repair(s, a, pith_freeze(s, Bounds, &start));
    pt_ok(s, fixed);
    cr_assert(fixed->room == 4 && pith_read_f64(s, fixed->high) == 9);
    cr_assert(pith_read_f64(s, pith_assertion_arg(s, a, "top")) == 8);
    CLOSE;
}

static const pith_array *one_check(pith_scope *s, const pith_array *const *x) {
    pith_check(s, pith_less(s, x[0], pith_f64(s, 3)), "{x} is too much",
               .args = {{"x", x[0]}}, .level = PITH_CHECK_ALWAYS, .path = ".x");
    pith_check(s, pith_less(s, x[0], pith_f64(s, 0)), "not collected");
    return pith_add(s, x[0], x[0]);
}

BOTH(record, without_a_collector_failures_are_errors_at_the_next_wait) {
    setenv("PITH_JIT", "off", 1); /* a compiler beside it would take memory */
    RUNTIME;
    const pith_array *good = pith_f64(s, 1), *bad = pith_f64(s, 4);
    rt_compiled c = rt_compile(s, one_check, 1, &good);
    cr_assert(pithp_checks_values(c.checks) == 2, "the one that counts");
    rt_run(s, &c, &good);
    pith_wait(s);
    pt_ok(s);
    rt_run(s, &c, &bad);
    rt_run(s, &c, &good);
    cr_assert(!pith_failed(s));
    pt_fails(PITH_E_CHECK, s, pith_wait(s));
    pt_says(".x: 4.0 is too much (test_record.c:");
    long long bytes = 0;
    for (int i = 0; i < 20000; i++) {
        pith_scope *inner = pith_scope_open_in(s);
        rt_run(inner, &c, &good);
        pith_scope_close(inner);
        if (i == 10000)
            bytes = atomic_load(&pt_default_heap.bytes);
    }
    pith_wait(s);
    cr_assert(atomic_load(&pt_default_heap.bytes) <= bytes + 65536);
    rt_free(&c);
    CLOSE;
}

static const pith_array *made_fix(pith_scope *s, const pith_array *const *x) {
    const Bounds by = {.low = pith_f64(s, 0), .high = pith_f64(s, 2), .room = 5};
    const pith_function *fix = pith_partial(s, &widen, pith_freeze(s, Bounds, &by));
    pith_check(s, pith_less(s, x[0], pith_f64(s, 3)), "too much", .fix = fix);
    return x[0];
}

BOTH(record, fixes_made_while_tracing_live_as_long_as_the_check) {
    RUNTIME;
    const pith_array *x = pith_f64(s, 9);
    pith_collect_begin(s);
    pith_scope *inner = pith_scope_open_in(s);
    rt_compiled c = rt_compile(inner, made_fix, 1, &x);
    pith_collect_end(s, NULL);
    pith_collect_begin(s);
    rt_run(s, &c, &x);
    const pith_result *r = pith_collect_end(s, NULL);
    rt_free(&c);
    pith_scope_close(inner);
    const Bounds start = {.low = pith_f64(s, 0), .high = pith_f64(s, 1), .room = 1};
    const Bounds *fixed = pith_result_fix_or_raise(s, r, pith_freeze(s, Bounds, &start));
    pt_ok(s, fixed);
    cr_assert(fixed->room == 6 && pith_read_f64(s, fixed->high) == 3);
    CLOSE;
}

/* A traced function that runs another program's body in its own trace. */
static rt_compiled inner_program;
static const pith_array *outer(pith_scope *s, const pith_array *const *x) {
    pith_check(s, pith_greater(s, x[0], pith_f64(s, 0)), "before {x}",
               .args = {{"x", x[0]}});
    const pith_array *y = pith_mul(s, x[0], pith_f64(s, 2));
    if (pithp_scope_trace(s) && inner_program.program) {
        const pith_array *values[] = {pith_less(s, y, pith_f64(s, 3)), y};
        pithp_checks_replay(s, inner_program.checks, values, false);
    } else {
        pith_check(s, pith_less(s, y, pith_f64(s, 3)), "{x} is too much",
                   .args = {{"x", y}}, .level = PITH_CHECK_ALWAYS, .path = ".x");
    }
    pith_check(s, pith_greater(s, y, pith_f64(s, 0)), "after");
    return y;
}

BOTH(record, checks_of_a_program_are_recorded_again_in_another_trace) {
    RUNTIME;
    const pith_array *x = pith_f64(s, 1), *bad = pith_f64(s, 4);
    inner_program = (rt_compiled){0};
    inner_program = rt_compile(s, one_check, 1, &x);
    pith_collect_begin(s);
    rt_compiled c = rt_compile(s, outer, 1, &x);
    pith_collect_end(s, NULL);
    rt_free(&inner_program); /* what it wrote down is held */
    pith_collect_begin(s);
    rt_run(s, &c, &bad);
    const pith_result *r = pith_collect_end(s, NULL);
    cr_assert(pith_result_count(s, r) == 3 && pith_result_failed(s, r) == 1);
    const pith_assertion *a = pith_result_get(s, r, 1);
    cr_assert_str_eq(pith_assertion_message(s, a), "8.0 is too much");
    cr_assert_str_eq(pith_assertion_path(a), ".x");
    rt_free(&c);
    CLOSE;
}

static const pith_array *uses_all(pith_scope *s, const pith_array *const *x) {
    pith_check(s, pith_greater(s, x[0], pith_f64(s, 0)), "below");
    pith_check(s, pith_less(s, x[0], pith_f64(s, 9)), "above");
    return pith_where(s, pith_check_all(s), x[0], pith_f64(s, -1));
}

BOTH(record, the_conjunction_so_far_can_be_used) {
    RUNTIME;
    const pith_array *x = pith_f64(s, 1), *bad = pith_f64(s, 10);
    pith_collect_begin(s);
    rt_compiled c = rt_compile(s, uses_all, 1, &x);
    pith_collect_end(s, NULL);
    pith_collect_begin(s);
    cr_assert(pith_read_f64(s, rt_run(s, &c, &x)) == 1);
    cr_assert(pith_read_f64(s, rt_run(s, &c, &bad)) == -1);
    pith_collect_end(s, NULL);
    rt_free(&c);
    CLOSE;
}

Test(record, what_is_wrong_with_a_check_is_told_at_the_trace) {
    RUNTIME;
    pith_collect_begin(s);
    pith_scope *inner = pith_scope_open_in(s);
    pithp_trace *t = pithp_trace_begin(inner);
    const pith_array *x =
        pithp_trace_input(inner, t, pithp_spec(inner, PITH_F64, 0, NULL));
    pt_fails(PITH_E_DTYPE, inner, pith_check(inner, x, "float"));
    pt_fails(PITH_E_ARG, inner,
             pith_check(inner, pith_less(inner, x, x), "{no}", .args = {{"x", x}}));
    pt_fails(PITH_E_TRACED, inner, pith_collect_begin(inner));
    pt_says("collect them around the compiled call");
    pt_fails(PITH_E_TRACED, inner, pith_as_result(inner, &sqrt_step, PITH_ITEMS(x)));
    pith_check(inner, pith_less(inner, x, x), "dropped with its trace");
    pithp_program_release(pithp_trace_end(inner, t));
    pith_scope_close(inner);
    pith_result_count(s, pith_collect_end(s, NULL));
    pt_fails(PITH_E_TRACED, s, pith_check(s, x, "leaked", .level = PITH_CHECK_ALWAYS));
    CLOSE;
}

Test(record, every_failure_of_memory_is_survived) {
    RUNTIME;
    const pith_array *x[] = {f64s(s, 1, 2, 3), pith_f64(s, 5)};
    bool failed = true;
    for (long long at = 1; failed && at < 2000; at++) {
        pith_scope *inner = pith_scope_open_in(s);
        pith_collect_begin(inner);
        const long long now = atomic_load(&pt_default_heap.allocations);
        atomic_store(&pt_default_heap.fail_at, now + at);
        pithp_trace *t = pithp_trace_begin(inner);
        pithp_checks *checks = NULL;
        const pith_array *traced[2] = {NULL};
        for (int i = 0; t && i < 2; i++)
            traced[i] = pithp_trace_input(inner, t, pithp_array_spec(x[i]));
        if (t && !pith_failed(inner))
            many_checks(inner, traced);
        if (t && !pith_failed(inner))
            pithp_checks_take(inner, t, false, &checks);
        failed = pith_failed(inner);
        atomic_store(&pt_default_heap.fail_at, 0);
        if (t)
            pithp_program_release(pithp_trace_end(inner, t));
        pithp_checks_release(checks);
        pith_clear(inner);
        pith_scope_close(inner);
        pith_clear(s);
    }
    CLOSE;
}
