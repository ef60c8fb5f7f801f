/* Type inference of debug messages (pith_debug): any operands, no result. */
#include "program/op/debug.h"

#include "program/op/rules.h"

int pithp_count_debug(const pithp_call *call) {
    (void)call;
    return 0;
}

pith_status
pithp_infer_debug(const pithp_call *call, pith_spec *results, pithp_refusal *refusal) {
    (void)results;
    return ((const pithp_debug_params *)call->params)->debug
               ? PITH_OK
               : pithp_refuse(call, refusal, PITH_E_ARG, "expected a message");
}
