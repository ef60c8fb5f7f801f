/* Planning kernel calls: each is bound once, when the plan is made. */
#include "program/op/kernel_call.h"

#include "program/plan/plan.h"

/* For compiled loops, which call the kernel themselves. */
static void pack(pithp_kernel_call *k) {
    void *const nowhere[PITH_KERNEL_MAX_ARGS + 1] = {0};
    const pith_kernel_variant *kernel = k->binding.kernel;
    pithp_launch launch;
    pithp_error e;
    k->is_small =
        pithp_kernel_pack(&k->binding, nowhere, NULL, k->args, &launch, &e) == PITH_OK &&
        launch.count <= launch.grain && pithp_kernel_reports(&k->binding);
    for (int i = 0; i < kernel->arg_count; i++)
        k->is_small &= !kernel->args[i].filled;
}

/* The complete spec of an output; in a batch an entry's. */
static const pith_spec *
made_spec(pithp_kernel_binding *b, int argument, const pith_spec *spec) {
    if (!b->batched)
        return spec;
    pithp_kernel_entry(spec, b->entries, &b->made[argument]);
    return &b->made[argument];
}

/* Outs get complete specs. */
static bool bind(pithp_planning *g, pithp_step *step) {
    const pith_spec *specs[PITH_KERNEL_MAX_ARGS];
    const pithp_call call = pithp_instruction_call(g->p, step->call, specs);
    pithp_kernel_call *k = step->kernel;
    pithp_value result = step->call->result;
    pithp_error e;
    if (pithp_kernel_call_bind(&call, k, &e) != PITH_OK) {
        pithp_fail(g->s, e.code, NULL, "%s", e.text);
        return false;
    }
    for (int i = 0; i < k->binding.kernel->arg_count; i++)
        if (pithp_kernel_is_made(k->binding.kernel->args[i].role))
            k->binding.specs[i] = made_spec(&k->binding, i, g->p->values[result++].spec);
    pack(k);
    return true;
}

bool pithp_plan_kernel(pithp_planning *g, pithp_step *step) {
    step->kernel = pithp_allocate(g->plan->runtime, sizeof *step->kernel);
    if (step->kernel)
        return bind(g, step);
    pithp_fail_memory(g->s, sizeof *step->kernel);
    return false;
}

void pithp_plan_kernel_free(pith_runtime *rt, pithp_step *step) {
    pithp_release(rt, step->kernel, sizeof *step->kernel);
}
