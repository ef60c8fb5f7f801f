/* Private interface of the host backend. */
#ifndef PITH_GPU_HOST_H
#define PITH_GPU_HOST_H

#include "gpu/gpu_internal.h"
#include "gpu/host/threads.h"
#include "gpu/memory/host_pool.h"

/* ---- Settings ---- */

/* Settings of the host from options and environment. */
typedef struct pithp_host_settings {
    int threads;
    int cores; /* of the process, which threads follow; 0: they were asked for */
    pithp_isa isa;
    bool asynchronous;
    size_t memory; /* bytes; 0: no limit */
} pithp_host_settings;

/* Read PITH_THREADS (if threads is 0), PITH_ISA, PITH_HOST_MEMORY and PITH_HOST_ASYNC. An
 * invalid value is an error. */
pith_status
pithp_host_settings_read(pithp_host_settings *settings, int threads, pithp_error *e);
/* "x86-64-v3", "aarch64" */
const char *pithp_host_isa_name(pithp_isa isa);

/* ---- The device ---- */

/* State of a device. */
typedef struct pithp_host {
    pithp_threads *threads;
    int cores; /* see pithp_host_settings */
    pithp_host_pool *pool;
    size_t memory;               /* granted; 0: no limit */
    size_t installed;            /* memory of the machine */
    atomic_size_t available;     /* of it, when last read */
    atomic_int_least64_t looked; /* time of the last read, in milliseconds; 0: never */
    bool asynchronous;
    pthread_mutex_t queues; /* guards the queues of all streams and their execution */
} pithp_host;

static inline pithp_host *pithp_host_of(const pithp_stream *st) {
    return st->device->state;
}

/* Immediate work. */
void pithp_host_copy(pithp_host *h, void *to, const void *from, size_t bytes);
void pithp_host_fill(pithp_host *h,
                     void *to,
                     const void *pattern,
                     size_t width,
                     int64_t count);

/* ---- Queues: work deferred to the next wait (PITH_HOST_ASYNC=1) ---- */

typedef struct pithp_queue pithp_queue; /* state of a stream */

pithp_queue *pithp_queue_make(pith_runtime *rt); /* NULL if memory is short */
/* Runs the remaining work first. */
void pithp_queue_free(pithp_stream *st);
void pithp_queue_run(pithp_stream *st);
/* Each returns false if memory is short. */
bool pithp_queue_launch(pithp_stream *st, const pithp_launch *l);
bool pithp_queue_copy(pithp_stream *st, void *to, const void *from, size_t bytes);
bool pithp_queue_copy_in(pithp_stream *st, void *to, const void *host, size_t bytes);
bool pithp_queue_fill(pithp_stream *st,
                      void *to,
                      const void *pattern,
                      size_t width,
                      int64_t count);
bool pithp_queue_wait(pithp_stream *st, pithp_stream *other);
bool pithp_queue_release(pithp_stream *st, void *data, size_t bytes);

#endif
