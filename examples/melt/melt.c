/* A Lennard-Jones melt: the state as a typed tree (melt.h), one step as a function over
 * it (step.c), and this run, or that of bricks on several ranks (brick.c). The other
 * sources of this folder have options, files and output. */
#include "brick.h"

#include <stdlib.h>

/* The step of the run, compiled unless the options say otherwise. */
static const pith_function *step_of(pith_scope *s, const Options *o, int64_t batch) {
    if (pith_failed(s))
        return NULL;
    const pith_function *step = melt_of_batch(s, melt_step(o), batch);
    return o->jit ? pith_jit(s, step, NULL) : step;
}

/* The state of a checkpoint, with the changes that the options ask for. */
static const Sim *resume(pith_scope *s, const Options *o) {
    const Sim *saved = pith_load(s, Sim, o->resume);
    Sim next = *saved;
    if (pith_failed(s))
        return saved;
    next.dt = o->dt_given ? o->dt : next.dt;
    next.compression = o->compression_given ? o->compression : next.compression;
    next.fixed_capacity = o->fixed_capacity;
    return pith_freeze(s, Sim, &next);
}

/* The run on one rank. */
static void run(pith_scope *s, const Options *o) {
    const Sim *sim = o->resume ? resume(s, o) : melt_read(s, o);
    Output output = {.options = o, .batch = pith_failed(s) ? 0 : melt_batch_size(sim)};
    const Sim *one = output.batch ? melt_entry(s, sim, 0) : sim;
    output.first = pith_failed(s) ? 0 : pith_read_i64(s, one->step);
    melt_open(s, &output);
    sim = pith_run(s, Sim, step_of(s, o, output.batch), sim,
                   &(pith_run_options){
                       .steps = o->steps,
                       .steps_per_launch = o->steps_per_launch,
                       .first_step = output.first,
                       .save = o->save,
                       .save_every = o->save_every,
                       .log = output.batch || !output.files ? NULL : output.files->log,
                       .signals = true,
                       .progress = stderr,
                       .status_file = o->status,
                       .each = melt_show,
                       .each_every = melt_show_every(o),
                       .repaired = melt_repaired,
                       .closure = &output,
                       .seconds = &output.seconds});
    if (o->save && output.batch && !pith_failed(s))
        melt_save_entries(s, sim, &output);
    if (pith_failed(s))
        fprintf(stderr, "melt: %s\n", pith_message(s));
    else
        melt_end(s, pith_array_spec(sim->lists->count)->count, NULL, &output);
    melt_close(&output);
}

int main(int argc, char **argv) {
    Options options = melt_options(argc, argv);
    pith_runtime *rt = pith_open(
        &(pith_open_options){.device = options.device, .threads = options.threads});
    pith_scope *s = pith_scope_open(rt);

    options.ranks = brick_wanted(s, &options);
    if (options.balance && !options.ranks)
        pith_fail(s, PITH_E_ARG, NULL,
                  "--balance is for ranks: start the program by mpirun");
    if (options.ranks)
        brick_run(s, &options);
    else
        run(s, &options);

    const int status = pith_failed(s) ? EXIT_FAILURE : EXIT_SUCCESS;
    pith_clear(s);
    pith_scope_close(s);
    pith_close(rt);
    return status;
}
