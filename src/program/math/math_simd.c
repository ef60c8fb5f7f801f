/* The vector forms of the functions in math.def, under the names of the x86-64 vector
 * function ABI, so that gcc calls them from loops that call the scalar ones. Compiled for
 * x86-64-v3, where it gives the forms of up to 256 bits, and for x86-64-v4, where it
 * gives those of 512. */
#include <immintrin.h>

#define NAME_(isa, lanes, arguments, name, type)                                         \
    "_ZGV" #isa "N" #lanes arguments "_pith_math_" #name "_" #type
#define NAME(isa, lanes, arguments, name, type) NAME_(isa, lanes, arguments, name, type)

#define UNARY(vector, isa, lanes, name, type, call)                                      \
    vector vector1_##isa##_##name##_##type(vector x) __asm__(                            \
        NAME(isa, lanes, "v", name, type));                                              \
    vector vector1_##isa##_##name##_##type(vector x) {                                   \
        return call;                                                                     \
    }
#define BINARY(vector, isa, lanes, name, type, call)                                     \
    vector vector2_##isa##_##name##_##type(vector x, vector y) __asm__(                  \
        NAME(isa, lanes, "vv", name, type));                                             \
    vector vector2_##isa##_##name##_##type(vector x, vector y) {                         \
        return call;                                                                     \
    }

#ifdef __AVX512F__

#    define PITHP_MATH1(name, sleef, bound)                                              \
        extern __m512 Sleef_finz_##sleef##f16_##bound##avx512f(__m512);                  \
        extern __m512d Sleef_finz_##sleef##d8_##bound##avx512f(__m512d);                 \
        UNARY(__m512, e, 16, name, f32, Sleef_finz_##sleef##f16_##bound##avx512f(x))     \
        UNARY(__m512d, e, 8, name, f64, Sleef_finz_##sleef##d8_##bound##avx512f(x))
#    define PITHP_MATH2(name, sleef, bound)                                              \
        extern __m512 Sleef_finz_##sleef##f16_##bound##avx512f(__m512, __m512);          \
        extern __m512d Sleef_finz_##sleef##d8_##bound##avx512f(__m512d, __m512d);        \
        BINARY(__m512, e, 16, name, f32, Sleef_finz_##sleef##f16_##bound##avx512f(x, y)) \
        BINARY(__m512d, e, 8, name, f64, Sleef_finz_##sleef##d8_##bound##avx512f(x, y))

#else

#    define WIDE(x)  _mm256_zextps128_ps256(x)
#    define WIDED(x) _mm256_zextpd128_pd256(x)
#    define LOW(x)   _mm256_castps256_ps128(x)
#    define LOWD(x)  _mm256_castpd256_pd128(x)

/* d: 256 bits, AVX2; c: 256 bits, AVX; b: 128 bits. gcc takes whichever fits a loop's
 * width. */
#    define PITHP_MATH1(name, sleef, bound)                                              \
        extern __m256 Sleef_finz_##sleef##f8_##bound##avx2(__m256);                      \
        extern __m256d Sleef_finz_##sleef##d4_##bound##avx2(__m256d);                    \
        UNARY(__m256, d, 8, name, f32, Sleef_finz_##sleef##f8_##bound##avx2(x))          \
        UNARY(__m256d, d, 4, name, f64, Sleef_finz_##sleef##d4_##bound##avx2(x))         \
        UNARY(__m256, c, 8, name, f32, Sleef_finz_##sleef##f8_##bound##avx2(x))          \
        UNARY(__m256d, c, 4, name, f64, Sleef_finz_##sleef##d4_##bound##avx2(x))         \
        UNARY(__m128, b, 4, name, f32,                                                   \
              LOW(Sleef_finz_##sleef##f8_##bound##avx2(WIDE(x))))                        \
        UNARY(__m128d, b, 2, name, f64,                                                  \
              LOWD(Sleef_finz_##sleef##d4_##bound##avx2(WIDED(x))))
#    define PITHP_MATH2(name, sleef, bound)                                              \
        extern __m256 Sleef_finz_##sleef##f8_##bound##avx2(__m256, __m256);              \
        extern __m256d Sleef_finz_##sleef##d4_##bound##avx2(__m256d, __m256d);           \
        BINARY(__m256, d, 8, name, f32, Sleef_finz_##sleef##f8_##bound##avx2(x, y))      \
        BINARY(__m256d, d, 4, name, f64, Sleef_finz_##sleef##d4_##bound##avx2(x, y))     \
        BINARY(__m256, c, 8, name, f32, Sleef_finz_##sleef##f8_##bound##avx2(x, y))      \
        BINARY(__m256d, c, 4, name, f64, Sleef_finz_##sleef##d4_##bound##avx2(x, y))     \
        BINARY(__m128, b, 4, name, f32,                                                  \
               LOW(Sleef_finz_##sleef##f8_##bound##avx2(WIDE(x), WIDE(y))))              \
        BINARY(__m128d, b, 2, name, f64,                                                 \
               LOWD(Sleef_finz_##sleef##d4_##bound##avx2(WIDED(x), WIDED(y))))

#endif
#include "program/math/math.def"
