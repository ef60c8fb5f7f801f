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
        printf("%s%10s %18s %18s %18s %18s %18s\n", output->batch ? "     Entry " : "",
               "Step", "Temp", "PotEng", "KinEng", "TotEng", "Press");
    output->headed = true;
    if (output->batch)
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
    if (output->batch && output->options->save)
        pith_run_log_sync(s, log); /* before the next checkpoint, as pith_run does */
}

static void
show_thermo(pith_scope *s, const Sim *sim, int64_t step, int64_t entry, Output *output) {
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
    Row row;
    if (melt_observed(s, &o, &row))
        melt_print_row(s, output, step, entry, &row);
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
    char *name = output->batch ? name_of_entry(file, entry) : strdup(file);
    if (!name)
        pith_fail(s, PITH_E_MEMORY, NULL, "no memory for the name of a file");
    return name;
}

void melt_save_entries(pith_scope *s, const Sim *sim, const Output *output) {
    const pith_save_options options = {.step = pith_run_outcome(s).step};
    for (int64_t k = 0; k < output->batch && !pith_failed(s); k++) {
        pith_scope *in = pith_scope_open_in(s);
        char *name = name_of(in, output, output->options->save, k);
        if (name)
            pith_save(in, melt_entry(in, sim, k), name, &options);
        free(name);
        pith_scope_close(in);
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

static void open_files(pith_scope *s, Output *output, int64_t entry) {
    const Options *o = output->options;
    Files *files = &output->files[entry];
    const pith_run_log_options from = {.resume = o->resume, .resume_step = output->first};
    char *log = o->log ? name_of(s, output, o->log, entry) : NULL;
    if (log)
        files->log = pith_run_log_open(s, log, &from);
    free(log);
    files->dump_name = o->dump && !o->quiet ? name_of(s, output, o->dump, entry) : NULL;
    if (files->dump_name && !pith_failed(s))
        melt_dump_open(s, files, o->resume, output->first);
}

void melt_open(pith_scope *s, Output *output) {
    const int64_t count = output->batch ? output->batch : 1;
    output->files = calloc((size_t)count, sizeof *output->files);
    if (!output->files)
        pith_fail(s, PITH_E_MEMORY, NULL, "no memory for the files of %" PRId64 " melts",
                  count);
    for (int64_t k = 0; k < count && !pith_failed(s); k++)
        open_files(s, output, k);
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

static void
show(pith_scope *s, const Sim *sim, int64_t step, int64_t entry, Output *output) {
    Files *files = &output->files[entry];
    if (melt_due(output, step))
        show_thermo(s, sim, step, entry, output);
    if (melt_frame_due(output, step, files))
        melt_dump_frame(s, sim->atoms, sim->box, sim->dt, step, files);
}

void melt_show(pith_scope *s, const void *state, int64_t step, void *closure) {
    Output *output = closure;
    if (!output->batch)
        show(s, state, step, 0, output);
    for (int64_t k = 0; k < output->batch && !pith_failed(s); k++) {
        pith_scope *in = pith_scope_open_in(s);
        show(in, melt_entry(in, state, k), step, k, output);
        pith_scope_close(in);
    }
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
    const int64_t count = output->batch ? output->batch : 1;
    for (int64_t k = 0; output->files && k < count; k++) {
        Files *files = &output->files[k];
        if (files->dump && fclose(files->dump) != 0)
            fprintf(stderr, "melt: %s: the dump cannot be written: %s\n",
                    files->dump_name, strerror(errno));
        free(files->dump_name);
    }
    free(output->files);
}
