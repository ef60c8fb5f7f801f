/* Memory ledger: exact bytes of buffers, for the device and for instances. Memory is
 * allocated before it is charged, and returned if the charge fails. */
#include "gpu/memory/ledger.h"

#include "gpu/memory/manager.h"

void pithp_ledger_retire(pithp_device *d, pithp_account *a) {
    pithp_ledger_unlock(d);
    pithp_instance_retire(d, a);
    pithp_ledger_lock(d);
}

static pithp_device *writable(const pithp_device *d) {
    return (pithp_device *)(uintptr_t)d;
}

pithp_ledger pithp_ledger_read(const pithp_device *d) {
    const pithp_ledger *l = &d->ledger;
    pithp_ledger_lock(writable(d));
    const pithp_ledger copy = {.owned = l->owned,
                               .lent = l->lent,
                               .reserved = l->reserved,
                               .peak = l->peak,
                               .buffers = l->buffers,
                               .peak_buffers = l->peak_buffers};
    pithp_ledger_unlock(writable(d));
    return copy;
}

bool pithp_ledger_reserve(pithp_device *d, size_t bytes) {
    pithp_ledger_lock(d);
    const bool fits = pithp_ledger_foresee(d, NULL, bytes) == PITHP_CHARGED;
    if (fits)
        d->ledger.reserved += bytes;
    pithp_ledger_unlock(d);
    return fits;
}

void pithp_ledger_unreserve(pithp_device *d, size_t bytes) {
    pithp_ledger_lock(d);
    d->ledger.reserved -= bytes;
    pithp_ledger_unlock(d);
}

size_t pithp_ledger_left(const pithp_device *d) {
    const pithp_ledger now = pithp_ledger_read(d);
    const size_t used = now.owned + now.reserved;
    return used < d->total ? d->total - used : 0;
}

size_t pithp_ledger_begin_peak(pithp_device *d) {
    pithp_ledger *l = &d->ledger;
    pithp_ledger_lock(d);
    const size_t before = l->peak;
    l->peak = l->owned + l->lent;
    pithp_ledger_unlock(d);
    return before;
}

size_t pithp_ledger_end_peak(pithp_device *d, size_t before) {
    pithp_ledger *l = &d->ledger;
    pithp_ledger_lock(d);
    const size_t seen = l->peak;
    if (seen < before)
        l->peak = before;
    pithp_ledger_unlock(d);
    return seen;
}

pithp_account pithp_account_read(const pithp_device *d, const pithp_account *a) {
    pithp_ledger_lock(writable(d));
    const pithp_account copy = *a;
    pithp_ledger_unlock(writable(d));
    return copy;
}

void pithp_account_set_cap(pithp_device *d, pithp_account *a, size_t cap) {
    pithp_ledger_lock(d);
    a->cap = cap;
    pithp_ledger_unlock(d);
}

void pithp_account_close(pithp_device *d, pithp_account *a) {
    pithp_ledger_lock(d);
    a->closed = true;
    a->cap = SIZE_MAX;
    pithp_ledger_unlock(d);
}

bool pithp_account_is_done(const pithp_device *d, const pithp_account *a) {
    const pithp_account now = pithp_account_read(d, a);
    return now.closed && now.buffers == 0;
}
