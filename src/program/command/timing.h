/* Timing of the tasks of a command buffer that the host runs one by one, for a profile.
 * The device reads a clock at marks in the stream, before and after each task. If a
 * backend has no marks, the host waits for each task. */
#ifndef PITH_PROGRAM_COMMAND_TIMING_H
#define PITH_PROGRAM_COMMAND_TIMING_H

#include "gpu/graph.h"
#include "program/profile/profile.h"

typedef struct pithp_timing pithp_timing;

/* NULL if memory is short. */
pithp_timing *pithp_timing_make(pithp_device *d, pithp_profile *profile);
void pithp_timing_free(pithp_timing *t); /* NULL does nothing */

/* Begin and end a run on a stream; one run at a time. */
pith_status pithp_timing_begin(pithp_timing *t, pithp_stream *st, pithp_error *e);
pith_status pithp_timing_end(pithp_timing *t, pithp_error *e);
/* Called after a task was enqueued. */
pith_status pithp_timing_task(pithp_timing *t, const pithp_task *task, pithp_error *e);
/* Called when a loop or branch begins. */
void pithp_timing_enter(const pithp_timing *t, const pithp_task *task);

#endif
