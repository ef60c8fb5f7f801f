/* Replays (within src/program/command). */
#ifndef PITH_PROGRAM_COMMAND_REPLAY_INTERNAL_H
#define PITH_PROGRAM_COMMAND_REPLAY_INTERNAL_H

#include "program/command/replay.h"
#include "program/command/tier_up.h"
#include "program/command/timing.h"

typedef enum way {
    AS_GRAPH,
    DRIVEN,
    STEPPED
} way; /* STEPPED: driven, with a wait after each task */

/* Owned by the thread that makes it. Then guarded by the lock of its tier, which excludes
 * runs from each other. */
struct pithp_replay {
    pithp_tier_up tier;
    pithp_plan *calls;   /* the plan that makes calls: one reference */
    atomic_size_t bytes; /* 0 before it is READY */
    bool timed, enrols;  /* it is for a profile; for the profile of the whole run */
    way how;
    /* READY: */
    pithp_plan *plan; /* the scheduled plan */
    pithp_schedule *schedule;
    pithp_code *code;     /* or NULL */
    pithp_buffer *memory; /* device memory of the command buffer */
    const void **fused;   /* the kernels of fused steps, then their combined forms (or
                             NULL), then the kernel of decisions */
    struct pithp_graph *graph;
    struct pithp_graph **segments; /* in the place of `graph`, of a program with
                                      collectives: its ranges of tasks between those that
                                      the host makes */
    int32_t segment_count;
    bool captured;                 /* segments are made, on all ranks */
    uint64_t *table;               /* of the current run */
    struct pithp_profile *profile; /* its own; NULL if it is not timed, or for the profile
                                      of the whole run */
    pithp_timing *timing;          /* NULL: its runs are not timed */
    pithp_stream *last;
};

static inline size_t fused_bytes(const pithp_replay *r) {
    return (2 * (size_t)r->schedule->fused_count + 1) * sizeof *r->fused;
}
static inline size_t table_bytes(const pithp_replay *r) {
    return (size_t)r->schedule->table_count * sizeof *r->table;
}

/* ---- Segments (segments.c) ---- */

/* Find the segments of the command buffer. False: memory is short. */
bool pithp_segments_find(pithp_replay *r);
/* Make their graphs: all or none. With moves between ranks, on all ranks at once. */
bool pithp_segments_make(pith_scope *s, pithp_replay *r, pithp_error *e);
void pithp_segments_drop(pithp_replay *r); /* the graphs */
void pithp_segments_free(pithp_replay *r);

/* ---- Capture (capture.c) ---- */

/* Make the replay, as pithp_tier_maker. s: a scope of its own, which it closes. */
pithp_tier_stage pithp_replay_capture(pith_scope *s, pithp_replay *r);
/* Capture without the library after it refused work in a run by the host; the lock is
 * held. Sets and returns the stage. */
pithp_tier_stage pithp_replay_capture_again(pith_scope *s, pithp_replay *r);
/* Free all that was made. */
void pithp_replay_drop(pithp_replay *r);
/* The kernel of a task; NULL: the reason is in e. The closure is a replay. */
const void *pithp_replay_kernel(void *replay, const pithp_task *task, pithp_error *e);
/* Build a command buffer. NULL: the reason is in e, or the scope's error is set. */
pithp_schedule *
pithp_replay_schedule(pith_scope *s, const pithp_plan *plan, pithp_error *e);
/* Estimated bytes of a command buffer, its plan, kernels and graph. */
size_t
pithp_replay_size(const pithp_schedule *schedule, const pithp_plan *plan, bool graph);
/* How the device's library makes products; loads it on first use. */
pithp_gemm_use pithp_replay_gemm_use(pithp_device *d);

#endif
