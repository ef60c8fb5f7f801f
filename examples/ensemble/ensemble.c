/* 100,000 Lorenz systems in host memory, integrated in chunks by a part of a program that
 * may use half of a small device. */
#include <pith/pith.h>
#include <stdio.h>

enum { RUNS = 100000, STEPS = 200 };

typedef struct {
    const pith_array *x, *y, *z;
    const pith_array *rho; /* one parameter per run */
    const pith_array *dt;  /* the same for all runs */
} Lorenz;
PITH_NODE(Lorenz,
          PITH_LEAF(x, "f64[runs]"),
          PITH_LEAF(y, "f64[runs]"),
          PITH_LEAF(z, "f64[runs]"),
          PITH_LEAF(rho, "f64[runs]"),
          PITH_LEAF(dt, "f64"))

/* from + scale * slope, with the slopes of the Lorenz equations at `at`. */
static const Lorenz *
euler(pith_scope *s, const Lorenz *from, const Lorenz *at, const pith_array *scale) {
    const pith_binding *const names =
        PITH_BIND({"x", at->x}, {"y", at->y}, {"z", at->z}, {"r", at->rho});
    Lorenz next = *from;
    next.x = pith_add(s, from->x,
                      pith_mul(s, scale, pith_expression(s, "10 * (y - x)", names)));
    next.y = pith_add(s, from->y,
                      pith_mul(s, scale, pith_expression(s, "x * (r - z) - y", names)));
    next.z =
        pith_add(s, from->z,
                 pith_mul(s, scale, pith_expression(s, "x * y - 8.0 / 3.0 * z", names)));
    return pith_freeze(s, Lorenz, &next);
}

/* The midpoint method. */
static const Lorenz *midpoint(pith_scope *s, const Lorenz *now) {
    const pith_array *half = pith_mul(s, now->dt, 0.5);
    return euler(s, now, euler(s, now, now, half), now->dt);
}
PITH_FUNCTION1(midpoint_step, midpoint, Lorenz, Lorenz)

/* A host array of doubles, from first, each larger by step than the one before. */
static const pith_host_array *
ramp(pith_scope *s, pith_shape shape, double first, double step) {
    const pith_host_array *a = pith_host_make(s, PITH_F64, shape, NULL);
    for (int64_t i = 0; a && i < (shape.rank ? shape.extents[0] : 1); i++)
        ((double *)a->data)[i] = first + step * (double)i;
    return a;
}

int main(void) {
    /* A device of 8 MiB; two parts of the program share it. */
    pith_runtime *rt = pith_open(&(pith_open_options){.memory = 8 << 20});
    pith_scope *s = pith_scope_open(rt);
    pith_instance *solver =
        pith_instance_open(s, "solver", &(pith_instance_options){.proportion = 0.5});
    pith_memory_set_limits(s, PITH_LIMITS_ACTIVE); /* the share is a limit */
    pith_scope *in = pith_scope_open_on(rt, solver);

    /* The structure of one run, and the leaves of all runs in host memory. */
    const pith_array *one = pith_ones(s, PITH_F64, PITH_SHAPE(1));
    const Lorenz shape = {one, one, one, one, pith_f64(s, 0.005)};
    const pith_shape runs = PITH_SHAPE(RUNS);
    const pith_host_array *const leaves[] = {
        ramp(s, runs, 1, 0), ramp(s, runs, 1, 0), ramp(s, runs, 1, 0),
        ramp(s, runs, 0.5, 28.0 / RUNS), ramp(s, PITH_SCALAR, 0.005, 0)};
    const pith_host_tree all = {pith_tree_structure(s, pith_freeze(s, Lorenz, &shape)), 5,
                                leaves};

    pith_chunks chunks;
    const pith_host_tree *end = pith_run_chunked_host(
        in, pith_jit(in, &midpoint_step, NULL), &all, 0,
        &(pith_chunked_options){.steps = STEPS, .chunks = &chunks}, NULL);
    if (end) {
        const double *z = end->leaves[2]->data;
        printf("%.1f MB of state, %s\n", RUNS * 4 * 8 / 1e6,
               chunks.count > 1 ? "in chunks" : "at once");
        for (int i = 0; i < RUNS; i += RUNS / 4)
            printf("rho %4.1f: z %.4f\n", ((double *)leaves[3]->data)[i], z[i]);
        const size_t most = pith_instance_statistics(solver).peak;
        printf("the solver kept to its %s\n", most <= (4 << 20) ? "share" : "wishes");
    }
    const bool failed = pith_failed(s) || pith_failed(in);
    if (failed)
        fprintf(stderr, "%s\n", pith_message(pith_failed(s) ? s : in));
    pith_scope_close(in);
    pith_scope_close(s);
    pith_close(rt);
    return failed;
}
