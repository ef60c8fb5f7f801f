/* A program that uses MPI itself: meshes over a part of its ranks, and over all of them
 * in another order; what is no communicator for a mesh; MPI_Finalize before pith_close.
 */
#include <pith/mpi.h>
#include <pith/pith.h>
#include <stdio.h>
#include <string.h>

static const pith_open_options on_host = {.device = "host", .threads = 1};

static int sum_over(MPI_Comm comm) {
    int rank = 0, size = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    pith_runtime *rt = pith_open(&on_host);
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

/* Whether the last call on s has failed in this way. */
static int fails(pith_scope *s, pith_status code, const char *text) {
    const int good = pith_code(s) == code && strstr(pith_message(s), text);
    if (!good)
        fprintf(stderr, "expected \"%s\", got %s: %s\n", text,
                pith_status_name(pith_code(s)), pith_message(s));
    pith_clear(s);
    return good;
}

/* Every process has an error, and the job goes on. */
static int refused(int rank) {
    const pith_mesh_axis *axes = PITH_MESH_AXES({"x", 0});
    pith_runtime *rt = pith_open(&on_host);
    pith_scope *s = pith_scope_open(rt);
    MPI_Comm comm, part, world[2] = {MPI_COMM_WORLD, MPI_COMM_WORLD};
    int good = 1;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &part);
    MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, 1 - rank % 2, 1, &comm);
    pith_mesh_open_mpi(s, comm, axes, NULL);
    good &= fails(s, PITH_E_ARG, "the communicator is an intercommunicator");
    MPI_Comm_free(&comm);
    MPI_Comm_free(&part);
    pith_mesh_open_mpi(s, MPI_COMM_NULL, axes, NULL);
    good &= fails(s, PITH_E_ARG, "the communicator is MPI_COMM_NULL");
    pith_mesh_open_over(s, PITH_MPI_LIBRARY, world, sizeof world, axes, NULL);
    good &= fails(s, PITH_E_ARG, "the communicator has ");
    pith_mesh_open_over(s, "another", world, sizeof *world, axes, NULL);
    good &= fails(
        s, PITH_E_ARG,
        "the communicator is one of another, but this process uses " PITH_MPI_LIBRARY);
    pith_scope_close(s);
    pith_close(rt);
    return good;
}

/* MPI_Finalize closes a mesh that is open. */
static int finalize_first(void) {
    const pith_mesh_axis *axes = PITH_MESH_AXES({"x", 2}, {"y", 0});
    pith_runtime *rt = pith_open(&on_host), *other = pith_open(&on_host);
    pith_scope *s = pith_scope_open(rt), *o = pith_scope_open(other);
    pith_mesh_open_mpi(s, MPI_COMM_WORLD, axes, NULL);
    pith_mesh_open_mpi(o, MPI_COMM_WORLD, axes, NULL);
    int good = fails(o, PITH_E_UNSUPPORTED, "another runtime of this process has joined");
    pith_scope_close(o);
    pith_close(other);
    good &= pith_read_i64(s, pith_psum(s, pith_i64(s, 1), "x", NULL)) == 2;
    MPI_Finalize();
    pith_psum(s, pith_i64(s, 1), "y", NULL);
    good &= fails(s, PITH_E_PEER, "the mesh was closed by MPI_Finalize");
    pith_agree(s);
    good &= fails(s, PITH_E_PEER, "the mesh was closed by MPI_Finalize");
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
    if (!good)
        MPI_Finalize(); /* also under the launcher of another MPI */
    return !good || !refused(rank) || !finalize_first();
}
