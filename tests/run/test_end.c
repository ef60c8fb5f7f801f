/* How runs end: until, time, requests, non-finite values; rows, status and resuming. */
#include "pith_test.h"

#include <pith/pith.h>
#include <unistd.h>

typedef struct {
    const pith_array *x, *count;
} Walk;
PITH_NODE(Walk, PITH_LEAF(x, "f64[n]"), PITH_LEAF(count, "i64"))

static const Walk *advance(pith_scope *s, const Walk *in) {
    Walk next = *in;
    next.x = pith_add(s, pith_mul(s, in->x, pith_f64(s, 1.01)), pith_f64(s, 0.5));
    next.count = pith_add(s, in->count, pith_i64(s, 1));
    return pith_freeze(s, Walk, &next);
}
PITH_FUNCTION1(advance_step, advance, Walk, Walk)

/* Its second element is no number from step 13 on. */
static const Walk *spoil(pith_scope *s, const Walk *in) {
    Walk next = *advance(s, in);
    const pith_array *bad =
        pith_logical_and(s, pith_greater_equal(s, next.count, pith_i64(s, 13)),
                         pith_equal(s, pith_arange(s, PITH_I64, 3), pith_i64(s, 1)));
    next.x = pith_where(s, bad, pith_f64(s, -(double)INFINITY), next.x);
    return pith_freeze(s, Walk, &next);
}
PITH_FUNCTION1(spoil_step, spoil, Walk, Walk)

static const pith_array *at_37(pith_scope *s, const Walk *in) {
    return pith_equal(s, pith_remainder(s, in->count, pith_i64(s, 37)), pith_i64(s, 0));
}
PITH_FUNCTION1(at_37_function, at_37, pith_array, Walk)

/* The bound is a tree of its own. */
static const pith_array *beyond(pith_scope *s, const Walk *in, const pith_array *bound) {
    return pith_greater_equal(s, in->count, bound);
}
PITH_FUNCTION2(beyond_function, beyond, pith_array, Walk, pith_array)

static const pith_array *no_bool(pith_scope *s, const Walk *in) {
    (void)s;
    return in->x;
}
PITH_FUNCTION1(no_bool_function, no_bool, pith_array, Walk)

typedef struct {
    const pith_array *first, *count, *odd;
    int64_t atoms;
} Row;
PITH_NODE(Row,
          PITH_LEAF(first, "f64"),
          PITH_LEAF(count, "i64"),
          PITH_LEAF(odd, "f32"),
          PITH_STATIC(atoms))

static const Row *row(pith_scope *s, const Walk *in) {
    const pith_array *none =
        pith_equal(s, pith_remainder(s, in->count, pith_i64(s, 4)), pith_i64(s, 0));
    const Row r = {.first = pith_sum(s, in->x, PITH_ALL_AXES),
                   .count = in->count,
                   .odd = pith_where(s, none, pith_f32(s, NAN), pith_f32(s, 0.1f)),
                   .atoms = 3};
    return pith_freeze(s, Row, &r);
}
PITH_FUNCTION1(row_function, row, Row, Walk)
PITH_FUNCTION1(no_row_function, advance, Walk, Walk)

static const Walk *start(pith_scope *s) {
    const Walk walk = {.x = pith_arange(s, PITH_F64, 3), .count = pith_i64(s, 0)};
    return pith_freeze(s, Walk, &walk);
}

static const Walk *plain(pith_scope *s, int64_t steps) {
    return pith_run(s, Walk, &advance_step, start(s),
                    &(pith_run_options){.steps = steps});
}

static pith_runtime *rt;
static pith_scope *s;
static char folder[256], save[300], log_path[300], other[300];

static void begin(void) {
    pt_folder(folder);
    snprintf(save, sizeof save, "%s/state.json", folder);
    snprintf(log_path, sizeof log_path, "%s/run.jsonl", folder);
    snprintf(other, sizeof other, "%s/other.jsonl", folder);
    rt = pt_open();
    s = pith_scope_open(rt);
}
static void end(void) {
    char command[300];
    pith_scope_close(s);
    pt_close(rt);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    cr_assert(system(command) == 0);
}

static void ended(pith_run_reason reason, int64_t step) {
    const pith_run_end e = pith_run_outcome(s);
    cr_assert(e.reason == reason && e.step == step, "reason %d, step %lld", e.reason,
              (long long)e.step);
}

Test(end, until_is_the_first_step_whatever_the_window) {
    begin();
    ended(PITH_RUN_NONE, 0);
    const Walk *expected = plain(s, 37);
    ended(PITH_RUN_FINISHED, 37);
    const int64_t every[] = {0, 1, 7, 37, 64, 1000}, launch[] = {0, 1, 5, 37, 64};
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 5; k++) {
            const Walk *out = pith_run(s, Walk, &advance_step, start(s),
                                       &(pith_run_options){.steps = 200,
                                                           .check_every = every[i],
                                                           .steps_per_launch = launch[k],
                                                           .until = &at_37_function});
            pt_ok(s, out);
            cr_assert(pith_tree_equal(s, out, expected), "%d %d", i, k);
            ended(PITH_RUN_UNTIL, 37);
        }
    /* the state of step 37 counts where the run begins with it */
    pt_ok(s, pith_run(s, Walk, &advance_step, expected,
                      &(pith_run_options){
                          .steps = 9, .first_step = 37, .until = &at_37_function}));
    ended(PITH_RUN_UNTIL, 37);
    for (int64_t bound = 5; bound < 8; bound++) { /* bound trees are no constants */
        const pith_function *until =
            pith_partial(s, &beyond_function, pith_i64(s, bound));
        pt_ok(s, pith_run(s, Walk, &advance_step, start(s),
                          &(pith_run_options){
                              .steps = 50, .steps_per_launch = 16, .until = until}));
        ended(PITH_RUN_UNTIL, bound);
    }
    pt_fails(PITH_E_ARG, s,
             pith_run(s, Walk, &advance_step, start(s),
                      &(pith_run_options){.steps = 9, .until = &no_bool_function}));
    pt_says("until: expected a bool of rank 0, got f64[3]");
    end();
}

Test(end, loops_of_any_length_give_the_same_bits) {
    begin();
    const Walk *expected = plain(s, 103);
    for (int64_t n = 1; n < 140; n += 23) {
        const Walk *out =
            pith_run(s, Walk, &advance_step, start(s),
                     &(pith_run_options){.steps = 103, .steps_per_launch = n});
        pt_ok(s, out);
        cr_assert(pith_tree_equal(s, out, expected));
    }
    pt_fails(PITH_E_ARG, s,
             pith_run(s, Walk, &advance_step, start(s),
                      &(pith_run_options){
                          .steps = 8, .steps_per_launch = 2, .steps_per_call = 2}));
    end();
}

Test(end, a_value_that_is_not_finite_is_named) {
    begin();
    const Walk *expected = plain(s, 12);
    const int64_t every[] = {0, 5, 100}, launch[] = {0, 6, 32};
    for (int i = 0; i < 9; i++) {
        const void *last = NULL;
        pt_fails(PITH_E_CHECK, s,
                 pith_run(s, Walk, &spoil_step, start(s),
                          &(pith_run_options){.steps = 50,
                                              .finite = true,
                                              .check_every = every[i / 3],
                                              .steps_per_launch = launch[i % 3],
                                              .last = &last}));
        pt_says(".x: step 13: the element [1] is -Infinity, expected a finite number");
        cr_assert(pith_tree_equal(s, last, expected));
        ended(PITH_RUN_FAILED, 12);
    }
    Walk bad = *start(s);
    bad.x = pith_array_copy(s, PITH_F64, PITH_SHAPE(2), (double[]){1, (double)NAN});
    pt_fails(PITH_E_CHECK, s,
             pith_run(s, Walk, &advance_step, pith_freeze(s, Walk, &bad),
                      &(pith_run_options){.steps = 5, .finite = true}));
    pt_says(".x: the element [1] is NaN");
    end();
}

static void ask(pith_scope *in, const void *state, int64_t step, void *closure) {
    (void)state;
    (void)closure;
    if (step == 20)
        pith_run_request(pith_scope_runtime(in), PITH_RUN_SAVE | PITH_RUN_STOP);
}

Test(end, requests_and_time_stop_it_without_an_error) {
    begin();
    const Walk *expected = plain(s, 100);
    pt_ok(s, pith_run(s, Walk, &advance_step, start(s),
                      &(pith_run_options){
                          .steps = 100, .save = save, .each = ask, .each_every = 10}));
    ended(PITH_RUN_REQUEST, 20);
    const Walk *out =
        pith_run(s, Walk, &advance_step, start(s),
                 &(pith_run_options){.steps = 100, .save = save, .resume = true});
    pt_ok(s, out);
    ended(PITH_RUN_FINISHED, 100);
    cr_assert(pith_tree_equal(s, out, expected));
    pt_ok(s, pith_run(s, Walk, &advance_step, start(s),
                      &(pith_run_options){.steps = 100, .save = save, .resume = true}));
    ended(PITH_RUN_FINISHED, 100);
    pt_ok(s, pith_run(s, Walk, &advance_step, start(s),
                      &(pith_run_options){.steps = INT64_MAX - 1,
                                          .check_every = INT64_MAX - 1,
                                          .until_seconds = 0.01}));
    cr_assert(pith_run_outcome(s).reason == PITH_RUN_TIME);
    pt_ok(s, pith_run(s, Walk, &advance_step, start(s),
                      &(pith_run_options){.steps = 100, .until_seconds = 1e-9}));
    ended(PITH_RUN_TIME, 1);             /* a step is done in any case */
    pith_run_request(rt, PITH_RUN_STOP); /* no run is there: the next one obeys */
    pt_ok(s, plain(s, 5));
    ended(PITH_RUN_REQUEST, 0);
    pt_ok(s, plain(s, 5));
    ended(PITH_RUN_FINISHED, 5);
    pith_run_request(NULL, PITH_RUN_STOP);
    end();
}

/* The rows of a whole run; in parts, of any windows and loops, they are the same. */
static void run_logged(const char *path, pith_run_options o) {
    pith_scope *inner = pith_scope_open_in(s);
    o.log = pith_run_log_open(inner, path, &(pith_run_log_options){.resume = true});
    o.log_row = &row_function;
    pt_ok(inner, pith_run(inner, Walk, &advance_step, start(inner), &o));
    pith_scope_close(inner);
}

static void same_file(const char *a, const char *b) {
    char command[700];
    snprintf(command, sizeof command, "cmp %s %s", a, b);
    cr_assert(system(command) == 0);
}

/* A row of a step that no checkpoint has. */
static void add_lost_row(void) {
    pith_scope *inner = pith_scope_open_in(s);
    pith_run_log *log =
        pith_run_log_open(inner, other, &(pith_run_log_options){true, 20});
    pt_ok(inner, pith_run_log_add(inner, log, 21, PITH_LOG_ROW(PITH_LOG_I64("lost", 1))));
    pith_scope_close(inner);
}

Test(end, each_step_has_a_row) {
    begin();
    run_logged(log_path, (pith_run_options){.steps = 50});
    const pith_dict *columns = pith_run_log_read(s, log_path);
    pt_ok(s, columns);
    int64_t step[50], count[50], atoms[50];
    double odd[50], first[50];
    pt_ok(s, pith_read(s, pith_dict_get(columns, "step"), step, sizeof step));
    pt_ok(s, pith_read(s, pith_dict_get(columns, "count"), count, sizeof count));
    pt_ok(s, pith_read(s, pith_dict_get(columns, "atoms"), atoms, sizeof atoms));
    pt_ok(s, pith_read(s, pith_dict_get(columns, "odd"), odd, sizeof odd));
    pt_ok(s, pith_read(s, pith_dict_get(columns, "first"), first, sizeof first));
    double x[3] = {0, 1, 2};
    for (int i = 0; i < 50; i++) {
        for (int k = 0; k < 3; k++)
            x[k] = x[k] * 1.01 + 0.5;
        cr_assert(step[i] == i + 1 && count[i] == i + 1 && atoms[i] == 3);
        cr_assert((i + 1) % 4 ? odd[i] == (double)0.1f : isnan(odd[i]));
        cr_assert(fabs(first[i] - (x[0] + x[1] + x[2])) < 1e-12 * first[i]);
    }
    const int64_t launch[] = {1, 7, 16, 64}, every[] = {0, 9, 100};
    for (int i = 0; i < 12; i++) {
        unlink(save);
        unlink(other);
        pith_run_options o = {.steps = 20,
                              .steps_per_launch = launch[i % 4],
                              .check_every = every[i / 4],
                              .save = save,
                              .resume = true};
        run_logged(other, o);
        add_lost_row();
        o.steps = 50;
        run_logged(other, o);
        same_file(log_path, other);
        unlink(save);
        unlink(other);
        o.steps = 50;
        o.log_every = 3;
        run_logged(other, o);
        pt_ok(s, pith_read(s, pith_dict_get(pith_run_log_read(s, other), "count"), count,
                           16 * sizeof *count));
        for (int k = 0; k < 16; k++)
            cr_assert(count[k] == 3 * k + 3);
    }
    pith_run_log *log = pith_run_log_open(s, other, NULL);
    pt_fails(PITH_E_ARG, s,
             pith_run(s, Walk, &advance_step, start(s),
                      &(pith_run_options){
                          .steps = 3, .log = log, .log_row = &no_row_function}));
    pt_says(".x: step 1: log_row: expected a scalar, got f64[3]");
    pt_fails(PITH_E_ARG, s,
             pith_run(s, Walk, &advance_step, start(s),
                      &(pith_run_options){.steps = 3, .log_row = &row_function}));
    pt_says("log_row needs log");
    end();
}

Test(end, resumes_from_a_series_or_one_document) {
    begin();
    const Walk *expected = plain(s, 30);
    for (int64_t keep = 0; keep < 3; keep++) {
        const pith_save_options saving = {.keep = keep, .background = keep == 2};
        pith_run_options o = {.steps = 17,
                              .save = save,
                              .save_options = &saving,
                              .save_every = 5,
                              .resume = true};
        pt_ok(s, pith_run(s, Walk, &advance_step, start(s), &o));
        o.steps = 30;
        const Walk *out = pith_run(s, Walk, &advance_step, start(s), &o);
        pt_ok(s, out);
        cr_assert(pith_tree_equal(s, out, expected));
        char command[400];
        snprintf(command, sizeof command, "rm -f %s/*", folder);
        cr_assert(system(command) == 0);
    }
    FILE *f = fopen(save, "w");
    cr_assert(f && fputs("{\"not\": \"one\"}", f) >= 0 && fclose(f) == 0);
    pt_fails(PITH_E_FORMAT, s,
             pith_run(s, Walk, &advance_step, start(s),
                      &(pith_run_options){.steps = 3, .save = save, .resume = true}));
    pt_says("resume: ");
    pt_fails(PITH_E_ARG, s,
             pith_run(s, Walk, &advance_step, start(s),
                      &(pith_run_options){.steps = 3, .resume = true}));
    pt_says("resume needs save");
    unlink(save);
    pt_ok(s, pith_save(s, plain(s, 3), save, &(pith_save_options){.step = 3}));
    pt_fails(PITH_E_ARG, s,
             pith_run(s, Walk, &advance_step, start(s),
                      &(pith_run_options){
                          .steps = 3, .first_step = 4, .save = save, .resume = true}));
    pt_says("is of step 3, before first_step, 4");
    end();
}

Test(end, a_status_file_and_lines_tell_of_it) {
    begin();
    char text[4096];
    snprintf(other, sizeof other, "%s/lines.txt", folder);
    FILE *lines = fopen(other, "w+");
    pt_ok(s, pith_run(s, Walk, &advance_step, start(s),
                      &(pith_run_options){.steps = 2000,
                                          .status_file = log_path,
                                          .save = save,
                                          .progress = lines,
                                          .progress_seconds = 1e-4}));
    rewind(lines);
    cr_assert(fgets(text, sizeof text, lines) && strstr(text, "/2000  ") &&
              strstr(text, " steps/s  ") && !strchr(text, '\r'));
    fclose(lines);
    FILE *f = fopen(log_path, "r");
    cr_assert(f && fgets(text, sizeof text, f));
    fclose(f);
    cr_assert(strstr(text, "{\"step\":2000,\"first_step\":0,\"last_step\":2000,") &&
                  strstr(text, "\"last_save\":{\"step\":2000,") &&
                  strstr(text, "\"outcome\":\"finished\""),
              "%s", text);
    pt_fails(PITH_E_CHECK, s,
             pith_run(s, Walk, &spoil_step, start(s),
                      &(pith_run_options){
                          .steps = 50, .finite = true, .status_file = log_path}));
    f = fopen(log_path, "r");
    cr_assert(f && fgets(text, sizeof text, f));
    fclose(f);
    cr_assert(strstr(text, "\"outcome\":\"failed\"") && strstr(text, "step 13"), "%s",
              text);
    pt_fails(PITH_E_IO, s,
             pith_run(s, Walk, &advance_step, start(s),
                      &(pith_run_options){.steps = 5, .status_file = "/no/where.json"}));
    pt_fails(PITH_E_ARG, s,
             pith_run(s, Walk, &advance_step, start(s),
                      &(pith_run_options){.steps = 5, .until_seconds = -1}));
    pt_says("until_seconds must not be negative");
    end();
}

Test(end, a_run_that_is_refused_has_failed) {
    begin();
    const void *last = NULL;
    double seconds = 5;
    pt_ok(s, plain(s, 5));
    ended(PITH_RUN_FINISHED, 5);
    const Walk *walk = start(s);
    const pith_run_options o = {
        .steps = -1, .first_step = 3, .last = &last, .seconds = &seconds};
    pt_fails(PITH_E_ARG, s, pith_run(s, Walk, &advance_step, walk, &o));
    ended(PITH_RUN_FAILED, 3);
    cr_assert(last == walk && seconds == 0);
    pt_ok(s, plain(s, 5));
    ended(PITH_RUN_FINISHED, 5);
    pith_fail(s, PITH_E_ARG, NULL, "an error before it");
    plain(s, 5);
    cr_assert(pith_run_outcome(s).reason == PITH_RUN_FAILED);
    pith_clear(s);
    end();
}
