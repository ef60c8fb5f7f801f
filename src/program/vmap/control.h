/* Batching of control flow (within src/program/vmap).
 *
 * An entry takes part in an instruction if all branches and loops around it run for it.
 * Where this differs between entries the program has a mask, bool [size], of those that
 * take part. The others compute values that are not used: a loop makes no iterations for
 * them, a kernel does not run, a check passes and nothing is printed. */
#ifndef PITH_PROGRAM_VMAP_CONTROL_H
#define PITH_PROGRAM_VMAP_CONTROL_H

#include "program/ir/region.h"
#include "program/vmap/rules.h"

/* Control flow that is batched. */
typedef struct pithp_batched_flow {
    pithp_batching *b;
    const pithp_batched_call *c;
    const pithp_instruction *i;
    pithp_regions r;
    bool *batched;          /* of each operand, with the carries that come to be */
    bool *inputs, *outputs; /* scratch for one program */
} pithp_batched_flow;

/* Begin with the operands that are batched; in memory of the scope. False sets the error.
 */
bool pithp_flow_begin(pithp_batched_flow *f,
                      pithp_batching *b,
                      const pithp_batched_call *c);
/* Set f->inputs to the batched inputs of a program. */
void pithp_flow_batched_inputs(const pithp_batched_flow *f, int program);
/* Find the carries that come to be batched because they depend on batched operands, as a
 * fixed point. Sets f->outputs to the outputs of the body that are. */
bool pithp_flow_carries(pithp_batched_flow *f);
/* Set f->outputs to the outputs of a program that are batched with f->inputs. */
bool pithp_flow_reach(const pithp_batched_flow *f, int program);
/* Batch a program whose inputs f->inputs marks and whose outputs f->outputs demands;
 * outputs that are not demanded must not come to be batched. masked: the first input is
 * the mask. One reference; NULL sets the error. */
pithp_program *pithp_flow_program(const pithp_batched_flow *f, int program, bool masked);
/* The same for any program; demanded: NULL: all outputs. */
pithp_program *pithp_batch_outputs(pith_scope *s,
                                   const pithp_program *p,
                                   int64_t size,
                                   const bool *batched,
                                   const pithp_vmap_options *options,
                                   bool masked,
                                   const bool *demanded);
/* Operand k, batched if f->batched says so. */
pithp_value pithp_flow_operand(const pithp_batched_flow *f, int k);

/* Whether a program, or an instruction, asks for the mask of those that take part. */
bool pithp_uses_mask(const pithp_program *p);
bool pithp_instruction_uses_mask(const pithp_instruction *i);

/* The rule for batches of a row; NULL: it has none. */
static inline const pithp_rule *pithp_batch_rule_of(const pithp_instruction *i) {
    const pithp_rule *of = i->primitive == PITHP_OP_RULE
                               ? ((const pithp_rule_params *)i->params)->rule
                               : NULL;
    return of && of->batch ? of : NULL;
}

/* where(mask, a, other), with operands that are batched or not. */
pithp_value pithp_batch_where(pithp_batching *b,
                              pithp_value mask,
                              pithp_value a,
                              bool a_batched,
                              pithp_value other,
                              bool other_batched);
/* Whether one of a mask is true, or all are: bool []. */
pithp_value pithp_batch_any(pithp_batching *b, pithp_value mask);
/* The mask of this program, or one that is true. */
pithp_value pithp_batch_mask(pithp_batching *b);
pithp_value pithp_batch_and(pithp_batching *b, pithp_value x, pithp_value y);
/* An array of one number, given by its bits. */
pithp_value pithp_batch_full(pithp_batching *b, const pith_spec *spec, uint64_t bits);
/* Batch an instruction as a scan over the entries, one after the other (sequential.c). */
bool pithp_batch_in_turn(pithp_batching *b,
                         const pithp_batched_call *c,
                         pithp_value *results,
                         bool *batched);
/* Add a check of a rule for batches, whose batch is a part of another. own: of each
 * value, whether it has the entries in front. False sets the error (effect.c). */
bool pithp_batch_expose_own(pithp_batching *b,
                            const pithp_instruction *i,
                            const pithp_value *operands,
                            const bool *own);
/* Add the program of a rule for batches (rule_inline.c); probe: that of another number of
 * entries, to find which values of checks have these in front. False sets the error. */
bool pithp_batch_inline_rule(pithp_batching *b,
                             const pithp_program *p,
                             const pithp_program *probe,
                             const pithp_value *inputs,
                             pithp_value *values);
/* A batch in another program of the same size. */
pithp_batching pithp_batching_in(const pithp_batching *b, pithp_program *to);

#endif
