/* A small complete program of ranks: rows that are divided, a compiled step over the
 * shards, a checkpoint of all ranks that is loaded again. WITH_MPI: of a program that
 * uses MPI itself. */
#ifdef WITH_MPI
#    include <pith/mpi.h>
#endif
#include <pith/pith.h>
#include <stdio.h>

typedef struct {
    const pith_array *x, *count;
    int64_t max;
} Rows;
PITH_NODE(Rows,
          PITH_LEAF(x, "f64[max]", .shard = "x", .rows = "count"),
          PITH_LEAF(count, "i64[]", .shard = "x"),
          PITH_STATIC(max))

/* Every row gets the mean of the rows of all ranks. */
static const Rows *spread(pith_scope *s, const Rows *in) {
    const pith_array *sum =
        pith_psum_rows(s, in->x, NULL, &(pith_collective_options){.rows = in->count});
    const pith_array *rows = pith_cast(s, pith_psum(s, in->count, NULL, NULL), PITH_F64);
    Rows next = *in;
    next.x = pith_add(s, pith_mul(s, in->x, 0.0), pith_div(s, sum, rows));
    return pith_freeze(s, Rows, &next);
}
PITH_FUNCTION1(spread_step, spread, Rows, Rows)

static const pith_mesh *open_mesh(pith_scope *s) {
#ifdef WITH_MPI
    return pith_mesh_open_mpi(s, MPI_COMM_WORLD, PITH_MESH_AXES({"x", 0}), NULL);
#else
    return pith_mesh_open(s, PITH_MESH_AXES({"x", 0}), NULL);
#endif
}

/* Step, save, load; whether each of the 7 rows is the mean, 3. */
static bool divides(pith_scope *s) {
    enum { ALL = 7 };
    const Rows all = {.x = pith_iota(s, PITH_F64, PITH_SHAPE(ALL), 0),
                      .count = pith_i64(s, ALL),
                      .max = ALL};
    const Rows *state = pith_shard(s, pith_freeze(s, Rows, &all), NULL);
    const pith_function *step = pith_jit(s, pith_shard_map(s, &spread_step, NULL), NULL);
    state = pith_apply(s, step, state);
    pith_save(s, state, "ranks.json", NULL);
    const Rows *whole = pith_unshard(s, pith_load(s, Rows, "ranks.json"), -1);
    const pith_array *wanted = pith_full(s, PITH_F64, PITH_SHAPE(ALL), 3);
    return pith_tree_equal(s, whole->x, wanted);
}

static int run(void) {
    pith_runtime *rt = pith_open(&(pith_open_options){.device = "host"});
    pith_scope *s = pith_scope_open(rt);
    const pith_mesh_info info = pith_mesh_about(open_mesh(s));
    const long long sum =
        pith_read_i64(s, pith_psum(s, pith_i64(s, info.rank + 1), NULL, NULL));
    const bool divided = divides(s);
    const int failed = pith_failed(s) || !divided;
    if (failed)
        fprintf(stderr, "rank %d: %s\n", (int)info.rank, pith_message(s));
    else if (info.rank == 0)
        printf("%d ranks: sum %lld\n", (int)info.size, sum);
    pith_scope_close(s);
    pith_close(rt);
    return failed;
}

int main(int argc, char **argv) {
    (void)argc;
    (void)argv;
#ifdef WITH_MPI
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
    const int failed = run();
    MPI_Finalize();
    return failed;
#else
    return run();
#endif
}
