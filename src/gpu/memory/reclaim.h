/* Reclaiming memory of the device when it is short: caches of the library's own that can
 * be cleared (compiled code, and what goes with it), and the order of what is tried. */
#ifndef PITH_GPU_RECLAIM_H
#define PITH_GPU_RECLAIM_H

#include "gpu/gpu_internal.h"

/* Let go of what nobody uses now. Called from any thread, with no lock held. */
typedef void (*pithp_reclaimer)(pith_runtime *rt);

/* From here on it is called before memory is refused; the same one again is the same. */
void pithp_reclaimer_add(pithp_device *d, pithp_reclaimer reclaimer);
/* Call all; how many there are. */
int pithp_reclaim(pithp_device *d);

/* ---- Within gpu: what is tried when memory is short, before a buffer is refused ---- */

/* Why a buffer could not be had. */
typedef struct pithp_shortage {
    enum {
        PITHP_SHORT_OF_CAP,     /* of the instance */
        PITHP_SHORT_OF_DEVICE,  /* of the device's total, by the ledger */
        PITHP_SHORT_OF_BACKEND, /* error says why */
        PITHP_SHORT_OF_HOST,    /* error says why */
    } where;
    pithp_error error;
} pithp_shortage;

/* A buffer written by work of st and counted for i, or NULL with the reason. */
pithp_buffer *pithp_buffer_try(pithp_stream *st,
                               struct pith_instance *i,
                               size_t bytes,
                               pithp_shortage *why);
/* Everything that is kept for reuse goes back to the system, after the work that uses it;
 * the bytes that went. */
size_t pithp_trim(pithp_device *d);
/* After a first try failed: make room step by step and try again. NULL: why->error says
 * how far that went. No lock is held. */
pithp_buffer *pithp_reclaim_and_try(pithp_stream *st,
                                    struct pith_instance *i,
                                    size_t bytes,
                                    pithp_shortage *why);

#endif
