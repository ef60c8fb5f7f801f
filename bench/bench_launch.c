/* What a launch costs: mpirun -np N bench_launch WHAT.
 *
 * pith, mpi: joining the ranks, by pith_mesh_open and by MPI_Init, in milliseconds; the
 * row ranks/join of two launches. work: processor time in milliseconds of all ranks for
 * the same steps in all: a compiled one over 1/N of a million numbers, with a sum over
 * the ranks; the row ranks/cpu/N. */
#include "bench.h"

#include <pith/mpi.h>
#include <sys/resource.h>

enum { NUMBERS = 1 << 20, STEPS = 300 };

static const void *step_of(pith_scope *s, const void *a) {
    const pith_array *x = pith_exp(s, pith_mul(s, a, -0.5));
    const pith_array *mean =
        pith_psum(s, pith_div(s, pith_sum(s, x, PITH_ALL_AXES), NUMBERS), "x", NULL);
    return pith_sub(s, x, mean);
}
PITH_FUNCTION1(step_function, step_of, void, void)

static double milliseconds_of_processor(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return 1e3 * (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-3 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void run_steps(pith_scope *s) {
    const int64_t size = pith_axis_size(s, "x"), rank = pith_axis_rank(s, "x");
    const pith_function *f = pith_jit(s, &step_function, NULL);
    const pith_array *own = pith_full(s, PITH_F64, PITH_SHAPE(NUMBERS / size), 1);
    bench_call(s, f, 1, (const void *const[]){own});
    const double before = milliseconds_of_processor();
    for (int i = 0; i < STEPS; i++)
        bench_call(s, f, 1, (const void *const[]){own});
    const double after = milliseconds_of_processor();
    const pith_array *all = pith_psum(s, pith_f64(s, after - before), "x", NULL);
    const double sum = pith_read_f64(s, all);
    if (rank == 0)
        printf("{\"row\": \"ranks/cpu/%d\", \"unit\": \"ms\", \"pith\": %.6g, \"peers\": "
               "{}}\n",
               (int)size, sum);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "pith";
    const bool by_mpi = strcmp(what, "mpi") == 0;
    int rank = 0;
    pith_runtime *rt = pith_open(&(pith_open_options){.device = "host", .threads = 1});
    pith_scope *s = pith_scope_open(rt);
    setenv("PITH_JIT", "wait", 0);
    const double start = bench_seconds();
    if (by_mpi)
        MPI_Init(&argc, &argv);
    else
        pith_mesh_open(s, PITH_MESH_AXES({"x", 0}), NULL);
    const double ms = 1e3 * (bench_seconds() - start);
    bench_check(s);
    if (by_mpi)
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    else
        rank = (int)pith_axis_rank(s, "x");
    if (strcmp(what, "work") == 0)
        run_steps(s);
    else if (rank == 0 && by_mpi)
        printf(
            "{\"row\": \"ranks/join\", \"unit\": \"ms\", \"peers\": {\"mpi\": %.6g}}\n",
            ms);
    else if (rank == 0)
        printf("{\"row\": \"ranks/join\", \"unit\": \"ms\", \"pith\": %.6g, \"peers\": "
               "{}}\n",
               ms);
    fflush(stdout);
    pith_scope_close(s);
    pith_close(rt);
    if (by_mpi)
        MPI_Finalize();
    return 0;
}
