/* Derivation of rows for calls (within src/program/derive). */
#ifndef PITH_PROGRAM_DERIVE_CALLED_ROWS_H
#define PITH_PROGRAM_DERIVE_CALLED_ROWS_H

#include "program/derive/control.h"
#include "program/derive/outlined.h"

/* Whether an instruction is a row for a call, in a derivation with such rows. */
static inline bool pithp_is_called(const pithp_callees *callees,
                                   const pithp_program *p,
                                   const pithp_instruction *i) {
    return callees && i->primitive == PITHP_OP_COND && i->program_count == 1 &&
           p->values[pithp_operands(p, i)[0]].origin == PITHP_FROM_CONSTANT;
}
/* Add a row for a call with its tangents; of a derivation that is split, in two: values
 * and residuals, and what is linear in tangents. As pithp_derive_control. False without
 * an error: callees->refused. */
bool pithp_derive_called(pithp_derivation *d,
                         const pithp_moving_call *c,
                         pithp_value *results,
                         pithp_value *tangents);
/* Add the transpose of the linear row of a call, as pithp_transpose_control. False
 * without an error: callees->refused. */
bool pithp_transpose_called(pithp_derivation *d,
                            const pithp_moving_call *c,
                            pithp_value *cotangents);

#endif
