/* Rows of two ranks, in microseconds a call, beside the same work by hand on memory that
 * the program has already ("mpi"): mpirun -np 2 bench_X. Both ranks make the same number
 * of calls, which no clock decides. */
#ifndef BENCH_RANKS_H
#define BENCH_RANKS_H

#include "bench.h"

#include <pith/mpi.h>

enum { BENCH_RANK_SAMPLES = 15 };

/* Calls that make a sample of some milliseconds. */
static inline int64_t bench_ranks_calls(int64_t bytes, double parts) {
    const int64_t calls = bytes > 1 << 22   ? 3
                          : bytes > 1 << 20 ? 10
                          : bytes > 1 << 16 ? 60
                          : bytes > 1 << 13 ? 400
                                            : 2000;
    return parts > 1 ? 1 + calls / (int64_t)parts : calls;
}

/* Medians of samples taken in turn, in microseconds, on each rank its own. */
static inline void bench_ranks_measure(int count,
                                       void (*const *run)(void *),
                                       void *closure,
                                       int64_t calls,
                                       double *values) {
    double samples[BENCH_ENTRIES][BENCH_RANK_SAMPLES];
    for (int r = -1; r < BENCH_RANK_SAMPLES; r++)
        for (int i = 0; i < count; i++) {
            MPI_Barrier(MPI_COMM_WORLD);
            const double start = bench_seconds();
            for (int64_t k = 0; k < calls; k++)
                run[i](closure);
            if (r >= 0)
                samples[i][r] = 1e6 * (bench_seconds() - start) / (double)calls;
        }
    for (int i = 0; i < count; i++)
        values[i] = bench_median(samples[i], BENCH_RANK_SAMPLES);
}

/* One row of pith and MPI; rank 0 prints it. */
static inline void bench_ranks_print(const char *row, const double *values) {
    const bench_entry entries[] = {{"pith", NULL, NULL}, {"mpi", NULL, NULL}};
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        bench_print(row, "us", 2, entries, values);
}

static inline void bench_ranks_of(const char *row,
                                  int64_t bytes,
                                  double parts,
                                  void *closure,
                                  void (*pith)(void *),
                                  void (*mpi)(void *)) {
    void (*const run[])(void *) = {pith, mpi};
    double values[2];
    bench_ranks_measure(2, run, closure, bench_ranks_calls(bytes, parts), values);
    values[0] /= parts;
    values[1] /= parts;
    bench_ranks_print(row, values);
}

/* Open a mesh of the two ranks, make the rows, and close it. Returns the exit status. */
static inline int
bench_ranks_main(int argc,
                 char **argv,
                 void (*rows)(pith_scope *s, int rank, const char *only)) {
    int rank = 0, size = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    setenv("PITH_JIT", "wait", 0); /* rows of compiled functions are compiled */
    pith_runtime *rt = pith_open(&(pith_open_options){.device = "host", .threads = 1});
    pith_scope *s = pith_scope_open(rt);
    pith_mesh_open_mpi(s, MPI_COMM_WORLD, PITH_MESH_AXES({"x", 0}), NULL);
    if (size == 2)
        rows(s, rank, bench_only(argc, argv));
    const int status = pith_failed(s) || size != 2;
    if (status)
        fprintf(stderr, "%s: %s\n", argv[0],
                size != 2 ? "it takes 2 ranks" : pith_message(s));
    pith_clear(s);
    pith_scope_close(s);
    pith_close(rt);
    MPI_Finalize();
    return status;
}

#endif
