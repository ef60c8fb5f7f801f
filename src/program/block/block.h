/* What the host loops share. Each file of this folder is compiled once an instruction
 * set, with PITHP_ISA naming it (base, v3, v4); bits never depend on which one runs. */
#ifndef PITHP_BLOCK_H
#define PITHP_BLOCK_H

/* One text serves signed and unsigned types: some comparisons are constant. */
#pragma GCC diagnostic ignored "-Wtype-limits"

/* Helpers need the prologue before them. */
/* clang-format off */
#include "program/emit/prologue_host.h"
#include "program/emit/helpers.h"
/* clang-format on */
#include "program/program_internal.h"

#define PITHP_PASTE_(a, b) a##_##b
#define PITHP_PASTE(a, b)  PITHP_PASTE_(a, b)
/* A name of this instruction set. */
#define PITHP_FOR_ISA(name) PITHP_PASTE(name, PITHP_ISA)

#define PITHP_SIMD _Pragma("omp simd")

/* Arithmetic type of a dtype; unsigned types for wrapping and of equal width; loads and
 * stores between storage and arithmetic type. bool is kept 0 or 1. */
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

/* Index of a dtype in tables. */
#define DTYPE_b8   PITH_BOOL
#define DTYPE_i8   PITH_I8
#define DTYPE_i16  PITH_I16
#define DTYPE_i32  PITH_I32
#define DTYPE_i64  PITH_I64
#define DTYPE_u8   PITH_U8
#define DTYPE_u16  PITH_U16
#define DTYPE_u32  PITH_U32
#define DTYPE_u64  PITH_U64
#define DTYPE_f16  PITH_F16
#define DTYPE_bf16 PITH_BF16
#define DTYPE_f32  PITH_F32
#define DTYPE_f64  PITH_F64

#endif
