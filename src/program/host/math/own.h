/* Our own functions, several times faster than SLEEF's and as accurate. One branch-free
 * text in plain C serves the scalar forms (math.c) and, in loops over lanes, the vector
 * forms (math_simd.c), so all give the same bits. The coefficients are near-minimax
 * polynomials, interpolated at Chebyshev nodes. */
#ifndef PITH_PROGRAM_HOST_MATH_OWN_H
#define PITH_PROGRAM_HOST_MATH_OWN_H

#include "program/source/prologue_host.h"

/* ---- tanh ---- */

/* With |x| = n log(2) / 2 + r and 2^n = scale, by the addition theorem,
 *
 *     tanh |x| = (scale - 1 + (scale + 1) w) / (scale + 1 + (scale - 1) w)
 *
 * where w = tanh(r) = r + r^3 P(r^2). n is chosen so that no sum is below half of its
 * larger term. Both sums are computed with r alone first. Their rounding errors, and that
 * of r, are added to the rest of w and correct the sums and the quotient. So are the
 * ones, which are lost in a large scale when the quotient is near 1. tanh is 1 beyond
 * `most`. */
#define OWN_TANH(F, most, terms, power_of_two)                                           \
    M_FN F own_tanh_##F(F x) {                                                           \
        const F size = m_abs(x);                                                         \
        const F n = m_rint(m_fused_##F(size, 2 * LOG2_E_##F, (F)-0.04));                 \
        const F above = m_fused_##F(-n, LN2_HIGH_##F / 2, size);                         \
        const F r = m_fused_##F(-n, LN2_LOW_##F / 2, above);                             \
        const F r_low = m_fused_##F(-n, LN2_LOW_##F / 2, above - r);                     \
        const F z = r * r, rest = m_fused_##F(r * z, terms(z), r_low);                   \
        const F scale = power_of_two(n), less = scale - 1, more = scale + 1;             \
        const F top = m_fused_##F(more, r, less), bottom = m_fused_##F(less, r, more);   \
        const F top_loss = less - top + (more - less - 2);                               \
        const F top_low = m_fused_##F(more, rest, m_fused_##F(more, r, top_loss));       \
        const F bottom_low =                                                             \
            m_fused_##F(less, rest, m_fused_##F(less, r, more - bottom));                \
        const F inverse = 1 / (bottom + bottom_low);                                     \
        const F quotient = (top + top_low) * inverse;                                    \
        const F left = m_fused_##F(-quotient, bottom, top) +                             \
                       m_fused_##F(-quotient, bottom_low, top_low);                      \
        const F result = m_fused_##F(left, inverse, quotient);                           \
        return m_copysign(size > most ? 1 : result, x);                                  \
    }

#define LOG2_E_f32   0x1.715476p+0f
#define LN2_HIGH_f32 0x1.62e0p-1f
#define LN2_LOW_f32  0x1.0bfbe8p-15f
#define LOG2_E_f64   0x1.71547652b82fep+0
#define LN2_HIGH_f64 0x1.62e42fefa3000p-1
#define LN2_LOW_f64  0x1.3de6af278ece6p-42

/* (tanh r - r) / r^3 of z = r^2, for |r| up to 0.27 log(2) */
M_FN f32 own_tanh_terms_f32(f32 z) {
    f32 p = -0x1.b0d3acp-5f;
    p = m_fused_f32(p, z, 0x1.11094ap-3f);
    return m_fused_f32(p, z, -0x1.555554p-2f);
}
M_FN f64 own_tanh_terms_f64(f64 z) {
    const f64 z2 = z * z;
    const f64 p0 = m_fused_f64(z, 0x1.1111111110f4dp-3, -0x1.5555555555555p-2),
              p2 = m_fused_f64(z, 0x1.664f47755e377p-6, -0x1.ba1ba1b952459p-5),
              p4 = m_fused_f64(z, 0x1.d663143467286p-9, -0x1.226d898f2f79fp-7);
    const f64 high = m_fused_f64(z2, -0x1.6b33f0f0a740ep-10, p4);
    return m_fused_f64(z2, m_fused_f64(z2, high, p2), p0);
}

/* 2^n of a whole number in the range of exponents. Adding 1.5 2^23 (2^52) puts it in the
 * low bits. */
M_FN f32 own_power_of_two_f32(f32 n) {
    return m_from_bits_u32((m_bits_f32(n + 0x1.8p23f) + 127u) << 23);
}
M_FN f64 own_power_of_two_f64(f64 n) {
    return m_from_bits_u64((m_bits_f64(n + 0x1.8p52) + 1023u) << 52);
}

OWN_TANH(f32, 10, own_tanh_terms_f32, own_power_of_two_f32)
OWN_TANH(f64, 20, own_tanh_terms_f64, own_power_of_two_f64)

/* ---- exp of f64, if the result is a normal number ---- */

/* SLEEF's algorithm with FMA (its coefficients; Boost Software License 1.0), operation by
 * operation, so that the bits are the same. It omits the treatment of results that are
 * not normal numbers: |x| is at most 708. Adding 1.5 2^52 rounds to a whole number and
 * puts it in the low bits. */
M_FN f64 own_exp_f64(f64 x) {
    const f64 sum = x * LOG2_E_f64 + 0x1.8p52, n = sum - 0x1.8p52;
    const f64 r = m_fused_f64(-n, LN2_LOW_f64, m_fused_f64(-n, LN2_HIGH_f64, x));
    const f64 r2 = r * r, r4 = r2 * r2, r8 = r4 * r4;
    const f64 p0 = m_fused_f64(r, 0x1.55555555554f9p-5, 0x1.555555555555ep-3),
              p2 = m_fused_f64(r, 0x1.6c16c16c3396bp-10, 0x1.111111110e7a5p-7),
              p4 = m_fused_f64(r, 0x1.a01a0127f883ap-16, 0x1.a01a01b4421fdp-13),
              p6 = m_fused_f64(r, 0x1.27e5d38a23654p-22, 0x1.71ddef633fb47p-19),
              p8 = m_fused_f64(r, 0x1.1e0c670afff06p-29, 0x1.af6c36f75740cp-26);
    const f64 low = m_fused_f64(r2, p2, p0), high = m_fused_f64(r2, p6, p4);
    const f64 terms = m_fused_f64(r8, p8, m_fused_f64(r4, high, low));
    const f64 power = m_fused_f64(m_fused_f64(m_fused_f64(terms, r, 0.5), r, 1), r, 1);
    return m_from_bits_u64(m_bits_f64(power) + (m_bits_f64(sum) << 52));
}

/* ---- pow of f32, if both are finite, and x is not negative or y is whole ---- */

/* log2(1 + f) / f for 1 + f from sqrt(1/2) to sqrt(2) */
M_FN f64 own_log2_terms(f64 f) {
    f64 p = 0x1.f8fc0c7e68eccp-5;
    p = m_fused_f64(p, f, -0x1.f4643d477215bp-4);
    p = m_fused_f64(p, f, 0x1.028b0cf2bd3acp-3);
    p = m_fused_f64(p, f, -0x1.eb801233e0e7bp-4);
    p = m_fused_f64(p, f, 0x1.08902b3316301p-3);
    p = m_fused_f64(p, f, -0x1.27173589987a4p-3);
    p = m_fused_f64(p, f, 0x1.4889dfba62ab4p-3);
    p = m_fused_f64(p, f, -0x1.715c98b447c7ep-3);
    p = m_fused_f64(p, f, 0x1.a61572e261331p-3);
    p = m_fused_f64(p, f, -0x1.ec705b16a5f79p-3);
    p = m_fused_f64(p, f, 0x1.2776c8be391a3p-2);
    p = m_fused_f64(p, f, -0x1.715476be132bcp-2);
    p = m_fused_f64(p, f, 0x1.ec709dbe3198bp-2);
    p = m_fused_f64(p, f, -0x1.7154765288fefp-1);
    return m_fused_f64(p, f, 0x1.71547652b8881p+0);
}

/* 2^r for |r| up to 1/2 */
M_FN f64 own_exp2_terms(f64 r) {
    f64 p = 0x1.00c0e4e15189cp-16;
    p = m_fused_f64(p, r, 0x1.446c79efd4834p-13);
    p = m_fused_f64(p, r, 0x1.5d877598350dep-10);
    p = m_fused_f64(p, r, 0x1.3b29d8bb0b97ep-7);
    p = m_fused_f64(p, r, 0x1.c6b08da70cce3p-5);
    p = m_fused_f64(p, r, 0x1.ebfbe0aa03df0p-3);
    p = m_fused_f64(p, r, 0x1.62e42fef9cc69p-1);
    return m_fused_f64(p, r, 0x1.ffffffffa7135p-1);
}

M_FN i32 own_pow_takes(f32 x, f32 y) {
    return (m_abs(x) <= 0x1.fffffep127f) & (m_abs(y) <= 0x1.fffffep127f) &
           ((x >= 0) | (y == m_rint(y)));
}

/* 2^(y log2(size)) in f64, rounded once; every size except 0 is a normal f64. Odd powers
 * keep the sign. */
M_FN f32 own_pow_f32(f32 x, f32 y) {
    const u64 least = 0x3FE6A09E667F3BCD; /* sqrt(1/2), mapped to 1/2 */
    const f32 size = m_abs(x);
    const u64 apart = m_bits_f64((f64)size) - least + 0x3FF0000000000000;
    /* the exponent, plus 1023, in the low bits of 2^52 + it */
    const f64 k =
        m_from_bits_u64(apart >> 52 | 0x4330000000000000) - 0x1.00000000003ffp52;
    const f64 f = m_from_bits_u64((apart & 0x000FFFFFFFFFFFFF) + least) - 1;
    const f64 log = m_fused_f64(f, own_log2_terms(f), k);
    const f64 t = (f64)y * (size == 0 ? -0x1p200 : log);
    const f64 low = t < -160 ? -160 : t, within = low > 130 ? 130 : low;
    const f64 n = m_rint(within);
    const f32 power = (f32)(own_exp2_terms(within - n) * own_power_of_two_f64(n));
    const f32 half = y * 0.5f;
    const i32 odd = (y == m_rint(y)) & (half != m_rint(half));
    return odd ? m_copysign(power, x) : power;
}

#endif
