/* Pairwise summation and other reductions, in an order that depends only on indices.
 *
 * Element i of a block of 4,096 belongs to lane i % 64. A lane combines its elements in
 * order. The lanes combine by a binary tree over neighbours (0 with 1, 2 with 3, ...),
 * and so do the blocks. Missing lanes and blocks are the identity. So every instruction
 * set, thread count and alignment gives the same bits. */
#include "program/host/vector/reduce.h"

#include "program/host/vector/fetch.h"
#include "program/host/vector/vector.h"
#include "program/source/reducers.h"

#include <string.h>

#ifdef __x86_64__
#    include <immintrin.h>
#endif

#define LANES PITHP_REDUCE_LANES
/* Rows that are prefetched: strips of rows defeat the hardware prefetcher. */
#define AHEAD 8
/* Prefetch distance of long rows, in bytes. */
#define FAR   12288
#define STRIP 64 /* columns whose lanes stay in the L1 cache */

/* Lanes whose accumulators stay in registers; further passes over a block read other
 * lines. */
#if defined(__AVX512F__)
#    define AT_ONCE      64
#    define VECTOR_BYTES 64
#elif defined(__AVX2__)
#    define AT_ONCE      32
#    define VECTOR_BYTES 32
#else
#    define AT_ONCE      16
#    define VECTOR_BYTES 16
#endif

/* A mask keeps the accumulators in registers. */
#ifdef __AVX512F__
#    define EACH_OF_REST(j, n)                                                           \
        PITHP_SIMD                                                                       \
        for (int j = 0; j < AT_ONCE; j++)                                                \
            if (j < (n))
#else
#    define EACH_OF_REST(j, n) for (int j = 0; j < (n) && j < AT_ONCE; j++)
#endif

/* Accumulators of f32. */
typedef f32 f32s __attribute__((vector_size(VECTOR_BYTES / 2), aligned(4), may_alias));
typedef f64 f64s __attribute__((vector_size(VECTOR_BYTES), aligned(8), may_alias));
enum { F64S = VECTOR_BYTES / 8 };

/* Intrinsics, because gcc also splits __builtin_convertvector. */
PITHP_INLINE f64s load_f64s(const f32 *x) {
#if defined(__AVX512F__)
    return _mm512_cvtps_pd(_mm256_loadu_ps(x));
#elif defined(__AVX2__)
    return _mm256_cvtps_pd(_mm_loadu_ps(x));
#else
    return __builtin_convertvector(*(const f32s *)x, f64s);
#endif
}

/* ---- Reducers ---- */

/* Names from which reduce_kind.h makes functions. */
#define REDUCER_OF(name, dt, A, LOADED, IDENTITY, COMBINE)                               \
    typedef dt name##_element;                                                           \
    typedef A name##_accumulator;                                                        \
    M_FN A name##_load(dt x) {                                                           \
        return LOADED(x);                                                                \
    }                                                                                    \
    M_FN A name##_join(A a, A b) {                                                       \
        return COMBINE(a, b);                                                            \
    }                                                                                    \
    M_FN A name##_none(void) {                                                           \
        return IDENTITY;                                                                 \
    }
#define VECTORS_OF(name, dt, A, LOADED, IDENTITY, COMBINE)                               \
    M_FN f64s name##_join_vectors(f64s a, f64s b) {                                      \
        return COMBINE(a, b);                                                            \
    }
#define NUMBERS_OF(name, dt, A, LOADED, IDENTITY, COMBINE)                               \
    M_FN A name##_join_numbers(A a, A b) {                                               \
        return COMBINE##_NUMBER(a, b);                                                   \
    }
M_REDUCERS(REDUCER_OF)
M_REDUCERS_OF_WIDENED(VECTORS_OF)
M_REDUCERS_OF_EXTREMES(NUMBERS_OF)

#define NUMBERS (AT_ONCE / 2)

/* clang-format off */
#define REDUCER sum_u8
#include "program/host/vector/reduce_kind.h"
#define REDUCER sum_u16
#include "program/host/vector/reduce_kind.h"
#define REDUCER sum_u32
#include "program/host/vector/reduce_kind.h"
#define REDUCER sum_u64
#include "program/host/vector/reduce_kind.h"
#define REDUCER sum_f16
#include "program/host/vector/reduce_kind.h"
#define REDUCER sum_bf16
#include "program/host/vector/reduce_kind.h"
#define REDUCER sum_f32
#define WIDENED
#include "program/host/vector/reduce_kind.h"
#define REDUCER sum_f64
#include "program/host/vector/reduce_kind.h"

#define REDUCER prod_u8
#include "program/host/vector/reduce_kind.h"
#define REDUCER prod_u16
#include "program/host/vector/reduce_kind.h"
#define REDUCER prod_u32
#include "program/host/vector/reduce_kind.h"
#define REDUCER prod_u64
#include "program/host/vector/reduce_kind.h"
#define REDUCER prod_f16
#include "program/host/vector/reduce_kind.h"
#define REDUCER prod_bf16
#include "program/host/vector/reduce_kind.h"
#define REDUCER prod_f32
#define WIDENED
#include "program/host/vector/reduce_kind.h"
#define REDUCER prod_f64
#include "program/host/vector/reduce_kind.h"

#define REDUCER min_i8
#include "program/host/vector/reduce_kind.h"
#define REDUCER min_i16
#include "program/host/vector/reduce_kind.h"
#define REDUCER min_i32
#include "program/host/vector/reduce_kind.h"
#define REDUCER min_i64
#include "program/host/vector/reduce_kind.h"
#define REDUCER min_u8
#include "program/host/vector/reduce_kind.h"
#define REDUCER min_u16
#include "program/host/vector/reduce_kind.h"
#define REDUCER min_u32
#include "program/host/vector/reduce_kind.h"
#define REDUCER min_u64
#include "program/host/vector/reduce_kind.h"
#define REDUCER min_f16
#define EXTREME
#include "program/host/vector/reduce_kind.h"
#define REDUCER min_bf16
#define EXTREME
#include "program/host/vector/reduce_kind.h"
#define REDUCER min_f32
#define EXTREME
#include "program/host/vector/reduce_kind.h"
#define REDUCER min_f64
#define EXTREME
#include "program/host/vector/reduce_kind.h"

#define REDUCER max_i8
#include "program/host/vector/reduce_kind.h"
#define REDUCER max_i16
#include "program/host/vector/reduce_kind.h"
#define REDUCER max_i32
#include "program/host/vector/reduce_kind.h"
#define REDUCER max_i64
#include "program/host/vector/reduce_kind.h"
#define REDUCER max_u8
#include "program/host/vector/reduce_kind.h"
#define REDUCER max_u16
#include "program/host/vector/reduce_kind.h"
#define REDUCER max_u32
#include "program/host/vector/reduce_kind.h"
#define REDUCER max_u64
#include "program/host/vector/reduce_kind.h"
#define REDUCER max_f16
#define EXTREME
#include "program/host/vector/reduce_kind.h"
#define REDUCER max_bf16
#define EXTREME
#include "program/host/vector/reduce_kind.h"
#define REDUCER max_f32
#define EXTREME
#include "program/host/vector/reduce_kind.h"
#define REDUCER max_f64
#define EXTREME
#include "program/host/vector/reduce_kind.h"

#define REDUCER any_8
#include "program/host/vector/reduce_kind.h"
#define REDUCER any_16
#include "program/host/vector/reduce_kind.h"
#define REDUCER any_32
#include "program/host/vector/reduce_kind.h"
#define REDUCER any_64
#include "program/host/vector/reduce_kind.h"
#define REDUCER any_half
#include "program/host/vector/reduce_kind.h"
#define REDUCER any_f32
#include "program/host/vector/reduce_kind.h"
#define REDUCER any_f64
#include "program/host/vector/reduce_kind.h"

#define REDUCER all_8
#include "program/host/vector/reduce_kind.h"
#define REDUCER all_16
#include "program/host/vector/reduce_kind.h"
#define REDUCER all_32
#include "program/host/vector/reduce_kind.h"
#define REDUCER all_64
#include "program/host/vector/reduce_kind.h"
#define REDUCER all_half
#include "program/host/vector/reduce_kind.h"
#define REDUCER all_f32
#include "program/host/vector/reduce_kind.h"
#define REDUCER all_f64
#include "program/host/vector/reduce_kind.h"
/* clang-format on */

/* ---- argmin, argmax ---- */

/* The first element that no other one beats; NaN beats numbers. A row keeps the best of
 * each block by the reducer's `extreme`, then searches the first block that has it. */
#define FINDER(name, dt, extreme, A, LOADED, BEATS)                                      \
    static int64_t name##_row(const void *from, int64_t length) {                        \
        const dt *x = from;                                                              \
        const dt *block = x;                                                             \
        A best = LOADED(x[0]);                                                           \
        for (int64_t i = 0; i < length; i += PITHP_REDUCE_BLOCK) {                       \
            const int64_t left = length - i,                                             \
                          n = left < PITHP_REDUCE_BLOCK ? left : PITHP_REDUCE_BLOCK;     \
            const A here = extreme##_row(x + i, n, left - n);                            \
            if (BEATS(here, best)) {                                                     \
                best = here;                                                             \
                block = x + i;                                                           \
            }                                                                            \
        }                                                                                \
        for (;; block++) {                                                               \
            const A here = LOADED(*block);                                               \
            if (here == best || (here != here && best != best))                          \
                return block - x;                                                        \
        }                                                                                \
    }                                                                                    \
    static void name##_columns(int64_t *to, const void *from, int64_t pitch,             \
                               int64_t length, int64_t width) {                          \
        const dt *x = from;                                                              \
        A best[PITHP_REDUCE_TILE];                                                       \
        for (int64_t c = 0; c < width; c++) {                                            \
            best[c] = LOADED(x[c]);                                                      \
            to[c] = 0;                                                                   \
        }                                                                                \
        for (int64_t r = 1; r < length; r++) {                                           \
            const dt *row = x + r * pitch;                                               \
            PITHP_SIMD                                                                   \
            for (int64_t c = 0; c < width; c++) {                                        \
                const A here = LOADED(row[c]), before = best[c];                         \
                const bool wins = BEATS(here, before);                                   \
                best[c] = wins ? here : before;                                          \
                to[c] = wins ? r : to[c];                                                \
            }                                                                            \
        }                                                                                \
    }

#define LESS(a, b)         ((a) < (b))
#define GREATER(a, b)      ((a) > (b))
#define LESS_REAL(a, b)    (((a) < (b)) | (((a) != (a)) & ((b) == (b))))
#define GREATER_REAL(a, b) (((a) > (b)) | (((a) != (a)) & ((b) == (b))))

#define FINDERS(dt, A, LOADED, BELOW, ABOVE)                                             \
    FINDER(argmin_##dt, dt, min_##dt, A, LOADED, BELOW)                                  \
    FINDER(argmax_##dt, dt, max_##dt, A, LOADED, ABOVE)
FINDERS(i8, i8, M_SAME, LESS, GREATER)
FINDERS(i16, i16, M_SAME, LESS, GREATER)
FINDERS(i32, i32, M_SAME, LESS, GREATER)
FINDERS(i64, i64, M_SAME, LESS, GREATER)
FINDERS(u8, u8, M_SAME, LESS, GREATER)
FINDERS(u16, u16, M_SAME, LESS, GREATER)
FINDERS(u32, u32, M_SAME, LESS, GREATER)
FINDERS(u64, u64, M_SAME, LESS, GREATER)
FINDERS(f16, f32, m_load_f16, LESS_REAL, GREATER_REAL)
FINDERS(bf16, f32, m_load_bf16, LESS_REAL, GREATER_REAL)
FINDERS(f32, f32, M_SAME, LESS_REAL, GREATER_REAL)
FINDERS(f64, f64, M_SAME, LESS_REAL, GREATER_REAL)

/* ---- The table ---- */

#define USE(name, A)                                                                     \
    {                                                                                    \
        DTYPE_##A, name##_rows, name##_columns, name##_lane, name##_accumulate,          \
            name##_finish, name##_tree                                                   \
    }
#define ARITHMETIC(op)                                                                   \
    [PITH_I8] = USE(op##_u8, u8), [PITH_I16] = USE(op##_u16, u16),                       \
    [PITH_I32] = USE(op##_u32, u32), [PITH_I64] = USE(op##_u64, u64),                    \
    [PITH_U8] = USE(op##_u8, u8), [PITH_U16] = USE(op##_u16, u16),                       \
    [PITH_U32] = USE(op##_u32, u32), [PITH_U64] = USE(op##_u64, u64),                    \
    [PITH_F16] = USE(op##_f16, f64), [PITH_BF16] = USE(op##_bf16, f64),                  \
    [PITH_F32] = USE(op##_f32, f64), [PITH_F64] = USE(op##_f64, f64)
#define EXTREME(op)                                                                      \
    [PITH_BOOL] = USE(op##_u8, u8), [PITH_I8] = USE(op##_i8, i8),                        \
    [PITH_I16] = USE(op##_i16, i16), [PITH_I32] = USE(op##_i32, i32),                    \
    [PITH_I64] = USE(op##_i64, i64), [PITH_U8] = USE(op##_u8, u8),                       \
    [PITH_U16] = USE(op##_u16, u16), [PITH_U32] = USE(op##_u32, u32),                    \
    [PITH_U64] = USE(op##_u64, u64), [PITH_F16] = USE(op##_f16, f32),                    \
    [PITH_BF16] = USE(op##_bf16, f32), [PITH_F32] = USE(op##_f32, f32),                  \
    [PITH_F64] = USE(op##_f64, f64)
#define LOGICAL(op)                                                                      \
    [PITH_BOOL] = USE(op##_8, u8), [PITH_I8] = USE(op##_8, u8),                          \
    [PITH_I16] = USE(op##_16, u16), [PITH_I32] = USE(op##_32, u32),                      \
    [PITH_I64] = USE(op##_64, u64), [PITH_U8] = USE(op##_8, u8),                         \
    [PITH_U16] = USE(op##_16, u16), [PITH_U32] = USE(op##_32, u32),                      \
    [PITH_U64] = USE(op##_64, u64), [PITH_F16] = USE(op##_half, u16),                    \
    [PITH_BF16] = USE(op##_half, u16), [PITH_F32] = USE(op##_f32, u32),                  \
    [PITH_F64] = USE(op##_f64, u64)
#define FIND(name)                                                                       \
    { name##_row, name##_columns }
#define FIND_ALL(op)                                                                     \
    [PITH_BOOL] = FIND(op##_u8), [PITH_I8] = FIND(op##_i8), [PITH_I16] = FIND(op##_i16), \
    [PITH_I32] = FIND(op##_i32), [PITH_I64] = FIND(op##_i64), [PITH_U8] = FIND(op##_u8), \
    [PITH_U16] = FIND(op##_u16), [PITH_U32] = FIND(op##_u32),                            \
    [PITH_U64] = FIND(op##_u64), [PITH_F16] = FIND(op##_f16),                            \
    [PITH_BF16] = FIND(op##_bf16), [PITH_F32] = FIND(op##_f32),                          \
    [PITH_F64] = FIND(op##_f64)

const pithp_reduce_table PITHP_FOR_ISA(pithp_reduce) = {
    .reducers = {[PITHP_REDUCE_SUM] = {ARITHMETIC(sum)},
                 [PITHP_REDUCE_PROD] = {ARITHMETIC(prod)},
                 [PITHP_REDUCE_MIN] = {EXTREME(min)},
                 [PITHP_REDUCE_MAX] = {EXTREME(max)},
                 [PITHP_REDUCE_ANY] = {LOGICAL(any)},
                 [PITHP_REDUCE_ALL] = {LOGICAL(all)}},
    .finders = {{FIND_ALL(argmin)}, {FIND_ALL(argmax)}},
};
