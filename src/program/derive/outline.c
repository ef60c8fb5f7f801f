/* Outlining: segments of instructions that are calls of the same function, with equal
 * content, become rows of one program. */
#include "program/derive/outline.h"

#include <string.h>

enum { LEAST_INSTRUCTIONS = 4 };

/* Consecutive instructions of a call. */
typedef struct segment {
    int64_t first, count; /* instructions */
    int64_t like;         /* the first segment that is equal to it */
    int64_t before;       /* of a first one: the first one before it; -1: none */
    int64_t uses;         /* of this one as such: segments that are equal */
    uint64_t hash;
    pithp_program *program; /* of the first one; or NULL */
} segment;

typedef struct outlining {
    pith_scope *s;
    const pithp_program *p;
    int64_t *last; /* of each value: the last instruction that reads it; INT64_MAX: it
                      is an output */
    pithp_value *names;     /* of each value: in a program of a segment; -1: none */
    pithp_value *bound;     /* of each input of such a program: the value that it is */
    const pith_spec *index; /* of rows */
    int64_t segment_count;
    segment *segments;
} outlining;

/* ---- Segments ---- */

/* Whether an instruction may be part of a segment: what it does is in its results, and a
 * derivation treats it alone. */
static bool is_plain(const pithp_instruction *i) {
    return i->remat.call && i->result_count && !i->remat.group && !i->remat.stage &&
           i->primitive != PITHP_OP_RULE && i->primitive != PITHP_OP_KERNEL &&
           !pithp_has_effects(i) && !pithp_has_refusals(i) && !pithp_has_checks(i) &&
           !pithp_has_collectives(i);
}

/* Rows, numbers of operands and results: a hash that tells most segments apart. */
static uint64_t hash_rows(const pithp_program *p, int64_t first, int64_t count) {
    uint64_t hash = (uint64_t)count;
    for (int64_t n = first; n < first + count; n++) {
        const pithp_instruction *i = &p->instructions[n];
        const pith_spec *spec = pithp_value_spec(p, i->result);
        const int32_t head[3] = {(int32_t)i->primitive, i->operand_count,
                                 i->result_count};
        hash = pithp_hash(hash, head, sizeof head);
        hash = pithp_hash(hash, &spec, sizeof spec); /* interned */
    }
    return hash;
}

/* Set the segments if there is memory for them; returns their number. */
static int64_t find_segments(const pithp_program *p, segment *segments) {
    int64_t found = 0;
    for (int64_t n = 0, next; n < p->instruction_count; n = next) {
        const pithp_instruction *i = &p->instructions[n];
        next = n + 1;
        if (!is_plain(i))
            continue;
        while (next < p->instruction_count && is_plain(&p->instructions[next]) &&
               p->instructions[next].remat.call == i->remat.call)
            next++;
        if (next - n < LEAST_INSTRUCTIONS)
            continue;
        if (segments)
            segments[found] = (segment){.first = n,
                                        .count = next - n,
                                        .like = found,
                                        .hash = hash_rows(p, n, next - n)};
        found++;
    }
    return found;
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

static bool is_inside(const outlining *o, const segment *g, pithp_value v) {
    const pithp_value_info *n = &o->p->values[v];
    return n->origin == PITHP_FROM_INSTRUCTION && n->at >= g->first &&
           n->at < g->first + g->count;
}

/* Whether the value of a segment is read after it. */
static bool leaves(const outlining *o, const segment *g, pithp_value v) {
    return o->last[v] >= g->first + g->count;
}

/* Forget the names of the values that a segment has and reads. */
static void forget(const outlining *o, const segment *g) {
    for (int64_t n = g->first; n < g->first + g->count; n++) {
        const pithp_instruction *i = &o->p->instructions[n];
        for (int k = 0; k < i->operand_count; k++)
            o->names[pithp_operands(o->p, i)[k]] = -1;
        for (int k = 0; k < i->result_count; k++)
            o->names[i->result + k] = -1;
    }
}

/* ---- Programs of segments ---- */

/* Inputs are values from before the segment, in the order of their first uses. */
static bool add_inputs(const outlining *o, const segment *g, pithp_program *to) {
    const pithp_program *p = o->p;
    for (int64_t n = g->first; n < g->first + g->count; n++) {
        const pithp_instruction *i = &p->instructions[n];
        for (int k = 0; k < i->operand_count; k++) {
            const pithp_value v = pithp_operands(p, i)[k];
            if (o->names[v] < 0 && !is_inside(o, g, v) &&
                p->values[v].origin != PITHP_FROM_CONSTANT &&
                (o->names[v] = pithp_program_input(o->s, to, pithp_value_spec(p, v))) < 0)
                return false;
        }
    }
    return true;
}

static bool
add_instruction(const outlining *o, pithp_program *to, const pithp_instruction *i) {
    bool fine = true;
    for (int k = 0; k < i->operand_count && fine; k++) {
        const pithp_value v = pithp_operands(o->p, i)[k];
        fine = o->names[v] >= 0 || pithp_program_copy(o->s, to, o->p, v, NULL, o->names);
    }
    to->remat = (pithp_remat){.kept = i->remat.kept, .whole = i->remat.whole};
    fine = fine && pithp_program_copy(o->s, to, o->p, i->result, i, o->names);
    to->remat = (pithp_remat){0};
    return fine;
}

static bool fill(const outlining *o, const segment *g, pithp_program *to) {
    bool fine = add_inputs(o, g, to);
    for (int64_t n = g->first; n < g->first + g->count && fine; n++)
        fine = add_instruction(o, to, &o->p->instructions[n]);
    for (int64_t n = g->first; n < g->first + g->count && fine; n++) {
        const pithp_instruction *i = &o->p->instructions[n];
        for (int k = 0; k < i->result_count && fine; k++)
            fine = !leaves(o, g, i->result + k) ||
                   pithp_program_output(o->s, to, o->names[i->result + k]);
    }
    forget(o, g);
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

static bool same_row(const pithp_instruction *a, const pithp_instruction *b) {
    bool same = a->primitive == b->primitive && a->operand_count == b->operand_count &&
                a->result_count == b->result_count &&
                a->program_count == b->program_count && a->site == b->site &&
                a->remat.kept == b->remat.kept && a->remat.whole == b->remat.whole;
    for (int k = 0; k < a->program_count && same; k++)
        same = a->programs[k] == b->programs[k] ||
               pithp_program_equal(a->programs[k], b->programs[k]);
    return same && (!a->params ||
                    !memcmp(a->params, b->params, pithp_params_bytes(a->primitive)));
}

static bool same_instruction(const outlining *o,
                             const segment *g,
                             const pithp_instruction *i,
                             const pithp_program *t,
                             const pithp_instruction *j,
                             int64_t *outputs) {
    if (!same_row(i, j))
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

/* Whether the segment is the program, whose inputs `bound` then are. */
static bool is_program(const outlining *o, const segment *g, const pithp_program *t) {
    int64_t outputs = 0;
    bool same = t->instruction_count == g->count;
    memset(o->bound, 0xff, (size_t)t->input_count * sizeof *o->bound);
    for (int64_t n = 0; n < g->count && same; n++)
        same = same_instruction(o, g, &o->p->instructions[g->first + n], t,
                                &t->instructions[n], &outputs);
    forget(o, g);
    return same && outputs == t->output_count;
}

/* Find the first segment that is equal. latest: of those that are equal to none before.
 * False sets the error. */
static bool compare(const outlining *o, int64_t k, int64_t *latest) {
    segment *g = &o->segments[k], *h;
    for (int64_t other = *latest; other >= 0; other = h->before) {
        h = &o->segments[other];
        if (h->count != g->count || h->hash != g->hash)
            continue;
        if (!h->program &&
            (!(h->program = pithp_program_make(o->s)) || !fill(o, h, h->program)))
            return false;
        if (!is_program(o, g, h->program))
            continue;
        g->like = other;
        h->uses += h->uses ? 1 : 2;
        return true;
    }
    g->before = *latest;
    *latest = k;
    return true;
}

/* ---- The program with rows ---- */

static bool add_row(const outlining *o,
                    const segment *g,
                    pithp_program *to,
                    pithp_value index,
                    pithp_value *names,
                    pithp_value *operands) {
    const pithp_program *t = o->segments[g->like].program;
    const bool equal = is_program(o, g, t); /* it was: sets what is bound */
    PITH_ASSERT(equal);
    (void)equal;
    operands[0] = index;
    for (int64_t k = 0; k < t->input_count; k++)
        operands[k + 1] = names[o->bound[k]];
    pithp_program *const programs[] = {o->segments[g->like].program};
    const pithp_instruction *first = &o->p->instructions[g->first];
    const pithp_new_instruction row = {.primitive = PITHP_OP_COND,
                                       .operand_count = (int)t->input_count + 1,
                                       .operands = operands,
                                       .program_count = 1,
                                       .programs = programs,
                                       .site = first->site};
    to->remat.call = first->remat.call;
    pithp_value next = pithp_program_add_many(o->s, to, &row);
    to->remat = (pithp_remat){0};
    if (next < 0)
        return false;
    for (int64_t n = g->first; n < g->first + g->count; n++) {
        const pithp_instruction *i = &o->p->instructions[n];
        for (int k = 0; k < i->result_count; k++)
            if (leaves(o, g, i->result + k))
                names[i->result + k] = next++;
    }
    return true;
}

static bool fill_outlined(const outlining *o, pithp_program *to, pithp_value *names) {
    const pithp_program *p = o->p;
    pithp_graph_walk w = {p, 0, 0};
    pithp_value v, index = -1, *operands = names + p->value_count + 1;
    const pithp_instruction *i;
    const uint64_t zero = 0;
    const segment *g = o->segments, *end = g + o->segment_count;
    bool fine = true;
    pithp_program_take_groups(to, p);
    while (fine && pithp_graph_next(&w, &v, &i)) {
        const int64_t at = w.instruction - 1;
        while (i && g < end && at >= g->first + g->count)
            g++;
        const bool inside =
            i && g < end && at >= g->first && o->segments[g->like].uses > 1;
        if (!i && p->values[v].origin == PITHP_FROM_INPUT) {
            fine =
                (names[v] = pithp_program_input(o->s, to, pithp_value_spec(p, v))) >= 0;
        } else if (!inside) {
            to->remat = i ? i->remat : (pithp_remat){0};
            fine = pithp_program_copy(o->s, to, p, v, i, names);
            to->remat = (pithp_remat){0};
        } else if (at == g->first) {
            if (index < 0)
                index = pithp_program_literal(o->s, to, o->index, &zero);
            fine = index >= 0 && add_row(o, g, to, index, names, operands);
        }
    }
    for (int64_t k = 0; k < p->output_count && fine; k++)
        fine = pithp_program_output(o->s, to, names[p->outputs[k]]);
    return fine;
}

static pithp_program *make_outlined(outlining *o, pithp_callees *callees) {
    const size_t count = 2 * (size_t)o->p->value_count + 4;
    pithp_value *names = pithp_scope_allocate(o->s, count * sizeof *names);
    o->index = pithp_spec(o->s, PITH_I32, 0, NULL);
    pithp_program *to = names && o->index ? pithp_program_make(o->s) : NULL;
    if (to && fill_outlined(o, to, names)) {
        PITHP_VERIFY(to);
        for (int64_t k = 0; k < o->segment_count; k++)
            callees->calls += o->segments[k].uses;
        return to;
    }
    pithp_program_release(to);
    return NULL;
}

/* False sets the error. */
static bool outline(outlining *o, pithp_callees *callees) {
    bool any = false, fine = true;
    int64_t latest = -1;
    find_last_uses(o);
    find_segments(o->p, o->segments);
    for (int64_t k = 0; k < o->segment_count && fine; k++) {
        fine = compare(o, k, &latest);
        any |= o->segments[k].like != k;
    }
    if (any && fine)
        fine = (callees->outlined = make_outlined(o, callees)) != NULL;
    for (int64_t k = 0; k < o->segment_count; k++)
        pithp_program_release(o->segments[k].program);
    return fine;
}

bool pithp_callees_begin(pith_scope *s, const pithp_program *p, pithp_callees *callees) {
    const size_t values = (size_t)p->value_count + 1;
    outlining o = {.s = s, .p = p, .segment_count = find_segments(p, NULL)};
    *callees = (pithp_callees){.s = s};
    if (o.segment_count < 2)
        return true;
    o.last = pithp_scope_allocate(s, values * sizeof *o.last);
    o.names = pithp_scope_allocate(s, 2 * values * sizeof *o.names);
    o.segments = pithp_scope_allocate(s, (size_t)o.segment_count * sizeof *o.segments);
    if (!o.last || !o.names || !o.segments)
        return false;
    o.bound = o.names + values;
    memset(o.names, 0xff, values * sizeof *o.names);
    return outline(&o, callees);
}
