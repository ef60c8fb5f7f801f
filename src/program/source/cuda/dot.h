/* Matrix product kernels, one thread per element. They sum in spans of terms, in the
 * order of the host's loops (host/vector/dot.h). */
#ifndef PITH_PROGRAM_SOURCE_CUDA_DOT_H
#define PITH_PROGRAM_SOURCE_CUDA_DOT_H

enum { M_SPAN = 256 };

#define M_PRODUCT(type, T, load, fused, added, store)                                    \
    {                                                                                    \
        const type *x = (const type *)a->a + from_a, *y = (const type *)a->b + from_b;   \
        T all = (T)0;                                                                    \
        for (i64 first = 0; first < a->terms; first += M_SPAN) {                         \
            const i64 end = a->terms - first < M_SPAN ? a->terms : first + M_SPAN;       \
            T sum = (T)0;                                                                \
            for (i64 k = first; k < end; k++)                                            \
                sum = fused((T)load(x[k * a->a_term]), (T)load(y[k * a->b_term]), sum);  \
            all = first ? added(all, sum) : sum;                                         \
        }                                                                                \
        ((type *)a->c)[t] = (type)store(all);                                            \
        break;                                                                           \
    }
#define M_WRAPPED(x, y, z) ((x) * (y) + (z))
#define M_AND_OR(x, y, z)  (((x) & (y)) | (z))

M_KERNEL(pithp_k_product, pithp_cuda_product_args) {
    if (t >= a->batches * a->m * a->n)
        return;
    i64 batch = t / a->n / a->m, from_a = t / a->n % a->m * a->a_free,
        from_b = t % a->n * a->b_free;
    for (i32 d = a->rank - 1; d >= 0; d--) {
        from_a += batch % a->batch[d] * a->a_batch[d];
        from_b += batch % a->batch[d] * a->b_batch[d];
        batch /= a->batch[d];
    }
    switch (a->dtype) {
        case M_DTYPE_BOOL:
            M_PRODUCT(u8, u32, M_SAME, M_AND_OR, M_EITHER, M_SAME)
        case M_DTYPE_I8:
        case M_DTYPE_U8:
            M_PRODUCT(u8, u32, M_SAME, M_WRAPPED, M_SUM, M_SAME)
        case M_DTYPE_I16:
        case M_DTYPE_U16:
            M_PRODUCT(u16, u32, M_SAME, M_WRAPPED, M_SUM, M_SAME)
        case M_DTYPE_I32:
        case M_DTYPE_U32:
            M_PRODUCT(u32, u32, M_SAME, M_WRAPPED, M_SUM, M_SAME)
        case M_DTYPE_I64:
        case M_DTYPE_U64:
            M_PRODUCT(u64, u64, M_SAME, M_WRAPPED, M_SUM, M_SAME)
        case M_DTYPE_F16:
            M_PRODUCT(f16, f32, m_load_f16, m_fused_f32, M_SUM, m_store_f16)
        case M_DTYPE_BF16:
            M_PRODUCT(bf16, f32, m_load_bf16, m_fused_f32, M_SUM, m_store_bf16)
        case M_DTYPE_F32:
            M_PRODUCT(f32, f32, M_SAME, m_fused_f32, M_SUM, M_SAME)
        default:
            M_PRODUCT(f64, f64, M_SAME, m_fused_f64, M_SUM, M_SAME)
    }
}

/* Matrix pointers for a library's gemm (cuda/gemm.c). */
M_KERNEL(pithp_k_pointers, pithp_cuda_pointers_args) {
    if (t >= a->count)
        return;
    const i64 span = t / a->batches, batch = t % a->batches;
    i64 left = batch, from_a = span * a->a_span, from_b = span * a->b_span;
    for (i32 d = a->rank - 1; d >= 0; d--) {
        from_a += left % a->batch[d] * a->a_batch[d];
        from_b += left % a->batch[d] * a->b_batch[d];
        left /= a->batch[d];
    }
    a->to[t] = a->a + from_a * a->size;
    a->to[a->count + t] = a->b + from_b * a->size;
    a->to[2 * a->count + t] = a->c + (span * a->c_span + batch * a->c_batch) * a->size;
}

#define M_SPANS(type, to_type, store)                                                    \
    {                                                                                    \
        const type *x = (const type *)a->from + t;                                       \
        type all = x[0];                                                                 \
        for (i64 k = 1; k < a->spans; k++)                                               \
            all = all + x[k * a->count];                                                 \
        ((to_type *)a->to)[t] = (to_type)store(all);                                     \
        break;                                                                           \
    }

M_KERNEL(pithp_k_spans, pithp_cuda_spans_args) {
    if (t >= a->count)
        return;
    switch (a->to_dtype) {
        case M_DTYPE_F16:
            M_SPANS(f32, f16, m_store_f16)
        case M_DTYPE_BF16:
            M_SPANS(f32, bf16, m_store_bf16)
        case M_DTYPE_F32:
            M_SPANS(f32, f32, M_SAME)
        default:
            M_SPANS(f64, f64, M_SAME)
    }
}

#endif
