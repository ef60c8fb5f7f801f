/* A Lennard-Jones melt: the state as a typed tree (melt.h), one step as a function over
 * it (step.c), and this run, also of a batch on several ranks, or that of bricks
 * (brick.c). The other sources of this folder have options, files and output. */
#include "brick.h"

#include <inttypes.h>
#include <stdlib.h>

/* The step of the run, compiled unless the options say otherwise. */
static const pith_function *step_of(pith_scope *s, const Options *o, const Batch *batch) {
    if (pith_failed(s))
        return NULL;
    const pith_function *step = melt_of_batch(s, melt_step(o), batch);
    return o->jit ? pith_jit(s, step, NULL) : step;
}

/* The state of a checkpoint, with the changes that the options ask for. */
static const Sim *resume(pith_scope *s, const Options *o) {
    const Sim *saved = pith_load(s, Sim, o->resume);
    Sim next = *saved;
    if (o->ranks ? !pith_agree(s) : pith_failed(s))
        return saved;
    next.dt = o->dt_given ? o->dt : next.dt;
    next.compression = o->compression_given ? o->compression : next.compression;
    next.fixed_capacity = o->fixed_capacity;
    const Sim *sim = pith_freeze(s, Sim, &next);
    return o->ranks ? melt_share(s, sim) : sim;
}

/* The steps of the options, from a state at output->first. */
static const Sim *
steps_of(pith_scope *s, const Options *o, const Sim *first, Output *output) {
    pith_run_log *log = output->batch.all || !output->files ? NULL : output->files->log;
    return pith_run(s, Sim, step_of(s, o, &output->batch), first,
                    &(pith_run_options){.steps = o->steps,
                                        .steps_per_launch = o->steps_per_launch,
                                        .first_step = output->first,
                                        .save = o->save,
                                        .save_every = o->save_every,
                                        .log = log,
                                        .signals = true,
                                        .progress = stderr,
                                        .status_file = o->status,
                                        .each = melt_show,
                                        .each_every = melt_show_every(o),
                                        .repaired = melt_repaired,
                                        .closure = output,
                                        .seconds = &output->seconds});
}

/* Whether all is well, on all ranks. */
static bool agreed(pith_scope *s, const Options *o) {
    return o->ranks ? pith_agree(s) : !pith_failed(s);
}

static void end_run(pith_scope *s, const Sim *last, const Output *output) {
    const Batch *batch = &output->batch;
    const int64_t atoms = pith_array_spec(last->lists->count)->count;
    const int64_t ranks = batch->shared ? batch->all / batch->count : 1;
    char text[32];
    snprintf(text, sizeof text, "%" PRId64 " rank%s", ranks, ranks == 1 ? "" : "s");
    melt_end(s, atoms * ranks, batch->shared ? text : NULL, output);
}

/* The run of one melt, or of a batch. */
static void run(pith_scope *s, const Options *o) {
    const Sim *sim = o->resume ? resume(s, o) : melt_read(s, o);
    Output output = {.options = o};
    if (agreed(s, o)) {
        output.batch = melt_batch_of(sim);
        const Sim *here = melt_here(s, sim);
        const Sim *one = output.batch.all ? melt_entry(s, here, 0) : here;
        output.first = pith_read_i64(s, one->step);
        melt_open(s, &output);
        agreed(s, o);
    }
    sim = steps_of(s, o, sim, &output);
    if (o->save && output.batch.all && agreed(s, o))
        melt_save_entries(s, melt_here(s, sim), &output);
    const bool fine = agreed(s, o);
    if (fine && !o->quiet)
        end_run(s, sim, &output);
    if (!fine && !o->quiet)
        fprintf(stderr, "melt: %s\n", pith_message(s));
    melt_close(&output);
}

/* Whether the melts of the options are a batch. */
static bool is_batch(pith_scope *s, const Options *o) {
    return o->batch || (o->resume && melt_saved_batch(s, o->resume));
}

int main(int argc, char **argv) {
    Options options = melt_options(argc, argv);
    pith_runtime *rt = pith_open(
        &(pith_open_options){.device = options.device, .threads = options.threads});
    pith_scope *s = pith_scope_open(rt);

    options.ranks = brick_wanted(s, &options);
    options.quiet = options.ranks && pith_axis_rank(s, NULL) > 0;
    const bool bricks = options.ranks && !is_batch(s, &options);
    if (options.balance && !bricks)
        pith_fail(s, PITH_E_ARG, NULL, "%s",
                  options.ranks ? "--balance is for the bricks of one melt, not a batch"
                                : "--balance is for ranks: start the program by mpirun");
    if (bricks)
        brick_run(s, &options);
    else
        run(s, &options);

    const int status = pith_failed(s) ? EXIT_FAILURE : EXIT_SUCCESS;
    pith_clear(s);
    pith_scope_close(s);
    pith_close(rt);
    return status;
}
