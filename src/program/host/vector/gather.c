/* Indices to offsets: negative ones count from the end, and what is out of range does
 * what the mode says. */
#include "program/host/vector/gather.h"

#include "program/host/vector/vector.h"

static inline i64 clamp(i64 x, i64 most) {
    const i64 low = x < 0 ? 0 : x;
    return low > most ? most : low;
}

static inline i64 modulo(i64 x, i64 extent) {
    if (0 <= x && x < extent)
        return x;
    const i64 rest = x % extent;
    return rest < 0 ? rest + extent : rest;
}

static void
resolve(int64_t *where, const int64_t *index, int64_t n, const pithp_indexing *rule) {
    const i64 extent = rule->extent, back = rule->no_negative ? 0 : extent;
    const i64 beyond = INT64_MAX;
    if (extent == 0) {
        for (int64_t i = 0; i < n; i++)
            where[i] = -1;
        return;
    }
    switch (rule->mode) {
        case PITHP_INDEX_DROP:
        case PITHP_INDEX_ERROR:
            PITHP_SIMD
            for (int64_t i = 0; i < n; i++) {
                const i64 given = index[i];
                const i64 x = rule->unsigned64 ? given : given + (given < 0 ? back : 0);
                const bool fails = (x < 0) | (x >= extent) | (where[i] < 0);
                where[i] = fails ? -1 : where[i] * extent + x;
            }
            break;
        case PITHP_INDEX_CLIP:
        case PITHP_INDEX_PROMISE:
            PITHP_SIMD
            for (int64_t i = 0; i < n; i++) {
                const i64 given = index[i];
                const i64 wide =
                    rule->unsigned64 ? beyond : (i64)((u64)given + (u64)back);
                where[i] =
                    where[i] * extent + clamp(given < 0 ? wide : given, extent - 1);
            }
            break;
        case PITHP_INDEX_WRAP:
            for (int64_t i = 0; i < n; i++) {
                const u64 given = (u64)index[i];
                where[i] =
                    where[i] * extent + (rule->unsigned64 ? (i64)(given % (u64)extent)
                                                          : modulo((i64)given, extent));
            }
            break;
    }
}

/* ---- One array of indices ---- */

/* The place of an index, its type as wide as the extent asks for; `fails` where it is out
 * of range and not clamped. */
#define PLACE(I)                                                                         \
    static inline __attribute__((always_inline))                                         \
    I place_##I(I given, I extent, I back, bool clamps, bool *fails) {                   \
        const I x = given < 0 ? given + back : given;                                    \
        if (clamps) {                                                                    \
            const I low = x < 0 ? 0 : x;                                                 \
            *fails = false;                                                              \
            return low >= extent ? extent - 1 : low;                                     \
        }                                                                                \
        *fails = (x < 0) | (x >= extent);                                                \
        return x;                                                                        \
    }
PLACE(i32)
PLACE(i64)

static bool clamps_of(const pithp_indexing *rule) {
    return rule->mode == PITHP_INDEX_CLIP || rule->mode == PITHP_INDEX_PROMISE;
}

/* Extents beyond i32 hold every i32: those that count from the end are widened first. */
static bool is_narrow(const pithp_indexing *rule) {
    return rule->extent <= INT32_MAX;
}

#define RESOLVE(name, I, W)                                                              \
    static inline __attribute__((always_inline)) bool resolve_##name(                    \
        int64_t *where, const I *index, int64_t n, const pithp_indexing *rule,           \
        const bool clamps) {                                                             \
        const W extent = (W)rule->extent, back = rule->no_negative ? 0 : extent;         \
        W any = 0;                                                                       \
        _Pragma("omp simd reduction(| : any)") for (int64_t i = 0; i < n; i++) {         \
            bool fails;                                                                  \
            const W x = place_##W((W)index[i], extent, back, clamps, &fails);            \
            where[i] = fails ? -1 : x;                                                   \
            any |= fails;                                                                \
        }                                                                                \
        return any;                                                                      \
    }
RESOLVE(narrow, i32, i32)
RESOLVE(mixed, i32, i64)
RESOLVE(wide, i64, i64)

#define EITHER(function, ...)                                                            \
    (clamps_of(rule) ? function(__VA_ARGS__, true) : function(__VA_ARGS__, false))

static bool resolve_one(int64_t *where,
                        const void *index,
                        bool wide,
                        int64_t n,
                        const pithp_indexing *rule) {
    if (rule->extent == 0) {
        for (int64_t i = 0; i < n; i++)
            where[i] = -1;
        return true;
    }
    if (wide)
        return EITHER(resolve_wide, where, index, n, rule);
    return is_narrow(rule) ? EITHER(resolve_narrow, where, index, n, rule)
                           : EITHER(resolve_mixed, where, index, n, rule);
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

/* Single loads: they are no slower than the processor's gathers, and the comparison costs
 * nothing beside them. */
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
