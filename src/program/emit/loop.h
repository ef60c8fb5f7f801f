/* Loops of small steps in compiled code: a scan or while whose steps, and those of the
 * loops and branches in it, have few elements. One call runs all iterations. */
#ifndef PITH_PROGRAM_EMIT_LOOP_H
#define PITH_PROGRAM_EMIT_LOOP_H

#include "program/emit/emit.h"

/* The carries of a loop: operands from `first` on, results from 0 on. */
typedef struct pithp_carried {
    int first, count;
} pithp_carried;
pithp_carried pithp_carries_of(const pithp_instruction *i);

/* The operand that a result of a loop always is, for it is carried and handed on; -1: it
 * is made. */
int pithp_handed_on(const pithp_instruction *i, int result);

/* Where the second buffer of a carry is in the step's workspace, which ends where that of
 * the carry behind the last one would be. A carry that is updated in place has none. */
size_t pithp_spare_offset(const pithp_step *step, int carry);

/* Whether a step of control flow is such a loop. */
bool pithp_loop_fits(const pithp_plan *plan, const pithp_step *step);

/* What its function gets is a table of addresses: the operands, the results, the step's
 * workspace, the scope, pithp_step_call, pithp_ticks, the tally, then of each plan in it
 * (those of a step in order, each followed by those within it) the literals, the
 * constants, and the steps that are called. It writes no result that is passed and handed
 * on, and ends at once where a call fails: the scope has the error. */
int pithp_loop_addresses(const pithp_step *step);

/* Fill in what comes after the workspace. tally: of profile/watch.h, where the plan has a
 * profile. */
struct pithp_tally;
void pithp_loop_fill(pith_scope *s,
                     const pithp_step *step,
                     struct pithp_tally *tally,
                     const void **table);

/* Define what the function needs, then, to follow its name, its parameters and body:
 *     (const void *args, i64 begin, i64 end) { ... }
 * whatever begin and end are. */
void pithp_emit_loop_rows(pithp_text *t,
                          pithp_emitted_rows *rows,
                          const pithp_step *step);
void pithp_emit_loop(pithp_text *t, const pithp_plan *plan, const pithp_step *step);

#endif
