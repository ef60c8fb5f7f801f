/* Collectives of programs, which the host makes between the other steps. */
#ifndef PITH_PROGRAM_COMMAND_COLLECTIVE_H
#define PITH_PROGRAM_COMMAND_COLLECTIVE_H

#include "program/collective/collective.h"
#include "program/plan/plan.h"

/* Begin a run whose program has collectives, on all ranks. They agree that they run the
 * same program, and that each has the memory for it: a scope that has failed takes part
 * with its error. Afterwards collectives compare nothing. Not PITH_OK: no rank runs, and
 * every scope has an error. */
pith_status pithp_ranks_begin(pith_scope *s, pithp_plan *plan);

/* The same, which the caller ends by pithp_collective_end after true. false: the error of
 * s is set, on all ranks. With the first meeting of a plan the ranks connect the groups
 * of its collectives. */
bool pithp_ranks_have_met(const pithp_plan *plan);
bool pithp_ranks_meet(pith_scope *s, pithp_plan *plan);

/* Run a step whose row is a collective. memory->host: used if the host does not reach the
 * device; else the host's memory is behind that of the device. */
pith_status pithp_run_collective(pith_scope *s,
                                 const pithp_step *step,
                                 const pithp_collective_memory *memory);

#endif
