/* Runtimes: selection of the backend, opening and closing. If opening fails, the runtime
 * still exists and its scopes carry the reason. */
#include "base/environment.h"
#include "gpu/compile/background.h"
#include "gpu/device.h"
#include "gpu/gpu_internal.h"
#include "gpu/inspect.h"
#include "gpu/memory/allocator.h"
#include "gpu/memory/event.h"
#include "gpu/memory/manager.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *checked_options(const pith_open_options *options) {
    if (options->threads < 0)
        return "pith_open: threads is negative";
    const pith_allocator *a = options->allocator;
    if (a && (!a->allocate || !a->release))
        return "pith_open: the allocator lacks a function";
    return NULL;
}

static bool backend_complete(const pithp_backend *b) {
    return b->version == PITHP_BACKEND_VERSION && b->kind && b->open && b->close &&
           b->stream_open && b->stream_close && b->synchronise && b->wait_for &&
           b->allocate && b->release && b->copy_in && b->copy_out && b->copy && b->fill &&
           b->launch && b->memory && b->module_load && b->module_unload && b->module_find;
}

/* The room's last hook: no scope is open, and the rooms above are closed. */
static void runtime_closing(pith_runtime *rt) {
    pithp_device *d = pithp_runtime_device(rt);
    pithp_background_close(d);
    pithp_compiler_close(d);
    pithp_events_close(d);
    pithp_memory_close(d);
    pithp_streams_close(d);
    d->backend->close(d);
    pthread_mutex_destroy(&d->lock);
    pithp_release(rt, d, sizeof *d);
    rt->room[PITHP_ROOM_GPU] = NULL;
}

static void threads_joining(pith_runtime *rt) {
    pithp_background_join(pithp_runtime_device(rt));
}

static const pithp_room_hooks hooks = {
    .root_opened = pithp_stream_attach,
    .scope_closing = pithp_stream_detach,
    .runtime_closing = runtime_closing,
    .threads_joining = threads_joining,
};

/* Give the runtime a device of a backend. */
static pith_status open_device(pith_runtime *rt,
                               const pithp_backend *backend,
                               int ordinal,
                               const pith_open_options *options,
                               pithp_error *e) {
    if (!backend_complete(backend)) {
        pithp_error_set(e, PITH_E_INTERNAL, NULL, NULL,
                        "the backend table is incomplete");
        return PITH_E_INTERNAL;
    }
    pithp_device *d = pithp_allocate(rt, sizeof *d);
    if (!d) {
        pithp_error_set(e, PITH_E_MEMORY, NULL, NULL,
                        "out of memory: no room for a device");
        return PITH_E_MEMORY;
    }
    memset(d, 0, sizeof *d);
    d->backend = backend;
    d->runtime = rt;
    d->ordinal = ordinal;
    d->total = options->memory;
    pith_status rc = backend->open(d, ordinal, options->threads, e);
    if (rc == PITH_OK && pthread_mutex_init(&d->lock, NULL) != 0) {
        backend->close(d);
        pithp_error_set(e, PITH_E_MEMORY, NULL, NULL,
                        "out of memory: no room for a lock");
        rc = PITH_E_MEMORY;
    } else if (rc == PITH_OK && pithp_memory_open(d, e) != PITH_OK) {
        pthread_mutex_destroy(&d->lock);
        backend->close(d);
        rc = e->code;
    }
    if (rc != PITH_OK) {
        pithp_release(rt, d, sizeof *d);
        return rc;
    }
    pith_memory_info info = {0};
    backend->memory(d, &info);
    if (!d->total || d->total > info.total)
        d->total = info.total;
    if (d->immediate && !(d->cache = pithp_cache_make(d))) {
        pithp_memory_close(d);
        pthread_mutex_destroy(&d->lock);
        backend->close(d);
        pithp_release(rt, d, sizeof *d);
        pithp_error_set(e, PITH_E_MEMORY, NULL, NULL,
                        "out of memory: no room for the buffer cache");
        return PITH_E_MEMORY;
    }
    rt->room[PITHP_ROOM_GPU] = d;
    pithp_room_hook(rt, PITHP_ROOM_GPU, &hooks);
    return PITH_OK;
}

static pith_runtime *create(const pith_open_options *options) {
    const char *mistake = checked_options(options);
    pith_runtime *rt = pithp_runtime_create(mistake ? NULL : options->allocator);
    if (options->log)
        pith_set_log_hook(rt, options->log, options->log_closure);
    else
        pithp_log_default(rt);
    if (pithp_runtime_valid(rt) && options->silent_checks)
        rt->silent_checks = true;
    if (mistake)
        pithp_runtime_fail(rt, PITH_E_ARG, "%s", mistake);
    return rt;
}

pith_runtime *pithp_open_backend(const pithp_backend *backend,
                                 int ordinal,
                                 const pith_open_options *options) {
    const pith_open_options none = {0};
    options = options ? options : &none;
    pith_runtime *rt = create(options);
    pithp_error e;
    if (pith_runtime_code(rt) == PITH_OK &&
        open_device(rt, backend, ordinal, options, &e) != PITH_OK)
        pithp_runtime_fail(rt, e.code, "%s", e.text);
    return rt;
}

/* Parse "host", "cuda" or "cuda:1"; *backend is NULL for a backend that was not built,
 * *ordinal -1 where the name has none. */
static bool parse_device(const char *name, const pithp_backend **backend, int *ordinal) {
    *ordinal = 0;
    if (strcmp(name, "host") == 0) {
        *backend = &pithp_backend_host;
        return true;
    }
    *backend = pithp_backend_cuda;
    *ordinal = -1;
    if (strcmp(name, "cuda") == 0)
        return true;
    if (strncmp(name, "cuda:", 5) != 0 || name[5] < '0' || name[5] > '9')
        return false;
    char *end = NULL;
    const long number = strtol(name + 5, &end, 10);
    *ordinal = (int)number;
    return *end == 0 && number <= 1023;
}

static void
open_named(pith_runtime *rt, const char *name, const pith_open_options *options) {
    const pithp_backend *backend = NULL;
    int ordinal = 0;
    pithp_error e;
    if (!parse_device(name, &backend, &ordinal))
        pithp_runtime_fail(rt, PITH_E_ARG,
                           "pith_open: device \"%.40s\", expected host, cuda or cuda:N",
                           name);
    else if (!backend)
        pithp_runtime_fail(rt, PITH_E_UNSUPPORTED,
                           "device %.40s: pith was built without CUDA", name);
    else if (backend == pithp_backend_cuda && pithp_secure_execution())
        pithp_runtime_fail(rt, PITH_E_UNSUPPORTED,
                           "device %.40s needs run-time compilation; %s", name,
                           pithp_secure_reason);
    else if (open_device(rt, backend, ordinal, options, &e) != PITH_OK)
        pithp_runtime_fail(rt, e.code, "device %.40s: %s", name, e.text);
}

static void open_best(pith_runtime *rt, const pith_open_options *options) {
    pithp_error e;
    if (pithp_backend_cuda && !pithp_secure_execution()) {
        const pith_status rc = open_device(rt, pithp_backend_cuda, -1, options, &e);
        if (rc == PITH_OK)
            return;
        if (rc != PITH_E_UNSUPPORTED) { /* a device exists but does not work */
            pithp_runtime_fail(rt, e.code, "device cuda: %s", e.text);
            return;
        }
        pithp_log(rt, PITH_LOG_INFO, "no CUDA device, using the host: %s", e.text);
    }
    if (open_device(rt, &pithp_backend_host, 0, options, &e) != PITH_OK)
        pithp_runtime_fail(rt, e.code, "device host: %s", e.text);
}

/* Other code reads these variables later; invalid words are reported here. Also logs
 * whether the environment is ignored. */
static void check_environment(pith_runtime *rt) {
    static const struct {
        const char *variable, *words[4], *expected;
    } rows[] = {
        {"PITH_JIT", {"async", "wait", "off", "eager"}, "async, wait, off or eager"},
        {"PITH_CUDA_GRAPH", {"on", "drive", "off"}, "on, drive or off"},
        {"PITH_CUBLAS", {"on", "off"}, "on or off"},
        {"PITH_NCCL", {"on", "off"}, "on or off"},
    };
    if (pithp_secure_execution())
        pithp_log(rt, PITH_LOG_WARNING, "%s", pithp_secure_reason);
    for (int i = 0; i < PITHP_COUNT(rows); i++) {
        const char *set = pithp_environment(rows[i].variable);
        bool known = !set || !set[0];
        for (int k = 0; k < PITHP_COUNT(rows[i].words) && !known; k++)
            known = rows[i].words[k] && strcmp(set, rows[i].words[k]) == 0;
        if (!known)
            pithp_runtime_fail(rt, PITH_E_ARG, "%s is \"%.40s\", expected %s",
                               rows[i].variable, set, rows[i].expected);
    }
    pithp_error e;
    if (pithp_inspect_check(&e) != PITH_OK)
        pithp_runtime_fail(rt, e.code, "%s", e.text);
}

pith_runtime *pith_open(const pith_open_options *options) {
    const pith_open_options none = {0};
    options = options ? options : &none;
    pith_runtime *rt = create(options);
    check_environment(rt);
    if (pith_runtime_code(rt) != PITH_OK)
        return rt;
    const char *name =
        options->device ? options->device : pithp_environment("PITH_DEVICE");
    if (name && (name[0] || options->device))
        open_named(rt, name, options);
    else
        open_best(rt, options);
    return rt;
}

void pith_close(pith_runtime *rt) {
    pithp_runtime_destroy(rt);
}

pith_status pithp_fail_device(pith_scope *s, const pithp_error *e) {
    if (e->code == PITH_E_DEVICE) {
        atomic_store(&pithp_scope_device(s)->dead, true);
        pithp_runtime_fail(s->runtime, PITH_E_DEVICE, "the device is dead: %s", e->text);
    }
    return pithp_fail(s, e->code, NULL, "%s", e->text);
}

/* ---- Queries ---- */

static const pithp_device *device_of(const pith_runtime *rt) {
    return pithp_runtime_valid(rt) ? pithp_runtime_device(rt) : NULL;
}

pith_status pith_runtime_code(const pith_runtime *rt) {
    if (!pithp_runtime_valid(rt))
        return PITH_E_ARG;
    return atomic_load_explicit(&rt->failed, memory_order_acquire) ? rt->error.code
                                                                   : PITH_OK;
}

const char *pith_runtime_message(const pith_runtime *rt) {
    if (!pithp_runtime_valid(rt))
        return "closed, or not a runtime";
    return pith_runtime_code(rt) == PITH_OK ? "" : rt->error.message;
}

const char *pith_device_kind(const pith_runtime *rt) {
    const pithp_device *d = device_of(rt);
    return d ? d->backend->kind : "none";
}

const char *pith_device_name(const pith_runtime *rt) {
    const pithp_device *d = device_of(rt);
    return d ? d->name : "";
}

int pith_device_threads(const pith_runtime *rt) {
    const pithp_device *d = device_of(rt);
    return d ? d->threads : 0;
}

pith_memory_info pith_memory_about(const pith_runtime *rt) {
    pith_memory_info info = {0};
    const pithp_device *d = device_of(rt);
    if (!d)
        return info;
    d->backend->memory(d, &info);
    pithp_allocator_info((pithp_device *)(uintptr_t)d, &info);
    const pithp_ledger now = pithp_ledger_read(d);
    const size_t used = now.owned + now.reserved;
    const size_t left = used < d->total ? d->total - used : 0;
    info.live = now.owned + now.lent;
    info.peak = now.peak;
    info.live_count = now.buffers;
    info.peak_count = now.peak_buffers;
    info.pool = info.pool > now.owned ? info.pool - now.owned : 0;
    info.free = info.free < SIZE_MAX - info.pool ? info.free + info.pool : SIZE_MAX;
    info.free = info.free < left ? info.free : left;
    info.total = d->total;
    return info;
}
