/* Records of loops (within src/program/derive). A while with a record is split in two:
 *
 *   forward  the while, whose first carry counts iterations. Further carries are the
 *            buffers of the record: [most, elements] for each residual of the body, which
 *            iteration k writes as row k. Iterations after the last row overwrite it.
 *   linear   while(count; residuals that are constants, buffers, tangents of constants;
 *            k, tangents of carries): k < count, with row k of the buffers
 *
 * where count is at most the number of rows. The linear loop is a while with a record, so
 * that it can be derived again, and it is transposed from its last row to its first. */
#ifndef PITH_PROGRAM_DERIVE_RECORD_H
#define PITH_PROGRAM_DERIVE_RECORD_H

#include "program/derive/flow.h"

/* ---- Rows (record.c) ---- */

/* A derivation in a nested program. */
pithp_derivation pithp_derivation_in(const pithp_derivation *d, pithp_program *to);
/* An i64 of rank 0, and k + 1. */
pithp_value pithp_derive_integer(pithp_derivation *d, int64_t x);
pithp_value pithp_derive_next(pithp_derivation *d, pithp_value k);
/* The position of row k of a buffer: [k, 0]. */
pithp_value pithp_row_position(pithp_derivation *d, pithp_value k);
/* The buffer with v as the row at a position, and that row in the shape of a spec. */
pithp_value
pithp_with_row(pithp_derivation *d, pithp_value buffer, pithp_value at, pithp_value v);
pithp_value pithp_row_of(pithp_derivation *d,
                         pithp_value buffer,
                         pithp_value at,
                         const pith_spec *spec);
static inline const pith_spec *pithp_input_spec(const pithp_program *p, int64_t k) {
    return pithp_value_spec(p, p->inputs[k]);
}

/* ---- Loops that count (record.c) ---- */

/* A loop for k = 0, 1, ... below a count. Its operands are the count, then `list`: the
 * constants of the body, 0, the other carries. The inputs of the body are those of
 * `list`. */
typedef struct pithp_counted_loop {
    pithp_derivation e; /* of the body */
    pithp_value *list, *in;
    int count;
} pithp_counted_loop;

/* Add an operand and its input. False sets the error. */
bool pithp_counted_operand(pithp_counted_loop *l, pithp_value v, const pith_spec *spec);
/* Add the loop with the record of another one: operands with the count, the number of
 * constants. Returns the first result; -1 sets the error. */
pithp_value pithp_add_counted(const pithp_derivation *d,
                              const pithp_instruction *of,
                              const pithp_value *operands,
                              int count,
                              int constants,
                              pithp_program *body);
/* Whether a while ends as its first carry reaches its first operand. */
bool pithp_is_range(const pithp_instruction *i);
/* Whether a while is a loop with a record that counts. */
bool pithp_is_counted(const pithp_instruction *i);

/* ---- Derivation ---- */

/* Split a while with a record. Parameters as pithp_split_scan. */
bool pithp_split_while(pithp_deriving_flow *f,
                       bool *inputs,
                       bool *outputs,
                       pithp_value *results,
                       pithp_value *tangents);

/* A transposed linear while, from its body. */
typedef struct pithp_turned_loop {
    pithp_derivation *d;
    const pithp_moving_call *c;
    const pithp_regions *regions;
    const bool *marks;               /* linear operands */
    const bool *reaches;             /* operands that get a cotangent */
    const bool *inputs;              /* inputs of the body that get one */
    const pithp_program *transposed; /* of the body */
    const pithp_value *results; /* cotangents of the results; the first is not read */
} pithp_turned_loop;
/* Add it; returns the cotangents of the carries after the first, then those of the
 * constants that get one, as consecutive values. -1 sets the error. */
pithp_value pithp_turn_while(const pithp_turned_loop *t);

#endif
