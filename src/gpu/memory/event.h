/* Within gpu only: what is noted of every buffer that comes and goes. */
#ifndef PITH_GPU_EVENT_H
#define PITH_GPU_EVENT_H

#include "gpu/memory/cache.h"
#include "gpu/memory/manager.h"

typedef enum pithp_event { PITHP_EVENT_ALLOCATE, PITHP_EVENT_FREE } pithp_event;

/* Write a line of the log; the buffer is whole. Any thread. */
void pithp_event_write(pithp_device *d, pithp_event what, const pithp_buffer *b);
static inline void
pithp_event_note(pithp_device *d, pithp_event what, const pithp_buffer *b) {
    if (PITHP_UNLIKELY(atomic_load_explicit(&d->memory->events, memory_order_relaxed) !=
                       NULL))
        pithp_event_write(d, what, b);
}
/* The runtime closes: what is left is told, and the log is closed. */
void pithp_events_close(pithp_device *d);

/* Places in the program, of debug builds. */
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
