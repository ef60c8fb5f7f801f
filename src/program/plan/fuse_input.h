/* Input fusion: limits that the planner and the host's runner share. */
#ifndef PITH_PROGRAM_PLAN_FUSE_INPUT_H
#define PITH_PROGRAM_PLAN_FUSE_INPUT_H

#include "program/op/thresholds.h"
#include "program/plan/plan.h"

enum {
    PITHP_MOST_READS =
        PITHP_FUSED_EXTERNALS - 4, /* of a producer: one launch takes them */
    PITHP_MOST_READS_TAKING = PITHP_FUSED_EXTERNALS - 12 /* of a step that gathers */
};

#endif
