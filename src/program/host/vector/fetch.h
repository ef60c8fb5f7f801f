/* Software prefetch, for access patterns that defeat the hardware prefetcher. */
#ifndef PITH_PROGRAM_HOST_VECTOR_FETCH_H
#define PITH_PROGRAM_HOST_VECTOR_FETCH_H

#include <stdint.h>

enum { PITHP_LINE_BYTES = 64 };

/* Prefetch the cache lines of `bytes`, `ahead` bytes after `from`. They may be unmapped:
 * a prefetch never faults. Inlined, because the compiler drops a call without other
 * effects. */
static inline __attribute__((always_inline)) void
pithp_fetch(const void *from, int64_t ahead, int64_t bytes) {
    const uintptr_t first = (uintptr_t)from + (uintptr_t)ahead;
    for (int64_t i = 0; i < bytes; i += PITHP_LINE_BYTES)
        __builtin_prefetch((const void *)(first + (uintptr_t)i));
}

#endif
