/* Out of memory: what is kept for reuse goes back to the system, then everything is
 * waited for, and one last try is made. The error says what each step returned. */
#include "gpu/memory/ladder.h"

#include "gpu/memory/cache.h"
#include "gpu/memory/manager.h"

static size_t pool_of(const pithp_device *d) {
    pith_memory_info info = {0};
    d->backend->memory(d, &info);
    return info.pool;
}

static void wait_for_all(pithp_device *d) {
    pithp_error e;
    pthread_mutex_lock(&d->lock);
    for (pithp_stream *st = d->streams; st; st = st->next)
        d->backend->synchronise(st, &e); /* a dead device is found by the next try */
    pthread_mutex_unlock(&d->lock);
}

/* Everything that is kept for reuse goes back to the system, after the work that uses it;
 * the bytes that went. */
static size_t trim(pithp_device *d) {
    const size_t before = pool_of(d);
    pthread_mutex_lock(&d->lock);
    for (pithp_stream *st = d->streams; st; st = st->next)
        pithp_cache_trim(st);
    pthread_mutex_unlock(&d->lock);
    wait_for_all(d);
    if (d->backend->trim)
        d->backend->trim(d);
    const size_t after = pool_of(d);
    return before > after ? before - after : 0;
}

static void refuse_cap(pith_scope *s, size_t bytes) {
    pith_instance *i = pithp_scope_instance(s);
    const pithp_account now = pithp_account_read(&i->account);
    pithp_fail(s, PITH_E_MEMORY, NULL,
               "out of memory: %zu bytes asked for, and instance \"%s\" has %zu of its "
               "%zu bytes in use (%g of the device's %zu)",
               bytes, i->name, now.owned, now.cap, pith_instance_proportion(i),
               i->device->total);
}

static void
refuse(pith_scope *s, size_t bytes, const pithp_shortage *why, size_t trimmed) {
    const pithp_device *d = pithp_scope_device(s);
    const bool ledger = why->where == PITHP_SHORT_OF_DEVICE;
    pithp_fail(s, PITH_E_MEMORY, NULL,
               "%s%s%zu bytes asked for by \"%s\", %zu bytes are in use of %zu; waiting "
               "and trimming returned %zu",
               ledger ? "out of memory" : why->error.text, ledger ? ": " : "; ", bytes,
               pithp_scope_instance(s)->name, atomic_load(&d->owned), d->total, trimmed);
}

/* Whether a shortage is of a kind that the next step can help with. */
static bool hopeless(pith_scope *s, size_t bytes, const pithp_shortage *why) {
    if (why->where == PITHP_SHORT_OF_CAP)
        refuse_cap(s, bytes);
    else if (why->where == PITHP_SHORT_OF_HOST)
        pithp_fail(s, PITH_E_MEMORY, NULL, "%s", why->error.text);
    else if (why->where == PITHP_SHORT_OF_BACKEND && why->error.code != PITH_E_MEMORY)
        pithp_fail_device(s, &why->error);
    else
        return false;
    return true;
}

pithp_buffer *pithp_ladder_climb(pith_scope *s, size_t bytes, pithp_shortage *why) {
    pithp_device *d = pithp_scope_device(s);
    if (hopeless(s, bytes, why))
        return NULL;
    const size_t trimmed = trim(d);
    pithp_buffer *b = pithp_buffer_try(s, bytes, why);
    if (!b && !hopeless(s, bytes, why))
        refuse(s, bytes, why, trimmed);
    return b;
}
