/**
 * @file
 * Routes of rows between ranks, and halos of grids.
 *
 * A route says which rows of this rank go to which other ranks. It is made when rows
 * change their owners or neighbours, and is used every step:
 *
 *     route = pith_route_make(s, rows, to, "x,y,z", in->ghosts); // the room of the last
 *     pith_route_require(s, route, PITH_LENS(Brick, ghosts), 2.0);
 *     ghosts = pith_route_send(s, route, atoms);              // owners to neighbours
 *     forces = pith_route_return(s, route, on_ghosts, forces); // and back, added
 *
 * pith_route_send and pith_route_return move all leaves of a tree in one message to each
 * rank that has rows to give or to get, and no rank is spoken to without need. They are
 * each other's transpose. Rows may go to several ranks, to no rank, and to their own
 * rank.
 *
 * All ranks of the mesh make every call, as with collectives (array_collective.h), with
 * its errors. The three sizes of a route are equal on all ranks and are capacities
 * (capacity.h).
 *
 * In functions that are being recorded, trees that move by one route one after the other,
 * and do not wait for each other, are one message, too, such as values and their
 * tangents. A wrong destination, or a row below 0 or above 2147483646, is a failed check
 * of pith_route_make. A row that a leaf does not have is found as late as by
 * pith_route_send and pith_route_return, for which other ranks wait: it ends the job, as
 * does a route that was changed so that a rank cannot send by it.
 */
#ifndef PITH_ROUTE_H
#define PITH_ROUTE_H

#include <pith/array.h>
#include <pith/lens.h>
#include <pith/node.h>

/**
 * Rows that go to other ranks, and rows that come from there; a node.
 *
 * Ranks are those of the whole mesh. They are in ascending order, and -1 is no rank.
 */
typedef struct pith_route {
    const pith_array *peer;     /**< i32 [max_peers]: ranks spoken to */
    const pith_array *send;     /**< i32 [max_peers, max_send]: rows; -1: unused */
    const pith_array *sent;     /**< i64 [max_peers]: rows in use of `send` */
    const pith_array *received; /**< i64 [max_peers]: rows that come from each */
    const pith_array *need;     /**< i64 [3]: greatest need of any rank for each size */
    int64_t max_peers;          /**< ranks spoken to */
    int64_t max_send;           /**< rows to one of them */
    int64_t max_receive;        /**< rows from all of them */
} pith_route;

PITH_BEGIN

/** The record type of pith_route, for PITH_CHILD, pith_make, pith_freeze and pith_is. */
PITH_API const pith_type *pith_route_pith_type(void);

/**
 * An empty route: room for a route of pith_route_make whose sizes are statics of a state.
 *
 * @par Errors
 * PITH_E_SHAPE: a size is negative.
 *
 * @return The route, owned by @p s; the nil record on failure.
 */
PITH_API const pith_route *
pith_route_room(pith_scope *s, int64_t max_peers, int64_t max_send, int64_t max_receive);
/**
 * Make a route: row rows[k] goes to rank to[k].
 *
 * Shapes: rows and to [n], integers; n may differ between ranks. Entries with to[k] < 0
 * do not count. The same row may go to several ranks, or several times to one.
 * Order: a rank receives the rows of the ranks in their order, and those of one rank in
 * the order of its entries.
 *
 * If the sizes of the room do not suffice on some rank, the route is empty on all ranks,
 * and a check fails with PITH_E_CAPACITY. pith_route_require lets the sizes grow. Without
 * a collector (capacity.h) the failure is the scope's error at the next call that waits.
 *
 * @param axes Ranks are counted along these axes; NULL: all.
 * @param room A route with the sizes of the new one, such as pith_route_room. NULL: the
 * least sizes that suffice; not in a function that is being recorded.
 *
 * @par Errors
 * PITH_E_SHAPE, PITH_E_DTYPE: rows or to. PITH_E_INDEX: a rank beyond the axes, or a
 * negative row; the message names the entry. PITH_E_CAPACITY. PITH_E_PEER,
 * PITH_E_DIVERGED: ranks differ in sizes or axes.
 *
 * @return The route, owned by @p s; the nil record on failure.
 */
PITH_API const pith_route *pith_route_make(pith_scope *s,
                                           const pith_array *rows,
                                           const pith_array *to,
                                           const char *axes,
                                           const pith_route *room);
/**
 * State the need of a route, as pith_capacity_require: its sizes grow in the state.
 *
 * @param lens A lens on the root that the step receives, which finds the route there.
 * @param base Base of the growth, see pith_grown_size; usually 2.
 *
 * @par Errors
 * Those of pith_lens_capacity and pith_capacity_require.
 */
PITH_API void pith_route_require(pith_scope *s,
                                 const pith_route *route,
                                 const pith_lens *lens,
                                 double base);
/**
 * Send the rows of a route.
 *
 * Shapes: leaves [n, ...] to [max_receive, ...]; rows that are not received are 0.
 *
 * @return A tree like @p tree, or NULL.
 *
 * @par Errors
 * PITH_E_SHAPE: a leaf of rank 0. PITH_E_INDEX: a row that a leaf does not have.
 * PITH_E_DIVERGED: trees of the ranks differ in dtypes or shapes of rows. Each with the
 * path of the leaf. PITH_E_STRUCTURE: @p route is not as pith_route_make makes it; in a
 * compiled function of one rank also a row that a leaf does not have.
 */
PITH_API const void *
pith_route_send(pith_scope *s, const pith_route *route, const void *tree);
/**
 * Return rows to where they came from, added to the rows of @p into.
 *
 * Shapes: leaves of tree [max_receive, ...], of into [n, ...]; the dtypes are equal. Rows
 * of @p tree that were not received do not count. Rows that return to one row are added
 * to it in the order of the ranks, and those from one rank in the order of its entries.
 *
 * @return A tree like @p into, or NULL.
 *
 * @par Errors
 * Those of pith_route_send. PITH_E_STRUCTURE: the trees differ. PITH_E_DTYPE: a leaf of
 * bool.
 */
PITH_API const void *pith_route_return(pith_scope *s,
                                       const pith_route *route,
                                       const void *tree,
                                       const void *into);

/**
 * A block of a grid with rows of its neighbours before and after its own.
 *
 * Shapes: a [..., n, ...] to [..., before + n + after, ...]. Blocks have one shape on all
 * ranks.
 *
 * @param axis Of the array; negative: from the last.
 * @param mesh_axis Along which blocks are neighbours. NULL: all ranks in a line.
 * @param wrap The first and the last rank are neighbours, too. Otherwise rows beyond them
 * are 0.
 *
 * @par Errors
 * PITH_E_ARG: a negative width. PITH_E_SHAPE: a width exceeds the n rows of a neighbour.
 *
 * @return The array, owned by @p s, or NULL.
 */
PITH_API const pith_array *pith_halo(pith_scope *s,
                                     const pith_array *a,
                                     int axis,
                                     const char *mesh_axis,
                                     int64_t before,
                                     int64_t after,
                                     bool wrap);
/**
 * The transpose of pith_halo: a block without its halo, whose rows are added to those of
 * the neighbours that they came from.
 *
 * Shapes: a [..., before + n + after, ...] to [..., n, ...].
 * Order: rows of the rank before are added first.
 *
 * @par Errors
 * Those of pith_halo. PITH_E_DTYPE: bool.
 *
 * @return The array, owned by @p s, or NULL.
 */
PITH_API const pith_array *pith_halo_add(pith_scope *s,
                                         const pith_array *a,
                                         int axis,
                                         const char *mesh_axis,
                                         int64_t before,
                                         int64_t after,
                                         bool wrap);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_route_room(s, ...)    pith_route_room(PITH_AT(s), __VA_ARGS__)
#    define pith_route_make(s, ...)    pith_route_make(PITH_AT(s), __VA_ARGS__)
#    define pith_route_require(s, ...) pith_route_require(PITH_AT(s), __VA_ARGS__)
#    define pith_route_send(s, ...)    pith_route_send(PITH_AT(s), __VA_ARGS__)
#    define pith_route_return(s, ...)  pith_route_return(PITH_AT(s), __VA_ARGS__)
#    define pith_halo(s, ...)          pith_halo(PITH_AT(s), __VA_ARGS__)
#    define pith_halo_add(s, ...)      pith_halo_add(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
