/* Fused steps while their members are chosen: shared by clustering and sinking. */
#ifndef PITH_PROGRAM_PLAN_FUSE_STEPS_H
#define PITH_PROGRAM_PLAN_FUSE_STEPS_H

#include "program/plan/plan.h"

/* Whether an operand is read elementwise, so that its producer may be in the same step.
 */
bool pithp_plan_is_direct(const pithp_planning *g,
                          pithp_value operand,
                          const pith_spec *to);
/* Whether a step is a fused one with room for an instruction. */
bool pithp_plan_takes(const pithp_planning *g, const pithp_instruction *i, int32_t at);
/* Count the reads of a new member. */
void pithp_plan_count_reads(pithp_planning *g, const pithp_instruction *i, int32_t at);

#endif
