/* Within the array room: the frame of a collective. */
#ifndef PITH_ARRAY_COLLECTIVE_ROOM_H
#define PITH_ARRAY_COLLECTIVE_ROOM_H

#include "pith/array_collective.h"

#include "array/array_internal.h"
#include "mesh/mesh_internal.h"

/* A collective under way. Whatever a rank finds wrong before the agreement is an error of
 * its scope, with which it takes part: no rank returns before all have agreed. So every
 * step here does nothing after an error. */
typedef struct pithp_collective {
    pith_scope *s; /* of the call */
    pith_scope *w; /* of temporaries; s itself where memory for one is short */
    const char *function;
    pithp_mesh_group *group;
    const pith_array *a; /* the operand, or what it was replaced by */
    char what[PITHP_WHAT_BYTES];
} pithp_collective;

/* Check the operand and find the group. False: the call returns at once, on every rank.
 */
bool pithp_collective_enter(pithp_collective *c,
                            pith_scope *s,
                            const char *function,
                            const pith_array *a,
                            const char *axes);
static inline bool pithp_collective_fine(const pithp_collective *c) {
    return c->w->error.code == PITH_OK;
}
/* Rows beyond those in use become zeros. */
void pithp_collective_mask(pithp_collective *c, const pith_collective_options *options);
/* Gather the operands of all ranks into `all`, which may be NULL. False: error set, or
 * the ranks do not agree. */
bool pithp_collective_gather(pithp_collective *c, const pith_array *all);
/* A new array of the operand's dtype. NULL: error set. */
const pith_array *
pithp_collective_make(pithp_collective *c, int rank, const int64_t *shape);
/* The operand, or an array of rank 1, seen with other extents of the same number. */
const pith_array *pithp_collective_see(pithp_collective *c,
                                       const pith_array *a,
                                       int rank,
                                       const int64_t *shape);
/* Wait for the elements, and agree with the other ranks; `extra` must be equal too. True:
 * move the data, then call pithp_collective_leave. */
bool pithp_collective_agree(pithp_collective *c, uint64_t extra);
/* End the call. Returns the result in s; NULL after an error. */
const pith_array *pithp_collective_leave(pithp_collective *c, const pith_array *result);

/* The elements of an array in memory of the host, for moves: its own if the host reaches
 * it, else a copy (staging). `load`: with the elements; they are stored back by
 * pithp_piece_store. */
typedef struct pithp_piece {
    const pith_array *array;
    char *data;
    bool staged;
} pithp_piece;
pithp_piece pithp_piece_of(pithp_collective *c, const pith_array *a, bool load);
void pithp_piece_store(pithp_collective *c, pithp_piece *p);
void pithp_piece_free(pithp_collective *c, pithp_piece *p);

#endif
