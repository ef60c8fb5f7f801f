/* Within the room: routes as the host reads them. */
#ifndef PITH_ROUTE_INTERNAL_H
#define PITH_ROUTE_INTERNAL_H

#include "pith/route.h"

#include "mesh/mesh_internal.h"
#include "tree/tree_internal.h"

/* ---- The frame of a call (frame.c) ---- */

/* A call under way. In an eager call, whatever a rank finds wrong before the agreement is
 * an error of its scope, with which it takes part: no rank returns before all have
 * agreed. So every step here does nothing after an error. */
typedef struct pithp_transfer {
    pith_scope *s; /* of the call */
    pith_scope *w; /* of temporaries; s itself where memory for one is short */
    const char *function;
    bool recorded;
    pithp_mesh_group *group;
    bool staged; /* elements pass through memory of the host, or may have to */
    bool direct; /* devices move them: after pithp_transfer_agree */
    char what[PITHP_WHAT_BYTES]; /* for messages, equal on all ranks */
    void (*describe)(const void *closure, char what[PITHP_WHAT_BYTES]); /* or this */
    const void *closure;
} pithp_transfer;

/* Find the group of the axes. False: the call returns at once, on every rank. */
bool pithp_transfer_enter(pithp_transfer *c,
                          pith_scope *s,
                          const char *function,
                          const char *axes);
static inline bool pithp_transfer_fine(const pithp_transfer *c) {
    return c->w->error.code == PITH_OK;
}
/* Wait for the elements, and agree with the other ranks; `extra` must be equal too. True:
 * move the data, then call pithp_collective_end. Now direct is known. */
bool pithp_transfer_agree(pithp_transfer *c, uint64_t extra);
/* Messages to and from other ranks; direct: of memory of the device. Those of a group of
 * one rank are copied. */
void pithp_transfer_pass(pithp_transfer *c, const pithp_exchange *x);
/* Copy or clear memory that messages have: direct, that of the device. */
void pithp_transfer_copy(pithp_transfer *c, void *to, const void *from, size_t bytes);
void pithp_transfer_clear(pithp_transfer *c, void *to, size_t bytes);
/* End the call. Returns the result in s; NULL after an error. */
const pith_array *pithp_transfer_leave(pithp_transfer *c, const pith_array *result);

/* Memory for a message or its description, kept by the runtime between calls. NULL: error
 * set. */
void *pithp_transfer_room(pithp_transfer *c, size_t bytes);
void pithp_transfer_give_back(pithp_transfer *c, void *room, size_t bytes);

/* The elements of an array in memory of the host, for moves: its own if the host reaches
 * it, else a copy (staging). `load`: with the elements; they are stored back by
 * pithp_piece_store. pithp_row_piece_of: for messages, which have no copy if ranks are
 * connected; pithp_row_piece_store stores what did not come
 * directly. */
typedef struct pithp_piece {
    const pith_array *array;
    char *data;
    bool staged;
} pithp_piece;
pithp_piece pithp_piece_of(pithp_transfer *c, const pith_array *a, bool load);
void pithp_piece_store(pithp_transfer *c, pithp_piece *p);
pithp_piece pithp_row_piece_of(pithp_transfer *c, const pith_array *a, bool load);
void pithp_row_piece_store(pithp_transfer *c, pithp_piece *p);
void pithp_piece_free(pithp_transfer *c, pithp_piece *p);

/* ---- Routes as the host reads them (plan.c) ---- */

/* A route under way, read and checked. Ranks in use come first. */
typedef struct pithp_route_plan {
    pithp_piece pieces[5];          /* of the leaves of the node */
    const int32_t *peer, *send;     /* send: [peers, max_send] */
    const int64_t *sent, *received; /* rows to and from each */
    const int64_t *need;
    int64_t peers, max_send, max_receive;
    int64_t all_sent, all_received;
} pithp_route_plan;

/* Check that a route of the user is one. False: error set. */
bool pithp_route_check(pithp_transfer *c, const pith_route *route, const char *name);
/* Read a route that the user passed. On failure the error is set. The caller releases the
 * plan in any case. */
void pithp_route_plan_read(pithp_transfer *c,
                           pithp_route_plan *p,
                           const pith_route *route);
void pithp_route_plan_release(pithp_transfer *c, pithp_route_plan *p);
/* The rows that are sent, rank by rank: an array i32 [all_sent]. *beyond: the least
 * number of rows that has them all. NULL: error set. */
const pith_array *
pithp_route_plan_rows(pithp_transfer *c, const pithp_route_plan *p, int64_t *beyond);

/* ---- Recording (record.c) ---- */

/* Record a row of the table. NULL: error set. */
const pith_array *pithp_transfer_bind(pithp_transfer *c,
                                      pithp_primitive primitive,
                                      int count,
                                      const pith_array *const *operands,
                                      const pithp_collective_params *params);

/* Set the leaves and sizes of a recorded route; rows and to are i64 lists. False: error
 * set. */
bool pithp_route_record_make(pithp_transfer *c,
                             const pith_array *rows,
                             const pith_array *to,
                             const int64_t sizes[3],
                             pith_route *route);
/* Set `to` to leaves that are sent, or (into) returned and added to others: a row of the
 * table each. Where the program runs, rows that follow one another are one message to
 * each rank (program/pass/messages.c). False: error set. */
bool pithp_route_record(pithp_transfer *c,
                        const pith_route *r,
                        int64_t count,
                        const pith_array *const *leaves,
                        const pith_array *const *into,
                        const pith_array **to);

#endif
