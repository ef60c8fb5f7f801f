/* Updates in place: a scatter, a dynamic_update_slice, an inout of a kernel or a loop's
 * carry is written where the array lies that it updates, if nobody reads that afterwards.
 * Such values are one in memory. A body that updates an input so says so, and a loop
 * hands it the memory of the carry itself. */
#include "program/emit/loop.h"
#include "program/interpret/plan.h"

#include <string.h>

/* The argument of a kernel that operand k is, and the result that it is made as, or -1.
 */
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

static bool is_update(pithp_primitive primitive) {
    return (primitive >= PITHP_OP_SCATTER_SET && primitive <= PITHP_OP_SCATTER_OR) ||
           primitive == PITHP_OP_DYNAMIC_UPDATE_SLICE;
}

int pithp_updated(const pithp_step *step, int operand) {
    const pithp_instruction *i = step->call;
    int result = -1;
    if (i->primitive == PITHP_OP_KERNEL) {
        result = kernel_result(((const pithp_kernel_params *)i->params)->kernel, operand);
    } else if (i->primitive == PITHP_OP_CHECKED) {
        const pithp_checked_params *p = i->params;
        result = operand == 0 && is_update(p->primitive) ? 0 : -1;
    } else if (step->plans) {
        const pithp_carried c = pithp_carries_of(i);
        const bool carry = operand >= c.first && operand < c.first + c.count;
        result = carry && pithp_carry_in_place(step, operand - c.first)
                     ? operand - c.first
                     : -1;
    } else if (operand == 0 && is_update(i->primitive)) {
        result = 0;
    }
    return result;
}

bool pithp_carry_in_place(const pithp_step *step, int carry) {
    const pithp_instruction *i = step->call;
    const pithp_plan *body = step->plans[i->program_count - 1];
    const int first = i->primitive == PITHP_OP_WHILE
                          ? ((const pithp_while_params *)i->params)->body_operands
                          : pithp_carries_of(i).first;
    return body->updates && body->updates[carry] == first + carry;
}

/* ---- Planning ---- */

/* The value whose memory v shares. */
static pithp_value top_of(const pithp_planning *g, pithp_value v) {
    while (g->root[v] != v)
        v = g->root[v];
    return v;
}

/* Whether an operand is read for the last time by that step, and once. */
static bool is_last_read(const pithp_planning *g, int32_t number, int operand) {
    const pithp_instruction *i = g->plan->steps[number].call;
    const pithp_value *operands = pithp_operands(g->p, i);
    const pithp_value top = top_of(g, operands[operand]);
    bool last = g->last_use[top] == number && g->passed[top] < 0 && !g->scratch[top];
    for (int o = 0; o < i->operand_count && last; o++)
        last = o == operand || top_of(g, operands[o]) != top;
    return last;
}

/* The result of a step takes over the memory of what it updates. scratch: of a top, that
 * it is an output; family: the input that it updates, or -1. */
static void join(pithp_planning *g, int32_t number, int operand, pithp_value result) {
    const pithp_value top =
        top_of(g, pithp_operands(g->p, g->plan->steps[number].call)[operand]);
    const pithp_node *n = &g->p->values[top];
    if (g->passed[result] >= 0 || g->root[result] != result ||
        g->p->values[result].spec->bytes != n->spec->bytes ||
        !is_last_read(g, number, operand))
        return;
    if (n->origin == PITHP_FROM_INPUT) {
        g->family[result] = n->at;
    } else if (n->origin == PITHP_FROM_INSTRUCTION && g->in_memory[top]) {
        g->root[result] = top;
        g->in_memory[result] = false;
        g->scratch[top] |= g->scratch[result];
        if (g->last_use[result] > g->last_use[top])
            g->last_use[top] = g->last_use[result];
    }
}

bool pithp_plan_in_place(pithp_planning *g) {
    const pithp_program *p = g->p;
    pithp_plan *plan = g->plan;
    const size_t bytes = (size_t)p->output_count * sizeof *plan->updates;
    bool any = false;
    if (!plan->passes)
        return true;
    memset(g->scratch, 0, (size_t)p->value_count * sizeof *g->scratch);
    memset(g->family, -1, (size_t)p->value_count * sizeof *g->family);
    for (int64_t k = 0; k < p->output_count; k++)
        g->scratch[g->root[p->outputs[k]]] = true;
    for (int32_t n = 0; n < plan->step_count; n++) {
        const pithp_step *step = &plan->steps[n];
        for (int o = 0; step->call && o < step->call->operand_count; o++) {
            const int result = pithp_updated(step, o);
            if (result >= 0)
                join(g, n, o, step->call->result + result);
        }
    }
    for (pithp_value v = 0; v < p->value_count; v++) /* operands come first */
        g->root[v] = g->root[g->root[v]];
    for (int64_t k = 0; k < p->output_count; k++)
        any |= g->family[g->root[p->outputs[k]]] >= 0;
    if (!any)
        return true;
    plan->updates = pithp_allocate(plan->runtime, bytes);
    if (!plan->updates) {
        pithp_fail_memory(g->s, bytes);
        return false;
    }
    for (int64_t k = p->output_count; k-- > 0;) {
        const pithp_value top = g->root[p->outputs[k]];
        plan->updates[k] = g->family[top];
        for (int64_t j = k + 1; j < p->output_count; j++) /* written as the first one */
            if (g->root[p->outputs[j]] == top)
                plan->updates[j] = -1;
    }
    return true;
}
