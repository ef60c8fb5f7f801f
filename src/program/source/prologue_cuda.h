/* Prologue of generated text on CUDA: types and functions that the rows' expressions use,
 * with the names of source/prologue_host.h, for nvcc and NVRTC. It precedes generated
 * text, so it includes nothing. C++ overloads replace the host's _Generic. */
#ifndef PITHP_PROLOGUE_H
#define PITHP_PROLOGUE_H

/* one text serves signed and unsigned types, and not every text uses every helper */
#pragma nv_diag_suppress 177
#pragma nv_diag_suppress 186

typedef unsigned char b8;
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long u64;
typedef unsigned short f16;
typedef unsigned short bf16;
typedef float f32;
typedef double f64;

#define M_FN                   static __device__ __forceinline__
#define M_NAME(function, type) function

M_FN u32 m_bits_f32(f32 x) {
    return __float_as_uint(x);
}
M_FN u64 m_bits_f64(f64 x) {
    return (u64)__double_as_longlong(x);
}
M_FN f32 m_from_bits_u32(u32 bits) {
    return __uint_as_float(bits);
}
M_FN f64 m_from_bits_u64(u64 bits) {
    return __longlong_as_double((i64)bits);
}

/* x y + z, rounded once */
M_FN f32 m_fused_f32(f32 x, f32 y, f32 z) {
    return __fmaf_rn(x, y, z);
}
M_FN f64 m_fused_f64(f64 x, f64 y, f64 z) {
    return __fma_rn(x, y, z);
}
M_FN f32 m_fused(f32 x, f32 y, f32 z) {
    return m_fused_f32(x, y, z);
}
M_FN f64 m_fused(f64 x, f64 y, f64 z) {
    return m_fused_f64(x, y, z);
}

/* Functions that IEEE 754 defines, then those of the CUDA toolkit; its programming guide
 * states their error bounds. */
#define M_FUNCTION1(name, cuda)                                                          \
    M_FN f32 m_##name(f32 x) {                                                           \
        return cuda##f(x);                                                               \
    }                                                                                    \
    M_FN f64 m_##name(f64 x) {                                                           \
        return cuda(x);                                                                  \
    }
#define M_FUNCTION2(name, cuda)                                                          \
    M_FN f32 m_##name(f32 x, f32 y) {                                                    \
        return cuda##f(x, y);                                                            \
    }                                                                                    \
    M_FN f64 m_##name(f64 x, f64 y) {                                                    \
        return cuda(x, y);                                                               \
    }
M_FUNCTION1(abs, fabs)
M_FUNCTION1(floor, floor)
M_FUNCTION1(ceil, ceil)
M_FUNCTION1(rint, rint)
M_FUNCTION1(trunc, trunc)
M_FUNCTION1(sqrt, sqrt)
M_FUNCTION2(copysign, copysign)
M_FUNCTION2(fmod, fmod)

M_FUNCTION1(exp, exp)
M_FUNCTION1(exp2, exp2)
M_FUNCTION1(expm1, expm1)
M_FUNCTION1(log, log)
M_FUNCTION1(log2, log2)
M_FUNCTION1(log10, log10)
M_FUNCTION1(log1p, log1p)
M_FUNCTION1(sin, sin)
M_FUNCTION1(cos, cos)
M_FUNCTION1(tan, tan)
M_FUNCTION1(asin, asin)
M_FUNCTION1(acos, acos)
M_FUNCTION1(atan, atan)
M_FUNCTION1(sinh, sinh)
M_FUNCTION1(cosh, cosh)
M_FUNCTION1(tanh, tanh)
M_FUNCTION1(asinh, asinh)
M_FUNCTION1(acosh, acosh)
M_FUNCTION1(atanh, atanh)
M_FUNCTION1(cbrt, cbrt)
M_FUNCTION1(erf, erf)
M_FUNCTION1(erfc, erfc)
M_FUNCTION1(lgamma, lgamma)
M_FUNCTION1(tgamma, tgamma)
/* A first power is exact, also where CUDA's error would overflow it. */
M_FN f32 m_pow(f32 x, f32 y) {
    return y == 1.0f ? x : powf(x, y);
}
M_FN f64 m_pow(f64 x, f64 y) {
    return y == 1.0 ? x : pow(x, y);
}
M_FUNCTION2(atan2, atan2)
M_FUNCTION2(hypot, hypot)

/* fast_math has no faster forms on CUDA. */
M_FUNCTION1(fast_log, log)
M_FUNCTION1(fast_log2, log2)
M_FUNCTION1(fast_asin, asin)
M_FUNCTION1(fast_acos, acos)
M_FUNCTION1(fast_atan, atan)
M_FUNCTION1(fast_sin, sin)
M_FUNCTION1(fast_cos, cos)
M_FUNCTION1(fast_tanh, tanh)
M_FN f32 m_fast_pow(f32 x, f32 y) {
    return m_pow(x, y);
}
M_FN f64 m_fast_pow(f64 x, f64 y) {
    return m_pow(x, y);
}

#endif
