/* Within command: a replay, and how it is captured. */
#ifndef PITH_PROGRAM_COMMAND_REPLAY_INTERNAL_H
#define PITH_PROGRAM_COMMAND_REPLAY_INTERNAL_H

#include "program/command/replay.h"
#include "program/command/tier_up.h"
#include "program/command/timing.h"

typedef enum way {
    AS_GRAPH,
    DRIVEN,
    STEPPED
} way; /* stepped: with a wait for each task */

/* Owned by the thread that makes it; afterwards guarded by the lock of its tier, which
 * runs hold one after the other. */
struct pithp_replay {
    pithp_tier_up tier;
    pithp_plan *calls;   /* the plan that makes calls: one reference */
    atomic_size_t bytes; /* 0 before it is READY */
    bool timed, enrols;  /* for a profile; that of the whole run */
    way how;
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

/* As pithp_tier_maker. s: its own scope, which is closed. */
pithp_tier_stage pithp_replay_capture(pith_scope *s, pithp_replay *r);
/* Capture without the library after it refused work in a run by the host; the lock is
 * held. Sets and returns the stage. */
pithp_tier_stage pithp_replay_capture_again(pith_scope *s, pithp_replay *r);
void pithp_replay_drop(pithp_replay *r);
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
