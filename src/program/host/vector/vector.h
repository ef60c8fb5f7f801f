/* Shared definitions of the host loops. Each file of this folder is compiled once per
 * instruction set (PITHP_ISA: base, v3, v4); all give the same bits. */
#ifndef PITH_PROGRAM_HOST_VECTOR_VECTOR_H
#define PITH_PROGRAM_HOST_VECTOR_VECTOR_H

/* One text serves signed and unsigned types, so some comparisons are constant. */
#pragma GCC diagnostic ignored "-Wtype-limits"

/* The prologue comes before the helpers. */
/* clang-format off */
#include "program/source/prologue_host.h"
#include "program/source/scalar.h"
#include "program/source/dtypes.h"
/* clang-format on */
#include "program/op/op.h"

/* The name for this instruction set. */
#define PITHP_FOR_ISA(name) PITHP_PASTE(name, PITHP_ISA)

#define PITHP_SIMD _Pragma("omp simd")

/* A function whose constant arguments make loops of their own, inlined everywhere.
 * Sanitizers find the same faults in one copy, which compiles in a fraction of the time.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#    define PITHP_INLINE static inline
#else
#    define PITHP_INLINE static inline __attribute__((always_inline))
#endif

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
