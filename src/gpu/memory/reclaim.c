/* Out-of-memory handling: trim caches, evict idle instances, clear caches of compiled
 * code, wait for all work, and try once more. The error lists the bytes that each step
 * freed. */
#include "gpu/memory/reclaim.h"

#include "gpu/device.h"
#include "gpu/memory/allocator.h"
#include "gpu/memory/cache.h"
#include "gpu/memory/host_block.h"
#include "gpu/memory/manager.h"

#include <stdio.h>
#include <string.h>

/* ---- Caches of the library ---- */

void pithp_reclaimer_add(pithp_device *d, pithp_reclaimer reclaimer) {
    pithp_memory_manager *m = d->memory;
    int k = 0;
    pthread_mutex_lock(&m->lock);
    while (k < PITHP_COUNT(m->reclaimers) && m->reclaimers[k] &&
           m->reclaimers[k] != reclaimer)
        k++;
    PITH_ASSERT(k < PITHP_COUNT(m->reclaimers));
    if (k < PITHP_COUNT(m->reclaimers))
        m->reclaimers[k] = reclaimer;
    pthread_mutex_unlock(&m->lock);
}

/* Call all reclaimers; returns their number. */
static int call_reclaimers(pithp_device *d) {
    pithp_reclaimer all[PITHP_COUNT(d->memory->reclaimers)];
    int count = 0;
    pthread_mutex_lock(&d->memory->lock);
    memcpy(all, d->memory->reclaimers, sizeof all);
    pthread_mutex_unlock(&d->memory->lock);
    /* Two rounds: a cache may hold the last reference to an entry of another. */
    for (int turn = 0; turn < 2; turn++)
        for (count = 0; count < PITHP_COUNT(all) && all[count]; count++)
            all[count](d->runtime);
    return count;
}

/* ---- Steps ---- */

static size_t pool_of(const pithp_device *d) {
    pith_memory_info info = {0};
    d->backend->memory(d, &info);
    return info.pool;
}

static void wait_for_all(pithp_device *d) {
    pithp_error e;
    for (pithp_stream *st = pithp_streams_first(d); st; st = st->next)
        d->backend->synchronise(st, &e); /* the next attempt detects a dead device */
}

/* No lock is held, because user functions may get memory back. */
size_t pithp_trim(pithp_device *d) {
    const size_t before = pool_of(d);
    pithp_caches_trim(d);
    struct pithp_allocator *dead = pithp_allocators_take_dead(d);
    wait_for_all(d);
    pithp_allocators_free(dead);
    if (d->backend->trim)
        d->backend->trim(d);
    pithp_host_blocks_trim(d);
    const size_t after = pool_of(d);
    return before > after ? before - after : 0;
}

static void refuse_cap(pith_instance *part, size_t bytes, pithp_error *e) {
    pith_instance *i = pithp_instance_named(part);
    const pithp_account now = pithp_account_read(i->device, &i->account);
    pithp_error_set(e, PITH_E_MEMORY, NULL, NULL,
                    "out of memory: %zu bytes requested, and instance \"%s\" "
                    "has %zu of its %zu bytes in use (%g of the device's %zu)",
                    bytes, i->name, now.owned, now.cap, pith_instance_proportion(i),
                    i->device->total);
}

/* Bytes that the steps freed. */
typedef struct {
    size_t trimmed, evicted, trimmed_again;
    int instances, caches;
} reclaimed;

static void
refuse(pith_instance *part, size_t bytes, pithp_shortage *why, const reclaimed *c) {
    const pith_instance *i = pithp_instance_named(part);
    const pithp_device *d = i->device;
    const bool ledger = why->where == PITHP_SHORT_OF_DEVICE;
    char text[PITHP_MESSAGE_BYTES];
    snprintf(text, sizeof text, "%s", ledger ? "out of memory: " : why->error.text);
    pithp_error_set(&why->error, PITH_E_MEMORY, NULL, NULL,
                    "%.500s%s%zu bytes requested by \"%s\", %zu bytes are in "
                    "use of %zu; waiting and trimming returned %zu, evicting "
                    "%d idle instances freed %zu, waiting and trimming again "
                    "%zu; %d caches of compiled code were cleared",
                    text, ledger ? "" : "; ", bytes, i->name,
                    d->total - pithp_ledger_left(d), d->total, c->trimmed, c->instances,
                    c->evicted, c->trimmed_again, c->caches);
}

/* Whether no step can help; sets the error then. */
static bool hopeless(pith_instance *i, size_t bytes, pithp_shortage *why) {
    if (why->where == PITHP_SHORT_OF_CAP)
        refuse_cap(i, bytes, &why->error);
    return why->where == PITHP_SHORT_OF_CAP || why->where == PITHP_SHORT_OF_HOST ||
           (why->where == PITHP_SHORT_OF_BACKEND && why->error.code != PITH_E_MEMORY);
}

pithp_buffer *pithp_reclaim_and_try(pithp_stream *st,
                                    struct pith_instance *i,
                                    size_t bytes,
                                    pithp_shortage *why) {
    pithp_device *d = st->device;
    reclaimed c = {0};
    bool cleared = false;
    if (hopeless(i, bytes, why))
        return NULL;
    c.trimmed = pithp_trim(d);
    pithp_buffer *b = pithp_buffer_try(st, i, bytes, why);
    const uint64_t clearing = pithp_clearing_begin(d);
    while (!b && !hopeless(i, bytes, why)) {
        bool more = bytes <= d->total && pithp_evict_one(d, clearing, &c.evicted);
        c.instances += more;
        if (!more && !cleared && bytes <= d->total) {
            c.caches = call_reclaimers(d);
            more = c.caches > 0;
            cleared = true;
        }
        if (!more) {
            refuse(i, bytes, why, &c);
            return NULL;
        }
        c.trimmed_again += pithp_trim(d);
        b = pithp_buffer_try(st, i, bytes, why);
    }
    return b;
}
