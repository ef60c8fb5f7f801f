/* Steps as transactions: what is repaired and repeated, and what a failed try leaves. */
#include "../assert/assert_test.h"
#include "fail_allocator.h"

#include <unistd.h>

/* A buffer that must hold as many numbers as a step wants. */
typedef struct {
    const pith_array *wanted; /* by step */
    const pith_array *count;  /* of steps */
    const pith_array *key, *draw, *buffer;
    int64_t room, trouble;
} State;
PITH_NODE(State,
          PITH_LEAF(wanted, "i64[n]"),
          PITH_LEAF(count, "i64"),
          PITH_LEAF(key, "u32[2]"),
          PITH_LEAF(draw, "f64"),
          PITH_LEAF(buffer, "f64[room]", .fill = -1),
          PITH_STATIC(room),
          PITH_STATIC(trouble))

enum { NO_TROUBLE, UNFIXABLE, FIX_FAILS, FIX_DOES_NOT_HELP, STEP_FAILS_TOO, TWO_NEEDS };

static int calls, fixes;
static pith_run_log *step_log;

static const State *grow(pith_scope *s, const State *in, const pith_array *need) {
    State next = *in;
    const int64_t wanted = pith_read_i64(s, need);
    fixes++;
    if (in->trouble == FIX_FAILS)
        pith_fail(s, PITH_E_CALLBACK, ".room", "there is no more");
    if (in->trouble == FIX_DOES_NOT_HELP)
        return in;
    next.room = wanted > in->room ? wanted : in->room;
    return pith_tree_resize(s, State, &next, NULL);
}
PITH_FUNCTION2(grow_fix, grow, State, State, pith_array)

static void want(pith_scope *s, const State *in, const pith_array *need) {
    pith_check(s, pith_less_equal(s, need, pith_i64(s, in->room)), "need {need}",
               .args = {{"need", need}}, .fix = &grow_fix, .fix_args = need,
               .code = PITH_E_CAPACITY, .path = ".room");
}

static const State *advance(pith_scope *s, const State *in) {
    State next = *in;
    const pith_array *need = pith_take(s, in->wanted, in->count, NULL);
    calls++;
    if (in->trouble == TWO_NEEDS)
        want(s, in, pith_mul(s, need, pith_i64(s, 2)));
    want(s, in, need);
    if (in->trouble == UNFIXABLE)
        pith_check(s, pith_less_equal(s, need, pith_i64(s, in->room)), "lost");
    if (in->trouble == STEP_FAILS_TOO && pith_read_i64(s, need) > in->room)
        pith_fail(s, PITH_E_CALLBACK, NULL, "the step fails by itself");
    next.count = pith_add(s, in->count, pith_i64(s, 1));
    next.key = pith_random_fold_in(s, in->key, pith_i32(s, 7));
    next.draw = pith_random_uniform(s, next.key, PITH_F64, PITH_SCALAR, 0, 1, NULL);
    next.buffer = pith_add(s, in->buffer, next.draw);
    if (step_log)
        pith_run_log_add(s, step_log, pith_read_i64(s, next.count),
                         PITH_LOG_ROW(PITH_LOG_F64("draw", pith_read_f64(s, next.draw))));
    return pith_freeze(s, State, &next);
}
PITH_FUNCTION1(advance_step, advance, State, State)

enum { STEPS = 12 };
static const int64_t needs[STEPS] = {3, 3, 9, 2, 2, 30, 29, 31, 1, 1, 100, 1};

static const State *start(pith_scope *s, int64_t room, int64_t trouble) {
    State state = pith_initial(State);
    state.wanted = pith_array_copy(s, PITH_I64, PITH_SHAPE(STEPS), needs);
    state.count = pith_i64(s, 0);
    state.key = pith_random_key(s, 5);
    state.draw = pith_f64(s, 0);
    state.room = room;
    state.trouble = trouble;
    calls = fixes = 0;
    step_log = NULL;
    return pith_make(s, State, &state, NULL);
}

typedef struct {
    int64_t step[64], repeat[64], before[64], after[64];
    int count;
    int64_t fail_at;
} Seen;

static void see(pith_scope *s, const pith_repair *r, void *closure) {
    Seen *seen = closure;
    const State *before = r->before, *after = r->after;
    cr_assert(!pith_assertion_passed(r->assertion));
    cr_assert_str_eq(pith_assertion_path(r->assertion), ".room");
    seen->step[seen->count] = r->step;
    seen->repeat[seen->count] = r->repeat;
    seen->before[seen->count] = before->room;
    seen->after[seen->count++] = after->room;
    if (r->step == seen->fail_at)
        pith_fail(s, PITH_E_CALLBACK, NULL, "seen enough");
}

/* The numbers of two states are the same; one may have more room. */
static void same(pith_scope *s, const State *a, const State *b) {
    cr_assert(pith_tree_equal(s, a->count, b->count));
    cr_assert(pith_tree_equal(s, a->key, b->key));
    cr_assert(pith_tree_equal(s, a->draw, b->draw));
    cr_assert(pith_tree_equal(s, pith_slice_at(s, a->buffer, 0, 0),
                              pith_slice_at(s, b->buffer, 0, 0)));
}

BOTH(propagate, a_failed_step_is_repaired_and_repeated) {
    RUNTIME;
    Seen seen = {0};
    const State *in = start(s, 4, 0);
    const State *roomy = start(s, 1000, 0);
    const State *out = pith_propagate(
        s, State, &advance_step, in,
        &(pith_propagate_options){.steps = STEPS, .repaired = see, .closure = &seen});
    pt_ok(s, out);
    cr_assert(out->room == 100 && pith_read_i64(s, out->count) == STEPS);
    cr_assert(calls == STEPS + 4 && fixes == 4, "%d, %d", calls, fixes);
    const int64_t steps[] = {3, 6, 8, 11}, after[] = {9, 30, 31, 100};
    cr_assert(seen.count == 4 && memcmp(seen.step, steps, sizeof steps) == 0);
    cr_assert(memcmp(seen.after, after, sizeof after) == 0 && seen.before[0] == 4);
    const State *whole =
        pith_run(s, State, &advance_step, roomy, &(pith_run_options){.steps = STEPS});
    same(s, out, whole);
    cr_assert(in->room == 4 && pith_read_i64(s, in->count) == 0);
    out = pith_propagate(s, State, &advance_step, in, NULL);
    cr_assert(pith_read_i64(s, out->count) == 1, "one step is the default");
    CLOSE;
}

BOTH(propagate, checks_of_many_steps_are_looked_at_at_once) {
    RUNTIME;
    const State *in = start(s, 4, 0), *each = NULL;
    for (int64_t every = 1; every <= 16; every++) {
        Seen seen = {0};
        const State *out = pith_run(
            s, State, &advance_step, in,
            &(pith_run_options){
                .steps = STEPS, .check_every = every, .repaired = see, .closure = &seen});
        pt_ok(s, out);
        if (!each)
            each = out;
        cr_assert(pith_tree_equal(s, out, each), "%lld", (long long)every);
        const int64_t steps[] = {3, 6, 8, 11};
        cr_assert(seen.count == 4 && memcmp(seen.step, steps, sizeof steps) == 0);
    }
    CLOSE;
}

/* The bytes of a state's leaves, summed so that a change shows. */
static double digest(pith_scope *s, const State *in) {
    return pith_read_f64(s, pith_sum(s, in->buffer, PITH_ALL_AXES)) +
           (double)pith_read_i64(s, in->count);
}

static void
fails(int64_t trouble, pith_status code, const char *text, int expected_fixes) {
    RUNTIME;
    for (int64_t every = 1; every <= 8; every += 7) {
        const State *in = start(s, 4, trouble);
        const double before = digest(s, in);
        const void *last = NULL;
        const State *out = NULL;
        pt_fails(code, s,
                 out =
                     pith_run(s, State, &advance_step, in,
                              &(pith_run_options){
                                  .steps = STEPS, .check_every = every, .last = &last}));
        pt_says("step 3: ");
        pt_says(text);
        cr_assert(fixes == expected_fixes, "%d", fixes);
        cr_assert(pith_read_i64(s, ((const State *)last)->count) == 2);
        cr_assert(((const State *)last)->room == 4 && out && !out->count);
        pt_fails(code, s,
                 out = pith_propagate(s, State, &advance_step, last,
                                      &(pith_propagate_options){.first_step = 2}));
        pt_says("step 3: ");
        cr_assert(digest(s, in) <= before && digest(s, in) >= before && in->room == 4);
    }
    CLOSE;
}

BOTH(propagate, one_that_cannot_be_fixed_is_raised_and_no_fix_runs) {
    fails(UNFIXABLE, PITH_E_CHECK, "lost (test_propagate.c:", 0);
}
BOTH(propagate, a_fix_that_fails_leaves_the_state_and_its_error) {
    fails(FIX_FAILS, PITH_E_CALLBACK, "there is no more", 1);
}
BOTH(propagate, a_fix_that_does_not_help_reaches_the_limit) {
    fails(FIX_DOES_NOT_HELP, PITH_E_CAPACITY, "it still fails after 10 repeats: need 9",
          10);
}
BOTH(propagate, an_error_of_the_step_stays) {
    fails(STEP_FAILS_TOO, PITH_E_CALLBACK, "the step fails by itself", 0);
}

BOTH(propagate, max_tries_counts_repeats) {
    RUNTIME;
    const State *in = start(s, 1, 0), *out = in;
    pith_propagate_options o = {.max_tries = 1};
    pt_ok(s, out = pith_propagate(s, State, &advance_step, in, &o));
    cr_assert(out->room == 3 && calls == 2);
    o.max_tries = -1;
    pt_fails(PITH_E_CAPACITY, s, out = pith_propagate(s, State, &advance_step, in, &o));
    pt_says(".room: step 1: need 3 (test_propagate.c:");
    cr_assert(!out->count && calls == 3 && fixes == 1);
    in = start(s, 4, FIX_DOES_NOT_HELP);
    o = (pith_propagate_options){.first_step = -1, .max_tries = 2, .steps = 3};
    pt_fails(PITH_E_CAPACITY, s, pith_propagate(s, State, &advance_step, in, &o));
    pt_says("step 2: it still fails after 2 repeats: need 9");
    fixes = calls = 0;
    o = (pith_propagate_options){.max_tries = 2, .steps = 3};
    pt_fails(PITH_E_CAPACITY, s, pith_propagate(s, State, &advance_step, in, &o));
    pt_says("step 3: it still fails after 2 repeats: need 9");
    cr_assert(fixes == 2 && calls == 5);
    pt_fails(PITH_E_ARG, s,
             pith_propagate(s, State, &advance_step, in,
                            &(pith_propagate_options){.steps = -1}));
    pt_fails(PITH_E_OVERFLOW, s,
             pith_propagate(s, State, &advance_step, in,
                            &(pith_propagate_options){.first_step = INT64_MAX}));
    pt_says("first_step: 9223372036854775807 plus 1 steps overflows");
    CLOSE;
}

BOTH(propagate, two_fixes_of_one_field_combine_as_they_say) {
    RUNTIME;
    const State *in = start(s, 1, TWO_NEEDS);
    const State *out = pith_propagate(s, State, &advance_step, in, NULL);
    pt_ok(s, out);
    cr_assert(out->room == 6 && fixes == 2 && calls == 2);
    CLOSE;
}

BOTH(propagate, rows_of_a_log_are_written_once) {
    char folder[256], path[300], text[4096] = "";
    RUNTIME;
    pt_folder(folder);
    snprintf(path, sizeof path, "%s/log", folder);
    for (int64_t every = 1; every <= 5; every += 4) {
        const State *in = start(s, 4, 0);
        pith_scope *child = pith_scope_open_in(s);
        step_log = pith_run_log_open(child, path, NULL);
        pt_ok(s, pith_run(s, State, &advance_step, in,
                          &(pith_run_options){.steps = STEPS, .check_every = every}));
        pith_scope_close(child);
        step_log = NULL;
        const pith_dict *rows = pith_run_log_read(s, path);
        pt_ok(s, rows);
        const pith_array *step = pith_dict_get(rows, "step");
        cr_assert(pith_array_spec(step)->count == STEPS);
        for (int64_t i = 0; i < STEPS; i++)
            cr_assert(pith_read_i64(s, pith_slice_at(s, step, 0, i)) == i + 1);
    }
    const State *in = start(s, 4, UNFIXABLE);
    step_log = pith_run_log_open(s, path, NULL);
    pt_fails(PITH_E_CHECK, s,
             pith_propagate(s, State, &advance_step, in,
                            &(pith_propagate_options){.steps = 5, .check_every = 5}));
    cr_assert(pith_run_log_last_step(step_log) == 2, "rows of the failed step are not");
    pt_ok(s, pith_run_log_add(s, step_log, 3, PITH_LOG_ROW(PITH_LOG_F64("draw", 1))));
    (void)text;
    CLOSE;
    cr_assert(unlink(path) == 0 && rmdir(folder) == 0);
}

static void check_shown(pith_scope *s, const void *state, int64_t step, void *closure) {
    (void)closure;
    const State *now = state;
    cr_assert(pith_read_i64(s, now->count) == step);
    pith_check(s, pith_less(s, now->count, pith_i64(s, 6)), "shown too late",
               .level = PITH_CHECK_ALWAYS);
}

BOTH(propagate, what_fails_in_a_callback_ends_the_run) {
    RUNTIME;
    const State *in = start(s, 4, 0);
    const void *last = NULL;
    pith_run_options o = {.steps = STEPS,
                          .check_every = 5,
                          .each = check_shown,
                          .each_every = 3,
                          .last = &last};
    pith_run(s, State, &advance_step, in, &o);
    pith_wait(s);
    cr_assert(pith_code(s) == PITH_E_CHECK, "%s", pith_message(s));
    cr_assert(strstr(pith_message(s), "shown too late"), "%s", pith_message(s));
    pith_clear(s);
    Seen seen = {.fail_at = 6};
    in = start(s, 4, 0);
    o = (pith_run_options){
        .steps = STEPS, .repaired = see, .closure = &seen, .last = &last};
    pt_fails(PITH_E_CALLBACK, s, pith_run(s, State, &advance_step, in, &o));
    pt_says("step 6: seen enough");
    cr_assert(pith_read_i64(s, ((const State *)last)->count) == 5);
    cr_assert(((const State *)last)->room == 9);
    CLOSE;
}

static const State *propagates(pith_scope *s, const State *in) {
    return pith_propagate(s, State, &advance_step, in, NULL);
}
PITH_FUNCTION1(propagates_step, propagates, State, State)

BOTH(propagate, hides_repaired_failures_from_collectors_around_it) {
    RUNTIME;
    const State *in = start(s, 1, 0);
    const pith_result *r = pith_as_result(s, &propagates_step, PITH_ITEMS(in));
    pt_ok(s, r);
    cr_assert(pith_result_all_pass(s, r));
    cr_assert(((const State *)pith_result_value(r))->room == 3);
    CLOSE;
}

/* In an attempt of more than four calls the list of its calls grows. */
static pith_status scenario_of(const pith_open_options *options, int64_t every) {
    pith_runtime *rt = pith_open(options);
    pith_scope *s = pith_scope_open(rt);
    const State *in = NULL, *out = NULL;
    pt_again(s, (in = start(s, 4, 0))->count);
    if (in && in->count)
        pt_again(s, (out = pith_propagate(
                         s, State, &advance_step, in,
                         &(pith_propagate_options){.steps = 7, .check_every = every}))
                        ->count);
    if (out && out->count && !pith_failed(s)) {
        cr_assert(out->room == 30);
        cr_assert(in->room == 4);
    }
    const pith_status code = pith_code(s);
    pith_scope_close(s);
    pith_close(rt);
    return code;
}

static pith_status short_attempts(const pith_open_options *options) {
    return scenario_of(options, 4);
}
static pith_status long_attempts(const pith_open_options *options) {
    return scenario_of(options, 7);
}
BOTH(propagate, memory_may_be_short_anywhere) {
    const pt_failures f = pt_fail_each(short_attempts), g = pt_fail_each(long_attempts);
    cr_assert(f.allocations > 5 && f.errors > 0 && g.errors > 0);
}

/* ---- Parts of states ---- */

typedef struct {
    const State *part;
    const pith_array *energy;
} Whole;
PITH_NODE(Whole, PITH_CHILD(part, State), PITH_LEAF(energy, "f64"))
typedef struct {
    const Whole *whole;
} Outer;
PITH_NODE(Outer, PITH_CHILD(whole, Whole))

static const Whole *step_whole(pith_scope *s, const Whole *in) {
    return pith_at_lens(s, PITH_LENS(Whole, part), &advance_step, in);
}
PITH_FUNCTION1(whole_step, step_whole, Whole, Whole)

static const Outer *step_outer(pith_scope *s, const Outer *in) {
    return pith_at_lens(s, PITH_LENS(Outer, whole), &whole_step, in);
}
PITH_FUNCTION1(outer_step, step_outer, Outer, Outer)

BOTH(propagate, fixes_of_a_part_are_fixes_of_the_whole) {
    RUNTIME;
    const Whole whole = {start(s, 1, 0), pith_f64(s, 2)};
    const Outer outer = {pith_freeze(s, Whole, &whole)};
    const Outer *in = pith_freeze(s, Outer, &outer);
    const pith_result *r = pith_as_result(s, &outer_step, PITH_ITEMS(in));
    pt_ok(s, r);
    const pith_assertion *a = pith_result_get_failed(s, r, 0);
    cr_assert_str_eq(pith_assertion_path(a), ".whole.part.room");
    const Outer *out = pith_propagate(s, Outer, &outer_step, in,
                                      &(pith_propagate_options){.steps = STEPS});
    pt_ok(s, out);
    cr_assert(out->whole->part->room == 100);
    cr_assert(pith_read_i64(s, out->whole->part->count) == STEPS);
    cr_assert(in->whole->part->room == 1);
    pt_fails(PITH_E_ARG, s, pith_at_lens(s, PITH_LENS(Outer, whole), NULL, in));
    CLOSE;
}
