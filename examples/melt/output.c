/* Output of a run: the thermodynamic table, its log, the performance line, and the
 * checkpoints of the entries of a batch. */
#include "melt.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void print_row(Output *output,
                      int64_t step,
                      int64_t entry,
                      const Row *r,
                      double freedom,
                      double pressure) {
    const double n = r->atoms;
    if (!output->headed)
        printf("%s%10s %18s %18s %18s %18s %18s\n",
               output->batch.all ? "     Entry " : "", "Step", "Temp", "PotEng", "KinEng",
               "TotEng", "Press");
    output->headed = true;
    if (output->batch.all)
        printf("%10" PRId64 " ", entry);
    printf("%10" PRId64 " %18.10g %18.10g %18.10g %18.10g %18.10g\n", step,
           2 * r->kinetic / freedom, r->potential / n, r->kinetic / n,
           (r->potential + r->kinetic) / n, pressure);
    fflush(stdout);
}

void melt_print_row(pith_scope *s,
                    Output *output,
                    int64_t step,
                    int64_t entry,
                    const Row *r) {
    pith_run_log *log = output->files[entry].log;
    const double n = r->atoms, freedom = n > 1 ? 3 * n - 3 : 1;
    const double pressure = (2 * r->kinetic + r->virial) / (3 * r->volume);
    if (!output->options->quiet)
        print_row(output, step, entry, r, freedom, pressure);
    /* Log only multiples, and each once, as an uninterrupted run does. */
    if (!log || step % output->options->thermo != 0 ||
        step <= pith_run_log_last_step(log))
        return;
    pith_run_log_add(s, log, step,
                     PITH_LOG_ROW(PITH_LOG_F64("Temp", 2 * r->kinetic / freedom),
                                  PITH_LOG_F64("PotEng", r->potential / n),
                                  PITH_LOG_F64("KinEng", r->kinetic / n),
                                  PITH_LOG_F64("TotEng", (r->potential + r->kinetic) / n),
                                  PITH_LOG_F64("Press", pressure),
                                  PITH_LOG_I64("neighbours", r->most),
                                  PITH_LOG_I64("max_neighbours", r->max_neighbours),
                                  PITH_LOG_I64("max_cells", r->max_cells)));
    if (output->batch.all && output->options->save)
        pith_run_log_sync(s, log); /* before the next checkpoint, as pith_run does */
}

/* The row of a melt. Returns false after an error. */
static bool observed(pith_scope *s, const Sim *sim, Row *row) {
    const Lists *lists = sim->lists;
    const Observed o = {.position = sim->atoms->position,
                        .velocity = sim->atoms->velocity,
                        .neighbour = lists->neighbour,
                        .count = lists->count,
                        .box = sim->box,
                        .cutoff = sim->cutoff,
                        .atoms = pith_array_spec(lists->count)->count,
                        .max_neighbours = lists->max_neighbours,
                        .max_cells = lists->max_cells};
    return melt_observed(s, &o, row);
}

/* FILE.json of entry 3: FILE-3.json. */
static char *name_of_entry(const char *file, int64_t entry) {
    const char *base = strrchr(file, '/'), *end = strrchr(base ? base : file, '.');
    const size_t room = strlen(file) + 24;
    const int stem = (int)((end ? end : file + strlen(file)) - file);
    char *name = malloc(room);
    if (name)
        snprintf(name, room, "%.*s-%" PRId64 "%s", stem, file, entry, end ? end : "");
    return name;
}

/* The name of a file of the options for a melt. NULL: error set. */
static char *
name_of(pith_scope *s, const Output *output, const char *file, int64_t entry) {
    char *name = output->batch.all ? name_of_entry(file, entry) : strdup(file);
    if (!name)
        pith_fail(s, PITH_E_MEMORY, NULL, "no memory for the name of a file");
    return name;
}

/* In a scope without a mesh: a save of this rank alone. */
void melt_save_entries(pith_scope *s, const Sim *here, const Output *output) {
    const pith_save_options options = {.step = pith_run_outcome(s).step};
    const Batch *batch = &output->batch;
    for (int64_t k = 0; k < batch->count && !pith_failed(s); k++) {
        pith_scope *alone = pith_scope_open(pith_scope_runtime(s));
        char *name = name_of(alone, output, output->options->save, batch->first + k);
        if (name)
            pith_save(alone, melt_entry(alone, here, k), name, &options);
        free(name);
        if (pith_failed(alone))
            pith_fail(s, pith_code(alone), NULL, "%s", pith_message(alone));
        pith_clear(alone);
        pith_scope_close(alone);
    }
}

int64_t melt_show_every(const Options *o) {
    int64_t a = o->thermo, b = o->dump ? o->dump_every : o->thermo;
    while (b) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* A call of all ranks, of which rank 0 writes. */
static void open_log(pith_scope *s, Output *output, int64_t entry) {
    const Options *o = output->options;
    const pith_run_log_options from = {.resume = o->resume, .resume_step = output->first};
    char *log = name_of(s, output, o->log, entry);
    output->files[entry].log = pith_run_log_open(s, log, &from);
    free(log);
}

static void open_dump(pith_scope *s, Output *output, int64_t entry) {
    const Options *o = output->options;
    Files *files = &output->files[entry];
    files->dump_name = name_of(s, output, o->dump, entry);
    if (files->dump_name)
        melt_dump_open(s, files, o->resume, output->first);
}

/* Melts that have files: one, or those of a batch. */
static int64_t melts_of(const Output *output) {
    return output->batch.all ? output->batch.all : 1;
}

/* Logs first: then an error of this rank alone, as of a dump, finds none of the others
 * in a call of all. */
void melt_open(pith_scope *s, Output *output) {
    const Options *o = output->options;
    const Batch *batch = &output->batch;
    const int64_t count = melts_of(output);
    output->files = calloc((size_t)count, sizeof *output->files);
    if (!output->files)
        pith_fail(s, PITH_E_MEMORY, NULL, "no memory for the files of %" PRId64 " melts",
                  count);
    if (o->ranks && !pith_agree(s))
        return;
    for (int64_t k = 0; o->log && k < count && !pith_failed(s); k++)
        open_log(s, output, k);
    const int64_t own = batch->all ? batch->count : o->quiet ? 0 : 1;
    for (int64_t k = 0; o->dump && k < own && !pith_failed(s); k++)
        open_dump(s, output, batch->first + k);
}

static bool due(int64_t step, int64_t first, int64_t last, int64_t every) {
    return step == first || step == last || step % every == 0;
}

bool melt_due(const Output *output, int64_t step) {
    const Options *o = output->options;
    return due(step, output->first, output->first + o->steps, o->thermo);
}

bool melt_frame_due(const Output *output, int64_t step, const Files *files) {
    const Options *o = output->options;
    /* A resumed dump has no frame at its first step, unless one is due. */
    const int64_t first = files->dumped < 0 ? output->first : -1;
    return o->dump && due(step, first, output->first + o->steps, o->dump_every);
}

/* The row of a melt of this rank, and a frame. */
static void look_at(pith_scope *s,
                    const Sim *sim,
                    int64_t step,
                    int64_t entry,
                    Output *output,
                    Row *row) {
    Files *files = &output->files[entry];
    if (melt_due(output, step))
        observed(s, sim, row);
    if (melt_frame_due(output, step, files))
        melt_dump_frame(s, sim->atoms, sim->box, sim->dt, step, files);
}

/* Give all ranks the rows of each: a call of all of them. Rows are exact as f64. */
static void share_rows(pith_scope *s, const Batch *batch, Row *rows) {
    enum { NUMBERS = 8 };
    double *numbers = malloc((size_t)batch->all * NUMBERS * sizeof *numbers);
    if (!numbers)
        pith_fail(s, PITH_E_MEMORY, NULL, "no memory for %" PRId64 " rows", batch->all);
    for (int64_t k = 0; numbers && rows && k < batch->count; k++) {
        const Row *r = &rows[batch->first + k];
        const double own[NUMBERS] = {r->potential,
                                     r->kinetic,
                                     r->virial,
                                     r->atoms,
                                     r->volume,
                                     (double)r->most,
                                     (double)r->max_neighbours,
                                     (double)r->max_cells};
        memcpy(numbers + k * NUMBERS, own, sizeof own);
    }
    const pith_array *own =
        pith_array_copy(s, PITH_F64, PITH_SHAPE(batch->count, NUMBERS), numbers);
    const pith_array *all = pith_all_gather(s, own, NULL, 0);
    if (rows &&
        pith_read(s, all, numbers, (size_t)batch->all * NUMBERS * sizeof *numbers))
        for (int64_t k = 0; k < batch->all; k++) {
            const double *n = numbers + k * NUMBERS;
            rows[k] = (Row){n[0], n[1],          n[2],          n[3],
                            n[4], (int64_t)n[5], (int64_t)n[6], (int64_t)n[7]};
        }
    free(numbers);
}

static void show_batch(pith_scope *s, const Sim *state, int64_t step, Output *output) {
    const Batch *batch = &output->batch;
    const Sim *here = melt_here(s, state);
    Row *rows = calloc((size_t)batch->all, sizeof *rows);
    if (!rows)
        pith_fail(s, PITH_E_MEMORY, NULL, "no memory for %" PRId64 " rows", batch->all);
    for (int64_t k = 0; k < batch->count && !pith_failed(s); k++) {
        const int64_t entry = batch->first + k;
        pith_scope *in = pith_scope_open_in(s);
        look_at(in, melt_entry(in, here, k), step, entry, output, &rows[entry]);
        pith_scope_close(in);
    }
    const bool due = melt_due(output, step);
    if (due && batch->shared)
        share_rows(s, batch, rows);
    for (int64_t k = 0; due && k < batch->all && !pith_failed(s); k++)
        melt_print_row(s, output, step, k, &rows[k]);
    free(rows);
}

void melt_show(pith_scope *s, const void *state, int64_t step, void *closure) {
    Output *output = closure;
    Row row;
    if (output->batch.all) {
        show_batch(s, state, step, output);
        return;
    }
    look_at(s, state, step, 0, output, &row);
    if (melt_due(output, step) && !pith_failed(s))
        melt_print_row(s, output, step, 0, &row);
}

void melt_repaired(pith_scope *s, const pith_repair *repair, void *closure) {
    const char *message = pith_assertion_message(s, repair->assertion);
    (void)closure;
    if (message && repair->after != repair->before)
        fprintf(stderr, "melt: step %" PRId64 ": %s%s%s\n", repair->step,
                pith_assertion_path(repair->assertion),
                *pith_assertion_path(repair->assertion) ? ": " : "", message);
}

static void print_performance(pith_scope *s,
                              int64_t atoms,
                              int64_t steps,
                              const char *ranks,
                              double seconds) {
    pith_runtime *rt = pith_scope_runtime(s);
    const int threads = pith_device_threads(rt);
    printf("Performance: %.2f M atom-steps/s (%" PRId64 " atoms, %" PRId64
           " steps, %.3f s, %s",
           seconds > 0 ? (double)atoms * (double)steps / seconds / 1e6 : 0, atoms, steps,
           seconds, pith_device_kind(rt));
    if (ranks)
        printf(", %s", ranks);
    if (threads > 0)
        printf(", %d thread%s", threads, threads == 1 ? "" : "s");
    printf(")\n");
}

void melt_end(pith_scope *s, int64_t atoms, const char *ranks, const Output *output) {
    const pith_run_end end = pith_run_outcome(s);
    if (end.reason == PITH_RUN_SIGNAL)
        fprintf(stderr, "melt: signal %d (%s): stopped after step %" PRId64 "\n",
                end.signal, strsignal(end.signal), end.step);
    print_performance(s, atoms, end.step - output->first, ranks, output->seconds);
}

void melt_close(Output *output) {
    const int64_t count = melts_of(output);
    for (int64_t k = 0; output->files && k < count; k++) {
        Files *files = &output->files[k];
        if (files->dump && fclose(files->dump) != 0)
            fprintf(stderr, "melt: %s: the dump cannot be written: %s\n",
                    files->dump_name, strerror(errno));
        free(files->dump_name);
    }
    free(output->files);
}
