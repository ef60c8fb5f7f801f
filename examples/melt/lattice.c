/* Initial atoms: a lattice with random velocities, and a state from atoms given as
 * doubles. */
#include "melt.h"

#include <math.h>
#include <stdlib.h>

#define TEMPERATURE 1.44
enum { CELLS = 10, ATOMS = 4 * CELLS * CELLS * CELLS };

/* Random numbers in [0, 1) by xorshift64*, equal on every machine. */
static double next_uniform(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (double)((*state * 2685821657736338717u) >> 11) * 0x1p-53;
}

/* Velocities of a given temperature without drift, nearly normally distributed: each is a
 * sum of twelve uniform numbers, which needs no mathematical function. */
static void draw_velocities(double (*velocity)[3], double temperature) {
    uint64_t state = 88172645463325252u;
    double mean[3] = {0}, square = 0;
    for (int i = 0; i < ATOMS; i++)
        for (int d = 0; d < 3; d++) {
            double sum = -6;
            for (int k = 0; k < 12; k++)
                sum += next_uniform(&state);
            velocity[i][d] = sum;
            mean[d] += sum / ATOMS;
        }
    for (int i = 0; i < ATOMS; i++)
        for (int d = 0; d < 3; d++) {
            velocity[i][d] -= mean[d];
            square += velocity[i][d] * velocity[i][d];
        }
    const double scale = sqrt(temperature * (3.0 * ATOMS - 3) / square);
    for (int i = 0; i < ATOMS; i++)
        for (int d = 0; d < 3; d++)
            velocity[i][d] *= scale;
}

const Sim *melt_lattice(pith_scope *s, const Options *o) {
    static const double basis[4][3] = {
        {0, 0, 0}, {0.5, 0.5, 0}, {0.5, 0, 0.5}, {0, 0.5, 0.5}};
    static double position[ATOMS][3], velocity[ATOMS][3];
    const double constant = cbrt(4 / 0.8442);
    int i = 0;
    for (int z = 0; z < CELLS; z++)
        for (int y = 0; y < CELLS; y++)
            for (int x = 0; x < CELLS; x++)
                for (int b = 0; b < 4; b++, i++) {
                    position[i][0] = (x + basis[b][0]) * constant;
                    position[i][1] = (y + basis[b][1]) * constant;
                    position[i][2] = (z + basis[b][2]) * constant;
                }
    draw_velocities(velocity, TEMPERATURE);
    const double length = CELLS * constant;
    return melt_atoms(s, o, ATOMS, position[0], velocity[0],
                      (double[]){length, length, length});
}

const Sim *melt_read(pith_scope *s, const Options *o) {
    return o->data ? melt_data(s, o) : melt_lattice(s, o);
}

/* Without drift, for unit masses. */
const pith_array *melt_velocities(pith_scope *s, const pith_array *key, int64_t count) {
    const pith_array *v =
        pith_random_normal(s, key, PITH_F64, PITH_SHAPE(count, 3), NULL);
    v = pith_sub(s, v, pith_mean(s, v, PITH_AXES_KEPT(0)));
    const pith_array *square = pith_sum(s, pith_square(s, v), PITH_ALL_AXES);
    const double freedom = count > 1 ? 3 * (double)count - 3 : 1;
    const pith_array *wanted = pith_f64(s, TEMPERATURE * freedom);
    const pith_array *at_rest = pith_equal(s, square, 0); /* one atom */
    square = pith_where(s, at_rest, wanted, square);
    return pith_mul(s, v, pith_sqrt(s, pith_div(s, wanted, square)));
}

const Sim *melt_atoms(pith_scope *s,
                      const Options *o,
                      int64_t count,
                      const double *position,
                      const double *velocity,
                      const double lengths[3]) {
    const pith_shape shape = PITH_SHAPE(count, 3);
    const pith_array *given = o->seed_given
                                  ? melt_velocities(s, pith_random_key(s, o->seed), count)
                                  : pith_array_copy(s, PITH_F64, shape, velocity);
    const Atoms atoms = {
        .position = pith_cast(s, pith_array_copy(s, PITH_F64, shape, position), o->real),
        .velocity = pith_cast(s, given, o->real),
    };
    return melt_start(s, &atoms, pith_array_copy(s, PITH_F64, PITH_SHAPE(3), lengths), o);
}
