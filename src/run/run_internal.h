/* Within run: a run that lasts, and what is shown of it. */
#ifndef PITH_RUN_INTERNAL_H
#define PITH_RUN_INTERNAL_H

#include "pith/run.h"

#include "tree/tree_internal.h"

double pithp_seconds(void); /* of a monotonic clock */

/* Whether a step, and a state of a type, are what a driver runs; else the error is set.
 */
bool pithp_step_fits(pith_scope *s,
                     const pith_type *type,
                     const pith_function *step,
                     const void *state,
                     const char *function);

/* Whether steps after the first can be numbered; else the error is set. */
bool pithp_step_numbers_fit(pith_scope *s,
                            int64_t first,
                            int64_t steps,
                            const char *function);

/* "finished", "until", "time", ...; "running" of a run that lasts. */
const char *pithp_run_end_text(const pith_run_end *end);

/* A bar on a terminal: "melt  42% [=====>     ] 420/1000  8.1 k steps/s  0:07 left";
 * elsewhere a line at longer intervals. */
typedef struct pithp_progress {
    FILE *out; /* NULL: nothing is shown */
    bool terminal;
    int64_t first, last; /* numbers of steps: of this run, and of its end */
    double started, shown, interval;
    bool drawn; /* the bar is on the terminal now, or a line was printed */
} pithp_progress;

void pithp_progress_begin(pithp_progress *p, const pith_run_options *o, int64_t first);
void pithp_progress_step(pithp_progress *p, int64_t number);
void pithp_progress_hide(pithp_progress *p); /* before other output */
void pithp_progress_end(pithp_progress *p, int64_t number);

/* What the status file says. */
typedef struct pithp_status_file {
    const char *path;    /* NULL: there is no such file */
    int64_t first, last; /* numbers of steps: of this run, and of its end */
    double started, written;
    int64_t repairs, saved; /* saved: step of the last save; -1: none */
    double saved_at;
    bool complained; /* the log hook knows that it cannot be written */
    /* The sizes that capacities of a recent step stand for. */
    pith_scope *noted_in; /* of the list; NULL: there is none yet */
    struct pithp_noted_size *noted;
    int64_t noted_count, noted_repairs; /* repairs: before that step */
} pithp_status_file;

/* Write it now; the scope gets an error only if `first` (the folder is checked). */
void pithp_status_write(pithp_status_file *t,
                        pith_scope *s,
                        const void *state,
                        int64_t number,
                        const pith_run_end *end);
/* The same at most once a second. */
void pithp_status_step(pithp_status_file *t,
                       pith_scope *s,
                       const void *state,
                       int64_t number);
/* Note the capacities of checks that passed, the first slots, if that is due. */
void pithp_status_note(pithp_status_file *t,
                       pith_scope *work,
                       struct pithp_collector *c,
                       int64_t slots);
void pithp_status_end(pithp_status_file *t);
/* Whether its folder takes it; else the error is set. */
bool pithp_status_begin(pithp_status_file *t, pith_scope *s, const pith_run_options *o);

/* The newest valid checkpoint of options.save, in s; NULL: there is none, or an error is
 * set (resume.c). */
const void *pithp_resume(pith_scope *s,
                         const pith_type *type,
                         const void *state,
                         const pith_run_options *o,
                         int64_t *step);
/* Rows of a log after a step are cut off if it was opened to go on (log.c). */
pith_status pithp_log_resume(pith_scope *s, pith_run_log *log, int64_t step);

#endif
