/* Inlining of one program into another, and outlining of instructions into a program. */
#include "program/ir/program.h"

#include <string.h>

pithp_taken pithp_program_take_groups(pithp_program *to, const pithp_program *from) {
    const pithp_taken first = {to->groups, to->calls};
    to->groups += from->groups;
    to->calls = from->calls > INT32_MAX - to->calls ? INT32_MAX : to->calls + from->calls;
    if (from->stages > to->stages)
        to->stages = from->stages;
    return first;
}

/* Specs are copied too, so nothing is inferred again. */
static bool copy_instruction(pith_scope *s,
                             pithp_program *to,
                             const pithp_program *from,
                             const pithp_instruction *i,
                             pithp_value *names) {
    pithp_value few[PITHP_FEW_OPERANDS], *operands = few;
    const size_t bytes = (size_t)i->operand_count * sizeof *operands;
    if (i->operand_count > PITHP_FEW_OPERANDS &&
        !(operands = pithp_allocate(s->runtime, bytes))) {
        pithp_fail_memory(s, bytes);
        return false;
    }
    for (int k = 0; k < i->operand_count; k++)
        operands[k] = names[pithp_operands(from, i)[k]];
    const pithp_new_instruction copy = {
        .primitive = i->primitive,
        .operand_count = i->operand_count,
        .operands = operands,
        .params = i->params,
        .program_count = i->program_count,
        .programs = i->programs,
        .site = i->site,
        .spec = i->result_count == 1 ? pithp_value_spec(from, i->result) : NULL};
    const pithp_value first = pithp_program_add_many(s, to, &copy);
    for (int k = 0; k < i->result_count; k++)
        names[i->result + k] = first + k;
    if (operands != few)
        pithp_release(s->runtime, operands, bytes);
    return first >= 0;
}

bool pithp_program_copy(pith_scope *s,
                        pithp_program *to,
                        const pithp_program *from,
                        pithp_value v,
                        const pithp_instruction *i,
                        pithp_value *names) {
    if (i)
        return copy_instruction(s, to, from, i, names);
    const pithp_constant *c = &from->constants[from->values[v].at];
    const pith_spec *spec = pithp_value_spec(from, v);
    names[v] = c->buffer ? pithp_program_constant(s, to, spec, c->buffer, c->data)
                         : pithp_program_literal(s, to, spec, c->data);
    return names[v] >= 0;
}

bool pithp_program_inline_groups(pith_scope *s,
                                 pithp_program *to,
                                 const pithp_program *from,
                                 int32_t group_count,
                                 const int32_t *groups,
                                 const pithp_value *inputs,
                                 pithp_value *outputs) {
    const size_t bytes = ((size_t)from->value_count + 1) * sizeof(pithp_value);
    pithp_value *names = pithp_allocate(s->runtime, bytes);
    if (!names) {
        pithp_fail_memory(s, bytes);
        return false;
    }
    pithp_graph_walk w = {from, 0, 0};
    pithp_value v;
    const pithp_instruction *i;
    const pithp_remat around = to->remat;
    to->groups -= group_count; /* which it has already */
    const pithp_taken first = pithp_program_take_groups(to, from);
    bool fine = true;
    while (fine && pithp_graph_next(&w, &v, &i)) {
        if (i) {
            to->remat = pithp_remat_within(around, first, i->remat);
            if (i->remat.group && i->remat.group <= group_count && !around.group)
                to->remat.group = groups[i->remat.group - 1];
            fine = pithp_program_copy(s, to, from, v, i, names);
        } else if (from->values[v].origin == PITHP_FROM_INPUT) {
            names[v] = inputs[from->values[v].at];
        } else {
            fine = pithp_program_copy(s, to, from, v, NULL, names);
        }
    }
    to->remat = around;
    for (int64_t k = 0; fine && k < from->output_count; k++)
        outputs[k] = names[from->outputs[k]];
    pithp_release(s->runtime, names, bytes);
    return fine;
}

bool pithp_program_inline(pith_scope *s,
                          pithp_program *to,
                          const pithp_program *from,
                          const pithp_value *inputs,
                          pithp_value *outputs) {
    return pithp_program_inline_groups(s, to, from, 0, NULL, inputs, outputs);
}

/* ---- Outlining ---- */

/* Whether all operands have a value in the new program. */
static bool knows_operands(const pithp_program *p,
                           const pithp_instruction *i,
                           const pithp_value *names) {
    bool known = true;
    for (int k = 0; k < i->operand_count; k++)
        known &= names[pithp_operands(p, i)[k]] >= 0;
    return known;
}

/* The calls that have no instruction since. */
static int32_t calls_before(pithp_graph_walk w) {
    int32_t before = w.program->calls;
    for (int64_t n = w.instruction; n < w.program->instruction_count; n++) {
        const int32_t call = w.program->instructions[n].remat.call;
        if (call && call <= before)
            before = call - 1;
    }
    return before;
}

static bool add_instructions(pith_scope *s,
                             pithp_program *to,
                             pithp_graph_walk w,
                             pithp_value *names) {
    pithp_value v;
    const pithp_instruction *i;
    const int32_t before = calls_before(w);
    pithp_program_take_groups(to, w.program);
    to->calls -= before;
    while (pithp_graph_next(&w, &v, &i)) {
        if (i)
            to->remat = i->remat;
        if (i && i->remat.call)
            to->remat.call -= before;
        if ((i && !knows_operands(w.program, i, names)) ||
            !pithp_program_copy(s, to, w.program, v, i, names))
            return false;
    }
    to->remat = (pithp_remat){0};
    return true;
}

pithp_program *pithp_program_extract(pith_scope *s,
                                     pithp_graph_walk since,
                                     int64_t input_count,
                                     const pithp_value *inputs,
                                     int64_t output_count,
                                     const pithp_value *outputs) {
    const pithp_program *from = since.program;
    const size_t bytes = ((size_t)from->value_count + 1) * sizeof(pithp_value);
    pithp_program *to = pithp_program_make(s);
    pithp_value *names = to ? pithp_allocate(s->runtime, bytes) : NULL;
    bool fine = names != NULL;
    if (to && !names)
        pithp_fail_memory(s, bytes);
    if (names)
        memset(names, 0xff, bytes); /* -1: no value yet */
    for (int64_t k = 0; k < input_count && fine; k++)
        fine = (names[inputs[k]] =
                    pithp_program_input(s, to, pithp_value_spec(from, inputs[k]))) >= 0;
    fine = fine && add_instructions(s, to, since, names);
    for (int64_t k = 0; k < output_count && fine; k++)
        fine = names[outputs[k]] >= 0 && pithp_program_output(s, to, names[outputs[k]]);
    pithp_release(s->runtime, names, bytes);
    if (fine)
        return to;
    pithp_program_release(to);
    return NULL;
}
