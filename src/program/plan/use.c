/* Def-use lists and liveness: the steps that read each value, and the values that need
 * memory because another step reads them, or the caller does. */
#include "program/plan/plan.h"

#include <string.h>

typedef struct noting {
    pithp_planning *g;
    int32_t count; /* entries */
} noting;

/* A value has one entry of a step, however often that reads it. */
static void add_use(noting *n, pithp_value v, int32_t step) {
    pithp_planning *g = n->g;
    int32_t *latest = &g->latest_use[v];
    if (*latest >= 0 && g->uses[*latest].step == step)
        return;
    g->uses[n->count] = (pithp_use){step, *latest};
    *latest = n->count++;
}

static void
note_base(noting *n, pithp_value base, int32_t step, bool fused, bool direct) {
    pithp_planning *g = n->g;
    const bool inside = fused && g->step[base] == step;
    add_use(n, base, step);
    if (!inside) {
        g->reader_count[base]++;
        if (step < g->first_reader[base])
            g->first_reader[base] = step;
    }
    if (g->is_virtual[base])
        return; /* full: a literal of the plan */
    g->in_memory[base] |= !inside || !direct;
    if (step > g->last_use[base])
        g->last_use[base] = step;
}

/* Operands and results of an instruction that runs in a step. */
static void note_instruction(noting *n, const pithp_instruction *i, int32_t step) {
    pithp_planning *g = n->g;
    const bool fused = g->plan->steps[step].kind == PITHP_STEP_FUSED;
    for (int o = 0; o < i->operand_count; o++) {
        const pithp_value v = pithp_operands(g->p, i)[o];
        const pithp_bases from = pithp_plan_bases(g, v);
        for (int b = 0; b < from.count; b++)
            note_base(n, from.list[b], step, fused, !g->is_virtual[v] && g->root[v] == v);
    }
    for (pithp_value v = i->result; v < i->result + i->result_count; v++) {
        g->in_memory[v] |= !fused;
        if (step > g->last_use[v])
            g->last_use[v] = step;
    }
}

/* Entries that all instructions may need. */
static size_t count_uses(const pithp_planning *g) {
    size_t count = 0;
    for (int64_t k = 0; k < g->p->instruction_count; k++) {
        const pithp_instruction *i = &g->p->instructions[k];
        for (int o = 0; o < i->operand_count; o++)
            count += g->is_pieced[pithp_operands(g->p, i)[o]] ? PITHP_PIECES : 1;
    }
    return count;
}

static void clear(pithp_planning *g) {
    const int64_t count = g->p->value_count;
    memset(g->in_memory, 0, (size_t)count * sizeof *g->in_memory);
    memset(g->buffered, 0, (size_t)count * sizeof *g->buffered);
    memset(g->is_output, 0, (size_t)count * sizeof *g->is_output);
    for (int64_t v = 0; v < count; v++) {
        g->last_use[v] = g->latest_use[v] = -1;
        g->reader_count[v] = 0;
        g->first_reader[v] = INT32_MAX;
    }
}

bool pithp_plan_uses(pithp_planning *g) {
    const pithp_program *p = g->p;
    noting n = {.g = g};
    g->uses_bytes = count_uses(g) * sizeof *g->uses;
    g->uses = g->uses_bytes ? pithp_allocate(g->s->runtime, g->uses_bytes) : NULL;
    if (g->uses_bytes && !g->uses) {
        pithp_fail_memory(g->s, g->uses_bytes);
        return false;
    }
    clear(g);
    for (int32_t k = 0; k < g->plan->step_count; k++) {
        const pithp_instruction *i = NULL;
        while ((i = pithp_step_next(g, &g->plan->steps[k], i)) != NULL)
            note_instruction(&n, i, k);
    }
    for (int64_t k = 0; k < p->output_count; k++) {
        const pithp_value root = g->root[p->outputs[k]];
        g->in_memory[root] = g->is_output[root] = true;
        g->reader_count[root]++;
    }
    return true;
}
