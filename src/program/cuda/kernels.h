/* Bodies of the kernels built with the library, for what emitted text does not do. Plain
 * C for one thread, without words between threads, so that the host can run the same
 * text: the tests do, and compare the bits with those of the host's own loops.
 *
 * After a prologue, emit/helpers.h and emit/shell.h. dtypes are those of pith_dtype. */
#ifndef PITH_PROGRAM_CUDA_KERNELS_H
#define PITH_PROGRAM_CUDA_KERNELS_H

#include "program/cuda/args.h"

typedef struct m_u128 {
    u64 low, high;
} __attribute__((aligned(16))) m_u128;

/* X(dtype, storage type, type loaded) of every dtype, by the type that holds all values
 * of its kind. */
#define M_EACH_SIGNED(X)   X(2, i8) X(3, i16) X(4, i32) X(5, i64)
#define M_EACH_UNSIGNED(X) X(1, b8) X(6, u8) X(7, u16) X(8, u32) X(9, u64)

/* ---- Moving bits ---- */

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

M_KERNEL(pithp_k_fill, pithp_cuda_fill_args) {
    for (i32 k = 0; k < M_EACH; k++) {
        const i64 i = M_ELEMENT(t, k);
        if (i >= a->count)
            return;
        m_move(a->to + i * a->size, (const char *)&a->value, a->size);
    }
}

/* ---- Casts ---- */

/* Store x, of a type that holds it exactly, as element i of the dtype. */
#define M_STORE_AS(dtype, type)                                                          \
    case dtype:                                                                          \
        ((type *)to)[i] = m_to_##type(x);                                                \
        break;
#define M_STORE_ANY(name, from)                                                          \
    M_FN void m_store_any_##name(void *to, i64 i, i32 dtype, from x) {                   \
        switch (dtype) {                                                                 \
            M_STORE_AS(1, b8)                                                            \
            M_STORE_AS(2, i8)                                                            \
            M_STORE_AS(3, i16)                                                           \
            M_STORE_AS(4, i32)                                                           \
            M_STORE_AS(5, i64)                                                           \
            M_STORE_AS(6, u8)                                                            \
            M_STORE_AS(7, u16)                                                           \
            M_STORE_AS(8, u32)                                                           \
            M_STORE_AS(9, u64)                                                           \
            M_STORE_AS(10, f16)                                                          \
            M_STORE_AS(11, bf16)                                                         \
            M_STORE_AS(12, f32)                                                          \
            default:                                                                     \
                ((f64 *)to)[i] = m_to_f64(x);                                            \
        }                                                                                \
    }
M_STORE_ANY(signed, i64)
M_STORE_ANY(unsigned, u64)
M_STORE_ANY(real, f64)
M_STORE_ANY(single, f32)

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
