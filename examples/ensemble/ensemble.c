/* 100,000 Lorenz systems in host memory. Each is integrated with steps of its own size: a
 * loop of unknown length over one system, mapped over chunks of them. The solver may use
 * a quarter of a small device.
 *
 *     ensemble                           all systems in one process
 *     mpirun -np 2 ensemble --ranks      shared among ranks, with the same results
 *     ensemble [--ranks] 40              as many blocks of time; 4 without a number */
#include <pith/pith.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RUNS = 100000 };
#define BLOCK     0.25 /* time between reports */
#define TOLERANCE 1e-3 /* of a step */

typedef struct {
    const pith_array *x, *y, *z;
    const pith_array *rho;   /* a parameter */
    const pith_array *t, *h; /* time within the block, and size of the next step */
    const pith_array *tries; /* steps so far, accepted or not */
} Lorenz;
PITH_NODE(Lorenz,
          PITH_LEAF(x, "f64"),
          PITH_LEAF(y, "f64"),
          PITH_LEAF(z, "f64"),
          PITH_LEAF(rho, "f64"),
          PITH_LEAF(t, "f64"),
          PITH_LEAF(h, "f64"),
          PITH_LEAF(tries, "i64"))

/* ---- One system ---- */

/* from + h * slope, with the slopes of the Lorenz equations at `at`. */
static const Lorenz *
euler(pith_scope *s, const Lorenz *from, const Lorenz *at, const pith_array *h) {
    const pith_binding *const names =
        PITH_BIND({"x", at->x}, {"y", at->y}, {"z", at->z}, {"r", at->rho});
    Lorenz next = *from;
    next.x =
        pith_add(s, from->x, pith_mul(s, h, pith_expression(s, "10 * (y - x)", names)));
    next.y = pith_add(s, from->y,
                      pith_mul(s, h, pith_expression(s, "x * (r - z) - y", names)));
    next.z = pith_add(s, from->z,
                      pith_mul(s, h, pith_expression(s, "x * y - 8.0 / 3.0 * z", names)));
    return pith_freeze(s, Lorenz, &next);
}

static const pith_array *distance(pith_scope *s, const Lorenz *a, const Lorenz *b) {
    const pith_array *x = pith_abs(s, pith_sub(s, a->x, b->x)),
                     *y = pith_abs(s, pith_sub(s, a->y, b->y)),
                     *z = pith_abs(s, pith_sub(s, a->z, b->z));
    return pith_maximum(s, x, pith_maximum(s, y, z));
}

/* A step of the midpoint method. One whose error, the distance to a step of Euler's
 * method, is above the tolerance is done again with a smaller size. */
static const Lorenz *attempt(pith_scope *s, const Lorenz *now) {
    const pith_array *left = pith_sub(s, BLOCK, now->t),
                     *h = pith_minimum(s, now->h, left);
    const Lorenz *rough = euler(s, now, now, h);
    const Lorenz *half = euler(s, now, now, pith_mul(s, h, 0.5));
    const Lorenz *to = euler(s, now, half, h);
    const pith_array *error = pith_div(s, distance(s, to, rough), TOLERANCE);
    const pith_array *good = pith_less_equal(s, error, 1.0);
    const pith_array *t =
        pith_where(s, pith_equal(s, h, left), BLOCK, pith_add(s, now->t, h));
    const pith_array *factor =
        pith_clip(s, pith_div(s, 0.9, pith_sqrt(s, error)), 0.2, 5.0);
    Lorenz next = *now;
    next.x = pith_where(s, good, to->x, now->x);
    next.y = pith_where(s, good, to->y, now->y);
    next.z = pith_where(s, good, to->z, now->z);
    next.t = pith_where(s, good, t, now->t);
    next.h = pith_mul(s, h, factor);
    next.tries = pith_add(s, now->tries, 1);
    return pith_freeze(s, Lorenz, &next);
}
PITH_FUNCTION1(attempt_step, attempt, Lorenz, Lorenz)

static const pith_array *before_end(pith_scope *s, const Lorenz *now) {
    return pith_less(s, now->t, BLOCK);
}
PITH_FUNCTION1(is_before_end, before_end, pith_array, Lorenz)

static const Lorenz *integrate(pith_scope *s, const Lorenz *from) {
    Lorenz start = *from;
    start.t = pith_f64(s, 0);
    return pith_while(s, &is_before_end, &attempt_step, pith_freeze(s, Lorenz, &start));
}
PITH_FUNCTION1(integration, integrate, Lorenz, Lorenz)

/* ---- All of them ---- */

/* The runs of this rank. They are dealt to the ranks in turn, because those with a large
 * rho take more steps: row i is run first + i * ranks. All ranks have the same number of
 * rows; the last one may be the last run again. */
typedef struct {
    int64_t first, ranks, rows;
} Share;

static Share share_of(pith_scope *s) {
    const int64_t ranks = pith_axis_size(s, NULL);
    return (Share){pith_axis_rank(s, NULL), ranks, ranks ? (RUNS - 1) / ranks + 1 : 0};
}

static const pith_host_tree *start(pith_scope *outer, Share share) {
    pith_scope *s = pith_scope_open_in(outer); /* ends with its arrays */
    const pith_shape rows = PITH_SHAPE(share.rows);
    const pith_array *run =
        pith_mul(s, pith_arange(s, PITH_I64, share.rows), share.ranks);
    run = pith_minimum(s, pith_add(s, run, share.first), RUNS - 1);
    const pith_array *one = pith_ones(s, PITH_F64, rows);
    const pith_array *rho = pith_mul(s, pith_cast(s, run, PITH_F64), 28.0 / RUNS);
    const Lorenz *all = pith_record(
        s, Lorenz, .x = one, .y = one, .z = one, .rho = pith_add(s, rho, 0.5),
        .t = pith_zeros(s, PITH_F64, rows), .h = pith_full(s, PITH_F64, rows, 0.01),
        .tries = pith_zeros(s, PITH_I64, rows));
    const pith_host_tree *runs = pith_host_tree_copy(outer, all, NULL);
    pith_scope_close(s);
    return runs;
}

static const pith_array *leaf_of(pith_scope *s, const pith_host_tree *runs, int leaf) {
    const pith_host_array *own = runs->leaves[leaf];
    return pith_array_copy(s, own->dtype, own->shape, own->data);
}

/* The least and the greatest element of a leaf, of all ranks. */
static void
range(pith_scope *s, const pith_host_tree *runs, int leaf, double least_most[2]) {
    const pith_array *own = leaf_of(s, runs, leaf);
    const pith_array *least = pith_pmin(s, pith_min(s, own, PITH_ALL_AXES), NULL),
                     *most = pith_pmax(s, pith_max(s, own, PITH_ALL_AXES), NULL);
    least_most[0] = pith_read_f64(s, pith_cast(s, least, PITH_F64));
    least_most[1] = pith_read_f64(s, pith_cast(s, most, PITH_F64));
}

static void
report(pith_scope *outer, Share share, const pith_host_tree *runs, double time) {
    pith_scope *s = pith_scope_open_in(outer);
    double z[2], tries[2];
    range(s, runs, 2, z);
    range(s, runs, 6, tries);
    if (share.first == 0 && !pith_failed(s))
        printf("t %.2f: z from %.12f to %.12f, %.0f to %.0f steps\n", time, z[0], z[1],
               tries[0], tries[1]);
    pith_scope_close(s);
}

/* z of all runs, in their order, is in ensemble.json, which rank 0 writes. */
static void finish(pith_scope *s, Share share, const pith_host_tree *runs) {
    const pith_array *z = leaf_of(s, runs, 2);
    if (share.ranks > 1) /* [ranks, rows] */
        z = pith_transpose(s, pith_all_stack(s, z, NULL), NULL);
    z = pith_reshape(s, z, PITH_SHAPE(-1));
    z = pith_slice_array(s, z, 1, &PITH_SLICE(0, RUNS, 1));
    pith_save(s, z, "ensemble.json", NULL);
    for (int64_t i = 0; i < RUNS; i += RUNS / 4) {
        const double one = pith_read_f64(s, pith_slice_at(s, z, 0, i));
        if (share.first == 0 && !pith_failed(s))
            printf("rho %4.1f: z %.4f\n", 0.5 + 28.0 / RUNS * (double)i, one);
    }
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Each chunk of a block is one call of the compiled step; ranks agree once for each. The
 * runs of a block are in a scope of their own, which ends with the next block: its result
 * gets the memory of the runs before. */
static void run(pith_scope *s, pith_scope *solver, int blocks) {
    const Share share = share_of(s);
    const pith_function *step =
        pith_jit(solver, pith_vmap(solver, &integration, NULL), NULL);
    pith_scope *before = pith_scope_open_in(solver);
    const pith_host_tree *now = start(s, share);
    for (int block = 1; block <= blocks && now; block++) {
        const double began = seconds();
        pith_scope *here = pith_scope_open_in(solver);
        now = pith_run_chunked_host(here, step, now, 0, NULL, NULL);
        if (now)
            report(s, share, now, block * BLOCK);
        pith_scope_close(before);
        before = here;
        if (share.first == 0)
            fprintf(stderr, "block %d: %.3f s\n", block, seconds() - began);
    }
    if (now)
        finish(s, share, now);
    pith_scope_close(before);
}

/* Several processes are the ranks of a job, and not as many ensembles. */
static void open_ranks(pith_scope *s, pith_scope *solver, bool shared) {
    pith_mesh_open(s, PITH_MESH_AXES({"run", 0}), NULL);
    pith_mesh_open(solver, PITH_MESH_AXES({"run", 0}), NULL);
    const int64_t ranks = pith_axis_size(s, NULL);
    if (ranks > 1 && !shared)
        pith_fail(s, PITH_E_ARG, NULL,
                  "%d ranks were started: --ranks shares the runs among them",
                  (int)ranks);
}

int main(int count, char **words) {
    const bool shared = count > 1 && strcmp(words[1], "--ranks") == 0;
    const int blocks = count > 1 + shared ? atoi(words[1 + shared]) : 4;
    if (count > 2 + shared || blocks < 1) {
        fprintf(stderr, "usage: ensemble [--ranks] [BLOCKS]\n");
        return 2;
    }
    /* A device of 16 MiB; two parts of the program share it. */
    pith_runtime *rt = pith_open(&(pith_open_options){.memory = 16 << 20});
    pith_scope *s = pith_scope_open(rt);
    pith_instance *part =
        pith_instance_open(s, "solver", &(pith_instance_options){.proportion = 0.125});
    pith_memory_set_limits(s, PITH_LIMITS_ACTIVE); /* the share is a limit */
    pith_scope *solver = pith_scope_open_on(rt, part);
    open_ranks(s, solver, shared);
    const bool quiet = pith_axis_rank(solver, NULL) > 0;
    if (!pith_failed(s))
        run(s, solver, blocks);
    const bool failed = pith_failed(s) || pith_failed(solver);
    if (failed && !quiet)
        fprintf(stderr, "ensemble: %s\n", pith_message(pith_failed(s) ? s : solver));
    pith_scope_close(solver);
    pith_scope_close(s);
    pith_close(rt);
    return failed;
}
