/* Input fusion: a producer runs block by block inside its consumer. Its elements stay in
 * the first cache, and are stored only if they have other readers. Producers are fused
 * steps whose result is reduced, and gathers that a fused step reads. */
#include "program/plan/fuse_input.h"

#include "program/host/gather.h"
#include "program/host/reduce.h"
#include "program/op/thresholds.h"

#include <string.h>

/* Whether a fused step may be delayed to step `until`, which reads its value u. In a
 * command buffer u must be its only value with memory, and have one reader. */
static bool
can_wait(const pithp_planning *g, const pithp_step *step, pithp_value u, int32_t until) {
    const bool scheduled = g->plan->scheduled;
    bool waits = !step->runs_in_consumer && !step->band &&
                 (scheduled ? g->reader_count[u] == 1 : step->reads <= PITHP_MOST_READS);
    for (pithp_value v = step->first; v >= 0 && waits; v = g->next[v])
        waits = !g->in_memory[v] || (!scheduled && g->first_reader[v] > until) || v == u;
    return waits && g->first_reader[u] == until;
}

void pithp_prolong_operands(pithp_planning *g,
                            const pithp_instruction *i,
                            int32_t until) {
    for (int o = 0; o < i->operand_count; o++) {
        const pithp_bases from = pithp_plan_bases(g, pithp_operands(g->p, i)[o]);
        for (int b = 0; b < from.count; b++)
            if (g->last_use[from.list[b]] < until)
                g->last_use[from.list[b]] = until;
    }
}

static void prolong(pithp_planning *g, const pithp_step *step, int32_t until) {
    for (pithp_value v = step->first; v >= 0; v = g->next[v])
        pithp_prolong_operands(g, pithp_maker(g->p, v), until);
}

bool pithp_plan_makes_reduced(const pithp_planning *g, const pithp_instruction *i) {
    const pith_spec *specs[1];
    if (!g->plan->scheduled ||
        !pithp_op_has(i->primitive, PITHP_TRAIT_REDUCTION | PITHP_TRAIT_ARG_REDUCTION))
        return false;
    const pithp_call call = pithp_instruction_call(g->p, i, specs);
    return pithp_reduce_kernel_can_fuse(&call);
}

uint32_t pithp_plan_last_axes(const pithp_planning *g, const pithp_instruction *i) {
    const pith_spec *specs[1];
    const pithp_call call = pithp_instruction_call(g->p, i, specs);
    return pithp_reduce_kernel_last_axes(&call);
}

static bool reduces(const pithp_planning *g, const pithp_instruction *i) {
    const pith_spec *specs[1];
    if (g->plan->scheduled)
        return pithp_plan_makes_reduced(g, i);
    if (!pithp_op_has(i->primitive, PITHP_TRAIT_REDUCTION))
        return false;
    const pithp_call call = pithp_instruction_call(g->p, i, specs);
    return specs[0]->count >= PITHP_INPUT_LEAST_ELEMENTS && pithp_reduce_can_fuse(&call);
}

/* The value whose memory step k, a reduction, reads. */
static pithp_value reduced_by(const pithp_planning *g, int32_t k) {
    return g->root[pithp_operands(g->p, g->plan->steps[k].call)[0]];
}

/* Whether step k may have the producer `from`. */
static bool may_read(const pithp_planning *g, int32_t k, int32_t from) {
    const pithp_step *step = &g->plan->steps[k];
    const pithp_value read = pithp_operands(g->p, step->call)[0], u = reduced_by(g, k);
    return !step->band && !step->runs_in_consumer && step->producer < 0 && from >= 0 &&
           pithp_maker(g->p, u) && g->step[u] == from &&
           g->plan->steps[from].kind == PITHP_STEP_FUSED &&
           (!pithp_plan_last_axes(g, step->call) ||
            pithp_same_shape(g->p->values[read].spec, g->p->values[u].spec));
}

static void choose_reduced(pithp_planning *g, int32_t k) {
    pithp_step *step = &g->plan->steps[k];
    const pithp_value u = reduced_by(g, k);
    const int32_t number = g->step[u];
    pithp_step *from = number >= 0 ? &g->plan->steps[number] : NULL;
    if (!may_read(g, k, number) || !can_wait(g, from, u, k))
        return;
    from->last_axes = pithp_plan_last_axes(g, step->call);
    step->producer = number;
    step->produced = u;
    from->runs_in_consumer = true;
    from->unmaterialised = g->reader_count[u] == 1 ? u : -1;
    from->fused_reduction = from->unmaterialised >= 0 ? k : -1;
    prolong(g, from, k);
}

/* ---- Siblings: neighbouring reductions of all elements of values of one producer ----
 */

/* Whether step k reduces all elements of a value of step `from`. */
static bool reduces_all_of(const pithp_planning *g, int32_t k, int32_t from) {
    const pithp_step *step = &g->plan->steps[k];
    const pith_spec *specs[1];
    if (step->kind != PITHP_STEP_CALL || !reduces(g, step->call) || !may_read(g, k, from))
        return false;
    const pithp_call call = pithp_instruction_call(g->p, step->call, specs);
    const pithp_reduce_view v = pithp_reduce_view_of(&call);
    return v.outer == 1 && v.inner == 1 && v.blocks > 1;
}

/* The number of reductions of value v by the steps from k to the one before end. */
static int32_t readers(const pithp_planning *g, pithp_value v, int32_t k, int32_t end) {
    int32_t count = 0;
    for (int32_t n = k; n < end; n++)
        count += reduced_by(g, n) == v;
    return count;
}

/* Whether the producer may run with the siblings k to end - 1: nothing else reads its
 * values before them. */
static bool
can_join(const pithp_planning *g, const pithp_step *from, int32_t k, int32_t end) {
    bool joins = !from->runs_in_consumer && !from->band && !from->gather_count &&
                 from->reads <= PITHP_MOST_READS_SIBLINGS;
    for (pithp_value v = from->first; v >= 0 && joins; v = g->next[v])
        joins = !g->in_memory[v] || g->first_reader[v] >= end ||
                (g->first_reader[v] >= k && readers(g, v, k, end));
    return joins;
}

/* Let the reductions from step k on share their producer; false: there is only one. */
static bool choose_siblings(pithp_planning *g, int32_t k) {
    pithp_plan *plan = g->plan;
    const int32_t number = g->step[reduced_by(g, k)];
    int32_t end = k;
    while (end < plan->step_count && end - k < PITHP_SIBLINGS &&
           reduces_all_of(g, end, number))
        end++;
    if (plan->scheduled || end - k < 2 || !can_join(g, &plan->steps[number], k, end))
        return false;
    plan->steps[number].runs_in_consumer = true;
    prolong(g, &plan->steps[number], end - 1);
    for (int32_t n = k; n < end; n++) {
        const pithp_value v = reduced_by(g, n);
        g->buffered[v] |= g->reader_count[v] == readers(g, v, k, end);
        plan->steps[n].produced = v;
        plan->steps[n].runs_in_consumer = n > k;
    }
    plan->steps[k].producer = number;
    plan->steps[k].siblings = end - k - 1;
    plan->steps[k].concurrent_until = end; /* they share no memory */
    return true;
}

int64_t pithp_plan_gathered_row(const pithp_planning *g, const pithp_instruction *i) {
    const pith_spec *specs[PITHP_MAX_RANK + 2];
    if (i->primitive != PITHP_OP_TAKE || i->operand_count != 2)
        return 0;
    const pithp_call call = pithp_instruction_call(g->p, i, specs);
    const pithp_index_params *p = i->params;
    int64_t row = 1;
    for (int d = p->axis + 1; d < specs[0]->rank; d++)
        row *= specs[0]->shape[d];
    return pithp_call_reports(&call) ||
                   g->p->values[i->result].spec->count < PITHP_INPUT_LEAST_ELEMENTS ||
                   row > PITHP_GATHER_LONGEST_ROW
               ? 0
               : row;
}

static bool has_base(const pithp_planning *g, pithp_value v, pithp_value base) {
    const pithp_bases from = pithp_plan_bases(g, v);
    for (int b = 0; b < from.count; b++)
        if (from.list[b] == base)
            return true;
    return false;
}

bool pithp_plan_is_read_flat(const pithp_planning *g, pithp_value u, int32_t k) {
    const pithp_step *step = &g->plan->steps[k];
    bool flat = g->first_reader[u] == k && g->last_use[u] == k && !g->is_output[u];
    for (pithp_value v = step->first; v >= 0 && flat; v = g->next[v]) {
        const pithp_instruction *i = pithp_maker(g->p, v);
        for (int o = 0; o < i->operand_count && flat; o++) {
            const pithp_value from = pithp_operands(g->p, i)[o];
            flat = !has_base(g, from, u) ||
                   (from == u && pithp_same_shape(g->p->values[u].spec, step->spec));
        }
    }
    return flat;
}

/* The first step after `after` that makes, by a call, an operand of step k; k: none. */
static int32_t next_call(const pithp_planning *g, int32_t k, int32_t after) {
    const pithp_instruction *i = NULL;
    int32_t next = k;
    while ((i = pithp_step_next(g, &g->plan->steps[k], i)) != NULL)
        for (int o = 0; o < i->operand_count; o++) {
            const pithp_bases from = pithp_plan_bases(g, pithp_operands(g->p, i)[o]);
            for (int b = 0; b < from.count; b++) {
                const int32_t made = g->step[from.list[b]];
                if (made > after && made < next &&
                    g->plan->steps[made].kind == PITHP_STEP_CALL)
                    next = made;
            }
        }
    return next;
}

static void choose_gathers(pithp_planning *g, int32_t k) {
    pithp_step *step = &g->plan->steps[k];
    int64_t row = 0;
    if (step->runs_in_consumer || step->band || step->reads > PITHP_MOST_READS_TAKING)
        return;
    for (int32_t n = next_call(g, k, -1); n < k && step->gather_count < PITHP_GATHERS;
         n = next_call(g, k, n)) {
        pithp_step *from = &g->plan->steps[n];
        const pithp_instruction *i = from->call;
        const int64_t own = pithp_plan_gathered_row(g, i);
        if (!own || (row && own != row) || !pithp_plan_is_read_flat(g, i->result, k))
            continue;
        row = own;
        step->gathers[step->gather_count++] = n;
        from->runs_in_consumer = true;
        from->unmaterialised = i->result;
        pithp_prolong_operands(g, i, k);
    }
}

int pithp_plan_external(const pithp_step *step, pithp_value v) {
    int e = 0;
    while (step->members && step->operands[e].value != v)
        e++;
    return e;
}

void pithp_plan_gathers(const pithp_planning *g, pithp_step *step) {
    pithp_fused_step *a = step->fused;
    for (int k = 0; k < step->gather_count; k++) {
        const pithp_instruction *i = g->plan->steps[step->gathers[k]].call;
        const pith_spec *specs[2];
        const pithp_call call = pithp_instruction_call(g->p, i, specs);
        const pithp_index_args of = pithp_index_args_of(
            &call, &(pithp_memory){.operands = (const void *[2]){0}}, 1, specs[1]->count);
        if (of.outer != 1 || of.inner != 1 || of.rule[0].extent == 0)
            return;
        a->gathers[k] = (pithp_fused_gather){
            (uint16_t)pithp_plan_external(step, i->result), (uint8_t)of.index_dtype,
            (uint8_t)of.rule[0].mode, of.rule[0].no_negative, 0};
        a->gathers_from[k] =
            (pithp_fused_gather_from){.extent = of.rule[0].extent, .fill = of.fill};
    }
    a->gather_count = (uint8_t)step->gather_count;
}

bool pithp_plan_fuse_inputs(pithp_planning *g) {
    pithp_plan *plan = g->plan;
    bool reduced = false, gather = false;
    for (int64_t k = 0; k < plan->step_count && plan->runs_fused; k++) {
        const pithp_instruction *i = plan->steps[k].call;
        reduced |= i && reduces(g, i);
        gather |= i && !plan->scheduled && pithp_plan_gathered_row(g, i) > 0;
    }
    if (!reduced && !gather)
        return true;
    for (int32_t k = 0; k < plan->step_count && reduced; k++)
        if (plan->steps[k].kind != PITHP_STEP_FUSED && reduces(g, plan->steps[k].call) &&
            !choose_siblings(g, k))
            choose_reduced(g, k);
    for (int32_t k = 0; k < plan->step_count && gather; k++)
        if (plan->steps[k].kind == PITHP_STEP_FUSED)
            choose_gathers(g, k);
    return true;
}
