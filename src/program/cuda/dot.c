/* Matrix products on CUDA, one thread per element, for products that a library does not
 * compute faster (gemm.c). */
#include "program/host/dot.h"

#include "program/cuda/cuda.h"
#include "program/source/args/library.h"

#include <string.h>

static size_t aligned(size_t bytes) {
    return (bytes + 255) / 256 * 256;
}

size_t pithp_cuda_temporary_product(const pithp_call *call, const pith_spec *result) {
    const pithp_product_view v = pithp_product_view_of(call);
    const size_t own = (v.a.moved ? aligned(call->operands[v.a.operand]->bytes) : 0) +
                       (v.b.moved ? call->operands[v.b.operand]->bytes : 0),
                 library = pithp_cuda_temporary_gemm(call);
    (void)result;
    return own > library ? own : library; /* the choice between the two is made later */
}

pith_status pithp_cuda_lower_product(const pithp_call *call,
                                     const pith_spec *result,
                                     const pithp_memory *memory,
                                     const pithp_sink *sink) {
    const pithp_product_view v = pithp_product_view_of(call);
    const int64_t size = (int64_t)pith_dtype_size(result->dtype);
    const pithp_factor *factors[] = {&v.a, &v.b};
    const void *data[2];
    char *temporary = memory->temporary;
    if (result->count == 0)
        return PITH_OK;
    if (memory->gemm)
        return pithp_cuda_lower_gemm(call, result, memory, sink);
    for (int k = 0; k < 2; k++) {
        data[k] = memory->operands[factors[k]->operand];
        if (!factors[k]->moved)
            continue;
        const pith_status rc =
            pithp_product_launch_moving(call, factors[k], size, data[k], temporary, sink);
        if (rc)
            return rc;
        data[k] = temporary;
        temporary += aligned(call->operands[factors[k]->operand]->bytes);
    }
    pithp_cuda_product_args a = {.a = data[0],
                                 .b = data[1],
                                 .c = memory->result,
                                 .m = v.m,
                                 .n = v.n,
                                 .terms = v.terms,
                                 .a_free = v.a.free,
                                 .a_term = v.a.term,
                                 .b_free = v.b.free,
                                 .b_term = v.b.term,
                                 .batches = v.batches,
                                 .rank = v.rank,
                                 .dtype = (int32_t)result->dtype};
    memcpy(a.batch, v.batch, sizeof a.batch);
    memcpy(a.a_batch, v.a.batch, sizeof a.a_batch);
    memcpy(a.b_batch, v.b.batch, sizeof a.b_batch);
    return pithp_cuda_launch(sink, PITHP_CUDA_product, "dot_general", &a, sizeof a,
                             result->count);
}
