/* Simplification of control flow: the passes run on the nested programs; then their
 * inputs and outputs are reduced.
 *
 *   1. Unused results, and carries that serve no result, are removed.
 *   2. A result of a cond that is one operand in all branches is that operand; a carry
 *      that the body forwards is a constant of the loop.
 *   3. A result that is one literal in all branches is that literal; results that are
 *      equal in all programs are merged.
 *   4. Operands that no program reads are removed, equal ones merged, and literals moved
 *      into the programs.
 *   5. A scan without iterations is its initial carry.
 *
 * Rule 2 inside a body may show that a carry is constant, so the rules run before and
 * after the passes of the programs. */
#include "program/op/thresholds.h"
#include "program/pass/rewrite.h"

#include <string.h>

/* ---- What becomes of them ---- */

enum { KEPT = -1, GONE = -2, CONSTANT = -3, SUNK = -4 }; /* or its operand */

typedef struct narrowing {
    pithp_flow *f;
    pithp_regions regions; /* the layout before */
    int32_t *operands;     /* of each: one of these */
    bool *read;            /* of each operand: a program reads it */
    bool *needed;          /* of each result */
    int32_t *same;        /* of each result: KEPT, GONE, or the result that replaces it */
    pithp_value *instead; /* of each result: a value, or -1 */
} narrowing;

static bool begin(narrowing *n) {
    const pithp_flow *f = n->f;
    pith_scope *s = f->r->s;
    const size_t operands = (size_t)f->operand_count + 1,
                 results = (size_t)f->result_count + 1;
    n->operands = pithp_scope_allocate(s, operands * sizeof *n->operands);
    n->read = pithp_scope_allocate(s, operands * sizeof *n->read);
    n->needed = pithp_scope_allocate(s, results * sizeof *n->needed);
    n->same = pithp_scope_allocate(s, results * sizeof *n->same);
    n->instead = pithp_scope_allocate(s, results * sizeof *n->instead);
    if (!n->operands || !n->read || !n->needed || !n->same || !n->instead)
        return false;
    memset(n->operands, KEPT, operands * sizeof *n->operands);
    memset(n->same, KEPT, results * sizeof *n->same);
    memset(n->instead, KEPT, results * sizeof *n->instead);
    return true;
}

/* The operand that all programs forward as result k; -1: none. */
static int forwarded(const narrowing *n, int k) {
    const pithp_flow *f = n->f;
    int operand = -1;
    for (int b = 0; b < f->program_count; b++) {
        const pithp_program *p = f->programs[b];
        if (!pithp_region_yields(&n->regions, b))
            continue;
        const pithp_value_info *v = &p->values[p->outputs[k]];
        const int from = v->origin == PITHP_FROM_INPUT
                             ? pithp_region_forwards(&n->regions, b, v->at, k)
                             : -1;
        if (from < 0 || (operand >= 0 && operand != from))
            return -1;
        operand = from;
    }
    return operand;
}

/* The literal that all branches of a cond give as result k; NULL: none. */
static const pithp_constant *literal_in_all(const pithp_flow *f, int k) {
    const pithp_program *p = f->programs[0];
    const void *first =
        f->primitive == PITHP_OP_COND ? pithp_literal_of(p, p->outputs[k]) : NULL;
    bool all = first;
    for (int b = 1; b < f->program_count && all; b++) {
        const void *other = pithp_literal_of(f->programs[b], f->programs[b]->outputs[k]);
        all = other && !memcmp(first, other, pithp_value_spec(p, p->outputs[k])->bytes);
    }
    return all ? &p->constants[p->values[p->outputs[k]].at] : NULL;
}

/* An earlier result that is equal in all programs; KEPT: none. Carries may have different
 * initial values. */
static int32_t same_as(const narrowing *n, int k) {
    const pithp_flow *f = n->f;
    for (int j = n->regions.carries.count; j < k; j++) {
        bool all = true;
        for (int b = 0; b < f->program_count && all; b++)
            all = !pithp_region_yields(&n->regions, b) ||
                  f->programs[b]->outputs[j] == f->programs[b]->outputs[k];
        if (all)
            return j;
    }
    return KEPT;
}

static bool replace_results(narrowing *n) {
    const pithp_flow *f = n->f;
    for (int k = 0; k < f->result_count; k++) {
        const int from = forwarded(n, k);
        const pithp_constant *literal = from < 0 ? literal_in_all(f, k) : NULL;
        if (from >= 0) {
            n->instead[k] = f->operands[from];
            n->operands[from] = pithp_carry_of(&n->regions, from) >= 0 ? CONSTANT : KEPT;
        } else if (literal && f->wanted[k]) {
            const pithp_value v = pithp_program_literal(
                f->r->s, f->r->to, pithp_value_spec(f->programs[0], literal->value),
                literal->data);
            if (v < 0)
                return false;
            n->instead[k] = pithp_rebuild_literal(f->r, v);
        } else {
            n->same[k] = same_as(n, k);
            if (n->same[k] >= 0 && f->wanted[k])
                f->wanted[n->same[k]] = true;
        }
    }
    return true;
}

/* ---- What is needed ---- */

/* Mark the inputs that program b reads for the outputs that are needed. */
static bool mark_read(const narrowing *n, int b) {
    const pithp_flow *f = n->f;
    const pithp_program *p = f->programs[b];
    const size_t bytes = (size_t)p->value_count + 1;
    bool *live = pithp_allocate(f->r->s->runtime, bytes);
    if (!live) {
        pithp_fail_memory(f->r->s, bytes);
        return false;
    }
    memset(live, false, bytes);
    for (int64_t k = 0; k < p->output_count; k++)
        live[p->outputs[k]] |= !pithp_region_yields(&n->regions, b) ||
                               (n->needed[k] && n->instead[k] < 0 && n->same[k] < 0);
    for (int64_t k = p->instruction_count; k-- > 0;) {
        const pithp_instruction *i = &p->instructions[k];
        bool wanted = pithp_has_effects(i) || pithp_has_refusals(i);
        for (int v = 0; v < i->result_count; v++)
            wanted |= live[i->result + v];
        for (int o = 0; wanted && o < i->operand_count; o++)
            live[pithp_operands(p, i)[o]] = true;
    }
    for (int k = 0; k < p->input_count; k++)
        n->read[pithp_region_operand(&n->regions, b, k)] |= live[p->inputs[k]];
    pithp_release(f->r->s->runtime, live, bytes);
    return true;
}

/* A carry is needed if its result or a reader of it is. */
static bool find_needed(narrowing *n) {
    const pithp_flow *f = n->f;
    const int first = n->regions.carries.first, carries = n->regions.carries.count;
    memcpy(n->needed, f->wanted, (size_t)f->result_count * sizeof *n->needed);
    if (f->primitive == PITHP_OP_WHILE && f->params.as_while.most)
        n->needed[0] = true; /* derivations find the rows of the record there */
    for (bool changed = true; changed;) {
        changed = false;
        memset(n->read, false, (size_t)f->operand_count * sizeof *n->read);
        for (int b = 0; b < f->program_count; b++)
            if (!mark_read(n, b))
                return false;
        for (int k = 0; k < carries; k++)
            if (n->read[first + k] && !n->needed[k] && n->instead[k] < 0)
                n->needed[k] = changed = true;
    }
    for (int k = 0; k < f->result_count; k++)
        if (n->instead[k] < 0 && n->same[k] < 0 && !n->needed[k])
            n->same[k] = GONE;
    return true;
}

/* Whether a value may be computed in the programs as well as outside. */
static bool may_sink(const pithp_program *p, pithp_value v) {
    const pithp_instruction *i = pithp_maker(p, v);
    return i ? i->primitive == PITHP_OP_FULL
             : pithp_literal_of(p, v) &&
                   pithp_value_spec(p, v)->bytes <= PITHP_SINK_BYTES;
}

/* Whether a kept operand holds the same value for the same programs as operand o. */
static bool equals(const narrowing *n, int j, int o) {
    return n->operands[j] == KEPT && n->f->operands[j] == n->f->operands[o] &&
           pithp_operand_group_of(&n->regions, j) ==
               pithp_operand_group_of(&n->regions, o);
}

static void choose_operands(narrowing *n) {
    const pithp_flow *f = n->f;
    for (int o = 0; o < f->operand_count; o++) {
        const pithp_operand_role role =
            n->regions.groups[pithp_operand_group_of(&n->regions, o)].role;
        const int carry = pithp_carry_of(&n->regions, o);
        if (role == PITHP_OPERAND_INDEX)
            continue;
        if (carry >= 0 && n->operands[o] != CONSTANT) {
            n->operands[o] = n->same[carry] == GONE ? GONE : KEPT;
        } else if (!n->read[o]) {
            n->operands[o] = GONE;
        } else if (role != PITHP_OPERAND_XS && may_sink(f->r->to, f->operands[o])) {
            n->operands[o] = SUNK;
        } else if (carry < 0) {
            for (int j = 0; j < o && n->operands[o] == KEPT; j++)
                if (equals(n, j, o))
                    n->operands[o] = j;
        }
    }
}

static bool changes(const narrowing *n) {
    bool any = false;
    for (int o = 0; o < n->f->operand_count; o++)
        any |= n->operands[o] != KEPT;
    for (int k = 0; k < n->f->result_count; k++)
        any |= n->same[k] != KEPT || n->instead[k] >= 0;
    return any;
}

/* ---- New programs ---- */

/* The new operands in order: `at` of old ones, twice where a carry that stays is one of
 * both programs of a while. */
typedef struct layout {
    int32_t *at;
    int count, groups[PITHP_OPERAND_GROUPS];
} layout;

/* A carry that became a constant is one in each group of constants; unread inputs cost
 * nothing. */
static bool belongs(const narrowing *n, int operand, int group) {
    const int kind = n->operands[operand];
    if (kind == CONSTANT)
        return n->regions.groups[group].role == PITHP_OPERAND_CONSTANT;
    return kind == KEPT && pithp_operand_group_of(&n->regions, operand) == group;
}

static bool lay_out(const narrowing *n, layout *l) {
    const pithp_flow *f = n->f;
    const size_t bytes = ((size_t)f->operand_count * 2 + 1) * sizeof *l->at;
    *l = (layout){.at = pithp_scope_allocate(f->r->s, bytes)};
    for (int g = 0; l->at && g < PITHP_OPERAND_GROUPS; g++)
        for (int o = 0; o < f->operand_count; o++)
            if (belongs(n, o, g)) {
                l->at[l->count++] = o;
                l->groups[g]++;
            }
    return l->at;
}

/* A known value inside a program. */
static pithp_value sink(const pithp_flow *f, pithp_program *to, pithp_value v) {
    const pithp_program *p = f->r->to;
    const pithp_instruction *i = pithp_maker(p, v);
    return i ? pithp_program_add(f->r->s, to, i->primitive, 0, NULL, i->params, i->site)
             : pithp_program_literal(f->r->s, to, pithp_value_spec(p, v),
                                     pithp_literal_of(p, v));
}

/* Name the inputs of program b in the new program. */
static bool name_inputs(const narrowing *n, int b, const layout *l, pithp_rebuild *r) {
    const pithp_flow *f = n->f;
    int at = 0;
    for (int g = 0; g < PITHP_OPERAND_GROUPS; g++)
        for (int k = 0; k < l->groups[g]; k++, at++) {
            const int input = pithp_region_input(&n->regions, b, l->at[at]);
            int first;
            if (!pithp_region_takes(&n->regions, b, g, &first))
                continue;
            PITH_ASSERT(input >= 0);
            const pithp_value v = pithp_program_input(
                r->s, r->to, pithp_value_spec(r->from, r->from->inputs[input]));
            if (v < 0)
                return false;
            r->names[r->from->inputs[input]] = v;
        }
    for (int o = 0; o < f->operand_count; o++) {
        const int input = pithp_region_input(&n->regions, b, o), kind = n->operands[o];
        if (input < 0)
            continue;
        pithp_value *name = &r->names[r->from->inputs[input]];
        if (kind == SUNK && (*name = sink(f, r->to, f->operands[o])) < 0)
            return false;
        if (kind >= 0)
            *name = r->names[r->from->inputs[pithp_region_input(&n->regions, b, kind)]];
    }
    return true;
}

static bool keeps_output(const narrowing *n, int b, int64_t k) {
    return !pithp_region_yields(&n->regions, b) ||
           (n->same[k] == KEPT && n->instead[k] < 0);
}

/* NULL: error set. */
static pithp_program *change(const narrowing *n, int b, const layout *l) {
    const pithp_program *p = n->f->programs[b];
    pith_scope *s = n->f->r->s;
    const size_t values = (size_t)p->value_count + 1;
    pithp_rebuild r = {.s = s, .from = p, .passes = PITHP_PASS_DEAD, .shallow = true};
    pithp_value *outputs =
        pithp_scope_allocate(s, ((size_t)p->output_count + 1) * sizeof *outputs);
    r.names = pithp_scope_allocate(s, values * sizeof *r.names);
    r.live = pithp_scope_allocate(s, 2 * values);
    if (!outputs || !r.names || !r.live || !(r.to = pithp_program_make(s)))
        return NULL;
    r.wanted = r.live + values;
    memset(r.names, -1, values * sizeof *r.names);
    int64_t count = 0;
    for (int64_t k = 0; k < p->output_count; k++)
        if (keeps_output(n, b, k))
            outputs[count++] = p->outputs[k];
    /* unread inputs have no names, and none are requested */
    bool fine = name_inputs(n, b, l, &r);
    for (int64_t k = 0; k < p->input_count && fine; k++)
        if (r.names[p->inputs[k]] < 0)
            r.names[p->inputs[k]] = INT32_MAX;
    fine = fine && pithp_rebuild_values(&r, count, outputs);
    for (int64_t k = 0; k < count && fine; k++)
        fine = pithp_program_output(s, r.to, r.names[outputs[k]]);
    if (fine)
        return r.to;
    pithp_program_release(r.to);
    return NULL;
}

static bool change_programs(const narrowing *n, const layout *l) {
    pithp_flow *f = n->f;
    for (int b = 0; b < f->program_count; b++) {
        pithp_program *p = change(n, b, l);
        if (!p)
            return false;
        pithp_program_release(f->programs[b]);
        f->programs[b] = p;
    }
    return true;
}

/* ---- The instruction ---- */

/* Renumber the kept results: from here on `same` holds -3 - number. */
static void rename_results(const narrowing *n) {
    pithp_flow *f = n->f;
    int32_t count = 0;
    for (int k = 0; k < f->result_count; k++)
        if (n->same[k] == KEPT && n->instead[k] < 0) {
            f->wanted[count] = f->wanted[k];
            n->same[k] = -3 - count++;
        }
    for (int k = 0; k < f->first_count; k++) {
        const int32_t at = f->now[k];
        if (at < 0)
            continue;
        const int32_t to = n->same[at] >= 0 ? n->same[n->same[at]] : n->same[at];
        f->instead[k] = n->instead[at];
        f->now[k] = n->instead[at] >= 0 || to == GONE ? -1 : -3 - to;
    }
    f->result_count = count;
}

/* Remove unused results and invariant carries. False sets the error. */
static bool narrow(pithp_flow *f) {
    narrowing n = {.f = f, .regions = pithp_flow_regions(f)};
    layout l;
    if (!begin(&n) || !replace_results(&n) || !find_needed(&n))
        return false;
    choose_operands(&n);
    if (!changes(&n))
        return true;
    pithp_value *operands = pithp_scope_allocate(
        f->r->s, ((size_t)f->operand_count * 2 + 1) * sizeof *operands);
    if (!operands || !lay_out(&n, &l) || !change_programs(&n, &l))
        return false;
    for (int k = 0; k < l.count; k++)
        operands[k] = f->operands[l.at[k]];
    rename_results(&n);
    f->operands = operands;
    f->operand_count = l.count;
    pithp_regions_resize(f->primitive, &f->params, l.groups);
    return true;
}

/* ---- All of it ---- */

static bool begin_flow(pithp_flow *f, const pithp_instruction *i) {
    pith_scope *s = f->r->s;
    const size_t results = (size_t)i->result_count + 1;
    memset(&f->params, 0, sizeof f->params);
    if (i->params) /* with its zeros between members */
        memcpy(&f->params, i->params, pithp_params_bytes(i->primitive));
    if (f->primitive == PITHP_OP_WHILE && f->r->passes & PITHP_PASS_MARKS)
        f->params.as_while.most = 0;
    f->result_count = f->first_count = i->result_count;
    f->now = pithp_scope_allocate(s, results * sizeof *f->now);
    f->instead = pithp_scope_allocate(s, results * sizeof *f->instead);
    f->wanted = pithp_scope_allocate(s, results * sizeof *f->wanted);
    f->programs = pithp_scope_allocate(s, (size_t)i->program_count * sizeof *f->programs);
    if (!f->now || !f->instead || !f->wanted || !f->programs)
        return false;
    for (int k = 0; k < i->result_count; k++) {
        f->now[k] = k;
        f->instead[k] = -1;
        f->wanted[k] = f->r->wanted[i->result + k];
    }
    for (; f->program_count < i->program_count; f->program_count++) {
        f->programs[f->program_count] = i->programs[f->program_count];
        pithp_program_retain(i->programs[f->program_count]);
    }
    return true;
}

static bool optimise_programs(pithp_flow *f) {
    for (int b = 0; b < f->program_count; b++) {
        pithp_program *p = pithp_rebuild_program(f->r->s, f->programs[b], f->r->passes);
        if (!p)
            return false;
        pithp_program_release(f->programs[b]);
        f->programs[b] = p;
    }
    return true;
}

/* A scan without iterations: initial carries, and ys without elements. */
static bool take_nothing(pithp_flow *f, const pithp_instruction *i) {
    pithp_rebuild *r = f->r;
    const pithp_operand_group carries = pithp_flow_regions(f).carries;
    for (int k = 0; k < i->result_count; k++) {
        const pith_spec *spec = pithp_value_spec(r->from, i->result + k);
        pithp_full_params params = {.dtype = spec->dtype, .rank = spec->rank};
        memcpy(params.shape, spec->shape, sizeof params.shape);
        pithp_proposal c = {.primitive = PITHP_OP_FULL, .params = &params, .spec = spec};
        f->now[k] = -1;
        f->instead[k] = k < carries.count ? f->operands[carries.first + k]
                                          : pithp_rebuild_call(r, &c, i->site);
        if (f->instead[k] < 0)
            return false;
    }
    f->result_count = 0;
    return true;
}

static bool must_run(const pithp_flow *f) {
    bool any = false;
    for (int b = 0; b < f->program_count; b++)
        any |= f->programs[b]->has_effects || f->programs[b]->has_refusals;
    return any;
}

static bool name_results(pithp_flow *f, const pithp_instruction *i) {
    pithp_rebuild *r = f->r;
    pithp_value first = -1;
    if (f->result_count || must_run(f) || !i->result_count) {
        pithp_proposal c = {.primitive = f->primitive,
                            .count = f->operand_count,
                            .operands = f->operands,
                            .params = f->primitive == PITHP_OP_COND ? NULL : &f->params,
                            .program_count = f->program_count,
                            .programs = f->programs};
        for (int k = 0; k < i->result_count; k++)
            if (f->now[k] == 0)
                c.spec = pithp_value_spec(r->from, i->result + k);
        if ((first = pithp_rebuild_call(r, &c, i->site)) < 0)
            return false;
    }
    for (int k = 0; k < i->result_count; k++)
        r->names[i->result + k] = f->instead[k] >= 0 ? f->instead[k]
                                  : f->now[k] >= 0   ? first + f->now[k]
                                                     : -1;
    return true;
}

bool pithp_rebuild_control(pithp_rebuild *r,
                           const pithp_instruction *i,
                           const pithp_value *operands) {
    pithp_flow f = {.r = r,
                    .primitive = i->primitive,
                    .operand_count = i->operand_count,
                    .operands = (pithp_value *)(uintptr_t)operands}; /* never written */
    const bool narrows = r->passes & PITHP_PASS_CONTROL;
    bool fine = begin_flow(&f, i);
    if (fine && narrows && f.primitive == PITHP_OP_SCAN && f.params.as_loop.length == 0) {
        fine = take_nothing(&f, i) && name_results(&f, i);
    } else {
        fine =
            fine && (!narrows || narrow(&f)) && optimise_programs(&f) &&
            (!narrows || (narrow(&f) && pithp_flow_hoist(&f) && pithp_flow_unroll(&f))) &&
            name_results(&f, i);
    }
    while (f.program_count > 0)
        pithp_program_release(f.programs[--f.program_count]);
    return fine;
}
