/* Checks in the functions of rules. They are recorded while a program is derived, and
 * belong to the trace that the derived program is added to. */
#ifndef PITH_TRACE_DERIVE_RULE_CHECKS_H
#define PITH_TRACE_DERIVE_RULE_CHECKS_H

#include "array/checks/checks.h"
#include "program/derive/lift.h"

/* Those of a derived program, with their values in the trace. */
typedef struct pithp_rule_checks {
    pithp_lifted_list lifted;
    pithp_value *values; /* in memory of the scope */
    int64_t next;        /* of the list and of the values, to record watches in order */
    pithp_value *next_values;
} pithp_rule_checks;

/* Make rows of the last outputs of a program that was recorded, the values of its checks.
 * Those that are among others, which are made elsewhere, are dropped. The program has no
 * other user yet. inputs: the hashes of its inputs among the values of the others. place:
 * of a watch (pithp_exposed); 0 for others. False sets the error. */
bool pithp_rule_checks_expose(pith_scope *s,
                              pithp_program *p,
                              pithp_checks *checks,
                              const uint64_t *inputs,
                              int64_t other_count,
                              const pithp_check_id *others,
                              int64_t place);
/* Add a derived program to the trace of s. checks: receives those of rules, which are to
 * be ended in any case. False sets the error. */
bool pithp_rule_checks_inline(pith_scope *s,
                              pithp_program *p,
                              const pithp_value *inputs,
                              pithp_value *outputs,
                              pithp_rule_checks *checks);
/* Record those of rules of the user in the trace of s. */
pith_status pithp_rule_checks_record(pith_scope *s, const pithp_rule_checks *checks);
/* Record watches inside of control flow, in their order, up to the first whose place in
 * that order is not before `end`: of cotangents, which are watched from the last to the
 * first, `places from end on`. */
pith_status pithp_rule_checks_watch(pith_scope *s,
                                    pithp_rule_checks *checks,
                                    int64_t end,
                                    bool reverse);
void pithp_rule_checks_end(pithp_rule_checks *checks);

#endif
