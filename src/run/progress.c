/* Progress display of a run: a bar on terminals, which is erased at the end, and lines
 * elsewhere. */
#include "base/format.h"
#include "run/run_internal.h"

#include <time.h>
#include <unistd.h>

enum { BAR = 30 };
static const double bar_interval = 0.1; /* seconds between updates */
static const double line_interval = 30;

double pithp_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void pithp_progress_begin(pithp_progress *p,
                          const pith_run_options *o,
                          int64_t first,
                          bool shows) {
    *p = (pithp_progress){.first = first, .last = o->first_step + o->steps};
    if (!o->progress || !shows || p->last <= first)
        return;
    p->out = o->progress;
    p->terminal = isatty(fileno(p->out));
    p->interval = p->terminal               ? bar_interval
                  : o->progress_seconds > 0 ? o->progress_seconds
                                            : line_interval;
    p->started = p->shown = pithp_seconds();
}

/* Print "420/1000  8.1e+03 steps/s  0:07 left". */
static void print_numbers(const pithp_progress *p, int64_t number, double now) {
    const double rate = (double)(number - p->first) / (now - p->started);
    const long left = rate > 0 ? (long)((double)(p->last - number) / rate + 0.5) : 0;
    char text[32];
    pithp_format(text, sizeof text, "%.4g", rate);
    fprintf(p->out, "%lld/%lld  %s steps/s  %ld:%02ld left", (long long)number,
            (long long)p->last, text, left / 60, left % 60);
}

static void draw(pithp_progress *p, int64_t number, double now) {
    const double fraction = (double)(number - p->first) / (double)(p->last - p->first);
    char bar[BAR + 1];
    for (int i = 0; i < BAR; i++)
        bar[i] = i < (int)(fraction * BAR) ? '#' : '.';
    bar[BAR] = 0;
    if (p->terminal)
        fprintf(p->out, "\r%3d%% [%s] ", (int)(100 * fraction), bar);
    else
        fprintf(p->out, "%d%%  ", (int)(100 * fraction));
    print_numbers(p, number, now);
    fputs(p->terminal ? " \x1b[K" : "\n", p->out);
    fflush(p->out);
    p->drawn = true;
}

void pithp_progress_step(pithp_progress *p, int64_t number) {
    if (!p->out)
        return;
    const double now = pithp_seconds();
    if (now - p->shown < p->interval)
        return;
    p->shown = now;
    draw(p, number, now);
}

void pithp_progress_hide(pithp_progress *p) {
    if (!p->out || !p->drawn || !p->terminal)
        return;
    fputs("\r\x1b[K", p->out);
    fflush(p->out);
    p->drawn = false;
    p->shown = 0; /* the next step redraws it */
}

void pithp_progress_end(pithp_progress *p, int64_t number) {
    if (p->out && !p->terminal && p->drawn)
        draw(p, number, pithp_seconds());
    pithp_progress_hide(p);
    p->out = NULL;
}
