/* Runs that are timed, for a profile: each step by the clock, or, in a loop that is
 * compiled as a whole, by ticks that its code counts. */
#ifndef PITH_PROGRAM_EXEC_WATCH_H
#define PITH_PROGRAM_EXEC_WATCH_H

#include "program/emit/inline.h"
#include "program/exec/exec.h"
#include "program/profile/profile.h"

/* A run of a plan. */
typedef struct pithp_watch {
    pith_scope *s;
    pithp_profile *profile;
    int64_t begun, last; /* nanoseconds: of the run, and when the last step had run */
} pithp_watch;

pithp_watch *pithp_watch_begin(pithp_watch *w, pith_scope *s, pithp_profile *profile);
void pithp_watch_end(pithp_watch *w);
/* The steps of a run, each timed. */
pith_status pithp_run_watched(const pithp_exec *r);

/* ---- Loops that are compiled as a whole ---- */

/* What the code of a loop adds to: of each step inside it, from the first entry on. */
typedef struct pithp_tally {
    struct {
        uint64_t ticks, calls;
    } steps[PITHP_INLINE_STEPS];
    uint64_t ticks;      /* when it began */
    int64_t nanoseconds; /* likewise */
} pithp_tally;

/* A clock that is quick to read; its unit is found by comparison. */
uint64_t pithp_ticks(void);
void pithp_tally_begin(pithp_tally *t);
/* The loop has run. */
void pithp_tally_end(const pithp_tally *t, const pithp_watch *w, const pithp_step *loop);

#endif
