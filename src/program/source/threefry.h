/* Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror and Shaw, "Parallel random numbers:
 * as easy as 1, 2, 3", 2011), JAX's layouts of counts, and distributions. One source for
 * the host loops and CUDA. Needs a prologue and source/scalar.h. */
#ifndef PITH_PROGRAM_SOURCE_THREEFRY_H
#define PITH_PROGRAM_SOURCE_THREEFRY_H

#include "program/source/args/library.h"

#define M_THREEFRY_ROUND(r)                                                              \
    a += b;                                                                              \
    b = (b << r) | (b >> (32 - r));                                                      \
    b ^= a;
#define M_THREEFRY_ROUNDS(p, q, r, s, k, l, n)                                           \
    M_THREEFRY_ROUND(p)                                                                  \
    M_THREEFRY_ROUND(q)                                                                  \
    M_THREEFRY_ROUND(r)                                                                  \
    M_THREEFRY_ROUND(s)                                                                  \
    a += k;                                                                              \
    b += l + n;

/* Replace the counts x0 and x1 by their words. */
M_FN void m_threefry(u32 k0, u32 k1, u32 *x0, u32 *x1) {
    const u32 k2 = k0 ^ k1 ^ 0x1BD11BDAu;
    u32 a = *x0 + k0, b = *x1 + k1;
    M_THREEFRY_ROUNDS(13, 15, 26, 6, k1, k2, 1u)
    M_THREEFRY_ROUNDS(17, 29, 16, 24, k2, k0, 2u)
    M_THREEFRY_ROUNDS(13, 15, 26, 6, k0, k1, 3u)
    M_THREEFRY_ROUNDS(17, 29, 16, 24, k1, k2, 4u)
    M_THREEFRY_ROUNDS(13, 15, 26, 6, k2, k0, 5u)
    *x0 = a;
    *x1 = b;
}

/* ---- JAX's original layout: the counts 0, 1, ... in two halves ---- */

/* Words of a key come in stretches of this length, each under a derived key, because
 * counts have 32 bits. A full stretch has M_STRETCH_PAIRS pairs. */
#define M_STRETCH       (((i64)1 << 32) - 1)
#define M_STRETCH_PAIRS ((i64)1 << 31)

/* Word w of `words`, at most one stretch: from the counts (w, w + half). The missing
 * second count of the last pair is 0. */
M_FN u32 m_original_word(u32 k0, u32 k1, i64 words, i64 w) {
    const i64 half = (words + 1) / 2, j = w < half ? w : w - half;
    u32 x0 = (u32)j, x1 = (u32)(j + half < words ? j + half : 0);
    m_threefry(k0, k1, &x0, &x1);
    return w < half ? x0 : x1;
}

/* Position of a pair of words. */
typedef struct m_original_pair {
    u32 k0, k1;
    i64 c0, c1;        /* its counts; c1 past the stretch stands for 0 */
    i64 first, second; /* of the key's words */
    i64 left;          /* pairs of the stretch from here on */
    i64 second_left;   /* words from `second` to the end of the stretch */
} m_original_pair;

M_FN m_original_pair m_original_pair_of(const u32 *key, i64 words, i64 p) {
    const i64 stretches = words / M_STRETCH, stretch = p / M_STRETCH_PAIRS;
    const i64 length = stretch < stretches ? M_STRETCH : words - stretches * M_STRETCH;
    const i64 half = (length + 1) / 2, j = p - stretch * M_STRETCH_PAIRS;
    m_original_pair at;
    at.k0 = key[0];
    at.k1 = key[1];
    if (stretches > 0) {
        at.k0 = m_original_word(key[0], key[1], 2 * stretches + 2, 2 * stretch);
        at.k1 = m_original_word(key[0], key[1], 2 * stretches + 2, 2 * stretch + 1);
    }
    at.c0 = j;
    at.c1 = j + half;
    at.first = stretch * M_STRETCH + j;
    at.second = at.first + half;
    at.left = half - j;
    at.second_left = length - half - j;
    return at;
}

/* Word w of a key that draws `words` in total. */
M_FN u32 m_original_word_of_many(const u32 *key, i64 words, i64 w) {
    const i64 stretches = words / M_STRETCH, stretch = w / M_STRETCH;
    const i64 length = stretch < stretches ? M_STRETCH : words - stretches * M_STRETCH;
    const u32 k0 = m_original_word(key[0], key[1], 2 * stretches + 2, 2 * stretch);
    const u32 k1 = m_original_word(key[0], key[1], 2 * stretches + 2, 2 * stretch + 1);
    return m_original_word(k0, k1, length, w - stretch * M_STRETCH);
}

/* Key i (0 or 1) of a split into two. */
M_FN void m_split_of_two(const u32 *key, i32 original, u32 i, u32 *to) {
    if (original) {
        to[0] = m_original_word(key[0], key[1], 4, 2 * (i64)i);
        to[1] = m_original_word(key[0], key[1], 4, 2 * (i64)i + 1);
    } else {
        to[0] = 0;
        to[1] = i;
        m_threefry(key[0], key[1], &to[0], &to[1]);
    }
}

/* ---- From bits to numbers ---- */

/* Uniform in [0, 1): the high bits as a fraction. */
M_FN f32 m_unit_bf16(u8 bits) {
    return (f32)(bits >> 1) * 0x1p-7f;
}
M_FN f32 m_unit_f16(u16 bits) {
    return (f32)(bits >> 6) * 0x1p-10f;
}
M_FN f32 m_unit_f32(u32 bits) {
    return m_from_bits_u32(bits >> 9 | 0x3F800000u) - 1.0f;
}
M_FN f64 m_unit_f64(u64 bits) {
    return m_from_bits_u64(bits >> 12 | (u64)0x3FF << 52) - 1.0;
}

/* Integers of a range by modulo arithmetic. It uses more bits than the range has, so the
 * bias is small. Span 0 is the full range of the width. */
M_FN u32 m_within_u32(u32 higher, u32 lower, u32 multiplier, u32 span) {
    return span ? (higher % span * multiplier + lower % span) % span : lower;
}
M_FN u64 m_within_u64(u64 higher, u64 lower, u64 multiplier, u64 span) {
    return span ? (higher % span * multiplier + lower % span) % span : lower;
}

/* Unbiased integers by rejection: among the words of element i, the first one that is at
 * least 2^width modulo the span. Word j has the key folded with j; the first two are
 * given. */
M_FN u64 m_unbiased(const pithp_cuda_random_args *a, i64 i, u64 first, u64 second) {
    const i64 number = i / a->count, count = i % a->count;
    const u32 *key = a->key + 2 * number;
    u64 word = first;
    for (u32 j = 1; word < a->multiplier; j++) {
        u32 k0 = 0, k1 = j, x0 = (u32)((u64)count >> 32), x1 = (u32)count;
        word = second;
        if (j == 1)
            continue;
        m_threefry(key[0], key[1], &k0, &k1);
        m_threefry(k0, k1, &x0, &x1);
        word = a->width == 64 ? (u64)x0 << 32 | x1 : x0 ^ x1;
    }
    return a->span ? word % a->span : word;
}

#endif
