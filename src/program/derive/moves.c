/* Analysis: the values of a program that a tangent reaches, through cuts and the fixed
 * points of loops. */
#include "program/derive/control.h"
#include "program/ir/region.h"

#include <string.h>

static int64_t most_outputs(const pithp_instruction *i) {
    int64_t most = 1;
    for (int k = 0; k < i->program_count; k++) {
        const pithp_program *p = i->programs[k];
        most = p->input_count > most ? p->input_count : most;
        most = p->output_count > most ? p->output_count : most;
    }
    return most;
}

/* One pass over the programs whose outputs are results. */
static bool add_moves(pith_scope *s,
                      const pithp_instruction *i,
                      const pithp_regions *r,
                      const bool *operands,
                      bool *results,
                      bool *memory) {
    const int first = r->body == PITHP_ALL_PROGRAMS ? 0 : r->body;
    const int end = r->body == PITHP_ALL_PROGRAMS ? i->program_count : first + 1;
    bool *outputs = memory + most_outputs(i);
    for (int b = first; b < end; b++) {
        const pithp_program *p = i->programs[b];
        for (int64_t k = 0; k < p->input_count; k++)
            memory[k] = operands[pithp_region_operand(r, b, (int)k)];
        if (!pithp_program_moves(s, p, memory, outputs))
            return false;
        for (int k = 0; k < i->result_count; k++)
            results[k] |= outputs[k];
    }
    return true;
}

bool pithp_control_moves(pith_scope *s,
                         const pithp_instruction *i,
                         bool *operands,
                         bool *results) {
    const pithp_regions r = pithp_regions_of(i);
    const size_t bytes = 2 * (size_t)most_outputs(i);
    bool *memory = pithp_allocate(s->runtime, bytes);
    if (!memory) {
        pithp_fail_memory(s, bytes);
        return false;
    }
    memset(results, 0, (size_t)i->result_count * sizeof *results);
    bool fine = true;
    for (bool changed = true; changed && fine;) {
        changed = false;
        fine = add_moves(s, i, &r, operands, results, memory);
        for (int k = 0; k < r.carries.count; k++) {
            bool *operand = &operands[r.carries.first + k];
            changed |= results[k] && !*operand;
            results[k] |= *operand;
            *operand |= results[k];
        }
    }
    pithp_release(s->runtime, memory, bytes);
    return fine;
}

static bool mark_control(pith_scope *s,
                         const pithp_program *p,
                         const pithp_instruction *i,
                         bool *values) {
    const size_t bytes = (size_t)i->operand_count + 1;
    bool *operands = pithp_allocate(s->runtime, bytes);
    if (!operands) {
        pithp_fail_memory(s, bytes);
        return false;
    }
    for (int k = 0; k < i->operand_count; k++)
        operands[k] = values[pithp_operands(p, i)[k]];
    const bool fine = pithp_control_moves(s, i, operands, values + i->result);
    pithp_release(s->runtime, operands, bytes);
    return fine;
}

static bool is_float(const pithp_program *p, pithp_value v) {
    return pith_dtype_is_float(pithp_value_spec(p, v)->dtype);
}

/* Whether operand k is a primal or bound, or a tangent of the linear row. */
static bool rule_moves(const pithp_rule *rule, int k) {
    const int known = rule->first_count + rule->bound_count;
    return rule->linear || pithp_rule_passes(rule) ? k >= known : k < known;
}

bool pithp_operand_moves(const pithp_program *p, const pithp_instruction *i, int k) {
    const pithp_primitive op = i->primitive == PITHP_OP_CHECKED
                                   ? ((const pithp_checked_params *)i->params)->primitive
                                   : i->primitive;
    const pithp_tangent_row row = pithp_tangent_of(op);
    if (!i->result_count || !is_float(p, pithp_operands(p, i)[k]) ||
        (!is_float(p, i->result) && op != PITHP_OP_KERNEL && op != PITHP_OP_RULE))
        return false;
    switch (row.kind) {
        case PITHP_TANGENT_NONE:
        case PITHP_TANGENT_CUT:
        case PITHP_TANGENT_STOPPED:
            return false;
        case PITHP_TANGENT_EACH:
            return !(row.cut >> k & 1);
        case PITHP_TANGENT_LINEAR:
        case PITHP_TANGENT_BILINEAR:
            return pithp_set_has(row.set, i->operand_count, k);
        case PITHP_TANGENT_RULE:
            return rule_moves(((const pithp_rule_params *)i->params)->rule, k);
        case PITHP_TANGENT_PASSED:
        case PITHP_TANGENT_REFUSED:
        case PITHP_TANGENT_BY:
        case PITHP_TANGENT_FLOW:
            return true;
    }
    return true;
}

static bool
mark(pith_scope *s, const pithp_program *p, const pithp_instruction *i, bool *values) {
    bool any = false;
    if (pithp_op_has(i->primitive, PITHP_TRAIT_REGIONS))
        return mark_control(s, p, i, values);
    for (int k = 0; k < i->operand_count; k++)
        any |= values[pithp_operands(p, i)[k]] && pithp_operand_moves(p, i, k);
    for (int k = 0; k < i->result_count; k++)
        values[i->result + k] = any && is_float(p, i->result + k);
    return true;
}

bool pithp_mark_moves(pith_scope *s, const pithp_program *p, bool *values) {
    bool fine = true;
    for (int64_t n = 0; n < p->instruction_count && fine; n++)
        fine = mark(s, p, &p->instructions[n], values);
    return fine;
}

bool pithp_program_moves(pith_scope *s,
                         const pithp_program *p,
                         const bool *inputs,
                         bool *outputs) {
    const size_t bytes = (size_t)p->value_count + 1;
    bool *values = pithp_allocate(s->runtime, bytes);
    if (!values) {
        pithp_fail_memory(s, bytes);
        return false;
    }
    memset(values, 0, bytes);
    for (int64_t k = 0; k < p->input_count; k++)
        values[p->inputs[k]] = inputs[k];
    const bool fine = pithp_mark_moves(s, p, values);
    for (int64_t k = 0; k < p->output_count; k++)
        outputs[k] = values[p->outputs[k]];
    pithp_release(s->runtime, values, bytes);
    return fine;
}
