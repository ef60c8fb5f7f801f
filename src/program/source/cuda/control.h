/* Kernels of command buffers: relocation of addresses in arguments, and predicates of
 * control flow. */
#ifndef PITH_PROGRAM_SOURCE_CUDA_CONTROL_H
#define PITH_PROGRAM_SOURCE_CUDA_CONTROL_H

M_KERNEL(pithp_k_bind, pithp_cuda_bind_args) {
    if (t >= a->count)
        return;
    const pithp_cuda_write *w = &a->list[t];
    uint64_t *words = a->words;
    uint64_t value = words[w->from] + (uint64_t)w->offset;
    switch (w->kind) {
        case PITHP_WRITE_ELEMENT:
            value += words[w->other] * (uint64_t)w->stride;
            break;
        case PITHP_WRITE_FREE:
            if (words[w->from] == words[w->other])
                value = words[w->third] + (uint64_t)w->offset;
            break;
        case PITHP_WRITE_UNLESS:
            value = words[w->from] == words[w->other] ? 0 : (uint64_t)w->offset;
            break;
        default:
            break;
    }
    words[w->to] = value;
}

M_KERNEL(pithp_k_decide, m_decide_args) {
    if (t == 0)
        *a->to = m_decide(a);
}

#endif
