/* Eager execution: the host loops or CUDA kernels of a single call.
 *
 * An elementwise call does not run as a plan of one fused step. Measured for the sum of
 * two f64[8,8] on one thread of the host, with the result's array: 17 ns eager; a plan
 * that is already known 74 ns interpreted and 58 ns compiled. Of f64[8,8] and f64[8] it
 * is 98 ns eager, 88 and 76 ns by the known plan. A call of a function that is jitted
 * anew, whose plan is found by its key, takes 340 to 430 ns, and eager calls would need
 * such a search. */
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
