/* Eager execution: the host loops or CUDA kernels of a single call. */
#include "program/exec/call.h"

#include "program/cuda/cuda.h"

static pith_status run_on_scope(void *scope, const pithp_launch *launch) {
    return pithp_launch_run(scope, launch);
}

pithp_sink pithp_scope_sink(pith_scope *s) {
    const bool host = pithp_scope_device(s)->backend->addressable;
    return (pithp_sink){
        .launch = run_on_scope, .closure = s, .cuda = host ? NULL : &pithp_cuda_on_scope};
}

pith_status pithp_run(pith_scope *s,
                      const pithp_call *call,
                      const pith_spec *result,
                      const pithp_memory *memory) {
    const pithp_sink sink = {.launch = run_on_scope, .closure = s};
    if (PITHP_UNLIKELY(!pithp_scope_device(s)->backend->addressable))
        return pithp_run_cuda(s, call, result, memory);
    return pithp_lower(call, result, memory, &sink);
}

pith_status
pithp_run_prepared(pith_scope *s, const pithp_prepared *p, const pithp_memory *memory) {
    const pithp_sink sink = {.launch = run_on_scope, .closure = s};
    return pithp_prepared_lower(p, memory, &sink);
}
