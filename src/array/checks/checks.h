/* The checks of a trace, as those see them who record programs and run them: the values
 * that checks need are more outputs of the program. What they are is known above
 * (src/assert/recorded.c). */
#ifndef PITH_ARRAY_CHECKS_H
#define PITH_ARRAY_CHECKS_H

#include "array/array_internal.h"

typedef struct pithp_checks pithp_checks;

/* Take what was recorded in t and make its values the next outputs of its program. What
 * follows from the failure of a loop or a branch passes. part: t is a part of control
 * flow. *checks: NULL where there is nothing, else the caller's. False: error set. */
bool pithp_checks_take(pith_scope *s, pithp_trace *t, bool part, pithp_checks **checks);
/* How many outputs those are; NULL: 0. */
int64_t pithp_checks_values(const pithp_checks *c);
/* Record what comes in the trace of s in a list of its own. False: error set. */
bool pithp_checks_begin(pith_scope *s);
/* Up to here: the list, which the trace has not made its own, or NULL. *asked: what was
 * recorded asks for the checks before it. */
pithp_checks *pithp_checks_end(pithp_trace *t, bool *asked);
/* The value in the program of the trace that it was recorded in. */
int32_t pithp_checks_value(const pithp_checks *c, int64_t value);
/* Record the checks of a program that is called in the trace of s: arrays of that trace.
 * part: it is a part of control flow, and they are results of the instruction. */
pith_status pithp_checks_replay(pith_scope *s,
                                pithp_checks *c,
                                const pith_array *const *values,
                                bool part);
/* Whether a value is a predicate of one bool: a flag. */
bool pithp_checks_is_flag(const pithp_checks *c, int64_t value);
/* Say where the values of every run will lie: at those bytes of one buffer, or apart from
 * it (negative). Only flags lie in its first `flags` bytes, without gaps. Before this all
 * are apart. */
void pithp_checks_lay_out(pithp_checks *c, const int64_t *places, int64_t flags);
/* Where elements lie, in a buffer that outlives the call. */
typedef struct pithp_held {
    void *data;
    pithp_buffer *buffer;
} pithp_held;
/* The values that a run gave. */
typedef struct pithp_run_values {
    pithp_buffer *buffer;    /* NULL: all are apart */
    const pithp_held *apart; /* those that are, in order */
} pithp_run_values;
/* Make the checks of a run. */
pith_status
pithp_checks_make(pith_scope *s, pithp_checks *c, const pithp_run_values *values);
void pithp_checks_retain(pithp_checks *c); /* NULL does nothing, here and below */
void pithp_checks_release(pithp_checks *c);

/* The report of an instruction, u64[4], is one of its results: note that a run examines
 * it. merges: reports of several runs may be joined word by word,
 * by the maximum; else the first one that failed stays. */
pith_status pithp_trace_report(pith_scope *s,
                               const pith_array *report,
                               pithp_check_describe describe,
                               const void *subject,
                               bool merges);

/* ---- Checks of control flow: values of bodies and branches, in a scope that traces.
 * Arrays are as many as pithp_checks_values. False and NULL: error set ---- */

/* What passes: the values of a branch that is not taken, and before the first iteration.
 */
bool pithp_checks_neutral(pith_scope *s,
                          const pithp_checks *c,
                          const pith_array **values);
/* The same as the bits that every element of that value has. */
uint64_t pithp_checks_neutral_bits(const pithp_checks *c, int64_t value);
/* The values of checks before and in an iteration. */
typedef struct pithp_checks_step {
    const pith_array *const *before, *const *now;
    /* Values that depend on what the loop carries: they count as long as that is sound
     * (bool []), up to and including the first iteration in which a check failed that has
     * a fix. Others count in all iterations. NULL: none depends on it. */
    const bool *carried;
    const pith_array *sound;
} pithp_checks_step;
/* What is kept after that iteration. */
bool pithp_checks_merge(pith_scope *s,
                        const pithp_checks *c,
                        const pithp_checks_step *step,
                        const pith_array **kept);
/* Whether all pass: bool []. */
const pith_array *pithp_checks_passed(pith_scope *s,
                                      const pithp_checks *c,
                                      const pith_array *const *values);
/* Whether some are needs or have a fix, and whether all of those pass: what is computed
 * is sound. */
bool pithp_checks_repair(const pithp_checks *c);
const pith_array *
pithp_checks_sound(pith_scope *s, const pithp_checks *c, const pith_array *const *values);

#endif
