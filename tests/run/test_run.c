/* Running steps: what is committed, saved and shown, and what a failing step leaves
 * behind. */
#include "pith_test.h"

#include <pith/pith.h>
#include <unistd.h>

typedef struct {
    const pith_array *x, *count;
    int64_t fail_at; /* the step whose number this is fails */
} State;
PITH_NODE(State,
          PITH_LEAF(x, "f64[n]"),
          PITH_LEAF(count, "i64"),
          PITH_STATIC(fail_at, .initial = -1))

static const State *advance(pith_scope *s, const State *in) {
    State next = *in;
    next.x = pith_mul(s, in->x, pith_f64(s, 1.5));
    next.count = pith_add(s, in->count, pith_i64(s, 1));
    if (in->fail_at >= 0 && pith_read_i64(s, next.count) == in->fail_at)
        pith_fail(s, PITH_E_CALLBACK, ".x", "asked to fail");
    return pith_freeze(s, State, &next);
}
PITH_FUNCTION1(advance_step, advance, State, State)

static const State *start(pith_scope *s, int64_t fail_at) {
    State state = pith_initial(State);
    state.x = pith_ones(s, PITH_F64, PITH_SHAPE(1000));
    state.count = pith_i64(s, 0);
    state.fail_at = fail_at;
    return pith_freeze(s, State, &state);
}

static double first_of(pith_scope *s, const State *state) {
    return pith_read_f64(s, pith_slice_at(s, state->x, 0, 0));
}

Test(run, takes_as_many_steps_as_asked) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const State *in = start(s, -1);
    double seconds = -1;
    const State *out = pith_run(s, State, &advance_step, in,
                                &(pith_run_options){.steps = 20, .seconds = &seconds});
    pt_ok(s, out);
    cr_assert(pith_read_i64(s, out->count) == 20 && pith_read_i64(s, in->count) == 0);
    double expected = 1;
    for (int i = 0; i < 20; i++)
        expected *= 1.5;
    cr_assert(first_of(s, out) == expected && seconds > 0);
    const State *none = pith_run(s, State, &advance_step, in, NULL);
    cr_assert(pith_read_i64(s, none->count) == 0, "no steps leave the state");
    pith_scope_close(s);
    pt_close(rt);
}

Test(run, needs_no_more_memory_for_more_steps) {
    pith_runtime *rt = pt_open();
    size_t peaks[2];
    for (int i = 0; i < 2; i++) {
        pith_scope *s = pith_scope_open(rt);
        pt_ok(s, pith_run(s, State, &advance_step, start(s, -1),
                          &(pith_run_options){.steps = i ? 2000 : 50}));
        peaks[i] = pith_memory_about(rt).peak;
        pith_scope_close(s);
    }
    cr_assert(peaks[1] == peaks[0], "%zu, then %zu bytes", peaks[0], peaks[1]);
    cr_assert(pith_memory_about(rt).live == 0);
    pt_close(rt);
}

typedef struct {
    int64_t steps[64];
    int count;
    int64_t fail_at;
} Seen;

static void see(pith_scope *s, const void *state, int64_t step, void *closure) {
    Seen *seen = closure;
    const State *now = state;
    seen->steps[seen->count++] = step;
    cr_assert(pith_read_i64(s, now->count) == step - 100,
              "the state shown is the committed one");
    if (step == seen->fail_at)
        pith_fail(s, PITH_E_CALLBACK, NULL, "seen enough");
}

static void
note(PT_UNUSED pith_scope *s, PT_UNUSED const void *state, int64_t step, void *closure) {
    Seen *seen = closure;
    seen->steps[seen->count++] = step;
}

Test(run, shows_the_first_the_last_and_every_so_many_steps) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    Seen seen = {.fail_at = -1};
    pt_ok(s, pith_run(s, State, &advance_step, start(s, -1),
                      &(pith_run_options){.steps = 10,
                                          .first_step = 100,
                                          .each = see,
                                          .each_every = 4,
                                          .closure = &seen}));
    const int64_t expected[] = {100, 104, 108, 110};
    cr_assert(seen.count == 4 && memcmp(seen.steps, expected, sizeof expected) == 0);
    pith_scope_close(s);
    pt_close(rt);
}

Test(run, shows_the_same_steps_when_it_goes_on) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    Seen seen = {0};
    pt_ok(s, pith_run(s, State, &advance_step, start(s, -1),
                      &(pith_run_options){.steps = 10,
                                          .first_step = 3,
                                          .each = note,
                                          .each_every = 4,
                                          .closure = &seen}));
    const int64_t expected[] = {3, 4, 8, 12, 13};
    cr_assert(seen.count == 5 && memcmp(seen.steps, expected, sizeof expected) == 0);
    pith_scope_close(s);
    pt_close(rt);
}

/* Calls that do two steps each: what is counted are steps. */
Test(run, calls_of_several_steps_count_as_so_many) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    char path[300];
    pt_folder(path);
    strcat(path, "/state.json");
    for (int64_t every = 0; every < 3; every += 2) {
        Seen seen = {.fail_at = -1};
        const State *end = pith_run(s, State, &advance_step, start(s, -1),
                                    &(pith_run_options){.steps = 8,
                                                        .steps_per_call = 2,
                                                        .first_step = 100,
                                                        .each = note,
                                                        .each_every = 4,
                                                        .check_every = every,
                                                        .save = path,
                                                        .save_every = 6,
                                                        .closure = &seen});
        pt_ok(s, end);
        cr_assert(pith_read_i64(s, end->count) == 4, "calls");
        const int64_t expected[] = {100, 104, 108};
        cr_assert(seen.count == 3 && memcmp(seen.steps, expected, sizeof expected) == 0);
        const pith_checkpoint *saved = pith_checkpoint_open(s, path);
        pt_ok(s, saved);
        cr_assert(pith_checkpoint_about(saved)->step == 108);
    }
    pt_fails(PITH_E_CALLBACK, s,
             pith_run(s, State, &advance_step, start(s, 2),
                      &(pith_run_options){.steps = 8, .steps_per_call = 2}));
    pt_says("step 3: ");
    const pith_run_options wrong[] = {
        {.steps = 7, .steps_per_call = 2},
        {.steps = 8, .steps_per_call = 2, .save_every = 3},
        {.steps = 8, .steps_per_call = 2, .each_every = 1},
        {.steps = 8, .steps_per_call = -2},
    };
    for (int k = 0; k < 4; k++) {
        pt_fails(PITH_E_ARG, s,
                 pith_run(s, State, &advance_step, start(s, -1), &wrong[k]));
        pt_says("steps_per_call");
    }
    pith_run_options numbers = {.steps = 8, .first_step = INT64_MAX - 7};
    pt_fails(PITH_E_OVERFLOW, s,
             pith_run(s, State, &advance_step, start(s, -1), &numbers));
    pt_says("first_step: 9223372036854775800 plus 8 steps overflows");
    numbers.first_step = -1;
    pt_fails(PITH_E_ARG, s, pith_run(s, State, &advance_step, start(s, -1), &numbers));
    pt_says("first_step: expected 0 or more, got -1");
    pith_scope_close(s);
    pt_close(rt);
}

Test(run, a_failing_step_leaves_the_state_before_it) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const void *last = NULL;
    const State *none = NULL;
    pt_fails(PITH_E_CALLBACK, s,
             none = pith_run(
                 s, State, &advance_step, start(s, 6),
                 &(pith_run_options){.steps = 10, .first_step = 40, .last = &last}));
    cr_assert(!pith_is(State, none) && !none->x, "the nil record");
    pt_says(".x: step 46: asked to fail");
    const State *state = last;
    cr_assert(pith_read_i64(s, state->count) == 5);
    pt_ok(s);
    cr_assert(first_of(s, state) == 1.5 * 1.5 * 1.5 * 1.5 * 1.5);
    pith_scope_close(s);
    pt_close(rt);
}

Test(run, a_failing_callback_stops_the_run) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    Seen seen = {.fail_at = 103};
    pt_fails(
        PITH_E_CALLBACK, s,
        pith_run(s, State, &advance_step, start(s, -1),
                 &(pith_run_options){
                     .steps = 10, .first_step = 100, .each = see, .closure = &seen}));
    pt_says("seen enough");
    cr_assert(seen.count == 4);
    pith_scope_close(s);
    pt_close(rt);
}

Test(run, saves_committed_states_and_goes_on_from_them) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    char folder[256], path[300], command[300];
    pt_folder(folder);
    snprintf(path, sizeof path, "%s/state.json", folder);
    const State *straight =
        pith_run(s, State, &advance_step, start(s, -1), &(pith_run_options){.steps = 12});
    /* fails at step 11: the checkpoint is that of step 9 */
    pt_fails(PITH_E_CALLBACK, s,
             pith_run(s, State, &advance_step, start(s, 11),
                      &(pith_run_options){.steps = 12, .save = path, .save_every = 3}));
    const State *saved = pith_load(s, State, path);
    pt_ok(s, saved);
    cr_assert(pith_read_i64(s, saved->count) == 9);
    State next = *saved;
    next.fail_at = -1;
    const State *whole =
        pith_run(s, State, &advance_step, pith_freeze(s, State, &next),
                 &(pith_run_options){.steps = 3, .first_step = 9, .save = path});
    cr_assert(pith_tree_equal(s, straight, whole));
    cr_assert(pith_tree_equal(s, straight, pith_load(s, State, path)),
              "the last state is saved");
    pt_ok(s);
    pt_fails(PITH_E_IO, s,
             pith_run(s, State, &advance_step, start(s, -1),
                      &(pith_run_options){.steps = 2, .save = "/nowhere/at/all.json"}));
    Seen seen = {0};
    pt_fails(PITH_E_IO, s,
             pith_run(s, State, &advance_step, start(s, -1),
                      &(pith_run_options){.steps = 2,
                                          .save = "/nowhere/at/all.json",
                                          .each = note,
                                          .closure = &seen}));
    cr_assert(seen.count == 0, "the error comes before the first step");
    snprintf(command, sizeof command, "rm -rf %s", folder);
    cr_assert(system(command) == 0);
    pith_scope_close(s);
    pt_close(rt);
}

Test(run, saves_a_series_and_goes_on_from_its_newest_member) {
    static const pith_save_options keep_two = {.keep = 2};
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    char folder[256], path[300], command[300];
    pt_folder(folder);
    snprintf(path, sizeof path, "%s/state.json", folder);
    pt_ok(s, pith_run(s, State, &advance_step, start(s, -1),
                      &((pith_run_options){.steps = 9,
                                           .save = path,
                                           .save_every = 2,
                                           .save_options = &keep_two})));
    const State *saved =
        pith_load_any(s, State_pith_type(), path, &(pith_load_options){.newest = true});
    pt_ok(s, saved);
    cr_assert(pith_read_i64(s, saved->count) == 9);
    snprintf(path, sizeof path, "%s/state.000004.json", folder);
    saved = pith_load(s, State, path);
    pt_ok(s, saved);
    cr_assert(pith_read_i64(s, saved->count) == 8);
    snprintf(path, sizeof path, "%s/state.000003.json", folder);
    pt_fails(PITH_E_IO, s, pith_load(s, State, path));
    pt_fails(PITH_E_ARG, s,
             pith_run(s, State, &advance_step, start(s, -1),
                      &((pith_run_options){.steps = 2,
                                           .save = path,
                                           .save_options =
                                               &(pith_save_options){.keep = -1}})));
    pt_says("pith_run: save_options: keep must not be negative");
    pt_fails(
        PITH_E_ARG, s,
        pith_run(s, State, &advance_step, start(s, -1),
                 &((pith_run_options){.steps = 2,
                                      .save = path,
                                      .save_options = &(pith_save_options){.step = 3}})));
    pt_says("step is the number of the saved state");
    pt_fails(
        PITH_E_ARG, s,
        pith_run(s, State, &advance_step, start(s, -1),
                 &((pith_run_options){.steps = 2,
                                      .save = path,
                                      .save_options = &(pith_save_options){
                                          .metadata = PITH_METADATA({"a", "\xff"})}})));
    pt_says("pith_run: save_options: metadata are pairs of UTF-8 strings");
    pt_fails(PITH_E_ARG, s,
             pith_run(s, State, &advance_step, start(s, -1),
                      &((pith_run_options){
                          .steps = 2,
                          .save = path,
                          .save_options = &(pith_save_options){.incremental = true}})));
    pt_says("incremental is for a series");
    pt_fails(PITH_E_ARG, s,
             pith_run(s, State, &advance_step, start(s, -1),
                      &((pith_run_options){.steps = 2, .save_options = &keep_two})));
    pt_says("pith_run: save_options needs save");
    pt_ok(s,
          pith_run(s, State, &advance_step, start(s, -1),
                   &((pith_run_options){.steps = 4,
                                        .save = path,
                                        .save_every = 1,
                                        .save_options = &(pith_save_options){
                                            .keep = 2,
                                            .incremental = true,
                                            .compress = 1,
                                            .metadata = PITH_METADATA({"run", "4"})}})));
    saved =
        pith_load_any(s, State_pith_type(), path, &(pith_load_options){.newest = true});
    pt_ok(s, saved);
    cr_assert(pith_read_i64(s, saved->count) == 4);
    pt_ok(s, pith_run(s, State, &advance_step, start(s, -1),
                      &((pith_run_options){
                          .steps = 7,
                          .save = path,
                          .save_every = 1,
                          .save_options = &(pith_save_options){.background = true}})));
    saved = pith_load(s, State, path);
    pt_ok(s, saved);
    cr_assert(pith_read_i64(s, saved->count) == 7, "on the disk when the run is over");
    snprintf(command, sizeof command, "rm -rf %s", folder);
    cr_assert(system(command) == 0);
    pith_scope_close(s);
    pt_close(rt);
}

static void log_x(pith_scope *s, const void *state, int64_t step, void *closure) {
    const State *now = state;
    pith_run_log_add(s, closure, step,
                     PITH_LOG_ROW(PITH_LOG_F64("x", first_of(s, now)),
                                  PITH_LOG_I64("count", pith_read_i64(s, now->count))));
}

Test(run, saves_nothing_whose_log_is_not_on_the_disk) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    char folder[256], path[300], log_path[300], command[300];
    pt_folder(folder);
    snprintf(path, sizeof path, "%s/state.json", folder);
    snprintf(log_path, sizeof log_path, "%s/run.jsonl", folder);
    pith_run_log *log = pith_run_log_open(s, log_path, NULL);
    pith_run_options options = {.steps = 4,
                                .save = path,
                                .save_every = 2,
                                .log = log,
                                .each = log_x,
                                .closure = log};
    pt_ok(s, pith_run(s, State, &advance_step, start(s, -1), &options));
    const pith_dict *columns = pith_run_log_read(s, log_path);
    int64_t count[5];
    pt_ok(s, pith_read(s, pith_dict_get(columns, "count"), count, sizeof count));
    for (int i = 0; i < 5; i++)
        cr_assert(count[i] == i);
    cr_assert(unlink(path) == 0);
    pith_scope *inner = pith_scope_open_in(s); /* the log closes with its scope */
    snprintf(command, sizeof command, "%s/other.jsonl", folder);
    options.log = pith_run_log_open(inner, command, NULL);
    pt_ok(inner, options.log);
    pith_scope_close(inner);
    options.each = NULL;
    pt_fails(PITH_E_ARG, s, pith_run(s, State, &advance_step, start(s, -1), &options));
    pt_says("expected an open log");
    cr_assert(access(path, F_OK) != 0, "no checkpoint");
    snprintf(command, sizeof command, "rm -rf %s", folder);
    cr_assert(system(command) == 0);
    pith_scope_close(s);
    pt_close(rt);
}

static const pith_array *two(pith_scope *s, const State *a, const State *b) {
    (void)b;
    return pith_neg(s, a->x);
}
PITH_FUNCTION2(two_step, two, pith_array, State, State)

Test(run, refuses_what_is_no_step_or_state) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const State *in = start(s, -1);
    const State loose = *in;
    pt_fails(PITH_E_ARG, s, pith_run(s, State, NULL, in, NULL));
    pt_fails(PITH_E_ARG, s, pith_run(s, State, &two_step, in, NULL));
    pt_says("a function of one tree");
    pt_fails(PITH_E_ARG, s, pith_run(s, State, &advance_step, &loose, NULL));
    pt_fails(PITH_E_ARG, s, pith_run(s, State, &advance_step, NULL, NULL));
    pt_fails(PITH_E_ARG, s,
             pith_run(s, State, &advance_step, in, &(pith_run_options){.steps = -1}));
    pith_scope_close(s);
    pt_close(rt);
}

Test(run, refuses_options_of_saving_without_a_checkpoint) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const struct {
        const char *name;
        pith_run_options options;
    } all[] = {{"save_every", {.steps = 2, .save_every = 1}},
               {"save_every_seconds", {.steps = 2, .save_every_seconds = 1}},
               {"save_options", {.steps = 2, .save_options = &(pith_save_options){0}}},
               {"save_part", {.steps = 2, .save_part = &advance_step}},
               {"resume", {.steps = 2, .resume = true}}};
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        char expected[80];
        snprintf(expected, sizeof expected, "pith_run: %s needs save", all[k].name);
        pt_fails(PITH_E_ARG, s,
                 pith_run(s, State, &advance_step, start(s, -1), &all[k].options));
        pt_says(expected);
    }
    pith_scope_close(s);
    pt_close(rt);
}

static const pith_array *x_of(pith_scope *s, const State *in) {
    (void)s;
    return in->x;
}
PITH_FUNCTION1(x_function, x_of, pith_array, State)

Test(run, saves_a_part) {
    char path[300];
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    snprintf(path, sizeof path, "%s/part.json", pt_files());
    pith_run_options o = {.steps = 2, .save = path, .save_part = &x_function};
    const State *end = pith_run(s, State, &advance_step, start(s, -1), &o);
    const pith_array *x = pith_load(s, pith_array, path);
    pt_ok(s, x && pith_tree_equal(s, x, end->x));
    o.resume = true; /* a part is no state */
    pt_fails(PITH_E_ARG, s, pith_run(s, State, &advance_step, start(s, -1), &o));
    pt_says("save_part of a state");
    o = (pith_run_options){.steps = 2, .save = path, .save_part = &two_step};
    pt_fails(PITH_E_ARG, s, pith_run(s, State, &advance_step, start(s, -1), &o));
    pt_says("pith_run: save_part");
    pith_scope_close(s);
    pt_close(rt);
}

Test(bench, times_a_function) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const State *in = start(s, -1);
    const pith_bench_result r =
        pith_bench(s, &advance_step, 1, (const void *const[]){in},
                   &(pith_bench_options){.repeats = 5, .sample_seconds = 1e-4});
    pt_ok(s);
    cr_assert(r.repeats == 5 && r.calls >= 1 && r.median > 0 && r.least <= r.median &&
              r.median <= r.greatest && r.spread >= 0);
    const double bytes = (double)(2 * pith_tree_bytes(in));
    cr_assert(fabs(r.bytes_per_second * r.median - bytes) < 1);
    const void *both[] = {in, in};
    const pith_bench_result stated = pith_bench(
        s, &two_step, 2, both,
        &(pith_bench_options){.repeats = 3, .sample_seconds = 1e-4, .bytes = 77});
    cr_assert(fabs(stated.bytes_per_second * stated.median - 77) < 1e-6);
    pt_fails(PITH_E_CALLBACK, s,
             pith_bench(s, &advance_step, 1, (const void *const[]){start(s, 1)}, NULL));
    pt_fails(PITH_E_ARG, s, pith_bench(s, NULL, 1, (const void *const[]){in}, NULL));
    pt_fails(PITH_E_ARG, s,
             pith_bench(s, &advance_step, 1, (const void *const[]){in},
                        &(pith_bench_options){.repeats = -1}));
    const double wrong[] = {-1, NAN, INFINITY};
    for (int k = 0; k < 3; k++) {
        pt_fails(
            PITH_E_ARG, s,
            pith_bench(s, &advance_step, 1, (const void *const[]){in},
                       &(pith_bench_options){.repeats = 1, .sample_seconds = wrong[k]}));
        pt_says("sample_seconds");
    }
    pith_scope_close(s);
    pt_close(rt);
}
