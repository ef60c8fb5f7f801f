/* Inspection of the program of a call. */
#include "gpu/compile/compile_internal.h"
#include "program/command/replay.h"
#include "trace/jit/jit_internal.h"

#include <inttypes.h>

pith_status pithp_jit_check_count(pith_scope *s,
                                  const pith_function *f,
                                  int64_t count,
                                  const void *const *arguments,
                                  const char *what) {
    if (pithp_function_check(s, f, what) != PITH_OK || (count == f->arity && arguments))
        return s->error.code;
    return pithp_fail(s, PITH_E_ARG, NULL, "%s: %s: expected %d argument%s, got %" PRId64,
                      what, f->name, f->arity, f->arity == 1 ? "" : "s",
                      arguments ? count : 0);
}

const pithp_jit_closure *pithp_jit_compiled(pith_scope *s,
                                            const pith_function *function,
                                            int64_t count,
                                            const void *const *arguments,
                                            const char *what) {
    if (pithp_scope_trace(s)) {
        pithp_fail(s, PITH_E_TRACED, NULL, "%s: the scope is tracing", what);
        return NULL;
    }
    if (pithp_jit_check_count(s, function, count, arguments, what) != PITH_OK)
        return NULL;
    for (int i = 0; i < count; i++)
        if (pithp_argument_check(s, function, i, arguments[i]) != PITH_OK)
            return NULL;
    const pithp_jit_closure *closure = pithp_jit_closure_of(function);
    if (!closure)
        closure = pithp_jit_closure_of((pith_jit)(pithp_on_behalf(s), function, NULL));
    return closure;
}

/* The program of a call, recorded if not cached, with a reference for the caller. NULL:
 * error set. */
static pithp_jit_program *program_of(pith_scope *s,
                                     const pith_function *function,
                                     int64_t count,
                                     const void *const *arguments,
                                     const char *what) {
    const pithp_jit_closure *closure =
        pithp_jit_compiled(s, function, count, arguments, what);
    return closure ? pithp_jit_program_of(s, closure, arguments) : NULL;
}

static void add_result(pithp_string *text, const pithp_jit_program *p) {
    const int64_t checks = p->outputs.leaf_count - p->outputs.result_count;
    if (checks)
        pithp_string_print(text, "the last %lld results are for checks\n",
                           (long long)checks);
}

const char *pith_program_text(pith_scope *s,
                              const pith_function *function,
                              int64_t count,
                              const void *const *arguments) {
    pithp_jit_program *p =
        pithp_enter(s) ? program_of(s, function, count, arguments, "pith_program_text")
                       : NULL;
    if (!p)
        return NULL;
    pithp_string text;
    pithp_string_begin(&text, s->runtime);
    pithp_program_text(p->plan->program, &text);
    add_result(&text, p);
    pithp_jit_program_release(p);
    return pithp_string_finish(s, &text);
}

void pith_program_print(pith_scope *s,
                        const pith_function *function,
                        int64_t count,
                        const void *const *arguments,
                        FILE *out) {
    pithp_jit_program *p =
        pithp_enter(s) ? program_of(s, function, count, arguments, "pith_program_print")
                       : NULL;
    if (!p)
        return;
    pithp_string text;
    pithp_string_begin(&text, s->runtime);
    pithp_program_text(p->plan->program, &text);
    add_result(&text, p);
    pithp_jit_program_release(p);
    if (text.failed)
        pithp_fail_memory(s, text.capacity);
    else if (fputs(text.bytes, out ? out : stdout) < 0)
        pithp_fail(s, PITH_E_IO, NULL, "pith_program_print: the text cannot be written");
    pithp_string_end(&text);
}

pith_program_costs pith_program_cost(pith_scope *s,
                                     const pith_function *function,
                                     int64_t count,
                                     const void *const *arguments) {
    pith_program_costs costs = {0};
    pithp_jit_program *p =
        pithp_enter(s) ? program_of(s, function, count, arguments, "pith_program_cost")
                       : NULL;
    if (!p)
        return costs;
    const pithp_plan *plan = p->plan;
    const pithp_program *program = plan->program;
    costs.instructions = pithp_program_instructions(program, PITHP_PRIMITIVE_COUNT);
    costs.whiles = pithp_program_instructions(program, PITHP_OP_WHILE);
    costs.launches = pithp_plan_launches(plan);
    costs.first_workspace_bytes = pithp_executable_first_bytes(s, p->executable);
    costs.workspace_bytes = costs.first_workspace_bytes;
    for (int64_t k = 0; k < program->input_count; k++)
        costs.input_bytes += pithp_value_spec(program, program->inputs[k])->bytes;
    for (int64_t k = 0; k < p->outputs.leaf_count; k++)
        if (p->outputs.leaves[k].source == PITHP_LEAF_MADE ||
            p->outputs.leaves[k].source == PITHP_LEAF_HELD)
            costs.output_bytes += p->outputs.leaves[k].spec->bytes;
    costs.operations = pithp_program_operations(program);
    costs.kept_bytes = p->kept_bytes;
    costs.program_bytes = p->bytes;
    pithp_replay_costs replayed;
    if (pithp_replay_cost(s, p->executable->replay, plan, &replayed)) {
        costs.launches = replayed.launches;
        costs.workspace_bytes = replayed.workspace_bytes;
        costs.program_bytes += replayed.bytes;
    }
    pithp_jit_program_release(p);
    return costs;
}

const char *pith_program_cuda_text(pith_scope *s,
                                   const pith_function *function,
                                   int64_t count,
                                   const void *const *arguments) {
    pithp_jit_program *p = pithp_enter(s) ? program_of(s, function, count, arguments,
                                                       "pith_program_cuda_text")
                                          : NULL;
    if (!p)
        return NULL;
    pithp_error e = {.code = PITH_OK};
    pithp_string text;
    pithp_plan *plan = pithp_plan_make_for(s, p->plan->program, PITHP_PLAN_SCHEDULED);
    char file[PITHP_DEBUG_FILE_BYTES];
    if (plan)
        pithp_plan_set_name(plan, function->name);
    pithp_schedule *schedule =
        plan ? pithp_schedule_make(s, plan, PITHP_GEMM_NONE, &e) : NULL;
    const char *shown = NULL;
    if (schedule) {
        pithp_string_begin(&text, s->runtime);
        if (schedule->fused_count || schedule->control_count)
            pithp_schedule_cuda_text(&text, schedule, !schedule->host_count);
        (void)pithp_debug_directives(&text, schedule->prefix, ".cu", file, sizeof file);
        shown = pithp_string_finish(s, &text);
    } else if (plan) {
        pithp_fail(s, e.code, NULL, "pith_program_cuda_text: %s: %s", function->name,
                   e.text);
    }
    pithp_schedule_free(schedule);
    pithp_plan_free(plan);
    pithp_jit_program_release(p);
    return shown;
}
