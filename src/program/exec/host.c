/* Plan execution: the steps of a plan on the host, or on a device call by call. */
#include "program/command/collective.h"
#include "program/exec/call.h"
#include "program/exec/exec.h"
#include "program/exec/horizontal.h"
#include "program/exec/late.h"
#include "program/exec/watch.h"
#include "program/op/debug.h"

#include <string.h>

/* The address of an external; NULL: its elements are computed where they are read. */
static char *external_of(const pithp_exec *r, const pithp_step *step, int e) {
    char *address = pithp_address(r, step->operands[e].value);
    return address ? address + step->operands[e].offset * step->fused->externals[e].size
                   : NULL;
}

size_t pithp_fused_bind(const pithp_exec *r,
                        const pithp_step *step,
                        pithp_host_loop code,
                        pithp_fused_args *args) {
    const int externals = step->fused->external_count + step->fused->piece_count;
    *args = (pithp_fused_args){.step = step->launched, .code = code};
    for (int e = 0; e < externals; e++)
        args->data[e] = external_of(r, step, e);
    return pithp_fused_args_bytes(step->fused);
}

size_t pithp_map_reduce_bind(const pithp_exec *r, const pithp_step *step, char **at) {
    for (int e = 0; e < step->fused->external_count; e++)
        at[e] = external_of(r, step, e);
    return (size_t)step->fused->external_count * sizeof *at;
}

/* Run a direct step of compiled code. at: space for its addresses. */
static inline pith_status launch_direct(pith_scope *s,
                                        const pithp_plan *plan,
                                        const pithp_compiled *code,
                                        int64_t k,
                                        int64_t count,
                                        const void *const *const *tables,
                                        const void **at) {
    const pithp_step *step = &plan->steps[k];
    const pithp_compiled_address *from = &code->addresses[code->steps[k].first_address];
    const size_t externals = (size_t)step->fused->external_count;
    for (size_t e = 0; e < externals; e++)
        at[e] = (const void *)((uintptr_t)tables[from[e].table][from[e].index] +
                               from[e].offset);
    if (PITHP_LIKELY(count <= PITHP_GRAIN && pithp_scope_device(s)->immediate)) {
        if (count > 0)
            code->steps[k].loops[0](at, 0, count);
        return PITH_OK;
    }
    const pithp_launch launch = {.name = "fused",
                                 .loops = code->steps[k].loops,
                                 .args = at,
                                 .args_bytes = externals * sizeof *at,
                                 .count = count};
    return pithp_launch_run(s, &launch);
}

static pith_status run_direct(const pithp_exec *r, int64_t k) {
    const void *const fixed[PITHP_FIXED_COUNT] = {[PITHP_FIXED_WORKSPACE] = r->workspace};
    const void *const *const tables[PITHP_TABLE_COUNT] = {
        [PITHP_TABLE_INPUTS] = r->inputs,
        [PITHP_TABLE_OUTPUTS] = (const void *const *)r->outputs,
        [PITHP_TABLE_FORWARDED] = r->forwarded,
        [PITHP_TABLE_FIXED] = fixed};
    return launch_direct(r->s, r->plan, r->code, k, r->plan->steps[k].spec->count, tables,
                         r->pointers);
}

/* Run the only step of a plan. */
static pith_status run_alone(pith_scope *s,
                             const pithp_plan *plan,
                             const pithp_compiled *code,
                             const void *const *inputs,
                             void *const *outputs,
                             int64_t count) {
    static const void *const fixed[PITHP_FIXED_COUNT];
    const void *const *const tables[PITHP_TABLE_COUNT] = {
        [PITHP_TABLE_INPUTS] = inputs,
        [PITHP_TABLE_OUTPUTS] = (const void *const *)outputs,
        [PITHP_TABLE_FIXED] = fixed};
    const void *at[PITHP_ALONE_EXTERNALS];
    return launch_direct(s, plan, code, code->alone, count, tables, at);
}

static pith_status run_fused(const pithp_exec *r, const pithp_step *step, int64_t k) {
    pithp_fused_args *args = (pithp_fused_args *)(void *)r->pointers;
    const pithp_compiled_step *code = r->code ? &r->code->steps[k] : NULL;
    if (code && code->direct)
        return run_direct(r, k);
    if (step->gather_count)
        return pithp_run_gathering(r, step, code ? code->loops[0] : NULL);
    pithp_fused_bind(r, step, code ? code->loops[0] : NULL, args);
    return pithp_fused_run(r->s, step->fused, args, step->spec->count);
}

/* Run a call of one operation. report: of a checked call; else NULL. */
static pith_status run_op(pith_scope *s,
                          const pithp_step *step,
                          pithp_memory *memory,
                          pith_report *report,
                          const pithp_exec *r) {
    const pithp_instruction *i = step->call;
    pithp_call call =
        pithp_call_of(i->primitive, i->operand_count, step->specs, i->params);
    const char *site = s->site;
    s->site = i->site ? i->site : site; /* checks report the traced call site */
    if (i->primitive == PITHP_OP_CHECKED) {
        call = pithp_checked_call(&call);
        memory->report = report;
        pithp_zero_report(s, report);
    } else if (pithp_call_reports(&call)) {
        memory->report =
            pithp_check_make(s, pithp_index_describe, pithp_ops[i->primitive].name);
        if (PITHP_UNLIKELY(!memory->report))
            memory->report = pithp_late_report(s);
    }
    const pith_status rc =
        s->error.code != PITH_OK ? s->error.code
        : step->producer >= 0    ? pithp_run_reduction(r, step, &call, memory)
        : step->prepared         ? pithp_run_prepared(s, step->prepared, memory)
                                 : pithp_run(s, &call, step->spec, memory);
    s->site = site;
    return rc;
}

static pith_status run_call(const pithp_exec *r, const pithp_step *step) {
    const pithp_instruction *i = step->call;
    void **results = (void **)(void *)(r->pointers + i->operand_count);
    for (int k = 0; k < i->operand_count; k++)
        r->pointers[k] = pithp_address(r, pithp_operands(r->plan->program, i)[k]);
    for (int k = 0; k < i->result_count; k++)
        results[k] = pithp_address(r, i->result + k);
    if (step->kind == PITHP_STEP_KERNEL)
        return pithp_run_kernel(r->s, step, r->pointers, results);
    if (step->joins)
        return PITH_OK;
    if (i->primitive == PITHP_OP_DEBUG)
        return pithp_debug_print(r->s, i->params, step->specs, r->pointers), PITH_OK;
    char *temporary = step->temporary_bytes ? r->workspace + step->temporary : NULL;
    if (pithp_is_collective(i->primitive))
        return pithp_run_collective(
            r->s, step,
            &(pithp_collective_memory){r->pointers, results, temporary, r->host});
    pithp_memory memory = {
        .operands = r->pointers, .result = results[0], .temporary = temporary};
    return run_op(r->s, step, &memory, i->result_count > 1 ? results[1] : NULL, r);
}

int32_t pithp_step_call(pith_scope *s, const pithp_step *step, char *const *at) {
    const pithp_instruction *i = step->call;
    char *const *results = at + i->operand_count, *const *end = results + i->result_count;
    const void *const *operands = (const void *const *)at;
    if (step->kind == PITHP_STEP_KERNEL)
        return pithp_run_kernel(s, step, operands, (void *const *)results);
    if (step->joins)
        return PITH_OK;
    if (i->primitive == PITHP_OP_DEBUG)
        return pithp_debug_print(s, i->params, step->specs, operands), PITH_OK;
    char *temporary = step->temporary_bytes ? *end : NULL;
    if (pithp_is_collective(i->primitive))
        return pithp_run_collective(s, step,
                                    &(pithp_collective_memory){operands,
                                                               (void *const *)results,
                                                               temporary, NULL});
    pithp_memory memory = {
        .operands = operands, .result = results[0], .temporary = temporary};
    return run_op(s, step, &memory, (pith_report *)(void *)results[i->result_count - 1],
                  NULL);
}

/* The horizontal fusion that begins at step k, or NULL. */
static const pithp_horizontal *horizontal_of(const pithp_exec *r, int64_t k) {
    return r->code && pithp_scope_device(r->s)->immediate ? r->code->steps[k].horizontal
                                                          : NULL;
}

int64_t pithp_run_step(const pithp_exec *r, int64_t k, pith_status *rc) {
    const pithp_step *step = &r->plan->steps[k];
    const pithp_horizontal *horizontal = horizontal_of(r, k);
    *rc = horizontal                         ? pithp_horizontal_run(r, horizontal)
          : step->band                       ? pithp_run_band(r, k)
          : step->kind == PITHP_STEP_FUSED   ? run_fused(r, step, k)
          : step->kind == PITHP_STEP_CONTROL ? pithp_run_control(r, step)
                                             : run_call(r, step);
    return horizontal ? horizontal->steps : 1;
}

pith_status pithp_run_steps(const pithp_exec *r) {
    pith_status rc = PITH_OK;
    if (PITHP_UNLIKELY(r->watch))
        return pithp_run_watched(r);
    for (int64_t k = 0, done; k < r->plan->step_count && rc == PITH_OK; k += done)
        done = r->plan->steps[k].runs_in_consumer ? 1 : pithp_run_step(r, k, &rc);
    return rc;
}

bool pithp_is_forwarded(const pithp_exec *r, int64_t k) {
    const pithp_input_aliases *from = r->plan->aliases ? &r->plan->aliases[k] : NULL;
    const void *at = pithp_output_address(r, k);
    for (int o = 0; from && o < from->count; o++)
        if (r->inputs[from->inputs[o]] == at)
            return true;
    return false;
}

pith_status pithp_materialise(const pithp_exec *r, int64_t k) {
    const void *at = pithp_output_address(r, k);
    const pithp_program *p = r->plan->program;
    const size_t bytes = pithp_value_spec(p, p->outputs[k])->bytes;
    return at == r->outputs[k] || !bytes ? PITH_OK
                                         : pithp_copy(r->s, r->outputs[k], at, bytes);
}

/* Finish forwarded outputs: give the caller their addresses, or copy them to their
 * memory. */
static pith_status finish_outputs(const pithp_exec *r, bool copies) {
    const pithp_plan *plan = r->plan;
    pith_status rc = PITH_OK;
    for (int64_t k = 0; k < plan->program->output_count && rc == PITH_OK; k++) {
        const pithp_place place = plan->places[plan->program->outputs[k]];
        if (place.store != PITHP_FORWARDED || plan->forwarded_places[place.at].at != k)
            continue;
        if (!copies && pithp_is_forwarded(r, k))
            r->outputs[k] = pithp_output_address(r, k);
        else
            rc = pithp_materialise(r, k);
    }
    return rc;
}

/* Wait for what the plan reads, and take the memory of a run. */
static pith_status take_memory(pithp_exec *r, pithp_buffer **workspace) {
    pith_scope *s = r->s;
    const pithp_plan *plan = r->plan;
    const pith_status rc =
        pithp_scope_device(s)->immediate ? PITH_OK : pithp_plan_await(s, plan);
    if (rc != PITH_OK)
        return rc;
    if (plan->workspace_bytes &&
        !(*workspace = pithp_buffer_make(s, plan->workspace_bytes)))
        return s->error.code;
    r->workspace = *workspace ? (*workspace)->data : NULL;
    if (plan->host_bytes &&
        !(r->host = pithp_kept_allocate(s->runtime, plan->host_bytes)))
        return pithp_fail_memory(s, plan->host_bytes);
    return PITH_OK;
}

/* The others count on this rank until the program ends. */
static pith_status run_with_others(const pithp_exec *r) {
    pithp_late late;
    if (!pithp_has_ranks(r->s))
        return pithp_run_steps(r);
    pithp_late_begin(&late);
    const pith_status rc = pithp_run_steps(r);
    pithp_late_end(&late, r->s);
    return rc == PITH_OK ? r->s->error.code : rc;
}

static pith_status run_all(pith_scope *s,
                           pithp_executable *x,
                           const pithp_compiled *code,
                           const void *const *inputs,
                           void **outputs,
                           bool copies) {
    pithp_plan *plan = x->plan;
    const void *few[4 * PITHP_FEW_OPERANDS], **pointers = few;
    pithp_watch watch;
    pithp_exec r = {
        .s = s, .x = x, .plan = plan, .code = code, .inputs = inputs, .outputs = outputs};
    const size_t bytes = x->pointer_count * sizeof *pointers;
    pithp_buffer *workspace = NULL;
    pith_status rc;
    const bool together = plan->program->has_collectives && pithp_has_ranks(s) &&
                          !pithp_scope_device(s)->backend->addressable;
    if (PITHP_UNLIKELY(together)
            ? pithp_replay_run_ranks(s, x->replay, plan, inputs, outputs, &rc)
            : x->replay && pithp_replay_run(s, x->replay, plan, inputs, outputs, &rc))
        return rc;
    rc = take_memory(&r, &workspace);
    if (bytes > sizeof few && rc == PITH_OK &&
        !(pointers = pithp_kept_allocate(s->runtime, bytes)))
        rc = pithp_fail_memory(s, bytes);
    if (PITHP_UNLIKELY(plan->program->has_collectives))
        rc = pithp_ranks_begin(s, plan);
    if (rc == PITH_OK) {
        if (PITHP_UNLIKELY(plan->profile))
            r.watch = pithp_watch_begin(&watch, s, plan->profile);
        r.forwarded = pointers;
        r.pointers = pointers + plan->forwarded_count;
        rc = PITHP_UNLIKELY(plan->program->has_collectives) ? run_with_others(&r)
                                                            : pithp_run_steps(&r);
        if (rc == PITH_OK && plan->forwarded_count)
            rc = finish_outputs(&r, copies);
        if (PITHP_UNLIKELY(r.watch))
            pithp_watch_end(r.watch);
    }
    if (pointers != few)
        pithp_kept_release(s->runtime, pointers, bytes);
    pithp_kept_release(s->runtime, r.host, plan->host_bytes);
    pithp_buffer_release(workspace, 1);
    return rc;
}

static pith_status run(pith_scope *s,
                       pithp_executable *x,
                       const void *const *inputs,
                       void **outputs,
                       bool copies) {
    const pithp_compiled *code = pithp_executable_code(s, x);
    return code && code->alone >= 0 && !x->replay && pithp_scope_device(s)->immediate
               ? run_alone(s, x->plan, code, inputs, outputs,
                           x->plan->steps[code->alone].spec->count)
               : run_all(s, x, code, inputs, outputs, copies);
}

pith_status pithp_executable_pass(pith_scope *s,
                                  pithp_executable *x,
                                  const void *const *inputs,
                                  void **outputs) {
    return run(s, x, inputs, outputs, false);
}

pith_status pithp_executable_run(pith_scope *s,
                                 pithp_executable *x,
                                 const void *const *inputs,
                                 void *const *outputs) {
    return run(s, x, inputs, (void **)(uintptr_t)outputs /* not written */, true);
}

/* ---- Flat plans: any element count ---- */

pith_status pithp_executable_run_flat(pith_scope *s,
                                      pithp_executable *x,
                                      const void *const *inputs,
                                      void *const *outputs,
                                      int64_t count) {
    const pithp_plan *plan = x->plan;
    const bool immediate = pithp_scope_device(s)->immediate;
    const pithp_compiled *code = pithp_executable_code(s, x);
    if (code && code->alone >= 0 && immediate)
        return run_alone(s, plan, code, inputs, outputs, count);
    const pith_status rc = immediate ? PITH_OK : pithp_plan_await(s, plan);
    if (rc != PITH_OK)
        return rc;
    const void *few[4 * PITHP_FEW_OPERANDS], **pointers = few;
    const size_t bytes = pithp_fused_args_bytes(plan->steps->fused);
    if (bytes > sizeof few && !(pointers = pithp_allocate(s->runtime, bytes)))
        return pithp_fail_memory(s, bytes);
    const pithp_exec r = {.s = s,
                          .x = x,
                          .plan = plan,
                          .inputs = inputs,
                          .outputs = (void **)(uintptr_t)outputs /* only read */};
    pithp_fused_args *args = (pithp_fused_args *)(void *)pointers;
    pithp_fused_bind(&r, plan->steps, code ? code->steps[0].loops[0] : NULL, args);
    const pith_status ran = pithp_fused_run(s, plan->steps->fused, args, count);
    if (pointers != few)
        pithp_release(s->runtime, pointers, bytes);
    return ran;
}
