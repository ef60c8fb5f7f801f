/* Private interface of gpu: memory ledger, which counts every buffer for the device and
 * for the instance of its scope. */
#ifndef PITH_GPU_LEDGER_H
#define PITH_GPU_LEDGER_H

#include "gpu/gpu_internal.h"

/* Account of one instance; the lock of the ledger guards it. */
typedef struct pithp_account {
    bool closed;  /* only buffers still refer to it */
    size_t owned; /* bytes of its buffers in memory of the device */
    size_t lent;  /* bytes in memory of the user; caps do not count them */
    size_t peak;  /* maximum of owned + lent */
    size_t total; /* sum of all bytes ever charged */
    size_t cap;   /* limit of owned */
    int64_t buffers, peak_buffers, total_buffers;
    struct pithp_account *part_of; /* enclosing account, which counts the same buffers, or
                                      NULL; set before the account is used */
} pithp_account;

typedef enum pithp_charge {
    PITHP_CHARGED,
    PITHP_DEVICE_FULL, /* over the device's total */
    PITHP_CAP_REACHED, /* over the account's cap */
} pithp_charge;

/* ---- Lock: its holder takes no other lock and calls no user code ---- */

static inline void pithp_ledger_lock(pithp_device *d) {
    pithp_biased_lock_take(&d->ledger.lock);
}
static inline void pithp_ledger_unlock(pithp_device *d) {
    pithp_biased_lock_release(&d->ledger.lock);
}

/* ---- Counting; the lock is held ---- */

static inline bool pithp_account_fits(const pithp_account *a, size_t bytes) {
    return bytes <= a->cap && a->owned <= a->cap - bytes;
}

/* The result of a charge, without charging. */
static inline pithp_charge
pithp_ledger_foresee(const pithp_device *d, const pithp_account *a, size_t bytes) {
    const size_t used = d->ledger.owned + d->ledger.reserved;
    if (PITHP_UNLIKELY(bytes > d->total || used > d->total - bytes))
        return PITHP_DEVICE_FULL;
    for (; a; a = a->part_of)
        if (PITHP_UNLIKELY(!pithp_account_fits(a, bytes)))
            return PITHP_CAP_REACHED;
    return PITHP_CHARGED;
}

/* Count one new buffer, with bytes of the device or lent bytes. */
static inline void
pithp_ledger_add(pithp_device *d, pithp_account *a, size_t owned, size_t lent) {
    pithp_ledger *l = &d->ledger;
    l->owned += owned;
    l->lent += lent;
    if (l->owned + l->lent > l->peak)
        l->peak = l->owned + l->lent;
    if (++l->buffers > l->peak_buffers)
        l->peak_buffers = l->buffers;
    for (; a; a = a->part_of) {
        a->owned += owned;
        a->lent += lent;
        a->total += owned + lent;
        a->total_buffers++;
        if (a->owned + a->lent > a->peak)
            a->peak = a->owned + a->lent;
        if (++a->buffers > a->peak_buffers)
            a->peak_buffers = a->buffers;
    }
}

/* Charge a buffer, or nothing at all. */
static inline pithp_charge
pithp_ledger_charge(pithp_device *d, pithp_account *a, size_t bytes) {
    const pithp_charge charge = pithp_ledger_foresee(d, a, bytes);
    if (PITHP_LIKELY(charge == PITHP_CHARGED))
        pithp_ledger_add(d, a, bytes, 0);
    return charge;
}

/* Free a closed instance with its last buffer; unlocks meanwhile. */
void pithp_ledger_retire(pithp_device *d, pithp_account *a);

/* Count one buffer less. */
static inline void
pithp_ledger_remove(pithp_device *d, pithp_account *a, size_t owned, size_t lent) {
    pithp_ledger *l = &d->ledger;
    l->owned -= owned;
    l->lent -= lent;
    l->buffers--;
    while (a) {
        pithp_account *next = a->part_of; /* `a` may be freed with its last buffer */
        a->owned -= owned;
        a->lent -= lent;
        if (PITHP_UNLIKELY(--a->buffers == 0 && a->closed))
            pithp_ledger_retire(d, a);
        a = next;
    }
}

/* ---- Device bytes of libraries besides buffers; the lock is not held ---- */

/* Reserve bytes, which are then not available to buffers. Returns false if the device's
 * total does not allow it. */
bool pithp_ledger_reserve(pithp_device *d, size_t bytes);
void pithp_ledger_unreserve(pithp_device *d, size_t bytes);

/* ---- Queries; the lock is not held ---- */

/* Consistent copies. */
pithp_ledger pithp_ledger_read(const pithp_device *d);
pithp_account pithp_account_read(const pithp_device *d, const pithp_account *a);
/* Bytes left of the device's total. */
size_t pithp_ledger_left(const pithp_device *d);
/* Restart the peak at the live bytes; returns the old peak. */
size_t pithp_ledger_begin_peak(pithp_device *d);
/* The peak since then; restores the old peak if it was higher. */
size_t pithp_ledger_end_peak(pithp_device *d, size_t before);

void pithp_account_set_cap(pithp_device *d, pithp_account *a, size_t cap);
void pithp_account_close(pithp_device *d, pithp_account *a);
/* Whether the account is closed and has no buffers. */
bool pithp_account_is_done(const pithp_device *d, const pithp_account *a);

#endif
