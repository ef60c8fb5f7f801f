/* Fusion clustering: assignment of instructions to fused steps. */
#include "program/op/thresholds.h"
#include "program/plan/fuse_steps.h"

#include <string.h>

/* ---- Steps ---- */

static pithp_step *add_step(pithp_planning *g, pithp_plan_step_kind kind) {
    pithp_plan *plan = g->plan;
    if (plan->step_count == plan->step_room) {
        const int64_t room = plan->step_room ? 2 * plan->step_room : 16;
        void *more = pithp_reallocate(plan->runtime, plan->steps,
                                      (size_t)plan->step_room * sizeof *plan->steps,
                                      (size_t)room * sizeof *plan->steps);
        if (!more) {
            pithp_fail_memory(g->s, (size_t)room * sizeof *plan->steps);
            return NULL;
        }
        plan->steps = more;
        plan->step_room = room;
    }
    pithp_step *step = &plan->steps[plan->step_count++];
    *step = (pithp_step){
        .kind = kind, .producer = -1, .fused_reduction = -1, .unmaterialised = -1};
    return step;
}

bool pithp_plan_is_direct(const pithp_planning *g,
                          pithp_value operand,
                          const pith_spec *to) {
    return !g->is_virtual[operand] && g->root[operand] == operand &&
           pithp_same_shape(g->p->values[operand].spec, to);
}

/* ---- Clusters ---- */

static int32_t cluster_of(const pithp_planning *g, int32_t v) {
    while (g->cluster[v] != v)
        v = g->cluster[v] = g->cluster[g->cluster[v]];
    return v;
}

static void join_clusters(pithp_planning *g, const pithp_instruction *i) {
    for (int o = 0; o < i->operand_count; o++)
        if (pithp_plan_is_direct(g, pithp_operands(g->p, i)[o],
                                 g->p->values[i->result].spec))
            g->cluster[cluster_of(g, pithp_operands(g->p, i)[o])] =
                cluster_of(g, i->result);
}

/* Count an instruction in its cluster as in a step of the whole cluster. */
static void count_member(pithp_planning *g, const pithp_instruction *i) {
    const int32_t cluster = cluster_of(g, i->result);
    g->cluster_ops[cluster]++;
    g->cluster_reads[cluster]++; /* and perhaps its result */
    for (int o = 0; o < i->operand_count; o++) {
        const pithp_value v = pithp_operands(g->p, i)[o];
        const pithp_instruction *maker = pithp_maker(g->p, v);
        if (g->is_virtual[v] || !maker || !pithp_can_fuse(maker->primitive) ||
            cluster_of(g, v) != cluster)
            g->cluster_reads[cluster] += pithp_plan_reads(g, v);
    }
}

static void find_clusters(pithp_planning *g) {
    const pithp_program *p = g->p;
    for (int64_t v = 0; v < p->value_count; v++) {
        g->cluster[v] = (int32_t)v;
        g->cluster_ops[v] = g->cluster_reads[v] = 0;
        g->cluster_step[v] = -1;
    }
    for (int64_t k = 0; k < p->instruction_count; k++)
        if (pithp_can_fuse(p->instructions[k].primitive))
            join_clusters(g, &p->instructions[k]);
    for (int64_t k = 0; k < p->instruction_count; k++)
        if (pithp_can_fuse(p->instructions[k].primitive))
            count_member(g, &p->instructions[k]);
    int64_t small = 0;
    for (int64_t v = 0; v < p->value_count; v++)
        small +=
            g->cluster_ops[v] && p->values[v].spec->count <= PITHP_FUSE_SMALL_ELEMENTS;
    g->apart = small > PITHP_FUSE_MOST_PACKED &&
               (g->plan->scheduled || pithp_scope_device(g->s)->backend->addressable);
}

/* The first step in which an instruction can run; *joins: whether the producer of its
 * last operand is in that step and is read elementwise. */
static int32_t
earliest(const pithp_planning *g, const pithp_instruction *i, bool *joins) {
    const pith_spec *spec = g->p->values[i->result].spec;
    int32_t direct = -1, before = -1; /* their last steps */
    for (int o = 0; o < i->operand_count; o++) {
        const pithp_value v = pithp_operands(g->p, i)[o];
        int32_t *last = pithp_plan_is_direct(g, v, spec) ? &direct : &before;
        const pithp_bases from = pithp_plan_bases(g, v);
        for (int b = 0; b < from.count; b++) {
            const int32_t step = g->is_virtual[from.list[b]] ? -1 : g->step[from.list[b]];
            *last = step > *last ? step : *last;
        }
    }
    *joins = direct > before;
    return direct > before ? direct : before + 1;
}

/* Upper bound of the operands of i that the step does not read yet. */
static int new_reads(const pithp_planning *g, const pithp_instruction *i, int32_t step) {
    int count = 0;
    for (int o = 0; o < i->operand_count; o++) {
        const pithp_value v = pithp_operands(g->p, i)[o];
        if (g->is_virtual[v] || g->step[v] != step)
            count += pithp_plan_reads(g, v);
    }
    return count;
}

/* Number of those that are staged, and not yet counted for the step. */
static int new_staged(const pithp_planning *g, const pithp_instruction *i, int32_t step) {
    const pith_spec *spec = g->p->values[i->result].spec;
    int count = 0;
    for (int o = 0; o < i->operand_count; o++) {
        const pithp_value v = pithp_operands(g->p, i)[o];
        if (!pithp_plan_is_direct(g, v, spec) && g->staged_in[v] != step)
            count += pithp_plan_reads(g, v);
    }
    return count;
}

bool pithp_plan_takes(const pithp_planning *g, const pithp_instruction *i, int32_t at) {
    const pithp_step *step = &g->plan->steps[at];
    return step->kind == PITHP_STEP_FUSED && step->members &&
           step->members < PITHP_FUSED_OPS &&
           pithp_same_shape(step->spec, g->p->values[i->result].spec) &&
           step->staged + new_staged(g, i, at) <= PITHP_FUSED_STAGED;
}

void pithp_plan_count_reads(pithp_planning *g, const pithp_instruction *i, int32_t at) {
    pithp_step *step = &g->plan->steps[at];
    step->reads += new_reads(g, i, at) + 1; /* and perhaps its result */
    step->staged += new_staged(g, i, at);
    for (int o = 0; o < i->operand_count; o++)
        if (!pithp_plan_is_direct(g, pithp_operands(g->p, i)[o],
                                  g->p->values[i->result].spec))
            g->staged_in[pithp_operands(g->p, i)[o]] = at;
}

/* A step holds one cluster or, for few elements, all clusters that fit as a whole. A
 * uniform rule splits equal clusters into equal steps. */
static bool suits(const pithp_planning *g, const pithp_instruction *i, int32_t at) {
    const pithp_step *step = &g->plan->steps[at];
    const int32_t cluster = cluster_of(g, i->result);
    return cluster_of(g, step->first) == cluster ||
           cluster_of(g, step->last) == cluster ||
           (!g->apart && step->spec->count <= PITHP_FUSE_SMALL_ELEMENTS &&
            step->members + g->cluster_ops[cluster] <= PITHP_FUSE_PACKED_OPS &&
            step->reads + g->cluster_reads[cluster] + 3 <= PITHP_FUSE_PACKED_READS);
}

/* The step that an instruction is fused into; -1: a new one. */
static int32_t find_step(const pithp_planning *g, const pithp_instruction *i) {
    bool joins;
    const int32_t last = (int32_t)g->plan->step_count - 1;
    int32_t first = earliest(g, i, &joins);
    if (joins && pithp_plan_takes(g, i, first))
        return first;
    first += joins;
    const int32_t own = g->cluster_step[cluster_of(g, i->result)];
    if (own >= first && pithp_plan_takes(g, i, own))
        return own;
    for (int32_t k = last; k >= first && k > last - PITHP_FUSE_LOOK_BACK; k--)
        if (pithp_plan_takes(g, i, k) && suits(g, i, k))
            return k;
    return -1;
}

static bool place_fused(pithp_planning *g, const pithp_instruction *i) {
    int32_t at = find_step(g, i);
    if (at < 0) {
        pithp_step *step = add_step(g, PITHP_STEP_FUSED);
        if (!step)
            return false;
        step->spec = g->p->values[i->result].spec;
        at = (int32_t)g->plan->step_count - 1;
    }
    pithp_step *step = &g->plan->steps[at];
    if (step->members++)
        g->next[step->last] = i->result;
    else
        step->first = i->result;
    step->last = i->result;
    g->next[i->result] = -1;
    pithp_plan_count_reads(g, i, at);
    g->step[i->result] = at;
    g->cluster_step[cluster_of(g, i->result)] = at;
    return true;
}

/* A step without members, which computes the operand that a reduction reads through
 * views. */
static bool
place_reader(pithp_planning *g, const pithp_instruction *reduction, pithp_value v) {
    pithp_step *step = add_step(g, PITHP_STEP_FUSED);
    if (!step)
        return false;
    step->last_axes = pithp_plan_last_axes(g, reduction);
    step->spec = g->p->values[v].spec;
    step->first = step->last = -1;
    step->runs_in_consumer = true;
    step->unmaterialised = v;
    return true;
}

static pithp_plan_step_kind kind_of(pithp_primitive primitive) {
    return primitive == PITHP_OP_KERNEL                   ? PITHP_STEP_KERNEL
           : pithp_op_has(primitive, PITHP_TRAIT_REGIONS) ? PITHP_STEP_CONTROL
                                                          : PITHP_STEP_CALL;
}

static bool place_call(pithp_planning *g, const pithp_instruction *i) {
    const pithp_value read = i->operand_count ? pithp_operands(g->p, i)[0] : -1;
    const bool views = pithp_plan_makes_reduced(g, i) && g->is_virtual[read];
    if (views && !place_reader(g, i, read))
        return false;
    pithp_step *step = add_step(g, kind_of(i->primitive));
    if (!step)
        return false;
    if (views) {
        step->producer = (int32_t)g->plan->step_count - 2;
        step->produced = read;
    }
    step->call = i;
    step->spec = i->result_count ? g->p->values[i->result].spec : NULL;
    for (int k = 0; k < i->result_count; k++)
        g->step[i->result + k] = (int32_t)g->plan->step_count - 1;
    return true;
}

static bool place(pithp_planning *g, const pithp_instruction *i) {
    if (i->result_count && g->root[i->result] != i->result) {
        g->step[i->result] = g->step[pithp_operands(g->p, i)[0]];
        return true;
    }
    return g->plan->runs_fused && pithp_can_fuse(i->primitive) ? place_fused(g, i)
                                                               : place_call(g, i);
}

/* ---- Delayed work ---- */

/* In a command buffer elementwise work on few elements is delayed until its reader, so
 * that reductions that are summed at once follow each other. Readers of inputs are not
 * delayed, because their results may be donated the input's buffer. */
enum { WAITS = -2 }; /* step of a value without a step yet */

static bool can_wait(const pithp_planning *g, const pithp_instruction *i) {
    const pithp_value_info *values = g->p->values;
    bool waits = g->plan->scheduled && pithp_can_fuse(i->primitive) &&
                 values[i->result].spec->count <= PITHP_FUSE_WAITING_ELEMENTS;
    for (int o = 0; o < i->operand_count && waits; o++) {
        const pithp_bases from = pithp_plan_bases(g, pithp_operands(g->p, i)[o]);
        for (int b = 0; b < from.count; b++)
            waits &= values[from.list[b]].origin != PITHP_FROM_INPUT &&
                     values[from.list[b]].spec->count <= PITHP_FUSE_WAITING_ELEMENTS;
    }
    return waits;
}

/* List of delayed values. */
typedef struct waiting {
    pithp_value first, last; /* or -1 */
} waiting;

static void let_wait(pithp_planning *g, waiting *w, pithp_value v) {
    if (w->first < 0)
        w->first = v;
    else
        g->waiting_next[w->last] = v;
    w->last = v;
    g->waiting_next[v] = -1;
    g->step[v] = WAITS;
}

static bool
reads_waiting(const pithp_planning *g, const waiting *w, const pithp_instruction *i) {
    bool reads = false;
    for (int o = 0; o < i->operand_count && w->first >= 0; o++) {
        const pithp_bases from = pithp_plan_bases(g, pithp_operands(g->p, i)[o]);
        for (int b = 0; b < from.count; b++)
            reads |= g->step[from.list[b]] == WAITS;
    }
    return reads;
}

static bool place_waiting(pithp_planning *g, waiting *w) {
    bool placed = true;
    for (pithp_value v = w->first; v >= 0 && placed; v = g->waiting_next[v])
        placed = place(g, pithp_maker(g->p, v));
    w->first = w->last = -1;
    return placed;
}

bool pithp_plan_fuse_steps(pithp_planning *g) {
    const pithp_program *p = g->p;
    pithp_graph_walk walk = {.program = p};
    waiting w = {-1, -1};
    const pithp_instruction *i;
    pithp_value v;
    pithp_plan_parts(g);
    for (v = 0; v < p->value_count; v++) {
        i = pithp_maker(p, v);
        g->root[v] = v;
        if (i && !g->is_virtual[v] &&
            (i->primitive == PITHP_OP_RESHAPE || pithp_plan_is_part(g, i)))
            g->root[v] = g->root[pithp_operands(p, i)[0]];
        g->step[v] = g->staged_in[v] = -1;
    }
    find_clusters(g);
    while (pithp_graph_next(&walk, &v, &i)) {
        if (!i || (i->result_count && g->is_virtual[v]))
            continue;
        if (can_wait(g, i))
            let_wait(g, &w, v);
        else if ((reads_waiting(g, &w, i) && !place_waiting(g, &w)) || !place(g, i))
            return false;
    }
    return place_waiting(g, &w);
}
