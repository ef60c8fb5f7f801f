/* Profiles: time, calls and bytes of the steps of a plan and of its loops and branches. A
 * timed run (exec/watch.h) adds to the counters; any thread may do so. */
#ifndef PITH_PROGRAM_PROFILE_PROFILE_H
#define PITH_PROGRAM_PROFILE_PROFILE_H

#include "program/plan/plan.h"

/* A step. A step that runs within another one (a fused producer, a gather, a member of a
 * band) belongs to the entry of that one, its leader; its own counters stay 0. */
typedef struct pithp_profile_entry {
    uint64_t hash;         /* of name and sites */
    size_t name, sites;    /* offsets in `strings`; an empty string ends the sites */
    int64_t leader;        /* entry that it belongs to, or its own index */
    int64_t parent;        /* entry of the enclosing control flow; -1: none */
    int64_t read, written; /* bytes of one run */
    atomic_llong calls, nanoseconds; /* include those of entries inside it */
} pithp_profile_entry;

typedef struct pithp_profile {
    pith_runtime *rt;           /* owner of the memory */
    bool enrolled;              /* in the profile of the whole run */
    struct pithp_profile *next; /* in that list (whole_run.c) */
    char name[PITHP_PLAN_NAME_BYTES];
    pithp_string strings;
    atomic_llong calls, nanoseconds; /* of runs */
    int64_t count;
    pithp_profile_entry entries[];
} pithp_profile;

/* Make the profile of a plan that has not run yet, and number the plan's steps. NULL:
 * memory is short. */
pithp_profile *pithp_profile_make(pith_runtime *rt, pithp_plan *plan);
void pithp_profile_free(pithp_profile *p);  /* NULL does nothing */
void pithp_profile_reset(pithp_profile *p); /* sets all counters to 0 */
/* Whether two profiles describe the same steps. */
bool pithp_profile_alike(const pithp_profile *a, const pithp_profile *b);
/* Count later runs of the plan and its nested plans in p, which must outlive the plan. */
void pithp_profile_attach(pithp_plan *plan, pithp_profile *p);

/* Add the time of a run. `n` entries from `entry` on, which ran as one, share the time by
 * the bytes that they move. credit: also counts a call; the enclosing control flow is
 * timed separately. share: also adds the time to the enclosing control flow; calls are
 * counted separately (pithp_profile_count). */
void pithp_profile_credit(pithp_profile *p,
                          int64_t entry,
                          int64_t n,
                          int64_t nanoseconds);
void pithp_profile_share(pithp_profile *p, int64_t entry, int64_t n, int64_t nanoseconds);
void pithp_profile_count(pithp_profile *p, int64_t entry, int64_t n); /* count a call */
void pithp_profile_add_run(pithp_profile *p, int64_t nanoseconds);

/* ---- Reading ---- */

/* Instructions: entries with the same name, sites and control flow are merged. */
typedef struct pithp_profile_row {
    const char *name, *sites; /* sites: as in an entry */
    int64_t inside;           /* row of the enclosing control flow, or -1 */
    int64_t calls, read, written;
    double seconds; /* without the rows inside it */
} pithp_profile_row;

/* The instructions that ran, by descending time; rows has space for p->count. Returns
 * their number, or -1: memory is short. */
int64_t pithp_profile_rows(const pithp_profile *p, pithp_profile_row *rows);

/* ---- A whole run (PITH_PROFILE) ---- */

/* Add a new, named plan. */
void pithp_profile_begin(pithp_plan *plan);
/* Write the file if there are new runs; called when a runtime closes. */
void pithp_profiles_write(pith_runtime *rt);

/* ---- As text ---- */

double pithp_profile_seconds(const pithp_profile *p); /* of all runs */

/* Write a program as a table, with a heading and a line per row, or as a JSON object.
 * total: seconds of all programs, to which shares relate. */
typedef void (*pithp_profile_writer)(pithp_string *t,
                                     const pithp_profile *p,
                                     double total,
                                     int64_t count,
                                     const pithp_profile_row *rows);
void pithp_profile_table(pithp_string *t,
                         const pithp_profile *p,
                         double total,
                         int64_t count,
                         const pithp_profile_row *rows);
void pithp_profile_json(pithp_string *t,
                        const pithp_profile *p,
                        double total,
                        int64_t count,
                        const pithp_profile_row *rows);

#endif
