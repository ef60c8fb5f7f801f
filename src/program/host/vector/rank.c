/* Ranks of a few keys on the host: each is compared with all, many at a time and without
 * a branch, which for short lines is quicker than to move them one by one. */
#include "program/host/vector/rank.h"

#include "program/host/vector/vector.h"

enum { AT_ONCE = 16 };

/* Keys with a sign: processors compare those. What fills up the last 16 is greatest, and
 * so less than none. Keys that are equal have as many less than them, and are counted. */
#define RANK(K, S, BITS)                                                                 \
    void PITHP_FOR_ISA(pithp_rank_##K)(const K *keys, int64_t n, uint8_t *ranks) {       \
        const K sign = (K)((K)1 << (BITS - 1));                                          \
        const int64_t whole = (n + AT_ONCE - 1) / AT_ONCE * AT_ONCE;                     \
        uint8_t seen[PITHP_RANK_MOST] = {0};                                             \
        S with_sign[PITHP_RANK_MOST];                                                    \
        for (int64_t j = 0; j < whole; j++)                                              \
            with_sign[j] = (S)(j < n ? (K)(keys[j] ^ sign) : (K)(sign - 1));             \
        for (int64_t i = 0; i < n; i++) {                                                \
            const S key = with_sign[i];                                                  \
            K less = 0;                                                                  \
            _Pragma("omp simd reduction(+ : less)") for (int64_t j = 0; j < whole; j++)  \
                less = (K)(less + (K)(with_sign[j] < key));                              \
            ranks[i] = (uint8_t)(less + seen[less]++);                                   \
        }                                                                                \
    }
RANK(uint8_t, int8_t, 8)
RANK(uint16_t, int16_t, 16)
RANK(uint32_t, int32_t, 32)
RANK(uint64_t, int64_t, 64)
