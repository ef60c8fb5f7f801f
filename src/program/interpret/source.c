/* Reductions of what a fused step makes: the step runs block by block where the reduction
 * needs its elements, which then are in the first cache, and in no other memory unless
 * somebody else reads them too. */
#include "program/emit/compiled.h"
#include "program/interpret/plan.h"
#include "program/reduce.h"

#include <string.h>

/* What is smaller costs less than this saves; and loops that are compiled as a whole take
 * the steps as they are. */
enum { LEAST_ELEMENTS = 4097, MOST_READS = PITHP_FUSED_EXTERNALS - 4 };

/* ---- Planning ---- */

/* Of each value with memory, what others than its step do with it: how many read it, and
 * the first one of them. */
typedef struct readers {
    pithp_planning *g;
    int32_t *count, *first;
} readers;

static pithp_value base_of(const pithp_planning *g, pithp_value v) {
    return g->is_virtual[v] ? pithp_plan_view(g, v).base : g->root[v];
}

static void note_reader(readers *r, const pithp_instruction *i, int32_t step) {
    const pithp_planning *g = r->g;
    for (int o = 0; o < i->operand_count; o++) {
        const pithp_value base = base_of(g, pithp_operands(g->p, i)[o]);
        if (g->step[base] == step && !g->plan->steps[step].call)
            continue;
        r->count[base]++;
        r->first[base] = step < r->first[base] ? step : r->first[base];
    }
}

static readers find_readers(pithp_planning *g) {
    const pithp_program *p = g->p;
    readers r = {g, g->family_reads, g->family_ops}; /* families are done with */
    for (int64_t v = 0; v < p->value_count; v++) {
        r.count[v] = 0;
        r.first[v] = INT32_MAX;
    }
    for (int32_t k = 0; k < g->plan->step_count; k++) {
        const pithp_step *step = &g->plan->steps[k];
        if (step->call)
            note_reader(&r, step->call, k);
        for (pithp_value v = step->first; !step->call && v >= 0; v = g->next[v])
            note_reader(&r, pithp_maker(p, v), k);
    }
    for (int64_t k = 0; k < p->output_count; k++)
        r.count[g->root[p->outputs[k]]]++;
    return r;
}

/* Whether a fused step may run as late as step `until`, which reads its value u. */
static bool
can_wait(const readers *r, const pithp_step *step, pithp_value u, int32_t until) {
    bool waits = !step->is_source && step->reads <= MOST_READS;
    for (pithp_value v = step->first; v >= 0 && waits; v = r->g->next[v])
        waits = !r->g->in_memory[v] || r->first[v] > until || v == u;
    return waits && r->first[u] == until;
}

/* What it reads has to be there until then. */
static void prolong(pithp_planning *g, const pithp_step *step, int32_t until) {
    for (pithp_value v = step->first; v >= 0; v = g->next[v]) {
        const pithp_instruction *i = pithp_maker(g->p, v);
        for (int o = 0; o < i->operand_count; o++) {
            const pithp_value base = base_of(g, pithp_operands(g->p, i)[o]);
            if (g->last_use[base] < until)
                g->last_use[base] = until;
        }
    }
}

static bool reduces(const pithp_planning *g, const pithp_instruction *i) {
    const pith_spec *specs[1];
    if (i->primitive < PITHP_OP_SUM || i->primitive > PITHP_OP_ALL)
        return false;
    const pithp_call call = pithp_instruction_call(g->p, i, specs);
    return specs[0]->count >= LEAST_ELEMENTS && pithp_reduce_takes_source(&call);
}

void pithp_plan_sources(pithp_planning *g) {
    pithp_plan *plan = g->plan;
    bool any = false;
    for (int64_t k = 0; k < plan->step_count && plan->runs_fused; k++)
        any |= plan->steps[k].call && reduces(g, plan->steps[k].call);
    if (!any)
        return;
    const readers r = find_readers(g);
    for (int32_t k = 0; k < plan->step_count; k++) {
        pithp_step *step = &plan->steps[k];
        if (!step->call || !reduces(g, step->call))
            continue;
        const pithp_value u = g->root[pithp_operands(g->p, step->call)[0]];
        const pithp_instruction *maker = pithp_maker(g->p, u);
        pithp_step *from = maker && g->step[u] >= 0 ? &plan->steps[g->step[u]] : NULL;
        if (!from || from->call || !can_wait(&r, from, u, k))
            continue;
        step->source = g->step[u];
        step->source_value = u;
        from->is_source = true;
        from->unplaced = r.count[u] == 1 ? u : -1;
        prolong(g, from, k);
    }
}

/* ---- Running ---- */

typedef struct source {
    int32_t external; /* where the elements are written */
    bool buffered;
    pithp_fused_args args;
} source;
_Static_assert(offsetof(source, args) + offsetof(pithp_fused_args, externals) +
                       MOST_READS * sizeof(pithp_external) <=
                   PITHP_SOURCE_BYTES,
               "one launch takes them");

static const void *
make(pithp_isa isa, void *state, int64_t begin, int64_t n, void *buffer) {
    source *s = state;
    pithp_external *x = &s->args.externals[s->external];
    if (s->buffered) /* so that element `begin` is the buffer's first */
        x->data = (char *)((uintptr_t)buffer - (uintptr_t)(begin * x->size));
    pithp_fused_loops[isa](&s->args, begin, begin + n);
    return s->buffered ? buffer : x->data + begin * x->size;
}

pith_status pithp_run_reduction(const pithp_running *r,
                                const pithp_step *step,
                                const pithp_call *call,
                                const pithp_memory *memory) {
    const pithp_step *from = &r->plan->steps[step->source];
    const pithp_compiled_step *code = r->code ? &r->code->steps[step->source] : NULL;
    const pithp_sink sink = pithp_scope_sink(r->s);
    source s = {.buffered = from->unplaced >= 0};
    while (from->external[s.external] != step->source_value)
        s.external++;
    const size_t bytes = pithp_fused_bind(r, from, code ? code->loops[0] : NULL, &s.args);
    const pithp_source made = {make, &s, offsetof(source, args) + bytes};
    return pithp_lower_reduce_of(call, step->spec, memory, &sink, &made);
}
