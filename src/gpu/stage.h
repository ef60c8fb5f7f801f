/* Staging: host tables for one launch. */
#ifndef PITH_GPU_STAGE_H
#define PITH_GPU_STAGE_H

#include "gpu/gpu_internal.h"

/* The address of host data for the next enqueued work. If work runs when it is enqueued,
 * this is the data itself; else a copy in a buffer that the caller releases. NULL sets
 * the error. */
const void *
pithp_stage(pith_scope *s, const void *host, size_t bytes, pithp_buffer **buffer);

#endif
