/**
 * @file
 * Meshes: named axes over the processes that a launcher started, one device each.
 *
 * One process is one rank, with one runtime at a time. The first pith_mesh_open of a
 * runtime joins the world: all processes that mpirun, mpiexec, srun or flux started.
 * Without a launcher there is one rank, and no library is opened. pith_close leaves the
 * world again; another runtime may join it then.
 *
 * All ranks make the same calls in the same order. Each call here, and each collective
 * (array_collective.h), compares first what the ranks are about to do. If they differ,
 * every rank gets PITH_E_DIVERGED, which names both call sites. If the scope of a rank
 * has failed, the others get PITH_E_PEER with its message. No wait is without end
 * (pith_mesh_options.timeout).
 *
 * Axes are given as text: "x", "x,y" (one axis of both, x slowest), or NULL: all axes of
 * the mesh.
 */
#ifndef PITH_MESH_H
#define PITH_MESH_H

#include <pith/base.h>

/** Named axes over all ranks. Lives as long as its runtime; equal ones are one object. */
typedef struct pith_mesh pith_mesh;

/** An axis of a mesh; see PITH_MESH_AXES. */
typedef struct pith_mesh_axis {
    const char *name; /**< a name as in C, at most 15 characters */
    int64_t size;     /**< number of ranks along it; 0: chosen, as balanced as possible */
} pith_mesh_axis;

/** The axes of pith_mesh_open: PITH_MESH_AXES({"x", 2}, {"y", 0}). */
#define PITH_MESH_AXES(...) PITH_ARRAY_(pith_mesh_axis, __VA_ARGS__, {NULL, 0})

/** Options of pith_mesh_open; zero is the default. */
typedef struct pith_mesh_options {
    /** "mpi", or "self": this process alone. NULL: PITH_MESH of the environment; without
     * it MPI if a launcher started several processes, else "self". */
    const char *transport PITH_DEFAULT;
    /** Seconds that a wait for other ranks may last; then the job ends. 0:
     * PITH_MESH_TIMEOUT of the environment, or 300; negative: for ever. Rank 0's holds.
     */
    double timeout PITH_DEFAULT;
    /** Hold plain arguments against those of the other ranks, bit for bit: of every call
     * of a compiled function with collectives, and the states of pith_propagate and
     * pith_run. For programs in which they are replicated; for finding what differs. Rank
     * 0's holds. */
    bool compare PITH_DEFAULT;
    bool share_device PITH_DEFAULT; /**< several ranks may have one GPU */
} pith_mesh_options;

/** This process within its world. */
typedef struct pith_mesh_info {
    int64_t rank, size;           /**< of all ranks */
    int64_t node_rank, node_size; /**< of the ranks on this node */
    int64_t node, nodes;          /**< of the nodes */
    const char *transport;        /**< "mpi" or "self" */
    const char *library;          /**< such as "Open MPI 4.1.4"; "" for "self" */
    const char *device;           /**< such as "cuda:2" or "host" */
    const char *host;             /**< name of the node */
} pith_mesh_info;

PITH_BEGIN

/**
 * A mesh, which @p s and its children use from here on.
 *
 * Ranks are numbered row-major: the last axis is the fastest. Ranks of a node are
 * neighbours along the last axes. The first call of a runtime joins the world; the
 * settings PITH_* of rank 0's environment then hold on all ranks, but for those that
 * pith_open has read. All ranks use the least of their instruction sets.
 *
 * @param axes At most 8, ended by a NULL name; see PITH_MESH_AXES.
 * @param options NULL for the defaults. Those of the first call of a runtime apply.
 * @return The mesh, which lives as long as the runtime, or NULL.
 *
 * @par Errors
 * PITH_E_ARG: an invalid name, size, option or variable; a product of sizes that is not
 * the number of ranks. PITH_E_UNSUPPORTED: there is no plugin for the MPI of the
 * launcher, or it finds another number of ranks than the launcher started; two ranks have
 * one GPU; another runtime of this process has joined. PITH_E_DIVERGED: ranks differ in
 * the call, in pith's version, in the program, or in the kind of their devices.
 * PITH_E_PEER. PITH_E_TRACED.
 */
PITH_API const pith_mesh *pith_mesh_open(pith_scope *s,
                                         const pith_mesh_axis *axes,
                                         const pith_mesh_options *options);

/**
 * As pith_mesh_open, over the ranks of a communicator of an MPI that the program has
 * initialised. Use pith_mesh_open_mpi of pith/mpi.h, which passes the first three of
 * these.
 *
 * @param library The MPI of the program: "openmpi", "mpich" or "abi".
 * @param communicator Address of the MPI_Comm, which is duplicated.
 * @param bytes Its size.
 */
PITH_API const pith_mesh *pith_mesh_open_over(pith_scope *s,
                                              const char *library,
                                              const void *communicator,
                                              size_t bytes,
                                              const pith_mesh_axis *axes,
                                              const pith_mesh_options *options);

/** The mesh that @p s uses; NULL: none was opened in it or in an enclosing scope. */
PITH_API const pith_mesh *pith_mesh_of(const pith_scope *s);

/** This process in the world of a mesh. All members are 0, or "", for NULL. */
PITH_API pith_mesh_info pith_mesh_about(const pith_mesh *mesh);

/** Number of ranks along axes of the scope's mesh; 0 on failure. Does not communicate.
 *
 * @par Errors
 * PITH_E_ARG: the scope has no mesh, or the mesh has no such axis. */
PITH_API int64_t pith_axis_size(pith_scope *s, const char *axes);

/** The number of this process along axes of the scope's mesh, from 0; -1 on failure. Does
 * not communicate.
 *
 * @par Errors
 * As pith_axis_size. */
PITH_API int64_t pith_axis_rank(pith_scope *s, const char *axes);

/**
 * Whether no rank's scope has an error. Otherwise every rank's scope has one that names
 * the first. The call waits for the checks of the scope. A rank that has left out calls
 * after an error waits here for the others.
 *
 * @par Errors
 * PITH_E_PEER: the scope of another rank has failed. PITH_E_DIVERGED: another rank makes
 * another call. PITH_E_ARG: the scope has no mesh.
 */
PITH_API bool pith_agree(pith_scope *s);

/**
 * Seconds of one operation of the engine alone, without what pith adds: a floor to
 * measure against. The greatest of all ranks, as a mean of repeats; 0 on failure.
 *
 * @param operation "agree": a reduction of 64 bytes. "reduce": a sum of f64 in the
 * engine's order. "exchange": to the next rank and from the one before.
 * @param bytes Of each message; ignored by "agree".
 */
PITH_API double pith_mesh_time_engine(pith_scope *s,
                                      const char *operation,
                                      int64_t bytes,
                                      int64_t repeats);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_mesh_open(s, ...)        pith_mesh_open(PITH_AT(s), __VA_ARGS__)
#    define pith_mesh_open_over(s, ...)   pith_mesh_open_over(PITH_AT(s), __VA_ARGS__)
#    define pith_axis_size(s, ...)        pith_axis_size(PITH_AT(s), __VA_ARGS__)
#    define pith_axis_rank(s, ...)        pith_axis_rank(PITH_AT(s), __VA_ARGS__)
#    define pith_agree(s)                 pith_agree(PITH_AT(s))
#    define pith_mesh_time_engine(s, ...) pith_mesh_time_engine(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
