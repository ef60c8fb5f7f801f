/* A control flow instruction that is derived (within src/program/derive). */
#ifndef PITH_PROGRAM_DERIVE_FLOW_H
#define PITH_PROGRAM_DERIVE_FLOW_H

#include "program/derive/control.h"
#include "program/ir/region.h"

typedef struct pithp_deriving_flow {
    pithp_derivation *d;
    const pithp_moving_call *c;
    const pithp_instruction *i;
    pithp_regions r;
    bool *moving; /* operands that move, with those carries that come to move */
    bool *moves;  /* results that move */
} pithp_deriving_flow;

static inline const pith_spec *pithp_flow_operand_spec(const pithp_deriving_flow *f,
                                                       int k) {
    return pithp_value_spec(f->c->from, pithp_operands(f->c->from, f->i)[k]);
}
/* The tangent of an operand, with zeros for a carry that does not move at first. */
static inline pithp_value pithp_flow_tangent(const pithp_deriving_flow *f, int k) {
    return f->c->tangents[k] >= 0
               ? f->c->tangents[k]
               : pithp_derive_zeros(f->d, pithp_flow_operand_spec(f, k));
}
/* The inputs of a program that move. */
static inline void
pithp_flow_inputs(const pithp_deriving_flow *f, int program, bool *inputs) {
    for (int64_t k = 0; k < f->i->programs[program]->input_count; k++)
        inputs[k] = f->moving[pithp_region_operand(&f->r, program, (int)k)];
}

/* Whether an instruction is a while with a record. */
static inline bool pithp_has_record(const pithp_instruction *i) {
    return i->primitive == PITHP_OP_WHILE &&
           ((const pithp_while_params *)i->params)->most > 0;
}

/* In two instructions. inputs, outputs: scratch. False sets the error. */
bool pithp_split_scan(pithp_deriving_flow *f,
                      bool *inputs,
                      bool *outputs,
                      pithp_value *results,
                      pithp_value *tangents);
bool pithp_split_cond(pithp_deriving_flow *f,
                      bool *inputs,
                      bool *outputs,
                      pithp_value *results,
                      pithp_value *tangents);

#endif
