/* Copy and fill kernels. */
#ifndef PITH_PROGRAM_SOURCE_CUDA_MOVE_H
#define PITH_PROGRAM_SOURCE_CUDA_MOVE_H

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

/* Add the offsets of element i of the first `rank` dimensions to both addresses. */
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

/* A thread's elements: all are loaded before the first store, so that the loads overlap.
 * Elements beyond the end reload the last one. */
#define M_MOVE_EACH(type)                                                                \
    {                                                                                    \
        type x[M_EACH];                                                                  \
        char *to[M_EACH];                                                                \
        M_UNROLL for (i32 k = 0; k < M_EACH; k++) {                                      \
            const char *from = a->from;                                                  \
            to[k] = a->to;                                                               \
            m_walk(a, a->rank, M_ELEMENT_WITHIN(t, k, a->count), &to[k], &from);         \
            x[k] = *(const type *)(const void *)from;                                    \
        }                                                                                \
        M_UNROLL for (i32 k = 0; k < M_EACH; k++) if (M_ELEMENT(t, k) < a->count) *      \
            (type *)(void *)to[k] = x[k];                                                \
        break;                                                                           \
    }
#define M_FOR_SIZE(statement)                                                            \
    switch (a->size) {                                                                   \
        case 1:                                                                          \
            statement(u8);                                                               \
        case 2:                                                                          \
            statement(u16);                                                              \
        case 4:                                                                          \
            statement(u32);                                                              \
        case 8:                                                                          \
            statement(u64);                                                              \
        default:                                                                         \
            statement(m_u128);                                                           \
    }

M_KERNEL(pithp_k_move, pithp_cuda_move_args) {
    if (M_ELEMENT(t, 0) >= a->count)
        return;
    M_FOR_SIZE(M_MOVE_EACH)
}

/* Transpose of the last two dimensions by tiles of 32 by 32 elements in shared memory.
 * Columns of `from` are contiguous and are read so; rows of `to` are contiguous and are
 * written so. */
#define M_TILE 32
typedef struct m_tile {
    m_u128 element[M_TILE *
                   (M_TILE + 1)]; /* padded by 1, against bank conflicts of columns */
} m_tile;
typedef struct m_tile_at {
    i64 plane, row, column; /* of the tile's first element */
} m_tile_at;

M_FN m_tile_at m_tile_of(const pithp_cuda_move_args *a, i64 tile) {
    const i64 down = (a->shape[a->rank - 2] + M_TILE - 1) / M_TILE,
              across = (a->shape[a->rank - 1] + M_TILE - 1) / M_TILE;
    m_tile_at at;
    at.plane = tile / (down * across);
    at.row = tile / across % down * M_TILE;
    at.column = tile % across * M_TILE;
    return at;
}

/* Element number k of the thread's four: `along` follows the thread. */
#define M_TILE_EACH    (M_TILE * M_TILE / M_BLOCK)
#define M_ALONG(t)     ((t) % M_TILE)
#define M_ACROSS(t, k) ((t) % M_BLOCK / M_TILE + (k) * (M_BLOCK / M_TILE))

#define M_TILE_LOAD(type)                                                                \
    {                                                                                    \
        type x[M_TILE_EACH];                                                             \
        M_UNROLL for (i32 k = 0; k < M_TILE_EACH; k++) {                                 \
            const i64 c = at.column + M_ACROSS(t, k), within = c < columns ? c : 0;      \
            x[k] = *(const type *)(const void *)(from + within * pitch);                 \
        }                                                                                \
        M_UNROLL for (i32 k = 0; k < M_TILE_EACH; k++)(                                  \
            (type *)(void *)                                                             \
                shared->element)[M_ALONG(t) * (M_TILE + 1) + M_ACROSS(t, k)] = x[k];     \
        break;                                                                           \
    }
#define M_TILE_STORE(type)                                                               \
    {                                                                                    \
        M_UNROLL for (i32 k = 0; k < M_TILE_EACH;                                        \
                      k++) if (at.row + M_ACROSS(t, k) < rows) *                         \
            (type *)(void *)(to + (at.row + M_ACROSS(t, k)) * pitch) =                   \
            ((const type *)(const void *)                                                \
                 shared->element)[M_ACROSS(t, k) * (M_TILE + 1) + M_ALONG(t)];           \
        break;                                                                           \
    }

M_BLOCK_KERNEL(pithp_k_tiles, pithp_cuda_move_args, m_tile, m_none, 2) {
    const i32 last = a->rank - 1;
    const i64 rows = a->shape[last - 1], columns = a->shape[last];
    const m_tile_at at = m_tile_of(a, t / M_BLOCK);
    char *to = a->to;
    const char *from = a->from;
    (void)own;
    if (at.plane * rows * columns >= a->count)
        return; /* uniform: the whole block */
    m_walk(a, last - 1, at.plane, &to, &from);
    if (step == 0) {
        const i64 pitch = a->from_stride[last], r = at.row + M_ALONG(t);
        if (r >= rows)
            return;
        from += r * a->from_stride[last - 1];
        M_FOR_SIZE(M_TILE_LOAD)
    } else {
        const i64 pitch = a->to_stride[last - 1], c = at.column + M_ALONG(t);
        if (c >= columns)
            return;
        to += c * a->to_stride[last];
        M_FOR_SIZE(M_TILE_STORE)
    }
}

M_KERNEL(pithp_k_copy_many, pithp_cuda_copy_many_args) {
    if (t >= a->total)
        return;
    const pithp_copy_rows *p = &a->list[t >> a->shift];
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
