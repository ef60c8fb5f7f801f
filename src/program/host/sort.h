/* Sort keys: an element as an unsigned, order-preserving key. Equal keys are equal
 * elements: -0 has the key of 0, and every NaN has the greatest key. */
#ifndef PITH_PROGRAM_HOST_SORT_H
#define PITH_PROGRAM_HOST_SORT_H

#include "program/op/rules.h"

/* Kinds of elements; each has its own key transformation. */
typedef enum { UNSIGNED, SIGNED, FLOAT } key_kind;

static inline key_kind kind_of(pith_dtype dtype) {
    return pith_dtype_is_float(dtype)     ? FLOAT
           : pithp_dtype_is_signed(dtype) ? SIGNED
                                          : UNSIGNED;
}

/* Bits of infinity; only NaN has a greater magnitude. */
static inline uint64_t infinity_of(pith_dtype dtype) {
    switch (dtype) {
        case PITH_F16:
            return 0x7c00;
        case PITH_BF16:
            return 0x7f80;
        case PITH_F32:
            return 0x7f800000;
        case PITH_F64:
            return 0x7ff0000000000000;
        case PITH_DTYPE_NONE:
        case PITH_BOOL:
        case PITH_I8:
        case PITH_I16:
        case PITH_I32:
        case PITH_I64:
        case PITH_U8:
        case PITH_U16:
        case PITH_U32:
        case PITH_U64:
            break;
    }
    return 0;
}

/* Keys of one width, and elements of keys (0 for both zeros, one NaN for all NaNs),
 * without branches on elements. */
#define PITHP_SORT_KEYS(K, BITS)                                                         \
    static inline K key_##K(K x, key_kind kind, K infinity, bool descending) {           \
        const K sign = (K)1 << (BITS - 1);                                               \
        K key = kind == UNSIGNED ? x : x ^ sign;                                         \
        if (kind == FLOAT) {                                                             \
            const K negative = (K) - (K)(x >> (BITS - 1)),                               \
                    nan = (K) - (K)((x & (K)~sign) > infinity);                          \
            key = (K)((K)(x ^ (negative | sign)) + (x == sign)) | nan;                   \
        }                                                                                \
        return descending ? (K)~key : key;                                               \
    }                                                                                    \
    static inline K element_##K(K key, key_kind kind, bool descending) {                 \
        const K sign = (K)1 << (BITS - 1);                                               \
        key = descending ? (K)~key : key;                                                \
        const K negative = (K)((key >> (BITS - 1)) - 1);                                 \
        return kind == UNSIGNED ? key                                                    \
               : kind == SIGNED ? (K)(key ^ sign)                                        \
                                : (K)(key ^ (negative | sign));                          \
    }

PITHP_SORT_KEYS(uint8_t, 8)
PITHP_SORT_KEYS(uint16_t, 16)
PITHP_SORT_KEYS(uint32_t, 32)
PITHP_SORT_KEYS(uint64_t, 64)

/* ---- One long line, on several threads ---- */

/* Whether a call's lines are few and long. */
static inline bool pithp_sorts_long(int64_t count, int64_t extent, size_t size) {
    return extent >= (1 << 16) && extent <= UINT32_MAX && count / extent < 16 &&
           size >= 4;
}

/* Bytes besides those of two arrays of elements. */
size_t pithp_long_sort_bytes(void);

/* The launches that sort one line with stride `inner`. temporary: two arrays of items and
 * pithp_long_sort_bytes. Items are elements for sort; for argsort they have 8 bytes for
 * 4-byte elements and 16 for 8-byte elements. */
pith_status pithp_launch_long_sort(const pithp_sink *sink,
                                   const pithp_call *call,
                                   const void *from,
                                   void *to,
                                   void *temporary,
                                   int64_t extent,
                                   int64_t inner);

#endif
