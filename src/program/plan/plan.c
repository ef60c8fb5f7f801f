/* Making plans. */
#include "program/plan/plan.h"

#include "program/cuda/cuda.h"

#include <stdio.h>
#include <string.h>

static size_t
temporary_of(const pithp_plan *plan, const pithp_step *step, const pithp_call *call) {
    if (call->primitive == PITHP_OP_DEBUG)
        return 0;
    return !plan->scheduled    ? pithp_temporary_bytes(call, step->spec)
           : step->source >= 0 ? pithp_cuda_temporary_reduce_of(call, step->spec)
                               : pithp_cuda_temporary_bytes(call, step->spec);
}

static bool runs_by_specs(pithp_primitive primitive) {
    return pithp_is_lowered(primitive) || primitive == PITHP_OP_CHECKED ||
           primitive == PITHP_OP_DEBUG;
}

/* Specs and temporaries of the steps that are calls. */
static bool describe_calls(pithp_planning *g) {
    pithp_plan *plan = g->plan;
    for (int64_t k = 0; k < plan->step_count; k++) {
        pithp_step *step = &plan->steps[k];
        if (!step->call)
            continue;
        const int count = step->call->operand_count;
        const pithp_primitive primitive = step->call->primitive;
        if (!runs_by_specs(primitive)) {
            if (!(primitive == PITHP_OP_KERNEL ? pithp_plan_kernel(g, step)
                                               : pithp_plan_control(g, step)))
                return false;
            if ((size_t)count > plan->pointer_count)
                plan->pointer_count = (size_t)count;
            plan->has_plans |= step->plans != NULL;
            continue;
        }
        if (count) {
            step->specs =
                pithp_allocate(plan->runtime, (size_t)count * sizeof *step->specs);
            if (!step->specs) {
                pithp_fail_memory(g->s, (size_t)count * sizeof *step->specs);
                return false;
            }
        }
        pithp_call call = pithp_instruction_call(g->p, step->call, step->specs);
        if (primitive == PITHP_OP_CHECKED)
            call = pithp_checked_call(&call);
        step->temporary_bytes = temporary_of(plan, step, &call);
        if ((size_t)count > plan->pointer_count)
            plan->pointer_count = (size_t)count;
    }
    return true;
}

static bool fuse_all(pithp_planning *g) {
    for (int64_t k = 0; k < g->plan->step_count; k++) {
        pithp_step *step = &g->plan->steps[k];
        if (!step->call && !pithp_plan_fuse(g, step))
            return false;
        if (step->take_count)
            pithp_plan_taken(g, step);
    }
    return true;
}

static bool plan_all(pithp_planning *g) {
    const size_t n = (size_t)g->p->value_count + 1;
    const size_t each = sizeof *g->step + sizeof *g->last_use + sizeof *g->root +
                        sizeof *g->next + 6 * sizeof *g->scratch + sizeof *g->is_virtual +
                        sizeof *g->is_pieced + sizeof *g->in_memory + sizeof *g->slot;
    char *memory = pithp_allocate(g->s->runtime, n * each);
    if (!memory) {
        pithp_fail_memory(g->s, n * each);
        return false;
    }
    g->step = (int32_t *)(void *)memory;
    g->last_use = g->step + n;
    g->root = g->last_use + n;
    g->next = g->root + n;
    g->scratch = g->next + n;
    g->family = g->scratch + n;
    g->family_ops = g->family + n;
    g->family_reads = g->family_ops + n;
    g->passed = g->family_reads + n;
    g->family_step = g->passed + n;
    g->is_virtual = (bool *)(g->family_step + n);
    g->is_pieced = g->is_virtual + n;
    g->in_memory = g->is_pieced + n;
    g->slot = (uint8_t *)(g->in_memory + n);
    const bool planned = pithp_plan_steps(g) && fuse_all(g) && describe_calls(g) &&
                         pithp_plan_passed(g) && pithp_plan_in_place(g) &&
                         pithp_plan_places(g);
    pithp_release(g->s->runtime, memory, n * each);
    return planned;
}

pithp_plan *
pithp_plan_make_for(pith_scope *s, pithp_program *p, pithp_plan_purpose purpose) {
    pith_runtime *rt = s->runtime;
    const size_t place_bytes = ((size_t)p->value_count + 1) * sizeof(pithp_place);
    pithp_plan *plan = pithp_allocate(rt, sizeof *plan);
    pithp_place *places = pithp_allocate(rt, place_bytes);
    if (!plan || !places) {
        pithp_release(rt, plan, sizeof *plan);
        pithp_release(rt, places, place_bytes);
        pithp_fail_memory(s, sizeof *plan + place_bytes);
        return NULL;
    }
    *plan = (pithp_plan){.program = p,
                         .runtime = rt,
                         .places = places,
                         .runs_fused = purpose != PITHP_PLAN_CALLS,
                         .passes = purpose == PITHP_PLAN_FUSED,
                         .scheduled = purpose == PITHP_PLAN_SCHEDULED};
    pithp_program_retain(p);
    pithp_planning g = {.s = s, .p = p, .plan = plan};
    if (plan_all(&g))
        return plan;
    pithp_plan_free(plan);
    return NULL;
}

void pithp_plan_set_name(pithp_plan *plan, const char *name) {
    snprintf(plan->name, sizeof plan->name, "%s", name);
    for (int64_t k = 0; plan->has_plans && k < plan->step_count; k++) {
        const pithp_step *step = &plan->steps[k];
        for (int p = 0; step->plans && p < step->call->program_count; p++)
            pithp_plan_set_name(step->plans[p], name);
    }
}

void pithp_plan_free(pithp_plan *plan) {
    if (!plan)
        return;
    pith_runtime *rt = plan->runtime;
    for (int64_t k = 0; k < plan->step_count; k++) {
        pithp_step *step = &plan->steps[k];
        if (step->call)
            pithp_release(rt, step->specs,
                          (size_t)step->call->operand_count * sizeof *step->specs);
        pithp_plan_control_free(rt, step);
        pithp_plan_kernel_free(rt, step);
        if (step->fused) {
            pithp_release(rt, step->boxes,
                          step->fused->piece_count * sizeof *step->boxes);
            pithp_release(rt, step->sites, step->fused->op_count * sizeof *step->sites);
            pithp_release(rt, step->fused, pithp_fused_bytes(step->fused));
        }
    }
    pithp_release(rt, plan->steps, (size_t)plan->step_room * sizeof *plan->steps);
    pithp_release(rt, plan->places,
                  ((size_t)plan->program->value_count + 1) * sizeof *plan->places);
    pithp_release(rt, plan->homes, (size_t)plan->passed_count * sizeof *plan->homes);
    if (plan->updates)
        pithp_release(rt, plan->updates,
                      (size_t)plan->program->output_count * sizeof *plan->updates);
    if (plan->origins)
        pithp_release(rt, plan->origins,
                      (size_t)plan->program->output_count * sizeof *plan->origins);
    pithp_buffer_release(plan->literals, 1);
    pithp_release(rt, plan->reused,
                  (size_t)plan->program->output_count * sizeof *plan->reused + 1);
    pithp_program_release(plan->program);
    pithp_release(rt, plan, sizeof *plan);
}

pithp_place pithp_plan_output(const pithp_plan *plan, int64_t k) {
    const pithp_place place = plan->places[plan->program->outputs[k]];
    return place.store == PITHP_IN_PASSED ? plan->homes[place.at] : place;
}

pith_status pithp_plan_await(pith_scope *s, const pithp_plan *plan) {
    pith_status rc = plan->literals ? pithp_buffer_read(s, plan->literals) : PITH_OK;
    for (int64_t c = 0; c < plan->program->constant_count && rc == PITH_OK; c++)
        if (plan->program->constants[c].buffer)
            rc = pithp_buffer_read(s, plan->program->constants[c].buffer);
    for (int64_t k = 0; plan->has_plans && k < plan->step_count && rc == PITH_OK; k++) {
        const pithp_step *step = &plan->steps[k];
        for (int p = 0; step->plans && p < step->call->program_count && rc == PITH_OK;
             p++)
            rc = pithp_plan_await(s, step->plans[p]);
    }
    return rc;
}

bool pithp_plan_is_flat(const pithp_plan *plan) {
    const pithp_step *step = plan->steps;
    return plan->step_count == 1 && step->fused && !step->call && !step->take_count &&
           !step->is_source && !step->band && step->fused->piece_count == 0 &&
           !plan->workspace_bytes && !plan->passed_count && pithp_is_direct(step->fused);
}
