/* Within gpu only: the ledger counts every buffer, for the device and for the instance
 * whose scope made it. */
#ifndef PITH_GPU_LEDGER_H
#define PITH_GPU_LEDGER_H

#include "gpu/gpu_internal.h"

/* What one instance holds; guarded by the ledger's lock. */
typedef struct pithp_account {
    bool closed;  /* nobody will look at it again but its buffers */
    size_t owned; /* bytes of its buffers in memory of the device's */
    size_t lent;  /* and in memory of the user's, which no cap counts */
    size_t peak;  /* the most that both ever were */
    size_t total; /* bytes ever counted */
    size_t cap;   /* owned may not grow beyond it */
    int64_t buffers, peak_buffers, total_buffers;
    struct pithp_account *part_of; /* which counts the same buffers; NULL: none. Set
                                      before the account is used */
} pithp_account;

typedef enum pithp_charge {
    PITHP_CHARGED,
    PITHP_DEVICE_FULL, /* the device's total would be exceeded */
    PITHP_CAP_REACHED, /* the account's cap would be */
} pithp_charge;

/* ---- The lock: no other is taken under it, and nothing of a user's is called ---- */

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

/* Whether a charge would fail. */
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

/* One buffer more, of the device's bytes or of lent ones. */
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

/* Count a buffer, or nothing at all. */
static inline pithp_charge
pithp_ledger_charge(pithp_device *d, pithp_account *a, size_t bytes) {
    const pithp_charge charge = pithp_ledger_foresee(d, a, bytes);
    if (PITHP_LIKELY(charge == PITHP_CHARGED))
        pithp_ledger_add(d, a, bytes, 0);
    return charge;
}

/* An instance that was closed goes with the last of its buffers: the lock is let go of
 * meanwhile. */
void pithp_ledger_retire(pithp_device *d, pithp_account *a);

/* One buffer less. */
static inline void
pithp_ledger_remove(pithp_device *d, pithp_account *a, size_t owned, size_t lent) {
    pithp_ledger *l = &d->ledger;
    l->owned -= owned;
    l->lent -= lent;
    l->buffers--;
    while (a) {
        pithp_account *next = a->part_of; /* `a` may go with its last buffer */
        a->owned -= owned;
        a->lent -= lent;
        if (PITHP_UNLIKELY(--a->buffers == 0 && a->closed))
            pithp_ledger_retire(d, a);
        a = next;
    }
}

/* ---- Bytes of the device that a library takes beside buffers; the lock is not held ----
 */

/* Reserved bytes are not available to buffers. False: the total of the device does not
 * leave room for them. */
bool pithp_ledger_reserve(pithp_device *d, size_t bytes);
void pithp_ledger_unreserve(pithp_device *d, size_t bytes);

/* ---- Looking; the lock is not held ---- */

/* Copies at one moment. */
pithp_ledger pithp_ledger_read(const pithp_device *d);
pithp_account pithp_account_read(const pithp_device *d, const pithp_account *a);
/* Bytes that the device's total leaves. */
size_t pithp_ledger_left(const pithp_device *d);
/* Begin to look for a peak from what is live now; what had been the peak. */
size_t pithp_ledger_begin_peak(pithp_device *d);
/* The peak since; the one from before is remembered where it was higher. */
size_t pithp_ledger_end_peak(pithp_device *d, size_t before);

void pithp_account_set_cap(pithp_device *d, pithp_account *a, size_t cap);
void pithp_account_close(pithp_device *d, pithp_account *a);
/* Whether it is closed and counts nothing. */
bool pithp_account_is_done(const pithp_device *d, const pithp_account *a);

#endif
