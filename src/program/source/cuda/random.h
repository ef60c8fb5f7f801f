/* Random number kernels (Threefry): one thread per pair of words. */
#ifndef PITH_PROGRAM_SOURCE_CUDA_RANDOM_H
#define PITH_PROGRAM_SOURCE_CUDA_RANDOM_H

#include "program/source/threefry.h"

/* Store element i from a draw; integers use the second draw too. */
M_FN void m_store_draw(const pithp_cuda_random_args *a, i64 i, u64 draw, u64 second) {
    if (a->kind == PITHP_DRAW_BITS || a->kind == PITHP_DRAW_KEYS) {
        m_store_any_unsigned(a->to, i, a->dtype, draw);
    } else if (a->kind == PITHP_DRAW_INTEGERS) {
        const u64 x =
            a->unbiased ? m_unbiased(a, i, draw, second)
            : a->width == 64
                ? m_within_u64(draw, second, a->multiplier, a->span)
                : m_within_u32((u32)draw, (u32)second, (u32)a->multiplier, (u32)a->span);
        m_store_any_unsigned(a->to, i, a->dtype, x + a->least);
    } else if (a->dtype == M_DTYPE_F64) {
        const f64 x = m_unit_f64(draw) * a->scale + a->low, u = x > a->low ? x : a->low;
        ((f64 *)a->to)[i] =
            a->kind == PITHP_DRAW_UNIFORM ? u : m_erf_inv(u) * 0x1.6a09e667f3bcdp+0;
    } else {
        const f32 unit = a->dtype == M_DTYPE_F32   ? m_unit_f32((u32)draw)
                         : a->dtype == M_DTYPE_F16 ? m_unit_f16((u16)draw)
                                                   : m_unit_bf16((u8)draw);
        const f32 low = (f32)a->low, x = unit * (f32)a->scale + low;
        f32 u = x > low ? x : low;
        if (a->kind == PITHP_DRAW_NORMAL) {
            u = a->dtype == M_DTYPE_F16    ? m_load_f16(m_store_f16(u))
                : a->dtype == M_DTYPE_BF16 ? m_load_bf16(m_store_bf16(u))
                                           : u;
            u = m_erf_inv(u) * (f32)0x1.6a09e667f3bcdp+0;
        }
        m_store_any_single(a->to, i, a->dtype, u);
    }
}

/* Store the elements of one word, in the original layout. */
M_FN void
m_store_word(const pithp_cuda_random_args *a, i64 element, i64 w, u32 word, u32 second) {
    const i32 each = 32 / a->width;
    for (i32 k = 0; k < each && w * each + k < a->count; k++)
        m_store_draw(a, element + w * each + k, word >> (k * a->width),
                     second >> (k * a->width));
}

M_FN u64 m_draw_by_count(const pithp_cuda_random_args *a, const u32 *key, i64 p) {
    u32 x0 = (u32)((u64)p >> 32), x1 = (u32)p;
    m_threefry(key[0], key[1], &x0, &x1);
    return a->kind == PITHP_DRAW_KEYS ? (u64)x1 << 32 | x0
           : a->width == 64           ? (u64)x0 << 32 | x1
                                      : x0 ^ x1;
}

/* Pair p in the original layout; draws of 64 bits have both words in x0 and x1. */
M_FN m_original_pair
m_draw_pair(const pithp_cuda_random_args *a, const u32 *key, i64 p, u32 *x0, u32 *x1) {
    const m_original_pair at = m_original_pair_of(key, a->words, p);
    *x0 = (u32)at.c0;
    *x1 = at.second_left > 0 ? (u32)at.c1 : 0;
    m_threefry(at.k0, at.k1, x0, x1);
    return at;
}

M_KERNEL(pithp_k_random, pithp_cuda_random_args) {
    if (t >= a->keys * a->pairs)
        return;
    const i64 number = t / a->pairs, p = t % a->pairs, element = number * a->count;
    const i32 draws = a->kind == PITHP_DRAW_INTEGERS ? 2 : 1;
    u32 keys[2][2] = {{a->key[2 * number], a->key[2 * number + 1]}, {0, 0}};
    u32 x0[2] = {0, 0}, x1[2] = {0, 0};
    u64 wide[2] = {0, 0};
    i64 first = 0, second = 0, second_left = 0;
    for (i32 k = 0; k < draws && draws == 2; k++)
        m_split_of_two(a->key + 2 * number, a->original, (u32)k, keys[k]);
    for (i32 k = 0; k < draws; k++) {
        if (!a->original) {
            wide[k] = m_draw_by_count(a, keys[k], p);
        } else if (a->width == 64 && a->words > M_STRETCH) {
            wide[k] = (u64)m_original_word_of_many(keys[k], a->words, p) << 32 |
                      m_original_word_of_many(keys[k], a->words, a->count + p);
        } else {
            const m_original_pair at = m_draw_pair(a, keys[k], p, &x0[k], &x1[k]);
            wide[k] = (u64)x0[k] << 32 | x1[k];
            first = at.first;
            second = at.second;
            second_left = at.second_left;
        }
    }
    if (!a->original || a->width == 64) {
        m_store_draw(a, element + p, wide[0], wide[1]);
        return;
    }
    m_store_word(a, element, first, x0[0], x0[1]);
    if (second_left > 0)
        m_store_word(a, element, second, x1[0], x1[1]);
}

M_KERNEL(pithp_k_threefry, pithp_cuda_threefry_args) {
    if (t >= a->count)
        return;
    const u32 *key = a->key + t * a->key_step;
    u32 x0 = a->counts ? a->counts[2 * t] : 0,
        x1 = a->counts ? a->counts[2 * t + 1] : a->data[t];
    m_threefry(key[0], key[1], &x0, &x1);
    a->to[2 * t] = x0;
    a->to[2 * t + 1] = x1;
}

#endif
