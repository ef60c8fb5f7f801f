/* Biased lock: the first thread that takes it owns it and locks by plain stores. See K.
 * Russell, D. Detlefs, "Eliminating synchronization-related atomic operations with biased
 * locking and bulk rebiasing" (2006). */
#ifndef PITH_BASE_BIASED_LOCK_H
#define PITH_BASE_BIASED_LOCK_H

#include "pith/base.h"

#include "base/macros.h"

#include <stdatomic.h>

/* A spin lock with bias. It is held for a few instructions: the holder takes no other
 * lock and calls no user code. The first thread owns it and locks by plain stores until
 * another thread wants it. From then on every thread locks by an atomic exchange. A
 * zeroed lock is free. */
typedef struct pithp_biased_lock {
    atomic_uintptr_t owner; /* a thread or PITHP_LOCK_... */
    atomic_bool held;       /* by the owner; only the owner writes it */
    atomic_bool locked;     /* by any thread, after the bias is revoked */
} pithp_biased_lock;

enum { PITHP_LOCK_NEW, PITHP_LOCK_CHANGING, PITHP_LOCK_SHARED }; /* not thread pointers */

/* An identifier of the thread: its thread pointer. A thread-local variable would cost a
 * call in a shared library. In a library opened at run time, static TLS may have no room
 * for it. */
static inline uintptr_t pithp_thread_self(void) {
#if defined(__x86_64__)
    uintptr_t self;
    __asm__("mov %%fs:0, %0" : "=r"(self));
    return self;
#else
    return (uintptr_t)__builtin_thread_pointer();
#endif
}

/* Spin hint for the core while it waits for another thread. */
static inline void pithp_pause(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

void pithp_biased_lock_wait(
    pithp_biased_lock *b); /* slow path: waits and takes the lock */
static inline bool pithp_biased_lock_is_own(const pithp_biased_lock *b) {
    return PITHP_LIKELY(atomic_load_explicit(&b->owner, memory_order_acquire) ==
                        pithp_thread_self());
}
static inline void pithp_biased_lock_take(pithp_biased_lock *b) {
    if (pithp_biased_lock_is_own(b)) {
        atomic_store_explicit(&b->held, true, memory_order_relaxed);
        atomic_signal_fence(memory_order_seq_cst);
        if (pithp_biased_lock_is_own(b)) /* a revoking thread waits while it is held */
            return;
        atomic_store_explicit(&b->held, false, memory_order_release);
    }
    pithp_biased_lock_wait(b);
}
static inline void pithp_biased_lock_release(pithp_biased_lock *b) {
    const bool shared =
        atomic_load_explicit(&b->owner, memory_order_relaxed) == PITHP_LOCK_SHARED;
    atomic_store_explicit(PITHP_UNLIKELY(shared) ? &b->locked : &b->held, false,
                          memory_order_release);
}

#endif
