/* Indices to offsets: negative ones count from the end, and what is out of range does
 * what the mode says. */
#include "program/block/index.h"

#include "program/block/block.h"

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

void PITHP_FOR_ISA(pithp_resolve)(int64_t *where,
                                  const int64_t *index,
                                  int64_t n,
                                  const pithp_indexing *rule) {
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
