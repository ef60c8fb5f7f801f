/* Index resolution: indices to offsets, by the index mode. Negative indices count from
 * the end. */
#include "program/host/vector/gather.h"

/* clang-format off */
#include "program/host/vector/vector.h"
#include "program/source/index_rule.h"
/* clang-format on */

_Static_assert((int)M_DROP == PITHP_INDEX_DROP && (int)M_CLIP == PITHP_INDEX_CLIP &&
                   (int)M_WRAP == PITHP_INDEX_WRAP &&
                   (int)M_PROMISE == PITHP_INDEX_PROMISE &&
                   (int)M_ERROR == PITHP_INDEX_ERROR,
               "modes are the same numbers in texts");

/* `mode` is a compile-time constant after inlining. */
PITHP_INLINE void resolve_by(int64_t *where,
                             const int64_t *index,
                             int64_t n,
                             const pithp_indexing *rule,
                             const i32 mode) {
    const i64 extent = rule->extent;
    const bool from_end = !rule->no_negative, wide = rule->unsigned64;
    PITHP_SIMD
    for (int64_t i = 0; i < n; i++) {
        const i64 x = m_position(index[i], extent, mode, from_end, wide);
        const bool fails =
            mode == M_DROP && (x | where[i]) < 0; /* other modes: by the sum */
        where[i] = fails ? -1 : where[i] * extent + x;
    }
}

static void
resolve(int64_t *where, const int64_t *index, int64_t n, const pithp_indexing *rule) {
    switch (rule->mode) {
        case PITHP_INDEX_DROP:
        case PITHP_INDEX_ERROR:
            resolve_by(where, index, n, rule, M_DROP);
            break;
        case PITHP_INDEX_CLIP:
        case PITHP_INDEX_PROMISE:
            resolve_by(where, index, n, rule, M_CLIP);
            break;
        case PITHP_INDEX_WRAP:
            resolve_by(where, index, n, rule, M_WRAP);
            break;
    }
}

/* ---- One array of indices ---- */

/* Indices I in arithmetic W, whose width depends on the extent. */
#define RESOLVE(name, I, W, POSITION)                                                    \
    PITHP_INLINE bool resolve_##name(int64_t *where, const I *index, int64_t n,          \
                                     const pithp_indexing *rule, const i32 mode) {       \
        const W extent = (W)rule->extent;                                                \
        const bool from_end = !rule->no_negative;                                        \
        W any = 0;                                                                       \
        _Pragma("omp simd reduction(| : any)") for (int64_t i = 0; i < n; i++) {         \
            const W x = POSITION(index[i], extent, mode, from_end, false);               \
            where[i] = x;                                                                \
            any |= x;                                                                    \
        }                                                                                \
        return any < 0;                                                                  \
    }
RESOLVE(narrow, i32, i32, m_position_narrow)
RESOLVE(mixed, i32, i64, m_position)
RESOLVE(wide, i64, i64, m_position)

static bool resolve_one(int64_t *where,
                        const void *index,
                        bool wide,
                        int64_t n,
                        const pithp_indexing *rule) {
    const bool clips =
        rule->mode == PITHP_INDEX_CLIP || rule->mode == PITHP_INDEX_PROMISE;
    if (wide)
        return clips ? resolve_wide(where, index, n, rule, M_CLIP)
                     : resolve_wide(where, index, n, rule, M_DROP);
    /* extents beyond i32 contain every i32; negative ones are widened first */
    if (rule->extent > INT32_MAX)
        return clips ? resolve_mixed(where, index, n, rule, M_CLIP)
                     : resolve_mixed(where, index, n, rule, M_DROP);
    return clips ? resolve_narrow(where, index, n, rule, M_CLIP)
                 : resolve_narrow(where, index, n, rule, M_DROP);
}

/* ---- Elements ---- */

#define GATHER(type)                                                                     \
    static void gather_##type(void *to, const void *from, const int64_t *where,          \
                              int64_t n) {                                               \
        type *out = to;                                                                  \
        const type *x = from;                                                            \
        PITHP_SIMD                                                                       \
        for (int64_t i = 0; i < n; i++)                                                  \
            out[i] = x[where[i]];                                                        \
    }
GATHER(u8)
GATHER(u16)
GATHER(u32)
GATHER(u64)

/* Scalar loads: they are as fast as the processor's gathers, and the comparison is free.
 */
#define GATHER_DIRECT(type, I)                                                           \
    static int64_t gather_##type##_##I(void *to, const void *from, const void *index,    \
                                       int64_t n, int64_t extent) {                      \
        type *out = to;                                                                  \
        const type *x = from;                                                            \
        _Pragma("GCC unroll 4") for (int64_t i = 0; i < n; i++) {                        \
            const int64_t at = ((const I *)index)[i];                                    \
            if ((u64)at >= (u64)extent)                                                  \
                return i;                                                                \
            out[i] = x[at];                                                              \
        }                                                                                \
        return n;                                                                        \
    }
#define GATHERS_DIRECT(I)                                                                \
    GATHER_DIRECT(u8, I)                                                                 \
    GATHER_DIRECT(u16, I)                                                                \
    GATHER_DIRECT(u32, I)                                                                \
    GATHER_DIRECT(u64, I)
GATHERS_DIRECT(i32)
GATHERS_DIRECT(i64)

const pithp_index_functions PITHP_FOR_ISA(pithp_index) = {
    .resolve = resolve,
    .resolve_one = resolve_one,
    .gather = {gather_u8, gather_u16, gather_u32, gather_u64},
    .gather_direct = {{gather_u8_i32, gather_u16_i32, gather_u32_i32, gather_u64_i32},
                      {gather_u8_i64, gather_u16_i64, gather_u32_i64, gather_u64_i64}}};
