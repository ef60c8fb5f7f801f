/* Programs that are computed again: their values, without printing, checks of rules and
 * refusals. */
#include "program/derive/split.h"

typedef struct quieting {
    pith_scope *s;
    const pithp_program *from;
    pithp_program *to;
    pithp_value *names;
} quieting;

static bool copy_flow(quieting *q, const pithp_instruction *i) {
    pithp_instruction quiet = *i;
    bool fine = (quiet.programs = pithp_scope_allocate(q->s, (size_t)i->program_count *
                                                                 sizeof *quiet.programs));
    int made = 0;
    for (; made < i->program_count && fine; made += fine)
        fine = (quiet.programs[made] = pithp_quiet(q->s, i->programs[made]));
    fine = fine && pithp_copy_value(q->s, q->to, q->from, i->result, &quiet, q->names);
    for (int k = 0; k < made; k++)
        pithp_program_release(quiet.programs[k]);
    return fine;
}

static bool copy(quieting *q, pithp_value v, const pithp_instruction *i) {
    const pithp_program *p = q->from;
    if (!i && p->values[v].origin == PITHP_FROM_INPUT)
        return (q->names[v] = pithp_program_input(q->s, q->to, pithp_value_spec(p, v))) >=
               0;
    if (i && (i->primitive == PITHP_OP_DEBUG || i->primitive == PITHP_OP_EXPOSE))
        return true;
    if (i && i->primitive == PITHP_OP_NON_DIFFERENTIABLE) {
        q->names[v] = q->names[pithp_operands(p, i)[0]];
        return true;
    }
    return i && i->program_count && (pithp_has_effects(i) || pithp_has_refusals(i))
               ? copy_flow(q, i)
               : pithp_copy_value(q->s, q->to, p, v, i, q->names);
}

pithp_program *pithp_quiet(pith_scope *s, const pithp_program *p) {
    const size_t count = (size_t)p->value_count + 1;
    quieting q = {.s = s, .from = p, .to = pithp_program_make(s)};
    pithp_graph_walk w = {p, 0, 0};
    pithp_value v;
    const pithp_instruction *i;
    bool fine = q.to && (q.names = pithp_scope_allocate(s, count * sizeof *q.names));
    if (fine)
        pithp_program_take_groups(q.to, p);
    while (fine && pithp_graph_next(&w, &v, &i))
        if (i || p->values[v].origin != PITHP_FROM_INSTRUCTION)
            fine = copy(&q, v, i);
    for (int64_t k = 0; k < p->output_count && fine; k++)
        fine = pithp_program_output(s, q.to, q.names[p->outputs[k]]);
    if (fine) {
        q.to->remat = (pithp_remat){0};
        return q.to;
    }
    pithp_program_release(q.to);
    return NULL;
}
