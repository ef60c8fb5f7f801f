/* Timed runs: clocks, and the time of each step. */
#include "program/exec/watch.h"

#include <string.h>
#include <time.h>

/* ---- Clocks ---- */

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

uint64_t pithp_ticks(void) {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return (uint64_t)now();
#endif
}

/* The time at which all enqueued work is complete; waits on asynchronous devices. The
 * next call that waits reports errors of that work. */
static int64_t settled(pith_scope *s) {
    pithp_stream *st = pithp_scope_stream(s);
    pithp_error e;
    if (!st->device->immediate)
        (void)st->device->backend->synchronise(st, &e);
    return now();
}

/* ---- Runs ---- */

pithp_watch *pithp_watch_begin(pithp_watch *w, pith_scope *s, pithp_profile *profile) {
    const int64_t begun = settled(s);
    *w = (pithp_watch){.s = s, .profile = profile, .begun = begun, .last = begun};
    return w;
}

void pithp_watch_end(pithp_watch *w) {
    pithp_profile_add_run(w->profile, settled(w->s) - w->begun);
}

pith_status pithp_run_watched(const pithp_exec *r) {
    pithp_watch *w = r->watch;
    pith_status rc = PITH_OK;
    for (int64_t k = 0, done; k < r->plan->step_count && rc == PITH_OK; k += done) {
        done = 1;
        if (r->plan->steps[k].runs_in_consumer)
            continue;
        const int64_t begun = w->last;
        done = pithp_run_step(r, k, &rc);
        w->last = settled(w->s);
        pithp_profile_credit(w->profile, r->plan->first_entry + k, done, w->last - begun);
    }
    return rc;
}

/* ---- Compiled loops ---- */

void pithp_tally_begin(pithp_tally *t) {
    memset(t->steps, 0, sizeof t->steps);
    t->nanoseconds = now();
    t->ticks = pithp_ticks();
}

void pithp_tally_end(const pithp_tally *t, const pithp_watch *w, const pithp_step *loop) {
    const double ticks = (double)(pithp_ticks() - t->ticks),
                 spent = (double)(now() - t->nanoseconds);
    pithp_profile_entry *all = w->profile->entries;
    const int64_t first = loop->plans[0]->first_entry;
    for (int64_t k = 0; k < PITHP_INLINE_STEPS; k++) {
        if (!t->steps[k].calls)
            continue;
        pithp_profile_entry *lead = &all[all[first + k].leader];
        const double own = ticks > 0 ? (double)t->steps[k].ticks * (spent / ticks) : 0;
        if (lead == &all[first + k])
            atomic_fetch_add(&lead->calls, (int64_t)t->steps[k].calls);
        atomic_fetch_add(&lead->nanoseconds, (int64_t)own);
    }
}
