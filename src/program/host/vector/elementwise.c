/* Block functions of the elementwise rows: f(destination, a, b, c, n) over n contiguous
 * elements. A destination may be one of the operands; other overlap is not allowed. */
#include "program/host/vector/vector.h"
#include "program/op/trait_names.h"

/* ---- One loop per row and dtype ---- */

#define SCOPE(dt)                                                                        \
    typedef T_##dt T __attribute__((unused));                                            \
    typedef U_##dt U __attribute__((unused));                                            \
    typedef V_##dt V __attribute__((unused));                                            \
    enum { HALF = HALF_##dt };
#define RESULT_SAME(dt)         dt
#define RESULT_BOOL(dt)         b8
#define KEEP_SAME(dt, x)        STORE_##dt(x)
#define KEEP_BOOL(dt, x)        ((b8)(x))
#define OPERAND(name, dt, from) const T_##dt name = LOAD_##dt(((const dt *)from)[i])

#define LOOP1(ENUM, dt, result, expression)                                              \
    static void ENUM##_##dt(void *to, const void *x, const void *y, const void *z,       \
                            int64_t n) {                                                 \
        SCOPE(dt)                                                                        \
        RESULT_##result(dt) *d = to;                                                     \
        (void)y, (void)z;                                                                \
        PITHP_SIMD                                                                       \
        for (int64_t i = 0; i < n; i++) {                                                \
            OPERAND(a, dt, x);                                                           \
            d[i] = KEEP_##result(dt, expression);                                        \
        }                                                                                \
    }
#define LOOP2(ENUM, dt, result, expression)                                              \
    static void ENUM##_##dt(void *to, const void *x, const void *y, const void *z,       \
                            int64_t n) {                                                 \
        SCOPE(dt)                                                                        \
        RESULT_##result(dt) *d = to;                                                     \
        (void)z;                                                                         \
        PITHP_SIMD                                                                       \
        for (int64_t i = 0; i < n; i++) {                                                \
            OPERAND(a, dt, x);                                                           \
            OPERAND(b, dt, y);                                                           \
            d[i] = KEEP_##result(dt, expression);                                        \
        }                                                                                \
    }
#define LOOP3(ENUM, dt, result, expression)                                              \
    static void ENUM##_##dt(void *to, const void *x, const void *y, const void *z,       \
                            int64_t n) {                                                 \
        SCOPE(dt)                                                                        \
        RESULT_##result(dt) *d = to;                                                     \
        PITHP_SIMD                                                                       \
        for (int64_t i = 0; i < n; i++) {                                                \
            OPERAND(a, dt, x);                                                           \
            OPERAND(b, dt, y);                                                           \
            OPERAND(c, dt, z);                                                           \
            d[i] = KEEP_##result(dt, expression);                                        \
        }                                                                                \
    }
/* Selection of bits of one width by a bool. */
#define CHOICE(ENUM, dt, expression)                                                     \
    static void ENUM##_##dt(void *to, const void *x, const void *y, const void *z,       \
                            int64_t n) {                                                 \
        dt *d = to;                                                                      \
        PITHP_SIMD                                                                       \
        for (int64_t i = 0; i < n; i++) {                                                \
            const b8 a = ((const b8 *)x)[i];                                             \
            const dt b = ((const dt *)y)[i], c = ((const dt *)z)[i];                     \
            d[i] = expression;                                                           \
        }                                                                                \
    }

/* f16 and bf16 are computed in f32. Rows of the mathematics library share the loop of
 * f32: next to its calls, conversions through a buffer in the L1 cache take no time, and
 * a loop per row would take 3 kB of code. */
#define THROUGH_F32(dt)                                                                  \
    static __attribute__((noinline)) void through_f32_##dt(                              \
        pithp_block_function row, int arity, dt *to, const dt *const from[],             \
        int64_t n) {                                                                     \
        enum { BLOCK = 256 };                                                            \
        f32 x[3][BLOCK], result[BLOCK];                                                  \
        for (int64_t begin = 0; begin < n; begin += BLOCK) {                             \
            const int64_t count = n - begin < BLOCK ? n - begin : BLOCK;                 \
            for (int k = 0; k < arity; k++) {                                            \
                PITHP_SIMD                                                               \
                for (int64_t i = 0; i < count; i++)                                      \
                    x[k][i] = LOAD_##dt(from[k][begin + i]);                             \
            }                                                                            \
            row(result, x[0], x[1], x[2], count);                                        \
            PITHP_SIMD                                                                   \
            for (int64_t i = 0; i < count; i++)                                          \
                to[begin + i] = STORE_##dt(result[i]);                                   \
        }                                                                                \
    }
THROUGH_F32(f16)
THROUGH_F32(bf16)

#define HALF_LOOP(ENUM, arity, dt, result, real, traits)                                 \
    LOOP##arity(ENUM##_DIRECT, dt, result, real) static void ENUM##_##dt(                \
        void *to, const void *x, const void *y, const void *z, int64_t n) {              \
        if ((traits)&MATHS)                                                              \
            through_f32_##dt(ENUM##_f32, arity, to, (const dt *const[]){x, y, z}, n);    \
        else                                                                             \
            ENUM##_DIRECT_##dt(to, x, y, z, n);                                          \
    }
#define LOOPS_REAL(ENUM, arity, result, real, integer, traits)                           \
    LOOP##arity(ENUM, f32, result, real) LOOP##arity(ENUM, f64, result, real)            \
        HALF_LOOP(ENUM, arity, f16, result, real, traits)                                \
            HALF_LOOP(ENUM, arity, bf16, result, real, traits)
#define LOOPS_INTEGER(ENUM, arity, result, real, integer, traits)                        \
    LOOP##arity(ENUM, i8, result, integer) LOOP##arity(ENUM, i16, result, integer)       \
        LOOP##arity(ENUM, i32, result, integer) LOOP##arity(ENUM, i64, result, integer)  \
            LOOP##arity(ENUM, u8, result, integer)                                       \
                LOOP##arity(ENUM, u16, result, integer)                                  \
                    LOOP##arity(ENUM, u32, result, integer)                              \
                        LOOP##arity(ENUM, u64, result, integer)
#define LOOPS_BITS(ENUM, arity, result, real, integer, traits)                           \
    LOOP##arity(ENUM, b8, result, integer)                                               \
        LOOPS_INTEGER(ENUM, arity, result, real, integer, traits)
#define LOOPS_NUMERIC(ENUM, arity, result, real, integer, traits)                        \
    LOOPS_INTEGER(ENUM, arity, result, real, integer, traits)                            \
    LOOPS_REAL(ENUM, arity, result, real, integer, traits)
#define LOOPS_ANY(ENUM, arity, result, real, integer, traits)                            \
    LOOPS_BITS(ENUM, arity, result, real, integer, traits)                               \
    LOOPS_REAL(ENUM, arity, result, real, integer, traits)
#define LOOPS_WHERE(ENUM, arity, result, real, integer, traits)                          \
    CHOICE(ENUM, u8, real)                                                               \
    CHOICE(ENUM, u16, real) CHOICE(ENUM, u32, real) CHOICE(ENUM, u64, real)

#define PITHP_ELEMENTWISE(ENUM, name, arity, types, result, real, integer, traits, ...)  \
    LOOPS_##types(ENUM, arity, result, real, integer, traits)
#include "program/op/primitives.def"

/* ---- The table ---- */

#define ENTRY(ENUM, dt) [DTYPE_##dt] = ENUM##_##dt
#define ENTRIES_REAL(ENUM)                                                               \
    ENTRY(ENUM, f16), ENTRY(ENUM, bf16), ENTRY(ENUM, f32), ENTRY(ENUM, f64),
#define ENTRIES_INTEGER(ENUM)                                                            \
    ENTRY(ENUM, i8), ENTRY(ENUM, i16), ENTRY(ENUM, i32), ENTRY(ENUM, i64),               \
        ENTRY(ENUM, u8), ENTRY(ENUM, u16), ENTRY(ENUM, u32), ENTRY(ENUM, u64),
#define ENTRIES_BITS(ENUM)    ENTRY(ENUM, b8), ENTRIES_INTEGER(ENUM)
#define ENTRIES_NUMERIC(ENUM) ENTRIES_INTEGER(ENUM) ENTRIES_REAL(ENUM)
#define ENTRIES_ANY(ENUM)     ENTRIES_BITS(ENUM) ENTRIES_REAL(ENUM)
#define ENTRIES_WHERE(ENUM)                                                              \
    [PITH_BOOL] = ENUM##_u8, [PITH_I8] = ENUM##_u8, [PITH_U8] = ENUM##_u8,               \
    [PITH_I16] = ENUM##_u16, [PITH_U16] = ENUM##_u16, [PITH_F16] = ENUM##_u16,           \
    [PITH_BF16] = ENUM##_u16, [PITH_I32] = ENUM##_u32, [PITH_U32] = ENUM##_u32,          \
    [PITH_F32] = ENUM##_u32, [PITH_I64] = ENUM##_u64, [PITH_U64] = ENUM##_u64,           \
    [PITH_F64] = ENUM##_u64,

const pithp_block_function
    PITHP_FOR_ISA(pithp_elementwise)[PITHP_ELEMENTWISE_COUNT][PITH_DTYPE_COUNT] = {
#define PITHP_ELEMENTWISE(ENUM, name, arity, types, ...)                                 \
    [PITHP_OP_##ENUM] = {ENTRIES_##types(ENUM)},
#include "program/op/primitives.def"
};
