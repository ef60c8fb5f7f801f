/* Constant folding: calls of literals run now, by the loops that would run later, so the
 * bits are those of the run. */
#include "program/pass/pass.h"

static pith_status run_now(void *isa, const pithp_launch *launch) {
    if (launch->count > 0)
        pithp_loop_for(launch, *(const pithp_isa *)isa)(launch->args, 0, launch->count);
    return PITH_OK;
}

static pith_status compute(pith_scope *s,
                           const pithp_call *call,
                           const pith_spec *spec,
                           const void *const *operands,
                           void *result) {
    pithp_isa isa = pithp_scope_device(s)->isa;
    const size_t bytes = pithp_temporary_bytes(call, spec);
    void *temporary =
        bytes ? pithp_allocate_aligned(s->runtime, bytes, PITHP_ALIGNMENT) : NULL;
    if (bytes && !temporary)
        return pithp_fail_memory(s, bytes);
    const pithp_sink sink = {.launch = run_now, .closure = &isa};
    const pithp_memory memory = {
        .operands = operands, .result = result, .temporary = temporary};
    const pith_status rc = pithp_lower(call, spec, &memory, &sink);
    if (temporary)
        pithp_release_aligned(s->runtime, temporary, bytes, PITHP_ALIGNMENT);
    return rc;
}

/* Not folded: calls that repeat elements would make programs larger, not faster. */
static bool is_worth_it(const pithp_program *p, const pithp_proposal *call) {
    if (call->count == 0 || call->primitive == PITHP_OP_BROADCAST)
        return call->spec->count <= 1;
    size_t bytes = 0;
    for (int k = 0; k < call->count; k++)
        bytes += pithp_value_spec(p, call->operands[k])->bytes;
    return call->spec->bytes <= PITHP_LITERAL_BYTES &&
           (call->spec->bytes <= 64 || call->spec->bytes <= bytes);
}

pithp_value
pithp_constant_fold(pith_scope *s, pithp_program *p, const pithp_proposal *call) {
    const pith_spec *specs[PITHP_FEW_OPERANDS];
    const void *operands[PITHP_FEW_OPERANDS];
    _Alignas(64) char result[PITHP_LITERAL_BYTES];
    if (!pithp_scope_device(s)->backend->addressable || /* its loops have other bits */
        call->count > PITHP_FEW_OPERANDS || !is_worth_it(p, call))
        return -1;
    for (int k = 0; k < call->count; k++) {
        operands[k] = pithp_literal_of(p, call->operands[k]);
        specs[k] = pithp_value_spec(p, call->operands[k]);
        if (!operands[k])
            return -1;
    }
    const pithp_call it =
        pithp_call_of(call->primitive, call->count, specs, call->params);
    if (pithp_call_reports(&it) ||
        compute(s, &it, call->spec, operands, result) != PITH_OK)
        return -1;
    return pithp_program_literal(s, p, call->spec, result);
}
