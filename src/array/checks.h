/* The checks of a trace, as those see them who record programs and run them: the values
 * that checks need are more outputs of the program. What they are is known above
 * (src/assert/record.c). */
#ifndef PITH_ARRAY_CHECKS_H
#define PITH_ARRAY_CHECKS_H

#include "array/array_internal.h"

typedef struct pithp_checks pithp_checks;

/* Take what was recorded in t and make its values the next outputs of its program.
 * *checks: NULL where there is nothing, else the caller's. False: error set. */
bool pithp_checks_take(pith_scope *s, pithp_trace *t, pithp_checks **checks);
/* How many outputs those are; NULL: 0. */
int64_t pithp_checks_values(const pithp_checks *c);
/* Make the checks of a run: concrete arrays of s, which may be dropped afterwards, or
 * arrays of the trace of s, in which the checks are then recorded. */
pith_status
pithp_checks_replay(pith_scope *s, pithp_checks *c, const pith_array *const *values);
void pithp_checks_retain(pithp_checks *c); /* NULL does nothing, here and below */
void pithp_checks_release(pithp_checks *c);

#endif
