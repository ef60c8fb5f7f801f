/* Profiles: what the steps of a plan take, those of loops and branches included. A run
 * that is watched (watch.h) adds to the counters, which any thread may do. */
#ifndef PITH_PROGRAM_PROFILE_PROFILE_H
#define PITH_PROGRAM_PROFILE_PROFILE_H

#include "program/plan/plan.h"

/* A step. Those that run within another (sources of reductions, members of bands) are
 * parts of its entry: their own counts nothing. */
typedef struct pithp_profile_entry {
    uint64_t hash;         /* of name and sites */
    size_t name, sites;    /* where they are in the strings; sites: one after the other,
                              then an empty one */
    int64_t leader;        /* the entry that it is a part of, or its own number */
    int64_t parent;        /* of the control flow that it is inside; -1: none */
    int64_t read, written; /* bytes of one run */
    atomic_llong calls, nanoseconds; /* those of entries inside it included */
} pithp_profile_entry;

typedef struct pithp_profile {
    pith_runtime *rt;           /* whose memory it is in */
    bool enrolled;              /* in the profile of the whole run */
    struct pithp_profile *next; /* in that (whole_run.c) */
    char name[PITHP_PLAN_NAME_BYTES];
    pithp_text strings;
    atomic_llong calls, nanoseconds; /* of runs */
    int64_t count;
    pithp_profile_entry entries[];
} pithp_profile;

/* Of a plan that has not run yet, which gets numbers for its steps. NULL: memory is
 * short.
 */
pithp_profile *pithp_profile_make(pith_runtime *rt, pithp_plan *plan);
void pithp_profile_free(pithp_profile *p);  /* NULL does nothing */
void pithp_profile_reset(pithp_profile *p); /* all counters to 0 */
/* Whether two are of the same steps. */
bool pithp_profile_alike(const pithp_profile *a, const pithp_profile *b);
/* From now on runs of the plan, and of those of its steps, are counted there; p outlives
 * the plan. */
void pithp_profile_attach(pithp_plan *plan, pithp_profile *p);

/* What runs add. Entries from `entry` on that ran as one share its time by the bytes that
 * they move. credit: that is one call, and who is around it is timed as a whole. share:
 * the control flow around them gets the time, too, and calls are counted apart. */
void pithp_profile_credit(pithp_profile *p,
                          int64_t entry,
                          int64_t n,
                          int64_t nanoseconds);
void pithp_profile_share(pithp_profile *p, int64_t entry, int64_t n, int64_t nanoseconds);
void pithp_profile_count(pithp_profile *p, int64_t entry, int64_t n); /* a call */
void pithp_profile_add_run(pithp_profile *p, int64_t nanoseconds);

/* ---- What is read from it ---- */

/* Instructions: entries of the same name and sites inside the same control flow are
 * one. */
typedef struct pithp_profile_row {
    const char *name, *sites; /* sites: as in an entry */
    int64_t inside;           /* row of the control flow around it, or -1 */
    int64_t calls, read, written;
    double seconds; /* without those of the rows inside it */
} pithp_profile_row;

/* Those that ran, in the order of their time; rows has room for p->count. Returns how
 * many there are, or -1: memory is short. */
int64_t pithp_profile_rows(const pithp_profile *p, pithp_profile_row *rows);

/* ---- A whole run (PITH_PROFILE) ---- */

/* Called for a plan that was made, and named. */
void pithp_profile_begin(pithp_plan *plan);
/* Write what was counted so far, if there is anything new; called when a runtime closes.
 */
void pithp_profiles_write(pith_runtime *rt);

/* ---- As text ---- */

double pithp_profile_seconds(const pithp_profile *p); /* of all runs */

/* A program as a table (a line of its own, then one a row) or a JSON object. total:
 * seconds of all programs, of which shares are. */
typedef void (*pithp_profile_writer)(pithp_text *t,
                                     const pithp_profile *p,
                                     double total,
                                     int64_t count,
                                     const pithp_profile_row *rows);
void pithp_profile_table(pithp_text *t,
                         const pithp_profile *p,
                         double total,
                         int64_t count,
                         const pithp_profile_row *rows);
void pithp_profile_json(pithp_text *t,
                        const pithp_profile *p,
                        double total,
                        int64_t count,
                        const pithp_profile_row *rows);

#endif
