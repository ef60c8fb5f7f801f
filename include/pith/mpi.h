/**
 * @file
 * Meshes over communicators of programs that use MPI themselves. Not part of pith.h: it
 * needs mpi.h, and the program links its MPI. Other programs need neither (mesh.h).
 */
#ifndef PITH_MPI_H
#define PITH_MPI_H

#include <mpi.h>
#include <pith/mesh.h>

/** The name of the MPI that this program is compiled with. */
#if defined(MPI_ABI_VERSION) && !defined(MPICH_VERSION) && !defined(OPEN_MPI)
#    define PITH_MPI_LIBRARY "abi"
#elif defined(OPEN_MPI)
#    define PITH_MPI_LIBRARY "openmpi"
#else
#    define PITH_MPI_LIBRARY "mpich" /* and those with its ABI */
#endif

/**
 * As pith_mesh_open, over the ranks of @p communicator, which is duplicated.
 *
 * The program has called MPI_Init or MPI_Init_thread, and calls MPI_Finalize after
 * pith_close: if it comes before, it closes the mesh as pith_close does, and collectives
 * fail after it. Calls on pith's collectives and on MPI come from one thread at a time.
 *
 * @par Errors
 * As pith_mesh_open. PITH_E_ARG: MPI_COMM_NULL, as of a process that MPI_Comm_split has
 * left out; an intercommunicator; the runtime has joined its ranks before.
 */
static inline const pith_mesh *pith_mesh_open_mpi(pith_scope *s,
                                                  MPI_Comm communicator,
                                                  const pith_mesh_axis *axes,
                                                  const pith_mesh_options *options) {
    return (pith_mesh_open_over)(s, PITH_MPI_LIBRARY, &communicator, sizeof communicator,
                                 axes, options);
}
#ifndef PITH_NO_SITES
#    define pith_mesh_open_mpi(s, ...) pith_mesh_open_mpi(PITH_AT(s), __VA_ARGS__)
#endif

#endif
