/* Executables: a plan with its compiled code and its replay. */
#include "program/exec/executable.h"

#include "program/cuda/cuda.h"
#include "program/emit/loop.h"
#include "program/exec/tier.h"
#include "program/ir/region.h"
#include "program/pass/pass.h"
#include "program/profile/profile.h"

#include <string.h>

/* ---- Addresses that a run records ---- */

static size_t most(size_t a, size_t b) {
    return a > b ? a : b;
}

size_t pithp_range_pointers(const pithp_executable *x, const pithp_step *step) {
    size_t inside = 0;
    for (int k = 0; k < step->call->program_count; k++) {
        const pithp_program *p = step->plans[k]->program;
        inside = most(inside, x->programs[step->first_program + k].pointer_count +
                                  (size_t)(p->input_count + p->output_count));
    }
    if (pithp_loop_fits(x->plan, step))
        inside = most(inside, (size_t)pithp_loop_addresses(step));
    return inside;
}

/* Control flow records the addresses of its carries, and those of each range. */
static size_t control_pointers(const pithp_executable *x, const pithp_step *step) {
    return (size_t)step->ranges * pithp_range_pointers(x, step) +
           (size_t)pithp_carries_of(step->call).count;
}

/* ---- Making ---- */

static size_t programs_bytes(const pithp_plan *plan) {
    return (size_t)plan->program_count * sizeof(pithp_executable);
}

static void clear(pithp_executable *x) {
    if (x->programs)
        for (int64_t k = 0; k < x->plan->program_count; k++)
            clear(&x->programs[k]);
    pithp_compiled_end(x);
    pithp_replay_free(x->replay);
    pithp_release(x->plan->runtime, x->programs,
                  x->programs ? programs_bytes(x->plan) : 0);
}

static bool set_up(pithp_executable *x, pithp_plan *plan);

static bool set_up_programs(pithp_executable *x) {
    const pithp_plan *plan = x->plan;
    bool ready = true;
    if (plan->program_count == 0)
        return true;
    x->programs = pithp_allocate(plan->runtime, programs_bytes(plan));
    if (!x->programs)
        return false;
    for (int64_t k = 0; k < plan->step_count; k++) {
        const pithp_step *step = &plan->steps[k];
        for (int p = 0; step->kind == PITHP_STEP_CONTROL && p < step->call->program_count;
             p++)
            ready &= set_up(&x->programs[step->first_program + p], step->plans[p]);
    }
    return ready;
}

/* False: memory is short; x may be cleared. */
static bool set_up(pithp_executable *x, pithp_plan *plan) {
    memset(x, 0, sizeof *x);
    x->plan = plan;
    if (!set_up_programs(x))
        return false;
    const size_t forwarded = (size_t)plan->forwarded_count;
    size_t control = 0;
    for (int64_t k = 0; k < plan->step_count; k++)
        if (plan->steps[k].kind == PITHP_STEP_CONTROL)
            control = most(control, control_pointers(x, &plan->steps[k]));
    x->pointer_count = most(plan->pointer_count, control + forwarded);
    return pithp_compiled_begin(x);
}

/* A plan of the program, without identity marks. */
static pithp_plan *
make_plan(pith_scope *s, pithp_program *p, pithp_plan_purpose purpose) {
    if (!p->has_marks)
        return pithp_plan_make_for(s, p, purpose);
    pithp_program *bare = pithp_program_optimise(s, p, PITHP_PASS_MARKS);
    pithp_plan *plan = bare ? pithp_plan_make_for(s, bare, purpose) : NULL;
    pithp_program_release(bare);
    return plan;
}

pithp_executable *pithp_executable_make(pith_scope *s, pithp_program *p, bool fuse) {
    pith_runtime *rt = s->runtime;
    const bool on_host = pithp_scope_device(s)->backend->addressable;
    pithp_plan *plan =
        make_plan(s, p, fuse && on_host ? PITHP_PLAN_FUSED : PITHP_PLAN_CALLS);
    if (!plan)
        return NULL;
    pithp_executable *x = pithp_allocate(rt, sizeof *x);
    if (x && set_up(x, plan)) {
        if (fuse && !on_host)
            x->replay = pithp_replay_make(plan);
        return x;
    }
    if (x)
        clear(x);
    pithp_release(rt, x, sizeof *x);
    pithp_plan_free(plan);
    pithp_fail_memory(s, sizeof *x);
    return NULL;
}

void pithp_executable_free(pithp_executable *x) {
    if (!x)
        return;
    pithp_plan *plan = x->plan;
    clear(x);
    pithp_release(plan->runtime, x, sizeof *x);
    pithp_plan_free(plan);
}

void pithp_executable_reuse(pith_scope *s,
                            pithp_executable *x,
                            const int64_t *inputs,
                            int64_t count,
                            int64_t *outputs) {
    pithp_plan *replayed = NULL;
    if (x->replay &&
        !(replayed = pithp_plan_make_for(s, x->plan->program, PITHP_PLAN_SCHEDULED)))
        return;
    pithp_plan_reuse(s, x->plan, replayed, inputs, count, outputs);
    if (replayed)
        pithp_plan_free(replayed);
}

size_t pithp_executable_bytes(const pithp_executable *x) {
    return pithp_plan_bytes(x->plan) + sizeof *x + pithp_replay_bytes(x->replay);
}

/* The most memory that a call of the plan takes while it runs alone. */
static size_t call_bytes(pith_scope *s, const pithp_plan *plan) {
    size_t bytes = 0;
    for (int64_t k = 0; k < plan->step_count; k++) {
        const pithp_step *step = &plan->steps[k];
        const pithp_instruction *i = step->call;
        if (step->kind == PITHP_STEP_CALL && i->result_count) {
            pithp_call call =
                pithp_call_of(i->primitive, i->operand_count, step->specs, i->params);
            if (i->primitive == PITHP_OP_CHECKED)
                call = pithp_checked_call(&call);
            bytes = most(bytes, pithp_run_cuda_bytes(s, &call, step->spec));
        }
        for (int p = 0; step->kind == PITHP_STEP_CONTROL && p < i->program_count; p++)
            bytes = most(bytes, call_bytes(s, step->plans[p]));
    }
    return bytes;
}

size_t pithp_executable_first_bytes(pith_scope *s, const pithp_executable *x) {
    const bool on_host = pithp_scope_device(s)->backend->addressable;
    return x->plan->workspace_bytes + (on_host ? 0 : call_bytes(s, x->plan));
}

/* ---- Profiles ---- */

void pithp_executable_profile(pithp_executable *x) {
    pithp_profile_begin(x->plan);
    if (x->plan->profile && x->replay)
        pithp_replay_time(x->replay, x->plan->profile->enrolled);
}

void pithp_executable_attach(pithp_executable *x, pithp_profile *p) {
    pithp_profile_attach(x->plan, p);
    if (x->replay)
        pithp_replay_time(x->replay, p->enrolled);
}
