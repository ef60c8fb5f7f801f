/* Checks of functions that are traced. A program has no checks: what they need (the
 * predicate, the arguments, the leaves of fix arguments, the report of a launch) are more
 * outputs of it. After a run the checks are made again of what came out, in order, as if
 * the function had run call by call. */
#ifndef PITH_ASSERT_RECORDED_H
#define PITH_ASSERT_RECORDED_H

#include "array/checks/list.h"
#include "assert/assert_internal.h"

/* ---- Recording, in a scope that traces ---- */

/* A check that was written down in memory of the list: its predicate, then its arguments.
 * Its fix arguments are replaced. */
pith_status pithp_assertion_record(pith_scope *s,
                                   pith_assertion *a,
                                   const pith_array *const *values,
                                   bool greatest);
/* As pithp_guard_add. */
pith_status pithp_guard_record(pith_scope *s,
                               const char *name,
                               const char *path,
                               const pithp_fix *fix);
/* pithp_collector_rebase of the entries from `first` on. */
pith_status pithp_recorded_rebase(pith_scope *s, int64_t first, pithp_rebase r);

/* ---- After a run ---- */

/* The assertion of an entry that is a check. */
static inline const pith_assertion *pithp_recorded_assertion(const pithp_recorded *r) {
    return r->data;
}
/* The fix arguments that a run gave, in memory of owner; values are those of r. NULL:
 * there are none, or the error is set. */
const void *pithp_recorded_fix_args(pith_scope *s,
                                    pith_scope *owner,
                                    const pithp_recorded *r,
                                    const pith_array *const *values);
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
