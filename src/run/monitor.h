/* Within run: monitoring of states after each step, and compiled loops of steps. */
#ifndef PITH_MONITOR_H
#define PITH_MONITOR_H

#include "pith/run.h"

#include "tree/tree_internal.h"

/* Which steps of a call have a log row. */
typedef enum pithp_row_mode {
    PITHP_ROWS_NONE,
    PITHP_ROWS_LAST,
    PITHP_ROWS_ALL
} pithp_row_mode;

/* A compiled loop of a run. */
typedef struct pithp_step_loop {
    struct pithp_step_loop *next;
    int64_t steps;
    pithp_row_mode rows;
    const pith_function *function;
} pithp_step_loop;

typedef struct pithp_monitor {
    const pith_function *until, *row; /* NULL: not requested */
    bool finite;
    pith_run_log *log;               /* for rows */
    int64_t row_every;               /* rows at multiples of it, 1 or more */
    int64_t row_after;               /* the log already has the rows up to this step */
    int64_t launch;                  /* steps of a compiled loop; 0: plain calls */
    pith_scope *scope;               /* of the functions made for the run */
    const pith_function *all_finite; /* compiled on first use */
    pithp_step_loop *loops;
} pithp_monitor;

/* Monitored values of one call. */
typedef struct pithp_monitored {
    const pith_array *finite, *go_on; /* bool of rank 0; NULL: not asked for */
    const void *row; /* record of scalars; `stacked`: with a leading axis of steps */
    bool stacked;
} pithp_monitored;

/* Monitor a state after a step, in `s`. Errors are set on s. */
pith_status pithp_monitor_state(pith_scope *s,
                                pithp_monitor *w,
                                const void *state,
                                pithp_row_mode rows,
                                pithp_monitored *seen);
/* The state after `steps` steps in one compiled call (step_loop.c). NULL: error set. */
const void *pithp_step_loop_run(pith_scope *s,
                                pithp_monitor *w,
                                const pith_function *step,
                                const void *state,
                                int64_t steps,
                                pithp_row_mode rows,
                                pithp_monitored *seen);
/* Whether all float leaves of a tree are finite: bool of rank 0 (finite.c). */
const pith_array *pithp_all_finite(pith_scope *s, const void *tree);
/* Set PITH_E_CHECK for the first non-finite element; waits. */
pith_status pithp_finite_fail(pith_scope *s, const void *tree);
/* Write the rows of a call whose first step has the number `first` (log_row.c). */
pith_status pithp_rows_write(pith_scope *s,
                             const pithp_monitor *w,
                             const pithp_monitored *seen,
                             int64_t first,
                             int64_t steps);
/* Check that a tree is a record of scalars. */
pith_status pithp_row_check(pith_scope *s, const void *row);

#endif
