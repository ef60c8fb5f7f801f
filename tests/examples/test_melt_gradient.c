/* The melt's forces by reverse differentiation against those of its kernel. */
#include "melt.h"
#include "pith_test.h"

void melt_repaired(pith_scope *s, const pith_repair *repair, void *output) {
    (void)s, (void)repair, (void)output;
}

static Options options_of(pith_dtype real, double cutoff) {
    return (Options){
        .cutoff = cutoff, .skin = 0.3, .dt = 0.004, .initial_capacity = 2, .real = real};
}

/* A simple cubic lattice of cells^3 atoms, each moved a little. The box is `constant`
 * cells long. */
static const Sim *gas(pith_scope *s, int64_t cells, double constant, const Options *o) {
    static double position[3 * 1000], velocity[3 * 1000];
    const double length = (double)cells * constant;
    uint32_t random = 12345;
    for (int64_t i = 0; i < cells * cells * cells; i++)
        for (int d = 0; d < 3; d++) {
            const int64_t at[3] = {i / cells / cells, i / cells % cells, i % cells};
            random = random * 1664525u + 1013904223u;
            position[3 * i + d] =
                ((double)at[d] + 0.25 * (random / 4294967296.0 - 0.5)) * constant;
            velocity[3 * i + d] = 2 * (random % 1000 / 1000.0 - 0.5);
        }
    return melt_atoms(s, o, cells * cells * cells, position, velocity,
                      (double[]){length, length, length});
}

/* The largest difference from the kernel's forces over the largest force. */
static double difference(pith_scope *s, const Sim *sim, const pith_array *forces) {
    const pith_array *apart = pith_abs(s, pith_sub(s, forces, sim->atoms->force));
    const pith_array *most = pith_max(s, pith_abs(s, sim->atoms->force), PITH_ALL_AXES);
    return pith_read_f64(
        s, pith_cast(s, pith_div(s, pith_max(s, apart, PITH_ALL_AXES), most), PITH_F64));
}

static const pith_array *forces(pith_scope *s, const Sim *sim) {
    return melt_forces(s, sim, false);
}
PITH_FUNCTION1(forces_of, forces, pith_array, Sim)

static const pith_array *recomputed(pith_scope *s, const Sim *sim) {
    return melt_forces(s, sim, true);
}
PITH_FUNCTION1(recomputed_of, recomputed, pith_array, Sim)

/* Eagerly and compiled, with values kept and recomputed: the bound, and the same bits. */
static void agree(pith_scope *s, const Sim *sim, double bound) {
    const pith_array *kept = melt_forces(s, sim, false);
    pt_ok(s);
    cr_assert(difference(s, sim, kept) <= bound, "%g", difference(s, sim, kept));
    const pith_function *const ways[] = {
        pith_jit(s, &forces_of, NULL), pith_jit(s, &recomputed_of, NULL), &recomputed_of};
    for (int k = 0; k < 3; k++) {
        const pith_array *other = pith_apply(s, ways[k], sim);
        pt_ok(s);
        cr_assert(pith_tree_equal(s, kept, other), "way %d", k);
    }
}

static const Sim *after(pith_scope *s, const Sim *sim, const Options *o, int64_t steps) {
    return pith_propagate(s, Sim, melt_step(o), sim,
                          &(pith_propagate_options){.steps = steps});
}

#define SCOPED(name) PT_SCOPED(melt_gradient, name)

SCOPED(forces_are_those_of_the_kernel) {
    const Options o = options_of(PITH_F64, 2.5);
    const Sim *sim = gas(s, 8, 1.06, &o);
    for (int k = 0; k < 4; k++) {
        agree(s, sim, 1e-12);
        sim = after(s, sim, &o, 15);
    }
}

/* In a box shorter than twice the cutoff a pair may be near in several images. */
SCOPED(every_image_of_a_pair_counts) {
    const Options o = options_of(PITH_F64, 2.5);
    const Sim *sim = gas(s, 3, 1.1, &o);
    cr_assert(sim && pith_read_f64(s, pith_max(s, sim->box, PITH_ALL_AXES)) < 2 * 2.5);
    agree(s, sim, 1e-12);
}

SCOPED(single_precision_agrees_to_its_precision) {
    const Options o = options_of(PITH_F32, 2.5);
    agree(s, gas(s, 6, 1.06, &o), 1e-4);
}

/* Atoms without neighbours, and a single one: forces are 0, not NaN. */
SCOPED(atoms_without_neighbours_have_no_force) {
    const Options o = options_of(PITH_F64, 1.5);
    for (int64_t cells = 1; cells < 4; cells += 2) {
        const pith_array *f = melt_forces(s, gas(s, cells, 4, &o), false);
        pt_ok(s);
        cr_assert_eq(pith_read_f64(s, pith_max(s, pith_abs(s, f), PITH_ALL_AXES)), 0);
    }
}

/* The energy is that of the kernel, which the table shows. */
SCOPED(the_energy_is_that_of_the_kernel) {
    const Options o = options_of(PITH_F64, 2.5);
    const Sim *sim = gas(s, 8, 1.06, &o);
    const pith_array *of_atoms =
        pith_launch(s, melt_observe, sim->atoms->position, sim->atoms->velocity,
                    sim->lists->neighbour, sim->lists->count, sim->box, sim->cutoff)
            .energy;
    pt_close_64(pith_read_f64(s, melt_energy(s, sim)),
                pith_read_f64(s, pith_sum(s, of_atoms, PITH_ALL_AXES)), 1e-13);
}

/* A run by gradients has the atoms of one by the kernel, also if its lists grow. */
SCOPED(runs_agree) {
    const Options kernel = options_of(PITH_F64, 2.5);
    Options gradient = kernel;
    gradient.gradient = true;
    const Sim *a = after(s, gas(s, 6, 1.06, &kernel), &kernel, 60);
    const Sim *b = after(s, gas(s, 6, 1.06, &gradient), &gradient, 60);
    pt_ok(s);
    cr_assert(pith_tree_equal(s, a->atoms->id, b->atoms->id));
    cr_assert(difference(s, a, b->atoms->force) <= 1e-10, "%g",
              difference(s, a, b->atoms->force));
}
