/* Thread pool: shares the work of host launches. */
#ifndef PITH_GPU_HOST_THREADS_H
#define PITH_GPU_HOST_THREADS_H

#include "gpu/gpu_internal.h"

#include <sched.h>

typedef struct pithp_threads pithp_threads;

/* Make a pool of `count` threads, including the caller's. Workers start with the first
 * launch that is large enough. NULL if memory is short. */
pithp_threads *pithp_threads_make(pith_runtime *rt, int count);
/* Use `count` threads from here on, at most those that the pool was made with. Waits for
 * running work. */
void pithp_threads_use(pithp_threads *t, int count);
/* No work may be running. */
void pithp_threads_free(pithp_threads *t);
/* Run loop over 0..count in ranges, on one thread per `grain` indices at most. Returns
 * when all is done. Any thread; concurrent callers run their work alone. */
void pithp_threads_run(pithp_threads *t,
                       pithp_host_loop loop,
                       const void *args,
                       int64_t count,
                       int64_t grain);
/* Number of workers asleep and not yet signalled by a launch. */
int pithp_threads_asleep(const pithp_threads *t);

/* ---- Scheduling rules, with times and processors as arguments for tests ---- */

/* Work that the caller ran alone while all workers slept, in ns. */
typedef struct pithp_alone {
    int64_t spent;      /* total of launches in quick succession */
    int64_t begin, end; /* of the last launch */
} pithp_alone;
/* Whether a small launch at this time runs on the caller alone, because waking a worker
 * does not pay yet. If so, pithp_alone_end follows. */
bool pithp_alone_begin(pithp_alone *a, int64_t time);
void pithp_alone_end(pithp_alone *a, int64_t time);
/* The processors of `allowed` without `one`; false if it is unknown (negative) or the
 * only one. */
bool pithp_processors_without(cpu_set_t *others, const cpu_set_t *allowed, int one);

#endif
