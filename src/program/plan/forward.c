/* Forwarding (copy elision) through control flow: a result that may equal an operand is
 * not copied. The operand lives as long as the result, and a run records the address of
 * the result. */
#include "program/ir/region.h"
#include "program/plan/plan.h"

#include <string.h>

typedef struct pair {
    const pithp_step *step;
    int result;
    int program, at; /* next candidate */
    pithp_value operand;
} pair;

/* The next possible alias of the result. */
static bool next_pair(const pithp_planning *g, pair *x) {
    const pithp_instruction *i = x->step->call;
    const pithp_regions r = pithp_regions_of(i);
    for (; x->program < i->program_count; x->program++, x->at = 0) {
        const pithp_plan *plan = x->step->plans[x->program];
        if (!plan->aliases || x->result >= plan->program->output_count)
            continue;
        const pithp_input_aliases *from = &plan->aliases[x->result];
        while (x->at < from->count) {
            const int k =
                pithp_region_forwards(&r, x->program, from->inputs[x->at++], x->result);
            if (k >= 0) {
                x->operand = pithp_operands(g->p, i)[k];
                return true;
            }
        }
    }
    return false;
}

static void add_alias(pithp_input_aliases *o, int32_t input) {
    for (int k = 0; k < o->count; k++)
        if (o->inputs[k] == input)
            return;
    if (o->count < PITHP_INPUT_ALIASES)
        o->inputs[o->count++] = input;
}

/* Number the forwarded results. */
static void find_passed(pithp_planning *g) {
    pithp_plan *plan = g->plan;
    memset(g->forwarded, -1, (size_t)g->p->value_count * sizeof *g->forwarded);
    for (int64_t n = 0; n < plan->step_count && plan->forwards; n++) {
        const pithp_step *step = &plan->steps[n];
        for (int k = 0; step->kind == PITHP_STEP_CONTROL && k < step->call->result_count;
             k++) {
            pair x = {.step = step, .result = k};
            if (next_pair(g, &x))
                g->forwarded[step->call->result + k] = (int32_t)plan->forwarded_count++;
        }
    }
}

/* Process results in reverse order: an alias may itself be forwarded. */
static void prolong(pithp_planning *g) {
    for (int64_t k = 0; k < g->p->output_count; k++)
        if (g->forwarded[g->root[g->p->outputs[k]]] >= 0)
            g->last_use[g->root[g->p->outputs[k]]] = INT32_MAX;
    for (int64_t n = g->plan->step_count; n-- > 0;) {
        const pithp_step *step = &g->plan->steps[n];
        for (int k = 0; step->kind == PITHP_STEP_CONTROL && k < step->call->result_count;
             k++) {
            pair x = {.step = step, .result = k};
            const int32_t last = g->last_use[step->call->result + k];
            while (next_pair(g, &x)) {
                int32_t *use = &g->last_use[g->root[x.operand]];
                *use = last > *use ? last : *use;
            }
        }
    }
}

/* The possible aliases of a value among the inputs; for forwarded values from `of`. */
static void add_aliases(const pithp_planning *g,
                        const pithp_input_aliases *of,
                        pithp_value v,
                        pithp_input_aliases *to) {
    v = g->root[v];
    if (g->p->values[v].origin == PITHP_FROM_INPUT)
        add_alias(to, g->p->values[v].at);
    for (int k = 0; g->forwarded[v] >= 0 && k < of[g->forwarded[v]].count; k++)
        add_alias(to, of[g->forwarded[v]].inputs[k]);
}

/* Possible aliases of outputs: inputs that are outputs, and forwarded results. */
static bool find_aliases(pithp_planning *g) {
    const pithp_program *p = g->p;
    pithp_plan *plan = g->plan;
    const size_t of_bytes =
        ((size_t)plan->forwarded_count + 1) * sizeof(pithp_input_aliases);
    const size_t bytes = (size_t)p->output_count * sizeof *plan->aliases;
    pithp_input_aliases *of = pithp_allocate(plan->runtime, of_bytes);
    plan->aliases = bytes ? pithp_allocate(plan->runtime, bytes) : NULL;
    if (!of || (bytes && !plan->aliases)) {
        pithp_release(plan->runtime, of, of_bytes);
        pithp_fail_memory(g->s, of_bytes + bytes);
        return false;
    }
    memset(of, 0, of_bytes);
    for (int64_t n = 0; n < plan->step_count; n++) {
        const pithp_step *step = &plan->steps[n];
        for (int k = 0; step->kind == PITHP_STEP_CONTROL && k < step->call->result_count;
             k++) {
            pair x = {.step = step, .result = k};
            while (next_pair(g, &x))
                add_aliases(g, of, x.operand, &of[g->forwarded[step->call->result + k]]);
        }
    }
    for (int64_t k = 0; k < p->output_count; k++) {
        plan->aliases[k].count = 0;
        add_aliases(g, of, p->outputs[k], &plan->aliases[k]);
    }
    pithp_release(plan->runtime, of, of_bytes);
    return true;
}

bool pithp_plan_forward(pithp_planning *g) {
    pithp_plan *plan = g->plan;
    find_passed(g);
    bool any = plan->forwarded_count > 0;
    for (int64_t k = 0; k < g->p->output_count && plan->forwards; k++)
        any |= g->p->values[g->root[g->p->outputs[k]]].origin == PITHP_FROM_INPUT;
    if (!any)
        return true;
    const size_t bytes = (size_t)plan->forwarded_count * sizeof *plan->forwarded_places;
    plan->forwarded_places = bytes ? pithp_allocate(plan->runtime, bytes) : NULL;
    if (bytes && !plan->forwarded_places) {
        pithp_fail_memory(g->s, bytes);
        return false;
    }
    plan->pointer_count += (size_t)plan->forwarded_count;
    if (plan->forwarded_count)
        prolong(g);
    return find_aliases(g);
}
