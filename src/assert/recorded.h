/* Checks of traced functions. A program has no checks: their values (predicate,
 * arguments, leaves of fix arguments, report of a launch) are additional outputs. After a
 * run, the checks are replayed with these outputs in order, as if the function had run
 * eagerly. */
#ifndef PITH_ASSERT_RECORDED_H
#define PITH_ASSERT_RECORDED_H

#include "array/checks/list.h"
#include "assert/assert_internal.h"

/* ---- Recording, in a tracing scope ---- */

/* Record a check that is in memory of the list: its predicate, then its arguments. Its
 * fix arguments are replaced. */
pith_status pithp_assertion_record(pith_scope *s,
                                   pith_assertion *a,
                                   const pith_array *const *values,
                                   bool greatest);
/* As pithp_guard_add. */
pith_status pithp_guard_record(pith_scope *s,
                               const char *name,
                               const char *path,
                               const pithp_fix *fix);
/* pithp_collector_rebase for entries from `first` on. */
pith_status pithp_recorded_rebase(pith_scope *s, int64_t first, pithp_rebase r);

/* ---- After a run ---- */

/* The assertion of an entry that is a check. */
static inline const pith_assertion *pithp_recorded_assertion(const pithp_recorded *r) {
    return r->data;
}
/* The fix arguments of a run, in memory of owner; values are those of r. NULL: none, or
 * the error is set. */
const void *pithp_recorded_fix_args(pith_scope *s,
                                    pith_scope *owner,
                                    const pithp_recorded *r,
                                    const pith_array *const *values);
/* An instance of a recorded check in memory of owner, not yet in a collector. NULL: error
 * set. */
pith_assertion *pithp_assertion_again(pith_scope *s,
                                      pith_scope *owner,
                                      pithp_checks *from,
                                      const pith_assertion *recorded,
                                      const pith_array *const *values,
                                      const void *fix_args);
/* Instantiate a recorded check: collected, or pending without a collector. */
void pithp_check_again(pith_scope *s,
                       pithp_checks *from,
                       const pith_assertion *recorded,
                       const pith_array *const *values,
                       const void *fix_args);

#endif
