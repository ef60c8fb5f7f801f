/* Timing the steps of a run. */
#include "program/profile/watch.h"

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

/* When all that was enqueued has run: where work runs later, it is waited for. What went
 * wrong there is told by the next call that waits. */
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

static void count(atomic_llong *calls, atomic_llong *total, int64_t n, int64_t spent) {
    atomic_fetch_add_explicit(calls, n, memory_order_relaxed);
    atomic_fetch_add_explicit(total, spent > 0 ? spent : 0, memory_order_relaxed);
}

void pithp_watch_end(pithp_watch *w) {
    count(&w->profile->calls, &w->profile->nanoseconds, 1, settled(w->s) - w->begun);
}

/* Steps that ran as one share its time by the bytes that they move. */
static void credit(const pithp_watch *w,
                   const pithp_plan *plan,
                   int64_t k,
                   int64_t n,
                   int64_t spent) {
    pithp_profile_entry *entries = &w->profile->entries[plan->first_entry + k];
    int64_t all = 0, before = 0, given = 0;
    for (int64_t i = 0; i < n; i++)
        all += entries[i].read + entries[i].written;
    for (int64_t i = 0; i < n; i++) {
        before += entries[i].read + entries[i].written;
        const int64_t until =
            all ? (int64_t)((double)spent * ((double)before / (double)all)) : 0;
        count(&entries[i].calls, &entries[i].nanoseconds, 1,
              i + 1 == n ? spent - given : until - given);
        given = until;
    }
}

pith_status pithp_run_watched(const pithp_running *r) {
    pithp_watch *w = r->watch;
    pith_status rc = PITH_OK;
    for (int64_t k = 0, done; k < r->plan->step_count && rc == PITH_OK; k += done) {
        done = 1;
        if (r->plan->steps[k].is_source)
            continue;
        const int64_t begun = w->last;
        done = pithp_run_piece(r, k, &rc);
        w->last = settled(w->s);
        credit(w, r->plan, k, done, w->last - begun);
    }
    return rc;
}

/* ---- Loops that are compiled as a whole ---- */

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
        const int64_t lead = all[first + k].leader;
        const double own = ticks > 0 ? (double)t->steps[k].ticks * (spent / ticks) : 0;
        count(&all[lead].calls, &all[lead].nanoseconds,
              lead == first + k ? (int64_t)t->steps[k].calls : 0, (int64_t)own);
    }
}
