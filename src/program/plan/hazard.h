/* Hazards (read after write, write after read, write after write) between fused steps:
 * which of them may run at the same time. */
#ifndef PITH_PROGRAM_PLAN_HAZARD_H
#define PITH_PROGRAM_PLAN_HAZARD_H

#include "program/plan/plan.h"

/* The last steps that read and wrote a piece of memory, counted from 1; 0: none. */
typedef struct pithp_stamps {
    int32_t read, written;
} pithp_stamps;

/* Whether fused step `number` may run at the same time as the steps from `first` on, all
 * of which were stamped. memory: one entry for each input of the plan, then one for each
 * output; zero at the beginning. */
bool pithp_step_is_independent(const pithp_plan *plan,
                               pithp_stamps *memory,
                               int64_t first,
                               int64_t number);
/* Record what fused step `number` reads and writes. */
void pithp_step_stamp(const pithp_plan *plan, pithp_stamps *memory, int64_t number);
/* Clear the entries of what it reads and writes. */
void pithp_step_unstamp(const pithp_plan *plan, pithp_stamps *memory, int64_t number);

#endif
