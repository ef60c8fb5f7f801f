/* Rank sort of a few keys on the host: each key is compared with all others, many at a
 * time and without branches. For short lines this is faster than moving keys one by one.
 */
#include "program/host/vector/rank.h"

#include "program/host/vector/vector.h"

enum { AT_ONCE = 16 };

/* Signed keys, because vector comparisons are signed. The last vector of 16 is padded
 * with the greatest key, which is less than none. The rank of equal keys adds the number
 * of equal keys before. */
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
