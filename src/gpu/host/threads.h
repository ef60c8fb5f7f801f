/* Threads that share the work of launches on the host. */
#ifndef PITH_GPU_HOST_THREADS_H
#define PITH_GPU_HOST_THREADS_H

#include "gpu/gpu_internal.h"

typedef struct pithp_threads pithp_threads;

/* For `count` threads, the caller's among them; they start with the first work that is
 * worth it. NULL when memory is short. */
pithp_threads *pithp_threads_make(pith_runtime *rt, int count);
/* No work may be running. */
void pithp_threads_free(pithp_threads *t);
/* Run loop over 0..count in ranges, on as many threads as the work is worth: one for each
 * `grain` indices. Returns when all is done. Any thread; while one is served, the others
 * do their work alone. */
void pithp_threads_run(pithp_threads *t,
                       pithp_host_loop loop,
                       const void *args,
                       int64_t count,
                       int64_t grain);

#endif
