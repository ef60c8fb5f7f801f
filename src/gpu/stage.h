/* Tables that the host makes for one launch. */
#ifndef PITH_GPU_STAGE_H
#define PITH_GPU_STAGE_H

#include "gpu/gpu_internal.h"

/* Where work that is enqueued next finds a copy of the host's memory: there itself, where
 * a stream runs what it is given at once; else in a buffer that the caller releases.
 * NULL: error set. */
const void *
pithp_stage(pith_scope *s, const void *host, size_t bytes, pithp_buffer **buffer);

#endif
