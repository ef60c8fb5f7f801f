/* Concurrency: consecutive reductions of a command buffer that may run at the same time,
 * because none needs the result of another. Each has memory of its own. */
#include "program/host/reduce.h"
#include "program/op/thresholds.h"
#include "program/plan/plan.h"

/* Whether a value is made before step `first`, or by step `own`. */
static bool is_there(const pithp_planning *g, pithp_value v, int32_t first, int32_t own) {
    const pithp_bases from = pithp_plan_bases(g, v);
    bool there = true;
    for (int b = 0; b < from.count; b++) {
        const int32_t made = g->step[from.list[b]];
        there &= made < first || made == own;
    }
    return there;
}

static bool reads_before(const pithp_planning *g, int32_t number, int32_t first) {
    const pithp_step *step = &g->plan->steps[number];
    if (step->kind != PITHP_STEP_FUSED)
        return is_there(g, pithp_operands(g->p, step->call)[0], first, step->producer);
    if (!step->members)
        return is_there(g, step->unmaterialised, first, number);
    bool before = true;
    for (pithp_value v = step->first; v >= 0 && before; v = g->next[v]) {
        const pithp_instruction *i = pithp_maker(g->p, v);
        for (int o = 0; o < i->operand_count; o++)
            before &= is_there(g, pithp_operands(g->p, i)[o], first, number);
    }
    return before;
}

/* A reduction whose launches have combined kernels. */
static bool is_reduction(const pithp_planning *g, const pithp_step *step) {
    const pith_spec *specs[1];
    if (step->kind == PITHP_STEP_FUSED ||
        !pithp_op_has(step->call->primitive,
                      PITHP_TRAIT_REDUCTION | PITHP_TRAIT_ARG_REDUCTION))
        return false;
    const pithp_call call = pithp_instruction_call(g->p, step->call, specs);
    return step->producer >= 0 || !pithp_reduce_view_of(&call).moved;
}

/* The end of the concurrent reductions from `first` on. */
static int32_t find_end(const pithp_planning *g, int32_t first) {
    const pithp_plan *plan = g->plan;
    size_t bytes = 0;
    int32_t end = first;
    for (int32_t k = first; k < plan->step_count; k++) {
        const pithp_step *step = &plan->steps[k];
        if (!(step->runs_in_consumer || is_reduction(g, step)) ||
            !reads_before(g, k, first))
            break;
        bytes += step->call ? step->temporary_bytes + step->spec->bytes : 0;
        if (bytes > PITHP_CONCURRENT_BYTES)
            break;
        end = step->call ? k + 1 : end;
    }
    return end;
}

bool pithp_plan_concurrent(pithp_planning *g) {
    pithp_plan *plan = g->plan;
    for (int32_t k = 0, end; plan->scheduled && k < plan->step_count; k = end) {
        end = find_end(g, k);
        for (int32_t of = k; of < end; of++)
            plan->steps[of].concurrent_until = end;
        end = end > k ? end : k + 1;
    }
    return true;
}
