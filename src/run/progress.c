/* The progress bar of a run. It is shown on terminals only and leaves no trace. */
#include "run/run_internal.h"

#include <time.h>
#include <unistd.h>

enum { BAR = 30 };
static const double interval = 0.1; /* seconds between two showings */

double pithp_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void pithp_progress_begin(pithp_progress *p, FILE *out, int64_t steps) {
    *p = (pithp_progress){.steps = steps};
    if (!out || steps <= 0 || !isatty(fileno(out)))
        return;
    p->out = out;
    p->started = p->shown = pithp_seconds();
}

void pithp_progress_step(pithp_progress *p, int64_t done) {
    if (!p->out)
        return;
    const double now = pithp_seconds();
    if (now - p->shown < interval)
        return;
    p->shown = now;
    const double fraction = (double)done / (double)p->steps;
    const double rate = (double)done / (now - p->started);
    const long left = (long)((double)(p->steps - done) / rate + 0.5);
    char bar[BAR + 1];
    for (int i = 0; i < BAR; i++)
        bar[i] = i < (int)(fraction * BAR) ? '#' : '.';
    bar[BAR] = 0;
    fprintf(p->out, "\r%3d%% [%s] %lld/%lld  %.4g steps/s  %ld:%02ld left \x1b[K",
            (int)(100 * fraction), bar, (long long)done, (long long)p->steps, rate,
            left / 60, left % 60);
    fflush(p->out);
    p->drawn = true;
}

void pithp_progress_hide(pithp_progress *p) {
    if (!p->out || !p->drawn)
        return;
    fputs("\r\x1b[K", p->out);
    fflush(p->out);
    p->drawn = false;
    p->shown = 0; /* the next step draws it again */
}

void pithp_progress_end(pithp_progress *p) {
    pithp_progress_hide(p);
    p->out = NULL;
}
