/* What cannot be done while a function is traced: changing what lasts, and work whose
 * values are needed at once. */
#include "pith/pith.h"

#include "pith_test.h"

#include <unistd.h>

static const pith_array *echo(pith_scope *s, const pith_array *x) {
    (void)s;
    return x;
}
PITH_FUNCTION1(echo_step, echo, pith_array, pith_array)

static pith_runtime *rt;
static pith_run_log *open_log;
static pith_instance *open_instance;
static int which;

/* One refused call after the other; `which` says which. False: there are no more. */
static bool call_one(pith_scope *s, const pith_array *x, const pith_array *value) {
    double room[3];
    const void *given[] = {x};
    int64_t count;
    switch (which) {
        case 0:
            return pith_save(s, value, "never.json", NULL), true;
        case 1:
            return pith_save(s, x, "never.json", NULL), true;
        case 2:
            return pith_run(s, pith_array, &echo_step, value, NULL), true;
        case 3:
            return pith_propagate(s, pith_array, &echo_step, value, NULL), true;
        case 4:
            return pith_bench(s, &echo_step, 1, given, NULL), true;
        case 5:
            return pith_measure_peak(s, &echo_step, 1, given), true;
        case 6:
            return pith_capacity_audit(s, &echo_step, value, &count), true;
        case 7:
            return pith_run_log_open(s, "never.jsonl", NULL), true;
        case 8:
            return pith_run_log_sync(s, open_log), true;
        case 9:
            return pith_instance_open(s, "traced", NULL), true;
        case 10:
            return pith_memory_set_limits(s, PITH_LIMITS_ACTIVE), true;
        case 11:
            return pith_memory_set_pinned_budget(s, 0), true;
        case 12:
            return pith_read(s, x, room, sizeof room), true;
        case 13:
            return pith_read_bool(s, x), true;
        case 14:
            return pith_program_text(s, &echo_step, 1, given), true;
        case 15:
            return pith_share(s, x), true;
        case 16:
            return pith_tree_equal(s, x, value), true;
        case 17:
            return pith_jit_clear(rt), true;
        case 18:
            return pith_jit_set_limits(rt, 1, 0), true;
        case 19:
            return pith_tree_device_bytes(s, x), true;
        case 20:
            return pith_memory_push(s), true;
        case 21:
            return pith_set_log_hook(rt, NULL, NULL), true;
        case 22:
            return pith_memory_set_warning_hook(rt, NULL, NULL), true;
        case 23:
            return pith_memory_trim(rt), true;
        case 24:
            return pith_memory_free(rt, "label"), true;
        case 25:
            return pith_memory_invalidate_all(rt), true;
        case 26:
            return pith_instance_free_all(open_instance), true;
        case 27:
            return pith_instance_clear_queue(open_instance), true;
        case 28:
            return pith_instance_close(open_instance), true;
        default:
            return false;
    }
}

/* What a function does about the error of such a call. */
static enum { LEAVES_IT, CLEARS_IT, CLEARS_IT_BELOW, ASKS_OUTSIDE, ways } way;

static bool more;
static const pith_array *calls_one(pith_scope *s, const pith_array *x) {
    const double numbers[] = {1, 2, 3};
    const pith_array *value = pith_array_copy(s, PITH_F64, PITH_SHAPE(3), numbers);
    pith_scope *used = way == CLEARS_IT_BELOW ? pith_scope_open_in(s)
                       : way == ASKS_OUTSIDE  ? pith_scope_open(rt)
                                              : s;
    more = call_one(used, x, value);
    if (way != LEAVES_IT)
        pith_clear(used);
    if (used != s)
        pith_scope_close(used);
    return x;
}
PITH_FUNCTION1(calls_one_function, calls_one, pith_array, pith_array)

/* The error of every call is that of the compiled function around it. */
static void refuses_all(bool (*counts)(int call)) {
    pith_scope *s = pith_scope_open(rt);
    char folder[256];
    pt_folder(folder);
    cr_assert(chdir(folder) == 0);
    open_log = pith_run_log_open(s, "open.jsonl", NULL);
    const pith_function *f = pith_jit(s, &calls_one_function, NULL);
    const pith_array *x = pith_zeros(s, PITH_F64, PITH_SHAPE(3));
    const void *given[] = {x};
    open_instance = pith_instance_open(s, "open", NULL);
    pt_ok(s, open_log && open_instance && f && x);
    for (which = 0, more = true;; which++) {
        if (!counts(which))
            continue;
        pith_scope *inner = pith_scope_open_in(s);
        pith_call(inner, f, 1, given);
        if (!more)
            pt_ok(inner);
        cr_assert(!more || pith_code(inner) == PITH_E_TRACED, "call %d: %s: %s", which,
                  pith_status_name(pith_code(inner)), pith_message(inner));
        cr_assert(!more || strstr(pith_message(inner), "test_refused.c:"), "%s",
                  pith_message(inner));
        pith_clear(inner);
        pith_scope_close(inner);
        if (!more)
            break;
    }
    cr_assert(pith_instance_find(rt, "open") == open_instance);
    pith_instance_close(open_instance);
    pith_jit_clear(rt); /* of the function that calls nothing more */
    cr_assert(access("never.json", F_OK) != 0 && access("never.jsonl", F_OK) != 0);
    pith_scope_close(s);
    cr_assert(unlink("open.jsonl") == 0 && chdir("/") == 0 && rmdir(folder) == 0);
}

static bool any(int call) {
    return call >= 0;
}
/* Calls that need the elements of a traced array, whatever their scope. */
static bool is_read(int call) {
    return call == 12 || call == 13 || call == 16 || call == 19 || call > 28;
}

Test(refused, while_tracing) {
    rt = pt_open();
    for (way = 0; way < ways; way++)
        refuses_all(way == ASKS_OUTSIDE ? is_read : any);
    pt_close(rt);
}

/* ---- On scopes outside ---- */

/* What comes of a traced array on a scope that does not trace: nil, whose statics are 0.
 */
static const void *(*gets)(pith_scope *outside, const pith_array *x);
static const pith_array *looks_outside(pith_scope *s, const pith_array *x) {
    pith_scope *outside = pith_scope_open(rt);
    gets(outside, x);
    pith_clear(outside);
    pith_scope_close(outside);
    return pith_neg(s, x);
}
PITH_FUNCTION1(looks_outside_function, looks_outside, pith_array, pith_array)

static const void *by_keeping(pith_scope *outside, const pith_array *x) {
    return pith_keep(outside, x);
}
static const void *by_calling(pith_scope *outside, const pith_array *x) {
    const pith_function *f = pith_no_tracing(outside, &echo_step);
    return pith_apply(outside, f, x);
}
static const void *by_running(pith_scope *outside, const pith_array *x) {
    return pith_run_chunked_any(outside, NULL, &echo_step, x, 0, NULL);
}

Test(refused, errors_on_scopes_outside_fail_the_call) {
    const void *(*const all[])(pith_scope *,
                               const pith_array *) = {by_keeping, by_calling, by_running};
    rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const void *given[] = {pith_ones(s, PITH_F64, PITH_SHAPE(3))};
    for (int k = 0; k < 3; k++) {
        gets = all[k];
        pt_fails(PITH_E_TRACED, s,
                 pith_call(s, pith_jit(s, &looks_outside_function, NULL), 1, given));
        pt_says("test_refused.c:");
    }
    pith_scope_close(s);
    pt_close(rt);
}

/* ---- In bodies ---- */

static bool reads_in_body;
static const pith_array *halve(pith_scope *s, const pith_array *x) {
    double value = 0;
    if (reads_in_body) {
        value = pith_read_f64(s, x);
        pith_clear(s);
    }
    return pith_mul(s, x, pith_f64(s, value > 0 ? 0.25 : 0.5));
}
static const pith_array *is_large(pith_scope *s, const pith_array *x) {
    return pith_greater(s, x, pith_f64(s, 1));
}
PITH_FUNCTION1(halve_step, halve, pith_array, pith_array)
PITH_FUNCTION1(is_large_test, is_large, pith_array, pith_array)

/* What comes of the loop is cleared, too. */
static const pith_array *halves(pith_scope *s, const pith_array *x) {
    const pith_array *y = pith_while(s, &is_large_test, &halve_step, x);
    if (!pith_failed(s))
        return y;
    pith_clear(s);
    return x;
}
PITH_FUNCTION1(halves_function, halves, pith_array, pith_array)

Test(refused, errors_that_bodies_clear_fail_the_call) {
    rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const void *given[] = {pith_f64(s, 5)};
    const pith_function *f = pith_jit(s, &halves_function, NULL);
    reads_in_body = true;
    pt_fails(PITH_E_TRACED, s, pith_call(s, f, 1, given));
    pt_says("pith_read_f64");
    pt_says("has no value yet");
    pt_says("test_refused.c:");
    reads_in_body = false;
    cr_assert(pith_read_f64(s, pith_call(s, f, 1, given)) == 0.625);
    pt_ok(s);
    pith_scope_close(s);
    pt_close(rt);
}

/* ---- What is set for scopes ---- */

static enum { LEVEL, HOOKS, BOTH } sets;
static enum { FOR_GOOD, FOR_A_WHILE, IN_A_CHILD } how;

static void set(pith_scope *s, bool back) {
    if (sets != HOOKS)
        pith_check_set_level(s, back ? PITH_CHECK_DEBUG : PITH_CHECK_OFF);
    if (sets != LEVEL)
        pith_scope_set_validation(s, back);
}

/* Its own check counts where what it set is undone before. */
static const pith_array *set_and_check(pith_scope *s, const pith_array *x) {
    pith_scope *child = pith_scope_open_in(s);
    set(how == IN_A_CHILD ? child : s, false);
    if (how == FOR_A_WHILE)
        set(s, true);
    pith_scope_close(child);
    const pith_array *positive = pith_greater(s, x, pith_f64(s, 0));
    pith_check(s, positive, "x is positive", .level = PITH_CHECK_ALWAYS);
    return pith_neg(s, x);
}
PITH_FUNCTION1(set_and_check_function, set_and_check, pith_array, pith_array)

static const pith_array *set_in_branch(pith_scope *s, const pith_array *x) {
    const pith_array *positive = pith_greater(s, x, pith_f64(s, 0));
    return pith_cond(s, positive, &set_and_check_function, &halve_step, x);
}
PITH_FUNCTION1(set_in_branch_function, set_in_branch, pith_array, pith_array)

static const pith_function *const setters[] = {&set_and_check_function,
                                               &set_in_branch_function};

/* The caller's scope is as it was, which call by call it would not be. */
Test(refused, settings_that_functions_leave_on_the_scope_they_are_given) {
    rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const void *given[] = {pith_f64(s, 5)};
    how = FOR_GOOD;
    for (sets = LEVEL; sets <= BOTH; sets++)
        for (int k = 0; k < 2; k++) {
            const pith_function *f = pith_jit(s, setters[k], NULL);
            pt_fails(PITH_E_TRACED, s, pith_call(s, f, 1, given));
            pt_says(sets == HOOKS ? "pith_scope_set_validation: "
                                  : "pith_check_set_level: ");
            pt_says("test_refused.c:");
            pt_fails(PITH_E_TRACED, s, pith_eval_shape(s, setters[k], 1, given));
        }
    cr_assert(pith_check_enabled(s, PITH_CHECK_ALWAYS));
    pith_scope_close(s);
    pt_close(rt);
}

Test(refused, settings_that_are_undone_or_of_scopes_of_their_own) {
    rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    for (how = FOR_A_WHILE; how <= IN_A_CHILD; how++)
        for (sets = LEVEL; sets <= BOTH; sets++) {
            const pith_function *f = pith_jit(s, &set_and_check_function, NULL);
            const pith_array *y = pith_apply(s, f, pith_f64(s, 5));
            cr_assert(pith_read_f64(s, y) == -5);
            pt_ok(s);
            pith_apply(s, f, pith_f64(s, -5));
            pt_fails(PITH_E_CHECK, s, pith_wait(s));
            pt_says("x is positive");
        }
    pith_scope_close(s);
    pt_close(rt);
}
