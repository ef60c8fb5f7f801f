/**
 * @file
 * Checked kernels: instrumented memory accesses of a body in a checked build.
 *
 * The base pass of a checked kernel file (pith_add_kernels(... CHECKED ON)) is compiled
 * with -fsanitize=thread, so that the compiler calls a function before each access to
 * memory. Assembler symbol assignments redirect these calls to the functions below. The
 * runtime of ThreadSanitizer is not used, so a checked kernel may be linked into a
 * program with any sanitizer.
 *
 * Part of <pith/kernel.h>.
 */
#ifndef PITH_KERNEL_CHECKED_H
#define PITH_KERNEL_CHECKED_H

#include <pith/kernel_types.h>

#ifndef __CUDACC_RTC__

/* Kind of an access. Atomic accesses of several indices may share an element. */
typedef enum pith_access {
    PITH_ACCESS_READ,
    PITH_ACCESS_WRITE,
    PITH_ACCESS_ATOMIC_READ,
    PITH_ACCESS_ATOMIC_UPDATE
} pith_access;

/* The body at one index, with a copy of the argument struct. */
typedef void (*pith_kernel_body)(const void *args, int64_t index);

PITH_BEGIN
/** Run a body for all indices of a launch, in order, on one thread. The first invalid
 * access goes to the report of the launch; elements that the body did not write become 0.
 */
PITH_API void pith_kernel_run_checked(const pith_kernel_variant *kernel,
                                      const void *args,
                                      pith_kernel_body body);
/** Check an access of the running body, and leave the body if the access is invalid. Does
 * nothing outside pith_kernel_run_checked. */
PITH_API void pith_kernel_access(const void *address, size_t bytes, pith_access access);
PITH_END

#endif

#if defined(PITH_KERNEL_CHECKED) && PITH_KERNEL_PASS == PITH_PASS_BASE

/* clang instruments atomic operations despite no_sanitize. */
#    ifdef __clang__
#        define PITH_PLAIN_ no_sanitize("thread"), disable_sanitizer_instrumentation
#    else
#        define PITH_PLAIN_ no_sanitize("thread")
#    endif
#    define PITH_ENTRY_                       static __attribute__((used, noinline, PITH_PLAIN_))
#    define PITH_ENTRY_NAME_(entry, function) __asm__(".set " #    entry ", " #    function);

/* ---- Plain accesses ---- */

#    define PITH_ENTRY_SIZED_(name, bytes, access)                                       \
        PITH_ENTRY_ void pith_entry_##name(const void *p) {                              \
            pith_kernel_access(p, bytes, access);                                        \
        }                                                                                \
        PITH_ENTRY_NAME_(__tsan_##name, pith_entry_##name)
#    define PITH_ENTRY_READ_(bytes)                                                      \
        PITH_ENTRY_SIZED_(read##bytes, bytes, PITH_ACCESS_READ)                          \
        PITH_ENTRY_SIZED_(unaligned_read##bytes, bytes, PITH_ACCESS_READ)
#    define PITH_ENTRY_WRITE_(bytes)                                                     \
        PITH_ENTRY_SIZED_(write##bytes, bytes, PITH_ACCESS_WRITE)                        \
        PITH_ENTRY_SIZED_(unaligned_write##bytes, bytes, PITH_ACCESS_WRITE)
PITH_ENTRY_READ_(1)
PITH_ENTRY_READ_(2)
PITH_ENTRY_READ_(4)
PITH_ENTRY_READ_(8)
PITH_ENTRY_READ_(16)
PITH_ENTRY_WRITE_(1)
PITH_ENTRY_WRITE_(2)
PITH_ENTRY_WRITE_(4)
PITH_ENTRY_WRITE_(8)
PITH_ENTRY_WRITE_(16)

/* clang 15 and later: one call for a read and a write of the same element. */
#    define PITH_ENTRY_BOTH_(name, bytes)                                                \
        PITH_ENTRY_ void pith_entry_##name(const void *p) {                              \
            pith_kernel_access(p, bytes, PITH_ACCESS_READ);                              \
            pith_kernel_access(p, bytes, PITH_ACCESS_WRITE);                             \
        }                                                                                \
        PITH_ENTRY_NAME_(__tsan_##name, pith_entry_##name)
PITH_ENTRY_BOTH_(read_write1, 1)
PITH_ENTRY_BOTH_(read_write2, 2)
PITH_ENTRY_BOTH_(read_write4, 4)
PITH_ENTRY_BOTH_(read_write8, 8)
PITH_ENTRY_BOTH_(read_write16, 16)
PITH_ENTRY_BOTH_(unaligned_read_write2, 2)
PITH_ENTRY_BOTH_(unaligned_read_write4, 4)
PITH_ENTRY_BOTH_(unaligned_read_write8, 8)
PITH_ENTRY_BOTH_(unaligned_read_write16, 16)

PITH_ENTRY_ void pith_entry_read_range(const void *p, size_t bytes) {
    pith_kernel_access(p, bytes, PITH_ACCESS_READ);
}
PITH_ENTRY_ void pith_entry_write_range(const void *p, size_t bytes) {
    pith_kernel_access(p, bytes, PITH_ACCESS_WRITE);
}
PITH_ENTRY_ void pith_entry_nothing(const void *p) {
    (void)p;
}
PITH_ENTRY_NAME_(__tsan_read_range, pith_entry_read_range)
PITH_ENTRY_NAME_(__tsan_write_range, pith_entry_write_range)
PITH_ENTRY_NAME_(__tsan_func_entry, pith_entry_nothing)
PITH_ENTRY_NAME_(__tsan_func_exit, pith_entry_nothing)
PITH_ENTRY_NAME_(__tsan_init, pith_entry_nothing)
PITH_ENTRY_NAME_(__tsan_atomic_thread_fence, pith_entry_nothing)
PITH_ENTRY_NAME_(__tsan_atomic_signal_fence, pith_entry_nothing)

/* ---- Copies of blocks ---- */

/* Bytes are volatile, or the compiler would replace the loop by a call of memcpy. */
PITH_ENTRY_ void *pith_entry_move(void *to, const void *from, size_t bytes) {
    volatile unsigned char *a = (volatile unsigned char *)to;
    const volatile unsigned char *b = (const volatile unsigned char *)from;
    pith_kernel_access(from, bytes, PITH_ACCESS_READ);
    pith_kernel_access(to, bytes, PITH_ACCESS_WRITE);
    if ((uintptr_t)to <= (uintptr_t)from)
        for (size_t i = 0; i < bytes; i++)
            a[i] = b[i];
    else
        for (size_t i = bytes; i-- > 0;)
            a[i] = b[i];
    return to;
}
PITH_ENTRY_ void *pith_entry_set(void *to, int value, size_t bytes) {
    volatile unsigned char *a = (volatile unsigned char *)to;
    pith_kernel_access(to, bytes, PITH_ACCESS_WRITE);
    for (size_t i = 0; i < bytes; i++)
        a[i] = (unsigned char)value;
    return to;
}
PITH_ENTRY_NAME_(memcpy, pith_entry_move)
PITH_ENTRY_NAME_(memmove, pith_entry_move)
PITH_ENTRY_NAME_(memset, pith_entry_set)
PITH_ENTRY_NAME_(__tsan_memcpy, pith_entry_move)
PITH_ENTRY_NAME_(__tsan_memmove, pith_entry_move)
PITH_ENTRY_NAME_(__tsan_memset, pith_entry_set)

/* gcc expands the builtins for blocks of constant size after the pass that adds the calls
 * above. Under their plain names the options of checked files keep them calls. */
#    ifndef __clang__
#        define __builtin_memcpy(to, from, bytes)  pith_entry_move(to, from, bytes)
#        define __builtin_memmove(to, from, bytes) pith_entry_move(to, from, bytes)
#        define __builtin_memset(to, value, bytes) pith_entry_set(to, value, bytes)
#    endif

/* ---- Atomic accesses ---- */

#    define PITH_ENTRY_FETCH_(bits, what)                                                \
        PITH_ENTRY_ uint##bits##_t pith_entry_##bits##_##what(                           \
            uint##bits##_t *p, uint##bits##_t value, int order) {                        \
            (void)order;                                                                 \
            pith_kernel_access(p, sizeof *p, PITH_ACCESS_ATOMIC_UPDATE);                 \
            return __atomic_##what(p, value, __ATOMIC_SEQ_CST);                          \
        }                                                                                \
        PITH_ENTRY_NAME_(__tsan_atomic##bits##_##what, pith_entry_##bits##_##what)
#    define PITH_ENTRY_EXCHANGE_(bits, what)                                             \
        PITH_ENTRY_ int pith_entry_##bits##_##what(                                      \
            uint##bits##_t *p, uint##bits##_t *expected, uint##bits##_t value,           \
            int order, int order_of_failure) {                                           \
            (void)order;                                                                 \
            (void)order_of_failure;                                                      \
            pith_kernel_access(p, sizeof *p, PITH_ACCESS_ATOMIC_UPDATE);                 \
            return __atomic_compare_exchange_n(p, expected, value, 0, __ATOMIC_SEQ_CST,  \
                                               __ATOMIC_SEQ_CST);                        \
        }                                                                                \
        PITH_ENTRY_NAME_(__tsan_atomic##bits##_##what, pith_entry_##bits##_##what)
#    define PITH_ENTRIES_ATOMIC_(bits)                                                   \
        PITH_ENTRY_ uint##bits##_t pith_entry_##bits##_load(const uint##bits##_t *p,     \
                                                            int order) {                 \
            (void)order;                                                                 \
            pith_kernel_access(p, sizeof *p, PITH_ACCESS_ATOMIC_READ);                   \
            return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                 \
        }                                                                                \
        PITH_ENTRY_ void pith_entry_##bits##_store(uint##bits##_t *p,                    \
                                                   uint##bits##_t value, int order) {    \
            (void)order;                                                                 \
            pith_kernel_access(p, sizeof *p, PITH_ACCESS_ATOMIC_UPDATE);                 \
            __atomic_store_n(p, value, __ATOMIC_SEQ_CST);                                \
        }                                                                                \
        PITH_ENTRY_ uint##bits##_t pith_entry_##bits##_exchange(                         \
            uint##bits##_t *p, uint##bits##_t value, int order) {                        \
            (void)order;                                                                 \
            pith_kernel_access(p, sizeof *p, PITH_ACCESS_ATOMIC_UPDATE);                 \
            return __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST);                      \
        }                                                                                \
        PITH_ENTRY_ uint##bits##_t pith_entry_##bits##_compare_exchange_val(             \
            uint##bits##_t *p, uint##bits##_t expected, uint##bits##_t value, int order, \
            int order_of_failure) {                                                      \
            (void)order;                                                                 \
            (void)order_of_failure;                                                      \
            pith_kernel_access(p, sizeof *p, PITH_ACCESS_ATOMIC_UPDATE);                 \
            __atomic_compare_exchange_n(p, &expected, value, 0, __ATOMIC_SEQ_CST,        \
                                        __ATOMIC_SEQ_CST);                               \
            return expected;                                                             \
        }                                                                                \
        PITH_ENTRY_NAME_(__tsan_atomic##bits##_load, pith_entry_##bits##_load)           \
        PITH_ENTRY_NAME_(__tsan_atomic##bits##_store, pith_entry_##bits##_store)         \
        PITH_ENTRY_NAME_(__tsan_atomic##bits##_exchange, pith_entry_##bits##_exchange)   \
        PITH_ENTRY_NAME_(__tsan_atomic##bits##_compare_exchange_val,                     \
                         pith_entry_##bits##_compare_exchange_val)                       \
        PITH_ENTRY_FETCH_(bits, fetch_add)                                               \
        PITH_ENTRY_FETCH_(bits, fetch_sub)                                               \
        PITH_ENTRY_FETCH_(bits, fetch_and)                                               \
        PITH_ENTRY_FETCH_(bits, fetch_or)                                                \
        PITH_ENTRY_FETCH_(bits, fetch_xor)                                               \
        PITH_ENTRY_FETCH_(bits, fetch_nand)                                              \
        PITH_ENTRY_EXCHANGE_(bits, compare_exchange_strong)                              \
        PITH_ENTRY_EXCHANGE_(bits, compare_exchange_weak)
PITH_ENTRIES_ATOMIC_(8)
PITH_ENTRIES_ATOMIC_(16)
PITH_ENTRIES_ATOMIC_(32)
PITH_ENTRIES_ATOMIC_(64)

#    undef PITH_ENTRIES_ATOMIC_
#    undef PITH_ENTRY_EXCHANGE_
#    undef PITH_ENTRY_FETCH_
#    undef PITH_ENTRY_BOTH_
#    undef PITH_ENTRY_WRITE_
#    undef PITH_ENTRY_READ_
#    undef PITH_ENTRY_SIZED_
#    undef PITH_ENTRY_NAME_
#    undef PITH_ENTRY_
#    undef PITH_PLAIN_

#endif

#endif
