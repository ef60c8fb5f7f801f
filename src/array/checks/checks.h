/* Checks of a trace: the interface for recording and running programs. Values needed by
 * checks are additional outputs of the program. Their meaning is known above
 * (src/assert/recorded.c). */
#ifndef PITH_ARRAY_CHECKS_H
#define PITH_ARRAY_CHECKS_H

#include "array/array_internal.h"

typedef struct pithp_checks pithp_checks;

/* Take the checks recorded in t; their values become the next outputs of its program.
 * Checks that follow from a failed loop or branch pass. part: t is a part of control
 * flow. *checks: NULL if there are none; otherwise owned by the caller. False: error
 * set. */
bool pithp_checks_take(pith_scope *s, pithp_trace *t, bool part, pithp_checks **checks);
/* Number of these outputs; NULL: 0. */
int64_t pithp_checks_values(const pithp_checks *c);
/* Number of checks; and the first value of check i, and their number. */
int64_t pithp_checks_count(const pithp_checks *c);
int64_t pithp_checks_first(const pithp_checks *c, int64_t i, int64_t *count);
/* The spec of a value. */
const pith_spec *pithp_checks_spec(const pithp_checks *c, int64_t value);
/* Whether check i and check k of another list have one call site and values of the same
 * dtypes and ranks: if a function is recorded twice, its checks in order. */
bool pithp_checks_alike(const pithp_checks *c,
                        int64_t i,
                        const pithp_checks *others,
                        int64_t k);
/* What tells a check from others: its call site, or NULL, and a hash of its values as
 * expressions. */
typedef struct pithp_check_id {
    const char *site;
    uint64_t values;
} pithp_check_id;
/* Those of a list from check `from` on, in memory of s. hashes: of the values of the
 * program that recorded them. NULL: error set. */
pithp_check_id *pithp_checks_ids(pith_scope *s,
                                 const pithp_checks *c,
                                 int64_t from,
                                 const uint64_t *hashes);
/* The number of checks that the trace of s has recorded. */
int64_t pithp_checks_mark(pith_scope *s);
/* Drop the checks, of which `own` tells, that are in another list, each once: their sites
 * there are set to NULL. kept: set for each value of the list before. */
void pithp_checks_drop(pithp_checks *c,
                       const pithp_check_id *own,
                       int64_t count,
                       pithp_check_id *others,
                       bool *kept);
/* Record later checks of the trace of s in a separate list. False: error set. */
bool pithp_checks_begin(pith_scope *s);
/* End that list and return it, detached from the trace; or NULL. *asked: a recorded
 * operation uses the outcome of earlier checks. */
pithp_checks *pithp_checks_end(pithp_trace *t, bool *asked);
/* The value in the program of the trace that recorded the check. */
int32_t pithp_checks_value(const pithp_checks *c, int64_t value);
/* Record the checks of a program called in the trace of s: arrays of that trace. part:
 * the program is a part of control flow, and the arrays are results of its
 * instruction. */
pith_status pithp_checks_replay(pith_scope *s,
                                pithp_checks *c,
                                const pith_array *const *values,
                                bool part);
/* The same for check i alone. values: its own. */
pith_status pithp_checks_replay_one(pith_scope *s,
                                    pithp_checks *c,
                                    int64_t i,
                                    const pith_array *const *values,
                                    bool part);
/* Record the checks of a batch of a program called in the trace of s. batched: of each
 * value, whether it has the entries along axis 0. A check is one of the batch: the
 * predicate keeps the axis, arguments are those of the first entry that fails, and fix
 * arguments too or the greatest of all (batch.c). */
pith_status pithp_checks_replay_batch(pith_scope *s,
                                      pithp_checks *c,
                                      const pith_array *const *values,
                                      const bool *batched,
                                      int64_t size);
/* The same for check i alone, whose values all have the entries along these first axes.
 * part: as for pithp_checks_replay. */
pith_status pithp_checks_replay_batch_one(pith_scope *s,
                                          pithp_checks *c,
                                          int64_t i,
                                          const pith_array *const *values,
                                          int axes,
                                          bool part);
/* Whether a value is a flag: a predicate of one bool. */
bool pithp_checks_is_flag(const pithp_checks *c, int64_t value);
/* Fix the layout of the values of all runs: byte offsets in one buffer, or separate
 * (negative). The first `flags` bytes hold flags only, without gaps. Before this call all
 * values are separate. */
void pithp_checks_lay_out(pithp_checks *c, const int64_t *places, int64_t flags);
/* Elements in a buffer that outlives the call. */
typedef struct pithp_held {
    void *data;
    pithp_buffer *buffer;
} pithp_held;
/* The values of a run. */
typedef struct pithp_run_values {
    pithp_buffer *buffer;    /* NULL: all are separate */
    const pithp_held *apart; /* the separate values, in order */
} pithp_run_values;
/* Make the checks of a run. */
pith_status
pithp_checks_make(pith_scope *s, pithp_checks *c, const pithp_run_values *values);
void pithp_checks_retain(pithp_checks *c); /* NULL is accepted, here and below */
void pithp_checks_release(pithp_checks *c);

/* Register the report of an instruction (u64[4], one of its results) for examination by
 * runs. merges: reports of several runs are joined word by word by the maximum; otherwise
 * the first failed report stays. */
pith_status pithp_trace_report(pith_scope *s,
                               const pith_array *report,
                               pithp_check_describe describe,
                               const void *subject,
                               bool merges);

/* ---- Checks of control flow: values of bodies and branches, in a tracing scope. Arrays
 * number pithp_checks_values. False and NULL: error set ---- */

/* Passing values: for a branch not taken, and before the first iteration. */
bool pithp_checks_neutral(pith_scope *s,
                          const pithp_checks *c,
                          const pith_array **values);
/* The bits of every element of a passing value. */
uint64_t pithp_checks_neutral_bits(const pithp_checks *c, int64_t value);
/* Values of checks before and in an iteration. */
typedef struct pithp_checks_step {
    const pith_array *const *before, *const *now;
    /* Values that depend on the carry count while `sound` (bool []) is true: up to and
     * including the first iteration with a failed check that has a fix. Others count in
     * all iterations. NULL: none depends on the carry. */
    const bool *carried;
    const pith_array *sound;
} pithp_checks_step;
/* The merged values after the iteration. */
bool pithp_checks_merge(pith_scope *s,
                        const pithp_checks *c,
                        const pithp_checks_step *step,
                        const pith_array **kept);
/* The same for the values of check i alone. */
bool pithp_checks_merge_one(pith_scope *s,
                            const pithp_checks *c,
                            int64_t i,
                            const pithp_checks_step *step,
                            const pith_array **kept);
/* Whether all checks pass whose failure ends a loop: bool []. */
const pith_array *pithp_checks_passed(pith_scope *s,
                                      const pithp_checks *c,
                                      const pith_array *const *values);
/* Whether any check is a need or has a fix, and whether all of these pass, so that
 * results are sound. */
bool pithp_checks_repair(const pithp_checks *c);
const pith_array *
pithp_checks_sound(pith_scope *s, const pithp_checks *c, const pith_array *const *values);

#endif
