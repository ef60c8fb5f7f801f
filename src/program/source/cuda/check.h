/* Conjunction kernel: reduces the predicates of checks to one word. */
#ifndef PITH_PROGRAM_SOURCE_CUDA_CHECK_H
#define PITH_PROGRAM_SOURCE_CUDA_CHECK_H

#define M_ZERO_AT(bytes, type)                                                           \
    case bytes:                                                                          \
        return ((const type *)data)[i] == 0;
M_FN i32 m_zero_at(const void *data, i32 width, i64 i) {
    switch (width) {
        M_ZERO_AT(1, u8)
        M_ZERO_AT(2, u16)
        M_ZERO_AT(4, u32)
        default:
            return ((const u64 *)data)[i] == 0;
    }
}
#undef M_ZERO_AT

M_KERNEL(pithp_k_conjunction, pithp_cuda_conjunction_args) {
    const i64 item = t >> a->shift, lanes = (i64)1 << a->shift;
    if (item >= a->items)
        return;
    const pithp_cuda_predicate *p = &a->list[item];
    const i64 lane = t & (lanes - 1);
    i64 failed = -1;
    if (p->width == 0)
        failed = lane == 0 && p->report->first ? 0 : -1;
    for (i64 i = lane; p->width && failed < 0 && i < p->count; i += lanes)
        if (m_zero_at(p->data, p->width, i))
            failed = i;
    if (failed < 0)
        return;
    if (p->width)
        m_raise(&p->report->first, ~(u64)failed);
    if (a->flag)
        m_raise(&a->flag->first, ~(u64)(a->base + item));
}

#endif
