/* Scalar forms of the functions in math.def: SLEEF's deterministic ones (with FMA if the
 * processor has it) and our own. SLEEF's are corrected if they overflow for a finite
 * result or lose digits. The vector forms in math_simd.c have the same bits. */
#include "program/host/math/math.h"

#include "program/host/math/angle.h"
#include "program/host/math/fast.h"
#include "program/host/math/own.h"

/* Our own functions call the C library for each fma if the compiler may not assume the
 * instruction. */
#ifdef __x86_64__
#    define HAS_FMA __builtin_cpu_supports("fma")
#    define FUSED   static __attribute__((target("fma")))
#else
#    define HAS_FMA 1
#    define FUSED   static
#endif

bool pithp_math_has_fma(void) {
    return HAS_FMA;
}

#define SLEEF_(name, type, bound, family, target)                                        \
    Sleef_##family##_##name##type##_##bound##target
#define SLEEF(name, type, bound, family, target) SLEEF_(name, type, bound, family, target)

#define DECLARE1(sleef, bound, family, target)                                           \
    extern f32 SLEEF(sleef, f1, bound, family, target)(f32);                             \
    extern f64 SLEEF(sleef, d1, bound, family, target)(f64);
#define DECLARE2(sleef, bound, family, target)                                           \
    extern f32 SLEEF(sleef, f1, bound, family, target)(f32, f32);                        \
    extern f64 SLEEF(sleef, d1, bound, family, target)(f64, f64);
#ifdef __x86_64__
#    define DECLARE1_ALL(sleef, bound)                                                   \
        DECLARE1(sleef, bound, finz, purecfma)                                           \
        DECLARE1(sleef, bound, cinz, purec)
#    define DECLARE2_ALL(sleef, bound)                                                   \
        DECLARE2(sleef, bound, finz, purecfma)                                           \
        DECLARE2(sleef, bound, cinz, purec)
#    define CALL(sleef, type, bound, ...)                                                \
        (HAS_FMA ? SLEEF(sleef, type, bound, finz, purecfma)(__VA_ARGS__)                \
                 : SLEEF(sleef, type, bound, cinz, purec)(__VA_ARGS__))
#else
#    define DECLARE1_ALL(sleef, bound) DECLARE1(sleef, bound, finz, purecfma)
#    define DECLARE2_ALL(sleef, bound) DECLARE2(sleef, bound, finz, purecfma)
#    define CALL(sleef, type, bound, ...)                                                \
        SLEEF(sleef, type, bound, finz, purecfma)(__VA_ARGS__)
#endif

/* ---- Corrections of SLEEF's early overflow. f32 is computed in f64. ---- */

DECLARE1_ALL(exp, u10)
static f64 mend_exp(f64 x) { /* x - 1 is exact there */
    return x > 709 ? CALL(exp, d1, u10, x - 1) * 0x1.5bf0a8b145769p1
                   : CALL(exp, d1, u10, x);
}

static f64 mend_cosh(f64 x) { /* e^-|x| is negligible there */
    const f64 half = pithp_math_exp_f64(m_abs(x) / 2);
    return 0.5 * half * half;
}

static f64 mend_sinh(f64 x) {
    return m_copysign(mend_cosh(x), x);
}

static f64 mend_log1p(f64 x) {
    return pithp_math_log_f64(x);
}

static f64 mend_acosh(f64 x) { /* log(2 x); negative arguments give NaN */
    return pithp_math_log_f64(x) + 0x1.62e42fefa39efp-1;
}

static f64 mend_asinh(f64 x) {
    return m_copysign(mend_acosh(m_abs(x)), x);
}

/* Stirling: x (log(x) - 1), with the logarithm of x in two parts; below 0 there are only
 * poles. */
static f64 mend_lgamma(f64 x) {
    if (x < 0 || x > 0x1p1015)
        return __builtin_inf();
    const f64 whole = 1000 * LN2_HIGH_f64 - 1;
    const f64 rest = 1000 * LN2_LOW_f64 + pithp_math_log_f64(x * 0x1p-1000);
    const f64 sum = whole + rest, lost = (whole - sum) + rest, part = x * 0x1p-20;
    f64 high = part, low = 0;
    pithp_multiply_exactly(&high, &low, sum);
    return (high + (low + part * lost)) * 0x1p20;
}

/* SLEEF has few bits of subnormal results. gamma(x + 16) is divided by x (x + 1) ... (x +
 * 15), scaled by 2^200 until the end. */
DECLARE1_ALL(tgamma, u10)
static f64 mend_tgamma(f64 x) {
    enum { STEPS = 16 };
    if (x > 0 || x < -185)
        return CALL(tgamma, d1, u10, x);
    const f64 g = CALL(tgamma, d1, u10, x + STEPS) * 0x1p200;
    f64 high = x, low = 0;
    for (int i = 1; i < STEPS; i++)
        pithp_multiply_exactly(&high, &low, x + i);
    const f64 q = g / high;
    return (q - q * (low / high)) * 0x1p-200;
}

DECLARE2_ALL(pow, u10)
static f64 mend_pow(f64 x, f64 y, f64 infinite) { /* y / 2 may be 0 */
    if (x == 0 || m_abs(x) == __builtin_inf())
        return infinite;
    if (y == 1) /* the square of the greatest number's root is infinite */
        return x;
    const f64 root = CALL(pow, d1, u10, m_abs(x), y / 2);
    return m_copysign(root * root, infinite);
}

/* ---- The functions ---- */

#define PITHP_MATH1(name, sleef, bound)                                                  \
    DECLARE1_ALL(sleef, bound)                                                           \
    f32 pithp_math_##name##_f32(f32 x) {                                                 \
        return CALL(sleef, f1, bound, x);                                                \
    }                                                                                    \
    f64 pithp_math_##name##_f64(f64 x) {                                                 \
        return CALL(sleef, d1, bound, x);                                                \
    }
#define PITHP_MATH2(name, sleef, bound)                                                  \
    DECLARE2_ALL(sleef, bound)                                                           \
    f32 pithp_math_##name##_f32(f32 x, f32 y) {                                          \
        return CALL(sleef, f1, bound, x, y);                                             \
    }                                                                                    \
    f64 pithp_math_##name##_f64(f64 x, f64 y) {                                          \
        return CALL(sleef, d1, bound, x, y);                                             \
    }
#define PITHP_MATH1_MENDED(name, sleef, bound, limit32, limit64)                         \
    DECLARE1_ALL(sleef, bound)                                                           \
    f32 pithp_math_##name##_f32(f32 x) {                                                 \
        return m_abs(x) > limit32 ? (f32)pithp_math_##name##_f64((f64)x)                 \
                                  : CALL(sleef, f1, bound, x);                           \
    }                                                                                    \
    f64 pithp_math_##name##_f64(f64 x) {                                                 \
        return m_abs(x) > limit64 ? mend_##name(x) : CALL(sleef, d1, bound, x);          \
    }
#define PITHP_MATH1_WITHIN(name, sleef, bound, limit32, limit64)                         \
    DECLARE1_ALL(sleef, bound)                                                           \
    FUSED f64 fused_##name##_f64(f64 x) {                                                \
        return own_##name##_f64(x);                                                      \
    }                                                                                    \
    f32 pithp_math_##name##_f32(f32 x) {                                                 \
        return m_abs(x) > limit32 ? (f32)pithp_math_##name##_f64((f64)x)                 \
                                  : CALL(sleef, f1, bound, x);                           \
    }                                                                                    \
    f64 pithp_math_##name##_f64(f64 x) {                                                 \
        return HAS_FMA && m_abs(x) <= limit64 ? fused_##name##_f64(x) : mend_##name(x);  \
    }
/* Our own functions, compiled with FMA. */
#define FUSED_FORMS(name)                                                                \
    FUSED f32 fused_##name##_f32(f32 x) {                                                \
        return own_##name##_f32(x);                                                      \
    }                                                                                    \
    FUSED f64 fused_##name##_f64(f64 x) {                                                \
        return own_##name##_f64(x);                                                      \
    }
#define PITHP_MATH1_OWN(name, bound)                                                     \
    FUSED_FORMS(name)                                                                    \
    f32 pithp_math_##name##_f32(f32 x) {                                                 \
        return HAS_FMA ? fused_##name##_f32(x) : own_##name##_f32(x);                    \
    }                                                                                    \
    f64 pithp_math_##name##_f64(f64 x) {                                                 \
        return HAS_FMA ? fused_##name##_f64(x) : own_##name##_f64(x);                    \
    }
#define PITHP_MATH2_MENDED(name, sleef, bound)                                           \
    DECLARE2_ALL(sleef, bound)                                                           \
    FUSED f32 fused_##name##_f32(f32 x, f32 y) {                                         \
        return own_##name##_f32(x, y);                                                   \
    }                                                                                    \
    f32 pithp_math_##name##_f32(f32 x, f32 y) {                                          \
        if (own_##name##_takes(x, y))                                                    \
            return HAS_FMA ? fused_##name##_f32(x, y) : own_##name##_f32(x, y);          \
        const f32 z = CALL(sleef, f1, bound, x, y);                                      \
        return m_abs(z) > 0x1.fffffep127f ? (f32)pithp_math_##name##_f64((f64)x, (f64)y) \
                                          : z;                                           \
    }                                                                                    \
    f64 pithp_math_##name##_f64(f64 x, f64 y) {                                          \
        const f64 z = CALL(sleef, d1, bound, x, y);                                      \
        return m_abs(z) > 0x1.fffffffffffffp1023 ? mend_##name(x, y, z) : z;             \
    }
#define PITHP_MATH1_ANGLE(name, sleef, bound)                                            \
    DECLARE1_ALL(sleef, bound)                                                           \
    f32 pithp_math_##name##_f32(f32 x) {                                                 \
        return CALL(sleef, f1, bound, x);                                                \
    }                                                                                    \
    f64 pithp_math_##name##_f64(f64 x) {                                                 \
        const f64 y = CALL(sleef, d1, bound, x), size = m_abs(x), of_y = m_abs(y);       \
        return size > PITHP_ANGLE_LEAST && size < PITHP_ANGLE_GREATEST &&                \
                       (of_y < PITHP_ANGLE_NEAR || of_y > 1 / PITHP_ANGLE_NEAR)          \
                   ? pithp_angle_##name(x)                                               \
                   : y;                                                                  \
    }
#define PITHP_MATH1_FAST(name, exact, limit32, limit64)                                  \
    FUSED_FORMS(name)                                                                    \
    f32 pithp_math_##name##_f32(f32 x) {                                                 \
        return HAS_FMA && m_abs(x) <= limit32 ? fused_##name##_f32(x)                    \
                                              : pithp_math_##exact##_f32(x);             \
    }                                                                                    \
    f64 pithp_math_##name##_f64(f64 x) {                                                 \
        return HAS_FMA && m_abs(x) <= limit64 ? fused_##name##_f64(x)                    \
                                              : pithp_math_##exact##_f64(x);             \
    }
#define ITSELF(x)         (x)
#define LEAST(x, y)       ((x) < (y) ? (x) : (y))
#define ELEMENT(table, i) (table)[(i) & (sizeof(table) / sizeof *(table)-1)]
#define SHIFT_f32(i, by)  ((f32)((i32)(i) >> (by)))
#define SHIFT_f64(i, by)  ((f64)((i64)(i) >> (by)))
#define FAST1_ALL(name, exact, F, I, TEXT)                                               \
    FUSED F fused_##name##_##F(F x) {                                                    \
        TEXT(F, I, m_from_bits_##I, m_bits_##F, m_fused_##F, ITSELF, LEAST);             \
        return result;                                                                   \
    }                                                                                    \
    F pithp_math_##name##_##F(F x) {                                                     \
        return HAS_FMA ? fused_##name##_##F(x) : pithp_math_##exact##_##F(x);            \
    }
#define PITHP_MATH1_FAST_ALL(name, exact)                                                \
    FAST1_ALL(name, exact, f32, u32, FAST_TANH_f32)                                      \
    FAST1_ALL(name, exact, f64, u64, FAST_TANH_f64)
#define FAST2(name, exact, F, I, TEXT)                                                   \
    FUSED F fused_##name##_##F(F x, F y) {                                               \
        TEXT(F, I, m_from_bits_##I, m_bits_##F, m_fused_##F, ITSELF, ELEMENT,            \
             SHIFT_##F);                                                                 \
        return within ? power : pithp_math_##exact##_##F(x, y);                          \
    }                                                                                    \
    F pithp_math_##name##_##F(F x, F y) {                                                \
        return HAS_FMA ? fused_##name##_##F(x, y) : pithp_math_##exact##_##F(x, y);      \
    }
#define PITHP_MATH2_FAST(name, exact)                                                    \
    FAST2(name, exact, f32, u32, FAST_POW_f32)                                           \
    FAST2(name, exact, f64, u64, FAST_POW_f64)
#include "program/host/math/math.def"
