/* Cases of runs: logs, saves, requests and signals of several ranks. */
#include "mesh/cases.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    const pith_array *x, *own;
} Walk;
PITH_NODE(Walk, PITH_LEAF(x, "f64"), PITH_LEAF(own, "i64"))

typedef struct {
    const pith_array *x;
} Row;
PITH_NODE(Row, PITH_LEAF(x, "f64"))

static const Walk *walk(pith_scope *s, const Walk *in) {
    Walk next = *in;
    next.x = pith_add(s, in->x, pith_psum(s, pith_f64(s, 0.5), NULL, NULL));
    return pith_freeze(s, Walk, &next);
}
PITH_FUNCTION1(walk_step, walk, Walk, Walk)

static const Row *row(pith_scope *s, const Walk *in) {
    return pith_make(s, Row, &(Row){.x = in->x}, NULL);
}
PITH_FUNCTION1(row_of, row, Row, Walk)

static const Walk *start(mesh_test *t, int64_t own) {
    return pith_make(t->s, Walk,
                     &(Walk){.x = pith_f64(t->s, 0), .own = pith_i64(t->s, own)}, NULL);
}

/* A file of the job in the folder that all ranks see. */
static const char *name_of(mesh_test *t, const char *name, char path[200]) {
    const char *folder = getenv("MESH_FOLDER");
    MESH_CHECK(t, folder != NULL);
    snprintf(path, 200, "%s/%s", folder ? folder : ".", name);
    return path;
}

/* What one rank does in a callback at a step. */
typedef struct {
    mesh_test *t;
    int64_t at, rank, calls;
    enum { NOTHING, STOP, SAVE, SIGNAL, FAIL } what;
} event;

static void each(pith_scope *s, const void *state, int64_t step, void *closure) {
    event *e = closure;
    e->calls += state != NULL;
    if (step != e->at || e->t->rank != e->rank)
        return;
    if (e->what == STOP || e->what == SAVE)
        pith_run_request(pith_scope_runtime(s),
                         e->what == STOP ? PITH_RUN_STOP : PITH_RUN_SAVE);
    else if (e->what == SIGNAL)
        raise(SIGTERM);
    else if (e->what == FAIL)
        pith_fail(s, PITH_E_CALLBACK, NULL, "seen enough");
}

static int64_t rows_in(mesh_test *t, const char *path, int64_t *last) {
    int64_t rows = 0;
    *last = -1;
    FILE *f = fopen(path, "r");
    char line[200];
    while (f && fgets(line, sizeof line, f)) {
        *last = atoll(line + strlen("{\"step\":"));
        rows++;
    }
    if (f)
        fclose(f);
    MESH_CHECK(t, f != NULL);
    return rows;
}

/* A run of 20 steps with saves each 4 and rows each 2, in which an event occurs. */
static const Walk *
run_with(mesh_test *t, event *e, const char *save, const char *log, bool resume) {
    pith_scope *s = pith_scope_open_in(t->s);
    pith_run_log *rows =
        pith_run_log_open(s, log, &(pith_run_log_options){.resume = resume});
    const Walk *out = pith_run(t->s, Walk, &walk_step, start(t, 5),
                               &(pith_run_options){.steps = 20,
                                                   .save = save,
                                                   .save_every = 4,
                                                   .each = each,
                                                   .closure = e,
                                                   .log = rows,
                                                   .log_row = &row_of,
                                                   .log_every = 2,
                                                   .check_every = 3,
                                                   .resume = resume,
                                                   .signals = e->what == SIGNAL});
    pith_scope_close(s);
    return out;
}

static void stops(mesh_test *t, event e) {
    char save[200], log[200];
    int64_t last;
    name_of(t, "walk.json", save);
    name_of(t, "walk.jsonl", log);
    const Walk *out = run_with(t, &e, save, log, false);
    const pith_run_end end = pith_run_outcome(t->s);
    MESH_CHECK(t, !pith_failed(t->s) && e.calls == 8);
    MESH_CHECK(t, end.reason == (e.what == SIGNAL ? PITH_RUN_SIGNAL : PITH_RUN_REQUEST));
    MESH_CHECK(t, end.step == 7 && end.signal == (e.what == SIGNAL ? SIGTERM : 0));
    MESH_CHECK(t, out && pith_read_f64(t->s, out->x) == 3.5 * (double)t->size);
    const Walk *saved = pith_load(t->s, Walk, save);
    MESH_CHECK(t, saved && mesh_equal(t, saved->x, out->x));
    MESH_CHECK(t, pith_agree(t->s));
    MESH_CHECK(t, rows_in(t, log, &last) == 3 && last == 6);
    MESH_CHECK(t, pith_agree(t->s));

    event none = {.t = t};
    out = run_with(t, &none, save, log, true);
    MESH_CHECK(t, out && pith_read_f64(t->s, out->x) == 10.0 * (double)t->size);
    MESH_CHECK(t, pith_run_outcome(t->s).reason == PITH_RUN_FINISHED);
    MESH_CHECK(t, rows_in(t, log, &last) == 10 && last == 20);
    MESH_CHECK(t, pith_agree(t->s));
}

static void requests(mesh_test *t) {
    stops(t, (event){.t = t, .what = STOP, .at = 7, .rank = t->size - 1});
}

/* Ranks that are threads of one process have one signal. */
static void signals(mesh_test *t) {
    if (strcmp(pith_mesh_about(pith_mesh_of(t->s)).library, "threads") != 0)
        stops(t, (event){.t = t, .what = SIGNAL, .at = 7, .rank = t->size - 1});
}

static void callbacks_fail(mesh_test *t) {
    char save[200], log[200];
    event e = {.t = t, .what = FAIL, .at = 3, .rank = 1};
    run_with(t, &e, name_of(t, "fails.json", save), name_of(t, "fails.jsonl", log),
             false);
    MESH_CHECK(t, pith_run_outcome(t->s).reason == PITH_RUN_FAILED);
    MESH_CHECK(t, pith_run_outcome(t->s).step == 3 && e.calls == 4);
    MESH_CHECK(
        t, mesh_fails(t, t->rank == 1 ? PITH_E_CALLBACK : PITH_E_PEER, "seen enough"));
    MESH_CHECK(t, pith_agree(t->s));
}

/* Files that rank 0 cannot write. */
static void files_fail(mesh_test *t) {
    char path[200];
    name_of(t, "no/such/folder", path);
    MESH_CHECK(t, !pith_run_log_open(t->s, path, NULL));
    MESH_CHECK(t, mesh_fails(t, t->rank ? PITH_E_PEER : PITH_E_IO, "no/such/folder"));
    pith_run(t->s, Walk, &walk_step, start(t, 5),
             &(pith_run_options){.steps = 3, .save = path});
    MESH_CHECK(t, mesh_fails(t, t->rank ? PITH_E_PEER : PITH_E_IO, "no/such/folder"));
    MESH_CHECK(t, pith_agree(t->s));
}

/* A state that one rank has otherwise is not saved. */
static void states_differ(mesh_test *t) {
    char path[200], text[80];
    const int64_t last = t->size - 1;
    pith_run(t->s, Walk, &walk_step, start(t, t->rank == last ? 6 : 5),
             &(pith_run_options){.steps = 3, .save = name_of(t, "differ.json", path)});
    snprintf(text, sizeof text, ".own: pith_run: save: rank %d of %d (x=%d) has other",
             (int)last, (int)t->size, (int)last);
    MESH_CHECK(t, mesh_fails(t, PITH_E_DIVERGED, text));
    FILE *f = fopen(path, "r");
    MESH_CHECK(t, f == NULL);
    if (f)
        fclose(f);
    MESH_CHECK(t, pith_agree(t->s));
}

/* A checkpoint that one rank does not see: its folder is another one on its host. */
static void folders_differ(mesh_test *t) {
    char path[200], text[100];
    const Walk *in = start(t, 5);
    name_of(t, "seen.json", path);
    pith_run(t->s, Walk, &walk_step, in, &(pith_run_options){.steps = 3, .save = path});
    MESH_CHECK(t, pith_agree(t->s));
    if (t->rank == 1)
        name_of(t, "unseen.json", path);
    pith_run(t->s, Walk, &walk_step, in,
             &(pith_run_options){.steps = 5, .save = path, .resume = true});
    MESH_CHECK(t, strstr(pith_message(t->s), "resume: \"") != NULL);
    MESH_CHECK(t, strstr(pith_message(t->s), ", but rank 0 (") != NULL);
    snprintf(text, sizeof text, "\": rank 1 (%s) sees no checkpoint",
             pith_mesh_about(pith_mesh_of(t->s)).host);
    MESH_CHECK(t, mesh_fails(t, PITH_E_IO, text));
    MESH_CHECK(t, pith_agree(t->s));
}

/* ---- Shards ---- */

/* Rows of each rank, and something that can be made of them again. */
typedef struct {
    const pith_array *x, *count;
    int64_t max;
} Rows;
PITH_NODE(Rows,
          PITH_LEAF(x, "f64[max]", .shard = "x", .rows = "count"),
          PITH_LEAF(count, "i64", .shard = "x"),
          PITH_STATIC(max))

typedef struct {
    const Rows *rows;
    const pith_array *sum;
} Summed;
PITH_NODE(Summed, PITH_CHILD(rows, Rows), PITH_LEAF(sum, "f64"))

static const Rows *add_sum(pith_scope *s, const Rows *in) {
    Rows next = *in;
    next.x = pith_add(s, in->x, pith_psum_rows(s, in->x, NULL, NULL));
    return pith_freeze(s, Rows, &next);
}
PITH_FUNCTION1(add_sum_step, add_sum, Rows, Rows)

static const Summed *sum_rows(pith_scope *s, const Summed *in) {
    Summed next = *in;
    next.rows = add_sum(s, in->rows);
    next.sum = pith_psum_rows(s, in->rows->x, NULL, NULL);
    return pith_freeze(s, Summed, &next);
}
PITH_FUNCTION1(sum_rows_step, sum_rows, Summed, Summed)

/* What is saved: the rows as shards, what all ranks share, or nothing on one rank. */
static const Rows *rows_of(pith_scope *s, const Summed *in) {
    return pith_shard_local(s, in->rows, NULL);
}
PITH_FUNCTION1(rows_of_function, rows_of, Rows, Summed)
static const pith_array *sum_of(pith_scope *s, const Summed *in) {
    (void)s;
    return in->sum;
}
PITH_FUNCTION1(sum_of_function, sum_of, pith_array, Summed)
static const pith_array *no_sum(pith_scope *s, const Summed *in) {
    if (pith_axis_rank(s, "x") == 1)
        pith_fail(s, PITH_E_CALLBACK, NULL, "nothing to save");
    return in->sum;
}
PITH_FUNCTION1(no_sum_function, no_sum, pith_array, Summed)

/* A sharded state is saved by all ranks, and so is a sharded part of a plain one. */
static void saves_shards(mesh_test *t) {
    enum { ALL = 7 };
    char state[200], part[200], later[200], shared[200];
    pith_run_options o = {
        .steps = 3, .save_every = 2, .save = name_of(t, "rows.json", state)};
    const Rows all = {.x = pith_iota(t->s, PITH_F64, PITH_SHAPE(ALL), 0),
                      .count = pith_i64(t->s, ALL),
                      .max = ALL};
    const Rows *in = pith_shard(t->s, pith_freeze(t->s, Rows, &all), NULL);
    const Rows *out =
        pith_run(t->s, Rows, pith_shard_map(t->s, &add_sum_step, NULL), in, &o);
    MESH_CHECK(t, pith_agree(t->s));
    const Summed plain = {pith_unshard_local(t->s, in), pith_f64(t->s, 0)};
    const Summed *begin = pith_freeze(t->s, Summed, &plain);
    o.save = name_of(t, "part.json", part);
    o.save_part = &rows_of_function;
    const Summed *end = pith_run(t->s, Summed, &sum_rows_step, begin, &o);
    const pith_save_options background = {.background = true};
    o.save = name_of(t, "part_background.json", later);
    o.save_options = &background; /* every rank waits for the last save */
    pith_run(t->s, Summed, &sum_rows_step, begin, &o);
    MESH_CHECK(t, pith_agree(t->s) && access(later, F_OK) == 0);
    o.save_options = NULL;
    o.save = name_of(t, "shared.json", shared);
    o.save_part = &sum_of_function;
    pith_run(t->s, Summed, &sum_rows_step, begin, &o);
    MESH_CHECK(t, pith_agree(t->s));
    const Rows *loaded = pith_load(t->s, Rows, state),
               *again = pith_load(t->s, Rows, part), *last = pith_load(t->s, Rows, later);
    const pith_array *sum = pith_load(t->s, pith_array, shared);
    MESH_CHECK(t, pith_tree_equal(t->s, pith_unshard(t->s, loaded, -1),
                                  pith_unshard(t->s, out, -1)));
    MESH_CHECK(t, pith_tree_equal(t->s, pith_unshard(t->s, again, -1),
                                  pith_unshard(t->s, out, -1)));
    MESH_CHECK(t, pith_tree_equal(t->s, pith_unshard(t->s, last, -1),
                                  pith_unshard(t->s, out, -1)));
    MESH_CHECK(t, mesh_equal(t, sum, end->sum) && pith_agree(t->s));
    o.save_part = &no_sum_function;
    pith_run(t->s, Summed, &sum_rows_step, begin, &o);
    MESH_CHECK(t, mesh_fails(t, t->rank == 1 ? PITH_E_CALLBACK : PITH_E_PEER,
                             "nothing to save"));
    MESH_CHECK(t, pith_agree(t->s));
    sum = pith_load(t->s, pith_array, shared);
    MESH_CHECK(t, mesh_equal(t, sum, end->sum) && pith_agree(t->s));
}

/* Rank 0 writes the status file: other ranks may have the name, or not. */
static void status_files(mesh_test *t) {
    char path[200], text[1000] = "";
    name_of(t, "status.json", path);
    for (int way = 0; way < 2; way++) {
        const Walk *out = pith_run(
            t->s, Walk, &walk_step, start(t, 5),
            &(pith_run_options){.steps = 6,
                                .steps_per_launch = way ? 4 : 0,
                                .status_file = way || t->rank == 0 ? path : NULL});
        MESH_CHECK(t, out && pith_read_f64(t->s, out->x) == 3.0 * (double)t->size);
        MESH_CHECK(t, pith_agree(t->s)); /* it is written */
        FILE *f = fopen(path, "r");
        MESH_CHECK(t, f && fgets(text, sizeof text, f));
        MESH_CHECK(t, strstr(text, "\"step\":6,") && strstr(text, "\"finished\""));
        if (f)
            fclose(f);
        MESH_CHECK(t, pith_agree(t->s)); /* all have read it */
    }
}

static void options_differ(mesh_test *t) {
    pith_run(t->s, Walk, &walk_step, start(t, 5),
             &(pith_run_options){.steps = t->rank == 1 ? 4 : 3});
    MESH_CHECK(t, strstr(pith_message(t->s), "of Walk (16 bytes), steps=4 at runs.c:"));
    MESH_CHECK(t, mesh_fails(t, PITH_E_DIVERGED, "of Walk (16 bytes), steps=3 at "));
    MESH_CHECK(t, pith_agree(t->s));
}

/* ---- What ranks would choose differently ---- */

static void fits(mesh_test *t) {
    const pith_memory_hint hint = {.per_sample = 10, .persistent = 5};
    const size_t budget = t->rank == 1 ? 47 : 105;
    const pith_batch_fit fit = pith_fit_batch(t->s, hint, budget, 100);
    MESH_CHECK(t, fit.batch == 4 && fit.chunks == 25 && fit.last == 4);
    const pith_memory_hint measured =
        pith_hint_measured(t->s, hint, 3, t->rank == 1 ? 41 : 35);
    MESH_CHECK(t, measured.per_sample == 12);
    pith_fit_batch(t->s, hint, t->rank == 1 ? 7 : 105, 100);
    MESH_CHECK(t, mesh_fails(t, t->rank == 1 ? PITH_E_MEMORY : PITH_E_PEER,
                             "which do not fit a budget of 7"));
    MESH_CHECK(t, pith_agree(t->s));
}

typedef struct {
    const pith_array *x;
} Runs;
PITH_NODE(Runs, PITH_LEAF(x, "f64[n]"))

/* One rank cannot hold more than two runs. */
static _Thread_local bool is_small;

static const Runs *run_some(pith_scope *s, const Runs *in) {
    const pith_array *sum = pith_psum(s, in->x, NULL, NULL);
    if (is_small && pith_array_spec(in->x)->count > 2)
        pith_fail(s, PITH_E_MEMORY, NULL, "more than two runs");
    return pith_make(s, Runs, &(Runs){.x = pith_psum(s, sum, NULL, NULL)}, NULL);
}
PITH_FUNCTION1(run_some_of, run_some, Runs, Runs)

static void chunks(mesh_test *t) {
    double values[9], sum[9];
    for (int i = 0; i < 9; i++)
        values[i] = i + 1;
    const Runs in = {.x = pith_array_copy(t->s, PITH_F64, PITH_SHAPE(9), values)};
    const Runs *state = pith_make(t->s, Runs, &in, NULL);
    pith_chunks made = {0};
    is_small = t->rank == 1;
    const Runs *out = pith_run_chunked(t->s, Runs, &run_some_of, state, 0,
                                       &(pith_chunked_options){.chunks = &made});
    is_small = false;
    MESH_CHECK(t, out && pith_read(t->s, out->x, sum, sizeof sum));
    for (int i = 0; i < 9; i++)
        MESH_CHECK(t, sum[i] == values[i] * (double)(t->size * t->size));
    MESH_CHECK(t, made.length == 2 && made.count == 5);
    is_small = t->rank == 1;
    pith_run_chunked(t->s, Runs, &run_some_of, state, 0,
                     &(pith_chunked_options){.length = 3, .steps = -1});
    is_small = false;
    MESH_CHECK(t, mesh_fails(t, PITH_E_ARG, "must not be negative"));
    MESH_CHECK(t, pith_agree(t->s));
}

/* The error of every rank names who asks for what, whatever differs. */
static void chunks_differ(mesh_test *t) {
    const bool odd = t->rank == t->size - 1;
    const pith_chunked_options usual = {.length = 2, .steps = 2},
                               others[] = {{.length = 2, .steps = 3},
                                           {.length = 3, .steps = 2},
                                           {.steps = 2},
                                           {.length = 2, .steps = 2}};
    static const char *const texts[] = {
        "3 steps of 6 runs along axis 0, chunks of 2 runs",
        "2 steps of 6 runs along axis 0, chunks of 3 runs",
        "2 steps of 6 runs along axis 0, chunks as memory",
        "2 steps of 4 runs along axis 0, chunks of 2 runs"};
    for (int k = 0; k < 4; k++) {
        const int64_t runs = odd && k == 3 ? 4 : 6;
        const Runs *state = pith_make(
            t->s, Runs, &(Runs){.x = pith_ones(t->s, PITH_F64, PITH_SHAPE(runs))}, NULL);
        pith_run_chunked(t->s, Runs, &run_some_of, state, 0, odd ? &others[k] : &usual);
        MESH_CHECK(t, strstr(pith_message(t->s), texts[k]));
        MESH_CHECK(t, mesh_fails(t, PITH_E_DIVERGED, "but rank 0 ("));
    }
    MESH_CHECK(t, pith_agree(t->s));
}

/* Numbers drawn by the ids of particles are theirs, whatever rank owns them. */
static void draws(mesh_test *t) {
    enum { ALL = 24 };
    const pith_array *key = pith_random_key(t->s, 7);
    const pith_array *ids = pith_iota(t->s, PITH_I32, PITH_SHAPE(ALL), 0);
    const pith_array *all = pith_random_uniform(t->s, pith_random_fold_in(t->s, key, ids),
                                                PITH_F64, PITH_SHAPE(3), 0, 1, NULL);
    const int64_t n = ALL / t->size; /* a rank owns every size-th particle */
    const pith_array *own = pith_add(
        t->s, pith_mul(t->s, pith_iota(t->s, PITH_I32, PITH_SHAPE(n), 0), (int)t->size),
        (int)t->rank);
    const pith_array *drawn = pith_random_uniform(
        t->s, pith_random_fold_in(t->s, key, own), PITH_F64, PITH_SHAPE(3), 0, 1, NULL);
    MESH_CHECK(t, mesh_equal(t, drawn, pith_take(t->s, all, own, NULL)));
}

const mesh_case mesh_cases_of_runs[] = {
    {"fits", fits},
    {"chunks", chunks},
    {"chunks_differ", chunks_differ},
    {"draws", draws},
    {"requests", requests},
    {"signals", signals},
    {"callbacks_fail", callbacks_fail},
    {"files_fail", files_fail},
    {"states_differ", states_differ},
    {"folders_differ", folders_differ},
    {"saves_shards", saves_shards},
    {"status_files", status_files},
    {"options_differ", options_differ},
    {NULL, NULL},
};
