/* Planning: the pipeline of passes that turns a program into steps and buffers. */
#include "program/plan/plan.h"

#include "program/collective/collective.h"
#include "program/cuda/cuda.h"

#include <stdio.h>
#include <string.h>

static size_t
temporary_of(const pithp_plan *plan, const pithp_step *step, const pithp_call *call) {
    if (call->primitive == PITHP_OP_DEBUG)
        return 0;
    return !plan->scheduled      ? pithp_temporary_bytes(call, step->spec)
           : step->producer >= 0 ? pithp_cuda_temporary_reduce_of(call, step->spec)
                                 : pithp_cuda_temporary_bytes(call, step->spec);
}

/* Where the host reaches the device, the memory of the host follows that of the device.
 */
static void
measure_collective(pithp_plan *plan, pithp_step *step, const pithp_call *call) {
    const pithp_collective_needs needs =
        pithp_collective_measure(call, step->spec, 0, plan->on_host);
    step->host_at = pithp_aligned(needs.device);
    step->temporary_bytes = step->host_at + (plan->on_host ? needs.host : 0);
    const size_t host = needs.host + pithp_task_kept_bytes(step->call);
    if (!plan->on_host && host > plan->host_bytes)
        plan->host_bytes = host;
}

static bool describe_call(pithp_planning *g, pithp_step *step) {
    const size_t bytes = (size_t)step->call->operand_count * sizeof *step->specs;
    if (bytes) {
        step->specs = pithp_allocate(g->plan->runtime, bytes);
        if (!step->specs) {
            pithp_fail_memory(g->s, bytes);
            return false;
        }
    }
    pithp_call call = pithp_instruction_call(g->p, step->call, step->specs);
    if (call.primitive == PITHP_OP_CHECKED)
        call = pithp_checked_call(&call);
    if (pithp_is_collective(call.primitive))
        measure_collective(g->plan, step, &call);
    else
        step->temporary_bytes = temporary_of(g->plan, step, &call) + step->block_bytes;
    return true;
}

/* Compute specs and workspaces of the other steps. */
static bool describe_calls(pithp_planning *g) {
    static bool (*const describe[])(pithp_planning *, pithp_step *) = {
        [PITHP_STEP_CALL] = describe_call,
        [PITHP_STEP_KERNEL] = pithp_plan_kernel,
        [PITHP_STEP_CONTROL] = pithp_plan_control};
    pithp_plan *plan = g->plan;
    for (int64_t k = 0; k < plan->step_count; k++) {
        pithp_step *step = &plan->steps[k];
        if (step->kind == PITHP_STEP_FUSED)
            continue;
        if (!describe[step->kind](g, step))
            return false;
        const size_t pointers =
            (size_t)step->call->operand_count + (size_t)step->call->result_count;
        plan->pointer_count =
            plan->pointer_count > pointers ? plan->pointer_count : pointers;
        plan->has_plans |= step->kind == PITHP_STEP_CONTROL;
    }
    return true;
}

/* Count the addresses that a run records for a step, interpreted or compiled. */
static void note_args(pithp_plan *plan, const pithp_step *step) {
    const size_t own = pithp_fused_args_bytes(step->fused);
    const size_t pointers = (own + sizeof(void *) - 1) / sizeof(void *);
    plan->pointer_count = plan->pointer_count > pointers ? plan->pointer_count : pointers;
}

static bool lower_fused_steps(pithp_planning *g) {
    for (int64_t k = 0; k < g->plan->step_count; k++) {
        pithp_step *step = &g->plan->steps[k];
        if (step->kind == PITHP_STEP_FUSED && !pithp_plan_fuse(g, step))
            return false;
        if (step->kind == PITHP_STEP_FUSED)
            note_args(g->plan, step);
        if (step->gather_count)
            pithp_plan_gathers(g, step);
    }
    return true;
}

/* Whether pithp_lower runs a call. */
static bool is_lowered(pithp_primitive primitive) {
    return primitive == PITHP_OP_CHECKED || pithp_is_lowered(primitive);
}

/* Whether lowering a call takes longer than a run of the prepared call. Fills, running
 * sums, sorts, searches and draws are lowered in 3 to 9 ns. */
static bool is_worth_preparing(pithp_primitive primitive) {
    return primitive == PITHP_OP_DOT_GENERAL ||
           pithp_op_has(primitive, PITHP_TRAIT_VIEW | PITHP_TRAIT_JOIN |
                                       PITHP_TRAIT_SELECT | PITHP_TRAIT_REDUCTION |
                                       PITHP_TRAIT_ARG_REDUCTION | PITHP_TRAIT_INDEXED |
                                       PITHP_TRAIT_UPDATE);
}

/* Lower the calls that run as steps of their own on the host. */
static bool prepare_calls(pithp_planning *g) {
    const pithp_plan *plan = g->plan;
    if (plan->scheduled || !pithp_scope_device(g->s)->backend->addressable)
        return true;
    for (int64_t k = 0; k < plan->step_count; k++) {
        pithp_step *step = &plan->steps[k];
        if (step->kind != PITHP_STEP_CALL || step->producer >= 0 || step->band ||
            step->joins || step->runs_in_consumer || !is_lowered(step->call->primitive))
            continue;
        pithp_call call = pithp_instruction_call(g->p, step->call, step->specs);
        if (call.primitive == PITHP_OP_CHECKED)
            call = pithp_checked_call(&call);
        if (is_worth_preparing(call.primitive))
            step->prepared =
                pithp_prepare(plan->runtime, &call, step->spec, step->temporary_bytes);
    }
    return true;
}

/* ---- The pipeline ---- */

static bool (*const passes[])(pithp_planning *g) = {
    pithp_plan_views,       /* views that are read in place */
    pithp_plan_fuse_steps,  /* clusters, and the steps that fuse them */
    pithp_plan_sink,        /* values to the step that reads them */
    pithp_plan_delay,       /* reductions past row-wise steps */
    pithp_plan_uses,        /* def-use lists and liveness */
    pithp_plan_fuse_rows,   /* row-wise fusion */
    pithp_plan_fuse_inputs, /* producers into reductions, gathers into consumers */
    lower_fused_steps,      /* fused steps to block code */
    describe_calls,         /* specs and workspaces of calls, kernels and control flow */
    pithp_plan_forward,     /* results of control flow that are operands */
    pithp_plan_in_place,    /* updates in place */
    pithp_plan_join,        /* concatenations in place */
    pithp_plan_concurrent,  /* reductions that may run at the same time */
    pithp_plan_buffers,     /* buffer assignment */
    prepare_calls,          /* launches of calls on the host */
};

enum { VALUE_NUMBERS = 18, VALUE_BOOLS = 6 };

/* All arrays over values are in one block of memory. */
static void lay_out_values(pithp_planning *g, void *memory, size_t n) {
    int32_t **const numbers[VALUE_NUMBERS] = {
        &g->depth,        &g->root,        &g->step,          &g->next,
        &g->cluster,      &g->cluster_ops, &g->cluster_reads, &g->cluster_step,
        &g->waiting_next, &g->last_use,    &g->reader_count,  &g->first_reader,
        &g->last_read,    &g->forwarded,   &g->updated_input, &g->slot,
        &g->staged_in,    &g->latest_use};
    bool **const bools[VALUE_BOOLS] = {&g->is_virtual, &g->is_pieced, &g->in_memory,
                                       &g->buffered,   &g->is_output, &g->is_part};
    int32_t *number = memory;
    for (int k = 0; k < VALUE_NUMBERS; k++, number += n)
        *numbers[k] = number;
    bool *at = (bool *)number;
    for (int k = 0; k < VALUE_BOOLS; k++, at += n)
        *bools[k] = at;
}

static bool run_passes(pithp_planning *g) {
    const size_t n = (size_t)g->p->value_count + 1;
    const size_t bytes =
        n * (VALUE_NUMBERS * sizeof(int32_t) + VALUE_BOOLS * sizeof(bool));
    void *memory = pithp_allocate(g->s->runtime, bytes);
    bool planned = true;
    if (!memory) {
        pithp_fail_memory(g->s, bytes);
        return false;
    }
    lay_out_values(g, memory, n);
    for (size_t k = 0; k < sizeof passes / sizeof *passes && planned; k++)
        planned = passes[k](g);
    pithp_release(g->s->runtime, g->uses, g->uses_bytes);
    pithp_release(g->s->runtime, memory, bytes);
    return planned;
}

pithp_plan *
pithp_plan_make_for(pith_scope *s, pithp_program *p, pithp_plan_purpose purpose) {
    pith_runtime *rt = s->runtime;
    const size_t place_bytes = ((size_t)p->value_count + 1) * sizeof(pithp_place);
    PITH_ASSERT(!p->has_marks);
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
                         .forwards = purpose == PITHP_PLAN_FUSED,
                         .scheduled = purpose == PITHP_PLAN_SCHEDULED,
                         .on_host = pithp_scope_device(s)->backend->addressable};
    atomic_init(&plan->refs, 1);
    pithp_program_retain(p);
    pithp_planning g = {.s = s, .p = p, .plan = plan};
    if (run_passes(&g))
        return plan;
    pithp_plan_free(plan);
    return NULL;
}

void pithp_plan_set_name(pithp_plan *plan, const char *name) {
    snprintf(plan->name, sizeof plan->name, "%s", name);
    for (int64_t k = 0; plan->has_plans && k < plan->step_count; k++) {
        const pithp_step *step = &plan->steps[k];
        for (int p = 0; step->kind == PITHP_STEP_CONTROL && p < step->call->program_count;
             p++)
            pithp_plan_set_name(step->plans[p], name);
    }
}

static void free_step(pith_runtime *rt, pithp_step *step) {
    switch (step->kind) {
        case PITHP_STEP_FUSED:
            if (step->fused)
                pithp_release(rt, step->fused, pithp_fused_memory_bytes(step->fused));
            break;
        case PITHP_STEP_CALL:
            pithp_release(rt, step->specs,
                          (size_t)step->call->operand_count * sizeof *step->specs);
            pithp_prepared_free(rt, step->prepared);
            break;
        case PITHP_STEP_KERNEL:
            pithp_plan_kernel_free(rt, step);
            break;
        case PITHP_STEP_CONTROL:
            pithp_plan_control_free(rt, step);
            break;
    }
}

void pithp_plan_retain(pithp_plan *plan) {
    atomic_fetch_add_explicit(&plan->refs, 1, memory_order_relaxed);
}

void pithp_plan_free(pithp_plan *plan) {
    if (!plan || atomic_fetch_sub_explicit(&plan->refs, 1, memory_order_acq_rel) != 1)
        return;
    pith_runtime *rt = plan->runtime;
    for (int64_t k = 0; k < plan->step_count; k++)
        free_step(rt, &plan->steps[k]);
    pithp_release(rt, plan->steps, (size_t)plan->step_room * sizeof *plan->steps);
    pithp_release(rt, plan->places,
                  ((size_t)plan->program->value_count + 1) * sizeof *plan->places);
    pithp_release(rt, plan->forwarded_places,
                  (size_t)plan->forwarded_count * sizeof *plan->forwarded_places);
    if (plan->updates)
        pithp_release(rt, plan->updates,
                      (size_t)plan->program->output_count * sizeof *plan->updates);
    if (plan->aliases)
        pithp_release(rt, plan->aliases,
                      (size_t)plan->program->output_count * sizeof *plan->aliases);
    pithp_buffer_release(plan->literals, 1);
    pithp_release(rt, plan->reused,
                  (size_t)plan->program->output_count * sizeof *plan->reused + 1);
    pithp_program_release(plan->program);
    pithp_release(rt, plan, sizeof *plan);
}

pithp_place pithp_plan_output(const pithp_plan *plan, int64_t k) {
    const pithp_place place = plan->places[plan->program->outputs[k]];
    return place.store == PITHP_FORWARDED ? plan->forwarded_places[place.at] : place;
}

pith_status pithp_plan_await(pith_scope *s, const pithp_plan *plan) {
    pith_status rc = plan->literals ? pithp_buffer_read(s, plan->literals) : PITH_OK;
    for (int64_t c = 0; c < plan->program->constant_count && rc == PITH_OK; c++)
        if (plan->program->constants[c].buffer)
            rc = pithp_buffer_read(s, plan->program->constants[c].buffer);
    for (int64_t k = 0; plan->has_plans && k < plan->step_count && rc == PITH_OK; k++) {
        const pithp_step *step = &plan->steps[k];
        for (int p = 0; step->kind == PITHP_STEP_CONTROL &&
                        p < step->call->program_count && rc == PITH_OK;
             p++)
            rc = pithp_plan_await(s, step->plans[p]);
    }
    return rc;
}

bool pithp_plan_is_flat(const pithp_plan *plan) {
    const pithp_step *step = plan->steps;
    return plan->step_count == 1 && step->kind == PITHP_STEP_FUSED &&
           !step->gather_count && !step->runs_in_consumer && !step->band &&
           step->fused->piece_count == 0 && !plan->workspace_bytes &&
           !plan->forwarded_count && pithp_is_direct(step->fused);
}
