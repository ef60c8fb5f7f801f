/* Cast kernels: conversion between numeric dtypes. */
#ifndef PITH_PROGRAM_SOURCE_CUDA_CAST_H
#define PITH_PROGRAM_SOURCE_CUDA_CAST_H

/* A thread's elements in the widest type of their kind; all are loaded before the first
 * store. */
typedef union m_numbers {
    i64 as_signed[M_EACH];
    u64 as_unsigned[M_EACH];
    f32 as_single[M_EACH];
    f64 as_real[M_EACH];
} m_numbers;

#define M_CAST_LOAD(kind, load, type)                                                    \
    M_UNROLL for (i32 k = 0; k < M_EACH; k++) x.as_##kind[k] =                           \
        load(((const type *)a->from)[M_ELEMENT_WITHIN(t, k, a->count)])
#define M_CAST_SIGNED(NAME, type)                                                        \
    case M_DTYPE_##NAME:                                                                 \
        M_CAST_LOAD(signed, (i64), type);                                                \
        break;
#define M_CAST_UNSIGNED(NAME, type)                                                      \
    case M_DTYPE_##NAME:                                                                 \
        M_CAST_LOAD(unsigned, (u64), type);                                              \
        break;
M_FN m_numbers m_cast_load(const pithp_cuda_cast_args *a, i64 t) {
    m_numbers x;
    switch (a->from_dtype) {
        M_SIGNED(M_CAST_SIGNED)
        M_CAST_UNSIGNED(BOOL, b8)
        M_UNSIGNED(M_CAST_UNSIGNED)
        case M_DTYPE_F16:
            M_CAST_LOAD(single, m_load_f16, f16);
            break;
        case M_DTYPE_BF16:
            M_CAST_LOAD(single, m_load_bf16, bf16);
            break;
        case M_DTYPE_F32:
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
    if (M_IS_SIGNED(a->from_dtype))
        M_CAST_STORE(signed)
    else if (!M_IS_FLOAT(a->from_dtype))
        M_CAST_STORE(unsigned)
    else if (a->from_dtype != M_DTYPE_F64)
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
