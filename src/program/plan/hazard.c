/* Hazards between fused steps, by the last reader and writer of each piece of memory. */
#include "program/plan/hazard.h"

static bool is_written(const pithp_fused_step *a, int external) {
    bool written = false;
    for (int k = 0; k < a->op_count; k++)
        written |= a->ops[k].to == a->temporary_count + external;
    return written;
}

/* Externals, and the pieces of them. */
static int memories_of(const pithp_step *step) {
    return step->fused->external_count + step->fused->piece_count;
}

/* The memory ranges of an external: two if an output may reuse an input's buffer. False:
 * it writes the workspace, which steps share. */
static bool memory_of(const pithp_plan *plan,
                      pithp_stamps *memory,
                      const pithp_step *step,
                      int e,
                      pithp_stamps *pieces[2],
                      int *count) {
    const pithp_place place = plan->places[step->operands[e].value];
    *count = 0;
    if (place.store == PITHP_IN_INPUT) {
        pieces[(*count)++] = &memory[place.at];
    } else if (place.store == PITHP_IN_OUTPUT) {
        pieces[(*count)++] = &memory[plan->program->input_count + place.at];
        if (plan->reused && plan->reused[place.at] >= 0)
            pieces[(*count)++] = &memory[plan->reused[place.at]];
    }
    return place.store != PITHP_IN_WORKSPACE || !is_written(step->fused, e);
}

bool pithp_step_is_independent(const pithp_plan *plan,
                               pithp_stamps *memory,
                               int64_t first,
                               int64_t number) {
    const pithp_step *step = &plan->steps[number];
    for (int e = 0; e < memories_of(step); e++) {
        pithp_stamps *pieces[2];
        int count;
        const bool written = is_written(step->fused, e);
        if (!memory_of(plan, memory, step, e, pieces, &count))
            return false;
        for (int p = 0; p < count; p++)
            if (pieces[p]->written > first || (written && pieces[p]->read > first))
                return false;
    }
    return true;
}

void pithp_step_stamp(const pithp_plan *plan, pithp_stamps *memory, int64_t number) {
    const pithp_step *step = &plan->steps[number];
    for (int e = 0; e < memories_of(step); e++) {
        pithp_stamps *pieces[2];
        int count;
        const bool written = is_written(step->fused, e);
        memory_of(plan, memory, step, e, pieces, &count);
        for (int p = 0; p < count; p++)
            *(written ? &pieces[p]->written : &pieces[p]->read) = (int32_t)number + 1;
    }
}
