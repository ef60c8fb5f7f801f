/* Cost analysis: memory of a plan, launches and operations of a run. */
#include "program/plan/plan.h"

size_t pithp_plan_own_bytes(const pithp_plan *plan) {
    const pithp_program *p = plan->program;
    size_t bytes = sizeof *plan + (size_t)p->value_count * sizeof *plan->places +
                   (size_t)plan->step_room * sizeof *plan->steps +
                   (plan->literals ? 2 * plan->literals->bytes : 0) +
                   (size_t)plan->forwarded_count * sizeof *plan->forwarded_places +
                   (plan->aliases ? (size_t)p->output_count * sizeof *plan->aliases : 0);
    for (int64_t k = 0; k < plan->step_count; k++) {
        const pithp_step *step = &plan->steps[k];
        bytes += step->kind == PITHP_STEP_FUSED  ? pithp_fused_memory_bytes(step->fused)
                 : step->kind == PITHP_STEP_CALL ? pithp_prepared_bytes(step->prepared)
                                                 : 0;
        for (int i = 0; step->kind == PITHP_STEP_CONTROL && i < step->call->program_count;
             i++)
            bytes += pithp_plan_own_bytes(step->plans[i]);
    }
    return bytes;
}

size_t pithp_plan_bytes(const pithp_plan *plan) {
    return pithp_plan_own_bytes(plan) + pithp_program_bytes(plan->program);
}

/* ---- What a run does ---- */

static int64_t add(int64_t a, int64_t b) {
    return __builtin_add_overflow(a, b, &a) ? INT64_MAX : a;
}
static int64_t times(int64_t a, int64_t b) {
    return __builtin_mul_overflow(a, b, &a) ? INT64_MAX : a;
}

/* Number of runs of control flow's programs; branches are alternatives. */
static int64_t repeats_of(const pithp_instruction *i) {
    return i->primitive == PITHP_OP_SCAN ? ((const pithp_loop_params *)i->params)->length
                                         : 1;
}

static int64_t combine(const pithp_instruction *i, int64_t a, int64_t b) {
    return i->primitive == PITHP_OP_COND ? (a > b ? a : b) : add(a, b);
}

int64_t pithp_plan_launches(const pithp_plan *plan) {
    int64_t count = 0;
    for (int64_t k = 0; k < plan->step_count; k++) {
        const pithp_step *step = &plan->steps[k];
        int64_t inside = 0;
        for (int p = 0; step->kind == PITHP_STEP_CONTROL && p < step->call->program_count;
             p++)
            inside = combine(step->call, inside, pithp_plan_launches(step->plans[p]));
        count = add(count, step->kind == PITHP_STEP_CONTROL
                               ? times(inside, repeats_of(step->call))
                           : step->runs_in_consumer ? 0
                                                    : 1);
    }
    return count;
}

int64_t pithp_program_operations(const pithp_program *p) {
    int64_t count = 0;
    for (int64_t k = 0; k < p->instruction_count; k++) {
        const pithp_instruction *i = &p->instructions[k];
        int64_t inside = 0;
        for (int b = 0; b < i->program_count; b++)
            inside = combine(i, inside, pithp_program_operations(i->programs[b]));
        if (pithp_is_elementwise(i->primitive))
            inside = pithp_value_spec(p, i->result)->count;
        count = add(count, times(inside, repeats_of(i)));
    }
    return count;
}

/* ---- What a program is ---- */

int64_t pithp_program_instructions(const pithp_program *p, pithp_primitive only) {
    int64_t count = 0;
    for (int64_t k = 0; k < p->instruction_count; k++) {
        const pithp_instruction *i = &p->instructions[k];
        count += only == PITHP_PRIMITIVE_COUNT || i->primitive == only;
        for (int b = 0; b < i->program_count; b++)
            count += pithp_program_instructions(i->programs[b], only);
    }
    return count;
}
