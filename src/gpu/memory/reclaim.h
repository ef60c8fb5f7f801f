/* Memory reclamation: the library's own caches that can be cleared (of compiled code),
 * and the fallback sequence when device memory is short. */
#ifndef PITH_GPU_RECLAIM_H
#define PITH_GPU_RECLAIM_H

#include "gpu/gpu_internal.h"

/* Free unused entries of a cache. Called from any thread, without locks. */
typedef void (*pithp_reclaimer)(pith_runtime *rt);

/* Register a reclaimer, called before an allocation fails; registering it again has no
 * effect. */
void pithp_reclaimer_add(pithp_device *d, pithp_reclaimer reclaimer);

/* ---- Within gpu: the fallback sequence before an allocation fails ---- */

/* Why an allocation failed. */
typedef struct pithp_shortage {
    enum {
        PITHP_SHORT_OF_CAP,     /* cap of the instance */
        PITHP_SHORT_OF_DEVICE,  /* the device's total, by the ledger */
        PITHP_SHORT_OF_BACKEND, /* error has the reason */
        PITHP_SHORT_OF_HOST,    /* error has the reason */
    } where;
    pithp_error error;
} pithp_shortage;

/* Allocate a buffer for work of st, charged to i. NULL sets *why. */
pithp_buffer *pithp_buffer_try(pithp_stream *st,
                               struct pith_instance *i,
                               size_t bytes,
                               pithp_shortage *why);
/* Return all cached memory to the system, after the work that uses it; returns the
 * bytes. */
size_t pithp_trim(pithp_device *d);
/* After a failed attempt: free memory step by step and try again. NULL: why->error lists
 * the steps. No lock is held. */
pithp_buffer *pithp_reclaim_and_try(pithp_stream *st,
                                    struct pith_instance *i,
                                    size_t bytes,
                                    pithp_shortage *why);

#endif
