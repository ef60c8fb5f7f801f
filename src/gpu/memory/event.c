/* Memory event log: allocations and releases as CSV, and buffers still in use at the
 * end. */
#include "gpu/memory/event.h"

#include "gpu/device.h"
#include "gpu/memory/manager.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- Comma-separated values ---- */

struct pithp_events {
    FILE *out;
    struct timespec start;
    bool failed;
};

static double seconds_since(const struct timespec *start) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start->tv_sec) +
           1e-9 * (double)(now.tv_nsec - start->tv_nsec);
}

/* Print a quoted field; quotes are doubled (RFC 4180). */
static void print_field(FILE *out, const char *text) {
    putc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            putc('"', out);
        putc(*text, out);
    }
    putc('"', out);
}

void pithp_event_write(pithp_device *d, pithp_event what, const pithp_buffer *b) {
    const pith_instance *i = pithp_instance_named((pith_instance *)b->account);
    const pithp_ledger now = pithp_ledger_read(d);
    const size_t gone = what == PITHP_EVENT_FREE ? b->bytes : 0, /* still counted */
        live = now.owned + now.lent - gone;
    pthread_mutex_lock(&d->memory->log_lock);
    struct pithp_events *log =
        atomic_load_explicit(&d->memory->events, memory_order_relaxed);
    if (log) {
        const double seconds = seconds_since(&log->start);
        const long long whole = (long long)seconds;
        fprintf(log->out, "%lld.%06d,%s,%p,%zu,", whole,
                (int)((seconds - (double)whole) * 1e6),
                what == PITHP_EVENT_FREE ? "free" : "allocate", b->data, b->bytes);
        print_field(log->out, i->name);
        log->failed = fprintf(log->out, ",%zu\n", live) < 0 || log->failed;
    }
    pthread_mutex_unlock(&d->memory->log_lock);
}

/* Replace the log and close the old one. Returns false if a write failed. */
static bool replace_log(pithp_device *d, struct pithp_events *log) {
    pthread_mutex_lock(&d->memory->log_lock);
    struct pithp_events *old = atomic_exchange(&d->memory->events, log);
    pthread_mutex_unlock(&d->memory->log_lock);
    if (!old)
        return true;
    const bool failed = old->failed || ferror(old->out);
    const bool closed = fclose(old->out) == 0;
    pithp_release(d->runtime, old, sizeof *old);
    return closed && !failed;
}

static struct pithp_events *open_log(pith_scope *s, const char *path) {
    struct pithp_events *log = pithp_allocate(s->runtime, sizeof *log);
    if (!log) {
        pithp_fail_memory(s, sizeof *log);
        return NULL;
    }
    *log = (struct pithp_events){.out = fopen(path, "we")};
    if (log->out &&
        fputs("seconds,action,address,bytes,instance,live\n", log->out) >= 0) {
        clock_gettime(CLOCK_MONOTONIC, &log->start);
        return log;
    }
    pithp_fail(s, PITH_E_IO, NULL, "pith_memory_log: %s: %s", path, strerror(errno));
    if (log->out)
        fclose(log->out);
    pithp_release(s->runtime, log, sizeof *log);
    return NULL;
}

bool pith_memory_log(pith_scope *s, const char *path) {
    if (!pithp_enter(s))
        return false;
    struct pithp_events *log = path ? open_log(s, path) : NULL;
    if (path && !log)
        return false;
    if (!replace_log(pithp_scope_device(s), log))
        pithp_fail(s, PITH_E_IO, NULL, "pith_memory_log: a write failed");
    return !pith_failed(s);
}

/* ---- Buffers in use, by call site ---- */

typedef struct {
    const char *site;
    int64_t count;
    size_t bytes;
} held;

typedef struct {
    int64_t count; /* of blocks */
    held sites[256];
    int used;
} held_list;

static void count_held(const pithp_buffer_record *r, void *closure) {
    held_list *l = closure;
    const char *site = "unknown";
#ifndef NDEBUG
    const char *made = atomic_load_explicit(&r->site, memory_order_relaxed);
    site = made ? made : site;
#endif
    int k = 0;
    while (k < l->used && strcmp(l->sites[k].site, site) != 0)
        k++;
    if (k == PITHP_COUNT(l->sites)) {
        k--; /* the last row collects all other sites */
        l->sites[k].site = "elsewhere";
    } else if (k == l->used) {
        l->sites[l->used++] = (held){.site = site};
    }
    l->sites[k].count++;
    l->sites[k].bytes += r->buffer.bytes;
    l->count++;
}

static int by_bytes(const void *a, const void *b) {
    const held *x = a, *y = b;
    return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

static void gather(pithp_device *d, held_list *l) {
    l->count = l->used = 0;
    pithp_cache_each(d, count_held, l);
    qsort(l->sites, (size_t)l->used, sizeof *l->sites, by_bytes);
}

int64_t pith_memory_leaks(pith_runtime *rt, FILE *out) {
    pithp_device *d = pithp_runtime_valid(rt) ? pithp_runtime_device(rt) : NULL;
    held_list l;
    if (!d)
        return 0;
    gather(d, &l);
    for (int k = 0; out && k < l.used; k++)
        fprintf(out, "%zu bytes in %lld blocks made at %s\n", l.sites[k].bytes,
                (long long)l.sites[k].count, l.sites[k].site);
    return l.count;
}

void pithp_events_close(pithp_device *d) {
#ifndef NDEBUG
    held_list l;
    gather(d, &l);
    for (int k = 0; k < l.used; k++)
        pithp_log(d->runtime, PITH_LOG_INFO,
                  "not freed: %zu bytes in %lld blocks made at %s", l.sites[k].bytes,
                  (long long)l.sites[k].count, l.sites[k].site);
#endif
    replace_log(d, NULL);
}
