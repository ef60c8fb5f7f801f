/* Hazards between fused steps, by the last reader and writer of each piece of memory. */
#include "program/plan/hazard.h"

#include <string.h>

void pithp_fused_written(const pithp_fused_step *step, bool *written) {
    memset(written, false, (size_t)step->external_count);
    for (int k = 0; k < step->op_count; k++)
        if (step->ops[k].to >= step->temporary_count)
            written[step->ops[k].to - step->temporary_count] = true;
}

/* The memory of an external or piece: two entries if an output may reuse an input's
 * buffer; returns their number. */
static int memory_of(const pithp_plan *plan,
                     pithp_stamps *memory,
                     pithp_place place,
                     pithp_stamps *at[2]) {
    int count = 0;
    if (place.store == PITHP_IN_INPUT) {
        at[count++] = &memory[place.at];
    } else if (place.store == PITHP_IN_OUTPUT) {
        at[count++] = &memory[plan->program->input_count + place.at];
        if (plan->reused && plan->reused[place.at] >= 0)
            at[count++] = &memory[plan->reused[place.at]];
    }
    return count;
}

bool pithp_step_is_independent(const pithp_plan *plan,
                               pithp_stamps *memory,
                               int64_t first,
                               int64_t number) {
    const pithp_step *step = &plan->steps[number];
    const int externals = step->fused->external_count;
    bool written[PITHP_FUSED_EXTERNALS];
    pithp_fused_written(step->fused, written);
    for (int e = 0; e < externals + step->fused->piece_count; e++) {
        pithp_stamps *at[2];
        const pithp_place place = plan->places[step->operands[e].value];
        const bool writes = e < externals && written[e];
        const int count = memory_of(plan, memory, place, at);
        if (writes && place.store == PITHP_IN_WORKSPACE)
            return false; /* steps share its memory */
        for (int k = 0; k < count; k++)
            if (at[k]->written > first || (writes && at[k]->read > first))
                return false;
    }
    return true;
}

static void
stamp(const pithp_plan *plan, pithp_stamps *memory, int64_t number, int32_t by) {
    const pithp_step *step = &plan->steps[number];
    const int externals = step->fused->external_count;
    bool written[PITHP_FUSED_EXTERNALS];
    pithp_fused_written(step->fused, written);
    for (int e = 0; e < externals + step->fused->piece_count; e++) {
        pithp_stamps *at[2];
        const int count =
            memory_of(plan, memory, plan->places[step->operands[e].value], at);
        for (int k = 0; k < count; k++)
            *(e < externals && written[e] ? &at[k]->written : &at[k]->read) = by;
    }
}

void pithp_step_stamp(const pithp_plan *plan, pithp_stamps *memory, int64_t number) {
    stamp(plan, memory, number, (int32_t)number + 1);
}

void pithp_step_unstamp(const pithp_plan *plan, pithp_stamps *memory, int64_t number) {
    stamp(plan, memory, number, 0);
}
