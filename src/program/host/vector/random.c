/* Random numbers on the host: blocks of Threefry words in cache, then distributions. An
 * element depends only on its key and its index. */
#include "program/host/vector/random.h"

#include "program/host/vector/vector.h"
#include "program/source/dtype_switch.h"
#include "program/source/threefry.h"

#include <string.h>

#define SAME_NUMBER(name, NAME, ...)                                                     \
    _Static_assert((int)M_DTYPE_##NAME == PITH_##NAME, "number of " #name " in texts");
PITH_DTYPE_LIST(SAME_NUMBER)

enum { BLOCK = 512 }; /* pairs */

/* The words of a block of pairs, and 64-bit draws made from them. */
typedef struct words {
    _Alignas(64) u32 y0[BLOCK];
    _Alignas(64) u32 y1[BLOCK];
    _Alignas(64) u64 wide[BLOCK];
} words;

/* ---- Words ---- */

/* From counts (c0 + j, c1 + j) with step 1, (c0, c1 + j) with step 0. */
static void fill_pairs(words *to, u32 k0, u32 k1, u32 c0, u32 step, u32 c1, int64_t n) {
    u32 *y0 = to->y0, *y1 = to->y1;
    const u32 mask = 0u - step;
    PITHP_SIMD
    for (int64_t j = 0; j < n; j++) {
        u32 a = c0 + ((u32)j & mask), b = c1 + (u32)j;
        m_threefry(k0, k1, &a, &b);
        y0[j] = a;
        y1[j] = b;
    }
}

/* Both words of each count (high, low + j), combined into one. */
static void fill_mixed(u32 *to, u32 k0, u32 k1, u32 high, u32 low, int64_t n) {
    PITHP_SIMD
    for (int64_t j = 0; j < n; j++) {
        u32 a = high, b = low + (u32)j;
        m_threefry(k0, k1, &a, &b);
        to[j] = a ^ b;
    }
}

static void widen(words *w, int64_t n) {
    PITHP_SIMD
    for (int64_t j = 0; j < n; j++)
        w->wide[j] = (u64)w->y0[j] << 32 | w->y1[j];
}

/* Keys: the first word comes first in memory. */
static void interleave(words *w, int64_t n) {
    PITHP_SIMD
    for (int64_t j = 0; j < n; j++)
        w->wide[j] = (u64)w->y1[j] << 32 | w->y0[j];
}

static void narrow_u16(void *to, const u32 *from, int64_t n) {
    u16 *d = to;
    PITHP_SIMD
    for (int64_t j = 0; j < n; j++)
        d[j] = (u16)from[j];
}

static void narrow_u8(void *to, const u32 *from, int64_t n) {
    u8 *d = to;
    PITHP_SIMD
    for (int64_t j = 0; j < n; j++)
        d[j] = (u8)from[j];
}

/* ---- From draws to elements ---- */

#define UNIFORM(dt, draw)                                                                \
    static void uniform_##dt(const pithp_cuda_random_args *a, dt *d, const draw *bits,   \
                             int64_t n) {                                                \
        const T_##dt low = (T_##dt)a->low, scale = (T_##dt)a->scale;                     \
        PITHP_SIMD                                                                       \
        for (int64_t j = 0; j < n; j++) {                                                \
            const T_##dt x = m_unit_##dt(bits[j]) * scale + low;                         \
            d[j] = STORE_##dt(x > low ? x : low);                                        \
        }                                                                                \
    }                                                                                    \
    static void normal_##dt(const pithp_cuda_random_args *a, dt *d, const draw *bits,    \
                            int64_t n) {                                                 \
        const T_##dt low = (T_##dt)a->low, scale = (T_##dt)a->scale;                     \
        PITHP_SIMD                                                                       \
        for (int64_t j = 0; j < n; j++) {                                                \
            const T_##dt x = m_unit_##dt(bits[j]) * scale + low;                         \
            const T_##dt u = LOAD_##dt(STORE_##dt(x > low ? x : low));                   \
            d[j] = STORE_##dt(m_erf_inv(u) * (T_##dt)0x1.6a09e667f3bcdp+0);              \
        }                                                                                \
    }
UNIFORM(f16, u16)
UNIFORM(bf16, u8)
UNIFORM(f32, u32)
UNIFORM(f64, u64)

#define INTEGERS(dt, draw)                                                               \
    static void integers_##dt(const pithp_cuda_random_args *a, dt *d,                    \
                              const draw *higher, const draw *lower, int64_t n) {        \
        const draw span = (draw)a->span, multiplier = (draw)a->multiplier,               \
                   least = (draw)a->least;                                               \
        for (int64_t j = 0; j < n; j++)                                                  \
            d[j] = (dt)(least + m_within_##draw(higher[j], lower[j], multiplier, span)); \
    }
INTEGERS(u8, u32)
INTEGERS(u16, u32)
INTEGERS(u32, u32)
INTEGERS(u64, u64)

static void integers_unbiased(const pithp_cuda_random_args *a,
                              int64_t element,
                              const void *draws,
                              const void *second,
                              int64_t n) {
    const u64 *wide[2] = {draws, second};
    const u32 *narrow[2] = {draws, second};
    for (int64_t j = 0; j < n; j++) {
        const u64 x = a->width == 64
                          ? m_unbiased(a, element + j, wide[0][j], wide[1][j])
                          : m_unbiased(a, element + j, narrow[0][j], narrow[1][j]);
        m_store_any_unsigned(a->to, element + j, a->dtype, x + a->least);
    }
}

/* n elements from draws of the width; integers need a second draw each. */
static void finish(const pithp_cuda_random_args *a,
                   int64_t element,
                   const void *draws,
                   const void *second,
                   int64_t n) {
    void *to = (char *)a->to + element * a->size;
    const pith_dtype dtype = (pith_dtype)a->dtype;
    if (a->kind == PITHP_DRAW_BITS || a->kind == PITHP_DRAW_KEYS) {
        memcpy(to, draws, (size_t)(n * a->size));
    } else if (a->kind == PITHP_DRAW_INTEGERS) {
        if (a->unbiased)
            integers_unbiased(a, element, draws, second, n);
        else if (a->size == 8)
            integers_u64(a, to, draws, second, n);
        else if (a->size == 4)
            integers_u32(a, to, draws, second, n);
        else if (a->size == 2)
            integers_u16(a, to, draws, second, n);
        else
            integers_u8(a, to, draws, second, n);
    } else {
        const bool uniform = a->kind == PITHP_DRAW_UNIFORM;
        if (dtype == PITH_F64)
            (uniform ? uniform_f64 : normal_f64)(a, to, draws, n);
        else if (dtype == PITH_F32)
            (uniform ? uniform_f32 : normal_f32)(a, to, draws, n);
        else if (dtype == PITH_F16)
            (uniform ? uniform_f16 : normal_f16)(a, to, draws, n);
        else
            (uniform ? uniform_bf16 : normal_bf16)(a, to, draws, n);
    }
}

/* ---- Layouts: blocks of at most BLOCK pairs, from pair p of a key on ---- */

/* Keys of the draws: the key itself, or for integers the two keys of its split. */
typedef struct drawing {
    u32 key[2][2];
    int count;
} drawing;

static drawing drawing_of(const pithp_cuda_random_args *a, int64_t number) {
    const u32 *key = a->key + 2 * number;
    drawing d = {{{key[0], key[1]}}, 1};
    if (a->kind == PITHP_DRAW_INTEGERS) {
        m_split_of_two(key, a->original, 0, d.key[0]);
        m_split_of_two(key, a->original, 1, d.key[1]);
        d.count = 2;
    }
    return d;
}

/* Element i has count i, in two words. Returns the number of elements done. */
static int64_t by_counts(const pithp_cuda_random_args *a,
                         const drawing *d,
                         int64_t element,
                         int64_t p,
                         int64_t n) {
    words w[2];
    const u32 high = (u32)((u64)p >> 32), low = (u32)p;
    const int64_t to_carry = ((int64_t)1 << 32) - (int64_t)low;
    n = n < BLOCK ? n : BLOCK;
    n = n < to_carry ? n : to_carry;
    if (a->kind == PITHP_DRAW_BITS && a->width == 32) {
        fill_mixed((u32 *)a->to + element + p, d->key[0][0], d->key[0][1], high, low, n);
        return n;
    }
    const void *draws[2] = {NULL, NULL};
    for (int k = 0; k < d->count; k++) {
        if (a->width == 64) {
            fill_pairs(&w[k], d->key[k][0], d->key[k][1], high, 0, low, n);
            (a->kind == PITHP_DRAW_KEYS ? interleave : widen)(&w[k], n);
            draws[k] = w[k].wide;
            continue;
        }
        fill_mixed(w[k].y0, d->key[k][0], d->key[k][1], high, low, n);
        draws[k] = w[k].y0;
        if (a->width < 32) {
            (a->width == 16 ? narrow_u16 : narrow_u8)(w[k].y1, w[k].y0, n);
            draws[k] = w[k].y1;
        }
    }
    finish(a, element + p, draws[0], draws[1], n);
    return n;
}

/* Words first, first + 1, ... of a key are its draws; narrow draws share a word. */
static void finish_words(const pithp_cuda_random_args *a,
                         int64_t element,
                         int64_t first,
                         const void *draws,
                         const void *second,
                         int64_t n) {
    const int64_t each = 32 / a->width, begin = first * each;
    const int64_t end = begin + n * each < a->count ? begin + n * each : a->count;
    if (end > begin)
        finish(a, element + begin, draws, second, end - begin);
}

static int64_t by_halves(const pithp_cuda_random_args *a,
                         const drawing *d,
                         int64_t element,
                         int64_t p,
                         int64_t n) {
    words w[2];
    m_original_pair at = {0};
    for (int k = 0; k < d->count; k++) {
        at = m_original_pair_of(d->key[k], a->words, p);
        n = n < BLOCK ? n : BLOCK;
        n = n < at.left ? n : at.left;
        fill_pairs(&w[k], at.k0, at.k1, (u32)at.c0, 1, (u32)at.c1, n);
        if (n > at.second_left) { /* the last pair may lack its second word */
            u32 x0 = (u32)(at.c0 + n - 1), x1 = 0;
            m_threefry(at.k0, at.k1, &x0, &x1);
            w[k].y0[n - 1] = x0;
        }
    }
    if (a->width == 64) {
        for (int k = 0; k < d->count; k++)
            widen(&w[k], n);
        finish(a, element + p, w[0].wide, w[1].wide, n);
        return n;
    }
    finish_words(a, element, at.first, w[0].y0, w[1].y0, n);
    finish_words(a, element, at.second, w[0].y1, w[1].y1,
                 n < at.second_left ? n : at.second_left);
    return n;
}

/* Draws of 64 bits that cross stretches: their words are not pairs. */
static int64_t by_single_words(const pithp_cuda_random_args *a,
                               const drawing *d,
                               int64_t element,
                               int64_t p,
                               int64_t n) {
    words w[2];
    n = n < BLOCK ? n : BLOCK;
    for (int k = 0; k < d->count; k++)
        for (int64_t j = 0; j < n; j++) {
            const u32 high = m_original_word_of_many(d->key[k], a->words, p + j),
                      low =
                          m_original_word_of_many(d->key[k], a->words, a->count + p + j);
            w[k].wide[j] = (u64)high << 32 | low;
        }
    finish(a, element + p, w[0].wide, w[1].wide, n);
    return n;
}

void PITHP_FOR_ISA(pithp_random)(const void *args, int64_t begin, int64_t end) {
    const pithp_cuda_random_args *a = args;
    while (begin < end) {
        const int64_t number = begin / a->pairs, p = begin % a->pairs;
        const int64_t rest = a->pairs - p,
                      stop = begin + (rest < end - begin ? rest : end - begin);
        const drawing d = drawing_of(a, number);
        while (begin < stop) {
            const int64_t at = begin - number * a->pairs, n = stop - begin,
                          element = number * a->count;
            begin += !a->original ? by_counts(a, &d, element, at, n)
                     : a->width == 64 && a->words > M_STRETCH
                         ? by_single_words(a, &d, element, at, n)
                         : by_halves(a, &d, element, at, n);
        }
    }
}
