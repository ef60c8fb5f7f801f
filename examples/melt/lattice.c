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

Start melt_lattice_slice(pith_scope *s, const Options *o, int64_t part, int64_t parts) {
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
    const int64_t first = melt_slice_begin(ATOMS, part, parts);
    const int64_t end = melt_slice_begin(ATOMS, part + 1, parts);
    const Slice slice = {.atoms = ATOMS,
                         .first = first,
                         .count = end - first,
                         .position = position[first],
                         .velocity = velocity[first],
                         .lengths = {length, length, length}};
    return melt_start_of(s, o, &slice);
}

int64_t melt_slice_begin(int64_t atoms, int64_t part, int64_t parts) {
    return atoms * part / parts;
}

Start melt_read_slice(pith_scope *s, const Options *o, int64_t part, int64_t parts) {
    return o->data ? melt_data_slice(s, o, part, parts)
                   : melt_lattice_slice(s, o, part, parts);
}

static const Sim *state_of(pith_scope *s, const Options *o, Start all) {
    const Atoms atoms = {.position = all.position, .velocity = all.velocity};
    const bool fine = o->ranks ? pith_agree(s) : !pith_failed(s);
    return fine ? melt_start(s, &atoms, all.box, o) : NULL;
}

const Sim *melt_lattice(pith_scope *s, const Options *o) {
    return state_of(s, o, melt_lattice_slice(s, o, 0, 1));
}

const Sim *melt_read(pith_scope *s, const Options *o) {
    return state_of(s, o, melt_read_slice(s, o, 0, 1));
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

/* Velocities of a seed, for the atoms of a slice. */
static const pith_array *drawn(pith_scope *s, const Options *o, const Slice *slice) {
    const pith_array *all = melt_velocities(s, pith_random_key(s, o->seed), slice->atoms);
    return pith_slice_array(s, all, 1,
                            &PITH_SLICE(slice->first, slice->first + slice->count, 1));
}

Start melt_start_of(pith_scope *s, const Options *o, const Slice *slice) {
    const pith_shape shape = PITH_SHAPE(slice->count, 3);
    const pith_array *velocity =
        o->seed_given ? drawn(s, o, slice)
                      : pith_array_copy(s, PITH_F64, shape, slice->velocity);
    return (Start){.position = pith_cast(
                       s, pith_array_copy(s, PITH_F64, shape, slice->position), o->real),
                   .velocity = pith_cast(s, velocity, o->real),
                   .box = pith_array_copy(s, PITH_F64, PITH_SHAPE(3), slice->lengths),
                   .atoms = slice->atoms,
                   .first = slice->first,
                   .count = slice->count};
}

const Sim *melt_atoms(pith_scope *s,
                      const Options *o,
                      int64_t count,
                      const double *position,
                      const double *velocity,
                      const double lengths[3]) {
    const Slice all = {.atoms = count,
                       .count = count,
                       .position = position,
                       .velocity = velocity,
                       .lengths = {lengths[0], lengths[1], lengths[2]}};
    return state_of(s, o, melt_start_of(s, o, &all));
}
