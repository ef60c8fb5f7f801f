/* Linearization of cond and scan: one instruction with the residuals of its programs as
 * further results, and one that is linear in the tangents. */
#include "program/derive/arrange.h"
#include "program/derive/flow.h"

#include <string.h>

/* ---- Residuals of a program ---- */

/* The input that residual k is; -1: it is computed. */
static int64_t forwarded_input(const pithp_linearization *l, int64_t outputs, int64_t k) {
    const pithp_program *p = l->forward;
    const pithp_value_info *n = &p->values[p->outputs[outputs + k]];
    return n->origin == PITHP_FROM_INPUT ? n->at : -1;
}

static void release(pithp_linearization *l) {
    pithp_program_release(l->forward);
    pithp_program_release(l->linear);
}

/* Which output of the linear program is the tangent of output k; -1: none. */
static int64_t tangent_output(const bool *moves, int64_t k) {
    int64_t n = 0;
    for (int64_t j = 0; j < k; j++)
        n += moves[j];
    return moves[k] ? n : -1;
}

/* ---- scan ---- */

typedef struct scan_split {
    pithp_deriving_flow *f;
    pithp_linearization l;
    const pithp_program *body;
    const bool *inputs, *outputs; /* of the body: whether they move */
    int64_t *residuals; /* of each residual: the operand that it is, or -1 - result of the
                           first scan */
    pithp_value first;  /* of the first scan */
} scan_split;

/* A residual that is a constant or an element of xs is taken from there. */
static bool is_taken(const scan_split *p, int64_t input) {
    const pithp_operand_group *carries = &p->f->r.carries;
    const int operand = input >= 0 ? pithp_region_operand(&p->f->r, 0, (int)input) : -1;
    return operand >= 0 &&
           (operand < carries->first || operand >= carries->first + carries->count);
}

static bool add_first(scan_split *p) {
    pithp_derivation *d = p->f->d;
    const pithp_instruction *i = p->f->i;
    const pithp_program *body = p->body;
    pithp_arrangement a;
    if (!pithp_arrange_begin(&a, d->s, p->l.forward, body->input_count,
                             p->l.forward->output_count))
        return false;
    for (int64_t k = 0; k < body->input_count; k++)
        pithp_arrange_input(&a, pithp_value_spec(body, body->inputs[k]), k);
    for (int64_t k = 0; k < body->output_count; k++)
        pithp_arrange_output(&a, k, NULL);
    for (int64_t k = 0; k < p->l.residual_count; k++) {
        const int64_t input = forwarded_input(&p->l, body->output_count, k);
        if (is_taken(p, input)) {
            p->residuals[k] = pithp_region_operand(&p->f->r, 0, (int)input);
            continue;
        }
        p->residuals[k] = -1 - a.output_count;
        pithp_arrange_output(&a, body->output_count + k, NULL);
    }
    pithp_program *program = pithp_arrange(&a);
    if (!program)
        return false;
    const pithp_new_instruction scan = {.primitive = PITHP_OP_SCAN,
                                        .operand_count = i->operand_count,
                                        .operands = p->f->c->operands,
                                        .params = i->params,
                                        .program_count = 1,
                                        .programs = &program,
                                        .site = i->site};
    p->first = pithp_program_add_many(d->s, d->to, &scan);
    pithp_program_release(program);
    return p->first >= 0;
}

/* Operands of the linear scan, and inputs of its program. */
typedef struct linear_operands {
    pithp_value *list;
    int count;
    pithp_arrangement a;
} linear_operands;

static void
add_operand(linear_operands *o, pithp_value v, const pith_spec *spec, int64_t of) {
    o->list[o->count++] = v;
    pithp_arrange_input(&o->a, spec, of);
}

/* Residuals that are constants of the loop, or those that are not. */
static void add_residuals(const scan_split *p, linear_operands *o, bool constants) {
    const pithp_operand_group *group = &p->f->r.groups[PITHP_SCAN_CONSTANTS];
    for (int64_t k = 0; k < p->l.residual_count; k++) {
        const int64_t at = p->residuals[k];
        const bool constant = at >= 0 && at < group->first + group->count;
        if (constant != constants)
            continue;
        add_operand(o,
                    at >= 0 ? p->f->c->operands[at] : p->first + (pithp_value)(-1 - at),
                    pithp_value_spec(p->l.linear, p->l.linear->inputs[k]), k);
    }
}

/* Tangents of the operands of a group. */
static void add_tangents(const scan_split *p, linear_operands *o, int g) {
    const pithp_operand_group *group = &p->f->r.groups[g];
    int64_t next = p->l.residual_count;
    for (int k = 0; k < group->first; k++)
        next += p->f->moving[k];
    for (int k = group->first; k < group->first + group->count; k++)
        if (p->f->moving[k])
            add_operand(o, pithp_flow_tangent(p->f, k),
                        pithp_value_spec(p->body, p->body->inputs[k]), next++);
}

static bool add_second(scan_split *p, pithp_value *tangents) {
    pithp_derivation *d = p->f->d;
    const pithp_instruction *i = p->f->i;
    const int64_t most = p->l.residual_count + i->operand_count + 1;
    pithp_loop_params loop = *(const pithp_loop_params *)i->params;
    linear_operands o = {.list =
                             pithp_scope_allocate(d->s, (size_t)most * sizeof *o.list)};
    if (!o.list ||
        !pithp_arrange_begin(&o.a, d->s, p->l.linear, most, p->body->output_count))
        return false;
    add_residuals(p, &o, true);
    add_tangents(p, &o, PITHP_SCAN_CONSTANTS);
    loop.constants = o.count;
    add_tangents(p, &o, PITHP_SCAN_CARRIES);
    loop.carries = o.count - loop.constants;
    add_residuals(p, &o, false);
    add_tangents(p, &o, PITHP_SCAN_XS);
    for (int k = 0; k < o.count; k++)
        if (o.list[k] < 0)
            return false;
    for (int64_t k = 0; k < p->body->output_count; k++)
        if (p->f->moves[k])
            pithp_arrange_output(&o.a, tangent_output(p->outputs, k),
                                 pithp_value_spec(p->body, p->body->outputs[k]));
    pithp_program *program = pithp_arrange(&o.a);
    if (!program)
        return false;
    const pithp_new_instruction scan = {.primitive = PITHP_OP_SCAN,
                                        .operand_count = o.count,
                                        .operands = o.list,
                                        .params = &loop,
                                        .program_count = 1,
                                        .programs = &program,
                                        .site = i->site};
    pithp_value next = pithp_program_add_many(d->s, d->to, &scan);
    const bool fine = next >= 0;
    pithp_program_release(program);
    for (int k = 0; k < i->result_count; k++)
        tangents[k] = fine && p->f->moves[k] ? next++ : PITHP_ABSENT;
    return fine;
}

bool pithp_split_scan(pithp_deriving_flow *f,
                      bool *inputs,
                      bool *outputs,
                      pithp_value *results,
                      pithp_value *tangents) {
    scan_split p = {
        .f = f, .body = f->i->programs[0], .inputs = inputs, .outputs = outputs};
    pithp_flow_inputs(f, 0, inputs);
    bool *taken = pithp_scope_allocate(f->d->s, (size_t)p.body->input_count + 1);
    for (int64_t k = 0; taken && k < p.body->input_count; k++)
        taken[k] = is_taken(&p, k);
    pithp_derive_mode mode = pithp_mode_in(f->d);
    mode.taken = taken;
    if (!taken || !pithp_split(f->d->s, p.body, inputs, mode, outputs, &p.l))
        return false;
    p.residuals = pithp_scope_allocate(f->d->s, ((size_t)p.l.residual_count + 1) *
                                                    sizeof *p.residuals);
    const bool fine = p.residuals && add_first(&p) && add_second(&p, tangents);
    for (int k = 0; k < f->i->result_count; k++)
        results[k] = p.first + k;
    release(&p.l);
    return fine;
}

/* ---- cond ---- */

/* Residuals of all branches lie in shared slots, by spec: one branch alone runs. */
typedef struct cond_split {
    pithp_deriving_flow *f;
    pithp_linearization *l;  /* of each branch */
    bool **outputs;          /* of each branch: whether they move */
    int64_t **slots;         /* of each residual: a slot, or -1 - operand */
    const pith_spec **specs; /* of each slot */
    int64_t slot_count;
    pithp_value first; /* of the first cond */
} cond_split;

/* The first slot of a spec that a branch does not use yet. */
static int64_t
slot_for(cond_split *p, const pith_spec *spec, int64_t count, const int64_t *used) {
    for (int64_t n = 0; n < p->slot_count; n++) {
        bool is_free = p->specs[n] == spec;
        for (int64_t k = 0; k < count; k++)
            is_free &= used[k] != n;
        if (is_free)
            return n;
    }
    p->specs[p->slot_count] = spec;
    return p->slot_count++;
}

static void assign_slots(cond_split *p) {
    for (int b = 0; b < p->f->i->program_count; b++) {
        const pithp_linearization *l = &p->l[b];
        const int64_t outputs = p->f->i->programs[b]->output_count;
        for (int64_t k = 0; k < l->residual_count; k++) {
            const int64_t input = forwarded_input(l, outputs, k);
            p->slots[b][k] =
                input >= 0
                    ? -1 - pithp_region_operand(&p->f->r, b, (int)input)
                    : slot_for(p, pithp_value_spec(l->linear, l->linear->inputs[k]), k,
                               p->slots[b]);
        }
    }
}

/* Branch b of the first cond: its outputs, then all slots. */
static pithp_program *first_branch(const cond_split *p, int b) {
    const pithp_program *branch = p->f->i->programs[b];
    pithp_arrangement a;
    if (!pithp_arrange_begin(&a, p->f->d->s, p->l[b].forward, branch->input_count,
                             branch->output_count + p->slot_count))
        return NULL;
    for (int64_t k = 0; k < branch->input_count; k++)
        pithp_arrange_input(&a, pithp_value_spec(branch, branch->inputs[k]), k);
    for (int64_t k = 0; k < branch->output_count; k++)
        pithp_arrange_output(&a, k, NULL);
    for (int64_t n = 0; n < p->slot_count; n++) {
        int64_t output = -1;
        for (int64_t k = 0; k < p->l[b].residual_count; k++)
            if (p->slots[b][k] == n)
                output = branch->output_count + k;
        pithp_arrange_output(&a, output, p->specs[n]);
    }
    return pithp_arrange(&a);
}

/* Branch b of the linear cond: slots, operands, tangents. */
static pithp_program *second_branch(const cond_split *p, int b) {
    const pithp_deriving_flow *f = p->f;
    const pithp_linearization *l = &p->l[b];
    const pithp_program *branch = f->i->programs[b];
    pithp_arrangement a;
    if (!pithp_arrange_begin(&a, f->d->s, l->linear,
                             p->slot_count + 2 * (int64_t)f->i->operand_count,
                             branch->output_count))
        return NULL;
    for (int64_t n = 0; n < p->slot_count + f->i->operand_count - 1; n++) {
        const int64_t operand = n - p->slot_count + 1;
        const int64_t at = pithp_arrange_input(
            &a,
            n < p->slot_count ? p->specs[n] : pithp_flow_operand_spec(f, (int)operand),
            -1);
        for (int64_t k = 0; k < l->residual_count; k++)
            if (p->slots[b][k] == (n < p->slot_count ? n : -1 - operand))
                a.inputs[k] = at;
    }
    int64_t next = l->residual_count;
    for (int k = 1; k < f->i->operand_count; k++)
        if (f->moving[k])
            pithp_arrange_input(&a, pithp_flow_operand_spec(f, k), next++);
    for (int64_t k = 0; k < branch->output_count; k++)
        if (f->moves[k])
            pithp_arrange_output(&a, tangent_output(p->outputs[b], k),
                                 pithp_value_spec(branch, branch->outputs[k]));
    return pithp_arrange(&a);
}

static pithp_value add_cond(const cond_split *p,
                            pithp_program *(*branch)(const cond_split *, int),
                            int count,
                            const pithp_value *operands) {
    const pithp_deriving_flow *f = p->f;
    const size_t bytes = (size_t)f->i->program_count * sizeof(pithp_program *);
    pithp_program **programs = pithp_scope_allocate(f->d->s, bytes);
    int made = 0;
    bool fine = programs != NULL;
    for (; made < f->i->program_count && fine; made += fine)
        fine = (programs[made] = branch(p, made)) != NULL;
    const pithp_new_instruction cond = {.primitive = PITHP_OP_COND,
                                        .operand_count = count,
                                        .operands = operands,
                                        .program_count = f->i->program_count,
                                        .programs = programs,
                                        .site = f->i->site};
    const pithp_value first =
        fine ? pithp_program_add_many(f->d->s, f->d->to, &cond) : -1;
    for (int k = 0; k < made; k++)
        pithp_program_release(programs[k]);
    return first;
}

static bool add_conds(cond_split *p, pithp_value *results, pithp_value *tangents) {
    const pithp_deriving_flow *f = p->f;
    const int n = f->i->operand_count;
    pithp_value *list = pithp_scope_allocate(
        f->d->s, ((size_t)p->slot_count + 2 * (size_t)n) * sizeof *list);
    if (!list)
        return false;
    const pithp_value first = add_cond(p, first_branch, n, f->c->operands);
    for (int k = 0; k < f->i->result_count; k++)
        results[k] = first + k;
    int count = 0;
    list[count++] = f->c->operands[0];
    for (int64_t k = 0; k < p->slot_count; k++)
        list[count++] = first + f->i->result_count + (pithp_value)k;
    for (int k = 1; k < n; k++)
        list[count++] = f->c->operands[k];
    for (int k = 1; k < n; k++)
        if (f->moving[k])
            list[count++] = f->c->tangents[k];
    pithp_value next = first < 0 ? -1 : add_cond(p, second_branch, count, list);
    const bool fine = next >= 0;
    for (int k = 0; k < f->i->result_count; k++)
        tangents[k] = fine && f->moves[k] ? next++ : PITHP_ABSENT;
    return fine;
}

bool pithp_split_cond(pithp_deriving_flow *f,
                      bool *inputs,
                      bool *outputs,
                      pithp_value *results,
                      pithp_value *tangents) {
    pith_scope *s = f->d->s;
    const size_t n = (size_t)f->i->program_count, outs = (size_t)f->i->result_count + 1;
    cond_split p = {.f = f,
                    .l = pithp_scope_allocate(s, n * sizeof *p.l),
                    .outputs = pithp_scope_allocate(s, n * sizeof *p.outputs),
                    .slots = pithp_scope_allocate(s, n * sizeof *p.slots)};
    const size_t most = (size_t)f->i->operand_count + 1;
    bool *taken = pithp_scope_allocate(s, most);
    pithp_derive_mode mode = pithp_mode_in(f->d);
    mode.kept = f->d->kept;
    mode.taken = taken;
    bool fine = taken && p.l && p.outputs && p.slots;
    if (fine)
        memset(taken, 1, most);
    size_t made = 0, residuals = 1;
    for (; made < n && fine; made += fine) {
        pithp_flow_inputs(f, (int)made, inputs);
        fine = (p.outputs[made] = pithp_scope_allocate(s, outs)) &&
               pithp_split(s, f->i->programs[made], inputs, mode, outputs, &p.l[made]);
        if (!fine)
            break;
        memcpy(p.outputs[made], outputs, (size_t)f->i->result_count);
        residuals += (size_t)p.l[made].residual_count;
        p.slots[made] = pithp_scope_allocate(s, ((size_t)p.l[made].residual_count + 1) *
                                                    sizeof **p.slots);
        fine = p.slots[made] != NULL;
    }
    if (fine && (p.specs = pithp_scope_allocate(s, residuals * sizeof *p.specs))) {
        assign_slots(&p);
        fine = add_conds(&p, results, tangents);
    }
    for (size_t k = 0; k < made; k++)
        release(&p.l[k]);
    return fine && p.specs;
}
