/* Timed runs for profiles: each step by a clock, or, in compiled loops, by ticks that the
 * code counts. */
#ifndef PITH_PROGRAM_EXEC_WATCH_H
#define PITH_PROGRAM_EXEC_WATCH_H

#include "program/emit/inline.h"
#include "program/exec/exec.h"
#include "program/profile/profile.h"

/* A timed run of a plan. */
typedef struct pithp_watch {
    pith_scope *s;
    pithp_profile *profile;
    int64_t begun, last; /* nanoseconds: start of the run, end of the last step */
} pithp_watch;

pithp_watch *pithp_watch_begin(pithp_watch *w, pith_scope *s, pithp_profile *profile);
void pithp_watch_end(pithp_watch *w);
/* The steps of a run, each timed. */
pith_status pithp_run_watched(const pithp_exec *r);

/* ---- Compiled loops ---- */

/* Counters of a compiled loop: an element per step inside it, from the first entry on. */
typedef struct pithp_tally {
    struct {
        uint64_t ticks, calls;
    } steps[PITHP_INLINE_STEPS];
    uint64_t ticks;      /* start */
    int64_t nanoseconds; /* start */
} pithp_tally;

/* A cheap clock of unknown unit; pithp_tally_end calibrates it against nanoseconds. */
uint64_t pithp_ticks(void);
void pithp_tally_begin(pithp_tally *t);
/* Credit the counters of a finished loop to the profile. */
void pithp_tally_end(const pithp_tally *t, const pithp_watch *w, const pithp_step *loop);

#endif
