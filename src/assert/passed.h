/* Within assert: runs of compiled functions whose checks all passed. Such a run takes one
 * slot, and its assertions are made on first use, which is rare. */
#ifndef PITH_ASSERT_PASSED_H
#define PITH_ASSERT_PASSED_H

#include "assert/recorded.h"

typedef struct pithp_passed pithp_passed;

/* Add one slot to the collector of s for all checks of a passed run; values as for
 * pithp_checks_make. */
pith_status
pithp_passed_collect(pith_scope *s, pithp_checks *from, const pithp_run_values *values);
/* The passed run of a slot; NULL: an ordinary slot. */
pithp_passed *pithp_passed_of(pithp_check_slot *slot);
int64_t pithp_passed_count(const pithp_passed *p);
/* Its assertions in order, pithp_passed_count of them; the same pointers every time.
 * NULL: error set. */
pith_assertion *const *pithp_passed_assertions(pith_scope *s, pithp_passed *p);

#endif
