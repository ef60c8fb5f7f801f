/* Compiled functions that make checks: they say what the function says when its calls run
 * one by one. */
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

static const pith_array *root(pith_scope *s, const pith_array *x) {
    runs++;
    pith_check(s, pith_greater_equal(s, x, pith_f64(s, 0)), "no root of {x}",
               .args = {{"x", x}}, .code = PITH_E_OVERFLOW);
    pith_check(s, pith_less(s, pith_max(s, x, PITH_ALL_AXES), pith_f64(s, 100)),
               "{top:g} is large", .args = {{"top", pith_max(s, x, PITH_ALL_AXES)}});
    return pith_sqrt(s, x);
}
PITH_FUNCTION1(root_function, root, pith_array, pith_array)

static const pith_array *three(pith_scope *s, double a, double b, double c) {
    return pith_array_copy(s, PITH_F64, PITH_SHAPE(3), (const double[]){a, b, c});
}

static void same_checks(pith_scope *s, const pith_function *f, const pith_array *x) {
    const pith_result *got = pith_as_result(s, f, PITH_ITEMS(x)),
                      *want = pith_as_result(s, &root_function, PITH_ITEMS(x));
    pt_ok(s, got && want);
    cr_assert(pith_result_count(s, got) == pith_result_count(s, want));
    cr_assert(pith_result_failed(s, got) == pith_result_failed(s, want));
    for (int64_t i = 0; i < pith_result_failed(s, want); i++) {
        const pith_assertion *a = pith_result_get_failed(s, got, i),
                             *b = pith_result_get_failed(s, want, i);
        cr_assert_str_eq(pith_assertion_message(s, a), pith_assertion_message(s, b));
        cr_assert_str_eq(pith_assertion_site(a), pith_assertion_site(b));
        cr_assert(pith_assertion_code(a) == pith_assertion_code(b));
    }
    cr_assert(pith_tree_equal(s, pith_result_value(got), pith_result_value(want)) ||
              pith_result_failed(s, want));
}

static const pith_array *nothing(pith_scope *s, const pith_array *x) {
    const pith_array *y = pith_add(s, x, x);
    pith_check(s, pith_equal(s, y, y), "{y} is not itself", .args = {{"y", y}});
    return y;
}
PITH_FUNCTION1(nothing_function, nothing, pith_array, pith_array)

BOTH(jit_checks, are_those_of_the_function) {
    RUNTIME;
    const pith_function *f = pith_jit(s, &root_function, NULL);
    same_checks(s, f, three(s, 1, 4, 9));
    same_checks(s, f, three(s, 1, -4, 9));
    same_checks(s, f, three(s, -1, 4, 900));
    same_checks(s, f, three(s, 1, 4, 16));
    cr_assert(runs == 5, "one trace: %d", runs);
    const pith_array *y = pith_apply(s, f, three(s, -1, 4, 900));
    pith_wait(s);
    pt_ok(s, y); /* no collector, and the level is debug */
    cr_assert(runs == 6, "another program, without checks");
    CLOSE;
}

/* All that its checks need has no elements. */
BOTH(jit_checks, of_nothing_pass) {
    RUNTIME;
    const pith_function *f = pith_jit(s, &nothing_function, NULL);
    const pith_array *none = pith_zeros(s, PITH_F64, PITH_SHAPE(3, 0));
    for (int again = 0; again < 2; again++) {
        const pith_result *got = pith_as_result(s, f, PITH_ITEMS(none));
        pt_ok(s, got);
        cr_assert(pith_result_count(s, got) == 1 && pith_result_all_pass(s, got));
    }
    CLOSE;
}

static const pith_array *strict(pith_scope *s, const pith_array *x) {
    runs++;
    pith_check(s, pith_less(s, x, pith_f64(s, 3)), "{x} is too much", .args = {{"x", x}},
               .level = PITH_CHECK_ALWAYS, .path = ".x");
    return pith_add(s, x, x);
}
PITH_FUNCTION1(strict_function, strict, pith_array, pith_array)

BOTH(jit_checks, of_level_always_are_errors_at_the_next_wait) {
    RUNTIME;
    const pith_function *f = pith_jit(s, &strict_function, NULL);
    pith_apply(s, f, pith_f64(s, 1));
    pith_wait(s);
    pt_ok(s);
    pith_apply(s, f, pith_f64(s, 4));
    cr_assert(!pith_failed(s) && runs == 1);
    pt_fails(PITH_E_CHECK, s, pith_wait(s));
    pt_says(".x: 4.0 is too much (test_jit_checks.c:");
    CLOSE;
}

/* A check that fails shows a value of a compiled call. */
static const pith_array *shows(pith_scope *s, const pith_array *x) {
    const pith_array *force = pith_mul(s, x, pith_f64(s, 0.5));
    pith_check(s, pith_bool(s, false), "the force is {f:.3f}", .args = {{"f", force}});
    return pith_add(s, x, force);
}
PITH_FUNCTION1(shows_function, shows, pith_array, pith_array)

BOTH(jit_checks, show_values_to_those_who_collect) {
    RUNTIME;
    const pith_function *f = pith_jit(s, &shows_function, NULL);
    const pith_array *x = pith_f64(s, 3);
    for (int call = 0; call < 2; call++) {
        const pith_result *r = pith_as_result(s, f, PITH_ITEMS(x));
        pt_ok(s, r);
        cr_assert_str_eq(pith_assertion_message(s, pith_result_get_failed(s, r, 0)),
                         "the force is 1.500");
        cr_assert(pith_read_f64(s, pith_result_value(r)) == 4.5);
    }
    cr_assert(pith_read_f64(s, pith_apply(s, f, x)) == 4.5);
    CLOSE;
}

/* ---- Steps that grow ---- */

typedef struct {
    const pith_array *buffer, *filled, *clock;
    int64_t room;
} Tank;
PITH_NODE(Tank,
          PITH_LEAF(buffer, "f64[room]"),
          PITH_LEAF(filled, "i64[]"),
          PITH_LEAF(clock, "f64[]"),
          PITH_STATIC(room, .initial = 2))

static const Tank *fill(pith_scope *s, const Tank *in) {
    runs++;
    Tank next = *in;
    const pith_array *need = pith_add(s, in->filled, pith_i64(s, 1));
    pith_capacity_require(s, pith_lens_capacity(s, PITH_LENS(Tank, room), in->room, 2.0),
                          need);
    const pith_array *mine =
        pith_equal(s, pith_arange(s, PITH_I64, in->room), in->filled);
    next.buffer = pith_where(s, mine, in->clock, in->buffer);
    next.clock = pith_add(s, in->clock, pith_f64(s, 0.5));
    next.filled = need;
    return pith_freeze(s, Tank, &next);
}
PITH_FUNCTION1(fill_step, fill, Tank, Tank)

BOTH(jit_checks, a_step_that_grows_is_traced_again_and_its_program_comes_back) {
    RUNTIME;
    const Tank *empty = pith_make(s, Tank, NULL, NULL);
    pt_ok(s, empty);
    const pith_function *step = pith_jit(s, &fill_step, NULL);
    const Tank *want =
        pith_run(s, Tank, &fill_step, empty, &(pith_run_options){.steps = 9});
    pt_ok(s, want);
    runs = 0;
    const Tank *got = pith_run(s, Tank, step, empty, &(pith_run_options){.steps = 9});
    pt_ok(s, got);
    cr_assert(got->room == 16 && want->room == 16);
    pt_ok(s, pith_tree_equal(s, got, want));
    cr_assert(runs == 4, "rooms of 2, 4, 8, 16: %d", runs);
    const pith_jit_info before = pith_jit_about(rt);
    got =
        pith_run(s, Tank, step, empty, &(pith_run_options){.steps = 9, .check_every = 3});
    pt_ok(s, got && pith_tree_equal(s, got, want));
    cr_assert(runs == 4 && pith_jit_about(rt).misses == before.misses);
    got = pith_propagate(s, Tank, step, got, NULL);
    pt_ok(s, got);
    cr_assert(runs == 4 && pith_read_i64(s, got->filled) == 10);
    CLOSE;
}

BOTH(jit_checks, an_audit_runs_the_step_itself) {
    RUNTIME;
    const Tank *empty = pith_make(s, Tank, NULL, NULL);
    const pith_function *step = pith_jit(s, &fill_step, NULL);
    int64_t count = -1;
    pith_capacity_audit(s, step, empty, &count);
    pt_ok(s);
    cr_assert(count == 0 && runs >= 1);
    pith_apply(s, step, empty);
    pith_capacity_audit(s, step, empty, &count);
    cr_assert(count == 0);
    CLOSE;
}

/* ---- Fixes that are compiled functions themselves, which checks hold ---- */

static const pith_array *twice(pith_scope *s, const pith_array *x) {
    return pith_add(s, x, x);
}
PITH_FUNCTION1(twice_function, twice, pith_array, pith_array)
static const pith_array *small(pith_scope *s, const pith_array *x) {
    pith_check(s, pith_greater(s, x, pith_f64(s, 5)), "{x} is small", .args = {{"x", x}},
               .fix = pith_jit(s, &twice_function, NULL));
    return x;
}
PITH_FUNCTION1(small_function, small, pith_array, pith_array)

static void repair(pith_scope *outer) {
    pith_scope *s = pith_scope_open_in(outer);
    const pith_array *x = pith_f64(s, 2);
    const pith_function *f = pith_jit(s, &small_function, NULL);
    const pith_array *last = pith_propagate_any(s, NULL, f, x, NULL);
    pt_ok(s, last);
    cr_assert(pith_read_f64(s, last) == 8);
    pith_scope_close(s);
}

Test(jit_checks, programs_that_hold_functions_go, .timeout = 20) {
    RUNTIME;
    repair(s);
    pith_jit_clear(rt);
    cr_assert(pith_jit_about(rt).programs == 0);
    pith_jit_set_limits(rt, 1, 0); /* each makes room for the next one */
    repair(s);
    cr_assert(pith_jit_about(rt).evictions > 0);
    CLOSE; /* the last one goes with the runtime */
}

/* ---- Fixes that hold what is traced ---- */

static const pith_array *
scaled(pith_scope *s, const pith_array *x, const pith_array *by) {
    return pith_mul(s, x, by);
}
PITH_FUNCTION2(scaled_function, scaled, pith_array, pith_array, pith_array)
static const pith_array *binds(pith_scope *s, const pith_array *x) {
    pith_check(s, pith_greater(s, x, pith_f64(s, 5)), "{x} is small", .args = {{"x", x}},
               .fix = pith_partial(s, &scaled_function, x));
    return x;
}
PITH_FUNCTION1(binds_function, binds, pith_array, pith_array)

Test(jit_checks, fixes_that_bind_traced_arrays_are_refused) {
    RUNTIME;
    const pith_function *f = pith_jit(s, &binds_function, NULL);
    pt_fails(PITH_E_TRACED, s, pith_as_result(s, f, PITH_ITEMS(pith_f64(s, 2))));
    pt_says("the fix scaled");
    pt_says("fix_args");
    pt_says("test_jit_checks.c:");
    CLOSE;
}
