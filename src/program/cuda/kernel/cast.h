/* Kernels that convert numbers. */
#ifndef PITH_PROGRAM_CUDA_CAST_H
#define PITH_PROGRAM_CUDA_CAST_H

/* X(dtype, storage type) of the integers. */
#define M_EACH_SIGNED(X)   X(2, i8) X(3, i16) X(4, i32) X(5, i64)
#define M_EACH_UNSIGNED(X) X(1, b8) X(6, u8) X(7, u16) X(8, u32) X(9, u64)

#define M_LOAD_SIGNED(dtype, type)                                                       \
    case dtype:                                                                          \
        m_store_any_signed(to, i, to_dtype, (i64)((const type *)from)[i]);               \
        break;
#define M_LOAD_UNSIGNED(dtype, type)                                                     \
    case dtype:                                                                          \
        m_store_any_unsigned(to, i, to_dtype, (u64)((const type *)from)[i]);             \
        break;
M_FN void m_cast(void *to, i32 to_dtype, const void *from, i32 from_dtype, i64 i) {
    switch (from_dtype) {
        M_EACH_SIGNED(M_LOAD_SIGNED)
        M_EACH_UNSIGNED(M_LOAD_UNSIGNED)
        case 10:
            m_store_any_single(to, i, to_dtype, m_load_f16(((const f16 *)from)[i]));
            break;
        case 11:
            m_store_any_single(to, i, to_dtype, m_load_bf16(((const bf16 *)from)[i]));
            break;
        case 12:
            m_store_any_single(to, i, to_dtype, ((const f32 *)from)[i]);
            break;
        default:
            m_store_any_real(to, i, to_dtype, ((const f64 *)from)[i]);
    }
}

M_KERNEL(pithp_k_cast, pithp_cuda_cast_args) {
    for (i32 k = 0; k < M_EACH; k++) {
        const i64 i = M_ELEMENT(t, k);
        if (i >= a->count)
            return;
        m_cast(a->to, a->to_dtype, a->from, a->from_dtype, i);
    }
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
