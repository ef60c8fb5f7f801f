/* Input fusion: limits that the planner and the host's runner share. */
#ifndef PITH_PROGRAM_PLAN_FUSE_INPUT_H
#define PITH_PROGRAM_PLAN_FUSE_INPUT_H

#include "program/op/thresholds.h"
#include "program/plan/plan.h"

/* Memory that a producer, and a step that gathers, may read: each thread has a copy of
 * the addresses, on its stack. */
enum {
    PITHP_MOST_READS = 400,
    PITHP_MOST_READS_TAKING = 300,
    PITHP_MOST_READS_SIBLINGS = 250,
};
enum { PITHP_SIBLINGS = 6 }; /* reductions that share a producer, at most */

/* Row length of a gather, in elements; 0: it cannot run block by block. */
int64_t pithp_plan_gathered_row(const pithp_planning *g, const pithp_instruction *i);
/* Whether a step is the only reader of a value, and reads it elementwise. */
bool pithp_plan_is_read_flat(const pithp_planning *g, pithp_value u, int32_t k);

#endif
