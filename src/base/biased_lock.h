/* Biased locks: the thread that takes one first owns it. */
#ifndef PITH_BASE_BIASED_LOCK_H
#define PITH_BASE_BIASED_LOCK_H

#include "pith/base.h"

#include "base/macros.h"

#include <stdatomic.h>

/* Held for a few instructions: no other lock is taken under it, and nothing of a user's
 * is called. The thread that takes it first owns it and takes it by plain stores, until
 * another one wants it; from then on all take it by an exchange. Zero is a free one. */
typedef struct pithp_biased_lock {
    atomic_uintptr_t owner; /* a thread, or PITHP_LOCK_... */
    atomic_bool held;       /* by the owner, which alone writes it */
    atomic_bool locked;     /* by any thread, once it is shared */
} pithp_biased_lock;

enum { PITHP_LOCK_NEW, PITHP_LOCK_CHANGING, PITHP_LOCK_SHARED }; /* no threads */

/* What no other thread has: its thread pointer. A variable of each thread would be found
 * by a call in a shared library, or lie where a running program that opens the library
 * has no room for it. */
static inline uintptr_t pithp_thread_self(void) {
#if defined(__x86_64__)
    uintptr_t self;
    __asm__("mov %%fs:0, %0" : "=r"(self));
    return self;
#else
    return (uintptr_t)__builtin_thread_pointer();
#endif
}

/* Between looks at what another thread is about to change. */
static inline void pithp_pause(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

void pithp_biased_lock_wait(
    pithp_biased_lock *b); /* until it was free, and has been taken */
static inline bool pithp_biased_lock_is_own(const pithp_biased_lock *b) {
    return PITHP_LIKELY(atomic_load_explicit(&b->owner, memory_order_acquire) ==
                        pithp_thread_self());
}
static inline void pithp_biased_lock_take(pithp_biased_lock *b) {
    if (pithp_biased_lock_is_own(b)) {
        atomic_store_explicit(&b->held, true, memory_order_relaxed);
        atomic_signal_fence(memory_order_seq_cst);
        if (pithp_biased_lock_is_own(b)) /* who takes that away waits while it is held */
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
