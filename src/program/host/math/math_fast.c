/* Vector forms of the FAST rows of math.def, as math_simd.c has for the other rows.
 * Compiled for x86-64-v3 and v4. Lanes outside fast.h's range use the exact form. */
#define M_SCALAR_MATH /* otherwise the loops over lanes below would call themselves */
#include "program/host/math/fast.h"

#include <immintrin.h>
#include <string.h>

#define SYMBOL1(isa, lanes, name, type)                                                  \
    __asm__("_ZGV" #isa "N" #lanes "v_pithp_math_" #name "_" #type)
#define SYMBOL2(isa, lanes, name, type)                                                  \
    __asm__("_ZGV" #isa "N" #lanes "vv_pithp_math_" #name "_" #type)

/* Loops over lanes, which gcc vectorises. */
#define FAST1(vector, isa, lanes, name, exact, type, limit)                              \
    vector exact1_##isa##_##name##_##type(vector x) SYMBOL1(isa, lanes, exact, type);    \
    static __attribute__((noinline)) vector beyond_##isa##_##name##_##type(vector x) {   \
        type a[lanes], y[lanes];                                                         \
        const vector exact_y = exact1_##isa##_##name##_##type(x);                        \
        memcpy(a, &x, sizeof a);                                                         \
        memcpy(y, &exact_y, sizeof y);                                                   \
        _Pragma("omp simd") for (int i = 0; i < lanes; i++) y[i] =                       \
            m_abs(a[i]) <= limit ? own_##name##_##type(a[i]) : y[i];                     \
        memcpy(&x, y, sizeof x);                                                         \
        return x;                                                                        \
    }                                                                                    \
    vector fast1_##isa##_##name##_##type(vector x) SYMBOL1(isa, lanes, name, type);      \
    vector fast1_##isa##_##name##_##type(vector x) {                                     \
        type a[lanes];                                                                   \
        if (__builtin_expect(NOT_WITHIN_##type##lanes(x, limit), 0))                     \
            return beyond_##isa##_##name##_##type(x);                                    \
        memcpy(a, &x, sizeof a);                                                         \
        _Pragma("omp simd") for (int i = 0; i < lanes; i++) a[i] =                       \
            own_##name##_##type(a[i]);                                                   \
        memcpy(&x, a, sizeof x);                                                         \
        return x;                                                                        \
    }

/* The text of fast.h with gcc's vectors. */
#define NUMBER_OF(bits) ((V)(bits))
#define BITS_OF(x)      ((I)(x))
#define FAST1_ALL(vector, isa, lanes, name, F, B, TEXT)                                  \
    vector fast1_##isa##_##name##_##F(vector x_) SYMBOL1(isa, lanes, name, F);           \
    vector fast1_##isa##_##name##_##F(vector x_) {                                       \
        typedef F V __attribute__((vector_size(sizeof(vector))));                        \
        typedef B I __attribute__((vector_size(sizeof(vector))));                        \
        const V x = (V)x_;                                                               \
        TEXT(V, I, NUMBER_OF, BITS_OF, FUSED_##F##lanes, FILL_##F##lanes,                \
             LEAST_##F##lanes);                                                          \
        return (vector)result;                                                           \
    }
#define FAST2(vector, isa, lanes, name, exact, F, B, TEXT)                               \
    vector exact2_##isa##_##name##_##F(vector x, vector y)                               \
        SYMBOL2(isa, lanes, exact, F);                                                   \
    static __attribute__((noinline)) vector beyond_##isa##_##name##_##F(                 \
        vector x, vector y, vector power, vector within) {                               \
        typedef B I __attribute__((vector_size(sizeof(vector))));                        \
        const vector exact_power = exact2_##isa##_##name##_##F(x, y);                    \
        return (vector)(((I)power & (I)within) | ((I)exact_power & ~(I)within));         \
    }                                                                                    \
    vector fast2_##isa##_##name##_##F(vector x_, vector y_)                              \
        SYMBOL2(isa, lanes, name, F);                                                    \
    vector fast2_##isa##_##name##_##F(vector x_, vector y_) {                            \
        typedef F V __attribute__((vector_size(sizeof(vector))));                        \
        typedef B I __attribute__((vector_size(sizeof(vector))));                        \
        const V x = (V)x_, y = (V)y_;                                                    \
        TEXT(V, I, NUMBER_OF, BITS_OF, FUSED_##F##lanes, FILL_##F##lanes,                \
             LOOK_##F##lanes, SHIFT_##F##lanes);                                         \
        return __builtin_expect(ALL_##F##lanes((vector)within), 1)                       \
                   ? (vector)power                                                       \
                   : beyond_##isa##_##name##_##F(x_, y_, (vector)power, (vector)within); \
    }

#ifdef __AVX512F__

#    define NOT_WITHIN_f3216(x, limit)                                                   \
        _mm512_cmp_ps_mask(_mm512_abs_ps(x), _mm512_set1_ps(limit), _CMP_NLE_UQ)
#    define NOT_WITHIN_f648(x, limit)                                                    \
        _mm512_cmp_pd_mask(_mm512_abs_pd(x), _mm512_set1_pd(limit), _CMP_NLE_UQ)
#    define FUSED_f3216(x, y, z)                                                         \
        ((V)_mm512_fmadd_ps((__m512)(x), (__m512)(y), (__m512)(z)))
#    define FUSED_f648(x, y, z)                                                          \
        ((V)_mm512_fmadd_pd((__m512d)(x), (__m512d)(y), (__m512d)(z)))
#    define FILL_f3216(x)     ((V)_mm512_set1_ps(x))
#    define FILL_f648(x)      ((V)_mm512_set1_pd(x))
#    define LEAST_f3216(x, y) ((V)_mm512_min_ps((__m512)(x), (__m512)(y)))
#    define LEAST_f648(x, y)  ((V)_mm512_min_pd((__m512d)(x), (__m512d)(y)))
#    define LOOK_f3216(table, i)                                                         \
        ((V)_mm512_permutex2var_ps(_mm512_loadu_ps(table), (__m512i)(i),                 \
                                   _mm512_loadu_ps((table) + 16)))
#    define LOOK_f648(table, i)                                                          \
        ((V)_mm512_permutex2var_pd(_mm512_loadu_pd(table), (__m512i)(i),                 \
                                   _mm512_loadu_pd((table) + 8)))
#    define SHIFT_f3216(i, by)                                                           \
        ((V)_mm512_cvtepi32_ps(_mm512_srai_epi32((__m512i)(i), by)))
#    define SHIFT_f648(i, by) ((V)_mm512_cvtepi64_pd(_mm512_srai_epi64((__m512i)(i), by)))
#    define ALL_f3216(x)      (_mm512_movepi32_mask((__m512i)(x)) == 0xFFFF)
#    define ALL_f648(x)       (_mm512_movepi64_mask((__m512i)(x)) == 0xFF)

#    define FORMS1(name, exact, limit32, limit64)                                        \
        FAST1(__m512, e, 16, name, exact, f32, limit32)                                  \
        FAST1(__m512d, e, 8, name, exact, f64, limit64)
#    define FORMS1_ALL(name)                                                             \
        FAST1_ALL(__m512, e, 16, name, f32, u32, FAST_TANH_f32)                          \
        FAST1_ALL(__m512d, e, 8, name, f64, u64, FAST_TANH_f64)
#    define FORMS2(name, exact)                                                          \
        FAST2(__m512, e, 16, name, exact, f32, u32, FAST_POW_f32)                        \
        FAST2(__m512d, e, 8, name, exact, f64, u64, FAST_POW_f64)

#else

#    define NOT_WITHIN_f328(x, limit)                                                    \
        _mm256_movemask_ps(_mm256_cmp_ps(_mm256_andnot_ps(_mm256_set1_ps(-0.0f), x),     \
                                         _mm256_set1_ps(limit), _CMP_NLE_UQ))
#    define NOT_WITHIN_f644(x, limit)                                                    \
        _mm256_movemask_pd(_mm256_cmp_pd(_mm256_andnot_pd(_mm256_set1_pd(-0.0), x),      \
                                         _mm256_set1_pd(limit), _CMP_NLE_UQ))
#    define NOT_WITHIN_f324(x, limit)                                                    \
        _mm_movemask_ps(_mm_cmp_ps(_mm_andnot_ps(_mm_set1_ps(-0.0f), x),                 \
                                   _mm_set1_ps(limit), _CMP_NLE_UQ))
#    define NOT_WITHIN_f642(x, limit)                                                    \
        _mm_movemask_pd(_mm_cmp_pd(_mm_andnot_pd(_mm_set1_pd(-0.0), x),                  \
                                   _mm_set1_pd(limit), _CMP_NLE_UQ))
#    define FUSED_f328(x, y, z)                                                          \
        ((V)_mm256_fmadd_ps((__m256)(x), (__m256)(y), (__m256)(z)))
#    define FUSED_f644(x, y, z)                                                          \
        ((V)_mm256_fmadd_pd((__m256d)(x), (__m256d)(y), (__m256d)(z)))
#    define FUSED_f324(x, y, z) ((V)_mm_fmadd_ps((__m128)(x), (__m128)(y), (__m128)(z)))
#    define FUSED_f642(x, y, z)                                                          \
        ((V)_mm_fmadd_pd((__m128d)(x), (__m128d)(y), (__m128d)(z)))
#    define FILL_f328(x)      ((V)_mm256_set1_ps(x))
#    define FILL_f644(x)      ((V)_mm256_set1_pd(x))
#    define FILL_f324(x)      ((V)_mm_set1_ps(x))
#    define FILL_f642(x)      ((V)_mm_set1_pd(x))
#    define LEAST_f328(x, y)  ((V)_mm256_min_ps((__m256)(x), (__m256)(y)))
#    define LEAST_f644(x, y)  ((V)_mm256_min_pd((__m256d)(x), (__m256d)(y)))
#    define LEAST_f324(x, y)  ((V)_mm_min_ps((__m128)(x), (__m128)(y)))
#    define LEAST_f642(x, y)  ((V)_mm_min_pd((__m128d)(x), (__m128d)(y)))
/* Indices beyond a table wrap, as in vpermt2ps. AVX2 has no conversion of 64-bit
 * integers: the exponent, plus 1024, becomes the low bits of 2^52 + exponent. */
#    define AT(table, i)      ((i) & (sizeof(table) / sizeof *(table)-1))
#    define SHIFT_f328(i, by) ((V)_mm256_cvtepi32_ps(_mm256_srai_epi32((__m256i)(i), by)))
#    define SHIFT_f324(i, by) ((V)_mm_cvtepi32_ps(_mm_srai_epi32((__m128i)(i), by)))
#    define SHIFT_f644(i, by)                                                            \
        ((V)(((i) + (1024ull << (by))) >> (by) | 0x4330000000000000u) - (0x1p52 + 1024))
#    define SHIFT_f642(i, by)   SHIFT_f644(i, by)
#    define LOOK_f328(table, i) ((V)_mm256_i32gather_ps(table, (__m256i)AT(table, i), 4))
#    define LOOK_f644(table, i) ((V)_mm256_i64gather_pd(table, (__m256i)AT(table, i), 8))
#    define LOOK_f324(table, i) ((V)_mm_i32gather_ps(table, (__m128i)AT(table, i), 4))
#    define LOOK_f642(table, i) ((V)_mm_i64gather_pd(table, (__m128i)AT(table, i), 8))
#    define ALL_f328(x)         (_mm256_movemask_ps((__m256)(x)) == 0xFF)
#    define ALL_f644(x)         (_mm256_movemask_pd((__m256d)(x)) == 0xF)
#    define ALL_f324(x)         (_mm_movemask_ps((__m128)(x)) == 0xF)
#    define ALL_f642(x)         (_mm_movemask_pd((__m128d)(x)) == 3)

/* d: 256 bits, AVX2; c: 256 bits, AVX; b: 128 bits. */
#    define FORMS1(name, exact, limit32, limit64)                                        \
        FAST1(__m256, d, 8, name, exact, f32, limit32)                                   \
        FAST1(__m256d, d, 4, name, exact, f64, limit64)                                  \
        FAST1(__m256, c, 8, name, exact, f32, limit32)                                   \
        FAST1(__m256d, c, 4, name, exact, f64, limit64)                                  \
        FAST1(__m128, b, 4, name, exact, f32, limit32)                                   \
        FAST1(__m128d, b, 2, name, exact, f64, limit64)
#    define FORMS1_ALL(name)                                                             \
        FAST1_ALL(__m256, d, 8, name, f32, u32, FAST_TANH_f32)                           \
        FAST1_ALL(__m256d, d, 4, name, f64, u64, FAST_TANH_f64)                          \
        FAST1_ALL(__m256, c, 8, name, f32, u32, FAST_TANH_f32)                           \
        FAST1_ALL(__m256d, c, 4, name, f64, u64, FAST_TANH_f64)                          \
        FAST1_ALL(__m128, b, 4, name, f32, u32, FAST_TANH_f32)                           \
        FAST1_ALL(__m128d, b, 2, name, f64, u64, FAST_TANH_f64)
#    define FORMS2(name, exact)                                                          \
        FAST2(__m256, d, 8, name, exact, f32, u32, FAST_POW_f32)                         \
        FAST2(__m256d, d, 4, name, exact, f64, u64, FAST_POW_f64)                        \
        FAST2(__m256, c, 8, name, exact, f32, u32, FAST_POW_f32)                         \
        FAST2(__m256d, c, 4, name, exact, f64, u64, FAST_POW_f64)                        \
        FAST2(__m128, b, 4, name, exact, f32, u32, FAST_POW_f32)                         \
        FAST2(__m128d, b, 2, name, exact, f64, u64, FAST_POW_f64)

#endif

/* Rows of other kinds are in math_simd.c. */
#define PITHP_MATH1_FAST(name, exact, limit32, limit64)                                  \
    FORMS1(name, exact, limit32, limit64)
#define PITHP_MATH1_FAST_ALL(name, exact) FORMS1_ALL(name)
#define PITHP_MATH2_FAST(name, exact)     FORMS2(name, exact)
#include "program/host/math/math.def"
