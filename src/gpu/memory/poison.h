/* Private interface of gpu: AddressSanitizer poisoning of free memory in the host's
 * pools. */
#ifndef PITH_GPU_POISON_H
#define PITH_GPU_POISON_H

#include <stddef.h>

#if defined(__has_feature)
#    if __has_feature(address_sanitizer)
#        define PITHP_ASAN 1
#    endif
#elif defined(__SANITIZE_ADDRESS__)
#    define PITHP_ASAN 1
#endif

#if defined(PITHP_ASAN)
#    include <sanitizer/asan_interface.h>
static inline void pithp_poison(const void *memory, size_t bytes) {
    __asan_poison_memory_region(memory, bytes);
}
static inline void pithp_unpoison(const void *memory, size_t bytes) {
    __asan_unpoison_memory_region(memory, bytes);
}
#else
static inline void pithp_poison(const void *memory, size_t bytes) {
    (void)memory, (void)bytes;
}
static inline void pithp_unpoison(const void *memory, size_t bytes) {
    (void)memory, (void)bytes;
}
#endif

#endif
