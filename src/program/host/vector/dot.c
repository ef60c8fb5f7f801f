/* Matrix product kernels of every element type, for one instruction set. */
#include "program/host/vector/dot.h"

#include "program/host/vector/vector.h"

#include <string.h>
#ifdef __x86_64__
#    include <immintrin.h>
#endif

/* Register tiles: sums, the vectors of one term and the broadcast elements. */
#if defined(__AVX512F__)
enum { VECTOR_BYTES = 64, ROWS = 8, VECTORS = 3, DOT_ROWS = 4 };
#    define FUSED_F32(a, b, c) _mm512_fmadd_ps(a, b, c)
#    define FUSED_F64(a, b, c) _mm512_fmadd_pd(a, b, c)
#elif defined(__AVX2__)
enum { VECTOR_BYTES = 32, ROWS = 4, VECTORS = 3, DOT_ROWS = 1 };
#    define FUSED_F32(a, b, c) _mm256_fmadd_ps(a, b, c)
#    define FUSED_F64(a, b, c) _mm256_fmadd_pd(a, b, c)
#else
enum { VECTOR_BYTES = 16, ROWS = 4, VECTORS = 3, DOT_ROWS = 1 };
#    define FUSED_F32(a, b, c) ((a) * (b) + (c))
#    define FUSED_F64(a, b, c) ((a) * (b) + (c))
#endif
_Static_assert(PITHP_PRODUCT_ROWS % ROWS == 0 &&
                   PITHP_PRODUCT_ROW_BYTES % (VECTORS * VECTOR_BYTES) == 0,
               "panels are cut alike for every instruction set");
enum { INTERLEAVED = 16 }; /* terms of rows at a time */
#define UNROLL     _Pragma("GCC unroll 32")
#define EACH(i, n) UNROLL for (int i = 0; i < (n); i++)

#ifdef __FMA__
#    define FUSED_ONE_F32(a, b, c) __builtin_fmaf(a, b, c)
#    define FUSED_ONE_F64(a, b, c) __builtin_fma(a, b, c)
#else
#    define FUSED_ONE_F32(a, b, c) ((a) * (b) + (c))
#    define FUSED_ONE_F64(a, b, c) ((a) * (b) + (c))
#endif

/* clang-format off */
#define T f64
#define NAME(x) x##_f64
#define FUSED FUSED_ONE_F64
#define FUSED_VECTOR FUSED_F64
#define ADDED(a, b) ((a) + (b))
#include "program/host/vector/dot_kind.h"

#define T f32
#define NAME(x) x##_f32
#define FUSED FUSED_ONE_F32
#define FUSED_VECTOR FUSED_F32
#define ADDED(a, b) ((a) + (b))
#include "program/host/vector/dot_kind.h"

#define T u64
#define NAME(x) x##_u64
#define FUSED(a, b, c) ((a) * (b) + (c))
#define FUSED_VECTOR FUSED
#define ADDED(a, b) ((a) + (b))
#include "program/host/vector/dot_kind.h"

#define T u32
#define NAME(x) x##_u32
#define FUSED(a, b, c) ((a) * (b) + (c))
#define FUSED_VECTOR FUSED
#define ADDED(a, b) ((a) + (b))
#include "program/host/vector/dot_kind.h"

/* narrow integers wrap in an unsigned type that does not promote to a signed one */
#define T u16
#define NAME(x) x##_u16
#define FUSED(a, b, c) ((u32)(a) * (b) + (c))
#define FUSED_VECTOR(a, b, c) ((a) * (b) + (c))
#define ADDED(a, b) ((a) + (b))
#include "program/host/vector/dot_kind.h"

#define T u8
#define NAME(x) x##_u8
#define FUSED(a, b, c) ((u32)(a) * (b) + (c))
#define FUSED_VECTOR(a, b, c) ((a) * (b) + (c))
#define ADDED(a, b) ((a) + (b))
#include "program/host/vector/dot_kind.h"

#define T u8
#define NAME(x) x##_b8
#define FUSED(a, b, c) (((a) & (b)) | (c))
#define FUSED_VECTOR FUSED
#define ADDED(a, b) ((a) | (b))
#include "program/host/vector/dot_kind.h"
/* clang-format on */

#define USE(kind)                                                                        \
    {                                                                                    \
        .rows = ROWS, .columns = COLUMNS_##kind, .pack = pack_##kind,                    \
        .tiles = tiles_##kind, .small = small_##kind, .dots = dots_##kind                \
    }

const pithp_product PITHP_FOR_ISA(pithp_product)[PITHP_PRODUCT_KINDS] = {
    [PITHP_PRODUCT_BOOL] = USE(b8), [PITHP_PRODUCT_U8] = USE(u8),
    [PITHP_PRODUCT_U16] = USE(u16), [PITHP_PRODUCT_U32] = USE(u32),
    [PITHP_PRODUCT_U64] = USE(u64), [PITHP_PRODUCT_F32] = USE(f32),
    [PITHP_PRODUCT_F64] = USE(f64)};
