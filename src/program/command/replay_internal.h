/* Within command: a replay, and how it is captured. */
#ifndef PITH_PROGRAM_COMMAND_REPLAY_INTERNAL_H
#define PITH_PROGRAM_COMMAND_REPLAY_INTERNAL_H

#include "gpu/compile/background.h"
#include "program/command/replay.h"
#include "program/command/timing.h"

typedef enum stage { COUNTING, MAKING, READY, NEVER } stage;
typedef enum way {
    AS_GRAPH,
    DRIVEN,
    STEPPED
} way; /* stepped: with a wait for each task */

/* Owned by the thread that makes it; afterwards guarded by the lock. */
struct pithp_replay {
    pith_runtime *runtime;
    atomic_int refs;            /* of the plan, and of who makes it */
    atomic_bool abandoned;      /* the plan is gone */
    pthread_mutex_t lock;       /* of runs; where they wait for it, also of making it */
    pithp_background_work work; /* to make it */
    atomic_int stage;
    atomic_int runs;     /* counted while it is COUNTING */
    atomic_int due;      /* number of runs after which it is made */
    int pause;           /* runs before the next try after a shortage */
    atomic_size_t bytes; /* 0 before it is READY */
    bool wait;
    bool timed, enrols; /* for a profile; that of the whole run */
    way how;
    /* Of the plan that makes calls, for who makes the other: */
    pithp_program *program; /* one reference */
    char name[PITHP_PLAN_NAME_BYTES];
    pithp_place *outputs;
    int64_t *reused; /* behind them; NULL: nothing is */
    size_t wanted_bytes;
    /* READY: */
    pithp_plan *plan; /* for the schedule */
    pithp_schedule *schedule;
    pithp_code *code;     /* NULL: it needs none */
    pithp_buffer *memory; /* the schedule's, on the device */
    const void **fused; /* its kernels; those for the work of many, or NULL, behind them,
                           and the decision's */
    struct pithp_graph *graph;
    uint64_t *table;               /* of the run at work */
    struct pithp_profile *profile; /* timed and not enrolled: its own; or NULL */
    pithp_timing *timing;          /* NULL: its runs are not timed */
    pithp_stream *last;
};

static inline size_t fused_bytes(const pithp_replay *r) {
    return (2 * (size_t)r->schedule->fused_count + 1) * sizeof *r->fused;
}
static inline size_t table_bytes(const pithp_replay *r) {
    return (size_t)r->schedule->table_count * sizeof *r->table;
}

/* ---- Making it (capture.c) ---- */

/* By the thread that has taken the stage from COUNTING: afterwards it is READY, NEVER, or
 * COUNTING again after a shortage. The scope is its own, and is closed. */
void pithp_replay_capture(pith_scope *s, pithp_replay *r);
/* By our own kernels, where the library refused in a run that the host drove; the lock is
 * held. Returns the stage. */
stage pithp_replay_capture_again(pith_scope *s, pithp_replay *r);
/* It will not be made; without what it has of it. */
void pithp_replay_never(pithp_replay *r);
/* Memory was short: it will be tried again after some runs, twice as many each time. */
void pithp_replay_postpone(pithp_replay *r);
void pithp_replay_drop(pithp_replay *r);
void pithp_replay_forget_wanted(pithp_replay *r); /* of the plan that makes calls */
/* What a task launches; NULL: e says why. The closure is a replay. */
const void *pithp_replay_kernel(void *replay, const pithp_task *task, pithp_error *e);
/* NULL: e says why, or the scope's error is set. */
pithp_schedule *
pithp_replay_schedule(pith_scope *s, const pithp_plan *plan, pithp_error *e);
/* Bytes of what is made of a schedule, about. */
size_t
pithp_replay_size(const pithp_schedule *schedule, const pithp_plan *plan, bool graph);
pithp_gemm_use pithp_replay_gemm_use(pithp_device *d);

#endif
