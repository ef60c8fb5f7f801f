/* The program in which segments that are equal are rows for calls. */
#include "program/derive/outlined.h"

#include "program/derive/outline.h"

typedef struct outlined {
    pith_scope *s;
    const pithp_program *p;
    pithp_program *to;
    pithp_value *names;    /* of each value of p */
    pithp_value *operands; /* of a row */
    pithp_value index;     /* of rows; -1: not made yet */
} outlined;

static bool add_row(outlined *o, const pithp_call_segment *g) {
    static const uint64_t zero = 0;
    pithp_program *program = g->callee->program;
    if (o->index < 0) {
        const pith_spec *spec = pithp_spec(o->s, PITH_I32, 0, NULL);
        o->index = spec ? pithp_program_literal(o->s, o->to, spec, &zero) : -1;
    }
    if (o->index < 0)
        return false;
    o->operands[0] = o->index;
    for (int64_t k = 0; k < program->input_count; k++)
        o->operands[k + 1] = o->names[g->inputs[k]];
    const pithp_new_instruction row = {.primitive = PITHP_OP_COND,
                                       .operand_count = (int)program->input_count + 1,
                                       .operands = o->operands,
                                       .program_count = 1,
                                       .programs = &program,
                                       .site = o->p->instructions[g->first].site};
    o->to->remat.call = g->call;
    const pithp_value first = pithp_program_add_many(o->s, o->to, &row);
    o->to->remat = (pithp_remat){0};
    for (int64_t k = 0; k < program->output_count; k++)
        o->names[g->outputs[k]] = first + (pithp_value)k;
    return first >= 0;
}

/* Add a value that is in no segment. */
static bool add(outlined *o, pithp_value v, const pithp_instruction *i) {
    if (!i && o->p->values[v].origin == PITHP_FROM_INPUT)
        return (o->names[v] =
                    pithp_program_input(o->s, o->to, pithp_value_spec(o->p, v))) >= 0;
    o->to->remat = i ? i->remat : (pithp_remat){0};
    const bool fine = pithp_program_copy(o->s, o->to, o->p, v, i, o->names);
    o->to->remat = (pithp_remat){0};
    return fine;
}

static bool fill(outlined *o, const pithp_call_segments *segments) {
    const pithp_program *p = o->p;
    const pithp_call_segment *g = segments->list, *end = g + segments->count;
    pithp_graph_walk w = {p, 0, 0};
    pithp_value v;
    const pithp_instruction *i;
    bool fine = true;
    pithp_program_take_groups(o->to, p);
    while (fine && pithp_graph_next(&w, &v, &i)) {
        const int64_t at = w.instruction - 1;
        while (i && g < end && at >= g->end)
            g++;
        const bool inside = i && g < end && at >= g->first;
        if (!inside)
            fine = add(o, v, i);
        else if (at == g->first)
            fine = add_row(o, g);
    }
    for (int64_t k = 0; k < p->output_count && fine; k++)
        fine = pithp_program_output(o->s, o->to, o->names[p->outputs[k]]);
    return fine;
}

static pithp_program *
outline(pith_scope *s, const pithp_program *p, const pithp_call_segments *segments) {
    const size_t values = (size_t)p->value_count + 1;
    outlined o = {.s = s, .p = p, .index = -1};
    o.names = pithp_scope_allocate(s, (2 * values + 1) * sizeof *o.names);
    o.to = o.names ? pithp_program_make(s) : NULL;
    o.operands = o.names + values;
    if (o.to && fill(&o, segments)) {
        PITHP_VERIFY(o.to);
        return o.to;
    }
    pithp_program_release(o.to);
    return NULL;
}

/* Whether a row may have an instruction: what it does is in its results, and a derivation
 * treats it alone. */
static bool is_plain(const pithp_instruction *i) {
    return i->result_count && !i->remat.group && !i->remat.stage &&
           i->primitive != PITHP_OP_RULE && i->primitive != PITHP_OP_KERNEL &&
           !pithp_has_effects(i) && !pithp_has_refusals(i) && !pithp_has_checks(i) &&
           !pithp_has_collectives(i);
}

static bool are_plain(const pithp_program *p) {
    bool plain = true;
    for (int64_t n = 0; n < p->instruction_count && plain; n++)
        plain = !p->instructions[n].remat.call || is_plain(&p->instructions[n]);
    return plain;
}

bool pithp_callees_begin(pith_scope *s, const pithp_program *p, pithp_callees *callees) {
    pithp_call_segments segments;
    *callees = (pithp_callees){0};
    if (!are_plain(p))
        return true;
    bool fine = pithp_call_segments_find(s, p, NULL, &segments);
    if (fine && segments.count) {
        fine = (callees->outlined = outline(s, p, &segments)) != NULL;
        callees->counts.calls = segments.count;
    }
    pithp_call_segments_end(&segments);
    return fine;
}
