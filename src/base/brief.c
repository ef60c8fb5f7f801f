/* Waiting for brief locks. */
#include "base/base_internal.h"

#include <sched.h>

/* A holder is done in a few instructions, unless it has lost its core. */
void pithp_brief_wait(pithp_brief *b) {
    enum { LOOKS = 20 };
    int looks = 0;
    do {
        while (atomic_load_explicit(&b->locked, memory_order_relaxed))
            if (++looks < LOOKS)
                pithp_pause();
            else
                sched_yield();
    } while (atomic_exchange_explicit(&b->locked, true, memory_order_acquire));
}
