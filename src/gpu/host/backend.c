/* The host as a device: its memory is the program's, and work runs when it is enqueued.
 */
#include "gpu/gpu_internal.h"
#include "gpu/host/host.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pith_status open_host(pithp_device *d, int ordinal, int threads, pithp_error *e) {
    (void)ordinal;
    pithp_host_settings settings;
    const pith_status rc = pithp_host_settings_read(&settings, threads, e);
    if (rc != PITH_OK)
        return rc;
    d->threads = settings.threads;
    d->isa = settings.isa;
    d->immediate = true;
    snprintf(d->name, sizeof d->name, "%s", pithp_host_isa_name(d->isa));
    return PITH_OK;
}

static void close_host(pithp_device *d) {
    (void)d;
}

static pith_status stream_open_host(pithp_stream *st, pithp_error *e) {
    (void)st, (void)e;
    return PITH_OK;
}

static void stream_close_host(pithp_stream *st) {
    (void)st;
}

static pith_status synchronise_host(pithp_stream *st, pithp_error *e) {
    (void)st, (void)e;
    return PITH_OK;
}

static pith_status wait_for_host(pithp_stream *st, pithp_stream *other, pithp_error *e) {
    (void)st, (void)other, (void)e;
    return PITH_OK;
}

static void *allocate_host(pithp_stream *st, size_t bytes, pithp_error *e) {
    void *data = pithp_allocate_aligned(st->device->runtime, bytes, PITHP_ALIGNMENT);
    if (!data)
        pithp_error_set(e, PITH_E_MEMORY, NULL, NULL,
                        "out of memory: %zu bytes of device memory", bytes);
    return data;
}

static void release_host(pithp_stream *st, void *data, size_t bytes) {
    pithp_release_aligned(st->device->runtime, data, bytes, PITHP_ALIGNMENT);
}

static pith_status
copy_host(pithp_stream *st, void *to, const void *from, size_t bytes, pithp_error *e) {
    (void)st, (void)e;
    memmove(to, from, bytes);
    return PITH_OK;
}

static pith_status fill_host(pithp_stream *st,
                             void *to,
                             const void *pattern,
                             size_t width,
                             int64_t count,
                             pithp_error *e) {
    (void)st, (void)e;
    for (int64_t i = 0; i < count; i++)
        memcpy((char *)to + (size_t)i * width, pattern, width);
    return PITH_OK;
}

static pith_status launch_host(pithp_stream *st, const pithp_launch *l, pithp_error *e) {
    (void)e;
    pithp_loop_for(l, st->device->isa)(l->args, 0, l->count);
    return PITH_OK;
}

static void memory_host(const pithp_device *d, pith_memory_info *info) {
    (void)d;
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    info->total = pages > 0 && page > 0 ? (size_t)pages * (size_t)page : 0;
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
    .copy_in = copy_host,
    .copy_out = copy_host,
    .copy = copy_host,
    .fill = fill_host,
    .launch = launch_host,
    .memory = memory_host,
};
