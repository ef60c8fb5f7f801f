/* Faster functions of fast_math, within 4 ulp. Each is one text, so the bits are the same
 * in every lane and in every instruction set with FMA. Without FMA the exact forms are
 * used. The coefficients are near-minimax polynomials, interpolated at Chebyshev nodes.
 */
#ifndef PITH_PROGRAM_HOST_MATH_FAST_H
#define PITH_PROGRAM_HOST_MATH_FAST_H

#include "program/host/math/own.h"

/* ---- sin and cos ---- */

/* x| up to the limits of math.def is reduced to r = x - n pi, |r| <= pi/2. pi is split in
 * three parts (Cody and Waite, 1980), all positive, because otherwise -0 would become 0.
 * The first difference is exact: it is a multiple of the last place of pi's first part,
 * and less than 2. So the result keeps its digits near multiples of pi. cos uses n + 1/2
 * for n.
 */
M_FN f32 fast_sine_f32(f32 x, f32 n) {
    f32 r = m_fused_f32(-n, 0x1.921fb4p+1f, x);
    r = m_fused_f32(-n, 0x1.4442dp-23f, r);
    r = m_fused_f32(-n, 0x1.84698ap-47f, r);
    const f32 z = r * r, z2 = z * z;
    const f32 p0 = m_fused_f32(z, 0x1.111048p-7f, -0x1.555554p-3f),
              p2 = m_fused_f32(z, 0x1.6181b6p-19f, -0x1.9fb4fcp-13f);
    return m_copysign(m_fused_f32(r * z, m_fused_f32(z2, p2, p0), r), r);
}
M_FN f64 fast_sine_f64(f64 x, f64 n) {
    f64 r = m_fused_f64(-n, 0x1.921fb54442d18p+1, x);
    r = m_fused_f64(-n, 0x1.1a62633145c06p-53, r);
    r = m_fused_f64(-n, 0x1.c1cd129024e09p-106, r);
    const f64 z = r * r, z2 = z * z, z4 = z2 * z2;
    const f64 p0 = m_fused_f64(z, 0x1.1111111111107p-7, -0x1.5555555555555p-3),
              p2 = m_fused_f64(z, 0x1.71de3a54566ebp-19, -0x1.a01a01a018aadp-13),
              p4 = m_fused_f64(z, 0x1.6124015ad0130p-33, -0x1.ae6455a1d54fep-26),
              p6 = m_fused_f64(z, 0x1.89a480bfdc4d4p-49, -0x1.ae51389388a0ap-41);
    const f64 low = m_fused_f64(z2, p2, p0), high = m_fused_f64(z2, p6, p4);
    return m_copysign(m_fused_f64(r * z, m_fused_f64(z4, high, low), r), r);
}

/* Adding 1.5 2^23 (2^52) rounds to a whole number; its last bit is the sign. */
M_FN f32 own_fast_sin_f32(f32 x) {
    const f32 sum = m_fused_f32(x, 0x1.45f306p-2f, 0x1.8p23f);
    const f32 y = fast_sine_f32(x, sum - 0x1.8p23f);
    return m_from_bits_u32(m_bits_f32(y) ^ m_bits_f32(sum) << 31);
}
M_FN f64 own_fast_sin_f64(f64 x) {
    const f64 sum = m_fused_f64(x, 0x1.45f306dc9c883p-2, 0x1.8p52);
    const f64 y = fast_sine_f64(x, sum - 0x1.8p52);
    return m_from_bits_u64(m_bits_f64(y) ^ m_bits_f64(sum) << 63);
}
M_FN f32 own_fast_cos_f32(f32 x) {
    const f32 sum = m_fused_f32(x, 0x1.45f306p-2f, -0.5f) + 0x1.8p23f;
    const f32 y = fast_sine_f32(x, sum - 0x1.8p23f + 0.5f);
    return m_from_bits_u32(m_bits_f32(y) ^ (m_bits_f32(sum) + 1) << 31);
}
M_FN f64 own_fast_cos_f64(f64 x) {
    const f64 sum = m_fused_f64(x, 0x1.45f306dc9c883p-2, -0.5) + 0x1.8p52;
    const f64 y = fast_sine_f64(x, sum - 0x1.8p52 + 0.5);
    return m_from_bits_u64(m_bits_f64(y) ^ (m_bits_f64(sum) + 1) << 63);
}

/* ---- tanh ---- */

/* With tanh(|x| / 2) = u / e, tanh |x| = 2 u e / (e^2 + u^2) by the addition theorem. u
 * and e are polynomials of x^2, u times |x|: near-minimax rational functions by Lawson's
 * iteration. A relative error of u / e is 1 / cosh(x) times that of the result, so fewer
 * terms suffice than for tanh itself. The remaining errors are roundings of u, e, their
 * product and the sum of squares. They are smallest for numbers just below a power of
 * two, and matter most for results that are; so u / |x| begins with 119/128, and e with
 * twice that. |x| is clamped to a number whose tanh, and the quotient too, is 1.
 *
 * One text serves scalars and vectors, because operators of C and of gcc's vectors are
 * alike. V: the type; I: the type of the bits; NUMBER and BITS: conversion between them;
 * FUSED: x y + z; FILL: all lanes a number; LEAST: the lesser of two, the second if it is
 * NaN. They declare `result`. */
#define FAST_TANH_f32(V, I, NUMBER, BITS, FUSED, FILL, LEAST)                            \
    const V y = LEAST(FILL(9.02f), NUMBER(BITS(x) & 0x7fffffffu)), z = y * y;            \
    const V u0 = FUSED(z, FILL(0x1.c1348p-14f), FILL(0x1.c6334p-6f));                    \
    const V u = y * FUSED(z, u0, FILL(0x1.dcp-1f));                                      \
    const V e0 = FUSED(z, FILL(0x1.37787p-19f), FILL(0x1.2730ccp-9f));                   \
    const V e = FUSED(z, FUSED(z, e0, FILL(0x1.aee224p-3f)), FILL(0x1.dcp+0f));          \
    const V quotient = (u + u) * e / FUSED(e, e, u * u);                                 \
    const V result = NUMBER(BITS(LEAST(FILL(1.0f), quotient)) | (BITS(x) & 0x80000000u))

#define FAST_TANH_f64(V, I, NUMBER, BITS, FUSED, FILL, LEAST)                            \
    const V y = LEAST(FILL(19.171875), NUMBER(BITS(x) & 0x7fffffffffffffffu));           \
    const V z = y * y, z2 = z * z;                                                       \
    const V u0 = FUSED(z, FILL(0x1.27c7b78a9e3b1p-12), FILL(0x1.1262017838e52p-5));      \
    const V u2 = FUSED(z, FILL(0x1.9d7d27498e054p-31), FILL(0x1.aa2607dc22ee4p-21));     \
    const V u4 = FUSED(z2, FUSED(z2, FILL(0x1.7e69f97c763f4p-43), u2), u0);              \
    const V u = y * FUSED(z, u4, FILL(0x1.dcp-1));                                       \
    const V e0 = FUSED(z, FILL(0x1.d324c9fb6cfedp-9), FILL(0x1.c686561171c79p-3));       \
    const V e2 = FUSED(z, FILL(0x1.e5d0e484cc351p-26), FILL(0x1.1e0876abb3ef9p-16));     \
    const V e4 = FUSED(z, FILL(0x1.19605db500f4fp-50), FILL(0x1.f2c0ff02e232dp-37));     \
    const V e = FUSED(z, FUSED(z2, FUSED(z2, e4, e2), e0), FILL(0x1.dcp+0));             \
    const V quotient = (u + u) * e / FUSED(e, e, u * u);                                 \
    const V result =                                                                     \
        NUMBER(BITS(LEAST(FILL(1.0), quotient)) | (BITS(x) & 0x8000000000000000u))

/* ---- pow ---- */

/* For x = 2^k z, with 1/z near c, an entry of a table, and r = z c - 1, log2(x) = k -
 * log2(c) + log2(1 + r) in two numbers (double-double). So is its product with y, of
 * which 2^(n + f) is computed. The first part of -log2(c) has few enough bits that its
 * sum with k is exact. r - r^2/2 is exact in two numbers, too; terms of higher order need
 * no second one.
 *
 * The parameters are those of tanh; LOOK: lanes of a table, by the low bits of an index;
 * SHIFT: signed bits, shifted right, as a number. They declare `power`, and `within`:
 * whether x is a positive normal number, and the result far from overflow. */
#define FAST_POW_f32(V, I, NUMBER, BITS, FUSED, FILL, LOOK, SHIFT)                       \
    const I bits = BITS(x), apart = bits - 0x3f360000u, at = apart >> 18;                \
    const V k = SHIFT(apart, 23);                                                        \
    const V z = NUMBER((apart & 0x007fffffu) + 0x3f360000u);                             \
    const V r = FUSED(z, LOOK(fast_inverse_f32, at), FILL(-1.0f));                       \
    const V c_high = k + LOOK(fast_log_high_f32, at);                                    \
    const V c_low = LOOK(fast_log_low_f32, at), half = r * -0.5f;                        \
    const V u = FUSED(half, r, r), u_low = FUSED(half, r, r - u), r2 = r * r;            \
    const V v = u * 0x1.715476p+0f, v_low = FUSED(u, FILL(0x1.715476p+0f), -v);          \
    const V high = c_high + v, lost = (c_high - high) + v;                               \
    const V p0 = FUSED(r, FILL(-0x1.715476p-2f), FILL(0x1.ec709cp-2f));                  \
    const V p2 = FUSED(r, FILL(-0x1.ecc1d2p-3f), FILL(0x1.27a52cp-2f));                  \
    const V v_rest = FUSED(u_low, FILL(0x1.715476p+0f), v_low);                          \
    const V rest = lost + (FUSED(u, FILL(0x1.4ae0cp-26f), v_rest) + c_low);              \
    const V low = FUSED(r2 * r, FUSED(r2, p2, p0), rest);                                \
    const V t = y * high, t_low = FUSED(y, low, FUSED(y, high, -t));                     \
    const V sum = t + 0x1.8p23f, f = (t - (sum - 0x1.8p23f)) + t_low;                    \
    const V f2 = f * f, f4 = f2 * f2;                                                    \
    const V e0 = FUSED(f, FILL(0x1.62e43p-1f), FILL(1.0f));                              \
    const V e2 = FUSED(f, FILL(0x1.c6aec6p-5f), FILL(0x1.ebfbep-3f));                    \
    const V e4 = FUSED(f, FILL(0x1.5f4c46p-10f), FILL(0x1.3b2a18p-7f));                  \
    const V e = FUSED(f4, FUSED(f2, FILL(0x1.44427p-13f), e4), FUSED(f2, e2, e0));       \
    const V power = NUMBER(BITS(e) + (BITS(sum) << 23));                                 \
    const I within = (I)((bits - 0x00800000u < 0x7f000000u) &                            \
                         ((BITS(t) & 0x7fffffffu) < 0x42f80000u)) /* 124 */

#define FAST_POW_f64(V, I, NUMBER, BITS, FUSED, FILL, LOOK, SHIFT)                       \
    const I bits = BITS(x), apart = bits - 0x3fe6800000000000u, at = apart >> 48;        \
    const V k = SHIFT(apart, 52);                                                        \
    const V z = NUMBER((apart & 0x000fffffffffffffu) + 0x3fe6800000000000u);             \
    const V c = LOOK(fast_inverse_f64, at), zc = z * c, zc_low = FUSED(z, c, -zc);       \
    const V r = (zc - 1) + zc_low, r_low = ((zc - 1) - r) + zc_low;                      \
    const V c_high = k + LOOK(fast_log_high_f64, at);                                    \
    const V c_low = LOOK(fast_log_low_f64, at), half = r * -0.5;                         \
    const V u = FUSED(half, r, r), u_lost = FUSED(half, r, r - u) + r_low;               \
    const V u_low = FUSED(-r, r_low, u_lost), r2 = r * r, r4 = r2 * r2;                  \
    const V v = u * 0x1.71547652b82fep+0,                                                \
            v_low = FUSED(u, FILL(0x1.71547652b82fep+0), -v);                            \
    const V high = c_high + v, lost = (c_high - high) + v;                               \
    const V p0 = FUSED(r, FILL(-0x1.71547652b82fep-2), FILL(0x1.ec709dc3a03fdp-2));      \
    const V p2 = FUSED(r, FILL(-0x1.ec709dc3a01d8p-3), FILL(0x1.2776c50ef9ad7p-2));      \
    const V p4 = FUSED(r, FILL(-0x1.715476568000ep-3), FILL(0x1.a61762abc02b4p-3));      \
    const V p6 = FUSED(r, FILL(-0x1.27769fc719e72p-3), FILL(0x1.484aebb1ef899p-3));      \
    const V p8 = FUSED(r, FILL(-0x1.ed9ca49e642e7p-4), FILL(0x1.0d3c1183a21b8p-3));      \
    const V p = FUSED(r4, FUSED(r4, p8, FUSED(r2, p6, p4)), FUSED(r2, p2, p0));          \
    const V v_rest = FUSED(u_low, FILL(0x1.71547652b82fep+0), v_low);                    \
    const V rest = lost + (FUSED(u, FILL(0x1.777d0ffda0d24p-56), v_rest) + c_low);       \
    const V low = FUSED(r2 * r, p, rest);                                                \
    const V t = y * high, t_low = FUSED(y, low, FUSED(y, high, -t));                     \
    const V sum = t + 0x1.8p52, f = (t - (sum - 0x1.8p52)) + t_low;                      \
    const V f2 = f * f, f4 = f2 * f2;                                                    \
    const V e0 = FUSED(f, FILL(0x1.62e42fefa39efp-1), FILL(1.0));                        \
    const V e2 = FUSED(f, FILL(0x1.c6b08d704a0c6p-5), FILL(0x1.ebfbdff82c5aep-3));       \
    const V e4 = FUSED(f, FILL(0x1.5d87fe78a3f9cp-10), FILL(0x1.3b2ab6fb9f1a5p-7));      \
    const V e6 = FUSED(f, FILL(0x1.ffcbfc6da6ed1p-17), FILL(0x1.430913112c61bp-13));     \
    const V e8 = FUSED(f, FILL(0x1.b524ebd13a55fp-24), FILL(0x1.62bfc2c86d700p-20));     \
    const V e10 = FUSED(f, FILL(0x1.e9ec1fcb69a7fp-32), FILL(0x1.e6228acd1c6e5p-28));    \
    const V e_low = FUSED(f4, FUSED(f2, e6, e4), FUSED(f2, e2, e0));                     \
    const V e = FUSED(f4 * f4, FUSED(f2, e10, e8), e_low);                               \
    const V power = NUMBER(BITS(e) + (BITS(sum) << 52));                                 \
    const I within =                                                                     \
        (I)((bits - 0x0010000000000000u < 0x7fe0000000000000u) &                         \
            ((BITS(t) & 0x7fffffffffffffffu) < 0x408fe00000000000u)) /* 1020 */

/* c, and -log2(c) in two parts, by the leading bits of z, which is from 0.71 to 1.42. In
 * f32 c has few enough bits that r is exact. c is 1 near 1, where k - log2(c) is 0. */
static const f32 fast_inverse_f32[32] = {
    0x1.68p+0f, 0x1.6p+0f, 0x1.58p+0f, 0x1.5p+0f,  0x1.48p+0f, 0x1.4p+0f,  0x1.38p+0f,
    0x1.38p+0f, 0x1.3p+0f, 0x1.28p+0f, 0x1.28p+0f, 0x1.2p+0f,  0x1.18p+0f, 0x1.18p+0f,
    0x1.1p+0f,  0x1.1p+0f, 0x1.08p+0f, 0x1.08p+0f, 0x1.0p+0f,  0x1.fp-1f,  0x1.ep-1f,
    0x1.dp-1f,  0x1.cp-1f, 0x1.cp-1f,  0x1.bp-1f,  0x1.ap-1f,  0x1.ap-1f,  0x1.9p-1f,
    0x1.8p-1f,  0x1.8p-1f, 0x1.7p-1f,  0x1.7p-1f};
static const f32 fast_log_high_f32[32] = {
    -0x1.f7a8p-2f, -0x1.d674p-2f, -0x1.b48p-2f,  -0x1.91bcp-2f, -0x1.6e24p-2f,
    -0x1.49a8p-2f, -0x1.244p-2f,  -0x1.244p-2f,  -0x1.fbcp-3f,  -0x1.acf8p-3f,
    -0x1.acf8p-3f, -0x1.5cp-3f,   -0x1.08c8p-3f, -0x1.08c8p-3f, -0x1.664p-4f,
    -0x1.664p-4f,  -0x1.6bap-5f,  -0x1.6bap-5f,  0x0.0p+0f,     0x1.774p-5f,
    0x1.7d6p-4f,   0x1.22d8p-3f,  0x1.8a88p-3f,  0x1.8a88p-3f,  0x1.f6p-3f,
    0x1.32cp-2f,   0x1.32cp-2f,   0x1.6cbp-2f,   0x1.a9p-2f,    0x1.a9p-2f,
    0x1.e7ep-2f,   0x1.e7ep-2f};
static const f32 fast_log_low_f32[32] = {
    -0x1.5a32c2p-20f, -0x1.3e032ep-18f, 0x1.408c78p-18f,  0x1.5db83ap-20f,
    0x1.e3263p-18f,   0x1.ed0cbap-20f,  -0x1.eac382p-20f, -0x1.eac382p-20f,
    -0x1.6b9026p-19f, 0x1.0e9258p-18f,  0x1.0e9258p-18f,  -0x1.a39fbep-19f,
    0x1.3b992cp-18f,  0x1.3b992cp-18f,  0x1.20a6dep-21f,  0x1.20a6dep-21f,
    -0x1.a6eb1ep-18f, -0x1.a6eb1ep-18f, 0x0.0p+0f,        -0x1.acd89ap-19f,
    0x1.25b3eep-22f,  0x1.6e155ap-18f,  0x1.80abfcp-19f,  0x1.80abfcp-19f,
    -0x1.3ab7cep-18f, -0x1.1c8f12p-22f, -0x1.1c8f12p-22f, 0x1.ed0cbap-19f,
    -0x1.a39fbep-20f, -0x1.a39fbep-20f, -0x1.40358ep-19f, -0x1.40358ep-19f};
static const f64 fast_inverse_f64[16] = {0x1.64p+0, 0x1.54p+0, 0x1.48p+0, 0x1.3cp+0,
                                         0x1.3p+0,  0x1.24p+0, 0x1.1cp+0, 0x1.1p+0,
                                         0x1.08p+0, 0x1.0p+0,  0x1.ep-1,  0x1.c8p-1,
                                         0x1.bp-1,  0x1.98p-1, 0x1.88p-1, 0x1.78p-1};
static const f64 fast_log_high_f64[16] = {
    -0x1.e726aa1e74p-2, -0x1.a33760a7f8p-2, -0x1.6e221cd9dp-2,  -0x1.37124cea4cp-2,
    -0x1.fbc16b9028p-3, -0x1.84c2bd02fp-3,  -0x1.32ae9e2788p-3, -0x1.663f6fac9p-4,
    -0x1.6bad3758ep-5,  0x0.0p+0,           0x1.7d60496dp-4,    0x1.563dc29ff8p-3,
    0x1.f5fd8a906p-3,   0x1.4f6fbb2cecp-2,  0x1.8a8980abfcp-2,  0x1.c819dc2d44p-2};
static const f64 fast_log_low_f64[16] = {-0x1.4d20c519e12f4p-42, 0x1.faf6283bf2868p-42,
                                         -0x1.9bcaf1aa4168ap-43, -0x1.bd9b32266d92cp-43,
                                         0x1.7f5dc57266758p-43,  -0x1.d97ee9124773bp-46,
                                         -0x1.70d0fa8f9603bp-42, -0x1.3167ccc538261p-44,
                                         -0x1.fb0e626c0de13p-42, 0x0.0p+0,
                                         -0x1.12ce6312ebb82p-42, 0x1.6590643906f2ap-42,
                                         0x1.f1a4847f7b278p-42,  0x1.661e393a16b95p-44,
                                         -0x1.66cccab240e9p-45,  0x1.fe43895d8ac46p-42};

#endif
