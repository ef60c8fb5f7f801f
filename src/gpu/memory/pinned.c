/* Pinned host memory, limited by a budget, because the system cannot reclaim it. */
#include "gpu/memory/allocation.h"
#include "gpu/memory/host_block.h"

static bool reserve(pithp_memory_manager *m, size_t bytes, pithp_error *e) {
    pthread_mutex_lock(&m->lock);
    const size_t budget = m->pinned_budget, pinned = m->pinned;
    const bool fits = bytes <= budget && pinned <= budget - bytes;
    if (fits)
        m->pinned += bytes;
    pthread_mutex_unlock(&m->lock);
    if (!fits)
        pithp_error_set(e, PITH_E_MEMORY, NULL, NULL,
                        "%zu bytes of pinned memory requested, and %zu of the "
                        "budget of %zu are in use",
                        bytes, pinned, budget);
    return fits;
}

static void cancel(pithp_memory_manager *m, size_t bytes) {
    pthread_mutex_lock(&m->lock);
    m->pinned -= bytes;
    pthread_mutex_unlock(&m->lock);
}

void *pithp_pinned_take(pithp_device *d, size_t bytes, void **mapped, pithp_error *e) {
    if (!reserve(d->memory, bytes, e))
        return NULL;
    void *data = NULL;
    if (d->backend->pin) {
        data = d->backend->pin(d, bytes, mapped, e);
    } else {
        data = pithp_host_block_take(d, bytes);
        *mapped = data;
        if (!data)
            pithp_error_set(e, PITH_E_MEMORY, NULL, NULL,
                            "out of memory: %zu bytes of host memory", bytes);
    }
    if (!data)
        cancel(d->memory, bytes);
    return data;
}

void pithp_pinned_give(pithp_device *d, void *data, size_t bytes) {
    if (d->backend->pin)
        d->backend->unpin(d, data, bytes);
    else
        pithp_host_block_give(d, data, bytes);
    cancel(d->memory, bytes);
}

bool(pith_memory_set_pinned_budget)(pith_scope *s, size_t bytes) {
    if (!pithp_enter_untraced(s, "pith_memory_set_pinned_budget"))
        return false;
    pithp_memory_manager *m = pithp_scope_device(s)->memory;
    pthread_mutex_lock(&m->lock);
    m->pinned_budget = bytes;
    pthread_mutex_unlock(&m->lock);
    return true;
}

size_t pith_memory_pinned(const pith_runtime *rt) {
    pithp_device *d = pithp_runtime_valid(rt) ? pithp_runtime_device(rt) : NULL;
    if (!d)
        return 0;
    pthread_mutex_lock(&d->memory->lock);
    const size_t pinned = d->memory->pinned;
    pthread_mutex_unlock(&d->memory->lock);
    return pinned;
}
