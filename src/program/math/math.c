/* The scalar forms of the functions in math.def: SLEEF's deterministic ones, with FMA
 * where the processor has it. The vector forms of math_simd.c agree with these bit for
 * bit. */
#include "program/emit/prologue_host.h"

#define SLEEF_(name, type, bound, family, target)                                        \
    Sleef_##family##_##name##type##_##bound##target
#define SLEEF(name, type, bound, family, target) SLEEF_(name, type, bound, family, target)

#define DECLARE1(name, sleef, bound, family, target)                                     \
    extern f32 SLEEF(sleef, f1, bound, family, target)(f32);                             \
    extern f64 SLEEF(sleef, d1, bound, family, target)(f64);
#define DECLARE2(name, sleef, bound, family, target)                                     \
    extern f32 SLEEF(sleef, f1, bound, family, target)(f32, f32);                        \
    extern f64 SLEEF(sleef, d1, bound, family, target)(f64, f64);
#define PITHP_MATH1(name, sleef, bound) DECLARE1(name, sleef, bound, finz, purecfma)
#define PITHP_MATH2(name, sleef, bound) DECLARE2(name, sleef, bound, finz, purecfma)
#include "program/math/math.def"

#ifdef __x86_64__
#    define PITHP_MATH1(name, sleef, bound) DECLARE1(name, sleef, bound, cinz, purec)
#    define PITHP_MATH2(name, sleef, bound) DECLARE2(name, sleef, bound, cinz, purec)
#    include "program/math/math.def"
#    define HAS_FMA __builtin_cpu_supports("fma")
#    define CHOOSE(sleef, type, bound, ...)                                              \
        (HAS_FMA ? SLEEF(sleef, type, bound, finz, purecfma)(__VA_ARGS__)                \
                 : SLEEF(sleef, type, bound, cinz, purec)(__VA_ARGS__))
#else
#    define CHOOSE(sleef, type, bound, ...)                                              \
        SLEEF(sleef, type, bound, finz, purecfma)(__VA_ARGS__)
#endif

#define PITHP_MATH1(name, sleef, bound)                                                  \
    f32 pith_math_##name##_f32(f32 x) {                                                  \
        return CHOOSE(sleef, f1, bound, x);                                              \
    }                                                                                    \
    f64 pith_math_##name##_f64(f64 x) {                                                  \
        return CHOOSE(sleef, d1, bound, x);                                              \
    }
#define PITHP_MATH2(name, sleef, bound)                                                  \
    f32 pith_math_##name##_f32(f32 x, f32 y) {                                           \
        return CHOOSE(sleef, f1, bound, x, y);                                           \
    }                                                                                    \
    f64 pith_math_##name##_f64(f64 x, f64 y) {                                           \
        return CHOOSE(sleef, d1, bound, x, y);                                           \
    }
#include "program/math/math.def"
