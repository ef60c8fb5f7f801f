/* Within run: attempts of steps, committed only if they pass. */
#ifndef PITH_ATTEMPT_H
#define PITH_ATTEMPT_H

#include "pith/run.h"

#include "assert/assert_internal.h"

/* ---- Buffered log rows of attempts (attempt_log.c) ---- */

typedef struct pithp_attempt_row {
    struct pithp_attempt_row *next;
    pith_run_log *log;
    int64_t step;
    size_t bytes; /* bytes: of the text; size: of the row with it */
    size_t size;
    char text[];
} pithp_attempt_row;

/* Buffers rows that a scope and its children add to logs opened outside. */
typedef struct pithp_attempt_log {
    pith_scope *scope;
    struct pithp_attempt_log *outer;
    pithp_attempt_row *first, **last;
} pithp_attempt_log;

/* Data of this room for a scope (outcome.c). */
typedef struct pithp_run_room {
    pithp_attempt_log *tries; /* the running attempt; NULL: none */
    pith_run_end end;         /* of the last run */
    const void *advanced;     /* result of pith_advance, if the scope holds it */
} pithp_run_room;
/* NULL: error set. */
pithp_run_room *pithp_run_room_of(pith_scope *s);

pith_status pithp_attempt_log_begin(pithp_attempt_log *t, pith_scope *s);
/* The attempt that buffers rows of a log; NULL: rows are written at once. */
pithp_attempt_log *pithp_attempt_log_of(const pith_scope *s, const pith_run_log *log);
/* Step of the last buffered row; -1: none. */
int64_t pithp_attempt_log_last(const pithp_attempt_log *t, const pith_run_log *log);
pith_status pithp_attempt_log_add(pith_scope *s,
                                  pithp_attempt_log *t,
                                  pith_run_log *log,
                                  int64_t step,
                                  const pithp_string *text);
/* Write the rows, or pass them to the outer attempt. */
pith_status pithp_attempt_log_commit(pith_scope *s, pithp_attempt_log *t);
void pithp_attempt_log_discard(pithp_attempt_log *t);
/* Append a printed row. Its step must be the next one. */
pith_status pithp_log_write(pith_scope *s,
                            pith_run_log *log,
                            int64_t step,
                            const char *text,
                            size_t bytes);

/* ---- States (state_check.c) ---- */

/* Check that a step's result has the nodes, dtypes and ranks of its state (`before`: the
 * flat state), and the same extents unless a static differs. changed: set if one does.
 * (optional) */
pith_status pithp_state_check(pith_scope *s,
                              const char *step,
                              const pithp_flat *before,
                              const void *state,
                              const void *result,
                              bool *changed);

/* ---- Steps (propagate.c) ---- */

typedef struct pithp_stepper {
    pith_scope *s;
    const pith_function *step;
    /* Runs the step in place of pith_call; NULL: plain call. */
    const void *(*call)(pith_scope *s, const void *state, void *call_closure);
    void *call_closure;
    struct pithp_monitor *watch; /* NULL: only checks are read */
    /* Called with the checks of a passed attempt; its first call made `slots` of them. It
     * sets no error: other ranks may have no such function. (optional) */
    void (*passed)(pith_scope *work,
                   struct pithp_collector *c,
                   int64_t slots,
                   void *closure);
    /* Whether the window should end after the current call. (optional) */
    bool (*pause)(void *closure);
    int64_t max_repeats; /* of one step */
    pith_repair_callback report;
    void *closure;      /* of passed, pause and report */
    pith_scope *holder; /* scope of the committed state; NULL: the caller's */
    const void *state;  /* committed */
    int64_t number;     /* number of committed steps, for messages and reports */
    int64_t stride;     /* steps per call; 0: 1 */
    int64_t single;     /* up to this step number, compiled loops do one step */
    int64_t barrier;    /* an attempt ends at this step number if it lies ahead */
    uint64_t digest;    /* of what ranks must have in common */
    /* Lists the options in it by name, with pithp_describe_number. (optional) */
    void (*describe)(const void *options, char what[]);
    const void *options;
    bool any_result; /* a single call, whose result may have any type */
    bool asked;      /* a rank has asked for a pause of this attempt */
    bool met;        /* the state is the first with `until` true */
} pithp_stepper;

/* Commit `steps` steps, with one wait for all checks if they pass. Fewer if `met` or
 * `pause` ends them. On failure s has the error, and the steps before the failing one are
 * committed. */
bool pithp_stepper_advance(pithp_stepper *p, int64_t steps);
/* Repeats of a step allowed by the option max_tries. */
static inline int64_t pithp_repeats(int64_t max_tries) {
    return max_tries < 0 ? 0 : max_tries == 0 ? 10 : max_tries;
}

/* Append ", name=value", unless it is 0, to what a rank asks for (attempt_ranks.c). */
void pithp_describe_number(char what[], const char *name, int64_t value);

/* ---- Attempts (attempt.c) ---- */

enum { PITHP_ATTEMPT_CALLS = 1 << 20 }; /* at most; the rest is another attempt */

/* Why a call of an attempt did not pass. */
typedef enum pithp_trouble {
    PITHP_TROUBLE_NONE,
    PITHP_TROUBLE_CHECK,  /* a check failed */
    PITHP_TROUBLE_ERROR,  /* the scope of the try has an error */
    PITHP_TROUBLE_FINITE, /* the state has a non-finite value */
    PITHP_TROUBLE_UNTIL   /* no failure: the run ends with this state */
} pithp_trouble;

/* A call of an attempt. Slots are those of the collector. */
typedef struct pithp_attempt_call {
    int64_t steps;
    int64_t checks;                     /* end of the slots of the step's own checks */
    int64_t end;                        /* slots at the end of the call */
    int64_t finite, until;              /* slots of these flags; -1: none */
    const struct pithp_monitored *seen; /* NULL: not monitored */
} pithp_attempt_call;

/* Steps from one state, with one collector. */
typedef struct pithp_attempt {
    pith_scope *scope; /* child of the stepper's; holds temporaries and assertions */
    struct pithp_collector *collector;
    pithp_attempt_log log;
    pithp_attempt_call *calls;
    int64_t room, ran;  /* of calls */
    int64_t begun;      /* those with a record */
    int64_t attempted;  /* ran, and a call that failed */
    pith_scope *holder; /* of the result; NULL: none */
    const void *result;
    int64_t failing; /* the first call that did not pass; -1: all passed */
    pithp_trouble trouble;
    int64_t first; /* the rank that has it */
    bool writes;   /* the commit of a rank writes to a file */
    bool changes;  /* a step has changed a static, and extents with it */
} pithp_attempt;

/* Try steps up to `end`. false: p->s has the error, and no attempt is open. */
bool pithp_attempt_steps(pithp_stepper *p,
                         pithp_attempt *t,
                         const void *state,
                         int64_t end);
/* Commit the passed steps. false: p->s has the error of writing log rows. */
bool pithp_attempt_commit(pithp_stepper *p, pithp_attempt *t);
void pithp_attempt_end(pithp_attempt *t);
/* Number of steps before a call. */
int64_t pithp_attempt_steps_before(const pithp_attempt *t, int64_t call);

/* ---- Attempts of several ranks (attempt_ranks.c) ---- */

/* Whether the attempts of a scope are decided with other ranks. */
bool pithp_attempts_joint(const pith_scope *s);
/* Add to a digest of what ranks must have in common: the step, and the structure of the
 * state; compare the state, if that is asked for. A scope that has failed takes part.
 * false: it has. */
bool pithp_attempt_digest(pith_scope *s,
                          const pith_function *step,
                          const void *state,
                          uint64_t *digest);
/* Agree on what became of an attempt: on every rank the same call fails, or none. */
void pithp_attempt_agree(pithp_stepper *p, pithp_attempt *t);
/* Agree on a commit that has written to files, or failed to. */
bool pithp_attempt_agree_commit(const pithp_stepper *p, const pithp_attempt *t);
/* Tell the ranks that try a step that this one, whose scope has failed, does not. Does
 * nothing without ranks. */
void pithp_attempt_refuse(pith_scope *s);
/* As pithp_finite_fail, with the same error on all ranks. */
void pithp_attempt_raise_value(pithp_attempt *t);

/* Close a scope and drop its error without a log message. */
void pithp_close_quietly(pith_scope *s);
static inline int64_t pithp_stride_of(const pithp_stepper *p) {
    return p->stride ? p->stride : 1;
}

#endif
