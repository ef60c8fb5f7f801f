/* The melt on ranks: each rank has the atoms of one brick of the box. */
#include "brick.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- The step ---- */

/* The brick with new forces, and velocities after the second half of the kick. */
static const Brick *kick(pith_scope *s, const Brick *in, double dt) {
    const brick_force_result result =
        pith_launch(s, brick_force, brick_positions(s, in), in->velocity, in->neighbour,
                    in->listed, in->box, in->cutoff, dt);
    Brick next = *in;
    next.velocity = result.kicked;
    next.force = result.force;
    return pith_freeze(s, Brick, &next);
}
PITH_FUNCTION1(rebuild_step, brick_rebuild, Brick, Brick)

static const Brick *leave(pith_scope *s, const Brick *in) {
    (void)s;
    return in;
}
PITH_FUNCTION1(leave_step, leave, Brick, Brick)

const Brick *brick_verlet(pith_scope *s, const Brick *in) {
    const melt_drift_result drift =
        pith_launch(s, melt_drift, in->position, in->velocity, in->force, in->origin,
                    in->box, in->box, in->dt, 1.0, in->cutoff, in->skin);
    Brick next = *in;
    next.position = drift.moved;
    next.velocity = drift.kicked;
    next.step = pith_add(s, in->step, 1);
    /* all bricks make new lists if one has to */
    const pith_array *stale = pith_cast(s, pith_pmax(s, drift.stale, NULL), PITH_BOOL);
    const Brick *listed =
        pith_cond(s, stale, &rebuild_step, &leave_step, pith_freeze(s, Brick, &next));
    return kick(s, listed, in->dt);
}
PITH_FUNCTION1(verlet_step, brick_verlet, Brick, Brick)

static const Brick *begin(pith_scope *s, const Brick *in) {
    return kick(s, brick_rebuild(s, in), 0);
}
PITH_FUNCTION1(begin_step, begin, Brick, Brick)

/* ---- The start ---- */

/* A brick that is thinner than the reach would need atoms of bricks further away. */
static void check_width(pith_scope *s, const Sim *sim) {
    static const char *const names[] = {"x", "y", "z"};
    const double reach = sim->cutoff + sim->skin;
    double box[3];
    if (!pith_read(s, sim->box, box, sizeof box))
        return;
    for (int d = 0; d < 3; d++) {
        const int64_t parts = pith_axis_size(s, names[d]);
        if (box[d] / (double)parts < reach)
            pith_fail(s, PITH_E_ARG, NULL,
                      "a brick is %g wide along %s, with %" PRId64
                      " of them, expected at least cutoff + skin, %g",
                      box[d] / (double)parts, names[d], parts, reach);
    }
}

/* The atoms of this brick, of those that every rank has read. */
static void take_own(pith_scope *s, const Sim *sim, Brick *brick) {
    const int64_t n = pith_array_spec(sim->atoms->id)->count;
    const int64_t parts[] = {pith_axis_size(s, "x"), pith_axis_size(s, "y"),
                             pith_axis_size(s, "z")};
    const brick_owner_result owned =
        pith_launch(s, brick_owner, sim->atoms->position, pith_i64(s, n), sim->box,
                    pith_array_copy(s, PITH_I64, PITH_SHAPE(3), parts));
    const pith_array *rank = pith_axis_index(s, "x,y,z");
    const pith_array *to = pith_where(s, pith_equal(s, owned.owner, rank), rank, -1);
    const pith_array *rows = pith_arange(s, PITH_I32, n);
    const pith_route *tight = pith_route_make(s, rows, to, "x,y,z", NULL);
    if (pith_failed(s))
        return;
    const int64_t room = tight->max_receive + tight->max_receive / 10 + 8;
    pith_route spare = {.max_peers = 1, .max_send = room, .max_receive = room};
    const pith_route *route =
        pith_route_make(s, rows, to, "x,y,z", pith_make(s, pith_route, &spare, NULL));
    const Moved all = {owned.folded, sim->atoms->velocity, sim->atoms->id};
    const Moved *own = pith_route_send(s, route, pith_freeze(s, Moved, &all));
    brick->position = brick->origin = own->position;
    brick->velocity = own->velocity;
    brick->id = own->id;
    brick->count = pith_sum(s, route->received, PITH_ALL_AXES);
    brick->max_atoms = room;
}

static const Brick *start(pith_scope *s, const Options *o) {
    const Sim *sim = pith_agree(s) ? melt_read(s, o) : NULL;
    Brick brick = pith_initial(Brick);
    if (pith_agree(s))
        check_width(s, sim);
    if (!pith_agree(s))
        return pith_initial_any(Brick_pith_type());
    take_own(s, sim, &brick);
    const int64_t room = o->initial_capacity;
    brick.ghosts = pith_make(
        s, pith_route,
        &(pith_route){.max_peers = 8, .max_send = room, .max_receive = room}, NULL);
    brick.max_ghosts = room;
    brick.max_neighbours = (room + 7) / 8 * 8; /* whole groups */
    brick.max_cells = brick.max_moved = room;
    brick.box = sim->box;
    brick.step = sim->step;
    brick.cutoff = o->cutoff;
    brick.skin = o->skin;
    brick.dt = o->dt;
    brick.fixed_capacity = o->fixed_capacity;
    return pith_propagate(
        s, Brick, &begin_step, pith_make(s, Brick, &brick, NULL),
        &(pith_propagate_options){.first_step = -1,
                                  .repaired = o->quiet ? NULL : melt_repaired});
}

/* ---- The run ---- */

bool brick_wanted(pith_scope *s, const Options *o) {
    const pith_mesh *mesh =
        pith_mesh_open(s, PITH_MESH_AXES({"x", 0}, {"y", 0}, {"z", 0}), NULL);
    return o->ranks || pith_mesh_about(mesh).size > 1;
}

/* A row of the table, of the sums over all bricks. */
static void show(pith_scope *s, const void *state, int64_t step, void *closure) {
    const Brick *brick = state;
    Output *output = closure;
    if (!melt_due(output, step))
        return;
    const brick_observe_result of_atoms =
        pith_launch(s, brick_observe, brick_positions(s, brick), brick->velocity,
                    brick->neighbour, brick->listed, brick->box, brick->cutoff);
    const pith_array *own[] = {pith_sum(s, of_atoms.energy, PITH_ALL_AXES),
                               pith_sum(s, of_atoms.virial, PITH_ALL_AXES),
                               pith_sum(s, of_atoms.kinetic, PITH_ALL_AXES),
                               pith_cast(s, brick->count, PITH_F64)};
    const pith_array *all = pith_psum(s, pith_stack(s, 4, own, 0), NULL, NULL);
    const pith_array *longest =
        pith_pmax(s, pith_max(s, brick->listed, PITH_ALL_AXES), NULL);
    double sums[4], box[3];
    if (!pith_read(s, all, sums, sizeof sums) ||
        !pith_read(s, brick->box, box, sizeof box))
        return;
    const Row row = {.potential = sums[0],
                     .virial = sums[1],
                     .kinetic = sums[2],
                     .atoms = sums[3],
                     .volume = box[0] * box[1] * box[2],
                     .most = pith_read_i64(s, pith_cast(s, longest, PITH_I64)),
                     .max_neighbours = brick->max_neighbours,
                     .max_cells = brick->max_cells};
    melt_print_row(s, output, step, 0, &row);
}

/* What a run on ranks does not have yet. */
static const char *refused(const Options *o) {
    return o->resume             ? "--resume"
           : o->save             ? "--save"
           : o->dump             ? "--dump"
           : o->batch            ? "--batch"
           : o->compression != 0 ? "--compress"
           : o->gradient         ? "--forces grad"
                                 : NULL;
}

void brick_run(pith_scope *s, const Options *options) {
    const pith_mesh_info info = pith_mesh_about(pith_mesh_of(s));
    Options o = *options;
    o.quiet = info.rank > 0;
    Files files = {0};
    Output output = {.options = &o, .files = &files};
    if (refused(&o))
        pith_fail(s, PITH_E_ARG, NULL, "a run on ranks has no %s", refused(&o));
    const Brick *brick = start(s, &o);
    if (o.log && !pith_failed(s)) /* rank 0 writes */
        files.log = pith_run_log_open(s, o.log, NULL);
    const pith_function *step =
        o.jit && !pith_failed(s) ? pith_jit(s, &verlet_step, NULL) : &verlet_step;
    brick = pith_run(s, Brick, step, brick,
                     &(pith_run_options){.steps = o.steps,
                                         .log = files.log,
                                         .progress = o.quiet ? NULL : stderr,
                                         .status_file = o.quiet ? NULL : o.status,
                                         .each = show,
                                         .each_every = melt_show_every(&o),
                                         .repaired = o.quiet ? NULL : melt_repaired,
                                         .closure = &output,
                                         .seconds = &output.seconds});
    pith_agree(s);
    if (pith_failed(s)) {
        if (!o.quiet)
            fprintf(stderr, "melt: %s\n", pith_message(s));
        return;
    }
    const int64_t atoms = pith_read_i64(s, pith_psum(s, brick->count, NULL, NULL));
    if (!o.quiet)
        melt_performance(s, atoms, o.steps, info.size, &output);
}
