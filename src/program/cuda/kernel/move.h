/* Kernels that move bits. */
#ifndef PITH_PROGRAM_CUDA_MOVE_H
#define PITH_PROGRAM_CUDA_MOVE_H

typedef struct m_u128 {
    u64 low, high;
} __attribute__((aligned(16))) m_u128;

M_FN void m_move(char *to, const char *from, i32 size) {
    switch (size) {
        case 1:
            *(u8 *)to = *(const u8 *)from;
            break;
        case 2:
            *(u16 *)(void *)to = *(const u16 *)(const void *)from;
            break;
        case 4:
            *(u32 *)(void *)to = *(const u32 *)(const void *)from;
            break;
        case 8:
            *(u64 *)(void *)to = *(const u64 *)(const void *)from;
            break;
        default:
            *(m_u128 *)(void *)to = *(const m_u128 *)(const void *)from;
    }
}

/* Add the offsets of element i of the first `rank` dimensions to both places. */
#define M_WALK(index)                                                                    \
    index rest = (index)i;                                                               \
    for (i32 d = rank - 1; d >= 0; d--) {                                                \
        const i64 at = (i64)(rest % (index)a->shape[d]);                                 \
        rest /= (index)a->shape[d];                                                      \
        *to += at * a->to_stride[d];                                                     \
        *from += at * a->from_stride[d];                                                 \
    }
M_FN void
m_walk(const pithp_cuda_move_args *a, i32 rank, i64 i, char **to, const char **from) {
    if (i >> 32) {
        M_WALK(u64)
    } else {
        M_WALK(u32)
    }
}

M_KERNEL(pithp_k_move, pithp_cuda_move_args) {
    for (i32 k = 0; k < M_EACH; k++) {
        const i64 i = M_ELEMENT(t, k);
        char *to = a->to;
        const char *from = a->from;
        if (i >= a->count)
            return;
        m_walk(a, a->rank, i, &to, &from);
        m_move(to, from, a->size);
    }
}

/* A transpose of the last two dimensions: sixteen by sixteen elements a block, so that
 * what it reads and what it writes are whole stretches of memory. */
#define M_TILE 16
M_KERNEL(pithp_k_tiles, pithp_cuda_move_args) {
    const i32 row = a->rank - 2, column = a->rank - 1;
    const i64 down = (a->shape[row] + M_TILE - 1) / M_TILE,
              across = (a->shape[column] + M_TILE - 1) / M_TILE,
              tile = t / (M_TILE * M_TILE), plane = tile / (down * across),
              inside = t % (M_TILE * M_TILE);
    const i64 r = tile / across % down * M_TILE + inside / M_TILE,
              c = tile % across * M_TILE + inside % M_TILE;
    char *to = a->to;
    const char *from = a->from;
    if (plane * a->shape[row] * a->shape[column] >= a->count || r >= a->shape[row] ||
        c >= a->shape[column])
        return;
    m_walk(a, row, plane, &to, &from);
    m_move(to + r * a->to_stride[row] + c * a->to_stride[column],
           from + r * a->from_stride[row] + c * a->from_stride[column], a->size);
}

M_KERNEL(pithp_k_pieces, pithp_cuda_pieces_args) {
    if (t >= a->total)
        return;
    const pithp_piece *p = &a->list[t >> a->shift];
    const i64 i = t - (t >> a->shift << a->shift);
    if (i >= p->count)
        return;
    const i64 r = (p->begin + i) / p->row, c = (p->begin + i) % p->row;
    m_move(p->to + r * p->to_pitch + c * p->size,
           p->from + r * p->from_pitch + c * p->size, (i32)p->size);
}

M_KERNEL(pithp_k_fill, pithp_cuda_fill_args) {
    for (i32 k = 0; k < M_EACH; k++) {
        const i64 i = M_ELEMENT(t, k);
        if (i >= a->count)
            return;
        m_move(a->to + i * a->size, (const char *)&a->value, a->size);
    }
}

#endif
