/* Size classes of memory blocks: eight per doubling, so that a freed block fits later
 * requests of similar size. */
#ifndef PITH_GPU_SIZE_CLASS_H
#define PITH_GPU_SIZE_CLASS_H

#include "gpu/gpu_internal.h"

enum { PITHP_CLASS_COUNT = 8 + 8 * (48 - 11) };
#define PITHP_CLASS_MOST ((size_t)1 << 47)         /* larger requests always fail */
enum { PITHP_CACHED_CLASSES = 8 + 8 * (27 - 11) }; /* up to 128 MiB */
/* If large buffers are cached: the maximum of one, and of all together. */
#define PITHP_CACHED_LARGE_MOST ((size_t)128 << 20)

/* The class of a size up to PITHP_CLASS_MOST; *room: bytes of its blocks. */
static inline int pithp_class_of(size_t bytes, size_t *room) {
    if (bytes <= 2048) {
        const size_t steps = bytes ? (bytes + 255) / 256 : 1;
        *room = steps * 256;
        return (int)steps - 1;
    }
    const int log = 63 - __builtin_clzll((unsigned long long)(bytes - 1));
    const int shift = log - 3;
    const size_t eighth = (bytes - 1) >> shift; /* 8 to 15 */
    *room = (eighth + 1) << shift;
    return 8 + (log - 11) * 8 + (int)(eighth - 8);
}

#endif
