/* Batching rules, found by the batch column of primitives.def, and what they are made
 * with (within src/program/vmap). A value is a number in the batched program, and -1 an
 * error of the scope. Calls of the builder pass errors on, so that rules read as
 * formulas. */
#ifndef PITH_PROGRAM_VMAP_RULES_H
#define PITH_PROGRAM_VMAP_RULES_H

#include "program/vmap/vmap.h"

/* A program that is batched. */
typedef struct pithp_batching {
    pith_scope *s;
    const pithp_program *from;
    pithp_program *to;
    int64_t size;                      /* of the batch */
    const pithp_vmap_options *options; /* never NULL */
    const char *site;                  /* call site of the instruction that is batched */
    pithp_value *names;                /* of each value of from: its value in `to`, and */
    bool *batched;                     /* whether that has the axis */
    pithp_value mask; /* the entries that take part, bool [size]; -1: all (control.h) */
} pithp_batching;

/* An instruction at least one of whose operands is batched. */
typedef struct pithp_batched_call {
    const pithp_instruction *i;  /* of from */
    const pithp_value *operands; /* of i, in `to` */
    const bool *batched;         /* of each operand */
    pithp_value *scratch;        /* room for one value more than operands */
} pithp_batched_call;

/* The kind of the rule of a row. */
typedef enum pithp_batch_kind {
    PITHP_BATCH_POINTWISE,
    PITHP_BATCH_NO_OPERAND,
    PITHP_BATCH_SHIFT,
    PITHP_BATCH_FLOW,
} pithp_batch_kind;

typedef struct pithp_batch_row {
    pithp_batch_kind kind;
    /* SHIFT: add the call. The batched result. */
    pithp_value (*shift)(pithp_batching *b, const pithp_batched_call *c);
    /* FLOW: add the instruction. Set its results, and which are batched. False sets the
     * error. */
    bool (*flow)(pithp_batching *b,
                 const pithp_batched_call *c,
                 pithp_value *results,
                 bool *batched);
} pithp_batch_row;

/* pithp_program_vmap, also with a mask: the first input of the program, before those of
 * p. */
pithp_program *pithp_batch_program(pith_scope *s,
                                   const pithp_program *p,
                                   int64_t size,
                                   const bool *batched,
                                   const pithp_vmap_options *options,
                                   bool masked,
                                   bool *outputs_batched);
/* The rule of a row. */
pithp_batch_row pithp_batch_of(pithp_primitive p);

/* ---- Builder ---- */

/* Add a call of one result. */
pithp_value pithp_batch_call(pithp_batching *b,
                             pithp_primitive op,
                             int count,
                             const pithp_value *operands,
                             const void *params);
/* The row of c on other operands, with other parameters. */
static inline pithp_value pithp_batch_same(pithp_batching *b,
                                           const pithp_batched_call *c,
                                           const pithp_value *operands,
                                           const void *params) {
    return pithp_batch_call(b, c->i->primitive, c->i->operand_count, operands, params);
}
/* A value of an entry for all entries: an axis is added in front or at `axis`, along
 * which it repeats. */
pithp_value pithp_batch_repeat_at(pithp_batching *b, pithp_value v, int axis);
static inline pithp_value pithp_batch_repeat(pithp_batching *b, pithp_value v) {
    return pithp_batch_repeat_at(b, v, 0);
}
/* Operand k, batched whether it is or not. */
pithp_value pithp_batch_operand(pithp_batching *b, const pithp_batched_call *c, int k);
/* A batched value with extents of 1 behind the batch axis, so that an entry has this rank
 * and broadcasts from the right as it does alone. */
pithp_value pithp_batch_align(pithp_batching *b, pithp_value v, int rank);
/* An elementwise row, or one that works element by element, on operands of which some
 * are batched. */
pithp_value pithp_batch_pointwise(pithp_batching *b,
                                  pithp_primitive op,
                                  int count,
                                  const pithp_value *operands,
                                  const bool *batched,
                                  const void *params);
/* Move an axis: the result's axis `to` is axis `from` of v, and the others keep their
 * order. */
pithp_value pithp_batch_move_axis(pithp_batching *b, pithp_value v, int from, int to);
pithp_value
pithp_batch_reshape(pithp_batching *b, pithp_value v, int rank, const int64_t *shape);
/* The number of the index along an axis, as PITHP_OP_IOTA. */
pithp_value pithp_batch_iota(pithp_batching *b,
                             pith_dtype dtype,
                             int rank,
                             const int64_t *shape,
                             int axis);

static inline const pith_spec *pithp_batch_spec(const pithp_batching *b, pithp_value v) {
    return pithp_value_spec(b->to, v);
}
/* The spec of an entry's operand k. */
static inline const pith_spec *
pithp_entry_spec(const pithp_batching *b, const pithp_batched_call *c, int k) {
    return pithp_value_spec(b->from, pithp_operands(b->from, c->i)[k]);
}
/* The spec of an entry's value, batched. NULL sets the error. */
const pith_spec *pithp_batched_spec(const pithp_batching *b, const pith_spec *entry);

#endif
