/* The melt on ranks: each rank has the atoms of one brick of the box. */
#include "brick.h"

const pith_array *
brick_joined(pith_scope *s, const pith_array *own, const pith_array *ghosts) {
    const pith_array *both[] = {own, ghosts};
    return pith_concatenate(s, 2, both, 0);
}

const pith_array *brick_positions(pith_scope *s, const Brick *in) {
    return brick_joined(s, in->own->position,
                        pith_route_send(s, in->ghosts, in->own->position));
}

/* ---- Forces ---- */

static const Brick *with_forces(pith_scope *s,
                                const Brick *in,
                                const pith_array *force,
                                const pith_array *kicked) {
    Owned own = *in->own;
    own.velocity = kicked;
    Brick next = *in;
    next.own = pith_freeze(s, Owned, &own);
    next.force = force;
    return pith_freeze(s, Brick, &next);
}

static const Brick *kick_by_kernel(pith_scope *s, const Brick *in, double dt) {
    const melt_force_result result =
        pith_launch(s, melt_force, brick_positions(s, in), in->own->velocity,
                    in->neighbour, in->entries, in->own->box, in->own->cutoff, dt);
    return with_forces(s, in, result.force, result.kicked);
}

/* The energy of all bricks. The gradient with respect to the ghosts of one returns to the
 * bricks of their atoms: the transpose of sending their positions. */
static const pith_array *energy(pith_scope *s, const Brick *in) {
    const Pairs pairs = {brick_positions(s, in), in->neighbour, in->own->box,
                         in->own->cutoff};
    return pith_psum(s, melt_energy_of(s, &pairs), NULL, NULL);
}
PITH_FUNCTION1(energy_of, energy, pith_array, Brick)

static const Brick *kick_by_gradient(pith_scope *s, const Brick *in, double dt) {
    const pith_derive_options positions = {.paths = PITH_PATHS("[0].own.position")};
    const pith_function *of =
        in->recompute ? pith_recompute(s, &energy_of, NULL) : &energy_of;
    const pith_array *force =
        pith_neg(s, pith_apply(s, pith_grad(s, of, &positions), in));
    return with_forces(s, in, force,
                       pith_add(s, in->own->velocity, pith_mul(s, dt / 2, force)));
}

/* The brick with new forces, and velocities after the second half of the kick. */
static const Brick *kick(pith_scope *s, const Brick *in, double dt) {
    return in->gradient ? kick_by_gradient(s, in, dt) : kick_by_kernel(s, in, dt);
}

/* ---- Steps ---- */

PITH_FUNCTION1(rebuild_step, brick_rebuild, Brick, Brick)

static const Brick *leave(pith_scope *s, const Brick *in) {
    (void)s;
    return in;
}
PITH_FUNCTION1(leave_step, leave, Brick, Brick)

static const Brick *verlet(pith_scope *s, const Brick *in) {
    const double scale = 1 - in->own->compression * in->own->dt;
    Owned own = *in->own;
    if (scale != 1)
        own.box = pith_mul(s, own.box, scale);
    const melt_drift_result drift =
        pith_launch(s, melt_drift, own.position, own.velocity, in->force, own.origin,
                    own.box, own.listed, own.dt, scale, own.cutoff, own.skin);
    own.position = drift.moved;
    own.velocity = drift.kicked;
    own.step = pith_add(s, own.step, 1);
    Brick next = *in;
    next.own = pith_freeze(s, Owned, &own);
    /* all bricks make new lists if one has to */
    const pith_array *stale = pith_cast(s, pith_pmax(s, drift.stale, NULL), PITH_BOOL);
    const Brick *listed =
        pith_cond(s, stale, &rebuild_step, &leave_step, pith_freeze(s, Brick, &next));
    return kick(s, listed, own.dt);
}
PITH_FUNCTION1(verlet_step, verlet, Brick, Brick)

static const Brick *begin(pith_scope *s, const Brick *in) {
    return kick(s, brick_start(s, in), 0);
}
PITH_FUNCTION1(begin_step, begin, Brick, Brick)

static const Brick *resume(pith_scope *s, const Brick *in) {
    return kick(s, brick_restore(s, in), 0);
}
PITH_FUNCTION1(resume_step, resume, Brick, Brick)

const pith_function *brick_begin(void) {
    return &begin_step;
}
const pith_function *brick_resume(void) {
    return &resume_step;
}
const pith_function *brick_step(void) {
    return &verlet_step;
}
