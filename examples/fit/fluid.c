/* A Lennard-Jones fluid as array operations: energy, Langevin dynamics, g(r). Forces are
 * the derivative of the energy. */
#include "fit.h"

#include <math.h>

#define BOX      5.2       /* edge of the periodic square: density 0.59 */
#define CUTOFF   2.5       /* of the potential, which is shifted to 0 there */
#define DT       0.01      /* time step */
#define FRICTION 1.0       /* of the thermostat */
#define KEPT     (1 << 20) /* bytes of the run that its derivative may keep */
#define WIDTH    0.06      /* of the Gaussian that replaces a bin of a histogram */

/* Squared distances of all pairs to the nearest image: [copies, ATOMS, ATOMS]. An atom is
 * far away from itself. */
static const pith_array *squared_distances(pith_scope *s, const pith_array *x) {
    const pith_array *d = pith_sub(s, pith_expand_dims(s, x, PITH_AXES(2)),
                                   pith_expand_dims(s, x, PITH_AXES(1)));
    d = pith_sub(s, d, pith_mul(s, BOX, pith_round(s, pith_div(s, d, BOX))));
    const pith_array *far =
        pith_mul(s, BOX * BOX, pith_eye(s, PITH_F64, ATOMS, ATOMS, 0));
    return pith_add(s, pith_sum(s, pith_square(s, d), PITH_AXES(-1)), far);
}

/* 4 epsilon ((sigma / r)^12 - (sigma / r)^6) */
static const pith_array *
lennard_jones(pith_scope *s, const Potential *p, const pith_array *r2) {
    const pith_array *q = pith_div(s, pith_square(s, p->sigma), r2);
    return pith_expression(s, "4 * epsilon * (q * q * q - 1) * (q * q * q)",
                           PITH_BIND({"epsilon", p->epsilon}, {"q", q}));
}

const pith_array *
fluid_energy(pith_scope *s, const pith_array *position, const Potential *potential) {
    const pith_array *r2 = squared_distances(s, position);
    const pith_array *shift = lennard_jones(s, potential, pith_f64(s, CUTOFF * CUTOFF));
    const pith_array *pair = pith_sub(s, lennard_jones(s, potential, r2), shift);
    const pith_array *inside = pith_less(s, r2, CUTOFF * CUTOFF);
    return pith_mul(s, 0.5, pith_sum(s, pith_where(s, inside, pair, 0), PITH_AXES(1, 2)));
}

static const pith_array *
total_energy(pith_scope *s, const pith_array *position, const Potential *potential) {
    return pith_sum(s, fluid_energy(s, position, potential), PITH_ALL_AXES);
}
PITH_FUNCTION2(total_energy_of, total_energy, pith_array, pith_array, Potential)

/* A normal number for each coordinate, from the keys of the copies. */
static const pith_array *noise_of(pith_scope *s, const pith_array *keys) {
    return pith_random_normal(s, keys, PITH_F64, PITH_SHAPE(ATOMS, 2), NULL);
}

/* One step of Langevin dynamics (leapfrog with the thermostat in the middle). */
static const Fluid *advance(pith_scope *s,
                            const Fluid *in,
                            const pith_array *key,
                            const Potential *potential,
                            const pith_array *number) {
    const double kept = exp(-FRICTION * DT);
    const double kick = sqrt((1 - kept * kept) * FLUID_TEMPERATURE);
    const pith_function *slope = pith_grad(s, &total_energy_of, NULL);
    const pith_array *uphill = pith_apply(s, slope, in->position, potential);
    const pith_array *noise = noise_of(s, pith_random_fold_in(s, key, number));
    Fluid next;
    next.velocity = pith_sub(s, in->velocity, pith_mul(s, DT, uphill));
    next.position = pith_add(s, in->position, pith_mul(s, DT / 2, next.velocity));
    next.velocity =
        pith_add(s, pith_mul(s, kept, next.velocity), pith_mul(s, kick, noise));
    next.position = pith_add(s, next.position, pith_mul(s, DT / 2, next.velocity));
    return pith_freeze(s, Fluid, &next);
}
PITH_FUNCTION4(advance_step, advance, Fluid, Fluid, pith_array, Potential, pith_array)

const pith_array *fluid_radii(pith_scope *s) {
    return pith_linspace(s, PITH_F64, 0.6, 2.5, BINS, true);
}

/* g(r) of each copy, [copies, BINS]. Each pair adds a Gaussian around its distance, so
 * that the result moves smoothly with the positions: counts have no derivative. */
static const pith_array *radial_distribution(pith_scope *s, const pith_array *position) {
    const pith_array *r = fluid_radii(s),
                     *d = pith_sqrt(s, squared_distances(s, position));
    const pith_array *from =
        pith_div(s, pith_sub(s, pith_expand_dims(s, d, PITH_AXES(3)), r), WIDTH);
    const pith_array *near = pith_exp(s, pith_mul(s, -0.5, pith_square(s, from)));
    const double pi = acos(-1), pairs = ATOMS * (ATOMS - 1) / (BOX * BOX);
    const pith_array *ideal = pith_mul(s, 2 * pi * pairs * WIDTH * sqrt(2 * pi), r);
    return pith_div(s, pith_sum(s, near, PITH_AXES(1, 2)), ideal);
}

/* The steps to a frame, and the frame. */
typedef struct {
    const Fluid *carry;
    const Frames *out;
} Stretch;
PITH_NODE(Stretch, PITH_CHILD(carry, Fluid), PITH_CHILD(out, Frames))

static const Stretch *stretch(pith_scope *s,
                              const Fluid *in,
                              const pith_array *keys,
                              const Potential *potential,
                              const pith_array *number) {
    const pith_function *step =
        pith_partial(s, pith_partial(s, &advance_step, number), potential);
    const Fluid *end = pith_scan(s, step, in, keys, NULL, NULL);
    return pith_record(s, Stretch, .carry = end,
                       .out =
                           pith_record(s, Frames, .position = end->position,
                                       .radial = radial_distribution(s, end->position)));
}
PITH_FUNCTION4(stretch_body, stretch, Stretch, Fluid, pith_array, Potential, pith_array)

const pith_array *fluid_sites(pith_scope *s) {
    double x[ATOMS][2];
    for (int i = 0; i < ATOMS; i++) {
        x[i][0] = (i / SIDE) * BOX / SIDE;
        x[i][1] = (i % SIDE) * BOX / SIDE;
    }
    return pith_array_copy(s, PITH_F64, PITH_SHAPE(ATOMS, 2), x);
}

const Copies *fluid_copies(pith_scope *s, int64_t count) {
    const Copies all = {.number = pith_arange(s, PITH_I64, count),
                        .count = pith_i64(s, count),
                        .most = count};
    return pith_shard(s, pith_freeze(s, Copies, &all), NULL);
}

const Frames *fluid_run(pith_scope *s,
                        const Potential *potential,
                        const Copies *copies,
                        int64_t frames,
                        int64_t apart,
                        const pith_array *key) {
    const pith_shape shape = PITH_SHAPE(copies->most, ATOMS, 2);
    const pith_array *two = pith_random_split(s, key, PITH_SHAPE(2), NULL);
    const pith_array *keys = pith_random_split(s, pith_slice_at(s, two, 0, 0),
                                               PITH_SHAPE(frames, apart), NULL);
    const pith_array *first = pith_slice_at(s, two, 0, 1);
    const pith_array *speed = noise_of(s, pith_random_fold_in(s, first, copies->number));
    const pith_array *sites = pith_broadcast_to(s, fluid_sites(s), shape);
    speed = pith_mul(s, sqrt(FLUID_TEMPERATURE), speed);
    const Fluid *start =
        pith_record(s, Fluid, .position = pith_add(s, sites, pith_mul(s, DT, speed)),
                    .velocity = speed);
    const pith_function *body =
        pith_partial(s, pith_partial(s, &stretch_body, copies->number), potential);
    const void *outs;
    pith_scan(s, body, start, keys, &outs, &(pith_loop_options){.kept_bytes = KEPT});
    return outs;
}
