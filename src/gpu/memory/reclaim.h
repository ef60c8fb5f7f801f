/* Caches of the library's own that can be cleared when memory of the device is short:
 * compiled code, and what goes with it. */
#ifndef PITH_GPU_RECLAIM_H
#define PITH_GPU_RECLAIM_H

#include "gpu/gpu_internal.h"

/* Let go of what nobody uses now. Called from any thread, with no lock held. */
typedef void (*pithp_reclaimer)(pith_runtime *rt);

/* From here on it is called before memory is refused; the same one again is the same. */
void pithp_reclaimer_add(pithp_device *d, pithp_reclaimer reclaimer);
/* Call all; how many there are. */
int pithp_reclaim(pithp_device *d);

#endif
