/* A program that uses MPI itself: meshes over a part of its ranks, and over all of them
 * in another order. */
#include <pith/mpi.h>
#include <pith/pith.h>
#include <stdio.h>

static int sum_over(MPI_Comm comm) {
    int rank = 0, size = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    pith_runtime *rt = pith_open(&(pith_open_options){.device = "host", .threads = 1});
    pith_scope *s = pith_scope_open(rt);
    const pith_mesh *mesh = pith_mesh_open_mpi(s, comm, PITH_MESH_AXES({"x", 0}), NULL);
    const pith_mesh_info info = pith_mesh_about(mesh);
    const double sum = pith_read_f64(s, pith_psum(s, pith_f64(s, rank + 1), NULL, NULL));
    const int good = !pith_failed(s) && info.rank == rank && info.size == size &&
                     sum == size * (size + 1) / 2;
    if (!good)
        fprintf(stderr, "rank %d of %d: %g: %s\n", rank, size, sum, pith_message(s));
    pith_scope_close(s);
    pith_close(rt);
    return good;
}

int main(int argc, char **argv) {
    int level = 0, rank = 0, size = 0;
    MPI_Comm comm;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comm);
    int good = sum_over(comm);
    MPI_Comm_free(&comm);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
    good &= sum_over(comm);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return !good;
}
