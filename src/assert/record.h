/* Checks of functions that are traced. A program has no checks: what they need (the
 * predicate, the arguments, the leaves of fix arguments, the report of a launch) are more
 * outputs of it. After a run the checks are made again of what came out, in order, as if
 * the function had run call by call. */
#ifndef PITH_ASSERT_RECORD_H
#define PITH_ASSERT_RECORD_H

#include "array/checks.h"
#include "assert/assert_internal.h"

/* ---- Recording, in a scope that traces ---- */

/* The list of the trace of s. NULL: error set. */
pithp_checks *pithp_checks_of(pith_scope *s);
/* Memory that lives as long as the list. */
pith_scope *pithp_checks_store(const pithp_checks *c);
/* A check that was written down in that memory: its predicate, then its arguments. Its
 * fix arguments are replaced. */
pith_status pithp_checks_record(pith_scope *s,
                                pith_assertion *a,
                                const pith_array *const *values,
                                bool greatest);
/* As pithp_guard_add. */
pith_status pithp_checks_record_guard(pith_scope *s,
                                      const char *name,
                                      const char *path,
                                      const pithp_fix *fix);
/* How many there are, and pithp_collector_rebase of those from there on. */
int64_t pithp_checks_mark(pith_scope *s);
pith_status pithp_checks_rebase(pith_scope *s, int64_t first, pithp_rebase r);
/* The conjunction of those recorded so far. NULL: error set. */
const pith_array *pithp_checks_so_far(pith_scope *s);

/* One that was recorded, in memory of owner and part of no collector yet. NULL: error
 * set. */
pith_assertion *pithp_assertion_again(pith_scope *s,
                                      pith_scope *owner,
                                      pithp_checks *from,
                                      const pith_assertion *recorded,
                                      const pith_array *const *values,
                                      const void *fix_args);
/* Make one that was recorded: collected, or pending where nobody collects. */
void pithp_check_again(pith_scope *s,
                       pithp_checks *from,
                       const pith_assertion *recorded,
                       const pith_array *const *values,
                       const void *fix_args);

#endif
