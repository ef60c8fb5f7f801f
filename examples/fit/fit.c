/* Fit epsilon and sigma of a Lennard-Jones potential to a measured radial distribution:
 * by reverse mode through a short trajectory, and by reweighting stored frames.
 *
 *     fit measured.json          fit both; fit.jsonl has the curves for `pith plot`
 *     fit --make measured.json   make the data, with epsilon 1 and sigma 1 */
#include "fit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A trajectory of time 1.5 has few frames. Equilibrium needs many, far apart. */
enum { COPIES = 16, FRAMES = 10, APART = 15 };
enum {
    MANY_COPIES = 1024,
    MANY_FRAMES = 24,
    FAR_APART = 40,
    WARM_UP = 4,
    SAMPLINGS = 3,
    REFERENCES = 16
};

/* The data: g(r) of the short trajectory, that of equilibrium, and the potential that
 * made both. */
typedef struct {
    const pith_array *r, *trajectory, *equilibrium;
    const Potential *truth;
} Measured;
PITH_NODE(Measured,
          PITH_CHILD(truth, Potential),
          PITH_LEAF(r, "f64[bins]", .unit = "sigma"),
          PITH_LEAF(trajectory, "f64[bins]"),
          PITH_LEAF(equilibrium, "f64[bins]"))

/* Mean square difference of two distributions. In the plane the number of pairs grows as
 * r, and so does the weight of their distance. */
static const pith_array *
difference(pith_scope *s, const pith_array *a, const pith_array *b) {
    const pith_array *square = pith_square(s, pith_sub(s, a, b));
    return pith_mean(s, pith_mul(s, fluid_radii(s), square), PITH_ALL_AXES);
}

/* ---- Through a short trajectory ---- */

static const pith_array *trajectory_radial(pith_scope *s, const Potential *potential) {
    const Fluid *start = fluid_lattice(s, COPIES, pith_random_key(s, 1));
    const Frames *frames =
        fluid_run(s, potential, start, FRAMES, APART, pith_random_key(s, 2));
    return pith_mean(s, frames->radial, PITH_AXES(0, 1));
}
PITH_FUNCTION1(trajectory_radial_of, trajectory_radial, pith_array, Potential)

static const pith_array *
trajectory_loss(pith_scope *s, const Potential *potential, const Measured *measured) {
    return difference(s, trajectory_radial(s, potential), measured->trajectory);
}
PITH_FUNCTION2(trajectory_loss_of, trajectory_loss, pith_array, Potential, Measured)

/* ---- By reweighting ---- */

/* Frames of equilibrium, and the energy of each at the potential of their run. */
typedef struct {
    const pith_array *position, *radial, *energy;
} Samples;
PITH_NODE(Samples,
          PITH_LEAF(position, "f64[n,atoms,2]"),
          PITH_LEAF(radial, "f64[n,bins]"),
          PITH_LEAF(energy, "f64[n]"))

static const Samples *
sample(pith_scope *s, const Potential *potential, const pith_array *key) {
    const Frames *frames = fluid_run(s, potential, fluid_lattice(s, MANY_COPIES, key),
                                     MANY_FRAMES, FAR_APART, key);
    frames = pith_tree_slice(s, frames, 1, &PITH_SLICE(WARM_UP, INT64_MAX, 1));
    const pith_array *position =
        pith_reshape(s, frames->position, PITH_SHAPE(-1, ATOMS, 2));
    return pith_record(s, Samples, .position = position,
                       .radial = pith_reshape(s, frames->radial, PITH_SHAPE(-1, BINS)),
                       .energy = fluid_energy(s, position, potential));
}
PITH_FUNCTION2(sample_of, sample, Samples, Potential, pith_array)

/* The share of each frame in equilibrium at another potential (Zwanzig): the ratio of the
 * two Boltzmann factors. */
static const pith_array *
weights(pith_scope *s, const Potential *potential, const Samples *samples) {
    const pith_array *energy = fluid_energy(s, samples->position, potential);
    const pith_array *factor =
        pith_div(s, pith_sub(s, samples->energy, energy), FLUID_TEMPERATURE);
    factor = pith_sub(s, factor, pith_logsumexp(s, factor, PITH_ALL_AXES));
    return pith_exp(s, factor);
}
PITH_FUNCTION2(weights_of, weights, pith_array, Potential, Samples)

static const pith_array *reweighted_loss(pith_scope *s,
                                         const Potential *potential,
                                         const Samples *samples,
                                         const Measured *measured) {
    const pith_array *radial =
        pith_matmul(s, weights(s, potential, samples), samples->radial);
    return difference(s, radial, measured->equilibrium);
}
PITH_FUNCTION3(reweighted_loss_of,
               reweighted_loss,
               pith_array,
               Potential,
               Samples,
               Measured)

/* The share of the frames that count, of 1 (Kish); the weights sum to 1. */
static double effective(pith_scope *s, const pith_array *weight) {
    const pith_array *squares = pith_sum(s, pith_square(s, weight), PITH_ALL_AXES);
    return pith_read_f64(s, pith_div(s, pith_mean(s, weight, PITH_ALL_AXES), squares));
}

/* ---- The two fits ---- */

static void show(pith_scope *s, const char *name, const Potential *p) {
    printf("%-12s epsilon %.3f, sigma %.3f\n", name, pith_read_f64(s, p->epsilon),
           pith_read_f64(s, p->sigma));
}

static const Potential *
fit_trajectory(pith_scope *s, const Measured *measured, const Potential *start) {
    const pith_function *loss = pith_partial(s, &trajectory_loss_of, measured);
    return minimise(s, pith_value_and_grad(s, loss, NULL), start);
}

/* Frames of one potential say little about a distant one: sample again at the result. */
static const Potential *
fit_reweighted(pith_scope *s, const Measured *measured, const Potential *start) {
    const pith_function *sampler = pith_jit(s, &sample_of, NULL);
    const pith_function *weigh = pith_jit(s, &weights_of, NULL);
    const Potential *at = start;
    for (int i = 0; i < SAMPLINGS; i++) {
        const Samples *samples = pith_apply(s, sampler, at, pith_random_key(s, 10 + i));
        const pith_function *loss =
            pith_partial(s, pith_partial(s, &reweighted_loss_of, measured), samples);
        at = minimise(s, pith_value_and_grad(s, loss, NULL), at);
        printf("sampling %d: %.0f %% of the frames are effective\n", i + 1,
               100 * effective(s, pith_apply(s, weigh, at, samples)));
    }
    return at;
}

static void make(pith_scope *s, const char *path) {
    const Potential *truth = potential_of(s, 1, 1);
    const pith_function *sampler = pith_jit(s, &sample_of, NULL);
    const pith_array *radial = pith_f64(s, 0);
    for (int i = 0; i < REFERENCES; i++) {
        const Samples *samples =
            pith_apply(s, sampler, truth, pith_random_key(s, 100 + i));
        const pith_array *mean = pith_mean(s, samples->radial, PITH_AXES(0));
        radial = pith_add(s, radial, pith_div(s, mean, REFERENCES));
    }
    const Measured *measured = pith_record(
        s, Measured, .truth = truth, .r = fluid_radii(s),
        .trajectory = pith_apply(s, pith_jit(s, &trajectory_radial_of, NULL), truth),
        .equilibrium = radial);
    pith_save(s, measured, path, &(pith_save_options){.inline_all = true});
}

/* A row of the log for each distance, in hundredths. */
static void log_curves(pith_scope *s,
                       const Measured *measured,
                       const Potential *start,
                       const Potential *fitted) {
    const pith_function *radial = pith_jit(s, &trajectory_radial_of, NULL);
    double r[BINS], g[3][BINS];
    pith_read(s, measured->r, r, sizeof r);
    pith_read(s, measured->trajectory, g[0], sizeof g[0]);
    pith_read(s, pith_apply(s, radial, start), g[1], sizeof g[1]);
    pith_read(s, pith_apply(s, radial, fitted), g[2], sizeof g[2]);
    pith_run_log *log = pith_run_log_open(s, "fit.jsonl", NULL);
    for (int i = 0; i < BINS; i++)
        pith_run_log_add(s, log, lround(100 * r[i]),
                         PITH_LOG_ROW(PITH_LOG_F64("measured", g[0][i]),
                                      PITH_LOG_F64("start", g[1][i]),
                                      PITH_LOG_F64("fitted", g[2][i])));
}

/* Largest relative error of a parameter, in percent. */
static double error_of(pith_scope *s, const Potential *p, const Potential *truth) {
    double worst = 0;
    const pith_array *const found[] = {p->epsilon, p->sigma};
    const pith_array *const exact[] = {truth->epsilon, truth->sigma};
    for (int i = 0; i < 2; i++) {
        const double x = pith_read_f64(s, exact[i]);
        worst = fmax(worst, 100 * fabs(pith_read_f64(s, found[i]) / x - 1));
    }
    return worst;
}

static void fit(pith_scope *s, const char *path) {
    const Measured *measured = pith_load(s, Measured, path);
    const Potential *start = potential_of(s, 0.8, 0.95);
    show(s, "start", start);
    const Potential *short_run = fit_trajectory(s, measured, start);
    show(s, "trajectory", short_run);
    const Potential *reweighted = fit_reweighted(s, measured, start);
    show(s, "reweighting", reweighted);
    log_curves(s, measured, start, short_run);
    const double worst = fmax(error_of(s, short_run, measured->truth),
                              error_of(s, reweighted, measured->truth));
    printf("both within 1 %%: %s\n", !pith_failed(s) && worst < 1 ? "yes" : "no");
}

int main(int count, char **words) {
    const bool making = count == 3 && strcmp(words[1], "--make") == 0;
    if (count != 2 && !making) {
        fprintf(stderr, "usage: fit [--make] FILE\n");
        return 2;
    }
    pith_runtime *rt = pith_open(NULL);
    pith_scope *s = pith_scope_open(rt);
    (making ? make : fit)(s, words[count - 1]);
    const bool failed = pith_failed(s);
    if (failed)
        fprintf(stderr, "%s\n", pith_message(s));
    pith_scope_close(s);
    pith_close(rt);
    return failed;
}
