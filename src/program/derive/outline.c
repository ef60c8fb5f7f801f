/* Outlining: segments of instructions that are calls of the same function, with equal
 * content. */
#include "program/derive/outline.h"

#include <string.h>

enum { LEAST_INSTRUCTIONS = 4 };

typedef struct segment {
    pithp_call_segment of;
    int64_t own;    /* its instructions */
    int64_t like;   /* the first segment that is equal to it */
    int64_t before; /* of a first one: the first one before it; -1: none */
    bool shared;    /* it is equal to another */
    uint64_t hash;
} segment;

typedef struct outlining {
    pith_scope *s;
    const pithp_program *p;
    const bool *linear; /* by value; or NULL */
    int64_t *last; /* of each value: the last instruction that reads it; INT64_MAX: it
                      is an output */
    bool *own;     /* of each instruction: whether it is part of its segment */
    bool *outside; /* of each value: whether others than own instructions read it */
    pithp_value *names; /* of each value: in a program of a segment; -1: none */
    pithp_value *bound; /* of each input of such a program: the value that it is */
    int32_t *groups;    /* of each group: in such a program; 0: none */
    int32_t *bound_groups, group_count;
    int64_t segment_count;
    segment *segments;
    pithp_call_segments *found;
} outlining;

/* ---- Segments ---- */

/* The end of the instructions of a call that begin with n. */
static int64_t end_of_run(const pithp_program *p, int64_t n) {
    const int32_t call = p->instructions[n].remat.call;
    while (n < p->instruction_count && p->instructions[n].remat.call == call)
        n++;
    return n;
}

static void find_last_uses(const outlining *o) {
    const pithp_program *p = o->p;
    memset(o->last, 0xff, (size_t)p->value_count * sizeof *o->last); /* -1: none */
    for (int64_t n = 0; n < p->instruction_count; n++)
        for (int k = 0; k < p->instructions[n].operand_count; k++)
            o->last[pithp_operands(p, &p->instructions[n])[k]] = n;
    for (int64_t k = 0; k < p->output_count; k++)
        o->last[p->outputs[k]] = INT64_MAX;
}

/* Of a linear program: whether the transpose of an instruction is part of that of its
 * segment, or only this reads its results. */
static bool is_own(const outlining *o, const pithp_instruction *i) {
    bool known = i->result_count && !pithp_has_effects(i);
    if (i->result_count && o->linear[i->result])
        return true;
    for (int k = 0; k < i->result_count; k++)
        known &= !o->outside[i->result + k];
    return known;
}

/* Mark the own instructions of a run. Returns their number. */
static int64_t mark_own(const outlining *o, int64_t first, int64_t end) {
    int64_t count = 0;
    for (int64_t n = first; n < end; n++) {
        const pithp_instruction *i = &o->p->instructions[n];
        for (int k = 0; k < i->result_count; k++)
            o->outside[i->result + k] = o->last[i->result + k] >= end;
    }
    for (int64_t n = end; n-- > first;) {
        const pithp_instruction *i = &o->p->instructions[n];
        o->own[n] = !o->linear || is_own(o, i);
        count += o->own[n];
        for (int k = 0; k < i->operand_count && !o->own[n]; k++)
            o->outside[pithp_operands(o->p, i)[k]] = true;
    }
    return count;
}

/* Rows, numbers of operands and results: a hash that tells most segments apart. */
static uint64_t hash_rows(const outlining *o, const pithp_call_segment *g) {
    uint64_t hash = 0;
    for (int64_t n = g->first; n < g->end; n++) {
        const pithp_instruction *i = &o->p->instructions[n];
        const pith_spec *spec =
            i->result_count ? pithp_value_spec(o->p, i->result) : NULL;
        const int32_t head[3] = {(int32_t)i->primitive, i->operand_count,
                                 i->result_count};
        if (!o->own[n])
            continue;
        hash = pithp_hash(hash, head, sizeof head);
        hash = pithp_hash(hash, &spec, sizeof spec); /* interned */
    }
    return hash;
}

/* The number of runs that may be segments. */
static int64_t count_runs(const pithp_program *p) {
    int64_t count = 0;
    for (int64_t n = 0, end; n < p->instruction_count; n = end) {
        end = end_of_run(p, n);
        count += p->instructions[n].remat.call && end - n >= LEAST_INSTRUCTIONS;
    }
    return count;
}

static void find_segments(outlining *o) {
    const pithp_program *p = o->p;
    for (int64_t n = 0, end; n < p->instruction_count; n = end) {
        end = end_of_run(p, n);
        if (!p->instructions[n].remat.call || end - n < LEAST_INSTRUCTIONS)
            continue;
        segment *g = &o->segments[o->segment_count];
        *g = (segment){
            .of = {.first = n, .end = end, .call = p->instructions[n].remat.call},
            .own = mark_own(o, n, end),
            .like = o->segment_count};
        if (g->own < LEAST_INSTRUCTIONS)
            continue;
        g->hash = hash_rows(o, &g->of);
        o->segment_count++;
    }
}

static bool is_inside(const outlining *o, const pithp_call_segment *g, pithp_value v) {
    const pithp_value_info *n = &o->p->values[v];
    return n->origin == PITHP_FROM_INSTRUCTION && n->at >= g->first && n->at < g->end &&
           o->own[n->at];
}

/* Whether the value of a segment is read after it. */
static bool leaves(const outlining *o, const pithp_call_segment *g, pithp_value v) {
    return o->last[v] >= g->end;
}

/* The number of a group in the program of a segment, in the order of their first
 * instructions. */
static int32_t group_in(outlining *o, int32_t group) {
    if (group && !o->groups[group]) {
        o->bound_groups[o->group_count++] = group;
        o->groups[group] = o->group_count;
    }
    return group ? o->groups[group] : 0;
}

/* Forget the names of the values that a segment has and reads. */
static void forget(outlining *o, const pithp_call_segment *g) {
    for (int64_t n = g->first; n < g->end; n++) {
        const pithp_instruction *i = &o->p->instructions[n];
        for (int k = 0; k < i->operand_count; k++)
            o->names[pithp_operands(o->p, i)[k]] = -1;
        for (int k = 0; k < i->result_count; k++)
            o->names[i->result + k] = -1;
    }
    for (int32_t k = 0; k < o->group_count; k++)
        o->groups[o->bound_groups[k]] = 0;
    o->group_count = 0;
}

/* ---- Programs of segments ---- */

/* Inputs are values from before the segment, in the order of their first uses. */
static bool
add_inputs(const outlining *o, const pithp_call_segment *g, pithp_program *to) {
    const pithp_program *p = o->p;
    for (int64_t n = g->first; n < g->end; n++) {
        const pithp_instruction *i = &p->instructions[n];
        for (int k = 0; k < i->operand_count && o->own[n]; k++) {
            const pithp_value v = pithp_operands(p, i)[k];
            if (o->names[v] >= 0 || is_inside(o, g, v) ||
                p->values[v].origin == PITHP_FROM_CONSTANT)
                continue;
            o->bound[to->input_count] = v;
            if ((o->names[v] = pithp_program_input(o->s, to, pithp_value_spec(p, v))) < 0)
                return false;
        }
    }
    return true;
}

static bool add_instruction(outlining *o, pithp_program *to, const pithp_instruction *i) {
    bool fine = true;
    for (int k = 0; k < i->operand_count && fine; k++) {
        const pithp_value v = pithp_operands(o->p, i)[k];
        fine = o->names[v] >= 0 || pithp_program_copy(o->s, to, o->p, v, NULL, o->names);
    }
    to->remat = i->remat;
    to->remat.call = 0;
    to->remat.group = group_in(o, i->remat.group);
    to->groups = o->group_count;
    to->stages = o->p->stages;
    fine = fine && pithp_program_copy(o->s, to, o->p, i->result, i, o->names);
    to->remat = (pithp_remat){0};
    return fine;
}

static bool fill(outlining *o, const pithp_call_segment *g, pithp_program *to) {
    bool fine = add_inputs(o, g, to);
    for (int64_t n = g->first; n < g->end && fine; n++)
        fine = !o->own[n] || add_instruction(o, to, &o->p->instructions[n]);
    for (int64_t n = g->first; n < g->end && fine; n++) {
        const pithp_instruction *i = &o->p->instructions[n];
        for (int k = 0; k < i->result_count && fine; k++)
            fine = !o->own[n] || !leaves(o, g, i->result + k) ||
                   pithp_program_output(o->s, to, o->names[i->result + k]);
    }
    return fine;
}

/* ---- Equality ---- */

static bool same_constant(const pithp_program *a,
                          pithp_value x,
                          const pithp_program *b,
                          pithp_value y) {
    const pithp_constant *c = &a->constants[a->values[x].at],
                         *d = &b->constants[b->values[y].at];
    if (a->values[x].spec != b->values[y].spec)
        return false;
    return c->buffer || d->buffer
               ? c->buffer == d->buffer && c->data == d->data
               : memcmp(c->data, d->data, a->values[x].spec->bytes) == 0;
}

/* Whether value v stands for value w of the program of a segment. The first time that an
 * input or a constant is met decides what it stands for. */
static bool
same_operand(const outlining *o, pithp_value v, const pithp_program *t, pithp_value w) {
    const pithp_value_info *have = &o->p->values[v], *want = &t->values[w];
    if (o->names[v] >= 0 || want->origin == PITHP_FROM_INSTRUCTION)
        return o->names[v] == w;
    if (want->origin == PITHP_FROM_CONSTANT) {
        if (have->origin != PITHP_FROM_CONSTANT || !same_constant(o->p, v, t, w))
            return false;
    } else if (have->origin == PITHP_FROM_CONSTANT || have->spec != want->spec ||
               o->bound[want->at] >= 0) {
        return false;
    } else {
        o->bound[want->at] = v;
    }
    o->names[v] = w;
    return true;
}

static bool
same_row(outlining *o, const pithp_instruction *a, const pithp_instruction *b) {
    bool same = a->primitive == b->primitive && a->operand_count == b->operand_count &&
                a->result_count == b->result_count &&
                a->program_count == b->program_count && a->site == b->site &&
                a->remat.kept == b->remat.kept && a->remat.whole == b->remat.whole &&
                a->remat.stage == b->remat.stage &&
                group_in(o, a->remat.group) == b->remat.group;
    for (int k = 0; k < a->program_count && same; k++)
        same = a->programs[k] == b->programs[k] ||
               pithp_program_equal(a->programs[k], b->programs[k]);
    return same && (!a->params ||
                    !memcmp(a->params, b->params, pithp_params_bytes(a->primitive)));
}

static bool same_instruction(outlining *o,
                             const pithp_call_segment *g,
                             const pithp_instruction *i,
                             const pithp_program *t,
                             const pithp_instruction *j,
                             int64_t *outputs) {
    if (!same_row(o, i, j))
        return false;
    for (int k = 0; k < i->operand_count; k++)
        if (!same_operand(o, pithp_operands(o->p, i)[k], t, pithp_operands(t, j)[k]))
            return false;
    for (int k = 0; k < i->result_count; k++) {
        const pithp_value v = i->result + k, w = j->result + k;
        if (pithp_value_spec(o->p, v) != pithp_value_spec(t, w))
            return false;
        o->names[v] = w;
        if (leaves(o, g, v) &&
            (*outputs >= t->output_count || t->outputs[(*outputs)++] != w))
            return false;
    }
    return true;
}

/* Whether the segment is the program, whose inputs and groups `bound` and `bound_groups`
 * then are. */
static bool is_program(outlining *o, const segment *g, const pithp_program *t) {
    int64_t outputs = 0, next = 0;
    bool same = t->instruction_count == g->own;
    memset(o->bound, 0xff, (size_t)t->input_count * sizeof *o->bound);
    for (int64_t n = g->of.first; n < g->of.end && same; n++)
        same = !o->own[n] || same_instruction(o, &g->of, &o->p->instructions[n], t,
                                              &t->instructions[next++], &outputs);
    return same && outputs == t->output_count && o->group_count == t->groups;
}

/* ---- The segments that are equal ---- */

/* Note the values that inputs and outputs of the program are. False sets the error. */
static bool bind(outlining *o, segment *g, pithp_callee *callee) {
    const pithp_program *t = callee->program;
    const size_t inputs = (size_t)t->input_count, groups = (size_t)t->groups;
    pithp_value *values = pithp_scope_allocate(
        o->s, (inputs + (size_t)t->output_count + 1) * sizeof *values);
    int32_t *list = pithp_scope_allocate(o->s, (groups + 1) * sizeof *list);
    if (!values || !list)
        return false;
    memcpy(values, o->bound, inputs * sizeof *values);
    memcpy(list, o->bound_groups, groups * sizeof *list);
    g->of.callee = callee;
    g->of.inputs = values;
    g->of.outputs = values += inputs;
    g->of.groups = list;
    for (int64_t n = g->of.first; n < g->of.end; n++) {
        const pithp_instruction *i = &o->p->instructions[n];
        for (int k = 0; k < i->result_count; k++)
            if (o->own[n] && leaves(o, &g->of, i->result + k))
                *values++ = i->result + k;
    }
    return true;
}

/* Make the program of a segment. False sets the error. */
static bool make_callee(outlining *o, segment *g) {
    pithp_callee *callee = pithp_scope_allocate(o->s, sizeof *callee);
    if (!callee)
        return false;
    *callee = (pithp_callee){.next = o->found->callees};
    if (!(callee->program = pithp_program_make(o->s)))
        return false;
    o->found->callees = callee;
    const bool fine = fill(o, &g->of, callee->program) && bind(o, g, callee);
    forget(o, &g->of);
    return fine;
}

/* Find the first segment that is equal. latest: of those that are equal to none before.
 * False sets the error. */
static bool compare(outlining *o, int64_t k, int64_t *latest) {
    segment *g = &o->segments[k], *h;
    for (int64_t other = *latest; other >= 0; other = h->before) {
        h = &o->segments[other];
        if (h->own != g->own || h->hash != g->hash)
            continue;
        if (!h->of.callee && !make_callee(o, h))
            return false;
        const bool same = is_program(o, g, h->of.callee->program),
                   fine = !same || bind(o, g, h->of.callee);
        forget(o, &g->of);
        if (!fine)
            return false;
        if (!same)
            continue;
        g->like = other;
        g->shared = h->shared = true;
        return true;
    }
    g->before = *latest;
    *latest = k;
    return true;
}

/* List those that are equal to others. False sets the error. */
static bool list_shared(const outlining *o) {
    pithp_call_segment *list =
        pithp_scope_allocate(o->s, ((size_t)o->segment_count + 1) * sizeof *list);
    for (int64_t k = 0; list && k < o->segment_count; k++)
        if (o->segments[k].shared)
            list[o->found->count++] = o->segments[k].of;
    o->found->list = list;
    return list;
}

static bool allocate(outlining *o, size_t runs) {
    const pithp_program *p = o->p;
    const size_t values = (size_t)p->value_count + 1, groups = (size_t)p->groups + 1;
    o->last = pithp_scope_allocate(o->s, values * sizeof *o->last);
    o->names = pithp_scope_allocate(o->s, 2 * values * sizeof *o->names);
    o->groups = pithp_scope_allocate(o->s, 2 * groups * sizeof *o->groups);
    o->own = pithp_scope_allocate(o->s, (size_t)p->instruction_count + values);
    o->segments = pithp_scope_allocate(o->s, runs * sizeof *o->segments);
    if (!o->last || !o->names || !o->groups || !o->own || !o->segments)
        return false;
    o->bound = o->names + values;
    o->bound_groups = o->groups + groups;
    o->outside = o->own + p->instruction_count;
    memset(o->names, 0xff, values * sizeof *o->names);
    memset(o->groups, 0, groups * sizeof *o->groups);
    memset(o->outside, 0, values);
    return true;
}

bool pithp_call_segments_find(pith_scope *s,
                              const pithp_program *p,
                              const bool *linear,
                              pithp_call_segments *found) {
    outlining o = {.s = s, .p = p, .linear = linear, .found = found};
    const int64_t runs = count_runs(p);
    int64_t latest = -1;
    bool fine = true;
    *found = (pithp_call_segments){0};
    if (runs < 2)
        return true;
    if (!allocate(&o, (size_t)runs))
        return false;
    find_last_uses(&o);
    find_segments(&o);
    for (int64_t k = 0; k < o.segment_count && fine; k++)
        fine = compare(&o, k, &latest);
    return fine && list_shared(&o);
}
