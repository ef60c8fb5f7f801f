/* Regions: operands and carries of control flow. */
#include "program/ir/region.h"

pithp_carried pithp_carries_of(const pithp_instruction *i) {
    if (i->primitive == PITHP_OP_WHILE) {
        const pithp_while_params *w = i->params;
        const int fixed = w->cond_operands + w->body_operands;
        return (pithp_carried){fixed, i->operand_count - fixed};
    }
    if (i->primitive == PITHP_OP_SCAN) {
        const pithp_loop_params *l = i->params;
        return (pithp_carried){l->constants, l->carries};
    }
    return (pithp_carried){0, 0};
}

int pithp_forwarded_operand(const pithp_instruction *i, int result) {
    const pithp_carried c = pithp_carries_of(i);
    if (result >= c.count)
        return -1;
    const pithp_program *body = i->programs[i->program_count - 1];
    const int first = i->primitive == PITHP_OP_WHILE
                          ? ((const pithp_while_params *)i->params)->body_operands
                          : c.first;
    return body->outputs[result] == body->inputs[first + result] ? c.first + result : -1;
}
