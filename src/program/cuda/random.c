/* Lowering of random numbers for CUDA: one thread per pair of words, in the host's order
 * of counts. */
#include "program/host/random.h"

#include "program/cuda/cuda.h"

size_t pithp_cuda_temporary_random(const pithp_call *call, const pith_spec *result) {
    (void)call, (void)result;
    return 0;
}

pith_status pithp_cuda_lower_random(const pithp_call *call,
                                    const pith_spec *result,
                                    const pithp_memory *memory,
                                    const pithp_sink *sink) {
    if (result->count == 0)
        return PITH_OK;
    const pithp_cuda_random_args a = pithp_random_args_of(call, result, memory);
    return pithp_cuda_launch(sink, PITHP_CUDA_random, pithp_ops[call->primitive].name, &a,
                             sizeof a, a.keys * a.pairs);
}

size_t pithp_cuda_temporary_threefry(const pithp_call *call, const pith_spec *result) {
    (void)call, (void)result;
    return 0;
}

pith_status pithp_cuda_lower_threefry(const pithp_call *call,
                                      const pith_spec *result,
                                      const pithp_memory *memory,
                                      const pithp_sink *sink) {
    const pithp_cuda_threefry_args a = pithp_threefry_args_of(call, result, memory);
    return pithp_cuda_launch(sink, PITHP_CUDA_threefry, pithp_ops[call->primitive].name,
                             &a, sizeof a, a.count);
}
