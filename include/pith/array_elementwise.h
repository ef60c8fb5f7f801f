/**
 * @file
 * Elementwise operations on arrays. Operands broadcast as in NumPy. Dtypes promote as in
 * the array API standard; mixed kinds that it leaves undefined (bool with numbers,
 * integers with floats) are PITH_E_DTYPE.
 *
 * Operations that IEEE 754 defines are correctly rounded. Other functions state their
 * maximum error on the host in units in the last place (docs/reference/accuracy.md). A
 * result depends only on the operands, not on the position in the array. Subnormal
 * numbers are not flushed to zero.
 *
 * Functions of two and three operands also take C numbers: pith_mul(s, x, 2.0); see
 * array_number.h.
 *
 * Results, scopes and errors: see array.h.
 */
#ifndef PITH_ARRAY_ELEMENTWISE_H
#define PITH_ARRAY_ELEMENTWISE_H

#include <pith/array.h>
#include <pith/array_number.h>

PITH_BEGIN

/** -a. */
PITH_API const pith_array *pith_neg(pith_scope *s, const pith_array *a);
/** Absolute value; the least signed integer is unchanged. */
PITH_API const pith_array *pith_abs(pith_scope *s, const pith_array *a);
/** Sign: -1, 0 or 1; NaN for NaN. */
PITH_API const pith_array *pith_sign(pith_scope *s, const pith_array *a);
/** a * a. */
PITH_API const pith_array *pith_square(pith_scope *s, const pith_array *a);
/** 1 / a, floats. */
PITH_API const pith_array *pith_reciprocal(pith_scope *s, const pith_array *a);
/** Round down. */
PITH_API const pith_array *pith_floor(pith_scope *s, const pith_array *a);
/** Round up. */
PITH_API const pith_array *pith_ceil(pith_scope *s, const pith_array *a);
/** Round to the nearest integer, halves to even. */
PITH_API const pith_array *pith_round(pith_scope *s, const pith_array *a);
/** Round towards zero. */
PITH_API const pith_array *pith_trunc(pith_scope *s, const pith_array *a);
/** Square root, correctly rounded. */
PITH_API const pith_array *pith_sqrt(pith_scope *s, const pith_array *a);
/** 1 / sqrt(a). Within 1.5 ulp (f32), 1.5 ulp (f64). */
PITH_API const pith_array *pith_rsqrt(pith_scope *s, const pith_array *a);
/** Cube root. Within 1.0 ulp (f32), 1.0 ulp (f64). */
PITH_API const pith_array *pith_cbrt(pith_scope *s, const pith_array *a);
/** e to the a. Within 1.0 ulp (f32), 1.0 ulp (f64). */
PITH_API const pith_array *pith_exp(pith_scope *s, const pith_array *a);
/** 2 to the a. Within 1.0 ulp (f32), 1.0 ulp (f64). */
PITH_API const pith_array *pith_exp2(pith_scope *s, const pith_array *a);
/** exp(a) - 1. Within 1.1 ulp (f32), 1.1 ulp (f64). */
PITH_API const pith_array *pith_expm1(pith_scope *s, const pith_array *a);
/** Natural logarithm. Within 1.0 ulp (f32), 1.0 ulp (f64). */
PITH_API const pith_array *pith_log(pith_scope *s, const pith_array *a);
/** Logarithm of base 2. Within 1.0 ulp (f32), 1.0 ulp (f64). */
PITH_API const pith_array *pith_log2(pith_scope *s, const pith_array *a);
/** Logarithm of base 10. Within 1.0 ulp (f32), 1.0 ulp (f64). */
PITH_API const pith_array *pith_log10(pith_scope *s, const pith_array *a);
/** log(1 + a). Within 1.1 ulp (f32), 1.1 ulp (f64). */
PITH_API const pith_array *pith_log1p(pith_scope *s, const pith_array *a);
/** Sine, radians. Within 1.0 ulp (f32), 1.0 ulp (f64). */
PITH_API const pith_array *pith_sin(pith_scope *s, const pith_array *a);
/** Cosine, radians. Within 1.0 ulp (f32), 1.0 ulp (f64). */
PITH_API const pith_array *pith_cos(pith_scope *s, const pith_array *a);
/** Tangent, radians. Within 1.1 ulp (f32), 1.1 ulp (f64). */
PITH_API const pith_array *pith_tan(pith_scope *s, const pith_array *a);
/** Arc sine. Within 1.0 ulp (f32), 1.0 ulp (f64). */
PITH_API const pith_array *pith_asin(pith_scope *s, const pith_array *a);
/** Arc cosine. Within 1.0 ulp (f32), 1.0 ulp (f64). */
PITH_API const pith_array *pith_acos(pith_scope *s, const pith_array *a);
/** Arc tangent. Within 1.0 ulp (f32), 1.0 ulp (f64). */
PITH_API const pith_array *pith_atan(pith_scope *s, const pith_array *a);
/** Hyperbolic sine. Within 1.1 ulp (f32), 1.1 ulp (f64). */
PITH_API const pith_array *pith_sinh(pith_scope *s, const pith_array *a);
/** Hyperbolic cosine. Within 1.1 ulp (f32), 1.1 ulp (f64). */
PITH_API const pith_array *pith_cosh(pith_scope *s, const pith_array *a);
/** Hyperbolic tangent. Within 0.7 ulp (f32), 0.7 ulp (f64). */
PITH_API const pith_array *pith_tanh(pith_scope *s, const pith_array *a);
/** Inverse hyperbolic sine. Within 1.1 ulp (f32), 1.1 ulp (f64). */
PITH_API const pith_array *pith_asinh(pith_scope *s, const pith_array *a);
/** Inverse hyperbolic cosine. Within 1.1 ulp (f32), 1.1 ulp (f64). */
PITH_API const pith_array *pith_acosh(pith_scope *s, const pith_array *a);
/** Inverse hyperbolic tangent. Within 1.1 ulp (f32), 1.1 ulp (f64). */
PITH_API const pith_array *pith_atanh(pith_scope *s, const pith_array *a);
/** Error function. Within 1.2 ulp (f32), 1.1 ulp (f64). */
PITH_API const pith_array *pith_erf(pith_scope *s, const pith_array *a);
/** Complementary error function. Within 1.5 ulp (f32), 1.5 ulp (f64). */
PITH_API const pith_array *pith_erfc(pith_scope *s, const pith_array *a);
/** The inverse of erf: infinite at -1 and 1, NaN beyond. Within 4.0 ulp (f32), 8.0 ulp
 * (f64). */
PITH_API const pith_array *pith_erf_inv(pith_scope *s, const pith_array *a);
/** Logarithm of the absolute value of the gamma function. Within 1.0 ulp (f32), 1.0 ulp
 * (f64) or 5e-8 (f32), 1e-16 (f64) near its zeros. */
PITH_API const pith_array *pith_lgamma(pith_scope *s, const pith_array *a);
/** Gamma function. Within 1.0 ulp (f32), 2.0 ulp (f64). */
PITH_API const pith_array *pith_tgamma(pith_scope *s, const pith_array *a);
/** Digamma: the derivative of lgamma; infinite at 0, NaN at negative integers. */
PITH_API const pith_array *pith_digamma(pith_scope *s, const pith_array *a);
/** 1 / (1 + exp(-a)). Within 2.5 ulp (f32), 2.5 ulp (f64). */
PITH_API const pith_array *pith_logistic(pith_scope *s, const pith_array *a);
/** Whether a is NaN; bool. */
PITH_API const pith_array *pith_is_nan(pith_scope *s, const pith_array *a);
/** Whether a is infinite; bool. */
PITH_API const pith_array *pith_is_inf(pith_scope *s, const pith_array *a);
/** Whether a is neither NaN nor infinite; bool. */
PITH_API const pith_array *pith_is_finite(pith_scope *s, const pith_array *a);
/** Whether the sign bit of a is set; bool. */
PITH_API const pith_array *pith_signbit(pith_scope *s, const pith_array *a);
/** Replace NaN by 0, and infinities by the largest finite numbers. Integers and bool are
 * unchanged. */
PITH_API const pith_array *pith_nan_to_num(pith_scope *s, const pith_array *a);
/**
 * Mantissa and exponent of floats: a = mantissa * 2^exponent, 1/2 <= |mantissa| < 1.
 *
 * @param exponent Set to the exponents (i32), or NULL on failure. 0, infinities and NaN
 * are their own mantissa, with exponent 0.
 */
PITH_API const pith_array *
pith_frexp(pith_scope *s, const pith_array *a, const pith_array **exponent);
/** Whether a is false (0), of any dtype; bool. */
PITH_API const pith_array *pith_logical_not(pith_scope *s, const pith_array *a);
/** Bitwise not; bool: logical not. */
PITH_API const pith_array *pith_bitwise_not(pith_scope *s, const pith_array *a);
/** The number of bits set, in a's integer dtype. */
PITH_API const pith_array *pith_population_count(pith_scope *s, const pith_array *a);
/** The number of zero bits before the highest one set, in a's integer dtype. */
PITH_API const pith_array *pith_count_leading_zeros(pith_scope *s, const pith_array *a);

/** a + b; integers wrap. */
PITH_API const pith_array *
pith_add(pith_scope *s, const pith_array *a, const pith_array *b);
/** a - b; integers wrap. */
PITH_API const pith_array *
pith_sub(pith_scope *s, const pith_array *a, const pith_array *b);
/** a * b; integers wrap. */
PITH_API const pith_array *
pith_mul(pith_scope *s, const pith_array *a, const pith_array *b);
/** a / b, floats only (pith_floor_divide is for integers). */
PITH_API const pith_array *
pith_div(pith_scope *s, const pith_array *a, const pith_array *b);
/** floor(a / b); 0 for a division by integer zero, as in NumPy. */
PITH_API const pith_array *
pith_floor_divide(pith_scope *s, const pith_array *a, const pith_array *b);
/** a / b of integers, rounded towards zero; 0 for a division by zero; the least integer
 * divided by -1 is itself. */
PITH_API const pith_array *
pith_trunc_divide(pith_scope *s, const pith_array *a, const pith_array *b);
/** a - floor(a / b) * b, the sign of b. */
PITH_API const pith_array *
pith_remainder(pith_scope *s, const pith_array *a, const pith_array *b);
/** The remainder of truncated division, the sign of a. */
PITH_API const pith_array *
pith_fmod(pith_scope *s, const pith_array *a, const pith_array *b);
/** a to the power b. Within 0.6 ulp (f32), 1.0 ulp (f64), or 2.0 (f64) where the result
 * is within 2 parts in a million of overflow. */
PITH_API const pith_array *
pith_pow(pith_scope *s, const pith_array *a, const pith_array *b);
/** a * 2^b for integers b, rounded once. */
PITH_API const pith_array *
pith_ldexp(pith_scope *s, const pith_array *a, const pith_array *b);
/** log(exp(a) + exp(b)) without overflow. */
PITH_API const pith_array *
pith_logaddexp(pith_scope *s, const pith_array *a, const pith_array *b);
/** The angle of the point (b, a). Within 1.0 ulp (f32), 1.0 ulp (f64). */
PITH_API const pith_array *
pith_atan2(pith_scope *s, const pith_array *a, const pith_array *b);
/** sqrt(a^2 + b^2) without overflow. Within 1.0 ulp (f32), 1.0 ulp (f64). */
PITH_API const pith_array *
pith_hypot(pith_scope *s, const pith_array *a, const pith_array *b);
/** Magnitude of a with the sign of b. */
PITH_API const pith_array *
pith_copysign(pith_scope *s, const pith_array *a, const pith_array *b);
/** Next representable value after a in the direction of b. */
PITH_API const pith_array *
pith_nextafter(pith_scope *s, const pith_array *a, const pith_array *b);
/** Minimum. NaN propagates. If a == b, the result is b; 0 and -0 are equal. */
PITH_API const pith_array *
pith_minimum(pith_scope *s, const pith_array *a, const pith_array *b);
/** The larger; NaN if either is; of equals, which 0 and -0 are, b. */
PITH_API const pith_array *
pith_maximum(pith_scope *s, const pith_array *a, const pith_array *b);
/** The smaller, NaN only if both are; of equals b. */
PITH_API const pith_array *
pith_fmin(pith_scope *s, const pith_array *a, const pith_array *b);
/** The larger, NaN only if both are; of equals b. */
PITH_API const pith_array *
pith_fmax(pith_scope *s, const pith_array *a, const pith_array *b);
/**
 * Polygamma: derivative a of digamma at b, where a is a whole number, and 0 is digamma
 * itself; NaN if a is negative or not whole. Infinite at b = 0; at negative integers
 * infinite if a is odd, else NaN.
 */
PITH_API const pith_array *
pith_polygamma(pith_scope *s, const pith_array *a, const pith_array *b);
/** a == b; bool. */
PITH_API const pith_array *
pith_equal(pith_scope *s, const pith_array *a, const pith_array *b);
/** a != b; bool. */
PITH_API const pith_array *
pith_not_equal(pith_scope *s, const pith_array *a, const pith_array *b);
/** a < b; bool. */
PITH_API const pith_array *
pith_less(pith_scope *s, const pith_array *a, const pith_array *b);
/** a <= b; bool. */
PITH_API const pith_array *
pith_less_equal(pith_scope *s, const pith_array *a, const pith_array *b);
/** a > b; bool. */
PITH_API const pith_array *
pith_greater(pith_scope *s, const pith_array *a, const pith_array *b);
/** a >= b; bool. */
PITH_API const pith_array *
pith_greater_equal(pith_scope *s, const pith_array *a, const pith_array *b);
/** Logical and of any dtypes; nonzero is true; bool. */
PITH_API const pith_array *
pith_logical_and(pith_scope *s, const pith_array *a, const pith_array *b);
/** Logical or of any dtypes; nonzero is true; bool. */
PITH_API const pith_array *
pith_logical_or(pith_scope *s, const pith_array *a, const pith_array *b);
/** Logical xor of any dtypes; nonzero is true; bool. */
PITH_API const pith_array *
pith_logical_xor(pith_scope *s, const pith_array *a, const pith_array *b);
/** Bitwise and, integers or bool. */
PITH_API const pith_array *
pith_bitwise_and(pith_scope *s, const pith_array *a, const pith_array *b);
/** Bitwise or, integers or bool. */
PITH_API const pith_array *
pith_bitwise_or(pith_scope *s, const pith_array *a, const pith_array *b);
/** Bitwise xor, integers or bool. */
PITH_API const pith_array *
pith_bitwise_xor(pith_scope *s, const pith_array *a, const pith_array *b);
/** a << b; 0 if b is the width or more. */
PITH_API const pith_array *
pith_shift_left(pith_scope *s, const pith_array *a, const pith_array *b);
/** a >> b: arithmetic if a is signed, else logical; all sign bits if b is the width or
 * more. */
PITH_API const pith_array *
pith_shift_right(pith_scope *s, const pith_array *a, const pith_array *b);
/** a >> b, logical also if a is signed. */
PITH_API const pith_array *
pith_shift_right_logical(pith_scope *s, const pith_array *a, const pith_array *b);
/**
 * Whether a and b are close: |a - b| <= atol + rtol * |b|, or equal infinities; bool.
 *
 * @param equal_nan Whether two NaNs are close.
 */
PITH_API const pith_array *pith_is_close(pith_scope *s,
                                         const pith_array *a,
                                         const pith_array *b,
                                         double rtol,
                                         double atol,
                                         bool equal_nan);

/** Select: @p a where @p condition (bool) is true, else @p b; all three broadcast. */
PITH_API const pith_array *pith_where(pith_scope *s,
                                      const pith_array *condition,
                                      const pith_array *a,
                                      const pith_array *b);
/** minimum(maximum(a, low), high); one of the bounds may be NULL. */
PITH_API const pith_array *pith_clip(pith_scope *s,
                                     const pith_array *a,
                                     const pith_array *low,
                                     const pith_array *high);
/** Convert to a dtype, rounding to nearest even. Floats to integers saturate; NaN becomes
 * 0. */
PITH_API const pith_array *
pith_cast(pith_scope *s, const pith_array *a, pith_dtype dtype);
/** The promoted dtype of two dtypes by the array API standard; PITH_DTYPE_NONE if it is
 * undefined (mixed kinds, f16 with bf16). */
PITH_API pith_dtype pith_promote_types(pith_dtype a, pith_dtype b);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_neg(s, ...)              pith_neg(PITH_AT(s), __VA_ARGS__)
#    define pith_abs(s, ...)              pith_abs(PITH_AT(s), __VA_ARGS__)
#    define pith_sign(s, ...)             pith_sign(PITH_AT(s), __VA_ARGS__)
#    define pith_square(s, ...)           pith_square(PITH_AT(s), __VA_ARGS__)
#    define pith_reciprocal(s, ...)       pith_reciprocal(PITH_AT(s), __VA_ARGS__)
#    define pith_floor(s, ...)            pith_floor(PITH_AT(s), __VA_ARGS__)
#    define pith_ceil(s, ...)             pith_ceil(PITH_AT(s), __VA_ARGS__)
#    define pith_round(s, ...)            pith_round(PITH_AT(s), __VA_ARGS__)
#    define pith_trunc(s, ...)            pith_trunc(PITH_AT(s), __VA_ARGS__)
#    define pith_sqrt(s, ...)             pith_sqrt(PITH_AT(s), __VA_ARGS__)
#    define pith_rsqrt(s, ...)            pith_rsqrt(PITH_AT(s), __VA_ARGS__)
#    define pith_cbrt(s, ...)             pith_cbrt(PITH_AT(s), __VA_ARGS__)
#    define pith_exp(s, ...)              pith_exp(PITH_AT(s), __VA_ARGS__)
#    define pith_exp2(s, ...)             pith_exp2(PITH_AT(s), __VA_ARGS__)
#    define pith_expm1(s, ...)            pith_expm1(PITH_AT(s), __VA_ARGS__)
#    define pith_log(s, ...)              pith_log(PITH_AT(s), __VA_ARGS__)
#    define pith_log2(s, ...)             pith_log2(PITH_AT(s), __VA_ARGS__)
#    define pith_log10(s, ...)            pith_log10(PITH_AT(s), __VA_ARGS__)
#    define pith_log1p(s, ...)            pith_log1p(PITH_AT(s), __VA_ARGS__)
#    define pith_sin(s, ...)              pith_sin(PITH_AT(s), __VA_ARGS__)
#    define pith_cos(s, ...)              pith_cos(PITH_AT(s), __VA_ARGS__)
#    define pith_tan(s, ...)              pith_tan(PITH_AT(s), __VA_ARGS__)
#    define pith_asin(s, ...)             pith_asin(PITH_AT(s), __VA_ARGS__)
#    define pith_acos(s, ...)             pith_acos(PITH_AT(s), __VA_ARGS__)
#    define pith_atan(s, ...)             pith_atan(PITH_AT(s), __VA_ARGS__)
#    define pith_sinh(s, ...)             pith_sinh(PITH_AT(s), __VA_ARGS__)
#    define pith_cosh(s, ...)             pith_cosh(PITH_AT(s), __VA_ARGS__)
#    define pith_tanh(s, ...)             pith_tanh(PITH_AT(s), __VA_ARGS__)
#    define pith_asinh(s, ...)            pith_asinh(PITH_AT(s), __VA_ARGS__)
#    define pith_acosh(s, ...)            pith_acosh(PITH_AT(s), __VA_ARGS__)
#    define pith_atanh(s, ...)            pith_atanh(PITH_AT(s), __VA_ARGS__)
#    define pith_erf(s, ...)              pith_erf(PITH_AT(s), __VA_ARGS__)
#    define pith_erfc(s, ...)             pith_erfc(PITH_AT(s), __VA_ARGS__)
#    define pith_erf_inv(s, ...)          pith_erf_inv(PITH_AT(s), __VA_ARGS__)
#    define pith_lgamma(s, ...)           pith_lgamma(PITH_AT(s), __VA_ARGS__)
#    define pith_tgamma(s, ...)           pith_tgamma(PITH_AT(s), __VA_ARGS__)
#    define pith_digamma(s, ...)          pith_digamma(PITH_AT(s), __VA_ARGS__)
#    define pith_logistic(s, ...)         pith_logistic(PITH_AT(s), __VA_ARGS__)
#    define pith_is_nan(s, ...)           pith_is_nan(PITH_AT(s), __VA_ARGS__)
#    define pith_is_inf(s, ...)           pith_is_inf(PITH_AT(s), __VA_ARGS__)
#    define pith_is_finite(s, ...)        pith_is_finite(PITH_AT(s), __VA_ARGS__)
#    define pith_signbit(s, ...)          pith_signbit(PITH_AT(s), __VA_ARGS__)
#    define pith_nan_to_num(s, ...)       pith_nan_to_num(PITH_AT(s), __VA_ARGS__)
#    define pith_frexp(s, ...)            pith_frexp(PITH_AT(s), __VA_ARGS__)
#    define pith_logical_not(s, ...)      pith_logical_not(PITH_AT(s), __VA_ARGS__)
#    define pith_bitwise_not(s, ...)      pith_bitwise_not(PITH_AT(s), __VA_ARGS__)
#    define pith_population_count(s, ...) pith_population_count(PITH_AT(s), __VA_ARGS__)
#    define pith_count_leading_zeros(s, ...)                                             \
        pith_count_leading_zeros(PITH_AT(s), __VA_ARGS__)
#    define pith_cast(s, ...) pith_cast(PITH_AT(s), __VA_ARGS__)
#endif
#define pith_add(s, a, b)                 PITH_BINARY_(pith_add, s, a, b)
#define pith_sub(s, a, b)                 PITH_BINARY_(pith_sub, s, a, b)
#define pith_mul(s, a, b)                 PITH_BINARY_(pith_mul, s, a, b)
#define pith_div(s, a, b)                 PITH_BINARY_(pith_div, s, a, b)
#define pith_floor_divide(s, a, b)        PITH_BINARY_(pith_floor_divide, s, a, b)
#define pith_trunc_divide(s, a, b)        PITH_BINARY_(pith_trunc_divide, s, a, b)
#define pith_remainder(s, a, b)           PITH_BINARY_(pith_remainder, s, a, b)
#define pith_fmod(s, a, b)                PITH_BINARY_(pith_fmod, s, a, b)
#define pith_pow(s, a, b)                 PITH_BINARY_(pith_pow, s, a, b)
#define pith_ldexp(s, a, b)               PITH_SCALED_(pith_ldexp, s, a, b)
#define pith_logaddexp(s, a, b)           PITH_BINARY_(pith_logaddexp, s, a, b)
#define pith_atan2(s, a, b)               PITH_BINARY_(pith_atan2, s, a, b)
#define pith_hypot(s, a, b)               PITH_BINARY_(pith_hypot, s, a, b)
#define pith_copysign(s, a, b)            PITH_BINARY_(pith_copysign, s, a, b)
#define pith_nextafter(s, a, b)           PITH_BINARY_(pith_nextafter, s, a, b)
#define pith_minimum(s, a, b)             PITH_BINARY_(pith_minimum, s, a, b)
#define pith_maximum(s, a, b)             PITH_BINARY_(pith_maximum, s, a, b)
#define pith_fmin(s, a, b)                PITH_BINARY_(pith_fmin, s, a, b)
#define pith_fmax(s, a, b)                PITH_BINARY_(pith_fmax, s, a, b)
#define pith_polygamma(s, a, b)           PITH_BINARY_(pith_polygamma, s, a, b)
#define pith_equal(s, a, b)               PITH_BINARY_(pith_equal, s, a, b)
#define pith_not_equal(s, a, b)           PITH_BINARY_(pith_not_equal, s, a, b)
#define pith_less(s, a, b)                PITH_BINARY_(pith_less, s, a, b)
#define pith_less_equal(s, a, b)          PITH_BINARY_(pith_less_equal, s, a, b)
#define pith_greater(s, a, b)             PITH_BINARY_(pith_greater, s, a, b)
#define pith_greater_equal(s, a, b)       PITH_BINARY_(pith_greater_equal, s, a, b)
#define pith_logical_and(s, a, b)         PITH_BINARY_(pith_logical_and, s, a, b)
#define pith_logical_or(s, a, b)          PITH_BINARY_(pith_logical_or, s, a, b)
#define pith_logical_xor(s, a, b)         PITH_BINARY_(pith_logical_xor, s, a, b)
#define pith_bitwise_and(s, a, b)         PITH_BINARY_(pith_bitwise_and, s, a, b)
#define pith_bitwise_or(s, a, b)          PITH_BINARY_(pith_bitwise_or, s, a, b)
#define pith_bitwise_xor(s, a, b)         PITH_BINARY_(pith_bitwise_xor, s, a, b)
#define pith_shift_left(s, a, b)          PITH_BINARY_(pith_shift_left, s, a, b)
#define pith_shift_right(s, a, b)         PITH_BINARY_(pith_shift_right, s, a, b)
#define pith_shift_right_logical(s, a, b) PITH_BINARY_(pith_shift_right_logical, s, a, b)
#define pith_is_close(s, a, b, rtol, atol, equal_nan)                                    \
    PITH_NEAR_(pith_is_close, s, a, b, rtol, atol, equal_nan)
#define pith_where(s, condition, a, b) PITH_SELECT_(pith_where, s, condition, a, b)
#define pith_clip(s, a, low, high)     PITH_BOUNDED_(pith_clip, s, a, low, high)
/* End of call sites. */

#endif
