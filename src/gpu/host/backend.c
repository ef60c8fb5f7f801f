/* Host backend: device memory is host memory. Work runs when it is enqueued, or with
 * PITH_HOST_ASYNC=1 at the next wait. */
#include "gpu/compile/compile_internal.h"
#include "gpu/gpu_internal.h"
#include "gpu/host/host.h"
#include "gpu/memory/available.h"
#include "gpu/memory/backend_pool.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { COPY_GRAIN = 262144 }; /* bytes worth a thread */

/* ---- Immediate work ---- */

typedef struct {
    char *to;
    const char *from;
} copy_args;

static void copy_loop(const void *args, int64_t begin, int64_t end) {
    const copy_args *a = args;
    memcpy(a->to + begin, a->from + begin, (size_t)(end - begin));
}

void pithp_host_copy(pithp_host *h, void *to, const void *from, size_t bytes) {
    const copy_args args = {to, from};
    pithp_threads_run(h->threads, copy_loop, &args, (int64_t)bytes, COPY_GRAIN);
}

typedef struct {
    void *to;
    uint64_t pattern;
} fill_args;

static void fill_loop_8(const void *args, int64_t begin, int64_t end) {
    const fill_args *a = args;
    unsigned char pattern;
    memcpy(&pattern, &a->pattern, sizeof pattern);
    memset((char *)a->to + begin, pattern, (size_t)(end - begin));
}

#define FILL_LOOP(bits)                                                                  \
    static void fill_loop_##bits(const void *args, int64_t begin, int64_t end) {         \
        const fill_args *a = args;                                                       \
        uint##bits##_t *to = a->to, pattern;                                             \
        memcpy(&pattern, &a->pattern, sizeof pattern);                                   \
        for (int64_t i = begin; i < end; i++)                                            \
            to[i] = pattern;                                                             \
    }
FILL_LOOP(16)
FILL_LOOP(32)
FILL_LOOP(64)

void pithp_host_fill(pithp_host *h,
                     void *to,
                     const void *pattern,
                     size_t width,
                     int64_t count) {
    const pithp_host_loop loop = width == 1   ? fill_loop_8
                                 : width == 2 ? fill_loop_16
                                 : width == 4 ? fill_loop_32
                                              : fill_loop_64;
    fill_args args = {.to = to};
    memcpy(&args.pattern, pattern, width);
    pithp_threads_run(h->threads, loop, &args, count, COPY_GRAIN / (int64_t)width);
}

/* ---- Device and streams ---- */

static pith_status short_of_memory(pithp_error *e, const char *what) {
    pithp_error_set(e, PITH_E_MEMORY, NULL, NULL, "out of memory: no room for %s", what);
    return PITH_E_MEMORY;
}

static void close_host(pithp_device *d) {
    pithp_host *h = d->state;
    if (h->threads)
        pithp_threads_free(h->threads);
    if (h->pool)
        pithp_host_pool_free(h->pool);
    pthread_mutex_destroy(&h->queues);
    pithp_release(d->runtime, h, sizeof *h);
    d->state = NULL;
}

void pithp_host_take_isa(pithp_device *d, pithp_isa isa) {
    d->isa = isa;
    if (d->backend == &pithp_backend_host)
        snprintf(d->name, sizeof d->name, "%s", pithp_host_isa_name(isa));
}

void pithp_host_share_cores(pithp_device *d, int ranks) {
    if (d->backend != &pithp_backend_host)
        return;
    pithp_host *h = d->state;
    if (!h->cores || ranks < 1)
        return;
    d->threads = ranks < h->cores ? h->cores / ranks : 1;
    pithp_threads_use(h->threads, d->threads);
}

static pith_status open_host(pithp_device *d, int ordinal, int threads, pithp_error *e) {
    (void)ordinal;
    pithp_host_settings settings;
    const pith_status rc = pithp_host_settings_read(&settings, threads, e);
    if (rc != PITH_OK)
        return rc;
    pithp_host *h = pithp_allocate(d->runtime, sizeof *h);
    if (!h)
        return short_of_memory(e, "a device");
    memset(h, 0, sizeof *h);
    if (pthread_mutex_init(&h->queues, NULL) != 0) {
        pithp_release(d->runtime, h, sizeof *h);
        return short_of_memory(e, "a lock");
    }
    d->state = h;
    d->threads = settings.threads;
    d->isa = settings.isa;
    d->immediate = !settings.asynchronous;
    d->poison = settings.asynchronous;
    h->asynchronous = settings.asynchronous;
    h->cores = settings.cores;
    h->threads = pithp_threads_make(d->runtime,
                                    h->cores > d->threads ? h->cores : settings.threads);
    if (!d->total)
        d->total = settings.memory;
    h->memory = d->total;
    h->installed = pithp_installed_read("");
    h->pool = pithp_host_pool_make(d->runtime, h->memory ? h->memory : SIZE_MAX);
    if (!h->threads || !h->pool) {
        close_host(d);
        return short_of_memory(e, "threads and memory of the host");
    }
    pithp_threads_use(h->threads, d->threads);
    snprintf(d->name, sizeof d->name, "%s", pithp_host_isa_name(d->isa));
    return PITH_OK;
}

static pith_status stream_open_host(pithp_stream *st, pithp_error *e) {
    if (!pithp_host_of(st)->asynchronous)
        return PITH_OK;
    st->state = pithp_queue_make(st->device->runtime);
    return st->state ? PITH_OK : short_of_memory(e, "a stream");
}

static void stream_close_host(pithp_stream *st) {
    if (st->state)
        pithp_queue_free(st);
}

static pith_status synchronise_host(pithp_stream *st, pithp_error *e) {
    (void)e;
    if (st->state)
        pithp_queue_run(st);
    return PITH_OK;
}

static pith_status wait_for_host(pithp_stream *st, pithp_stream *other, pithp_error *e) {
    if (!st->state || pithp_queue_wait(st, other))
        return PITH_OK;
    return short_of_memory(e, "a wait for another stream");
}

/* ---- Memory ---- */

static void *allocate_host(pithp_stream *st, size_t bytes, pithp_error *e) {
    void *data = pithp_host_pool_take(pithp_host_of(st)->pool, bytes);
    if (!data)
        pithp_error_set(e, PITH_E_MEMORY, NULL, NULL,
                        "out of memory: %zu bytes of device memory", bytes);
    return data;
}

static void release_host(pithp_stream *st, void *data, size_t bytes) {
    if (st->state) {
        if (pithp_queue_release(st, data, bytes))
            return;
        pithp_queue_run(st);
    }
    pithp_host_pool_give(pithp_host_of(st)->pool, data, bytes);
}

/* Memory available in the system, cached: reading it takes longer than most steps, and
 * the value is outdated immediately. */
static size_t available(pithp_host *h) {
    enum { MILLISECONDS = 20 };
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    const int64_t now = (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000 + 1,
                  looked = atomic_load_explicit(&h->looked, memory_order_relaxed);
    if (!looked || now - looked > MILLISECONDS) {
        atomic_store_explicit(&h->available, pithp_available_read(""),
                              memory_order_relaxed);
        atomic_store_explicit(&h->looked, now, memory_order_release);
    }
    return atomic_load_explicit(&h->available, memory_order_relaxed);
}

/* Granted memory is always free for buffers; other processes may use a part of all
 * memory. */
static void memory_host(const pithp_device *d, pith_memory_info *info) {
    pithp_host *h = d->state;
    const size_t held = pithp_host_pool_held(h->pool);
    info->pool = pithp_host_pool_reserved(h->pool);
    info->total = h->memory ? h->memory : h->installed;
    info->free = info->total > held ? info->total - held : 0;
    const size_t left = h->memory ? 0 : available(h); /* 0: unknown */
    if (left && left < info->free)
        info->free = left;
}

static void trim_host(pithp_device *d) {
    const pithp_host *h = d->state;
    pithp_host_pool_trim(h->pool);
}

/* The reuse of the host pool depends only on program order, so it is always
 * reproducible. */
static void set_pool_host(pithp_device *d, size_t keep, bool reproducible) {
    const pithp_host *h = d->state;
    (void)reproducible;
    pithp_host_pool_set_keep(h->pool, keep ? keep : SIZE_MAX);
}

const pithp_pool_ops pithp_pool_ops_host = {.set = set_pool_host};

/* ---- Work ---- */

static pith_status
copy_in_host(pithp_stream *st, void *to, const void *host, size_t bytes, pithp_error *e) {
    if (!st->state)
        pithp_host_copy(pithp_host_of(st), to, host, bytes);
    else if (!pithp_queue_copy_in(st, to, host, bytes))
        return short_of_memory(e, "a copy");
    return PITH_OK;
}

static pith_status copy_out_host(pithp_stream *st,
                                 void *host,
                                 const void *from,
                                 size_t bytes,
                                 pithp_error *e) {
    (void)e;
    if (st->state)
        pithp_queue_run(st);
    pithp_host_copy(pithp_host_of(st), host, from, bytes);
    return PITH_OK;
}

static pith_status
copy_host(pithp_stream *st, void *to, const void *from, size_t bytes, pithp_error *e) {
    if (!st->state)
        pithp_host_copy(pithp_host_of(st), to, from, bytes);
    else if (!pithp_queue_copy(st, to, from, bytes))
        return short_of_memory(e, "a copy");
    return PITH_OK;
}

static pith_status fill_host(pithp_stream *st,
                             void *to,
                             const void *pattern,
                             size_t width,
                             int64_t count,
                             pithp_error *e) {
    if (!st->state)
        pithp_host_fill(pithp_host_of(st), to, pattern, width, count);
    else if (!pithp_queue_fill(st, to, pattern, width, count))
        return short_of_memory(e, "a fill");
    return PITH_OK;
}

static pith_status launch_host(pithp_stream *st, const pithp_launch *l, pithp_error *e) {
    if (!st->state)
        pithp_threads_run(pithp_host_of(st)->threads, pithp_loop_for(l, st->device->isa),
                          l->args, l->count, l->grain ? l->grain : PITHP_GRAIN);
    else if (!pithp_queue_launch(st, l))
        return short_of_memory(e, "a launch");
    return PITH_OK;
}

const pithp_backend pithp_backend_host = {
    .version = PITHP_BACKEND_VERSION,
    .kind = "host",
    .addressable = true,
    .open = open_host,
    .close = close_host,
    .stream_open = stream_open_host,
    .stream_close = stream_close_host,
    .synchronise = synchronise_host,
    .wait_for = wait_for_host,
    .allocate = allocate_host,
    .release = release_host,
    .copy_in = copy_in_host,
    .copy_out = copy_out_host,
    .copy = copy_host,
    .fill = fill_host,
    .launch = launch_host,
    .memory = memory_host,
    .module_load = pithp_library_load,
    .module_unload = pithp_library_unload,
    .module_find = pithp_library_find,
    .trim = trim_host,
};
