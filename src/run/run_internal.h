/* Within run: data of a run in progress, and its display. */
#ifndef PITH_RUN_INTERNAL_H
#define PITH_RUN_INTERNAL_H

#include "pith/run.h"

#include "tree/tree_internal.h"

double pithp_seconds(void); /* monotonic clock */

/* Check a step, and a state of a type, for a driver. */
bool pithp_step_fits(pith_scope *s,
                     const pith_type *type,
                     const pith_function *step,
                     const void *state,
                     const char *function);

/* Check that the step numbers do not overflow. */
bool pithp_step_numbers_fit(pith_scope *s,
                            int64_t first,
                            int64_t steps,
                            const char *function);

/* "finished", "until", "time", ...; "running" for a run in progress. */
const char *pithp_run_end_text(const pith_run_end *end);

/* Progress display: a bar on a terminal, such as "melt  42% [=====>     ] 420/1000  8.1 k
 * steps/s  0:07 left"; elsewhere a line at longer intervals. */
typedef struct pithp_progress {
    FILE *out; /* NULL: no display */
    bool terminal;
    int64_t first, last; /* step numbers of the initial state and of the end */
    double started, shown, interval;
    bool drawn; /* the bar is visible, or a line was printed */
} pithp_progress;

/* shows: whether this rank does. */
void pithp_progress_begin(pithp_progress *p,
                          const pith_run_options *o,
                          int64_t first,
                          bool shows);
void pithp_progress_step(pithp_progress *p, int64_t number);
void pithp_progress_hide(pithp_progress *p); /* call before other output */
void pithp_progress_end(pithp_progress *p, int64_t number);

/* Contents of the status file. */
typedef struct pithp_status_file {
    const char *path;    /* NULL: no status file */
    int64_t first, last; /* step numbers of the initial state and of the end */
    double started, written;
    int64_t repairs, saved; /* saved: step of the last save; -1: none */
    double saved_at;
    bool complained; /* the failure to write it is already logged */
    /* Sizes covered by capacities in a recent step. */
    pith_scope *noted_in; /* of the list; NULL: no list yet */
    struct pithp_noted_size *noted;
    int64_t noted_count, noted_repairs; /* repairs: before that step */
} pithp_status_file;

/* Write it now. Only if `first`, a failure is an error of the scope (a check of the
 * folder). */
void pithp_status_write(pithp_status_file *t,
                        pith_scope *s,
                        const void *state,
                        int64_t number,
                        const pith_run_end *end);
/* Write it at most once a second. */
void pithp_status_step(pithp_status_file *t,
                       pith_scope *s,
                       const void *state,
                       int64_t number);
/* Collect the capacities of the checks that passed (the first `slots`), if due. Without
 * memory the file lacks some: no error, which would be one of this rank alone. */
void pithp_status_note(pithp_status_file *t,
                       pith_scope *work,
                       struct pithp_collector *c,
                       int64_t slots);
void pithp_status_end(pithp_status_file *t);
/* Begin, and check that the folder is writable. writes: whether this rank does. */
bool pithp_status_begin(pithp_status_file *t,
                        pith_scope *s,
                        const pith_run_options *o,
                        bool writes);

/* ---- Runs of several ranks (run_ranks.c) ---- */

/* What is asked of a run. */
typedef struct pithp_asked {
    int signal; /* 0: none */
    bool stop, save, over, due,
        met; /* over, due: of timers; met: the state has `until` */
} pithp_asked;

/* Whether a part of the run has succeeded: on all ranks, which else have an error. */
bool pithp_run_agreed(pith_scope *s);
/* Whether the run does not begin, because this rank or another one refuses it. */
bool pithp_run_refused(pith_scope *s, bool fine);
/* Options that all ranks must have in common: a digest, and for messages their names. */
uint64_t pithp_run_digest(const pith_run_options *o);
void pithp_run_describe(const void *options, char what[]);
/* Replace what is asked of this rank by what is asked of any. decide: nothing was decided
 * since the last look; otherwise `known` tells whether any rank asks. false: every rank
 * has an error. Changes nothing without ranks. */
bool pithp_run_ask(pith_scope *s, pithp_asked *a, bool decide, bool known);
/* Whether all ranks resume from the same step; -1: none. */
bool pithp_run_resumes_alike(pith_scope *s, const char *name, int64_t step);

/* The newest valid checkpoint of options.save, in s. NULL: none, or an error is set
 * (resume.c). */
const void *pithp_resume(pith_scope *s,
                         const pith_type *type,
                         const void *state,
                         const pith_run_options *o,
                         int64_t *step);
/* Truncate a log opened with `resume` to the rows up to a step (log.c). */
pith_status pithp_log_resume(pith_scope *s, pith_run_log *log, int64_t step);
/* On several ranks, after opening or resuming a log: whether it has succeeded on all of
 * them, which then have rank 0's last step. */
pith_status pithp_log_agree(pith_scope *s, pith_run_log *log);

#endif
