/* Host memory of the runtime's allocator, with a count of its bytes. The default
 * allocator is malloc and free. */
#include "base/base_internal.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_ALIGNMENT = 16 };

static void *libc_allocate(void *closure, size_t bytes, size_t alignment) {
    (void)closure;
    if (alignment <= LEAST_ALIGNMENT)
        return malloc(bytes);
    void *memory = NULL;
    return posix_memalign(&memory, alignment, bytes) == 0 ? memory : NULL;
}

static void libc_release(void *closure, void *memory, size_t bytes, size_t alignment) {
    (void)closure, (void)bytes, (void)alignment;
    free(memory);
}

const pith_allocator pithp_libc_allocator = {libc_allocate, libc_release, NULL};

void *pithp_allocate_aligned(pith_runtime *rt, size_t bytes, size_t alignment) {
    if (bytes == 0)
        bytes = 1;
    if (bytes > PTRDIFF_MAX)
        return NULL;
    void *memory = rt->allocator.allocate(rt->allocator.closure, bytes, alignment);
    if (memory)
        atomic_fetch_add_explicit(&rt->bytes_allocated, bytes, memory_order_relaxed);
    return memory;
}

void pithp_release_aligned(pith_runtime *rt,
                           void *memory,
                           size_t bytes,
                           size_t alignment) {
    if (!memory)
        return;
    if (bytes == 0)
        bytes = 1;
    atomic_fetch_sub_explicit(&rt->bytes_allocated, bytes, memory_order_relaxed);
    rt->allocator.release(rt->allocator.closure, memory, bytes, alignment);
}

void *pithp_allocate(pith_runtime *rt, size_t bytes) {
    return pithp_allocate_aligned(rt, bytes, LEAST_ALIGNMENT);
}

void pithp_release(pith_runtime *rt, void *memory, size_t bytes) {
    pithp_release_aligned(rt, memory, bytes, LEAST_ALIGNMENT);
}

void *
pithp_reallocate(pith_runtime *rt, void *memory, size_t old_bytes, size_t new_bytes) {
    void *grown = pithp_allocate(rt, new_bytes);
    if (!grown)
        return NULL;
    if (memory)
        memcpy(grown, memory, old_bytes < new_bytes ? old_bytes : new_bytes);
    pithp_release(rt, memory, old_bytes);
    return grown;
}

size_t pithp_bytes_allocated(const pith_runtime *rt) {
    return atomic_load_explicit(&rt->bytes_allocated, memory_order_relaxed);
}

uint64_t pithp_hash(uint64_t seed, const void *bytes, size_t n) {
    const unsigned char *p = bytes;
    uint64_t h = seed ^ 0xcbf29ce484222325u;
    for (; n >= 8; n -= 8, p += 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        h = (h ^ word) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    for (; n; n--, p++)
        h = (h ^ *p) * 0x100000001b3u;
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    return h ^ (h >> 32);
}
