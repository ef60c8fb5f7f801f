/* Input fusion: a producer runs block by block inside its consumer. Its elements stay in
 * the first cache, and are stored only if they have other readers. Producers are fused
 * steps whose result is reduced, and gathers that a fused step reads. */
#include "program/plan/fuse_input.h"

#include "program/host/gather.h"
#include "program/host/reduce.h"
#include "program/op/thresholds.h"

#include <string.h>

/* For each value with memory the number of other steps that read it, and the first one.
 */
typedef struct readers {
    pithp_planning *g;
    int32_t *count, *first;
} readers;

static void note_reader(readers *r, const pithp_instruction *i, int32_t step) {
    const pithp_planning *g = r->g;
    for (int o = 0; o < i->operand_count; o++) {
        const pithp_bases from = pithp_plan_bases(g, pithp_operands(g->p, i)[o]);
        for (int b = 0; b < from.count; b++) {
            const pithp_value base = from.list[b];
            if (g->step[base] == step && g->plan->steps[step].kind == PITHP_STEP_FUSED)
                continue;
            r->count[base]++;
            r->first[base] = step < r->first[base] ? step : r->first[base];
        }
    }
}

static readers find_readers(pithp_planning *g) {
    const pithp_program *p = g->p;
    readers r = {g, g->reader_count, g->first_reader};
    for (int64_t v = 0; v < p->value_count; v++) {
        r.count[v] = 0;
        r.first[v] = INT32_MAX;
    }
    for (int32_t k = 0; k < g->plan->step_count; k++) {
        const pithp_step *step = &g->plan->steps[k];
        if (step->kind != PITHP_STEP_FUSED)
            note_reader(&r, step->call, k);
        for (pithp_value v = step->first; step->kind == PITHP_STEP_FUSED && v >= 0;
             v = g->next[v])
            note_reader(&r, pithp_maker(p, v), k);
    }
    for (int64_t k = 0; k < p->output_count; k++)
        r.count[g->root[p->outputs[k]]]++;
    return r;
}

/* Whether a fused step may be delayed to step `until`, which reads its value u. In a
 * command buffer u must be its only value with memory, and have one reader. */
static bool
can_wait(const readers *r, const pithp_step *step, pithp_value u, int32_t until) {
    const bool scheduled = r->g->plan->scheduled;
    bool waits = !step->runs_in_consumer && !step->band &&
                 (scheduled ? r->count[u] == 1 : step->reads <= PITHP_MOST_READS);
    for (pithp_value v = step->first; v >= 0 && waits; v = r->g->next[v])
        waits = !r->g->in_memory[v] || (!scheduled && r->first[v] > until) || v == u;
    return waits && r->first[u] == until;
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

static void choose_reduced(const readers *r, int32_t k) {
    const pithp_planning *g = r->g;
    pithp_step *step = &g->plan->steps[k];
    const pithp_value read = pithp_operands(g->p, step->call)[0], u = g->root[read];
    const pithp_instruction *maker = pithp_maker(g->p, u);
    pithp_step *from = maker && g->step[u] >= 0 ? &g->plan->steps[g->step[u]] : NULL;
    const uint32_t last = pithp_plan_last_axes(g, step->call);
    const bool fits =
        !last || pithp_same_shape(g->p->values[read].spec, g->p->values[u].spec);
    if (step->band || step->runs_in_consumer || step->producer >= 0 || !from ||
        from->kind != PITHP_STEP_FUSED || !fits || !can_wait(r, from, u, k))
        return;
    from->last_axes = last;
    step->producer = g->step[u];
    step->produced = u;
    from->runs_in_consumer = true;
    from->unmaterialised = r->count[u] == 1 ? u : -1;
    from->fused_reduction = from->unmaterialised >= 0 ? k : -1;
    prolong(r->g, from, k);
}

/* Whether an output is a value, or a reshape of it, and so shares its memory. */
static bool is_output(const pithp_planning *g, pithp_value v) {
    for (int64_t k = 0; k < g->p->output_count; k++)
        if (g->root[g->p->outputs[k]] == v)
            return true;
    return false;
}

/* Row length of a gather, in elements; 0: it cannot run block by block. */
static int64_t taken_row(const pithp_planning *g, const pithp_instruction *i) {
    const pith_spec *specs[PITH_MAX_RANK + 2];
    if (i->primitive != PITHP_OP_TAKE || i->operand_count != 2)
        return 0;
    const pithp_call call = pithp_instruction_call(g->p, i, specs);
    const pithp_index_params *p = i->params;
    int64_t row = 1;
    for (int d = p->axis + 1; d < specs[0]->rank; d++)
        row *= specs[0]->shape[d];
    return pithp_call_reports(&call) ||
                   g->p->values[i->result].spec->count < PITHP_INPUT_LEAST_ELEMENTS ||
                   row > PITHP_TAKEN_LONGEST_ROW
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

/* Whether a step is the only reader of a value, and reads it elementwise. */
static bool is_read_flat(const readers *r, pithp_value u, int32_t k) {
    const pithp_planning *g = r->g;
    const pithp_step *step = &g->plan->steps[k];
    bool flat = r->first[u] == k && g->last_use[u] == k && !is_output(g, u);
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

static void choose_taken(const readers *r, int32_t k) {
    pithp_planning *g = r->g;
    pithp_step *step = &g->plan->steps[k];
    int64_t row = 0;
    if (step->runs_in_consumer || step->band || step->reads > PITHP_MOST_READS_TAKING)
        return;
    for (int32_t n = 0; n < k && step->take_count < PITHP_TAKES; n++) {
        pithp_step *from = &g->plan->steps[n];
        const pithp_instruction *i = from->call;
        const int64_t own = i ? taken_row(g, i) : 0;
        if (!own || (row && own != row) || !is_read_flat(r, i->result, k))
            continue;
        row = own;
        step->takes[step->take_count++] = n;
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
    for (int k = 0; k < step->take_count; k++) {
        const pithp_instruction *i = g->plan->steps[step->takes[k]].call;
        const pith_spec *specs[2];
        const pithp_call call = pithp_instruction_call(g->p, i, specs);
        const pithp_index_args of = pithp_index_args_of(
            &call, &(pithp_memory){.operands = (const void *[2]){0}}, 1, specs[1]->count);
        if (of.outer != 1 || of.inner != 1 || of.rule[0].extent == 0)
            return;
        a->taken[k] = (pithp_taken){(uint16_t)pithp_plan_external(step, i->result),
                                    (uint8_t)of.index_dtype, (uint8_t)of.rule[0].mode,
                                    of.rule[0].no_negative, 0};
        a->taken_from[k] =
            (pithp_taken_from){.extent = of.rule[0].extent, .fill = of.fill};
    }
    a->taken_count = (uint8_t)step->take_count;
}

bool pithp_plan_fuse_inputs(pithp_planning *g) {
    pithp_plan *plan = g->plan;
    bool reduced = false, taken = false;
    for (int64_t k = 0; k < plan->step_count && plan->runs_fused; k++) {
        const pithp_instruction *i = plan->steps[k].call;
        reduced |= i && reduces(g, i);
        taken |= i && !plan->scheduled && taken_row(g, i) > 0;
    }
    if (!reduced && !taken)
        return true;
    const readers r = find_readers(g);
    for (int32_t k = 0; k < plan->step_count && reduced; k++)
        if (plan->steps[k].kind != PITHP_STEP_FUSED && reduces(g, plan->steps[k].call))
            choose_reduced(&r, k);
    for (int32_t k = 0; k < plan->step_count && taken; k++)
        if (plan->steps[k].kind == PITHP_STEP_FUSED)
            choose_taken(&r, k);
    return true;
}
