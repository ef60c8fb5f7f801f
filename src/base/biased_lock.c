/* Biased locks, slow path: the first lock by a thread, revocation of the bias, and
 * contention. */
#include "base/base_internal.h"
#include "base/membarrier.h"

#include <sched.h>

/* A holder is done in a few instructions, unless it is descheduled. */
static inline void back_off(int *looks) {
    enum { LOOKS = 20 };
    if (++*looks < LOOKS)
        pithp_pause();
    else
        sched_yield();
}

/* Revoke the bias. The owner stores `held` and then reads `owner` again, without a fence
 * between. The membarrier puts a fence in every thread: an owner that stores `held` after
 * it sees the change and waits too. */
static void revoke_bias(pithp_biased_lock *b, uintptr_t owner) {
    int looks = 0;
    if (owner > PITHP_LOCK_SHARED &&
        atomic_compare_exchange_strong(&b->owner, &owner, PITHP_LOCK_CHANGING)) {
        pithp_membarrier_all();
        while (atomic_load_explicit(&b->held, memory_order_acquire))
            back_off(&looks);
        atomic_store_explicit(&b->owner, PITHP_LOCK_SHARED, memory_order_release);
    }
    while (atomic_load_explicit(&b->owner, memory_order_acquire) != PITHP_LOCK_SHARED)
        back_off(&looks);
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
    revoke_bias(b, owner);
    while (atomic_exchange_explicit(&b->locked, true, memory_order_acquire))
        while (atomic_load_explicit(&b->locked, memory_order_relaxed))
            back_off(&looks);
}
