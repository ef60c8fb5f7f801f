/* Within assert: runs of compiled functions whose checks all passed. Most of them are
 * never looked at, so that a run costs one slot, and its assertions are made when
 * somebody asks for them. */
#ifndef PITH_ASSERT_PASSED_H
#define PITH_ASSERT_PASSED_H

#include "assert/recorded.h"

typedef struct pithp_passed pithp_passed;

/* Give the collector of s one slot for all checks of a run, which are known to have
 * passed; values as for pithp_checks_make. */
pith_status
pithp_passed_collect(pith_scope *s, pithp_checks *from, const pithp_run_values *values);
/* The run that a slot stands for; NULL: it stands for itself. */
pithp_passed *pithp_passed_of(pithp_check_slot *slot);
int64_t pithp_passed_count(const pithp_passed *p);
/* Its assertions in order, as many as the count; the same ones every time. NULL: error
 * set. */
pith_assertion *const *pithp_passed_assertions(pith_scope *s, pithp_passed *p);

#endif
