/* Reports of lengths: whether the rows of a record suffice for the iterations of a loop,
 * and whether an array has the rows that are in use. */
#ifndef PITH_ARRAY_CHECK_LENGTH_H
#define PITH_ARRAY_CHECK_LENGTH_H

#include "array/checks/checks.h"
#include "gpu/collect.h"

/* A record of a loop. */
typedef struct pithp_record {
    const char *function; /* name of the user's call, a literal */
    const char *name;     /* of its guard; NULL: none */
    int64_t most;         /* rows, at least 1 */
    bool suffices;        /* the loop has no more iterations: there is no check */
} pithp_record;

/* Record the check that a record has enough rows. rows: i64 [], of the trace of s. */
pith_status
pithp_trace_length(pith_scope *s, const pithp_record *record, const pith_array *rows);
/* Values of a loop do not depend on its record, so that later checks count after a record
 * was too small. Results of a derivation do: mark its checks. c may be NULL. */
void pithp_lengths_lose(pithp_checks *c);
/* As pithp_kernel_lacks, for the name of a record. */
const char *pithp_length_lacks(const pithp_check_slot *slot, int64_t *need);

/* ---- Rows in use ----
 *
 * The number is from 0 to `most`. A wrong one has no fix, but may follow from a capacity
 * that is too small: see pithp_rows_exceed. function: name of the user's call, a
 * literal. */

/* Record the check of a number: i64 [], of the trace of s. */
pith_status pithp_trace_rows(pith_scope *s,
                             const char *function,
                             int64_t most,
                             const pith_array *rows);
/* A wrong number of an eager call: a failed check if checks are collected, and else the
 * error of s. */
pith_status
pithp_rows_fail(pith_scope *s, const char *function, int64_t most, int64_t rows);
/* Whether a failed check is one of these: if another check fails that has a fix, it
 * follows from that one. */
bool pithp_rows_exceed(const pithp_check_slot *slot);

#endif
