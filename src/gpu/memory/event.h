/* Private interface of gpu: log of buffer allocations and releases. */
#ifndef PITH_GPU_EVENT_H
#define PITH_GPU_EVENT_H

#include "gpu/memory/cache.h"
#include "gpu/memory/manager.h"

typedef enum pithp_event { PITHP_EVENT_ALLOCATE, PITHP_EVENT_FREE } pithp_event;

/* Write a line of the log; all members of the buffer must be set. Any thread. */
void pithp_event_write(pithp_device *d, pithp_event what, const pithp_buffer *b);
static inline void
pithp_event_note(pithp_device *d, pithp_event what, const pithp_buffer *b) {
    if (PITHP_UNLIKELY(atomic_load_explicit(&d->memory->events, memory_order_relaxed) !=
                       NULL))
        pithp_event_write(d, what, b);
}
/* When the runtime closes: report buffers still in use, and close the log. */
void pithp_events_close(pithp_device *d);

/* Call sites, in debug builds only. */
#ifdef NDEBUG
static inline void pithp_site_set(pithp_buffer *b, const char *site) {
    (void)b, (void)site;
}
#else
static inline void pithp_site_set(pithp_buffer *b, const char *site) {
    atomic_store_explicit(&pithp_buffer_record_of(b)->site, site, memory_order_relaxed);
}
#endif

#endif
