/* Scalar functions of the operation table: one source for the host loops, cc and NVRTC,
 * in plain C and C++ without includes. Needs a prologue. M_NAME makes the forms overloads
 * in C++, and names for _Generic in C. */
#ifndef PITH_PROGRAM_SOURCE_SCALAR_H
#define PITH_PROGRAM_SOURCE_SCALAR_H

/* Storage formats of floats that are computed in T: values of HALF. */
enum { M_HALF_NONE, M_HALF_F16, M_HALF_BF16 };

/* ---- Combiners of elementwise operations, reductions and scatters ---- */

#define M_SUM(a, b)  ((a) + (b))
#define M_PROD(a, b) ((a) * (b))
#define M_MIN(a, b)  ((a) < (b) ? (a) : (b))
#define M_MAX(a, b)  ((a) > (b) ? (a) : (b))
/* NaN wins, the first of two; of equals the second wins. */
#define M_MIN_REAL(a, b) (((a) < (b)) | ((a) != (a)) ? (a) : (b))
#define M_MAX_REAL(a, b) (((a) > (b)) | ((a) != (a)) ? (a) : (b))
#define M_EITHER(a, b)   ((a) | (b))
#define M_BOTH(a, b)     ((a) & (b))

/* Conversions of an element to an accumulator. */
#define M_SAME(x)    (x)
#define M_AS_F64(x)  ((f64)(x))
#define M_F16_F64(x) ((f64)m_load_f16(x))
#define M_BF_F64(x)  ((f64)m_load_bf16(x))

/* ---- f16 and bf16 as bits ---- */

M_FN f32 m_load_f16(f16 h) {
    const u32 w = (u32)h << 16, sign = w & 0x80000000u, twice = w + w;
    /* A normal number: rebias the exponent. A subnormal: subtract the hidden bit. */
    const f32 normal = m_from_bits_u32((twice >> 4) + (0xE0u << 23)) * 0x1p-112f;
    const f32 subnormal = m_from_bits_u32((twice >> 17) | (126u << 23)) - 0.5f;
    return m_from_bits_u32(
        sign | (twice < (1u << 27) ? m_bits_f32(subnormal) : m_bits_f32(normal)));
}

M_FN f16 m_store_f16(f32 x) {
    const u32 w = m_bits_f32(x), twice = w + w, sign = (w >> 16) & 0x8000u;
    const f32 scaled = (m_from_bits_u32(w & 0x7FFFFFFFu) * 0x1p+112f) * 0x1p-110f;
    /* Adding a number of the right exponent rounds to the 10 fraction bits of f16. */
    const u32 bias =
        (twice & 0xFF000000u) < 0x71000000u ? 0x71000000u : twice & 0xFF000000u;
    const u32 rounded = m_bits_f32(m_from_bits_u32((bias >> 1) + 0x07800000u) + scaled);
    const u32 number = ((rounded >> 13) & 0x7C00u) + (rounded & 0xFFFu);
    const u32 nan = 0x7E00u | ((w >> 13) & 0x3FFu);
    return (f16)(sign | (twice > 0xFF000000u ? nan : number));
}

M_FN f32 m_load_bf16(bf16 h) {
    return m_from_bits_u32((u32)h << 16);
}

M_FN bf16 m_store_bf16(f32 x) {
    const u32 w = m_bits_f32(x);
    const u32 number = (w + 0x7FFFu + ((w >> 16) & 1u)) >> 16;
    return (bf16)((w & 0x7FFFFFFFu) > 0x7F800000u ? (w >> 16) | 0x40u : number);
}

/* x as f32, rounded to odd. Rounding that to f16 or bf16 equals rounding x once. */
M_FN f32 m_round_to_odd(f64 x) {
    const f32 y = (f32)x;
    const f64 back = (f64)y;
    const u32 w = m_bits_f32(y);
    const u32 odd = (w - (u32)(m_abs(back) > m_abs(x))) | 1u;
    return (back != x) & (x == x) ? m_from_bits_u32(odd) : y;
}

/* An integer as f64, rounded to odd if it does not fit. */
M_FN f64 m_odd_u64(u64 x) {
    const u64 cut = (x & ~(u64)2047) | ((u64)((x & 2047) != 0) << 11);
    return (f64)(x >> 53 ? cut : x);
}
M_FN f64 m_odd_i64(i64 x) {
    const u64 size = x < 0 ? 0 - (u64)x : (u64)x;
    return x < 0 ? -m_odd_u64(size) : m_odd_u64(size);
}

/* ---- Conversions: m_to_<dtype>(x) ---- */

/* Truncation with saturation; NaN gives 0. LOW and HIGH are powers of two and so exact.
 */
#define M_TO_INTEGER(I, LOW, HIGH, LEAST, GREATEST)                                      \
    M_FN I M_NAME(m_to_##I, f32)(f32 x) {                                                \
        return x >= HIGH##f ? GREATEST : x > LOW##f ? (I)x : x != x ? 0 : LEAST;         \
    }                                                                                    \
    M_FN I M_NAME(m_to_##I, f64)(f64 x) {                                                \
        return x >= HIGH ? GREATEST : x > LOW ? (I)x : x != x ? 0 : LEAST;               \
    }                                                                                    \
    M_FN I M_NAME(m_to_##I, i32)(i32 x) {                                                \
        return (I)x;                                                                     \
    }                                                                                    \
    M_FN I M_NAME(m_to_##I, u32)(u32 x) {                                                \
        return (I)x;                                                                     \
    }                                                                                    \
    M_FN I M_NAME(m_to_##I, i64)(i64 x) {                                                \
        return (I)x;                                                                     \
    }                                                                                    \
    M_FN I M_NAME(m_to_##I, u64)(u64 x) {                                                \
        return (I)x;                                                                     \
    }
M_TO_INTEGER(i8, -0x1p7, 0x1p7, -128, 127)
M_TO_INTEGER(i16, -0x1p15, 0x1p15, -32768, 32767)
M_TO_INTEGER(i32, -0x1p31, 0x1p31, -2147483647 - 1, 2147483647)
M_TO_INTEGER(i64, -0x1p63, 0x1p63, -9223372036854775807 - 1, 9223372036854775807)
M_TO_INTEGER(u8, 0x0p0, 0x1p8, 0, 255)
M_TO_INTEGER(u16, 0x0p0, 0x1p16, 0, 65535)
M_TO_INTEGER(u32, 0x0p0, 0x1p32, 0, 4294967295u)
M_TO_INTEGER(u64, 0x0p0, 0x1p64, 0, 18446744073709551615u)

#define M_TO_FLOAT(X, ZERO)                                                              \
    M_FN b8 M_NAME(m_to_b8, X)(X x) {                                                    \
        return (b8)(x != 0);                                                             \
    }                                                                                    \
    M_FN f32 M_NAME(m_to_f32, X)(X x) {                                                  \
        const f32 y = (f32)x;                                                            \
        return y ZERO;                                                                   \
    }                                                                                    \
    M_FN f64 M_NAME(m_to_f64, X)(X x) {                                                  \
        const f64 y = (f64)x;                                                            \
        return y ZERO;                                                                   \
    }
M_TO_FLOAT(f32, )
M_TO_FLOAT(f64, )
/* Without trapping math gcc replaces (f64)(i32)x by truncation of x. That gives -0 for x
 * from -1 to -0; adding 0 gives 0. */
M_TO_FLOAT(i32, +0)
M_TO_FLOAT(u32, +0)
M_TO_FLOAT(i64, +0)
M_TO_FLOAT(u64, +0)

#define M_TO_HALF(H)                                                                     \
    M_FN H M_NAME(m_to_##H, f32)(f32 x) {                                                \
        return m_store_##H(x);                                                           \
    }                                                                                    \
    M_FN H M_NAME(m_to_##H, f64)(f64 x) {                                                \
        return m_store_##H(m_round_to_odd(x));                                           \
    }                                                                                    \
    M_FN H M_NAME(m_to_##H, i32)(i32 x) {                                                \
        return m_store_##H(m_round_to_odd(M_NAME(m_to_f64, i32)(x)));                    \
    }                                                                                    \
    M_FN H M_NAME(m_to_##H, u32)(u32 x) {                                                \
        return m_store_##H(m_round_to_odd(M_NAME(m_to_f64, u32)(x)));                    \
    }                                                                                    \
    M_FN H M_NAME(m_to_##H, i64)(i64 x) {                                                \
        return m_store_##H(m_round_to_odd(m_odd_i64(x)));                                \
    }                                                                                    \
    M_FN H M_NAME(m_to_##H, u64)(u64 x) {                                                \
        return m_store_##H(m_round_to_odd(m_odd_u64(x)));                                \
    }
M_TO_HALF(f16)
M_TO_HALF(bf16)

/* ---- Integers: arithmetic wraps, division by zero gives 0 ---- */

#define M_INTEGERS(I, W, SIGNED)                                                         \
    /* rounds toward zero */                                                             \
    M_FN I M_NAME(m_quotient, I)(I a, I b) {                                             \
        return b == 0 ? 0 : SIGNED && b == (I)-1 ? (I)(0 - (W)a) : a / b;                \
    }                                                                                    \
    /* with the sign of a */                                                             \
    M_FN I M_NAME(m_rest, I)(I a, I b) {                                                 \
        return b == 0 || (SIGNED && b == (I)-1) ? 0 : a % b;                             \
    }                                                                                    \
    /* rounds toward minus infinity */                                                   \
    M_FN I M_NAME(m_floor_quotient, I)(I a, I b) {                                       \
        const I q = M_NAME(m_quotient, I)(a, b), r = M_NAME(m_rest, I)(a, b);            \
        return r != 0 && (r < 0) != (b < 0) ? q - 1 : q;                                 \
    }                                                                                    \
    /* with the sign of b */                                                             \
    M_FN I M_NAME(m_modulo, I)(I a, I b) {                                               \
        const I r = M_NAME(m_rest, I)(a, b);                                             \
        return r != 0 && (r < 0) != (b < 0) ? r + b : r;                                 \
    }                                                                                    \
    /* a negative exponent: the truncated power; of base 0, 0 */                         \
    M_FN I M_NAME(m_power, I)(I a, I b) {                                                \
        W result = 1, square = (W)a;                                                     \
        if (SIGNED && b < 0)                                                             \
            return a == 1 ? 1 : a == (I)-1 ? (b % 2 ? (I)-1 : 1) : 0;                    \
        for (W left = (W)b; left; left >>= 1, square *= square)                          \
            result *= left & 1 ? square : 1;                                             \
        return (I)result;                                                                \
    }                                                                                    \
    /* Negative counts, and counts of at least the width, shift out all bits. A count is \
     * often one number for all elements: with a branch the compiler might make a loop   \
     * for each of its paths, which it does not vectorise. */                            \
    M_FN W M_NAME(m_counted, I)(I b, i32 width) {                                        \
        return (W)0 - (W)((W)b < (W)width);                                              \
    }                                                                                    \
    M_FN I M_NAME(m_shift_left, I)(I a, I b, i32 width) {                                \
        const W counted = M_NAME(m_counted, I)(b, width);                                \
        return (I)((W)a << ((W)b & (8 * sizeof(W) - 1)) & counted);                      \
    }                                                                                    \
    M_FN I M_NAME(m_shift_right, I)(I a, I b, i32 width) {                               \
        const W counted = M_NAME(m_counted, I)(b, width);                                \
        const I signs = a >> (((W)b | ~counted) & (8 * sizeof(W) - 1));                  \
        return SIGNED ? signs : (I)((W)signs & counted);                                 \
    }
M_INTEGERS(i32, u32, 1)
M_INTEGERS(u32, u32, 0)
M_INTEGERS(i64, u64, 1)
M_INTEGERS(u64, u64, 0)

/* Population count; a mask of the bits below the highest set bit. */
M_FN i32 M_NAME(m_ones, u32)(u32 x) {
    x -= (x >> 1) & 0x55555555u;
    x = (x & 0x33333333u) + ((x >> 2) & 0x33333333u);
    x = (x + (x >> 4)) & 0x0F0F0F0Fu;
    return (i32)((x * 0x01010101u) >> 24);
}
M_FN i32 M_NAME(m_ones, u64)(u64 x) {
    return M_NAME(m_ones, u32)((u32)x) + M_NAME(m_ones, u32)((u32)(x >> 32));
}
M_FN u32 M_NAME(m_smear, u32)(u32 x) {
    x |= x >> 1;
    x |= x >> 2;
    x |= x >> 4;
    x |= x >> 8;
    return x | x >> 16;
}
M_FN u64 M_NAME(m_smear, u64)(u64 x) {
    x |= x >> 1;
    x |= x >> 2;
    x |= x >> 4;
    x |= x >> 8;
    x |= x >> 16;
    return x | x >> 32;
}

/* ---- Floats ---- */

/* nextafter for a format of `bits` bits; a and b are not NaN and differ. */
M_FN f32 m_step_f32(f32 a, f32 b, i32 half) {
    const u32 size = half == M_HALF_F16    ? m_store_f16(a)
                     : half == M_HALF_BF16 ? m_store_bf16(a)
                                           : m_bits_f32(a);
    const u32 least = half == M_HALF_NONE ? m_bits_f32(b) & 0x80000000u
                                          : (m_bits_f32(b) >> 16) & 0x8000u;
    const u32 next = a == 0 ? least | 1u : (a < b) == (a > 0) ? size + 1 : size - 1;
    return half == M_HALF_F16    ? m_load_f16((f16)next)
           : half == M_HALF_BF16 ? m_load_bf16((bf16)next)
                                 : m_from_bits_u32(next);
}
M_FN f64 m_step_f64(f64 a, f64 b, i32 half) {
    const u64 size = m_bits_f64(a), sign = (u64)1 << 63;
    const u64 next = a == 0               ? (m_bits_f64(b) & sign) | 1u
                     : (a < b) == (a > 0) ? size + 1
                                          : size - 1;
    (void)half;
    return m_from_bits_u64(next);
}
M_FN i32 M_NAME(m_signbit, f32)(f32 a) {
    return (i32)(m_bits_f32(a) >> 31);
}
M_FN i32 M_NAME(m_signbit, f64)(f64 a) {
    return (i32)(m_bits_f64(a) >> 63);
}

#define M_REALS(F)                                                                       \
    /* with the sign of b, as Python's % */                                              \
    M_FN F M_NAME(m_remainder, F)(F a, F b) {                                            \
        const F r = m_fmod(a, b);                                                        \
        return r == 0 ? m_copysign((F)0, b) : (r < 0) != (b < 0) ? r + b : r;            \
    }                                                                                    \
    /* (a - remainder) / b, rounded to a whole number, as NumPy's // */                  \
    M_FN F M_NAME(m_floor_divide, F)(F a, F b) {                                         \
        const F r = m_fmod(a, b), q = (a - r) / b;                                       \
        const F below = (r != 0) & ((r < 0) != (b < 0)) ? q - 1 : q;                     \
        const F whole = m_floor(below);                                                  \
        const F snapped = below - whole > (F)0.5 ? whole + 1 : whole;                    \
        return b == 0 ? a / b : below == 0 ? m_copysign((F)0, a / b) : snapped;          \
    }                                                                                    \
    M_FN F M_NAME(m_clip, F)(F a, F b, F c) {                                            \
        const F low = M_MAX_REAL(a, b);                                                  \
        /* not low != low: gcc moves it into a choice that it does not vectorise */      \
        return (low < c) | (a != a) | (b != b) ? low : c;                                \
    }                                                                                    \
    M_FN F M_NAME(m_nextafter, F)(F a, F b, i32 half) {                                  \
        return (a != a) | (b != b) ? a + b : a == b ? b : m_step_##F(a, b, half);        \
    }                                                                                    \
    M_FN F M_NAME(m_logistic, F)(F a) {                                                  \
        const F e = m_exp(-m_abs(a));                                                    \
        return (a < 0 ? e : (F)1) / ((F)1 + e);                                          \
    }
M_REALS(f32)
M_REALS(f64)
/* erf_inv. f32: M. Giles, "Approximating the erfinv function", 2010: two polynomials in w
 * = -log(1 - x^2). */
#define M_TERM(central, tail) p = (is_central ? (central) : (tail)) + p * t
M_FN f32 M_NAME(m_erf_inv, f32)(f32 x) {
    const f32 w = -m_log((1.0f - x) * (1.0f + x));
    const i32 is_central = w < 5.0f;
    const f32 t = is_central ? w - 2.5f : m_sqrt(w) - 3.0f;
    f32 p = is_central ? 2.81022636e-08f : -0.000200214257f;
    M_TERM(3.43273939e-07f, 0.000100950558f);
    M_TERM(-3.5233877e-06f, 0.00134934322f);
    M_TERM(-4.39150654e-06f, -0.00367342844f);
    M_TERM(0.00021858087f, 0.00573950773f);
    M_TERM(-0.00125372503f, -0.0076224613f);
    M_TERM(-0.00417768164f, 0.00943887047f);
    M_TERM(0.246640727f, 1.00167406f);
    M_TERM(1.50140941f, 2.83297682f);
    return m_abs(x) == 1.0f ? m_copysign(m_from_bits_u32(0x7F800000u), x) : p * x;
}
#undef M_TERM
/* f64: M. Wichura, algorithm AS 241, 1988: rational in 0.425^2 - (x / 2)^2, or in the two
 * tails in sqrt(-log(tail probability)). Coefficients are selected by arithmetic on their
 * bits, because branches would prevent vectorisation. */
M_FN f64 m_chosen(u64 is_central, u64 is_near, f64 central, f64 near, f64 far) {
    const u64 tail = m_bits_f64(far) ^ ((m_bits_f64(near) ^ m_bits_f64(far)) & is_near);
    return m_from_bits_u64(tail ^ ((m_bits_f64(central) ^ tail) & is_central));
}
#define M_CHOSEN(central, near, far) m_chosen(is_central, is_near, central, near, far)
M_FN f64 M_NAME(m_erf_inv, f64)(f64 x) {
    const f64 root = m_sqrt(-m_log(0.5 * (1.0 - m_abs(x))));
    const u64 is_central = 0 - (u64)(m_abs(x) <= 0.85), is_near = 0 - (u64)(root <= 5.0);
    const f64 r = M_CHOSEN(0.180625 - 0.25 * x * x, root - 1.6, root - 5.0);
    const f64 one = m_copysign(1.0, x), q = M_CHOSEN(0.5 * x, one, one);
    f64 n = M_CHOSEN(2.5090809287301226727e+3, 7.7454501427834140764e-4,
                     2.01033439929228813265e-7);
    f64 d = M_CHOSEN(5.2264952788528545610e+3, 1.05075007164441684324e-9,
                     2.04426310338993978564e-15);
    n = n * r + M_CHOSEN(3.3430575583588128105e+4, 2.27238449892691845833e-2,
                         2.71155556874348757815e-5);
    n = n * r + M_CHOSEN(6.7265770927008700853e+4, 2.4178072517745061177e-1,
                         1.2426609473880784386e-3);
    n = n * r + M_CHOSEN(4.5921953931549871457e+4, 1.27045825245236838258e+0,
                         2.6532189526576123093e-2);
    n = n * r + M_CHOSEN(1.3731693765509461125e+4, 3.64784832476320460504e+0,
                         2.9656057182850489123e-1);
    n = n * r + M_CHOSEN(1.9715909503065514427e+3, 5.7694972214606914055e+0,
                         1.7848265399172913358e+0);
    n = n * r + M_CHOSEN(1.3314166789178437745e+2, 4.6303378461565452959e+0,
                         5.4637849111641143699e+0);
    n = n * r + M_CHOSEN(3.3871328727963666080e+0, 1.42343711074968357734e+0,
                         6.6579046435011037772e+0);
    d = d * r + M_CHOSEN(2.8729085735721942674e+4, 5.475938084995344946e-4,
                         1.4215117583164458887e-7);
    d = d * r + M_CHOSEN(3.9307895800092710610e+4, 1.51986665636164571966e-2,
                         1.8463183175100546818e-5);
    d = d * r + M_CHOSEN(2.1213794301586595867e+4, 1.4810397642748007459e-1,
                         7.868691311456132591e-4);
    d = d * r + M_CHOSEN(5.3941960214247511077e+3, 6.8976733498510000455e-1,
                         1.48753612908506148525e-2);
    d = d * r + M_CHOSEN(6.8718700749205790830e+2, 1.6763848301838038494e+0,
                         1.3692988092273580531e-1);
    d = d * r + M_CHOSEN(4.2313330701600911252e+1, 2.05319162663775882187e+0,
                         5.9983220655588793769e-1);
    d = d * r + 1.0;
    const f64 y = q * n * 0.70710678118654752440 / d;
    const f64 infinite = m_copysign(m_from_bits_u64((u64)0x7FF << 52), x);
    return m_chosen(0 - (u64)(m_abs(x) == 1.0), 0, infinite, y, y);
}
#undef M_CHOSEN

/* ---- Exponents ---- */

/* frexp: mantissa in [1/2, 1) and exponent; for 0, inf and NaN the number itself and 0.
 * And ldexp: a * 2^b for a whole b, rounded once. */
#define M_EXPONENTS(F, U, DIGITS, BIAS, LEAST, UP, DOWN)                                 \
    M_FN F M_NAME(m_frexp_mantissa, F)(F a) {                                            \
        const F wide = m_abs(a) < LEAST ? a * (F)0x1p64 : a;                             \
        const U mask = (U)(2 * BIAS + 1) << DIGITS;                                      \
        const U bits = (m_bits_##F(wide) & ~mask) | ((U)(BIAS - 1) << DIGITS);           \
        return (a == 0) | !(a - a == 0) ? a : m_from_bits_##U(bits);                     \
    }                                                                                    \
    M_FN F M_NAME(m_frexp_exponent, F)(F a) {                                            \
        const F wide = m_abs(a) < LEAST ? a * (F)0x1p64 : a;                             \
        const i32 e = (i32)((m_bits_##F(wide) >> DIGITS) & (U)(2 * BIAS + 1));           \
        const i32 exponent = e - (BIAS - 1) - (m_abs(a) < LEAST ? 64 : 0);               \
        return (a == 0) | !(a - a == 0) ? (F)0 : (F)exponent;                            \
    }                                                                                    \
    M_FN F M_NAME(m_ldexp, F)(F a, F b) {                                                \
        i32 n = b > 4 * BIAS ? 4 * BIAS : b > -4 * BIAS ? (i32)b : -4 * BIAS;            \
        F y = a;                                                                         \
        for (i32 twice = 0; twice < 2 && n > BIAS; twice++, n -= BIAS)                   \
            y *= UP;                                                                     \
        /* scaling by part of DOWN leaves a rest so small that no digit is rounded twice \
         */                                                                              \
        for (i32 twice = 0; twice < 2 && n < 1 - BIAS; twice++)                          \
            y *= DOWN, n += BIAS - 2 - DIGITS;                                           \
        n = n > BIAS ? BIAS : n < 1 - BIAS ? 1 - BIAS : n;                               \
        return b != b ? a + b : y * m_from_bits_##U((U)(n + BIAS) << DIGITS);            \
    }
M_EXPONENTS(f32, u32, 23, 127, 0x1p-126f, 0x1p127f, 0x1p-102f)
M_EXPONENTS(f64, u64, 52, 1023, 0x1p-1022, 0x1p1023, 0x1p-969)

/* ---- Special functions without a library function ---- */

/* digamma, the derivative of lgamma: reflection for x <= -1, recurrence to [1, 2] for x <
 * 10, where a rational function about the root is used (as in Boost), else the asymptotic
 * series. */
M_FN f64 M_NAME(m_digamma, f64)(f64 x) {
    if (x == 0)
        return m_copysign(1 / m_abs(x), -x);
    if ((x < 0 && x == m_floor(x)) || x != x)
        return x + m_from_bits_u64((u64)0x7FF8 << 48);
    f64 y = x, sum = 0;
    if (x <= -1) {
        y = 1 - x;
        sum = 3.14159265358979323846 / m_tan(3.14159265358979323846 * (m_rint(x) - x));
    }
    if (y >= 10) {
        const f64 z = 1 / ((y - 1) * (y - 1));
        const f64 series =
            ((((((-0.44325980392156862745 * z + 0.083333333333333333333) * z -
                 0.021092796092796092796) *
                    z +
                0.0075757575757575757576) *
                   z -
               0.0041666666666666666667) *
                  z +
              0.0039682539682539682540) *
                 z -
             0.0083333333333333333333) *
                z +
            0.083333333333333333333;
        return sum + (m_log(y - 1) + 0.5 / (y - 1) - z * series);
    }
    for (; y > 2; sum += 1 / y)
        y -= 1;
    for (; y < 1; y += 1)
        sum -= 1 / y;
    const f64 t = y - 1;
    const f64 g = y - 1569415565 * 0x1p-30 - 381566830 * 0x1p-60 - 9.016312093258696e-20;
    const f64 p = ((((-0.0020713321167745952 * t - 0.045251321448739056) * t -
                     0.28919126444774784) *
                        t -
                    0.65031853770896507) *
                       t -
                   0.32555031186804491) *
                      t +
                  0.25479851061131551;
    const f64 q = (((((-0.55789841321675513e-6 * t + 0.0021284987017821144) * t +
                      0.054151797245674225) *
                         t +
                     0.43593529692665969) *
                        t +
                    1.4606242909763515) *
                       t +
                   2.0767117023730469) *
                      t +
                  1;
    return sum + (g * 0.99558162689208984375 + g * (p / q));
}
M_FN f32 M_NAME(m_digamma, f32)(f32 x) {
    return (f32)M_NAME(m_digamma, f64)((f64)x);
}

/* n! zeta(s, x) for s = n + 1 > 1 and x > 0: the sum over k of n! / (x + k)^s. The
 * Euler-Maclaurin form of the Hurwitz zeta function (NIST DLMF 25.11.7) with 12 terms,
 * whose coefficients are B(2j) / (2j)!, from 0 or 10 on. `sum` is the sum times x^s. */
M_FN f64 m_factorial_zeta(f64 n, f64 x) {
    const f64 c[12] = {1.0 / 12,
                       -1.0 / 720,
                       1.0 / 30240,
                       -1.0 / 1209600,
                       1.0 / 47900160,
                       -691.0 / 1307674368000.0,
                       1.0 / 74724249600.0,
                       -3617.0 / 10670622842880000.0,
                       43867.0 / 5109094217170944000.0,
                       -174611.0 / 802857662698291200000.0,
                       77683.0 / 14101100039391805440000.0,
                       -236364091.0 / 1693824136731743669452800000.0};
    const f64 s = n + 1, from = x > 2 * s + 20 ? 0 : 10, w = x + from;
    const f64 rest = m_exp(-s * m_log1p(from / x));
    f64 sum = 0, series = c[11];
    for (f64 k = 0; k < from; k += 1)
        sum += m_exp(-s * m_log1p(k / x));
    for (i32 j = 11; j-- > 0;)
        series = c[j] + series * ((s + (2 * j + 1)) / w * ((s + (2 * j + 2)) / w));
    if (rest > 0) /* else the series may be infinite */
        sum += rest * (w / n + 0.5 + series * (s / w));
    if (n <= 170) { /* factors in an order that does not overflow before the result */
        const f64 half = m_floor(s / 2);
        return m_tgamma(s) * m_pow(x, -half) * sum * m_pow(x, half - s);
    }
    /* Stirling's series of the factorial, a square at a time */
    const f64 u = 1 / (n * n), root = m_pow(n / (2.71828182845904523536 * x), n / 2);
    const f64 more = m_exp((1.0 / 12 - u * (1.0 / 360 - u / 1260)) / n);
    return root * (sum / x * m_sqrt(6.28318530717958647693 * n) * more) * root;
}

/* polygamma, derivative n of digamma: (-1)^(n + 1) n! zeta(n + 1, x) for n > 0 (DLMF
 * 25.11.12). For x < 0 the terms of n! / (x + k)^(n + 1) over all whole k, which are
 * those of the distance g to the nearest whole number, less those of k < 0: the
 * reflection formula (DLMF 5.15.6). */
M_FN f64 M_NAME(m_polygamma, f64)(f64 n, f64 x) {
    const f64 infinite = m_from_bits_u64((u64)0x7FF << 52);
    const f64 nan = m_from_bits_u64((u64)0x7FF8 << 48);
    if (n == 0)
        return M_NAME(m_digamma, f64)(x);
    if (!(n > 0) | (n != m_floor(n)) | (n == infinite) | !(x > -infinite))
        return nan;
    const u64 is_odd = n / 2 != m_floor(n / 2);
    if (x > 0) {
        const f64 y = x < infinite ? m_factorial_zeta(n, x) : 0;
        return is_odd ? y : -y;
    }
    const f64 g = x - m_rint(x), distance = m_abs(g);
    if (g == 0) /* a pole: the limits from both sides differ if n is even */
        return is_odd ? infinite : x == 0 ? m_copysign(infinite, -x) : nan;
    const f64 near = m_factorial_zeta(n, distance),
              far = m_factorial_zeta(n, 1 - distance);
    f64 all = near + far;
    if (!is_odd) {
        all = distance == 0.5 ? 0 : near < infinite ? near - far : infinite;
        all = g < 0 ? all : -all;
    }
    return m_abs(all) == infinite ? all : all - m_factorial_zeta(n, 1 - x);
}
M_FN f32 M_NAME(m_polygamma, f32)(f32 n, f32 x) {
    return (f32)M_NAME(m_polygamma, f64)((f64)n, (f64)x);
}

#define M_LOGADDEXP(F)                                                                   \
    M_FN F M_NAME(m_logaddexp, F)(F a, F b) {                                            \
        const F more = m_log1p(m_exp(-m_abs(a - b)));                                    \
        return a == b ? a + (F)0.69314718055994530942 : (a > b ? a : b) + more;          \
    }
M_LOGADDEXP(f32)
M_LOGADDEXP(f64)

/* cumlinear: factor * before + term. A factor 0 begins anew, also after an infinity or
 * NaN. */
M_FN f64 m_recur(f64 factor, f64 before, f64 term) {
    const f64 y = factor * before + term;
    return factor == 0 ? term : y;
}

/* logaddexp: log(exp(a) + exp(b)) without overflow. */
M_FN f64 m_log_add(f64 a, f64 b) {
    const f64 greater = a > b ? a : b;
    /* the difference of equal infinities would be NaN */
    return a == b ? a + 0.69314718055994530942 : greater + m_log1p(m_exp(-m_abs(a - b)));
}

#endif
