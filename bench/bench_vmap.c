/* Batches beside calls one by one, flat arrays and plain C: whole melts, chains of
 * elementwise operations, loops of unknown length, and the recording of a step. One
 * thread, melts also on two.
 *
 * Peers within pith: "calls" calls the compiled function of an entry for each, "flat" is
 * the function written by hand over arrays of all entries, "unchecked" makes no checks,
 * "step" records the step of one entry. "c" is peers/vmap.c, entry by entry, and "c
 * lanes" many entries at a time. Rows: vmap/... */
#include "bench_vmap_models.h"
#include "melt.h"

#include <math.h>

enum { MELTS = 100, ATOMS = 32, STEPS = 10, RUNS = 10000, MOST = 100 };
enum { ELEMENTS = 1000000, WIDTH = 1000 };

typedef struct {
    pith_scope *s;
    const pith_function *f;
    const void *arguments[2];
    int count;
    const void *const *entries; /* arguments of calls one by one, MELTS of them */
    vmap_data c;
    void (*plain)(const vmap_data *d);
    int64_t tag;
} work;

/* ---- Calls ---- */

static void call(void *closure) {
    const work *w = closure;
    bench_call(w->s, w->f, w->count, w->arguments);
}
static void call_each(void *closure) {
    const work *w = closure;
    pith_scope *s = pith_scope_open_in(w->s);
    for (int k = 0; k < MELTS; k++)
        pith_call(s, w->f, 1, &w->entries[k]);
    pith_wait(s);
    bench_check(s);
    pith_scope_close(s);
}
static void plain(void *closure) {
    work *w = closure;
    w->plain(&w->c);
    __asm__ volatile("" : : "r"(&w->c) : "memory");
}

/* ---- Arguments and results ---- */

static double *numbers(int64_t n, double from, double to) {
    double *x = malloc((size_t)n * sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = from + (to - from) * (double)(i * 7919 % n) / (double)n;
    return x;
}
static const pith_array *array(pith_scope *s, pith_shape shape, const double *x) {
    return pith_array_copy(s, PITH_F64, shape, x);
}

/* The result of the batch is that of plain C, to rounding. */
static void
compare(pith_scope *s, const pith_array *got, const vmap_data *d, double bound) {
    double *x = malloc((size_t)d->n * sizeof *x);
    pith_read(s, got, x, (size_t)d->n * sizeof *x);
    bench_check(s);
    for (int64_t i = 0; i < d->n; i++)
        if (!(fabs(x[i] - d->to[i]) <= bound * (1 + fabs(d->to[i])))) {
            fprintf(stderr, "bench: entry %lld is %.17g, expected %.17g\n", (long long)i,
                    x[i], d->to[i]);
            exit(EXIT_FAILURE);
        }
    free(x);
}

/* ---- Rows: melts ---- */

void melt_repaired(pith_scope *s, const pith_repair *repair, void *output) {
    (void)s, (void)repair, (void)output;
}

static const Sim *next_step(pith_scope *s, const pith_array *i, const Sim *sim) {
    (void)i;
    return melt_verlet(s, sim);
}
PITH_FUNCTION2(next_step_of, next_step, Sim, pith_array, Sim)
static const Sim *steps(pith_scope *s, const Sim *sim) {
    return pith_fori(s, 0, STEPS, &next_step_of, sim);
}
PITH_FUNCTION1(steps_of, steps, Sim, Sim)
PITH_FUNCTION1(step_of, melt_verlet, Sim, Sim)

/* As many melts, or one, with room for every list. */
static const Sim *melts(pith_scope *s, int64_t batch) {
    const double side = 1.68, basis[4][3] = {{0}, {1, 1, 0}, {1, 0, 1}, {0, 1, 1}};
    double position[ATOMS][3];
    for (int i = 0; i < ATOMS; i++)
        for (int d = 0; d < 3; d++)
            position[i][d] = side * (i >> (2 + d) & 1) + side / 2 * basis[i % 4][d];
    const Options o = {.cutoff = 2.5,
                       .skin = 0.3,
                       .dt = 0.005,
                       .initial_capacity = 256,
                       .real = PITH_F64,
                       .batch = batch};
    return melt_atoms(s, &o, ATOMS, position[0], position[0],
                      (double[]){2 * side, 2 * side, 2 * side});
}

static void melts_row(const char *only, int threads) {
    char row[64];
    snprintf(row, sizeof row, "vmap/melt/%d", threads);
    if (!bench_wanted(row, only))
        return;
    pith_runtime *rt =
        pith_open(&(pith_open_options){.device = "host", .threads = threads});
    pith_scope *s = pith_scope_open(rt);
    const Sim *all = melts(s, MELTS);
    const void *entries[MELTS];
    for (int64_t k = 0; k < MELTS; k++)
        entries[k] = melt_entry(s, all, k);
    work batch = {
        .s = s, .f = pith_vmap(s, &steps_of, NULL), .count = 1, .arguments = {all}};
    work each = {.s = s, .f = pith_jit(s, &steps_of, NULL), .entries = entries};
    bench_check(s);
    const Sim *last = melt_entry(s, pith_apply(s, batch.f, all), MELTS - 1);
    if (!pith_tree_equal(s, last, pith_apply(s, each.f, entries[MELTS - 1])))
        abort(); /* the rows would compare different work */
    bench_row(row, "ms", 1e3, 2,
              (bench_entry[]){{"pith", call, &batch}, {"calls", call_each, &each}});
    pith_scope_close(s);
    pith_close(rt);
}

/* ---- Rows: chains ---- */

static bool named(char row[64], const char *kind, int64_t width, const char *only) {
    snprintf(row, 64, "vmap/%s/%lld", kind, (long long)width);
    return bench_wanted(row, only);
}

static void chain_rows(pith_scope *s, const char *only) {
    static const int64_t widths[] = {WIDTH, 10};
    double *x = numbers(ELEMENTS, -2, 2), *scale = numbers(WIDTH, 0.5, 1.5);
    const pith_vmap_options shared = {.in = PITH_MAPPED({"[1]", PITH_NOT_MAPPED})};
    for (int k = 0; k < 2; k++) {
        char row[64];
        const int64_t width = widths[k];
        if (!named(row, "chain", width, only) && !named(row, "check", width, only))
            continue;
        const pith_shape shape = PITH_SHAPE(ELEMENTS / width, width);
        work batch = {
            .s = s,
            .f = pith_vmap(s, &chain_of, &shared),
            .count = 2,
            .arguments = {array(s, shape, x), array(s, PITH_SHAPE(width), scale)},
            .plain = vmap_chain,
            .c = {.n = ELEMENTS, .width = width, .x = x, .scale = scale}};
        work flat = batch, checked = batch;
        flat.f = pith_jit(s, &chain_of, NULL);
        checked.f = pith_vmap(s, &checked_chain_of, &shared);
        batch.c.to = malloc(ELEMENTS * sizeof(double));
        plain(&batch);
        compare(s, pith_call(s, batch.f, 2, batch.arguments), &batch.c, 1e-12);
        if (named(row, "chain", width, only))
            bench_row(row, "ms", 1e3, 3,
                      (bench_entry[]){{"pith", call, &batch},
                                      {"flat", call, &flat},
                                      {"c", plain, &batch}});
        if (named(row, "check", width, only))
            bench_row(
                row, "ms", 1e3, 2,
                (bench_entry[]){{"pith", call, &checked}, {"unchecked", call, &batch}});
        free(batch.c.to);
    }
    free(x);
    free(scale);
}

/* ---- Rows: loops of unknown length ---- */

static void while_row(pith_scope *s, const char *only) {
    if (!bench_wanted("vmap/while", only))
        return;
    double *x = numbers(RUNS, -1, 1);
    int64_t *left = malloc(RUNS * sizeof *left);
    for (int64_t i = 0; i < RUNS; i++)
        left[i] = 1 + i * 37 % MOST;
    const pith_array *n = pith_array_copy(s, PITH_I64, PITH_SHAPE(RUNS), left);
    const Count *from =
        pith_record(s, Count, .x = array(s, PITH_SHAPE(RUNS), x), .left = n);
    work batch = {.s = s,
                  .f = pith_vmap(s, &count_of, NULL),
                  .count = 1,
                  .arguments = {from},
                  .plain = vmap_count,
                  .c = {.n = RUNS, .x = x, .left = left}};
    work flat = batch;
    flat.f = pith_jit(s, &count_flat_of, NULL);
    batch.c.to = malloc(RUNS * sizeof(double));
    plain(&batch);
    const Count *end = pith_apply(s, batch.f, from);
    bench_check(s);
    compare(s, end->x, &batch.c, 1e-12);
    bench_row("vmap/while", "ms", 1e3, 3,
              (bench_entry[]){
                  {"pith", call, &batch}, {"flat", call, &flat}, {"c", plain, &batch}});
    free(x);
    free(left);
    free(batch.c.to);
}

static void oscillator_row(pith_scope *s, const char *only) {
    if (!bench_wanted("vmap/oscillators", only))
        return;
    double *mu = numbers(RUNS, 0.05, 5);
    const pith_shape runs = PITH_SHAPE(RUNS);
    const pith_array *one = pith_ones(s, PITH_F64, runs);
    const Oscillator *from =
        pith_record(s, Oscillator, .x = one, .v = one, .t = pith_zeros(s, PITH_F64, runs),
                    .h = pith_full(s, PITH_F64, runs, 0.01), .mu = array(s, runs, mu));
    work batch = {.s = s,
                  .f = pith_vmap(s, &integrate_of, NULL),
                  .count = 1,
                  .arguments = {from},
                  .plain = vmap_oscillators,
                  .c = {.n = RUNS, .mu = mu, .to = malloc(RUNS * sizeof(double))}};
    plain(&batch);
    const Oscillator *end = pith_apply(s, batch.f, from);
    bench_check(s);
    compare(s, end->x, &batch.c, 1e-4);
    work lanes = batch;
    lanes.plain = vmap_oscillators_lanes;
    plain(&lanes);
    compare(s, end->x, &lanes.c, 1e-4);
    bench_row("vmap/oscillators", "ms", 1e3, 3,
              (bench_entry[]){{"pith", call, &batch},
                              {"c", plain, &batch},
                              {"c lanes", plain, &lanes}});
    free(mu);
    free(batch.c.to);
}

/* ---- Rows: recording ---- */

/* The program of a structure that has not been seen: another time step. */
static void record(void *closure) {
    work *w = closure;
    pith_scope *s = pith_scope_open_in(w->s);
    Sim next = *(const Sim *)w->arguments[0];
    next.dt = 1e-3 / (double)++w->tag;
    const void *in = pith_freeze(s, Sim, &next);
    pith_program_cost(s, w->f, 1, &in);
    bench_check(s);
    pith_scope_close(s);
}

static void record_row(pith_scope *s, const char *only) {
    if (!bench_wanted("vmap/record", only))
        return;
    const Sim *all = melts(s, MELTS);
    work batch = {.s = s, .f = pith_vmap(s, &step_of, NULL), .arguments = {all}};
    work one = {.s = s, .f = pith_jit(s, &step_of, NULL)};
    one.arguments[0] = melt_entry(s, all, 0);
    bench_check(s);
    bench_row("vmap/record", "ms", 1e3, 2,
              (bench_entry[]){{"pith", record, &batch}, {"step", record, &one}});
}

static void rows(pith_scope *s, const char *only) {
    chain_rows(s, only);
    while_row(s, only);
    oscillator_row(s, only);
    record_row(s, only);
}

int main(int argc, char **argv) {
    const char *only = bench_only(argc, argv);
    bench_compiled("wait", rows, only); /* compiled code from the first call on */
    melts_row(only, 1);
    melts_row(only, 2);
    return 0;
}
