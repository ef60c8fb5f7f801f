/* What a plan takes. */
#include "program/interpret/plan.h"

size_t pithp_plan_bytes(const pithp_plan *plan) {
    const pithp_program *p = plan->program;
    size_t bytes = sizeof *plan + (size_t)p->value_count * sizeof *plan->places +
                   (size_t)plan->step_room * sizeof *plan->steps +
                   (plan->literals ? 2 * plan->literals->bytes : 0) +
                   (size_t)plan->passed_count * sizeof *plan->homes +
                   (plan->origins ? (size_t)p->output_count * sizeof *plan->origins : 0);
    for (int64_t k = 0; k < plan->step_count; k++) {
        const pithp_step *step = &plan->steps[k];
        bytes += step->fused ? pithp_fused_bytes(step->fused) : 0;
        for (int i = 0; step->plans && i < step->call->program_count; i++)
            bytes += pithp_plan_bytes(step->plans[i]);
    }
    for (int64_t c = 0; c < p->constant_count; c++)
        if (p->constants[c].buffer)
            bytes += pithp_value_spec(p, p->constants[c].value)->bytes;
    return bytes + sizeof *p + (size_t)p->value_room * sizeof *p->values +
           (size_t)p->instruction_room * sizeof *p->instructions +
           (size_t)p->operand_room * sizeof *p->operands +
           (size_t)p->output_room * sizeof *p->outputs;
}

int64_t pithp_plan_launches(const pithp_plan *plan) {
    int64_t count = plan->step_count;
    for (int64_t k = 0; k < plan->step_count; k++)
        count -= plan->steps[k].is_source;
    return count;
}

int64_t pithp_program_operations(const pithp_program *p) {
    int64_t count = 0, result;
    for (int64_t k = 0; k < p->instruction_count; k++) {
        const pithp_instruction *i = &p->instructions[k];
        if (!pithp_is_elementwise(i->primitive))
            continue;
        result = pithp_value_spec(p, i->result)->count;
        if (__builtin_add_overflow(count, result, &count))
            return INT64_MAX;
    }
    return count;
}
