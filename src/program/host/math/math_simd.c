/* Vector forms of the functions in math.def, under the names of the x86-64 vector
 * function ABI, so that gcc calls them from loops over the scalar ones. Compiled for
 * x86-64-v3, which gives the forms of up to 256 bits, and for x86-64-v4, which gives
 * those of 512 bits. Lanes outside SLEEF's accurate range use the scalar form. */
#define M_SCALAR_MATH /* otherwise the loops over lanes below would call themselves */
#include "program/host/math/angle.h"
#include "program/host/math/own.h"

#include <immintrin.h>
#include <string.h>

/* A vector of `lanes` numbers from SLEEF's vectors of that size or of twice that size.
 * Exceptional lanes are detected before the call, so that it is a tail call without a
 * stack frame. */
#define UNARY(vector, isa, lanes, name, type, call, check, rare)                         \
    static __attribute__((noinline, cold, unused))                                       \
    vector rare_##isa##_##name##_##type(vector x) {                                      \
        rare(vector, lanes, name, type, call);                                           \
    }                                                                                    \
    vector unary_##isa##_##name##_##type(vector x) __asm__(                              \
        "_ZGV" #isa "N" #lanes "v_pithp_math_" #name "_" #type);                         \
    vector unary_##isa##_##name##_##type(vector x) {                                     \
        check(lanes, name, rare_##isa##_##name##_##type);                                \
        return call;                                                                     \
    }
/* Vectors with exceptional lanes use the scalar form. */
#define EACH_LANE(vector, lanes, name, type, call)                                       \
    for (int i = 0; i < lanes; i++)                                                      \
        x[i] = pithp_math_##name##_##type(x[i]);                                         \
    return x
#define BINARY(vector, isa, lanes, name, type, call, mend)                               \
    vector binary_##isa##_##name##_##type(vector x, vector z) __asm__(                   \
        "_ZGV" #isa "N" #lanes "vv_pithp_math_" #name "_" #type);                        \
    vector binary_##isa##_##name##_##type(vector x, vector z) {                          \
        vector y = call;                                                                 \
        mend;                                                                            \
        return y;                                                                        \
    }

/* Own functions: loops over lanes, which gcc vectorises. */
#define OWN_LANES(vector, isa, lanes, name, type)                                        \
    static inline __attribute__((always_inline))                                         \
    vector own_##isa##_##name##_##type(vector x) {                                       \
        type a[lanes];                                                                   \
        memcpy(a, &x, sizeof a);                                                         \
        _Pragma("omp simd") for (int i = 0; i < lanes; i++) a[i] =                       \
            own_##name##_##type(a[i]);                                                   \
        memcpy(&x, a, sizeof x);                                                         \
        return x;                                                                        \
    }
#define OWN1(vector, isa, lanes, name, type)                                             \
    OWN_LANES(vector, isa, lanes, name, type)                                            \
    vector unary_##isa##_##name##_##type(vector x) __asm__(                              \
        "_ZGV" #isa "N" #lanes "v_pithp_math_" #name "_" #type);                         \
    vector unary_##isa##_##name##_##type(vector x) {                                     \
        return own_##isa##_##name##_##type(x);                                           \
    }
/* f64 whose lanes are all within the limit. Otherwise own lanes are combined with
 * SLEEF's, and with the scalar form if SLEEF overflows too early: lanes of -inf are
 * common. */
#define OWN_WITHIN(vector, isa, lanes, name, call)                                       \
    OWN_LANES(vector, isa, lanes, name, f64)                                             \
    static __attribute__((noinline)) vector beyond_##isa##_##name(vector x) {            \
        f64 a[lanes], y[lanes];                                                          \
        const vector sleef = call;                                                       \
        memcpy(a, &x, sizeof a);                                                         \
        memcpy(y, &sleef, sizeof y);                                                     \
        _Pragma("omp simd") for (int i = 0; i < lanes; i++) y[i] =                       \
            m_abs(a[i]) <= limit64_##name ? own_##name##_f64(a[i]) : y[i];               \
        for (int i = 0; i < lanes; i++)                                                  \
            if (a[i] > limit64_##name)                                                   \
                y[i] = pithp_math_##name##_f64(a[i]);                                    \
        memcpy(&x, y, sizeof x);                                                         \
        return x;                                                                        \
    }                                                                                    \
    vector unary_##isa##_##name##_f64(vector x) __asm__("_ZGV" #isa "N" #lanes           \
                                                        "v_pithp_math_" #name "_f64");   \
    vector unary_##isa##_##name##_f64(vector x) {                                        \
        return __builtin_expect(NOT_WITHIN_f64##lanes(x, limit64_##name), 0)             \
                   ? beyond_##isa##_##name(x)                                            \
                   : own_##isa##_##name##_f64(x);                                        \
    }
/* f32 of two arguments: exceptional lanes use the scalar form. */
#define OWN2(vector, isa, lanes, name)                                                   \
    vector binary_##isa##_##name##_f32(vector x, vector z) __asm__(                      \
        "_ZGV" #isa "N" #lanes "vv_pithp_math_" #name "_f32");                           \
    vector binary_##isa##_##name##_f32(vector x, vector z) {                             \
        f32 a[lanes], b[lanes], c[lanes];                                                \
        i32 takes = 1;                                                                   \
        memcpy(a, &x, sizeof a);                                                         \
        memcpy(b, &z, sizeof b);                                                         \
        _Pragma("omp simd reduction(& : takes)") for (int i = 0; i < lanes; i++) {       \
            c[i] = own_##name##_f32(a[i], b[i]);                                         \
            takes &= own_##name##_takes(a[i], b[i]);                                     \
        }                                                                                \
        if (__builtin_expect(!takes, 0))                                                 \
            for (int i = 0; i < lanes; i++)                                              \
                if (!own_##name##_takes(a[i], b[i]))                                     \
                    c[i] = pithp_math_##name##_f32(a[i], b[i]);                          \
        memcpy(&x, c, sizeof x);                                                         \
        return x;                                                                        \
    }

#define GREATEST_f64 0x1.fffffffffffffp1023

#ifdef __AVX512F__

#    define BEYOND_f3216(x, limit)                                                       \
        _mm512_cmp_ps_mask(_mm512_abs_ps(x), _mm512_set1_ps(limit), _CMP_GT_OQ)
#    define BEYOND_f648(x, limit)                                                        \
        _mm512_cmp_pd_mask(_mm512_abs_pd(x), _mm512_set1_pd(limit), _CMP_GT_OQ)

#    define BELOW_f648(x, limit)                                                         \
        _mm512_cmp_pd_mask(_mm512_abs_pd(x), _mm512_set1_pd(limit), _CMP_LT_OQ)

#    define NOT_WITHIN_f648(x, limit)                                                    \
        _mm512_cmp_pd_mask(_mm512_abs_pd(x), _mm512_set1_pd(limit), _CMP_NLE_UQ)

#    define FORMS1_F32(name, sleef, bound, check32)                                      \
        extern __m512 Sleef_finz_##sleef##f16_##bound##avx512f(__m512);                  \
        UNARY(__m512, e, 16, name, f32, (Sleef_finz_##sleef##f16_##bound##avx512f(x)),   \
              check32, EACH_LANE)
#    define FORMS1_F64(name, sleef, bound, check64, rare64)                              \
        extern __m512d Sleef_finz_##sleef##d8_##bound##avx512f(__m512d);                 \
        UNARY(__m512d, e, 8, name, f64, (Sleef_finz_##sleef##d8_##bound##avx512f(x)),    \
              check64, rare64)
#    define WITHIN_F64(name, sleef, bound)                                               \
        extern __m512d Sleef_finz_##sleef##d8_##bound##avx512f(__m512d);                 \
        OWN_WITHIN(__m512d, e, 8, name, (Sleef_finz_##sleef##d8_##bound##avx512f(x)))
#    define FORMS2_F32(name, sleef, bound)                                               \
        extern __m512 Sleef_finz_##sleef##f16_##bound##avx512f(__m512, __m512);          \
        BINARY(__m512, e, 16, name, f32,                                                 \
               (Sleef_finz_##sleef##f16_##bound##avx512f(x, z)), (void)0)
#    define FORMS2_F64(name, sleef, bound, mend64)                                       \
        extern __m512d Sleef_finz_##sleef##d8_##bound##avx512f(__m512d, __m512d);        \
        BINARY(__m512d, e, 8, name, f64,                                                 \
               (Sleef_finz_##sleef##d8_##bound##avx512f(x, z)), mend64(8, name))
#    define OWN_FORMS1(name)                                                             \
        OWN1(__m512, e, 16, name, f32)                                                   \
        OWN1(__m512d, e, 8, name, f64)
#    define OWN_FORMS2(name) OWN2(__m512, e, 16, name)

#else

#    define ABS32(x)  _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x)
#    define ABS64(x)  _mm256_andnot_pd(_mm256_set1_pd(-0.0), x)
#    define WIDE32(x) _mm256_zextps128_ps256(x)
#    define WIDE64(x) _mm256_zextpd128_pd256(x)
#    define LOW32(x)  _mm256_castps256_ps128(x)
#    define LOW64(x)  _mm256_castpd256_pd128(x)

#    define BEYOND_f328(x, limit)                                                        \
        _mm256_movemask_ps(_mm256_cmp_ps(ABS32(x), _mm256_set1_ps(limit), _CMP_GT_OQ))
#    define BEYOND_f644(x, limit)                                                        \
        _mm256_movemask_pd(_mm256_cmp_pd(ABS64(x), _mm256_set1_pd(limit), _CMP_GT_OQ))
#    define BELOW_f644(x, limit)                                                         \
        _mm256_movemask_pd(_mm256_cmp_pd(ABS64(x), _mm256_set1_pd(limit), _CMP_LT_OQ))
#    define BELOW_f642(x, limit) (BELOW_f644(WIDE64(x), limit) & 3)
#    define NOT_WITHIN_f644(x, limit)                                                    \
        _mm256_movemask_pd(_mm256_cmp_pd(ABS64(x), _mm256_set1_pd(limit), _CMP_NLE_UQ))
#    define NOT_WITHIN_f642(x, limit) NOT_WITHIN_f644(WIDE64(x), limit)
#    define BEYOND_f324(x, limit)     BEYOND_f328(WIDE32(x), limit)
#    define BEYOND_f642(x, limit)     BEYOND_f644(WIDE64(x), limit)

/* d: 256 bits, AVX2; c: 256 bits, AVX; b: 128 bits. gcc selects by a loop's vector width.
 */
#    define FORMS1_F32(name, sleef, bound, check32)                                      \
        extern __m256 Sleef_finz_##sleef##f8_##bound##avx2(__m256);                      \
        UNARY(__m256, d, 8, name, f32, (Sleef_finz_##sleef##f8_##bound##avx2(x)),        \
              check32, EACH_LANE)                                                        \
        UNARY(__m256, c, 8, name, f32, (Sleef_finz_##sleef##f8_##bound##avx2(x)),        \
              check32, EACH_LANE)                                                        \
        UNARY(__m128, b, 4, name, f32,                                                   \
              LOW32(Sleef_finz_##sleef##f8_##bound##avx2(WIDE32(x))), check32,           \
              EACH_LANE)
#    define FORMS1_F64(name, sleef, bound, check64, rare64)                              \
        extern __m256d Sleef_finz_##sleef##d4_##bound##avx2(__m256d);                    \
        UNARY(__m256d, d, 4, name, f64, (Sleef_finz_##sleef##d4_##bound##avx2(x)),       \
              check64, rare64)                                                           \
        UNARY(__m256d, c, 4, name, f64, (Sleef_finz_##sleef##d4_##bound##avx2(x)),       \
              check64, rare64)                                                           \
        UNARY(__m128d, b, 2, name, f64,                                                  \
              LOW64(Sleef_finz_##sleef##d4_##bound##avx2(WIDE64(x))), check64, rare64)
#    define WITHIN_F64(name, sleef, bound)                                               \
        extern __m256d Sleef_finz_##sleef##d4_##bound##avx2(__m256d);                    \
        OWN_WITHIN(__m256d, d, 4, name, (Sleef_finz_##sleef##d4_##bound##avx2(x)))       \
        OWN_WITHIN(__m256d, c, 4, name, (Sleef_finz_##sleef##d4_##bound##avx2(x)))       \
        OWN_WITHIN(__m128d, b, 2, name,                                                  \
                   LOW64(Sleef_finz_##sleef##d4_##bound##avx2(WIDE64(x))))
#    define FORMS2_F32(name, sleef, bound)                                               \
        extern __m256 Sleef_finz_##sleef##f8_##bound##avx2(__m256, __m256);              \
        BINARY(__m256, d, 8, name, f32, (Sleef_finz_##sleef##f8_##bound##avx2(x, z)),    \
               (void)0)                                                                  \
        BINARY(__m256, c, 8, name, f32, (Sleef_finz_##sleef##f8_##bound##avx2(x, z)),    \
               (void)0)                                                                  \
        BINARY(__m128, b, 4, name, f32,                                                  \
               LOW32(Sleef_finz_##sleef##f8_##bound##avx2(WIDE32(x), WIDE32(z))),        \
               (void)0)
#    define FORMS2_F64(name, sleef, bound, mend64)                                       \
        extern __m256d Sleef_finz_##sleef##d4_##bound##avx2(__m256d, __m256d);           \
        BINARY(__m256d, d, 4, name, f64, (Sleef_finz_##sleef##d4_##bound##avx2(x, z)),   \
               mend64(4, name))                                                          \
        BINARY(__m256d, c, 4, name, f64, (Sleef_finz_##sleef##d4_##bound##avx2(x, z)),   \
               mend64(4, name))                                                          \
        BINARY(__m128d, b, 2, name, f64,                                                 \
               LOW64(Sleef_finz_##sleef##d4_##bound##avx2(WIDE64(x), WIDE64(z))),        \
               mend64(2, name))
#    define OWN_FORMS1(name)                                                             \
        OWN1(__m256, d, 8, name, f32)                                                    \
        OWN1(__m256d, d, 4, name, f64)                                                   \
        OWN1(__m256, c, 8, name, f32)                                                    \
        OWN1(__m256d, c, 4, name, f64)                                                   \
        OWN1(__m128, b, 4, name, f32)                                                    \
        OWN1(__m128d, b, 2, name, f64)
#    define OWN_FORMS2(name)                                                             \
        OWN2(__m256, d, 8, name)                                                         \
        OWN2(__m256, c, 8, name)                                                         \
        OWN2(__m128, b, 4, name)

#endif

#define NO_CHECK(lanes, name, rare) (void)0
#define NO_MEND(lanes, name)        (void)0
#define CHECK32(lanes, name, rare)                                                       \
    if (__builtin_expect(BEYOND_f32##lanes(x, limit32_##name), 0))                       \
    return rare(x)
#define CHECK64(lanes, name, rare)                                                       \
    if (__builtin_expect(BEYOND_f64##lanes(x, limit64_##name), 0))                       \
    return rare(x)
/* Infinite results of finite x other than 0, which the scalar form corrects. Infinite
 * powers of 0 are right, and common: each entry of a batched loop that has ended may make
 * one in every iteration. */
#define MEND_RESULT64(lanes, name)                                                       \
    if (__builtin_expect(BEYOND_f64##lanes(y, GREATEST_f64), 0)) {                       \
        const int lost = BEYOND_f64##lanes(y, GREATEST_f64) & BEYOND_f64##lanes(x, 0) &  \
                         ~BEYOND_f64##lanes(x, GREATEST_f64);                            \
        for (int i = 0; lost && i < lanes; i++)                                          \
            if (lost >> i & 1)                                                           \
                y[i] = pithp_math_##name##_f64(x[i], z[i]);                              \
    }

/* f64 that may be near a multiple of pi/2, and not near 0, is checked after SLEEF. The
 * check's own error is 2^-25 up to its greatest argument. */
#define ANGLE_GREATEST 0x1p27
#define CHECK_ANGLE(lanes, name, rare)                                                   \
    const __typeof__(x) turns = x * 0x1.45f306dc9c883p-1 + 0x1.8p52;                     \
    const __typeof__(x) rest = x - (turns - 0x1.8p52) * 0x1.921fb54442d18p+0;            \
    if (__builtin_expect((BELOW_f64##lanes(rest, 2 * PITHP_ANGLE_NEAR) &                 \
                          BEYOND_f64##lanes(x, PITHP_ANGLE_LEAST)) |                     \
                             BEYOND_f64##lanes(x, ANGLE_GREATEST),                       \
                         0))                                                             \
    return rare(x)
#define MEND_ANGLE(vector, lanes, name, type, call)                                      \
    vector y = call;                                                                     \
    if ((BELOW_f64##lanes(y, PITHP_ANGLE_NEAR) |                                         \
         BEYOND_f64##lanes(y, 1 / PITHP_ANGLE_NEAR)) &                                   \
        BEYOND_f64##lanes(x, PITHP_ANGLE_LEAST))                                         \
        for (int i = 0; i < lanes; i++)                                                  \
            y[i] = pithp_math_##name##_f64(x[i]);                                        \
    return y

#define FORMS1(name, sleef, bound, check32, check64, rare64)                             \
    FORMS1_F32(name, sleef, bound, check32)                                              \
    FORMS1_F64(name, sleef, bound, check64, rare64)

#define PITHP_MATH1(name, sleef, bound)                                                  \
    FORMS1(name, sleef, bound, NO_CHECK, NO_CHECK, EACH_LANE)
#define PITHP_MATH1_OWN(name, bound) OWN_FORMS1(name)
#define PITHP_MATH2(name, sleef, bound)                                                  \
    FORMS2_F32(name, sleef, bound)                                                       \
    FORMS2_F64(name, sleef, bound, NO_MEND)
#define PITHP_MATH1_MENDED(name, sleef, bound, limit32, limit64)                         \
    static const f32 limit32_##name = limit32;                                           \
    static const f64 limit64_##name = limit64;                                           \
    FORMS1(name, sleef, bound, CHECK32, CHECK64, EACH_LANE)
#define PITHP_MATH1_WITHIN(name, sleef, bound, limit32, limit64)                         \
    static const f32 limit32_##name = limit32;                                           \
    static const f64 limit64_##name = limit64;                                           \
    FORMS1_F32(name, sleef, bound, CHECK32)                                              \
    WITHIN_F64(name, sleef, bound)
#define PITHP_MATH2_MENDED(name, sleef, bound)                                           \
    OWN_FORMS2(name)                                                                     \
    FORMS2_F64(name, sleef, bound, MEND_RESULT64)
#define PITHP_MATH1_ANGLE(name, sleef, bound)                                            \
    FORMS1(name, sleef, bound, NO_CHECK, CHECK_ANGLE, MEND_ANGLE)
/* In math_fast.c. */
#define PITHP_MATH1_FAST(...)
#define PITHP_MATH1_FAST_ALL(...)
#define PITHP_MATH2_FAST(...)
#include "program/host/math/math.def"
