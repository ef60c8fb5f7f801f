/* Biased locks where the quick way of taking them is not enough. */
#include "base/base_internal.h"
#include "base/membarrier.h"

#include <sched.h>

/* A holder is done in a few instructions, unless it has lost its core. */
static inline void wait_a_little(int *looks) {
    enum { LOOKS = 20 };
    if (++*looks < LOOKS)
        pithp_pause();
    else
        sched_yield();
}

/* From here on it is nobody's own. The owner notes that it holds the lock and then looks
 * whether it is still the owner, with no fence between: all threads pass one here, and
 * an owner that noted it later finds that it has to wait too. */
static void share(pithp_biased_lock *b, uintptr_t owner) {
    int looks = 0;
    if (owner > PITHP_LOCK_SHARED &&
        atomic_compare_exchange_strong(&b->owner, &owner, PITHP_LOCK_CHANGING)) {
        pithp_membarrier_all();
        while (atomic_load_explicit(&b->held, memory_order_acquire))
            wait_a_little(&looks);
        atomic_store_explicit(&b->owner, PITHP_LOCK_SHARED, memory_order_release);
    }
    while (atomic_load_explicit(&b->owner, memory_order_acquire) != PITHP_LOCK_SHARED)
        wait_a_little(&looks);
}

void pithp_biased_lock_wait(pithp_biased_lock *b) {
    uintptr_t owner = PITHP_LOCK_NEW;
    const uintptr_t first =
        pithp_membarrier_possible() ? pithp_thread_self() : PITHP_LOCK_SHARED;
    if (atomic_compare_exchange_strong(&b->owner, &owner, first)) {
        pithp_biased_lock_take(b);
        return;
    }
    int looks = 0;
    share(b, owner);
    while (atomic_exchange_explicit(&b->locked, true, memory_order_acquire))
        while (atomic_load_explicit(&b->locked, memory_order_relaxed))
            wait_a_little(&looks);
}
