/* Planning of control flow: nested programs have their own plans, made once, which run in
 * a part of the step's workspace. Running them allocates nothing. */
#include "program/ir/region.h"
#include "program/plan/plan.h"

#include <string.h>

size_t pithp_spare_offset(const pithp_step *step, int carry) {
    const int b = pithp_regions_of(step->call).body;
    size_t offset = step->programs_bytes;
    for (int k = 0; k < carry; k++) { /* a cond has none, and no body */
        const pithp_program *body = step->call->programs[b];
        if (!pithp_carry_in_place(step, k))
            offset += pithp_aligned(pithp_value_spec(body, body->outputs[k])->bytes);
    }
    return offset;
}

static bool make_plans(pithp_planning *g, pithp_step *step) {
    const pithp_instruction *i = step->call;
    const size_t bytes = (size_t)i->program_count * sizeof *step->plans;
    step->plans = pithp_allocate(g->plan->runtime, bytes);
    if (!step->plans) {
        pithp_fail_memory(g->s, bytes);
        return false;
    }
    memset(step->plans, 0, bytes);
    step->first_program = g->plan->program_count;
    g->plan->program_count += i->program_count;
    for (int k = 0; k < i->program_count; k++) {
        step->plans[k] = pithp_plan_make_for(g->s, i->programs[k],
                                             g->plan->scheduled    ? PITHP_PLAN_SCHEDULED
                                             : g->plan->runs_fused ? PITHP_PLAN_FUSED
                                                                   : PITHP_PLAN_CALLS);
        if (!step->plans[k])
            return false;
    }
    return true;
}

/* Ranges of iterations that threads of the host run at the same time. */
static int32_t ranges_of(const pithp_planning *g, const pithp_instruction *i) {
    const pithp_device *d = pithp_scope_device(g->s);
    if (i->primitive != PITHP_OP_SCAN || g->plan->scheduled || !g->plan->runs_fused)
        return 1;
    const pithp_loop_params *l = i->params;
    if (!l->concurrent || l->carries || !d->immediate || pithp_has_effects(i) ||
        pithp_program_operations(i->programs[0]) < PITHP_RANGE_LEAST_WORK / l->length)
        return 1;
    const int64_t most = l->length < d->threads ? l->length : d->threads;
    return most < PITHP_RANGES ? (int32_t)most : PITHP_RANGES;
}

/* The workspace is that of the programs (one of them runs at a time), then the flag of a
 * condition, then the second buffers of carries. */
static bool measure(pithp_planning *g, pithp_step *step) {
    const pithp_instruction *i = step->call;
    const pithp_operand_group c = pithp_carries_of(i);
    size_t inner = 0;
    for (int k = 0; k < i->program_count; k++) {
        const pithp_plan *plan = step->plans[k];
        inner = plan->workspace_bytes > inner ? plan->workspace_bytes : inner;
        if (plan->host_bytes > g->plan->host_bytes)
            g->plan->host_bytes = plan->host_bytes;
    }
    step->programs_bytes =
        pithp_aligned(inner) + (i->primitive == PITHP_OP_WHILE ? PITHP_FLAG_BYTES : 0);
    size_t most = step->programs_bytes;
    for (int k = 0; k < c.count; k++)
        if (pithp_add_overflows(
                most, pithp_aligned(g->p->values[i->result + k].spec->bytes), &most)) {
            pithp_fail(g->s, PITH_E_OVERFLOW, NULL, "the carries of %s are too large",
                       pithp_ops[i->primitive].name);
            return false;
        }
    step->ranges = ranges_of(g, i);
    step->temporary_bytes = (size_t)step->ranges * pithp_spare_offset(step, c.count);
    return true;
}

bool pithp_plan_control(pithp_planning *g, pithp_step *step) {
    return make_plans(g, step) && measure(g, step);
}

void pithp_plan_control_free(pith_runtime *rt, pithp_step *step) {
    const int count = step->plans ? step->call->program_count : 0;
    for (int k = 0; k < count; k++)
        pithp_plan_free(step->plans[k]);
    pithp_release(rt, step->plans, (size_t)count * sizeof *step->plans);
}
