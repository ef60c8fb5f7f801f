/* Checks as work on a device: the conjunction of all that was collected, in one launch.
 */
#ifndef PITH_PROGRAM_EXEC_PREDICATE_ALL_H
#define PITH_PROGRAM_EXEC_PREDICATE_ALL_H

#include "gpu/collect.h"

/* pithp_evaluate (gpu_internal.h) on the host and on CUDA. */
pith_status pithp_check_evaluate(pithp_stream *st,
                                 const pithp_predicate *list,
                                 int64_t count,
                                 pith_report *flag,
                                 int64_t base,
                                 pithp_error *e);

/* Enqueue what makes c->flag speak of all slots so far; nothing is to be done where
 * streams run work at once. */
pith_status pithp_collector_conjoin(pith_scope *s, pithp_collector *c);
/* Whether all slots passed so far; waits, and copies the flag alone. */
pith_status pithp_collector_all_pass(pith_scope *s, pithp_collector *c, bool *all_pass);

#endif
