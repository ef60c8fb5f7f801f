/* Within run: tries of steps, and what of them lasts only where they pass. */
#ifndef PITH_TRY_H
#define PITH_TRY_H

#include "pith/run.h"

#include "assert/assert_internal.h"

/* ---- Rows of logs that wait for their try to pass (try_log.c) ---- */

typedef struct pithp_try_row {
    struct pithp_try_row *next;
    pith_run_log *log;
    int64_t step;
    size_t bytes; /* of the text, and of this with it */
    size_t size;
    char text[];
} pithp_try_row;

/* Of a scope and its children: rows added in them to logs opened outside wait here. */
typedef struct pithp_try_log {
    pith_scope *scope;
    struct pithp_try_log *outer;
    pithp_try_row *first, **last;
} pithp_try_log;

void pithp_try_log_begin(pithp_try_log *t, pith_scope *s);
/* The try of the scope's that rows of a log wait for; NULL: they are written at once. */
pithp_try_log *pithp_try_log_of(const pith_scope *s, const pith_run_log *log);
/* Step of the last row that waits; -1: there is none. */
int64_t pithp_try_log_last(const pithp_try_log *t, const pith_run_log *log);
pith_status pithp_try_log_add(pith_scope *s,
                              pithp_try_log *t,
                              pith_run_log *log,
                              int64_t step,
                              const pithp_text *text);
/* Write the rows, or hand them to the try around this one. */
pith_status pithp_try_log_commit(pith_scope *s, pithp_try_log *t);
void pithp_try_log_discard(pithp_try_log *t);
/* Write a row that was printed and whose step follows. */
pith_status pithp_log_write(pith_scope *s,
                            pith_run_log *log,
                            int64_t step,
                            const char *text,
                            size_t bytes);

/* ---- Steps (propagate.c) ---- */

typedef struct pithp_stepper {
    pith_scope *s;
    const pith_function *step;
    /* What runs a step where it is more than a call of the function; else NULL. */
    const void *(*call)(pith_scope *s, const void *state, void *call_closure);
    void *call_closure;
    int64_t max_repeats; /* of one step */
    pith_repair_callback report;
    void *closure;
    pith_scope *holder; /* of the committed state; NULL: the caller */
    const void *state;  /* committed */
    int64_t number;     /* of steps that were committed, for messages and reports */
    int64_t stride;     /* steps of a call; 0: 1 */
} pithp_stepper;

/* Commit that many calls of the step, of which all are checked by one wait where they
 * pass. On failure s carries the error, and those before the failing one are committed.
 */
bool pithp_stepper_advance(pithp_stepper *p, int64_t count);
/* Repeats of a step that max_tries of the options allows. */
static inline int64_t pithp_repeats(int64_t max_tries) {
    return max_tries < 0 ? 0 : max_tries == 0 ? 10 : max_tries;
}

#endif
