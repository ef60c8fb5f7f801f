/* Ranks of the keys of a short line, one function per width and instruction set. */
#ifndef PITH_PROGRAM_HOST_VECTOR_RANK_H
#define PITH_PROGRAM_HOST_VECTOR_RANK_H

#include <stdint.h>

enum { PITHP_RANK_MOST = 64 }; /* keys */

/* ranks[i]: the sorted position of keys[i] (unsigned); stable. */
#define PITHP_RANKS(isa)                                                                 \
    extern void pithp_rank_uint8_t_##isa(const uint8_t *keys, int64_t n,                 \
                                         uint8_t *ranks);                                \
    extern void pithp_rank_uint16_t_##isa(const uint16_t *keys, int64_t n,               \
                                          uint8_t *ranks);                               \
    extern void pithp_rank_uint32_t_##isa(const uint32_t *keys, int64_t n,               \
                                          uint8_t *ranks);                               \
    extern void pithp_rank_uint64_t_##isa(const uint64_t *keys, int64_t n,               \
                                          uint8_t *ranks);
PITHP_RANKS(base)
PITHP_RANKS(v3)
PITHP_RANKS(v4)
#undef PITHP_RANKS

#endif
