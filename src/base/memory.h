/* Host memory of the runtime's allocator, with a count of its bytes. */
#ifndef PITH_BASE_MEMORY_H
#define PITH_BASE_MEMORY_H

#include "pith/base.h"

extern const pith_allocator pithp_libc_allocator; /* malloc and free */
void *pithp_allocate(pith_runtime *rt,
                     size_t bytes); /* 16-byte aligned; NULL if out of memory */
void *pithp_allocate_aligned(pith_runtime *rt, size_t bytes, size_t alignment);
void pithp_release(pith_runtime *rt, void *memory, size_t bytes);
void pithp_release_aligned(pith_runtime *rt,
                           void *memory,
                           size_t bytes,
                           size_t alignment);
/* Grow an array. Out of memory: NULL, and the old array is unchanged. */
void *
pithp_reallocate(pith_runtime *rt, void *memory, size_t old_bytes, size_t new_bytes);
/* Bytes allocated by the runtime and not released. */
size_t pithp_bytes_allocated(const pith_runtime *rt);

static inline bool pithp_mul_overflows(size_t a, size_t b, size_t *product) {
    return __builtin_mul_overflow(a, b, product);
}
static inline bool pithp_add_overflows(size_t a, size_t b, size_t *sum) {
    return __builtin_add_overflow(a, b, sum);
}

/* 64-bit hash of bytes for tables in memory, never written to files: FNV-1a over words
 * with a mixing finaliser. */
uint64_t pithp_hash(uint64_t seed, const void *bytes, size_t n);

#endif
