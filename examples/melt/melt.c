/* A Lennard-Jones melt: the state as a typed tree (melt.h), one step as a function over
 * it (step.c), and this run. Options, files and output are in the other sources here. */
#include "melt.h"

#include <stdlib.h>

PITH_FUNCTION1(verlet_step, melt_verlet, Sim, Sim)

/* Several steps as one. */
typedef struct {
    int64_t steps;
} Launch;
PITH_NODE(Launch, PITH_STATIC(steps))

static const Sim *one_of_them(pith_scope *s, const pith_array *i, const Sim *in) {
    (void)i;
    return melt_verlet(s, in);
}
PITH_FUNCTION2(one_of_them_step, one_of_them, Sim, pith_array, Sim)

static const Sim *several(pith_scope *s, const Sim *in, const Launch *launch) {
    return pith_fori(s, 0, launch->steps, &one_of_them_step, in);
}
PITH_FUNCTION2(several_steps, several, Sim, Sim, Launch)

/* What a run repeats. */
static const pith_function *step_of(pith_scope *s, const Options *o) {
    const Launch launch = {.steps = o->steps_per_launch};
    const pith_function *step = &verlet_step;
    if (launch.steps > 1)
        step = pith_partial(s, &several_steps, pith_freeze(s, Launch, &launch));
    return o->jit && !pith_failed(s) ? pith_jit(s, step, NULL) : step;
}

/* Steps done before. */
static int64_t first_step(pith_scope *s, const Sim *sim, const Options *o) {
    const int64_t step = melt_step(s, sim), n = o->steps_per_launch;
    if (step % n && !pith_failed(s))
        pith_fail(s, PITH_E_ARG, NULL,
                  "--steps-per-launch: step %lld is no multiple of %lld", (long long)step,
                  (long long)n);
    return step;
}

/* A checkpoint's state, with what the options change of it. */
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

int main(int argc, char **argv) {
    const Options options = melt_options(argc, argv);
    pith_runtime *rt = pith_open(
        &(pith_open_options){.device = options.device, .threads = options.threads});
    pith_scope *s = pith_scope_open(rt);

    const Sim *sim = options.resume ? resume(s, &options) : melt_read(s, &options);

    Output output = {.options = &options};
    melt_open(s, sim, &output);
    sim = pith_run(s, Sim, step_of(s, &options), sim,
                   &((pith_run_options){.steps = options.steps,
                                        .steps_per_call = options.steps_per_launch,
                                        .first_step = first_step(s, sim, &options),
                                        .save = options.save,
                                        .save_every = options.save_every,
                                        .log = output.log,
                                        .progress = stderr,
                                        .each = melt_show,
                                        .each_every = melt_show_every(&options),
                                        .repaired = melt_repaired,
                                        .closure = &output,
                                        .seconds = &output.seconds}));
    if (pith_failed(s))
        fprintf(stderr, "melt: %s\n", pith_message(s));
    else
        melt_performance(rt, sim, &output);

    const int status = pith_failed(s) ? EXIT_FAILURE : EXIT_SUCCESS;
    melt_close(&output);
    pith_scope_close(s);
    pith_close(rt);
    return status;
}
