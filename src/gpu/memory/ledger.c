/* The ledger: bytes of buffers, exact at every moment, for the device and for instances.
 * Memory is taken before it is counted, and given back where the count refuses it. */
#include "gpu/memory/ledger.h"

#include "gpu/memory/manager.h"

#include <sched.h>

static void lock(pithp_account *a) {
    while (PITHP_UNLIKELY(
        atomic_flag_test_and_set_explicit(&a->locked, memory_order_acquire)))
        sched_yield(); /* a holder that lost its core */
}
static void unlock(pithp_account *a) {
    atomic_flag_clear_explicit(&a->locked, memory_order_release);
}

static bool add_owned(pithp_device *d, size_t bytes) {
    size_t owned = atomic_load_explicit(&d->owned, memory_order_relaxed);
    do {
        if (PITHP_UNLIKELY(bytes > d->total || owned > d->total - bytes))
            return false;
    } while (PITHP_UNLIKELY(!atomic_compare_exchange_weak_explicit(
        &d->owned, &owned, owned + bytes, memory_order_relaxed, memory_order_relaxed)));
    return true;
}

static void note_peak(pithp_device *d) {
    const size_t live = atomic_load_explicit(&d->owned, memory_order_relaxed) +
                        atomic_load_explicit(&d->lent, memory_order_relaxed);
    size_t peak = atomic_load_explicit(&d->peak, memory_order_relaxed);
    while (PITHP_UNLIKELY(live > peak) &&
           !atomic_compare_exchange_weak_explicit(
               &d->peak, &peak, live, memory_order_relaxed, memory_order_relaxed))
        continue;
}

/* The account's lock is held. */
static void note_buffer(pithp_account *a, size_t bytes) {
    a->total += bytes;
    a->total_buffers++;
    if (++a->buffers > a->peak_buffers)
        a->peak_buffers = a->buffers;
    if (a->owned + a->lent > a->peak)
        a->peak = a->owned + a->lent;
}

static bool fits(const pithp_account *a, size_t bytes) {
    return bytes <= a->cap && a->owned <= a->cap - bytes;
}

static bool add_to_account(pithp_account *a, size_t bytes) {
    lock(a);
    const bool fitting = fits(a, bytes);
    if (PITHP_LIKELY(fitting)) {
        a->owned += bytes;
        note_buffer(a, bytes);
    }
    unlock(a);
    return fitting;
}

/* An instance that was closed goes with the last of its buffers. */
static void forget_buffer(pithp_device *d, pithp_account *a) {
    const bool done = --a->buffers == 0 && a->closed;
    unlock(a);
    if (PITHP_UNLIKELY(done))
        pithp_instance_retire(d, a);
}

static void take_from_accounts(pithp_device *d,
                               pithp_account *first,
                               const pithp_account *end,
                               size_t bytes) {
    while (first != end) {
        pithp_account *next = first->part_of; /* it may go with its last buffer */
        lock(first);
        first->owned -= bytes;
        forget_buffer(d, first);
        first = next;
    }
}

pithp_charge pithp_ledger_charge(pithp_device *d, pithp_account *a, size_t bytes) {
    if (PITHP_UNLIKELY(!add_owned(d, bytes)))
        return PITHP_DEVICE_FULL;
    for (pithp_account *at = a; at; at = at->part_of)
        if (PITHP_UNLIKELY(!add_to_account(at, bytes))) {
            take_from_accounts(d, a, at, bytes);
            atomic_fetch_sub_explicit(&d->owned, bytes, memory_order_relaxed);
            return PITHP_CAP_REACHED;
        }
    note_peak(d);
    return PITHP_CHARGED;
}

void pithp_ledger_credit(pithp_device *d, pithp_account *a, size_t bytes) {
    atomic_fetch_sub_explicit(&d->owned, bytes, memory_order_relaxed);
    take_from_accounts(d, a, NULL, bytes);
}

void pithp_ledger_lend(pithp_device *d, pithp_account *a, size_t bytes) {
    atomic_fetch_add_explicit(&d->lent, bytes, memory_order_relaxed);
    for (; a; a = a->part_of) {
        lock(a);
        a->lent += bytes;
        note_buffer(a, bytes);
        unlock(a);
    }
    note_peak(d);
}

void pithp_ledger_unlend(pithp_device *d, pithp_account *a, size_t bytes) {
    atomic_fetch_sub_explicit(&d->lent, bytes, memory_order_relaxed);
    while (a) {
        pithp_account *next = a->part_of;
        lock(a);
        a->lent -= bytes;
        forget_buffer(d, a);
        a = next;
    }
}

pithp_charge pithp_ledger_foresee(const pithp_device *d, pithp_account *a, size_t bytes) {
    if (bytes > pithp_ledger_left(d))
        return PITHP_DEVICE_FULL;
    for (; a; a = a->part_of) {
        lock(a);
        const bool fitting = fits(a, bytes);
        unlock(a);
        if (!fitting)
            return PITHP_CAP_REACHED;
    }
    return PITHP_CHARGED;
}

size_t pithp_ledger_left(const pithp_device *d) {
    const size_t owned = atomic_load_explicit(&d->owned, memory_order_relaxed);
    return owned < d->total ? d->total - owned : 0;
}

pithp_account pithp_account_read(pithp_account *a) {
    lock(a);
    const pithp_account copy = {.closed = a->closed,
                                .owned = a->owned,
                                .lent = a->lent,
                                .peak = a->peak,
                                .total = a->total,
                                .cap = a->cap,
                                .buffers = a->buffers,
                                .peak_buffers = a->peak_buffers,
                                .total_buffers = a->total_buffers};
    unlock(a);
    return copy;
}

void pithp_account_set_cap(pithp_account *a, size_t cap) {
    lock(a);
    a->cap = cap;
    unlock(a);
}

void pithp_account_close(pithp_account *a) {
    lock(a);
    a->closed = true;
    a->cap = SIZE_MAX;
    unlock(a);
}

bool pithp_account_is_done(pithp_account *a) {
    const pithp_account now = pithp_account_read(a);
    return now.closed && now.buffers == 0;
}
