/* Within the array room: the frame of a collective, eager or recorded. */
#ifndef PITH_ARRAY_COLLECTIVE_ROOM_H
#define PITH_ARRAY_COLLECTIVE_ROOM_H

#include "pith/array_collective.h"

#include "array/array_internal.h"
#include "mesh/mesh_internal.h"

/* A collective under way. In an eager call, whatever a rank finds wrong before the
 * agreement is an error of its scope, with which it takes part: no rank returns before
 * all have agreed. So every step here does nothing after an error. */
typedef struct pithp_collective {
    pith_scope *s; /* of the call */
    pith_scope *w; /* of temporaries; s itself where memory for one is short */
    const char *function;
    bool recorded;
    const pith_array *a;    /* the operand, or what it was replaced by */
    const pith_array *rows; /* a second operand, or NULL */
    pithp_collective_params params;
    /* What the ranks compare, and messages say: */
    const pith_spec *spec; /* of the operand that was given; NULL: none */
    bool by_rows;          /* without the extent of its first axis */
    int named;             /* numbers of the parameters, such as axes */
    const char *names[2];
    int64_t numbers[2];
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
/* The dtype of the operand; PITH_DTYPE_NONE after an error. */
static inline pith_dtype pithp_collective_dtype(const pithp_collective *c) {
    return pithp_collective_fine(c) ? pithp_array_spec(c->a)->dtype : PITH_DTYPE_NONE;
}
/* Name a number that is equal on all ranks in messages. */
static inline void
pithp_collective_name(pithp_collective *c, const char *name, int64_t number) {
    c->names[c->named] = name;
    c->numbers[c->named++] = number;
}
/* Set an axis of the parameters, and name it in messages. */
void pithp_collective_axis(pithp_collective *c, const char *name, int axis, int64_t *to);
/* Convert the operand. */
void pithp_collective_cast(pithp_collective *c, pith_dtype dtype);
/* Take the options: rows in use, whose number is checked, become the second operand. */
void pithp_collective_take(pithp_collective *c, const pith_collective_options *options);
/* Run the row on all ranks, or record it. NULL: error set. */
const pith_array *pithp_collective_bind(pithp_collective *c, pithp_primitive primitive);
/* End the call. Returns the result in s; NULL after an error. */
const pith_array *pithp_collective_leave(pithp_collective *c, const pith_array *result);

#endif
