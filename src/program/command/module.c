/* Translation unit of a command buffer: the text of its fused steps. */
#include "program/command/command.h"
#include "program/emit/emit.h"
#include "program/host/math/link.h"

#include <stdio.h>

void pithp_many_name(char name[PITHP_STEP_NAME_BYTES],
                     const char *prefix,
                     int64_t function) {
    char step[PITHP_STEP_NAME_BYTES];
    pithp_step_name(step, prefix, function);
    snprintf(name, PITHP_STEP_NAME_BYTES, "%.*s_many", PITHP_STEP_NAME_BYTES - 6, step);
}

bool pithp_schedule_text(pithp_string *t,
                         const char *prologue,
                         const pithp_schedule *schedule,
                         bool *maths) {
    pithp_emitted_ops ops = {.maths = false};
    char name[PITHP_STEP_NAME_BYTES];
    pithp_string_add(t, prologue);
    if (schedule->many_count)
        pithp_string_add(t, pithp_text_many);
    if (schedule->reduces)
        pithp_string_add(t, pithp_text_reduce);
    for (int64_t k = 0; k < schedule->fused_count; k++) {
        pithp_emit_op_functions(t, &ops, schedule->fused[k].step);
        pithp_step_name(name, schedule->prefix, k);
        pithp_emit_kernel(t, name, &schedule->fused[k]);
        if (!schedule->many_count)
            continue;
        if (schedule->fused[k].reduction.kind == PITHP_REDUCE_KERNEL_TEAM)
            pithp_string_print(
                t, "M_BLOCK_MANY(%s, %s_args, m_team, m_none, M_TEAM_STEPS)\n", name,
                name);
        else
            pithp_string_print(t, "M_MANY(%s, %s_args)\n", name, name);
    }
    *maths = ops.maths;
    return schedule->fused_count > 0 && !t->failed;
}

bool pithp_schedule_cuda_text(pithp_string *t,
                              const pithp_schedule *schedule,
                              bool graph) {
    const bool decides = graph && schedule->control_count;
    bool maths; /* unused: the CUDA toolkit has these functions */
    pithp_string_add(t, "#define M_INDIRECT\n");
    pithp_schedule_text(t, pithp_text_cuda, schedule, &maths);
    if (decides)
        pithp_string_add(t, pithp_text_graph);
    return (schedule->fused_count || decides) && !t->failed;
}
