/**
 * @file
 * Collectives: operations over the arrays of all ranks of a mesh (mesh.h).
 *
 * Each rank calls them with an array of its own; dtypes and shapes are equal on all
 * ranks. Axes are those of the scope's mesh, as text; NULL names all. Ranks that differ
 * only along other axes form groups of their own. All ranks of the mesh make every call.
 *
 * Before data move, ranks compare operation, dtype, shape, axes and call site. A
 * difference is PITH_E_DIVERGED on every rank and names both sites. A scope that has
 * failed takes part with its error instead of data; its peers get PITH_E_PEER with its
 * message.
 *
 * Calls wait for the scope's stream, and for the other ranks. Inside of a function that
 * is being recorded they become part of its program: a run of it compares the program of
 * the ranks once, before it begins, and makes its collectives in the recorded order
 * (docs/concepts/many-devices.md).
 *
 * @par Errors
 * Common to all: those of array.h. PITH_E_ARG: the scope has no mesh, or the mesh has no
 * such axis. PITH_E_DIVERGED, PITH_E_PEER.
 */
#ifndef PITH_ARRAY_COLLECTIVE_H
#define PITH_ARRAY_COLLECTIVE_H

#include <pith/array.h>

/** Options of collectives; zero is the default. */
typedef struct pith_collective_options {
    /** i64, rank 0: rows of axis 0 in use; the others count as zeros, and are not sent:
     * of a sum, those that no rank has in use. NULL: all. Ranks may differ in the number.
     * Below 0 or above the extent: PITH_E_INDEX, in a program or a collection a failed
     * check without a fix. It follows from a failed check with a fix in the same step, on
     * any rank: a number may outgrow an array whose capacity grows. */
    const pith_array *rows PITH_DEFAULT;
    /** Sums of floats in the order of the engine: faster, but the bits may differ between
     * engines, numbers of ranks, and sizes of messages. */
    bool unordered PITH_DEFAULT;
} pith_collective_options;

PITH_BEGIN

/** The number of this rank along axes: i32, rank 0. */
PITH_API const pith_array *pith_axis_index(pith_scope *s, const char *axes);

/**
 * The sum over ranks. bool is counted in i64, and integers wrap.
 *
 * Order: that of pith_sum of pith_all_stack over axis 0, with the same bits on every
 * engine.
 */
PITH_API const pith_array *pith_psum(pith_scope *s,
                                     const pith_array *a,
                                     const char *axes,
                                     const pith_collective_options *options);

/** The mean over ranks, of floats: pith_mean of pith_all_stack over axis 0.
 *
 * @par Errors
 * PITH_E_DTYPE: not a float. */
PITH_API const pith_array *pith_pmean(pith_scope *s,
                                      const pith_array *a,
                                      const char *axes,
                                      const pith_collective_options *options);

/** The greatest element over ranks; NaN if a rank has NaN, as pith_max. */
PITH_API const pith_array *
pith_pmax(pith_scope *s, const pith_array *a, const char *axes);

/** The least element over ranks; NaN if a rank has NaN, as pith_min. */
PITH_API const pith_array *
pith_pmin(pith_scope *s, const pith_array *a, const char *axes);

/** The array of rank @p root, counted along the axes from 0. */
PITH_API const pith_array *
pith_pbroadcast(pith_scope *s, const pith_array *a, const char *axes, int64_t root);

/** The sum over the ranks before this one, of integers; zero on the first. Sums wrap.
 *
 * @par Errors
 * PITH_E_DTYPE: not an integer. */
PITH_API const pith_array *
pith_pscan(pith_scope *s, const pith_array *a, const char *axes);

/** The arrays of P ranks, joined along an axis: [n, ...] to [P*n, ...] for axis 0. */
PITH_API const pith_array *
pith_all_gather(pith_scope *s, const pith_array *a, const char *axes, int axis);

/** The arrays of P ranks along a new first axis: [...] to [P, ...]. */
PITH_API const pith_array *
pith_all_stack(pith_scope *s, const pith_array *a, const char *axes);

/**
 * This rank's block of the sum over P ranks: [P*n, ...] to [n, ...] for axis 0, with the
 * bits of pith_psum.
 *
 * @par Errors
 * PITH_E_SHAPE: the extent is no multiple of P.
 */
PITH_API const pith_array *pith_reduce_scatter(pith_scope *s,
                                               const pith_array *a,
                                               const char *axes,
                                               int axis,
                                               const pith_collective_options *options);

/**
 * Split the array along one axis into a block for each of P ranks, and join the blocks
 * that arrive along another: with split 0 and join 1 from [P*n, m] to [n, P*m].
 *
 * @par Errors
 * PITH_E_SHAPE: the extent of @p split is no multiple of P.
 */
PITH_API const pith_array *pith_all_to_all(pith_scope *s,
                                           const pith_array *a,
                                           const char *axes,
                                           int split,
                                           int join,
                                           const pith_collective_options *options);

/**
 * Send the array from rank from_to[k][0] to rank from_to[k][1] for each of @p count
 * pairs.
 *
 * @return What was received; zeros on a rank that no rank sends to.
 *
 * @par Errors
 * PITH_E_ARG: a number is no rank along the axes; a rank sends or receives twice.
 */
PITH_API const pith_array *pith_ppermute(pith_scope *s,
                                         const pith_array *a,
                                         const char *axes,
                                         int count,
                                         const int64_t (*from_to)[2]);

/**
 * Send the array @p by ranks on; @p wrap: from the last to the first.
 *
 * @return What was received; zeros on a rank that no rank sends to.
 */
PITH_API const pith_array *pith_pshift(pith_scope *s,
                                       const pith_array *a,
                                       const char *axes,
                                       int64_t by,
                                       bool wrap,
                                       const pith_collective_options *options);

/**
 * pith_psum of every leaf of a tree, in one message a dtype.
 *
 * Structures and leaf specs are equal on all ranks. With .rows, all leaves have the same
 * number of rows.
 * @return A tree like @p tree, with i64 for bool, or NULL.
 */
PITH_API const void *pith_tree_psum(pith_scope *s,
                                    const void *tree,
                                    const char *axes,
                                    const pith_collective_options *options);

/**
 * The sum over the rows (axis 0) of all ranks: bit for bit pith_sum over axis 0 of the
 * whole array, the rows in use in the order of the ranks, on one device, for any number
 * of ranks.
 *
 * Only sums of blocks of 4,096 rows, and rows of blocks that straddle ranks, travel. The
 * number of rows may differ between ranks.
 *
 * @param options .rows: rows in use here, at most those that the array has; NULL: all.
 */
PITH_API const pith_array *pith_psum_rows(pith_scope *s,
                                          const pith_array *a,
                                          const char *axes,
                                          const pith_collective_options *options);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_axis_index(s, ...)     pith_axis_index(PITH_AT(s), __VA_ARGS__)
#    define pith_psum(s, ...)           pith_psum(PITH_AT(s), __VA_ARGS__)
#    define pith_pmean(s, ...)          pith_pmean(PITH_AT(s), __VA_ARGS__)
#    define pith_pmax(s, ...)           pith_pmax(PITH_AT(s), __VA_ARGS__)
#    define pith_pmin(s, ...)           pith_pmin(PITH_AT(s), __VA_ARGS__)
#    define pith_pbroadcast(s, ...)     pith_pbroadcast(PITH_AT(s), __VA_ARGS__)
#    define pith_pscan(s, ...)          pith_pscan(PITH_AT(s), __VA_ARGS__)
#    define pith_all_gather(s, ...)     pith_all_gather(PITH_AT(s), __VA_ARGS__)
#    define pith_all_stack(s, ...)      pith_all_stack(PITH_AT(s), __VA_ARGS__)
#    define pith_reduce_scatter(s, ...) pith_reduce_scatter(PITH_AT(s), __VA_ARGS__)
#    define pith_all_to_all(s, ...)     pith_all_to_all(PITH_AT(s), __VA_ARGS__)
#    define pith_ppermute(s, ...)       pith_ppermute(PITH_AT(s), __VA_ARGS__)
#    define pith_pshift(s, ...)         pith_pshift(PITH_AT(s), __VA_ARGS__)
#    define pith_tree_psum(s, ...)      pith_tree_psum(PITH_AT(s), __VA_ARGS__)
#    define pith_psum_rows(s, ...)      pith_psum_rows(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
