/* Sinking: a large value that only one later fused step reads is computed there if its
 * operands occupy no more memory than the value. It then never goes through memory.
 * Clustering places an instruction in the earliest step, before the calls (a take, a
 * sort) whose results its readers need too.
 *
 * Steps are walked from the last to the first, so the readers of a value are placed
 * before it. During the walk these arrays hold, for each value with memory: first_reader
 * and last_read the first and last step that reads it, reader_count the reads that need
 * it in memory. */
#include "program/op/thresholds.h"
#include "program/plan/fuse_steps.h"

#include <string.h>

enum {
    LOOK_AHEAD = 64, /* steps between a value and its reader, so that time is linear */
    BROADCAST = 8,   /* an operand that is as many times smaller costs nothing */
};

/* ---- Readers ---- */

static void clear(pithp_planning *g) {
    for (int64_t v = 0; v < g->p->value_count; v++) {
        g->first_reader[v] = INT32_MAX;
        g->last_read[v] = -1;
        g->reader_count[v] = 0;
    }
    for (int64_t k = 0; k < g->p->output_count; k++)
        g->reader_count[g->root[g->p->outputs[k]]]++;
}

static void note_reads(pithp_planning *g, const pithp_instruction *i, int32_t k) {
    const bool fused = g->plan->steps[k].kind == PITHP_STEP_FUSED;
    for (int o = 0; o < i->operand_count; o++) {
        const pithp_value v = pithp_operands(g->p, i)[o];
        const pithp_bases from = pithp_plan_bases(g, v);
        const bool direct =
            fused && pithp_plan_is_direct(g, v, g->p->values[i->result].spec);
        for (int b = 0; b < from.count; b++) {
            const pithp_value base = from.list[b];
            g->reader_count[base] += !direct;
            if (k < g->first_reader[base])
                g->first_reader[base] = k;
            if (k > g->last_read[base])
                g->last_read[base] = k;
        }
    }
}

/* ---- Choice ---- */

/* Whether a step may overwrite a value in place, or write to memory that holds it. */
static bool may_update(const pithp_planning *g, const pithp_step *step, pithp_value v) {
    const pithp_instruction *i = step->call;
    bool reads = false;
    if (!i || (step->kind == PITHP_STEP_CALL &&
               !pithp_op_has(i->primitive, PITHP_TRAIT_UPDATE)))
        return false;
    for (int o = 0; o < i->operand_count && !reads; o++) {
        const pithp_bases from = pithp_plan_bases(g, pithp_operands(g->p, i)[o]);
        for (int b = 0; b < from.count; b++)
            reads |= from.list[b] == v;
    }
    return reads;
}

/* Bytes that stay in memory up to step `to` if that step reads a value, which is now read
 * up to `from`; -1: it must not. */
static int64_t
added_bytes(const pithp_planning *g, pithp_value v, int32_t from, int32_t to) {
    if (g->is_virtual[v])
        return 0; /* a literal of the plan */
    for (int32_t k = from + 1; k < to; k++)
        if (may_update(g, &g->plan->steps[k], v))
            return -1;
    return g->step[v] < 0 || g->last_read[v] >= to ? 0
                                                   : (int64_t)g->p->values[v].spec->bytes;
}

/* The step that an instruction of step k sinks to; k: it stays. */
static int32_t
find_reader(const pithp_planning *g, const pithp_instruction *i, int32_t k) {
    const pithp_value v = i->result;
    const int32_t to = g->first_reader[v];
    const pith_spec *spec = g->p->values[v].spec;
    int64_t added = 0;
    if (g->reader_count[v] || to != g->last_read[v] || to <= k || to - k > LOOK_AHEAD ||
        spec->count < PITHP_INPUT_LEAST_ELEMENTS || !pithp_plan_takes(g, i, to))
        return k;
    for (int o = 0; o < i->operand_count; o++) {
        const pithp_bases from = pithp_plan_bases(g, pithp_operands(g->p, i)[o]);
        for (int b = 0; b < from.count; b++) {
            const int64_t bytes = added_bytes(g, from.list[b], k, to);
            if (bytes < 0)
                return k;
            added += bytes > (int64_t)spec->bytes / BROADCAST ? bytes : 0;
        }
    }
    return added <= (int64_t)spec->bytes ? to : k;
}

/* ---- Moves ---- */

/* Move member v, after the member `before` (-1: the first), to the front of a step. */
static void
move_member(pithp_planning *g, pithp_value v, pithp_value before, int32_t k, int32_t to) {
    pithp_step *old = &g->plan->steps[k], *step = &g->plan->steps[to];
    *(before < 0 ? &old->first : &g->next[before]) = g->next[v];
    if (old->last == v)
        old->last = before;
    old->members--;
    pithp_plan_count_reads(g, pithp_maker(g->p, v), to);
    g->next[v] = step->first;
    step->first = v;
    step->members++;
    g->step[v] = to;
}

static void sink_members(pithp_planning *g, int32_t k) {
    int32_t *list = g->waiting_next, count = 0;
    for (pithp_value v = g->plan->steps[k].first; v >= 0; v = g->next[v])
        list[count++] = v;
    while (count-- > 0) {
        const pithp_instruction *i = pithp_maker(g->p, list[count]);
        const int32_t to = find_reader(g, i, k);
        if (to > k)
            move_member(g, list[count], count ? list[count - 1] : -1, k, to);
        note_reads(g, i, to);
    }
}

/* Remove steps whose members have all moved. concurrent_until holds the new numbers. */
static void remove_empty(pithp_planning *g) {
    pithp_plan *plan = g->plan;
    int32_t kept = 0;
    for (int64_t k = 0; k < plan->step_count; k++) {
        plan->steps[k].concurrent_until = kept;
        kept += plan->steps[k].kind != PITHP_STEP_FUSED || plan->steps[k].members > 0;
    }
    for (int64_t v = 0; v < g->p->value_count && kept < plan->step_count; v++)
        if (g->step[v] >= 0)
            g->step[v] = plan->steps[g->step[v]].concurrent_until;
    kept = 0;
    for (int64_t k = 0; k < plan->step_count; k++)
        if (plan->steps[k].kind != PITHP_STEP_FUSED || plan->steps[k].members > 0)
            plan->steps[kept++] = plan->steps[k];
    plan->step_count = kept;
    for (int64_t k = 0; k < kept; k++)
        plan->steps[k].concurrent_until = 0;
}

/* Whether any value is large enough: most plans end here. */
static bool has_large_values(const pithp_planning *g) {
    for (int64_t n = 0; n < g->p->instruction_count; n++) {
        const pithp_instruction *i = &g->p->instructions[n];
        const int32_t k = i->result_count ? g->step[i->result] : -1;
        if (k >= 0 && g->plan->steps[k].kind == PITHP_STEP_FUSED &&
            g->p->values[i->result].spec->count >= PITHP_INPUT_LEAST_ELEMENTS)
            return true;
    }
    return false;
}

bool pithp_plan_sink(pithp_planning *g) {
    if (!g->plan->runs_fused || g->plan->scheduled || !has_large_values(g))
        return true;
    clear(g);
    for (int32_t k = (int32_t)g->plan->step_count; k-- > 0;)
        if (g->plan->steps[k].kind == PITHP_STEP_FUSED)
            sink_members(g, k);
        else
            note_reads(g, g->plan->steps[k].call, k);
    remove_empty(g);
    return true;
}
