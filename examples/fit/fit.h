/* Fit of a Lennard-Jones potential: the fluid and the search for a minimum. */
#ifndef FIT_H
#define FIT_H

#include <pith/pith.h>

enum { SIDE = 4, ATOMS = SIDE * SIDE, BINS = 40 };

/* The two parameters. A gradient with respect to them is one too. */
typedef struct {
    const pith_array *epsilon, *sigma;
} Potential;
PITH_NODE(Potential, PITH_LEAF(epsilon, "f64[]"), PITH_LEAF(sigma, "f64[]"))

/* The copies of a run, which the ranks of a job share. A copy has the same random numbers
 * on whatever rank: its number is folded into the key. */
typedef struct {
    const pith_array *number, *count;
    int64_t most; /* on one rank */
} Copies;
PITH_NODE(Copies,
          PITH_LEAF(number, "i64[most]", .shard = "copy", .rows = "count"),
          PITH_LEAF(count, "i64[]", .shard = "copy"),
          PITH_STATIC(most))

/* Independent copies of a small periodic fluid in two dimensions. */
typedef struct {
    const pith_array *position, *velocity;
} Fluid;
PITH_NODE(Fluid,
          PITH_LEAF(position, "f64[copies,atoms,2]"),
          PITH_LEAF(velocity, "f64[copies,atoms,2]"))

/* Stored frames: positions, and the radial distribution g(r) of each copy. */
typedef struct {
    const pith_array *position, *radial;
} Frames;
PITH_NODE(Frames, PITH_LEAF(position, "f64[...]"), PITH_LEAF(radial, "f64[...]"))

/* Distances at which g(r) is measured. */
const pith_array *fluid_radii(pith_scope *s);
/* Copies 0, 1, ..., divided among the ranks. */
const Copies *fluid_copies(pith_scope *s, int64_t count);
/* The sites of a square lattice: [ATOMS, 2]. */
const pith_array *fluid_sites(pith_scope *s);
/* Energy of each copy. position: [copies, ATOMS, 2] */
const pith_array *
fluid_energy(pith_scope *s, const pith_array *position, const Potential *potential);
/* Run copies of the fluid at temperature FLUID_TEMPERATURE, from atoms on a lattice with
 * thermal velocities, and store `frames` frames, `apart` steps apart. For a mapped
 * function: `copies` are those of one rank. Leaves of the result are [frames, copies,
 * ...]. */
const Frames *fluid_run(pith_scope *s,
                        const Potential *potential,
                        const Copies *copies,
                        int64_t frames,
                        int64_t apart,
                        const pith_array *key);
#define FLUID_TEMPERATURE 0.7

/* Minimise f, a function from Potential to a tuple of value and gradient, by the
 * quasi-Newton method of Broyden, Fletcher, Goldfarb and Shanno. */
const Potential *minimise(pith_scope *s, const pith_function *f, const Potential *start);

const Potential *potential_of(pith_scope *s, double epsilon, double sigma);

#endif
