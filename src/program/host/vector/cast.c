/* Block functions of the casts, from every dtype to every other. Between integers of one
 * width the sign does not change the bits, so those loops are shared. */
#include "program/host/vector/vector.h"

#define CAST(from, into)                                                                 \
    static void from##_to_##into(void *to, const void *x, const void *y, const void *z,  \
                                 int64_t n) {                                            \
        into *d = to;                                                                    \
        const from *p = x;                                                               \
        (void)y, (void)z;                                                                \
        PITHP_SIMD                                                                       \
        for (int64_t i = 0; i < n; i++)                                                  \
            d[i] = m_to_##into(LOAD_##from(p[i]));                                       \
    }
#define CASTS_TO_BITS(from)                                                              \
    CAST(from, b8) CAST(from, i8) CAST(from, i16) CAST(from, i32) CAST(from, i64)
#define CASTS_TO_UNSIGNED(from)                                                          \
    CAST(from, u8) CAST(from, u16) CAST(from, u32) CAST(from, u64)
#define CASTS_TO_REAL(from)                                                              \
    CAST(from, f16) CAST(from, bf16) CAST(from, f32) CAST(from, f64)

#define INTEGER_SOURCE(from) CASTS_TO_BITS(from) CASTS_TO_REAL(from)
#define REAL_SOURCE(from)    CASTS_TO_BITS(from) CASTS_TO_UNSIGNED(from) CASTS_TO_REAL(from)

INTEGER_SOURCE(b8)
INTEGER_SOURCE(i8)
INTEGER_SOURCE(i16)
INTEGER_SOURCE(i32)
INTEGER_SOURCE(i64)
INTEGER_SOURCE(u8)
INTEGER_SOURCE(u16)
INTEGER_SOURCE(u32)
INTEGER_SOURCE(u64)
REAL_SOURCE(f16)
REAL_SOURCE(bf16)
REAL_SOURCE(f32)
REAL_SOURCE(f64)

#define TO_REAL(from)                                                                    \
    [PITH_F16] = from##_to_f16, [PITH_BF16] = from##_to_bf16,                            \
    [PITH_F32] = from##_to_f32, [PITH_F64] = from##_to_f64
#define FROM_INTEGER(from)                                                               \
    [DTYPE_##from] = {[PITH_BOOL] = from##_to_b8, [PITH_I8] = from##_to_i8,              \
                      [PITH_I16] = from##_to_i16, [PITH_I32] = from##_to_i32,            \
                      [PITH_I64] = from##_to_i64, [PITH_U8] = from##_to_i8,              \
                      [PITH_U16] = from##_to_i16, [PITH_U32] = from##_to_i32,            \
                      [PITH_U64] = from##_to_i64, TO_REAL(from)}
#define FROM_REAL(from)                                                                  \
    [DTYPE_##from] = {[PITH_BOOL] = from##_to_b8, [PITH_I8] = from##_to_i8,              \
                      [PITH_I16] = from##_to_i16, [PITH_I32] = from##_to_i32,            \
                      [PITH_I64] = from##_to_i64, [PITH_U8] = from##_to_u8,              \
                      [PITH_U16] = from##_to_u16, [PITH_U32] = from##_to_u32,            \
                      [PITH_U64] = from##_to_u64, TO_REAL(from)}

const pithp_block_function
    PITHP_FOR_ISA(pithp_cast)[PITH_DTYPE_COUNT][PITH_DTYPE_COUNT] = {
        FROM_INTEGER(b8),  FROM_INTEGER(i8), FROM_INTEGER(i16), FROM_INTEGER(i32),
        FROM_INTEGER(i64), FROM_INTEGER(u8), FROM_INTEGER(u16), FROM_INTEGER(u32),
        FROM_INTEGER(u64), FROM_REAL(f16),   FROM_REAL(bf16),   FROM_REAL(f32),
        FROM_REAL(f64)};
