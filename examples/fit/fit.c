/* Fit epsilon and sigma of a Lennard-Jones potential to a measured radial distribution:
 * by reverse mode through a short trajectory, and by reweighting stored frames. The ranks
 * of a job share the copies of the fluid and their frames. The first fit is that of one
 * rank, and the second within the statistical error of its frames.
 *
 *     fit measured.json              fit both; fit.jsonl has the curves for `pith plot`
 *     mpirun -np 4 fit measured.json
 *     fit --stop measured.json       end once the first frames are in fit.json
 *     fit --resume measured.json     go on from fit.json, on any number of ranks
 *     fit --make measured.json       make the data, with epsilon 1 and sigma 1 */
#include "fit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A trajectory of time 1 has few frames. Equilibrium needs many, far apart. FIT_SMALL
 * is a fit of seconds, far from exact, for tests. */
#ifndef FIT_SMALL
enum { COPIES = 16, FRAMES = 10, APART = 10 };
enum { MANY_COPIES = 1024, MANY_FRAMES = 24, FAR_APART = 40 };
#else
enum { COPIES = 16, FRAMES = 3, APART = 5 };
enum { MANY_COPIES = 30, MANY_FRAMES = 8, FAR_APART = 10 };
#endif
enum { WARM_UP = 4, SAMPLINGS = 3, REFERENCES = 16 };

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

/* The mean over the copies of all ranks. In this and the functions below the sums over
 * rows have the same bits on any number of ranks. */
static const pith_array *
trajectory_radial(pith_scope *s, const Potential *potential, const Copies *copies) {
    const Frames *frames =
        fluid_run(s, potential, copies, FRAMES, APART, pith_random_key(s, 2));
    const pith_array *each = pith_mean(s, frames->radial, PITH_AXES(0));
    const pith_collective_options own = {.rows = copies->count};
    return pith_div(s, pith_psum_rows(s, each, NULL, &own), COPIES);
}
PITH_FUNCTION2(trajectory_radial_of, trajectory_radial, pith_array, Potential, Copies)

static const pith_array *trajectory_loss(pith_scope *s,
                                         const Potential *potential,
                                         const Copies *copies,
                                         const Measured *measured) {
    return difference(s, trajectory_radial(s, potential, copies), measured->trajectory);
}
PITH_FUNCTION3(trajectory_loss_of,
               trajectory_loss,
               pith_array,
               Potential,
               Copies,
               Measured)

/* ---- By reweighting ---- */

/* Frames of equilibrium, and the energy of each at the potential of their run. */
typedef struct {
    const pith_array *position, *radial, *energy, *count;
    int64_t most; /* on one rank */
} Samples;
PITH_NODE(Samples,
          PITH_LEAF(position, "f64[most,atoms,2]", .shard = "copy", .rows = "count"),
          PITH_LEAF(radial, "f64[most,bins]", .shard = "copy", .rows = "count"),
          PITH_LEAF(energy, "f64[most]", .shard = "copy", .rows = "count"),
          PITH_LEAF(count, "i64[]", .shard = "copy"),
          PITH_STATIC(most))

/* Rows [frames, copies, ...] one copy after the other: [copies * frames, ...]. */
static const pith_array *by_copy(pith_scope *s, const pith_array *a) {
    const pith_spec *spec = pith_array_spec(a);
    pith_shape shape = {.rank = spec->rank - 1, .extents = {-1}};
    for (int d = 2; d < spec->rank; d++)
        shape.extents[d - 1] = spec->shape[d];
    return pith_reshape(s, pith_swapaxes(s, a, 0, 1), shape);
}

static const Samples *sample(pith_scope *s,
                             const Potential *potential,
                             const Copies *copies,
                             const pith_array *key) {
    const Frames *frames = fluid_run(s, potential, copies, MANY_FRAMES, FAR_APART, key);
    frames = pith_tree_slice(s, frames, 1, &PITH_SLICE(WARM_UP, INT64_MAX, 1));
    const pith_array *position = by_copy(s, frames->position);
    const int64_t each = MANY_FRAMES - WARM_UP;
    return pith_record(
        s, Samples, .position = position, .radial = by_copy(s, frames->radial),
        .energy = fluid_energy(s, position, potential),
        .count = pith_mul(s, copies->count, each), .most = copies->most * each);
}
PITH_FUNCTION3(sample_of, sample, Samples, Potential, Copies, pith_array)

/* Of each row whether it is in use: [most, 1, ...], of some rank. */
static const pith_array *in_use(pith_scope *s, const Samples *samples, int rank) {
    pith_shape shape = {.rank = rank, .extents = {samples->most}};
    for (int d = 1; d < rank; d++)
        shape.extents[d] = 1;
    const pith_array *row = pith_arange(s, PITH_I64, samples->most);
    return pith_reshape(s, pith_less(s, row, samples->count), shape);
}

/* The weight of each frame in equilibrium at another potential (Zwanzig): the ratio of
 * the two Boltzmann factors; the greatest of all ranks is 1. Rows that are not in use get
 * places where the energy is finite, because their derivatives are added as zeros. */
static const pith_array *
weights(pith_scope *s, const Potential *potential, const Samples *samples) {
    const pith_array *position =
        pith_where(s, in_use(s, samples, 3), samples->position, fluid_sites(s));
    const pith_array *energy = fluid_energy(s, position, potential);
    const pith_array *factor =
        pith_div(s, pith_sub(s, samples->energy, energy), FLUID_TEMPERATURE);
    factor = pith_where(s, in_use(s, samples, 1), factor, -HUGE_VAL);
    const pith_array *most = pith_pmax(s, pith_max(s, factor, PITH_ALL_AXES), NULL);
    return pith_exp(s, pith_sub(s, factor, pith_stop_gradient(s, most)));
}

static const pith_array *reweighted_loss(pith_scope *s,
                                         const Potential *potential,
                                         const Samples *samples,
                                         const Measured *measured) {
    const pith_collective_options own = {.rows = samples->count};
    const pith_array *weight = weights(s, potential, samples);
    const pith_array *each =
        pith_mul(s, pith_expand_dims(s, weight, PITH_AXES(1)), samples->radial);
    const pith_array *radial = pith_div(s, pith_psum_rows(s, each, NULL, &own),
                                        pith_psum_rows(s, weight, NULL, &own));
    return difference(s, radial, measured->equilibrium);
}
PITH_FUNCTION3(reweighted_loss_of,
               reweighted_loss,
               pith_array,
               Potential,
               Samples,
               Measured)

/* The share of the frames that count, of 1 (Kish). */
static const pith_array *
effective(pith_scope *s, const Potential *potential, const Samples *samples) {
    const pith_collective_options own = {.rows = samples->count};
    const pith_array *weight = weights(s, potential, samples);
    const pith_array *sum = pith_psum_rows(s, weight, NULL, &own),
                     *squares = pith_psum_rows(s, pith_square(s, weight), NULL, &own),
                     *frames = pith_psum(s, samples->count, NULL, NULL);
    return pith_div(s, pith_square(s, sum),
                    pith_mul(s, squares, pith_cast(s, frames, PITH_F64)));
}
PITH_FUNCTION2(effective_of, effective, pith_array, Potential, Samples)

/* ---- The two fits ---- */

/* What is in fit.json. */
typedef struct {
    const Potential *trajectory; /* the result of the first fit */
    const Potential *at;         /* where the samples were made */
    const Samples *samples;
    int64_t sampling; /* their number, from 1 */
} Fit;
PITH_NODE(Fit,
          PITH_CHILD(trajectory, Potential),
          PITH_CHILD(at, Potential),
          PITH_CHILD(samples, Samples),
          PITH_STATIC(sampling))

static bool prints(pith_scope *s) {
    return pith_axis_rank(s, NULL) == 0;
}

static void show(pith_scope *s, const char *name, const Potential *p) {
    const double epsilon = pith_read_f64(s, p->epsilon),
                 sigma = pith_read_f64(s, p->sigma);
    if (prints(s))
        printf("%-12s epsilon %.3f, sigma %.3f\n", name, epsilon, sigma);
}

/* Minimise a loss over the shards of some data. */
static const Potential *minimise_over(pith_scope *s,
                                      const pith_function *loss,
                                      const void *data,
                                      const Measured *measured,
                                      const Potential *start) {
    const pith_function *mapped = pith_shard_map(s, loss, NULL);
    mapped = pith_partial(s, pith_partial(s, mapped, measured), data);
    return minimise(s, pith_value_and_grad(s, mapped, NULL), start);
}

static const Fit *
sampled(pith_scope *s, const Potential *trajectory, const Potential *at, int sampling) {
    const pith_function *sampler = pith_jit(s, pith_shard_map(s, &sample_of, NULL), NULL);
    const Samples *samples = pith_apply(s, sampler, at, fluid_copies(s, MANY_COPIES),
                                        pith_random_key(s, 9 + sampling));
    return pith_record(s, Fit, .trajectory = trajectory, .at = at, .samples = samples,
                       .sampling = sampling);
}

/* Frames of one potential say little about a distant one: sample again at the result. */
static const Potential *
fit_reweighted(pith_scope *s, const Measured *measured, const Fit *now) {
    const pith_function *weigh =
        pith_jit(s, pith_shard_map(s, &effective_of, NULL), NULL);
    for (;;) {
        const Potential *at =
            minimise_over(s, &reweighted_loss_of, now->samples, measured, now->at);
        const double share =
            100 * pith_read_f64(s, pith_apply(s, weigh, at, now->samples));
        if (prints(s))
            printf("sampling %d: %.0f %% of the frames are effective\n",
                   (int)now->sampling, share);
        if (now->sampling >= SAMPLINGS || pith_failed(s))
            return at;
        now = sampled(s, now->trajectory, at, (int)now->sampling + 1);
    }
}

static const pith_array *radial_of(pith_scope *s, const Potential *potential) {
    const pith_function *radial =
        pith_jit(s, pith_shard_map(s, &trajectory_radial_of, NULL), NULL);
    return pith_apply(s, radial, potential, fluid_copies(s, COPIES));
}

static void make(pith_scope *s, const char *path) {
    const Potential *truth = potential_of(s, 1, 1);
    const pith_function *sampler = pith_jit(s, pith_shard_map(s, &sample_of, NULL), NULL);
    const Copies *copies = fluid_copies(s, MANY_COPIES);
    const pith_array *radial = pith_f64(s, 0);
    for (int i = 0; i < REFERENCES; i++) {
        const Samples *samples =
            pith_apply(s, sampler, truth, copies, pith_random_key(s, 100 + i));
        const Samples *all = pith_unshard(s, samples, -1);
        const pith_array *mean = pith_mean(s, all->radial, PITH_AXES(0));
        radial = pith_add(s, radial, pith_div(s, mean, REFERENCES));
    }
    const Measured *measured =
        pith_record(s, Measured, .truth = truth, .r = fluid_radii(s),
                    .trajectory = radial_of(s, truth), .equilibrium = radial);
    pith_save(s, measured, path, &(pith_save_options){.inline_all = true});
}

/* A row of the log for each distance, in hundredths. */
static void log_curves(pith_scope *s,
                       const Measured *measured,
                       const Potential *start,
                       const Potential *fitted) {
    double r[BINS], g[3][BINS];
    pith_read(s, measured->r, r, sizeof r);
    pith_read(s, measured->trajectory, g[0], sizeof g[0]);
    pith_read(s, radial_of(s, start), g[1], sizeof g[1]);
    pith_read(s, radial_of(s, fitted), g[2], sizeof g[2]);
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

static void
finish(pith_scope *s, const Measured *measured, const Potential *start, const Fit *now) {
    const Potential *reweighted = fit_reweighted(s, measured, now);
    show(s, "reweighting", reweighted);
    log_curves(s, measured, start, now->trajectory);
    const double worst = fmax(error_of(s, now->trajectory, measured->truth),
                              error_of(s, reweighted, measured->truth));
    if (prints(s))
        printf("both within 1 %%: %s\n", !pith_failed(s) && worst < 1 ? "yes" : "no");
}

typedef enum { FIT, STOP, RESUME, MAKE } Mode;

static void fit(pith_scope *s, const char *path, Mode mode) {
    const Measured *measured = pith_load(s, Measured, path);
    const Potential *start = potential_of(s, 0.8, 0.95);
    const Fit *now;
    if (mode == RESUME) {
        now = pith_load(s, Fit, "fit.json");
    } else {
        show(s, "start", start);
        const Potential *through = minimise_over(
            s, &trajectory_loss_of, fluid_copies(s, COPIES), measured, start);
        show(s, "trajectory", through);
        now = sampled(s, through, start, 1);
        pith_save(s, now, "fit.json", NULL);
    }
    if (mode != STOP)
        finish(s, measured, start, now);
}

int main(int count, char **words) {
    static const char *const modes[] = {"", "--stop", "--resume", "--make"};
    Mode mode = FIT;
    for (Mode m = STOP; m <= MAKE && count == 3; m++)
        if (strcmp(words[1], modes[m]) == 0)
            mode = m;
    if (count != (mode == FIT ? 2 : 3)) {
        fprintf(stderr, "usage: fit [--stop | --resume | --make] FILE\n");
        return 2;
    }
    pith_runtime *rt = pith_open(NULL);
    pith_scope *s = pith_scope_open(rt);
    pith_mesh_open(s, PITH_MESH_AXES({"copy", 0}),
                   NULL); /* one rank without a launcher */
    const bool quiet = pith_axis_rank(s, NULL) > 0;
    if (mode == MAKE)
        make(s, words[count - 1]);
    else
        fit(s, words[count - 1], mode);
    const bool failed = !pith_agree(s); /* on all ranks, and rank 0 has the message */
    if (failed && !quiet)
        fprintf(stderr, "fit: %s\n", pith_message(s));
    pith_scope_close(s);
    pith_close(rt);
    return failed;
}
