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
};

#endif
