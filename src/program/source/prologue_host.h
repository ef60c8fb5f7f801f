/* Prologue of generated text and of the host loops: types and C17 functions under the
 * names of the operation table. It precedes generated text, so it includes nothing.
 * source/prologue_cuda.h is its counterpart. */
#ifndef PITHP_PROLOGUE_H
#define PITHP_PROLOGUE_H

typedef __UINT8_TYPE__ b8;
typedef __INT8_TYPE__ i8;
typedef __INT16_TYPE__ i16;
typedef __INT32_TYPE__ i32;
typedef __INT64_TYPE__ i64;
typedef __UINT8_TYPE__ u8;
typedef __UINT16_TYPE__ u16;
typedef __UINT32_TYPE__ u32;
typedef __UINT64_TYPE__ u64;
typedef __UINT16_TYPE__ f16;
typedef __UINT16_TYPE__ bf16;
typedef float f32;
typedef double f64;

#define M_FN                   static inline __attribute__((always_inline, unused))
#define M_NAME(function, type) function##_##type
#define M_LOOP                 _Pragma("omp simd")

/* Vector width of NAME_rows, a step that reads neighbours. Every unaligned load of 512
 * bits crosses a cache line, and every other one of 256 bits. So 512 bits are faster
 * while the data stay in a near cache, and slower beyond. */
#if defined(__AVX512F__) && !defined(__clang__)
#    define M_NEAR ((i64)6 << 20) /* bytes of a result */
#    define M_BY_SIZE(name, size)                                                        \
        static __attribute__((                                                           \
            noinline,                                                                    \
            target("prefer-vector-width=256"))) void name##_far(const void *args,        \
                                                                i64 begin, i64 end) {    \
            name##_rows(args, begin, end);                                               \
        }                                                                                \
        void name(const void *args, i64 begin, i64 end) {                                \
            if (((const name##_args *)args)->count * (size) > M_NEAR)                    \
                name##_far(args, begin, end);                                            \
            else                                                                         \
                name##_rows(args, begin, end);                                           \
        }
#else
#    define M_BY_SIZE(name, size)                                                        \
        void name(const void *args, i64 begin, i64 end) {                                \
            name##_rows(args, begin, end);                                               \
        }
#endif

/* One name for the overloads of a function: by float type, and by promoted integer type.
 */
#define M_REAL(function, x) _Generic((x), f32 : function##_f32, f64 : function##_f64)
#define M_INTEGER(function, x)                                                           \
    _Generic((x), i64                                                                    \
             : function##_i64, u64                                                       \
             : function##_u64, u32                                                       \
             : function##_u32, default                                                   \
             : function##_i32)
#define M_ANY(function, x)                                                               \
    _Generic((x), f32                                                                    \
             : function##_f32, f64                                                       \
             : function##_f64, i64                                                       \
             : function##_i64, u64                                                       \
             : function##_u64, u32                                                       \
             : function##_u32, default                                                   \
             : function##_i32)

M_FN u32 m_bits_f32(f32 x) {
    union {
        f32 x;
        u32 bits;
    } pun = {x};
    return pun.bits;
}
M_FN u64 m_bits_f64(f64 x) {
    union {
        f64 x;
        u64 bits;
    } pun = {x};
    return pun.bits;
}
M_FN f32 m_from_bits_u32(u32 bits) {
    union {
        u32 bits;
        f32 x;
    } pun = {bits};
    return pun.x;
}
M_FN f64 m_from_bits_u64(u64 bits) {
    union {
        u64 bits;
        f64 x;
    } pun = {bits};
    return pun.x;
}

/* x y + z, rounded once */
M_FN f32 m_fused_f32(f32 x, f32 y, f32 z) {
    return __builtin_fmaf(x, y, z);
}
M_FN f64 m_fused_f64(f64 x, f64 y, f64 z) {
    return __builtin_fma(x, y, z);
}

/* Functions that IEEE 754 defines. */
#define M_BUILTIN1(name, builtin)                                                        \
    M_FN f32 m_##name##_f32(f32 x) {                                                     \
        return __builtin_##builtin##f(x);                                                \
    }                                                                                    \
    M_FN f64 m_##name##_f64(f64 x) {                                                     \
        return __builtin_##builtin(x);                                                   \
    }
#define M_BUILTIN2(name, builtin)                                                        \
    M_FN f32 m_##name##_f32(f32 x, f32 y) {                                              \
        return __builtin_##builtin##f(x, y);                                             \
    }                                                                                    \
    M_FN f64 m_##name##_f64(f64 x, f64 y) {                                              \
        return __builtin_##builtin(x, y);                                                \
    }
M_BUILTIN1(abs, fabs)
M_BUILTIN1(floor, floor)
M_BUILTIN1(ceil, ceil)
M_BUILTIN1(rint, rint)
M_BUILTIN1(trunc, trunc)
M_BUILTIN1(sqrt, sqrt)
M_BUILTIN2(copysign, copysign)
M_BUILTIN2(fmod, fmod)

#define m_abs(x)         M_REAL(m_abs, x)(x)
#define m_floor(x)       M_REAL(m_floor, x)(x)
#define m_ceil(x)        M_REAL(m_ceil, x)(x)
#define m_rint(x)        M_REAL(m_rint, x)(x)
#define m_trunc(x)       M_REAL(m_trunc, x)(x)
#define m_sqrt(x)        M_REAL(m_sqrt, x)(x)
#define m_copysign(x, y) M_REAL(m_copysign, x)(x, y)
#define m_fmod(x, y)     M_REAL(m_fmod, x)(x, y)

/* Other functions are the library's, whose vector forms give the same bits. */
#if defined(__AVX2__) && !defined(__clang__) && !defined(M_SCALAR_MATH)
#    define M_SIMD _Pragma("omp declare simd notinbranch")
#else
#    define M_SIMD
#endif
/* Without const gcc keeps code after a call in branches, and does not vectorise loops. */
#define M_CONST __attribute__((const))
#define M_MATH1(name)                                                                    \
    M_SIMD extern M_CONST f32 pithp_math_##name##_f32(f32 x);                            \
    M_SIMD extern M_CONST f64 pithp_math_##name##_f64(f64 x);
#define M_MATH2(name)                                                                    \
    M_SIMD extern M_CONST f32 pithp_math_##name##_f32(f32 x, f32 y);                     \
    M_SIMD extern M_CONST f64 pithp_math_##name##_f64(f64 x, f64 y);
M_MATH1(exp)
M_MATH1(exp2)
M_MATH1(expm1)
M_MATH1(log)
M_MATH1(log2)
M_MATH1(log10)
M_MATH1(log1p)
M_MATH1(sin)
M_MATH1(cos)
M_MATH1(tan)
M_MATH1(asin)
M_MATH1(acos)
M_MATH1(atan)
M_MATH1(sinh)
M_MATH1(cosh)
M_MATH1(tanh)
M_MATH1(asinh)
M_MATH1(acosh)
M_MATH1(atanh)
M_MATH1(cbrt)
M_MATH1(erf)
M_MATH1(erfc)
M_MATH1(lgamma)
M_MATH1(tgamma)
M_MATH2(pow)
M_MATH2(atan2)
M_MATH2(hypot)
M_MATH1(fast_log)
M_MATH1(fast_log2)
M_MATH1(fast_asin)
M_MATH1(fast_acos)
M_MATH1(fast_atan)
M_MATH1(fast_sin)
M_MATH1(fast_cos)
M_MATH1(fast_tanh)
M_MATH2(fast_pow)

#define m_exp(x)      M_REAL(pithp_math_exp, x)(x)
#define m_exp2(x)     M_REAL(pithp_math_exp2, x)(x)
#define m_expm1(x)    M_REAL(pithp_math_expm1, x)(x)
#define m_log(x)      M_REAL(pithp_math_log, x)(x)
#define m_log2(x)     M_REAL(pithp_math_log2, x)(x)
#define m_log10(x)    M_REAL(pithp_math_log10, x)(x)
#define m_log1p(x)    M_REAL(pithp_math_log1p, x)(x)
#define m_sin(x)      M_REAL(pithp_math_sin, x)(x)
#define m_cos(x)      M_REAL(pithp_math_cos, x)(x)
#define m_tan(x)      M_REAL(pithp_math_tan, x)(x)
#define m_asin(x)     M_REAL(pithp_math_asin, x)(x)
#define m_acos(x)     M_REAL(pithp_math_acos, x)(x)
#define m_atan(x)     M_REAL(pithp_math_atan, x)(x)
#define m_sinh(x)     M_REAL(pithp_math_sinh, x)(x)
#define m_cosh(x)     M_REAL(pithp_math_cosh, x)(x)
#define m_tanh(x)     M_REAL(pithp_math_tanh, x)(x)
#define m_asinh(x)    M_REAL(pithp_math_asinh, x)(x)
#define m_acosh(x)    M_REAL(pithp_math_acosh, x)(x)
#define m_atanh(x)    M_REAL(pithp_math_atanh, x)(x)
#define m_cbrt(x)     M_REAL(pithp_math_cbrt, x)(x)
#define m_erf(x)      M_REAL(pithp_math_erf, x)(x)
#define m_erfc(x)     M_REAL(pithp_math_erfc, x)(x)
#define m_lgamma(x)   M_REAL(pithp_math_lgamma, x)(x)
#define m_tgamma(x)   M_REAL(pithp_math_tgamma, x)(x)
#define m_pow(x, y)   M_REAL(pithp_math_pow, x)(x, y)
#define m_atan2(x, y) M_REAL(pithp_math_atan2, x)(x, y)
#define m_hypot(x, y) M_REAL(pithp_math_hypot, x)(x, y)

/* Within 4 ulp: for programs with fast_math. */
#define m_fast_log(x)    M_REAL(pithp_math_fast_log, x)(x)
#define m_fast_log2(x)   M_REAL(pithp_math_fast_log2, x)(x)
#define m_fast_asin(x)   M_REAL(pithp_math_fast_asin, x)(x)
#define m_fast_acos(x)   M_REAL(pithp_math_fast_acos, x)(x)
#define m_fast_atan(x)   M_REAL(pithp_math_fast_atan, x)(x)
#define m_fast_sin(x)    M_REAL(pithp_math_fast_sin, x)(x)
#define m_fast_cos(x)    M_REAL(pithp_math_fast_cos, x)(x)
#define m_fast_tanh(x)   M_REAL(pithp_math_fast_tanh, x)(x)
#define m_fast_pow(x, y) M_REAL(pithp_math_fast_pow, x)(x, y)
#define m_fused(x, y, z) M_REAL(m_fused, x)(x, y, z)

/* Helpers of source/scalar.h. */
#define m_quotient(a, b)           M_INTEGER(m_quotient, a)(a, b)
#define m_rest(a, b)               M_INTEGER(m_rest, a)(a, b)
#define m_floor_quotient(a, b)     M_INTEGER(m_floor_quotient, a)(a, b)
#define m_modulo(a, b)             M_INTEGER(m_modulo, a)(a, b)
#define m_power(a, b)              M_INTEGER(m_power, a)(a, b)
#define m_shift_left(a, b, width)  M_INTEGER(m_shift_left, a)(a, b, width)
#define m_shift_right(a, b, width) M_INTEGER(m_shift_right, a)(a, b, width)
#define m_ones(x)                  _Generic((x), u64 : m_ones_u64, u32 : m_ones_u32)(x)
#define m_smear(x)                 _Generic((x), u64 : m_smear_u64, u32 : m_smear_u32)(x)
#define m_floor_divide(a, b)       M_REAL(m_floor_divide, a)(a, b)
#define m_remainder(a, b)          M_REAL(m_remainder, a)(a, b)
#define m_clip(a, b, c)            M_REAL(m_clip, a)(a, b, c)
#define m_signbit(a)               M_REAL(m_signbit, a)(a)
#define m_erf_inv(a)               M_REAL(m_erf_inv, a)(a)
#define m_nextafter(a, b, half)    M_REAL(m_nextafter, a)(a, b, half)
#define m_logistic(a)              M_REAL(m_logistic, a)(a)
#define m_frexp_mantissa(a)        M_REAL(m_frexp_mantissa, a)(a)
#define m_frexp_exponent(a)        M_REAL(m_frexp_exponent, a)(a)
#define m_ldexp(a, b)              M_REAL(m_ldexp, a)(a, b)
#define m_digamma(a)               M_REAL(m_digamma, a)(a)
#define m_polygamma(n, x)          M_REAL(m_polygamma, x)(n, x)
#define m_logaddexp(a, b)          M_REAL(m_logaddexp, a)(a, b)
#define m_to_b8(x)                 M_ANY(m_to_b8, x)(x)
#define m_to_i8(x)                 M_ANY(m_to_i8, x)(x)
#define m_to_i16(x)                M_ANY(m_to_i16, x)(x)
#define m_to_i32(x)                M_ANY(m_to_i32, x)(x)
#define m_to_i64(x)                M_ANY(m_to_i64, x)(x)
#define m_to_u8(x)                 M_ANY(m_to_u8, x)(x)
#define m_to_u16(x)                M_ANY(m_to_u16, x)(x)
#define m_to_u32(x)                M_ANY(m_to_u32, x)(x)
#define m_to_u64(x)                M_ANY(m_to_u64, x)(x)
#define m_to_f16(x)                M_ANY(m_to_f16, x)(x)
#define m_to_bf16(x)               M_ANY(m_to_bf16, x)(x)
#define m_to_f32(x)                M_ANY(m_to_f32, x)(x)
#define m_to_f64(x)                M_ANY(m_to_f64, x)(x)

#endif
