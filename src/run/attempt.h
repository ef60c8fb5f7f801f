/* Within run: tries of steps, and what of them lasts only where they pass. */
#ifndef PITH_ATTEMPT_H
#define PITH_ATTEMPT_H

#include "pith/run.h"

#include "assert/assert_internal.h"

/* ---- Rows of logs that wait for their try to pass (attempt_log.c) ---- */

typedef struct pithp_attempt_row {
    struct pithp_attempt_row *next;
    pith_run_log *log;
    int64_t step;
    size_t bytes; /* of the text, and of this with it */
    size_t size;
    char text[];
} pithp_attempt_row;

/* Of a scope and its children: rows added in them to logs opened outside wait here. */
typedef struct pithp_attempt_log {
    pith_scope *scope;
    struct pithp_attempt_log *outer;
    pithp_attempt_row *first, **last;
} pithp_attempt_log;

/* What this room keeps for a scope (outcome.c). */
typedef struct pithp_run_room {
    pithp_attempt_log *tries; /* the try that runs in the scope; NULL: none */
    pith_run_end end;         /* of the last run */
    const void *advanced;     /* what pith_advance returned, if the scope holds that */
} pithp_run_room;
/* NULL: error set. */
pithp_run_room *pithp_run_room_of(pith_scope *s);

pith_status pithp_attempt_log_begin(pithp_attempt_log *t, pith_scope *s);
/* The try of the scope's that rows of a log wait for; NULL: they are written at once. */
pithp_attempt_log *pithp_attempt_log_of(const pith_scope *s, const pith_run_log *log);
/* Step of the last row that waits; -1: there is none. */
int64_t pithp_attempt_log_last(const pithp_attempt_log *t, const pith_run_log *log);
pith_status pithp_attempt_log_add(pith_scope *s,
                                  pithp_attempt_log *t,
                                  pith_run_log *log,
                                  int64_t step,
                                  const pithp_text *text);
/* Write the rows, or hand them to the try around this one. */
pith_status pithp_attempt_log_commit(pith_scope *s, pithp_attempt_log *t);
void pithp_attempt_log_discard(pithp_attempt_log *t);
/* Write a row that was printed and whose step follows. */
pith_status pithp_log_write(pith_scope *s,
                            pith_run_log *log,
                            int64_t step,
                            const char *text,
                            size_t bytes);

/* ---- States (state_check.c) ---- */

/* A step's result has the nodes, dtypes and ranks of its state, of which `before` is the
 * flat form, and the extents too unless a static differs. */
pith_status pithp_state_check(pith_scope *s,
                              const char *step,
                              const pithp_flat *before,
                              const void *state,
                              const void *result);

/* ---- Steps (propagate.c) ---- */

typedef struct pithp_stepper {
    pith_scope *s;
    const pith_function *step;
    /* Runs a step if it is more than a call of the function; else NULL. */
    const void *(*call)(pith_scope *s, const void *state, void *call_closure);
    void *call_closure;
    struct pithp_monitor *watch; /* NULL: nothing but the checks is looked at */
    /* Called with the checks of a try that passed; its first call made `slots` of them.
     * (optional) */
    void (*passed)(pith_scope *work,
                   struct pithp_collector *c,
                   int64_t slots,
                   void *closure);
    /* Whether the window is to end after the call that was just made. (optional) */
    bool (*pause)(void *closure);
    int64_t max_repeats; /* of one step */
    pith_repair_callback report;
    void *closure;      /* of passed, pause and report */
    pith_scope *holder; /* of the committed state; NULL: the caller */
    const void *state;  /* committed */
    int64_t number;     /* of steps that were committed, for messages and reports */
    int64_t stride;     /* steps of a call; 0: 1 */
    int64_t single;     /* compiled loops do one step up to this number */
    int64_t barrier;    /* a try ends at this number if it is ahead */
    bool any_result;    /* one call of any type: its result may differ from the state */
    bool met;           /* the state is the first one for which `until` is true */
} pithp_stepper;

/* Commit that many steps, all checked by one wait if they pass; fewer if `met` or `pause`
 * ends them. On failure s carries the error, and the steps before the failing one are
 * committed. */
bool pithp_stepper_advance(pithp_stepper *p, int64_t steps);
/* Repeats of a step that max_tries of the options allows. */
static inline int64_t pithp_repeats(int64_t max_tries) {
    return max_tries < 0 ? 0 : max_tries == 0 ? 10 : max_tries;
}

/* ---- Tries (attempt.c) ---- */

/* Why a call of a try did not pass. */
typedef enum pithp_trouble {
    PITHP_TROUBLE_NONE,
    PITHP_TROUBLE_CHECK,  /* a check failed */
    PITHP_TROUBLE_ERROR,  /* the scope of the try has an error */
    PITHP_TROUBLE_FINITE, /* the state has a value that is not finite */
    PITHP_TROUBLE_UNTIL   /* none: the run ends with this state */
} pithp_trouble;

/* A call of a try. Slots are those of the collector. */
typedef struct pithp_attempt_call {
    int64_t steps;
    int64_t checks;        /* slots up to here are of the step's own checks */
    int64_t end;           /* slots at the end of the call */
    int64_t finite, until; /* slots of these flags; -1: none */
    const struct pithp_monitored *seen; /* NULL: nothing */
} pithp_attempt_call;

/* Steps from a state, in one collector. */
typedef struct pithp_attempt {
    pith_scope *scope; /* child of the stepper's, with temporaries and assertions */
    struct pithp_collector *collector;
    pithp_attempt_log log;
    pithp_attempt_call *calls;
    int64_t room, ran;  /* of calls */
    pith_scope *holder; /* of the result; NULL: none */
    const void *result;
    int64_t failing; /* the first call that did not pass; -1: all passed */
    pithp_trouble trouble;
} pithp_attempt;

/* Try steps up to a number; false: p->s has the error, and there is nothing to end. */
bool pithp_attempt_steps(const pithp_stepper *p,
                         pithp_attempt *t,
                         const void *state,
                         int64_t end);
/* What passed lasts. false: p->s has the error of writing its rows. */
bool pithp_attempt_commit(pithp_stepper *p, pithp_attempt *t);
void pithp_attempt_end(pithp_attempt *t);
/* Steps of the calls before one. */
int64_t pithp_attempt_steps_before(const pithp_attempt *t, int64_t call);
/* Close a scope whose error does not count, without a message to the log hook. */
void pithp_close_quietly(pith_scope *s);
static inline int64_t pithp_stride_of(const pithp_stepper *p) {
    return p->stride ? p->stride : 1;
}

#endif
