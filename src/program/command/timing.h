/* How long the tasks of a schedule take that the host drives, for a profile: by marks in
 * the stream before and after each, which the device reads a clock at; where a backend
 * has none, by waiting for each. */
#ifndef PITH_PROGRAM_COMMAND_TIMING_H
#define PITH_PROGRAM_COMMAND_TIMING_H

#include "gpu/graph.h"
#include "program/profile/profile.h"

typedef struct pithp_timing pithp_timing;

/* NULL: memory is short. */
pithp_timing *pithp_timing_make(pithp_device *d, pithp_profile *profile);
void pithp_timing_free(pithp_timing *t); /* NULL does nothing */

/* Around a run on a stream; one at a time. */
pith_status pithp_timing_begin(pithp_timing *t, pithp_stream *st, pithp_error *e);
pith_status pithp_timing_end(pithp_timing *t, pithp_error *e);
/* A task was enqueued. */
pith_status pithp_timing_task(pithp_timing *t, const pithp_task *task, pithp_error *e);
/* A loop or branch begins. */
void pithp_timing_enter(const pithp_timing *t, const pithp_task *task);

#endif
