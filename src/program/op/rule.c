/* Functions with derivatives of the user: the row is the identity of the last operands,
 * which only derivations see. Checks of rules, which derivations alone record. */
#include "program/op/rules.h"

int pithp_count_rule(const pithp_call *call) {
    return ((const pithp_rule_params *)call->params)->rule->result_count;
}

pith_status
pithp_infer_rule(const pithp_call *call, pith_spec *results, pithp_refusal *refusal) {
    const pithp_rule *rule = ((const pithp_rule_params *)call->params)->rule;
    const int known = rule->first_count + rule->bound_count;
    const int least = known + (rule->linear ? 1 : rule->result_count);
    if (call->operand_count < least)
        return pithp_refuse(call, refusal, PITH_E_ARG,
                            "expected at least %d operands, got %d", least,
                            call->operand_count);
    for (int k = 0; k < rule->result_count; k++)
        if (rule->linear || pithp_spec_same(rule->results[k], call->operands[known + k]))
            results[k] = *rule->results[k];
        else
            return pithp_refuse(call, refusal, PITH_E_SHAPE,
                                "operand %d is not like the result", known + k);
    return PITH_OK;
}

int pithp_count_expose(const pithp_call *call) {
    (void)call;
    return 0;
}

pith_status
pithp_infer_expose(const pithp_call *call, pith_spec *results, pithp_refusal *refusal) {
    const int count = ((const pithp_expose_params *)call->params)->exposed->count;
    (void)results;
    return call->operand_count == count
               ? PITH_OK
               : pithp_refuse(call, refusal, PITH_E_ARG, "expected %d operands, got %d",
                              count, call->operand_count);
}
