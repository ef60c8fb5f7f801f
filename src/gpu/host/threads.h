/* Threads that share the work of launches on the host. */
#ifndef PITH_GPU_HOST_THREADS_H
#define PITH_GPU_HOST_THREADS_H

#include "gpu/gpu_internal.h"

#include <sched.h>

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
/* The number of workers that sleep and that no launch has signalled since. */
int pithp_threads_asleep(const pithp_threads *t);

/* ---- Rules, apart so that tests can give the times and processors ---- */

/* Launches that the caller ran alone while all workers slept, in ns. */
typedef struct pithp_alone {
    int64_t spent;      /* in launches in quick succession */
    int64_t begin, end; /* of the latest launch */
} pithp_alone;
/* Whether a small launch that begins at this time runs on the caller alone: waking a
 * worker would not have paid yet. If so, pithp_alone_end follows it. */
bool pithp_alone_begin(pithp_alone *a, int64_t time);
void pithp_alone_end(pithp_alone *a, int64_t time);
/* The processors of `allowed` without `one`; false if it is unknown (negative) or the
 * only one. */
bool pithp_processors_without(cpu_set_t *others, const cpu_set_t *allowed, int one);

#endif
