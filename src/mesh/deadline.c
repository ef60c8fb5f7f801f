/* Deadlines of the waits in which ranks cannot watch each other (watch.c): the start of
 * an engine, before ranks share memory, and its end, after they do. A thread ends this
 * process, and with it the job, if the other processes do not come. */
#include "mesh/world.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    PERIOD_MS = 100,
    LOOK_MS = 500,    /* at processes that have not come */
    ENGINE_MS = 3000, /* of an engine that waits for no process */
    REPORT_MS = 200,  /* of the others, which wait for the same */
};

/* gone: a process has ended. */
static void give_up(const pithp_deadline *d, int64_t waited_ms, bool gone) {
    char line[400], rank[32] = "", size[32] = "", site[200] = "";
    if (d->rank >= 0)
        snprintf(rank, sizeof rank, "rank %" PRId64 ": ", d->rank);
    if (d->size > 0)
        snprintf(size, sizeof size, " %" PRId64, d->size);
    if (d->site)
        snprintf(site, sizeof site, " (%.190s)", pithp_site_name(d->site));
    const int n = snprintf(line, sizeof line,
                           "pith: %swaits in %s%s, %.0f s: not all%s processes of the "
                           "job have come there%s\n",
                           rank, d->operation, site, (double)waited_ms * 1e-3, size,
                           gone ? ", and one has ended" : "");
    if (write(STDERR_FILENO, line, (size_t)n) >= 0)
        poll(NULL, 0, REPORT_MS);
    d->transport->end(NULL, PITHP_END_CODE);
}

/* Periods are counted: while a process is suspended it does not wait. */
static void *watch(void *closure) {
    const pithp_deadline *d = closure;
    struct pollfd wake = {.fd = d->wake, .events = POLLIN};
    pithp_started started = {0};
    int64_t waited_ms = 0;
    if (d->job)
        pithp_started_begin(&started, d->job);
    for (; poll(&wake, 1, PERIOD_MS) <= 0; waited_ms += PERIOD_MS) {
        const bool gone =
                       waited_ms % LOOK_MS == 0 && pithp_started_lost(&started, LOOK_MS),
                   late = d->timeout_ns >= 0 &&
                          waited_ms - ENGINE_MS > d->timeout_ns / 1000000;
        if (gone || late)
            give_up(d, waited_ms, gone);
    }
    return NULL;
}

void pithp_deadline_begin(pithp_deadline *d) {
    d->running = false;
    d->wake = d->timeout_ns < 0 && !d->job ? -1 : eventfd(0, EFD_CLOEXEC);
    if (d->wake >= 0)
        d->running = pithp_thread_start(&d->thread, watch, d) == 0;
}

void pithp_deadline_end(pithp_deadline *d) {
    const uint64_t one = 1;
    if (d->running && write(d->wake, &one, sizeof one) == sizeof one)
        pthread_join(d->thread, NULL);
    if (d->wake >= 0)
        close(d->wake);
}
