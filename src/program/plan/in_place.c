/* In-place updates: a scatter, a dynamic_update_slice, an inout of a kernel or a loop's
 * carry is written to the buffer of the array that it updates, if that array has no later
 * reader. Such values share a buffer. A body marks inputs that it updates in place, and a
 * loop passes it the buffer of the carry. A branch does the same if all other branches
 * update or forward the same operand. */
#include "program/ir/region.h"
#include "program/plan/plan.h"

#include <string.h>

/* The kernel argument of operand k, and the result of an inout, or -1. */
static int kernel_result(const pith_kernel_variant *kernel, int k) {
    int result = 0;
    for (int a = 0; a < kernel->arg_count; a++) {
        const pith_role role = kernel->args[a].role;
        if (role == PITH_ROLE_INOUT && k == 0)
            return result;
        k -= role == PITH_ROLE_IN || role == PITH_ROLE_INOUT;
        result += role == PITH_ROLE_OUT || role == PITH_ROLE_INOUT;
        if (k < 0)
            break;
    }
    return -1;
}

/* The result that every branch makes by updating or forwarding an operand, if at least
 * one branch updates it; or -1. */
static int branches_update(const pithp_step *step, int operand) {
    const pithp_instruction *i = step->call;
    const pithp_regions r = pithp_regions_of(i);
    const int input = pithp_region_input(&r, 0, operand);
    for (int k = 0; k < i->result_count && input >= 0; k++) {
        bool all = true, any = false;
        for (int b = 0; b < i->program_count; b++) {
            const pithp_plan *plan = step->plans[b];
            const bool updates = plan->updates && plan->updates[k] == input;
            all &= updates || i->programs[b]->outputs[k] == i->programs[b]->inputs[input];
            any |= updates;
        }
        if (all && any)
            return k;
    }
    return -1;
}

int pithp_updated(const pithp_step *step, int operand) {
    const pithp_instruction *i = step->call;
    int result = -1;
    if (i->primitive == PITHP_OP_KERNEL) {
        result = kernel_result(((const pithp_kernel_params *)i->params)->kernel, operand);
    } else if (i->primitive == PITHP_OP_CHECKED) {
        const pithp_checked_params *p = i->params;
        result = operand == 0 && pithp_op_has(p->primitive, PITHP_TRAIT_UPDATE) ? 0 : -1;
    } else if (i->primitive == PITHP_OP_COND) {
        result = branches_update(step, operand);
    } else if (step->kind == PITHP_STEP_CONTROL) {
        const pithp_regions r = pithp_regions_of(i);
        const int carry = pithp_carry_of(&r, operand);
        result = carry >= 0 && pithp_carry_in_place(step, carry) ? carry : -1;
    } else if (operand == 0 && pithp_op_has(i->primitive, PITHP_TRAIT_UPDATE)) {
        result = 0;
    }
    return result;
}

bool pithp_carry_in_place(const pithp_step *step, int carry) {
    const pithp_regions r = pithp_regions_of(step->call);
    const pithp_plan *body = step->plans[r.body];
    return body->updates &&
           body->updates[carry] == pithp_region_first_carry(&r, r.body) + carry;
}

/* ---- Planning ---- */

/* The value whose buffer v shares. */
static pithp_value top_of(const pithp_planning *g, pithp_value v) {
    while (g->root[v] != v)
        v = g->root[v];
    return v;
}

/* Whether results of a step may share a buffer with its operands. */
static bool forwards(const pithp_planning *g, const pithp_step *step) {
    for (int k = 0; step->kind == PITHP_STEP_CONTROL && k < step->call->result_count; k++)
        if (g->forwarded[step->call->result + k] >= 0)
            return true;
    return false;
}

/* The operand of a branch lives as long as a forwarded result. So ask only for other
 * readers: steps after this one, readers at any time, and forwarding elsewhere. */
static bool
is_left_to_branches(const pithp_planning *g, int32_t number, pithp_value top) {
    bool left = true;
    for (int32_t u = g->latest_use[top]; u >= 0 && left; u = g->uses[u].before) {
        const int32_t n = g->uses[u].step;
        const pithp_step *step = &g->plan->steps[n];
        left =
            n == number || (n < number && !step->runs_in_consumer && !forwards(g, step));
    }
    return left;
}

/* Whether a step is the last reader of an operand and reads it once, also through
 * forwarding. */
static bool is_last_read(const pithp_planning *g, int32_t number, int operand) {
    const pithp_instruction *i = g->plan->steps[number].call;
    const pithp_value *operands = pithp_operands(g->p, i);
    const pithp_value top = top_of(g, operands[operand]);
    bool last = g->forwarded[top] < 0 && !g->is_output[top] &&
                (i->primitive == PITHP_OP_COND ? is_left_to_branches(g, number, top)
                                               : g->last_use[top] == number);
    for (int o = 0; o < i->operand_count && last; o++) {
        const pithp_value other = top_of(g, operands[o]);
        const bool may_be = i->primitive != PITHP_OP_COND && g->forwarded[other] >= 0;
        last = o == operand || (other != top && !may_be);
    }
    return last;
}

/* Append the uses of an operand to those of the result that shares its buffer, as the
 * uses of the operand.
 *
 * @param left A branch is the last reader: drop entries of earlier steps, so that a chain
 * of branches takes linear time. */
static void join_uses(pithp_planning *g, pithp_value top, pithp_value result, bool left) {
    int32_t *latest = &g->latest_use[top], *end = &g->latest_use[result];
    if (left)
        g->uses[*latest].before = -1;
    while (*end >= 0)
        end = &g->uses[*end].before;
    *end = *latest;
    *latest = g->latest_use[result];
}

/* Let a result share the buffer of its updated operand. */
static void join(pithp_planning *g, int32_t number, int operand, pithp_value result) {
    const pithp_value top =
        top_of(g, pithp_operands(g->p, g->plan->steps[number].call)[operand]);
    const pithp_value_info *n = &g->p->values[top];
    const bool chosen = g->plan->steps[number].call->primitive ==
                        PITHP_OP_COND; /* its results are mostly forwarded */
    if ((g->forwarded[result] >= 0 && !chosen) || g->root[result] != result ||
        g->p->values[result].spec->bytes != n->spec->bytes ||
        !is_last_read(g, number, operand))
        return;
    if (n->origin == PITHP_FROM_INPUT) {
        g->updated_input[result] = n->at;
    } else if (n->origin == PITHP_FROM_INSTRUCTION && g->in_memory[top]) {
        g->forwarded[result] = -1;
        g->root[result] = top;
        join_uses(g, top, result, chosen);
        g->in_memory[result] = false;
        g->is_output[top] |= g->is_output[result];
        if (g->last_use[result] > g->last_use[top])
            g->last_use[top] = g->last_use[result];
    }
}

bool pithp_plan_in_place(pithp_planning *g) {
    const pithp_program *p = g->p;
    pithp_plan *plan = g->plan;
    const size_t bytes = (size_t)p->output_count * sizeof *plan->updates;
    bool any = false;
    if (!plan->forwards)
        return true;
    memset(g->updated_input, -1, (size_t)p->value_count * sizeof *g->updated_input);
    for (int32_t n = 0; n < plan->step_count; n++) {
        const pithp_step *step = &plan->steps[n];
        for (int o = 0; step->kind != PITHP_STEP_FUSED && o < step->call->operand_count;
             o++) {
            const int result = pithp_updated(step, o);
            if (result >= 0)
                join(g, n, o, step->call->result + result);
        }
    }
    for (pithp_value v = 0; v < p->value_count; v++) /* operands come first */
        g->root[v] = g->root[g->root[v]];
    for (int64_t k = 0; k < p->output_count; k++)
        any |= g->updated_input[g->root[p->outputs[k]]] >= 0;
    if (!any)
        return true;
    plan->updates = pithp_allocate(plan->runtime, bytes);
    if (!plan->updates) {
        pithp_fail_memory(g->s, bytes);
        return false;
    }
    for (int64_t k = 0; k < p->output_count; k++) {
        int32_t *input = &g->updated_input[g->root[p->outputs[k]]];
        plan->updates[k] = *input;
        *input = -1; /* others are written as the first one */
    }
    return true;
}
