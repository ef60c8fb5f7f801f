/* A Lennard-Jones melt: the state as a typed tree, one step as a function over it, and a
 * run. The physics is in melt_kernels.h; options, files and output are in the other
 * sources here. */
#include "melt.h"

#include <stdlib.h>

/* Lists of the neighbours of atoms, which are folded into the box and sorted by cells on
 * the way. */
static const Lists *build_lists(pith_scope *s, const Sim *sim, Atoms *atoms) {
    const Lists *old = sim->lists;
    const double reach = sim->cutoff + sim->skin;
    const int64_t nx = old->cells.nx, ny = old->cells.ny, nz = old->cells.nz;
    const melt_fold_result fold =
        pith_launch(s, melt_fold, atoms->position, sim->box, nx, ny, nz);
    const melt_sort_result sorted =
        pith_launch(s, melt_sort, fold.cell, pith_argsort(s, fold.cell, 0, NULL),
                    fold.folded, atoms->velocity, atoms->id, nx * ny * nz);
    const melt_neighbours_result near =
        pith_launch(s, melt_neighbours, sorted.start, sorted.axes, sim->box, reach, nx,
                    ny, nz, old->max_neighbours);
    Lists next = *old;
    next.neighbour = near.neighbour;
    next.count = near.count;
    next.origin = atoms->position = sorted.position;
    atoms->velocity = sorted.sorted_velocity;
    atoms->id = sorted.sorted_id;
    return pith_freeze(s, Lists, &next);
}

/* Atoms with the forces on them, and their velocities after the second half of the kick
 * of a step. */
static const Atoms *
kick(pith_scope *s, const Sim *sim, const Lists *lists, Atoms atoms, double dt) {
    const melt_force_result result =
        pith_launch(s, melt_force, atoms.position, atoms.velocity, lists->neighbour,
                    lists->count, sim->box, sim->cutoff, dt);
    atoms.velocity = result.kicked;
    atoms.force = result.force;
    return pith_freeze(s, Atoms, &atoms);
}

/* One step of velocity Verlet. */
static const Sim *verlet(pith_scope *s, const Sim *in) {
    const Atoms *atoms = in->atoms;
    const melt_drift_result drift =
        pith_launch(s, melt_drift, atoms->position, atoms->velocity, atoms->force,
                    in->lists->origin, in->dt, in->skin / 2);
    Sim next = *in;
    Atoms moved = {.position = drift.moved, .velocity = drift.kicked, .id = atoms->id};
    if (pith_read_bool(s, drift.stale)) /* an atom has moved half the skin */
        next.lists = build_lists(s, in, &moved);
    next.atoms = kick(s, in, next.lists, moved, in->dt);
    next.step = pith_add(s, in->step, pith_i64(s, 1));
    return pith_freeze(s, Sim, &next);
}
PITH_FUNCTION1(verlet_step, verlet, Sim, Sim)

const Sim *
melt_start(pith_scope *s, const Atoms *atoms, const pith_array *box, const Options *o) {
    double lengths[3];
    if (!pith_read(s, box, lengths, sizeof lengths))
        return NULL;
    const int64_t n = pith_array_spec(atoms->position)->shape[0];
    for (int d = 0; d < 3; d++)
        if (o->cutoff + o->skin >= lengths[d]) {
            pith_fail(s, PITH_E_ARG, NULL,
                      "cutoff + skin is %g, expected less than the box, %g wide",
                      o->cutoff + o->skin, lengths[d]);
            return NULL;
        }
    Sim sim = pith_initial(Sim);
    Lists lists = pith_initial(Lists);
    lists.max_neighbours = o->max_neighbours;
    lists.cells = melt_grid_for(lengths, o->cutoff + o->skin, n);
    sim.box = box;
    sim.step = pith_i64(s, 0);
    sim.cutoff = o->cutoff;
    sim.skin = o->skin;
    sim.dt = o->dt;
    sim.lists = &lists; /* its statics only: the arrays are built here */
    Atoms start = *atoms;
    start.id = pith_arange(s, PITH_I32, n);
    sim.lists = build_lists(s, &sim, &start);
    sim.atoms = kick(s, &sim, sim.lists, start, 0);
    return pith_freeze(s, Sim, &sim);
}

int main(int argc, char **argv) {
    const Options options = melt_options(argc, argv);
    pith_runtime *rt = pith_open(
        &(pith_open_options){.device = options.device, .threads = options.threads});
    pith_scope *s = pith_scope_open(rt);

    const Sim *sim =
        options.resume ? pith_load(s, Sim, options.resume) : melt_read(s, &options);
    if (options.resume && options.dt_given && !pith_failed(s)) {
        Sim next = *sim;
        next.dt = options.dt;
        sim = pith_freeze(s, Sim, &next);
    }

    Output output = {.options = &options};
    melt_open(s, sim, &output);
    sim = pith_run(s, Sim, &verlet_step, sim,
                   &((pith_run_options){.steps = options.steps,
                                        .first_step = melt_step(s, sim),
                                        .save = options.save,
                                        .save_every = options.save_every,
                                        .log = output.log,
                                        .progress = stderr,
                                        .each = melt_show,
                                        .each_every = melt_show_every(&options),
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
