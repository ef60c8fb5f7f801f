/* Claims: what marks of pith_shard_map say of the values of a program. An argument of a
 * mapped function that its spec calls replicated is equal on all ranks, and so are the
 * values that it was computed from: a walk from the results to the inputs. Collectives
 * end it. */
#include "program/vary/vary.h"

#include <string.h>

static bool is_claim(const pithp_instruction *i) {
    return i->primitive == PITHP_OP_REPLICATED && !pithp_is_choice(i) &&
           ((const pithp_vary_params *)i->params)->mapped;
}

/* The axes of the marks in a program and in those within. */
static pithp_axis_set axes_of_marks(const pithp_program *p) {
    pithp_axis_set all = 0;
    for (int64_t k = 0; k < p->instruction_count; k++) {
        const pithp_instruction *i = &p->instructions[k];
        if (is_claim(i))
            all |= pithp_axes_of(i).axes;
        for (int32_t b = 0; b < i->program_count; b++)
            all |= axes_of_marks(i->programs[b]);
    }
    return all;
}

static void claim_operands(const pithp_program *p,
                           const pithp_instruction *i,
                           pithp_axis_set *equal) {
    const pithp_value *operands = pithp_operands(p, i);
    const pithp_axes_of_row row = pithp_axes_of(i);
    pithp_axis_set claimed = 0;
    for (int32_t k = 0; k < i->result_count; k++)
        claimed |= equal[i->result + k];
    if (row.effect != PITHP_AXES_KEPT && i->primitive != PITHP_OP_REPLICATED)
        claimed &= ~row.axes;
    if (is_claim(i))
        claimed |= row.axes;
    for (int32_t k = 0; k < i->operand_count && !i->program_count; k++)
        equal[operands[k]] |= claimed;
}

pithp_axis_set
pithp_program_claims(pith_scope *s, const pithp_program *p, pithp_axis_set *inputs) {
    const size_t bytes = ((size_t)p->value_count + 1) * sizeof *inputs;
    const pithp_axis_set all = p->has_marks ? axes_of_marks(p) : 0;
    memset(inputs, 0, (size_t)p->input_count * sizeof *inputs);
    pithp_axis_set *equal = all ? pithp_scope_allocate(s, bytes) : NULL;
    if (!equal)
        return 0;
    memset(equal, 0, bytes);
    for (int64_t k = p->instruction_count; k-- > 0;)
        claim_operands(p, &p->instructions[k], equal);
    for (int64_t k = 0; k < p->input_count; k++)
        inputs[k] = equal[p->inputs[k]];
    return all;
}
