/* Identity marks: the operand under another number. Passes and executables remove them;
 * run as a call, a mark is a copy. */
#include "program/host/move.h"

#include <string.h>

pith_status
pithp_infer_mark(const pithp_call *call, pith_spec *result, pithp_refusal *refusal) {
    const pith_spec *x = call->operands[0];
    return pithp_spec_fill(call, refusal, result, x->dtype, x->rank, x->shape);
}
PITHP_NO_TEMPORARY(mark)
pith_status pithp_lower_mark(const pithp_call *call,
                             const pith_spec *result,
                             const pithp_memory *memory,
                             const pithp_sink *sink) {
    return pithp_launch_copy(sink, pithp_ops[call->primitive].name, memory->result,
                             memory->operands[0], (int32_t)pith_dtype_size(result->dtype),
                             result->count);
}

pith_status
pithp_infer_vary(const pithp_call *call, pith_spec *result, pithp_refusal *refusal) {
    return pithp_infer_mark(call, result, refusal);
}
PITHP_NO_TEMPORARY(vary)
pith_status pithp_lower_vary(const pithp_call *call,
                             const pith_spec *result,
                             const pithp_memory *memory,
                             const pithp_sink *sink) {
    return pithp_lower_mark(call, result, memory, sink);
}

pith_status
pithp_infer_named(const pithp_call *call, pith_spec *result, pithp_refusal *refusal) {
    const pithp_named_params *p = call->params;
    if (!p->name[0] || memchr(p->name, 0, sizeof p->name) == NULL)
        return pithp_refuse(call, refusal, PITH_E_ARG, "a name has 1 to %d bytes",
                            PITHP_NAME_BYTES - 1);
    return pithp_infer_mark(call, result, refusal);
}
PITHP_NO_TEMPORARY(named)
pith_status pithp_lower_named(const pithp_call *call,
                              const pith_spec *result,
                              const pithp_memory *memory,
                              const pithp_sink *sink) {
    return pithp_lower_mark(call, result, memory, sink);
}
