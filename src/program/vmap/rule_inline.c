/* The program of a rule for batches in a batch in chunks, where it gets a chunk. Values
 * of its checks have the entries in front if their first extent follows the number of
 * entries: a recording for another number tells. */
#include "program/vmap/control.h"

#include <string.h>

/* Whether a value has the entries in front. */
static bool has_entries(const pith_spec *spec, const pith_spec *other) {
    bool has = spec->rank && spec->rank == other->rank && spec->dtype == other->dtype &&
               spec->shape[0] != other->shape[0];
    for (int d = 1; d < spec->rank && has; d++)
        has = spec->shape[d] == other->shape[d];
    return has;
}

/* The check number n of a program, outside of control flow; NULL: there is none. */
static const pithp_instruction *check_at(const pithp_program *p, int64_t n) {
    for (int64_t k = 0; k < p->instruction_count; k++)
        if (p->instructions[k].primitive == PITHP_OP_EXPOSE && !n--)
            return &p->instructions[k];
    return NULL;
}

/* Set which values of a check have the entries in front, given the same check of the
 * other recording. Whether it is the same; of reports none has. */
static bool find_own(const pithp_program *p,
                     const pithp_instruction *i,
                     const pithp_program *probe,
                     const pithp_instruction *other,
                     bool *own) {
    bool same = other && i->operand_count && other->operand_count == i->operand_count;
    for (int k = 0; k < i->operand_count && same; k++) {
        const pith_spec *spec = pithp_value_spec(p, pithp_operands(p, i)[k]),
                        *of_other =
                            pithp_value_spec(probe, pithp_operands(probe, other)[k]);
        own[k] = has_entries(spec, of_other);
        same = own[k] ? pithp_value_spec(p, pithp_operands(p, i)[0])->dtype == PITH_BOOL
                      : pithp_spec_same(spec, of_other);
    }
    return same;
}

static bool add_check(pithp_batching *b,
                      const pithp_program *p,
                      const pithp_instruction *i,
                      const pithp_program *probe,
                      const pithp_instruction *other,
                      pithp_value *names) {
    const size_t count = (size_t)i->operand_count + 1;
    bool *own = pithp_scope_allocate(b->s, count);
    pithp_value *operands = pithp_scope_allocate(b->s, count * sizeof *operands);
    if (!own || !operands)
        return false;
    for (int k = 0; k < i->operand_count; k++)
        operands[k] = names[pithp_operands(p, i)[k]];
    return find_own(p, i, probe, other, own)
               ? pithp_batch_expose_own(b, i, operands, own)
               : pithp_program_copy(b->s, b->to, p, i->result, i, names);
}

bool pithp_batch_inline_rule(pithp_batching *b,
                             const pithp_program *p,
                             const pithp_program *probe,
                             const pithp_value *inputs,
                             pithp_value *values) {
    pithp_graph_walk g = {p, 0, 0};
    pithp_value v,
        *names = pithp_scope_allocate(b->s, ((size_t)p->value_count + 1) * sizeof *names);
    const pithp_instruction *i;
    int64_t checks = 0;
    bool fine = names;
    for (int64_t k = 0; k < p->input_count && fine; k++)
        names[p->inputs[k]] = inputs[k];
    while (fine && pithp_graph_next(&g, &v, &i)) {
        if (!i && p->values[v].origin == PITHP_FROM_INPUT)
            continue;
        fine = i && i->primitive == PITHP_OP_EXPOSE
                   ? add_check(b, p, i, probe, check_at(probe, checks++), names)
                   : pithp_program_copy(b->s, b->to, p, v, i, names);
    }
    for (int64_t k = 0; k < p->output_count && fine; k++)
        values[k] = names[p->outputs[k]];
    return fine;
}
