/* Kernels that convert numbers. */
#ifndef PITH_PROGRAM_SOURCE_CUDA_CAST_H
#define PITH_PROGRAM_SOURCE_CUDA_CAST_H

/* X(dtype, storage type) of the integers. */
#define M_EACH_SIGNED(X)   X(2, i8) X(3, i16) X(4, i32) X(5, i64)
#define M_EACH_UNSIGNED(X) X(1, b8) X(6, u8) X(7, u16) X(8, u32) X(9, u64)

/* A thread's elements, as numbers of the widest type of their kind; all are loaded before
 * one is stored. */
typedef union m_numbers {
    i64 as_signed[M_EACH];
    u64 as_unsigned[M_EACH];
    f32 as_single[M_EACH];
    f64 as_real[M_EACH];
} m_numbers;

#define M_CAST_LOAD(kind, load, type)                                                    \
    M_UNROLL for (i32 k = 0; k < M_EACH; k++) x.as_##kind[k] =                           \
        load(((const type *)a->from)[M_ELEMENT_WITHIN(t, k, a->count)])
#define M_CAST_SIGNED(number, type)                                                      \
    case number:                                                                         \
        M_CAST_LOAD(signed, (i64), type);                                                \
        break;
#define M_CAST_UNSIGNED(number, type)                                                    \
    case number:                                                                         \
        M_CAST_LOAD(unsigned, (u64), type);                                              \
        break;
M_FN m_numbers m_cast_load(const pithp_cuda_cast_args *a, i64 t) {
    m_numbers x;
    switch (a->from_dtype) {
        M_EACH_SIGNED(M_CAST_SIGNED)
        M_EACH_UNSIGNED(M_CAST_UNSIGNED)
        case 10:
            M_CAST_LOAD(single, m_load_f16, f16);
            break;
        case 11:
            M_CAST_LOAD(single, m_load_bf16, bf16);
            break;
        case 12:
            M_CAST_LOAD(single, (f32), f32);
            break;
        default:
            M_CAST_LOAD(real, (f64), f64);
    }
    return x;
}

#define M_CAST_STORE(kind)                                                               \
    {                                                                                    \
        M_UNROLL for (i32 k = 0; k < M_EACH; k++) if (M_ELEMENT(t, k) < a->count)        \
            m_store_any_##kind(a->to, M_ELEMENT(t, k), a->to_dtype, x.as_##kind[k]);     \
    }
M_KERNEL(pithp_k_cast, pithp_cuda_cast_args) {
    if (M_ELEMENT(t, 0) >= a->count)
        return;
    const m_numbers x = m_cast_load(a, t);
    if (a->from_dtype >= 2 && a->from_dtype <= 5)
        M_CAST_STORE(signed)
    else if (a->from_dtype < 10)
        M_CAST_STORE(unsigned)
    else if (a->from_dtype < 13)
        M_CAST_STORE(single)
    else
        M_CAST_STORE(real)
}

M_KERNEL(pithp_k_iota, pithp_cuda_iota_args) {
    for (i32 k = 0; k < M_EACH; k++) {
        const i64 i = M_ELEMENT(t, k);
        if (i >= a->count)
            return;
        m_store_any_signed(a->to, i, a->dtype, i / a->inner % a->extent);
    }
}

#endif
