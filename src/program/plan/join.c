/* Concatenations in place: what loops or fused steps make, and only a concatenation
 * reads, is written where it belongs in its result, which then copies nothing. A loop
 * that is divided into parts makes its rows so, and joins them two by two. */
#include "program/ir/region.h"
#include "program/op/thresholds.h"
#include "program/plan/plan.h"

enum { DEEPEST = 16 }; /* concatenations of concatenations, so that time is linear */

/* The value whose elements v has in another shape, or v. */
static pithp_value before_reshapes(const pithp_planning *g, pithp_value v) {
    const pithp_instruction *i = pithp_maker(g->p, v);
    while (i && i->primitive == PITHP_OP_RESHAPE && !g->is_virtual[v]) {
        v = pithp_operands(g->p, i)[0];
        i = pithp_maker(g->p, v);
    }
    return v;
}

/* The step that makes a value; NULL: there is none. */
static pithp_step *step_of(const pithp_planning *g, pithp_value v) {
    return pithp_maker(g->p, v) && g->step[v] >= 0 ? &g->plan->steps[g->step[v]] : NULL;
}

static bool is_concatenation(const pithp_step *step) {
    return step && step->kind == PITHP_STEP_CALL &&
           step->call->primitive == PITHP_OP_CONCATENATE;
}

/* Whether a value is rows of a loop, or elementwise: it may be written anywhere. */
static bool is_free(const pithp_planning *g, pithp_value v) {
    const pithp_instruction *i = pithp_maker(g->p, v);
    const pithp_step *step = step_of(g, v);
    if (!step)
        return false;
    return i->primitive == PITHP_OP_SCAN
               ? v - i->result >= ((const pithp_loop_params *)i->params)->carries
               : step->kind == PITHP_STEP_FUSED && pithp_can_fuse(i->primitive);
}

/* Whether the operands of a concatenation are one after the other in its result. */
static bool is_consecutive(const pithp_planning *g, const pithp_instruction *i) {
    const pith_spec *spec = pithp_value_spec(g->p, i->result);
    bool consecutive = true;
    for (int d = 0; d < ((const pithp_concatenate_params *)i->params)->axis; d++)
        consecutive &= spec->shape[d] == 1;
    return consecutive;
}

/* Whether a value has memory of its own, which step n is the last one to read. */
static bool is_own(const pithp_planning *g, pithp_value v, int32_t n) {
    return g->root[v] == v && g->in_memory[v] && !g->buffered[v] && !g->is_output[v] &&
           g->forwarded[v] < 0 && g->last_use[v] == n;
}

static bool joins(const pithp_planning *g, int32_t n, int depth);

/* Whether operand o of a concatenation, step n, may be written to its result. */
static bool may_join(const pithp_planning *g, int32_t n, int o, int depth) {
    const pithp_value *operands = pithp_operands(g->p, g->plan->steps[n].call),
                      v = operands[o], top = before_reshapes(g, v);
    for (int k = 0; k < o; k++)
        if (before_reshapes(g, operands[k]) == top)
            return false;
    if (g->is_virtual[v] || g->root[v] != top || !is_own(g, top, n))
        return false;
    return is_free(g, top) || (is_concatenation(step_of(g, top)) && depth < DEEPEST &&
                               joins(g, g->step[top], depth + 1));
}

static bool joins(const pithp_planning *g, int32_t n, int depth) {
    const pithp_instruction *i = g->plan->steps[n].call;
    bool all = is_consecutive(g, i);
    for (int o = 0; o < i->operand_count && all; o++)
        all = may_join(g, n, o, depth);
    return all;
}

/* Whether a step is a concatenation whose result has memory of its own. Those with fewer
 * elements are compiled as a part of loops. */
static bool may_begin(const pithp_planning *g, int32_t n) {
    const pithp_step *step = &g->plan->steps[n];
    if (!is_concatenation(step) || step->joins)
        return false;
    const pithp_value v = step->call->result;
    return g->p->values[v].spec->count > PITHP_INLINE_ELEMENTS && g->root[v] == v &&
           g->in_memory[v] && g->forwarded[v] < 0;
}

static void join(pithp_planning *g, int32_t n) {
    const pithp_instruction *i = g->plan->steps[n].call;
    g->plan->steps[n].joins = true;
    for (int o = 0; o < i->operand_count; o++) {
        const pithp_value top = before_reshapes(g, pithp_operands(g->p, i)[o]);
        g->root[top] = i->result;
        g->in_memory[top] = false;
        if (is_concatenation(step_of(g, top)))
            join(g, g->step[top]);
    }
}

bool pithp_plan_join(pithp_planning *g) {
    if (g->plan->scheduled || !g->plan->runs_fused)
        return true;
    for (int32_t n = (int32_t)g->plan->step_count; n-- > 0;)
        if (may_begin(g, n) && joins(g, n, 0))
            join(g, n);
    for (pithp_value v = 0; v < g->p->value_count; v++)
        while (g->root[g->root[v]] != g->root[v])
            g->root[v] = g->root[g->root[v]];
    return true;
}

/* ---- Places ---- */

bool pithp_is_joined(const pithp_planning *g, pithp_value v) {
    const pithp_step *step = step_of(g, v);
    return g->root[v] != v && (is_free(g, v) || (is_concatenation(step) && step->joins));
}

void pithp_plan_place_joined(const pithp_planning *g, int32_t n) {
    const pithp_instruction *i = g->plan->steps[n].call;
    pithp_place *places = g->plan->places, at = places[i->result];
    for (int o = 0; o < i->operand_count; o++) {
        const pithp_value v = before_reshapes(g, pithp_operands(g->p, i)[o]);
        places[v] = at;
        places[v].is_part = true;
        at.offset += (int64_t)pithp_value_spec(g->p, v)->bytes;
    }
}
