/* The sum of the numbers of all ranks; WITH_MPI: of a program that uses MPI itself. */
#ifdef WITH_MPI
#    include <pith/mpi.h>
#endif
#include <pith/pith.h>
#include <stdio.h>

static const pith_mesh *open_mesh(pith_scope *s) {
#ifdef WITH_MPI
    return pith_mesh_open_mpi(s, MPI_COMM_WORLD, PITH_MESH_AXES({"x", 0}), NULL);
#else
    return pith_mesh_open(s, PITH_MESH_AXES({"x", 0}), NULL);
#endif
}

static int run(void) {
    pith_runtime *rt = pith_open(&(pith_open_options){.device = "host"});
    pith_scope *s = pith_scope_open(rt);
    const pith_mesh_info info = pith_mesh_about(open_mesh(s));
    const long long sum =
        pith_read_i64(s, pith_psum(s, pith_i64(s, info.rank + 1), NULL, NULL));
    const int failed = pith_failed(s);
    if (failed)
        fprintf(stderr, "%s\n", pith_message(s));
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
