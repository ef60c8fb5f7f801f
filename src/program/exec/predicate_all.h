/* Conjunction of predicates: all collected checks in one launch. */
#ifndef PITH_PROGRAM_EXEC_PREDICATE_ALL_H
#define PITH_PROGRAM_EXEC_PREDICATE_ALL_H

#include "gpu/collect.h"

/* pithp_evaluate (gpu_internal.h) for the host and CUDA. */
pith_status pithp_check_evaluate(pithp_stream *st,
                                 const pithp_predicate *list,
                                 int64_t count,
                                 pith_report *flag,
                                 int64_t base,
                                 pithp_error *e);

/* Enqueue the evaluation of new slots, so that c->flag covers all slots so far. Does
 * nothing on immediate devices. */
pith_status pithp_collector_conjoin(pith_scope *s, pithp_collector *c);
/* Whether all slots passed so far; waits, and copies only the flag. */
pith_status pithp_collector_all_pass(pith_scope *s, pithp_collector *c, bool *all_pass);

#endif
