/* Argument reduction of sin, cos and tan by Payne and Hanek ("Radian reduction for
 * trigonometric functions", 1983). The product of the argument and 2/pi is computed in
 * integers; its integer part is the quadrant. The remainder is small, so one or two terms
 * of the series give the result. No step depends on FMA, so all processors agree. */
#include "program/host/math/angle.h"

__extension__ typedef unsigned __int128 u128;

/* Remainder of |x| modulo pi/2 to nearest, as high + low, and the quadrant. */
typedef struct remainder {
    f64 high, low;
    u64 quadrant; /* modulo 4 */
} remainder;

static remainder reduce(f64 x) {
    /* 2/pi in units of 2^-192, least significant digits first. */
    static const u64 digits[3] = {0xdb6295993c439041u, 0xfc2757d1f534ddc0u,
                                  0xa2f9836e4e441529u};
    const u64 bits = m_bits_f64(m_abs(x));
    const u64 mantissa = (bits & 0xfffffffffffffu) | 0x10000000000000u;
    const int exponent = (int)(bits >> 52) - 1075; /* of the mantissa's last bit */

    /* product[1] to [3]: bits 64 to 255 of mantissa times digits. */
    u64 product[4];
    u128 sum = 0;
    for (int i = 0; i < 3; i++) {
        sum += (u128)mantissa * digits[i];
        product[i] = (u64)sum;
        sum >>= 64;
    }
    product[3] = (u64)sum;

    /* The binary point is inside product[3], so 128 bits of the fraction are exact. */
    const int shift = -exponent; /* 6 to 51 */
    u64 quadrant = product[3] >> shift;
    const u64 upper = product[2] >> shift | product[3] << (64 - shift);
    const u64 lower = product[1] >> shift | product[2] << (64 - shift);
    u128 fraction = (u128)upper << 64 | lower;
    const int negative = upper >> 63 != 0;
    if (negative) {
        quadrant++;
        fraction = -fraction;
    }
    int zeros = 0; /* about 20 to 62 leading bits: the digits that cancelled */
    for (; !(fraction >> 127); zeros++)
        fraction <<= 1;
    const f64 unit = m_from_bits_u64((u64)(1023 - 128 - zeros) << 52);
    f64 high = (f64)(u64)(fraction >> 75) * 0x1p75 * unit;
    f64 low = (f64)((u64)(fraction >> 22) & 0x1fffffffffffffu) * 0x1p22 * unit;

    const f64 right_angle = 0x1.921fb54442d18p+0, right_angle_low = 0x1.1a62633145c07p-54;
    const f64 rest = high * right_angle_low;
    pithp_multiply_exactly(&high, &low, right_angle);
    low += rest;
    return (remainder){negative ? -high : high, negative ? -low : low, quadrant};
}

static f64 small_sin(remainder r) {
    return r.high + (r.low - r.high * r.high * r.high / 6);
}

f64 pithp_angle_sin(f64 x) {
    const remainder r = reduce(x);
    const f64 y = small_sin(r);
    const int negative = (r.quadrant & 2) != 0;
    return negative != (x < 0) ? -y : y;
}

f64 pithp_angle_cos(f64 x) {
    const remainder r = reduce(x);
    const f64 y = small_sin(r);
    return r.quadrant & 2 ? y : -y;
}

f64 pithp_angle_tan(f64 x) {
    const remainder r = reduce(x);
    const f64 rest = r.low + r.high * r.high * r.high / 3;
    f64 y = r.high + rest;
    if (r.quadrant &
        1) { /* -1 / (high + rest), corrected for the rounding of the quotient */
        const f64 quotient = -1 / r.high;
        f64 product = quotient, error = 0;
        pithp_multiply_exactly(&product, &error, r.high);
        y = quotient + (-1 - product - error - quotient * rest) / r.high;
    }
    return x < 0 ? -y : y;
}
