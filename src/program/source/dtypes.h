/* Storage and arithmetic types of each dtype: part of all generated text and of the host
 * loops. Needs a prologue and source/scalar.h. */
#ifndef PITH_PROGRAM_SOURCE_DTYPES_H
#define PITH_PROGRAM_SOURCE_DTYPES_H

/* For each dtype: the arithmetic type T, unsigned types U (wrapping) and V (of equal
 * width), loads and stores. bool stays 0 or 1. */
typedef b8 T_b8;
typedef i8 T_i8;
typedef i16 T_i16;
typedef i32 T_i32;
typedef i64 T_i64;
typedef u8 T_u8;
typedef u16 T_u16;
typedef u32 T_u32;
typedef u64 T_u64;
typedef f32 T_f16;
typedef f32 T_bf16;
typedef f32 T_f32;
typedef f64 T_f64;

typedef u32 U_b8, U_i8, U_i16, U_i32, U_u8, U_u16, U_u32, U_f16, U_bf16, U_f32;
typedef u64 U_i64, U_u64, U_f64;
typedef u8 V_b8, V_i8, V_u8;
typedef u16 V_i16, V_u16, V_f16, V_bf16;
typedef u32 V_i32, V_u32, V_f32;
typedef u64 V_i64, V_u64, V_f64;

#define LOAD_b8(x)   (x)
#define LOAD_i8(x)   (x)
#define LOAD_i16(x)  (x)
#define LOAD_i32(x)  (x)
#define LOAD_i64(x)  (x)
#define LOAD_u8(x)   (x)
#define LOAD_u16(x)  (x)
#define LOAD_u32(x)  (x)
#define LOAD_u64(x)  (x)
#define LOAD_f16(x)  m_load_f16(x)
#define LOAD_bf16(x) m_load_bf16(x)
#define LOAD_f32(x)  (x)
#define LOAD_f64(x)  (x)

#define STORE_b8(x)   ((b8)((x)&1))
#define STORE_i8(x)   ((i8)(x))
#define STORE_i16(x)  ((i16)(x))
#define STORE_i32(x)  ((i32)(x))
#define STORE_i64(x)  ((i64)(x))
#define STORE_u8(x)   ((u8)(x))
#define STORE_u16(x)  ((u16)(x))
#define STORE_u32(x)  ((u32)(x))
#define STORE_u64(x)  ((u64)(x))
#define STORE_f16(x)  m_store_f16(x)
#define STORE_bf16(x) m_store_bf16(x)
#define STORE_f32(x)  (x)
#define STORE_f64(x)  (x)

enum {
    HALF_b8,
    HALF_i8 = 0,
    HALF_i16 = 0,
    HALF_i32 = 0,
    HALF_i64 = 0,
    HALF_u8 = 0,
    HALF_u16 = 0,
    HALF_u32 = 0,
    HALF_u64 = 0,
    HALF_f16 = M_HALF_F16,
    HALF_bf16 = M_HALF_BF16,
    HALF_f32 = 0,
    HALF_f64 = 0
};

#endif
