/* Instructions that report, and what loops make of checks. */
#include "kernels.h"
#include "record_test.h"

static const pith_array *i32s(pith_scope *s, int32_t a, int32_t b, int32_t c) {
    return pith_array_copy(s, PITH_I32, PITH_SHAPE(3), (const int32_t[]){a, b, c});
}

/* Checks before, between and behind what reports. */
static const pith_array *reports(pith_scope *s, const pith_array *const *x) {
    pith_check(s, pith_less(s, x[0], pith_i32(s, 100)), "{x} before",
               .args = {{"x", x[0]}});
    const pith_array *y = pith_launch(s, below, x[0], 5).y;
    const pith_array *z = pith_launch(s, fits, x[0], 4).y;
    const pith_array *t =
        pith_take(s, y, x[1], &(pith_take_options){.mode = PITH_INDEX_ERROR});
    pith_check(s, pith_less(s, t, pith_i32(s, 4)), "{t} between", .args = {{"t", t}});
    pith_launch(s, below, t, 3); /* its result is unused */
    return pith_add(s, pith_sum(s, z, PITH_AXES(1)), t);
}

BOTH(record_kernel, reports_are_those_of_calls_that_run_at_once) {
    RUNTIME;
    const pith_array *good[] = {i32s(s, 0, 1, 2), i32s(s, 2, 1, 0)};
    const pith_array *high[] = {i32s(s, 7, 1, 200), i32s(s, 2, 1, 0)};
    const pith_array *out[] = {i32s(s, 0, 1, 4), i32s(s, 2, 9, -7)};
    rt_same_checks(s, reports, 2, good, good);
    rt_same_checks(s, reports, 2, good, high);
    rt_same_checks(s, reports, 2, high, out);
    CLOSE;
}

BOTH(record_kernel, reports_without_a_collector_are_errors_at_the_next_wait) {
    RUNTIME;
    const pith_array *good[] = {i32s(s, 0, 1, 2), i32s(s, 2, 1, 0)};
    const pith_array *high[] = {i32s(s, 1, 7, 2), i32s(s, 2, 1, 0)};
    const pith_array *out[] = {i32s(s, 0, 1, 2), i32s(s, 2, 9, 0)};
    rt_compiled c = rt_compile(s, reports, 2, good);
    rt_run(s, &c, good);
    pith_wait(s);
    pt_ok(s);
    rt_run(s, &c, high);
    pt_fails(PITH_E_CHECK, s, pith_wait(s));
    pt_says("below: the check at kernels.h");
    pt_says("first at index 1, greatest need 7 (test_record_kernel.c:");
    rt_run(s, &c, out);
    pt_fails(PITH_E_INDEX, s, pith_wait(s));
    pt_says("take: index 9 at position 1 is out of range for axis 0 with extent 3");
    rt_free(&c);
    CLOSE;
}

Test(record_kernel, what_does_not_fit_is_told_at_the_trace) {
    RUNTIME;
    pith_scope *inner = pith_scope_open_in(s);
    pithp_trace *t = pithp_trace_begin(inner);
    const pith_array *x = pithp_trace_input(inner, t, pithp_spec(s, PITH_F64, 0, NULL));
    pt_fails(PITH_E_SHAPE, inner, pith_launch(inner, below, x, 3));
    pt_says("below: x: expected i32[n], got f64[]");
    pithp_program_release(pithp_trace_end(inner, t));
    CLOSE;
}

/* ---- Iterations ---- */

typedef struct {
    int64_t size;
} Sized;
PITH_NODE(Sized, PITH_STATIC(size))

static const Sized *no_fix(pith_scope *s, const Sized *in, const pith_array *by) {
    (void)s, (void)by;
    return in;
}
PITH_FUNCTION2(no_fix_function, no_fix, Sized, Sized, pith_array)

static const pith_array *body(pith_scope *s, const pith_array *const *x) {
    pith_check(s, pith_less(s, x[0], pith_i32(s, 3)), "{x} is too much",
               .args = {{"x", x[0]}}, .fix = &no_fix_function, .fix_args = x[0],
               .fix_greatest = true);
    pith_check(s, pith_less(s, x[0], pith_i32(s, 3)), "{x} again", .args = {{"x", x[0]}},
               .fix = &no_fix_function, .fix_args = x[0]);
    return pith_launch(s, below, x[0], 6).y;
}

/* What is kept of the iterations, as arrays that are computed at once. */
static void iterate(pith_scope *s,
                    const rt_compiled *c,
                    int64_t count,
                    const pith_array **kept,
                    const bool *carried,
                    int iterations,
                    const int32_t *first) {
    const pith_array *now[RT_MOST];
    cr_assert(pithp_checks_neutral(s, c->checks, kept));
    for (int k = 0; k < iterations; k++) {
        const pith_array *before[RT_MOST];
        const pith_array *x = i32s(s, first[k], 1, first[k] - 1);
        rt_values(s, c, &x, now);
        memcpy(before, kept, (size_t)count * sizeof *before);
        const pithp_checks_step step = {.before = before,
                                        .now = now,
                                        .carried = carried,
                                        .sound =
                                            pithp_checks_passed(s, c->checks, before)};
        cr_assert(pithp_checks_merge(s, c->checks, &step, kept));
    }
}

Test(record_kernel, the_first_iteration_that_failed_is_kept) {
    RUNTIME;
    const pith_array *x = i32s(s, 0, 1, 2), *kept[RT_MOST];
    pith_collect_begin(s);
    rt_compiled c = rt_compile(s, body, 1, &x);
    pith_collect_end(s, NULL);
    const int64_t count = pithp_checks_values(c.checks);
    for (int k = 0; k < 2; k++) {
        iterate(s, &c, count, kept, NULL, k ? 5 : 0, (const int32_t[]){1, 5, 9, 4, 2});
        cr_assert(pith_read_bool(s, pithp_checks_passed(s, c.checks, kept)) == (k == 0));
        pith_collect_begin(s);
        rt_make_checks(s, &c, kept);
        const pith_result *r = pith_collect_end(s, NULL);
        cr_assert(pith_result_failed(s, r) == (k ? 3 : 0));
        if (k == 0)
            continue;
        const pith_assertion *a = pith_result_get_failed(s, r, 0);
        cr_assert_str_eq(pith_assertion_message(s, a),
                         "[5 1 4] is too much (first failing index [0])");
        int32_t most[3];
        pith_read(s, pith_assertion_fix_args(a), most, sizeof most);
        cr_assert(most[0] == 9 && most[1] == 1 && most[2] == 8);
        a = pith_result_get_failed(s, r, 1);
        pith_read(s, pith_assertion_fix_args(a), most, sizeof most);
        cr_assert(most[0] == 5 && most[2] == 4);
        a = pith_result_get_failed(s, r, 2);
        const char *text = pith_assertion_message(s, a);
        cr_assert(strstr(text, "first at index 0, greatest need 9"), "%s", text);
    }
    rt_free(&c);
    CLOSE;
}

/* All needs depend on the carry: of 1, 5, 9, 4 and 2 the 5 fails first, and the kernel,
 * for which 5 is not too much, has not failed before. */
Test(record_kernel, needs_of_a_carry_count_up_to_the_first_failure) {
    RUNTIME;
    const pith_array *x = i32s(s, 0, 1, 2), *kept[RT_MOST];
    bool carried[RT_MOST];
    memset(carried, true, sizeof carried);
    pith_collect_begin(s);
    rt_compiled c = rt_compile(s, body, 1, &x);
    pith_collect_end(s, NULL);
    iterate(s, &c, pithp_checks_values(c.checks), kept, carried, 5,
            (const int32_t[]){1, 5, 9, 4, 2});
    cr_assert(!pith_read_bool(s, pithp_checks_passed(s, c.checks, kept)));
    pith_collect_begin(s);
    rt_make_checks(s, &c, kept);
    const pith_result *r = pith_collect_end(s, NULL);
    cr_assert(pith_result_failed(s, r) == 2);
    for (int k = 0; k < 2; k++) {
        int32_t most[3];
        pith_read(s, pith_assertion_fix_args(pith_result_get_failed(s, r, k)), most,
                  sizeof most);
        cr_assert(most[0] == 5 && most[1] == 1 && most[2] == 4);
    }
    rt_free(&c);
    CLOSE;
}
