/* Within run: the progress bar and the clock. */
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

/* A bar on a terminal: "melt  42% [=====>     ] 420/1000  8.1 k steps/s  0:07 left". */
typedef struct pithp_progress {
    FILE *out; /* NULL: nothing is shown */
    int64_t steps;
    double started, shown;
    bool drawn; /* on the terminal now */
} pithp_progress;

void pithp_progress_begin(pithp_progress *p, FILE *out, int64_t steps);
void pithp_progress_step(pithp_progress *p,
                         int64_t done);      /* at most ten times a second */
void pithp_progress_hide(pithp_progress *p); /* before other output */
void pithp_progress_end(pithp_progress *p);

#endif
