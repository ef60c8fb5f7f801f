/* The physics of the melt: lists of neighbours, forces and one step, as functions over
 * the state. The work for one atom is in melt_kernels.h. */
#include "melt.h"

/* Require that the size in a static of the state is at least the need. Otherwise the size
 * grows and the step is repeated, or the run ends if capacities are fixed. */
static void require_room(pith_scope *s,
                         const Sim *sim,
                         const pith_lens *slot,
                         int64_t room,
                         const pith_array *need) {
    const pith_capacity *capacity =
        sim->fixed_capacity
            ? pith_capacity_make(s,
                                 &(pith_capacity_options){.size = room,
                                                          .lens = slot,
                                                          .fixed = true,
                                                          .message = "--fixed-capacity"})
            : pith_lens_capacity(s, slot, room, 2.0);
    pith_capacity_require(s, capacity, need);
}

/* Neighbour lists of atoms in a box. The atoms are folded into the box and sorted by
 * cells. */
static const Lists *
build_lists(pith_scope *s, const Sim *sim, const pith_array *box, Atoms *atoms) {
    const Lists *old = sim->lists;
    const int64_t n = pith_array_spec(atoms->id)->count;
    const pith_take_options promise = {.mode = PITH_INDEX_PROMISE};
    const Listed listed = {.box = box,
                           .own = n,
                           .max_neighbours = old->max_neighbours,
                           .reach = sim->cutoff + sim->skin};
    const Sorted by = melt_sort_by_cells(s, atoms, box, listed.reach, old->max_cells);
    Cells cells = by.cells;
    Lists next = *old;
    next.origin = atoms->position = pith_take(s, by.folded, by.order, &promise);
    next.box = box;
    atoms->velocity = pith_take(s, atoms->velocity, by.order, &promise);
    atoms->id = pith_take(s, atoms->id, by.order, &promise);
    cells.row = pith_arange(s, PITH_I32, n + PITH_LANES); /* rows are in this order now */
    const melt_neighbours_result near = melt_list(s, &listed, &cells);
    require_room(s, sim, PITH_LENS(Sim, lists->max_cells), old->max_cells, cells.need);
    require_room(s, sim, PITH_LENS(Sim, lists->max_neighbours), old->max_neighbours,
                 near.most);
    next.neighbour = near.neighbour;
    next.count = near.count;
    return pith_freeze(s, Lists, &next);
}

/* The state with new forces, and velocities after the second half of the kick. */
typedef const Sim *kick_function(pith_scope *s, const Sim *in, double dt);

static const Sim *with_atoms(pith_scope *s, const Sim *in, const Atoms *atoms) {
    Sim next = *in;
    next.atoms = pith_freeze(s, Atoms, atoms);
    return pith_freeze(s, Sim, &next);
}

static const Sim *kick_by_kernel(pith_scope *s, const Sim *in, double dt) {
    Atoms atoms = *in->atoms;
    const melt_force_result result =
        pith_launch(s, melt_force, atoms.position, atoms.velocity, in->lists->neighbour,
                    in->lists->count, in->box, in->cutoff, dt);
    atoms.velocity = result.kicked;
    atoms.force = result.force;
    return with_atoms(s, in, &atoms);
}

static const Sim *
kick_with(pith_scope *s, const Sim *in, double dt, const pith_array *force) {
    Atoms atoms = *in->atoms;
    atoms.force = force;
    atoms.velocity = pith_add(s, atoms.velocity, pith_mul(s, dt / 2, force));
    return with_atoms(s, in, &atoms);
}
static const Sim *kick_by_gradient(pith_scope *s, const Sim *in, double dt) {
    return kick_with(s, in, dt, melt_forces(s, in, false));
}
static const Sim *kick_recomputing(pith_scope *s, const Sim *in, double dt) {
    return kick_with(s, in, dt, melt_forces(s, in, true));
}

/* The state with new neighbour lists of its atoms. */
static const Sim *list_anew(pith_scope *s, const Sim *in) {
    Atoms atoms = *in->atoms;
    Sim next = *in;
    next.lists = build_lists(s, in, in->box, &atoms);
    next.atoms = pith_freeze(s, Atoms, &atoms);
    return pith_freeze(s, Sim, &next);
}
PITH_FUNCTION1(list_anew_step, list_anew, Sim, Sim)

static const Sim *leave(pith_scope *s, const Sim *in) {
    (void)s;
    return in;
}
PITH_FUNCTION1(leave_step, leave, Sim, Sim)

static const Sim *verlet(pith_scope *s, const Sim *in, kick_function *kick) {
    const Atoms *atoms = in->atoms;
    const double scale = 1 - in->compression * in->dt;
    Sim next = *in;
    if (scale != 1)
        next.box = pith_mul(s, in->box, scale);
    const melt_drift_result drift = pith_launch(
        s, melt_drift, atoms->position, atoms->velocity, atoms->force, in->lists->origin,
        next.box, in->lists->box, in->dt, scale, in->cutoff, in->skin);
    Atoms moved = *atoms;
    moved.position = drift.moved;
    moved.velocity = drift.kicked;
    next.atoms = pith_freeze(s, Atoms, &moved);
    next.step = pith_add(s, in->step, 1);
    const Sim *listed =
        pith_cond(s, pith_cast(s, drift.stale, PITH_BOOL), &list_anew_step, &leave_step,
                  pith_freeze(s, Sim, &next));
    return kick(s, listed, in->dt);
}

const Sim *melt_verlet(pith_scope *s, const Sim *in) {
    return verlet(s, in, kick_by_kernel);
}
PITH_FUNCTION1(verlet_step, melt_verlet, Sim, Sim)

static const Sim *verlet_by_gradient(pith_scope *s, const Sim *in) {
    return verlet(s, in, kick_by_gradient);
}
PITH_FUNCTION1(verlet_by_gradient_step, verlet_by_gradient, Sim, Sim)

static const Sim *verlet_recomputing(pith_scope *s, const Sim *in) {
    return verlet(s, in, kick_recomputing);
}
PITH_FUNCTION1(verlet_recomputing_step, verlet_recomputing, Sim, Sim)

const pith_function *melt_step(const Options *o) {
    return !o->gradient   ? &verlet_step
           : o->recompute ? &verlet_recomputing_step
                          : &verlet_by_gradient_step;
}

const Sim *melt_begin(pith_scope *s, const Sim *in) {
    return kick_by_kernel(s, list_anew(s, in), 0);
}
PITH_FUNCTION1(begin_step, melt_begin, Sim, Sim)

static const Sim *begin_by_gradient(pith_scope *s, const Sim *in) {
    return kick_by_gradient(s, list_anew(s, in), 0);
}
PITH_FUNCTION1(begin_by_gradient_step, begin_by_gradient, Sim, Sim)

bool melt_fits(pith_scope *s, const pith_array *box, const Options *o) {
    double lengths[3];
    if (!pith_read(s, box, lengths, sizeof lengths))
        return false;
    for (int d = 0; d < 3; d++)
        if (o->cutoff + o->skin >= lengths[d]) {
            pith_fail(s, PITH_E_ARG, NULL,
                      "cutoff + skin is %g, expected less than the box, %g wide",
                      o->cutoff + o->skin, lengths[d]);
            return false;
        }
    return true;
}

const Sim *
melt_start(pith_scope *s, const Atoms *atoms, const pith_array *box, const Options *o) {
    if (!melt_fits(s, box, o))
        return NULL;
    const int64_t n = pith_array_spec(atoms->position)->shape[0];
    Atoms start = *atoms;
    start.id = pith_arange(s, PITH_I32, n);
    Lists lists = pith_initial(Lists);
    lists.max_neighbours = (o->initial_capacity + 7) / 8 * 8; /* whole groups */
    lists.max_cells = o->initial_capacity;
    Sim sim = pith_initial(Sim);
    sim.atoms = pith_make(s, Atoms, &start, NULL);
    lists.origin = start.position;
    sim.lists = pith_make(s, Lists, &lists, NULL);
    sim.box = box;
    sim.step = pith_i64(s, 0);
    sim.cutoff = o->cutoff;
    sim.skin = o->skin;
    sim.dt = o->dt;
    sim.compression = o->compression;
    sim.fixed_capacity = o->fixed_capacity;
    const pith_function *begin = o->gradient ? &begin_by_gradient_step : &begin_step;
    const Sim *first = pith_freeze(s, Sim, &sim);
    if (o->batch)
        first = melt_batch(s, first, o);
    if (pith_failed(s)) /* on all ranks, as all have the same options */
        return NULL;
    const Batch batch = melt_batch_of(first);
    return pith_propagate(
        s, Sim, melt_of_batch(s, begin, &batch), first,
        &(pith_propagate_options){.first_step = -1, .repaired = melt_repaired});
}
