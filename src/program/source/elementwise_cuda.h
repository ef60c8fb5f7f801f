/* A CUDA program of one elementwise operation: the text that is common to all operations.
 * The types and macros of the operation follow it (cuda/elementwise.c). */
#ifndef PITH_PROGRAM_SOURCE_ELEMENTWISE_CUDA_H
#define PITH_PROGRAM_SOURCE_ELEMENTWISE_CUDA_H

/* Offsets of the operands' elements for element i of the result. */
#define M_OFFSETS(index)                                                                 \
    index rest = (index)i;                                                               \
    for (i32 d = a->rank - 1; d >= 0; d--) {                                             \
        const i64 at = (i64)(rest % (index)a->shape[d]);                                 \
        rest /= (index)a->shape[d];                                                      \
        for (i32 k = 0; k < 3; k++)                                                      \
            offset[k] += at * a->stride[k][d];                                           \
    }

M_FN void m_offsets(const m_elementwise_args *a, i64 i, i64 offset[3]) {
    if (a->rank == 0) {
        offset[0] = offset[1] = offset[2] = i;
        return;
    }
    offset[0] = offset[1] = offset[2] = 0;
    if (i >> 32) { /* 32-bit divisions are several times faster */
        M_OFFSETS(u64)
    } else {
        M_OFFSETS(u32)
    }
}

#endif
