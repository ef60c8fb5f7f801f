/* Routes of rows: their numbers for the host, and the row of each slot. */
#ifndef PITH_PROGRAM_SOURCE_CUDA_ROUTE_H
#define PITH_PROGRAM_SOURCE_CUDA_ROUTE_H

/* Ranks in use come first. */
M_FN i32 m_route_uses(const pithp_cuda_route_args *a, i64 peer) {
    i32 used = 1;
    for (i64 k = 0; k <= peer; k++)
        used &= a->peer[k] >= 0;
    return used;
}

M_KERNEL(pithp_k_route, pithp_cuda_route_args) {
    if (t < a->peers) {
        a->numbers[t] = a->peer[t];
        a->numbers[a->peers + t] = a->sent[t];
        a->numbers[2 * a->peers + t] = a->received[t];
    }
    if (t >= a->peers * a->most)
        return;
    const i64 peer = t / a->most;
    const i32 used = t % a->most < a->sent[peer] && m_route_uses(a, peer);
    const i32 row = a->send[t], within = row >= 0 && row < a->extent;
    a->rows[t] = used && within ? row : -1;
    if (used && !within)
        m_raise(a->beyond, ~(u64)t);
}

#endif
