/* Loops of small steps in compiled code: a scan or while whose steps, and those of the
 * loops and branches in it, have few elements. One call runs all iterations. */
#ifndef PITH_PROGRAM_EMIT_LOOP_H
#define PITH_PROGRAM_EMIT_LOOP_H

#include "program/emit/emit.h"
#include "program/ir/region.h"

/* Whether a step of control flow is such a loop. */
bool pithp_loop_fits(const pithp_plan *plan, const pithp_step *step);

/* What its function gets is a table of addresses: the operands, the results, the step's
 * workspace, the scope, the functions of
 * pithp_loop_calls, the tally, then of each plan in it
 * (those of a step in order, each followed by those within it) the literals, the
 * constants, and the steps that are called. It writes no result that is passed and handed
 * on, and ends at once where a call fails: the scope has the error. */
int pithp_loop_addresses(const pithp_step *step);

/* Functions that the code calls: one that runs a step which is a call, on a table of its
 * addresses (not 0: the scope's error is set), and a clock. */
typedef struct pithp_loop_calls {
    int32_t (*step)(pith_scope *s, const pithp_step *step, char *const *at);
    uint64_t (*ticks)(void);
} pithp_loop_calls;

/* Fill in what comes after the workspace. tally: of exec/watch.h, where the plan has a
 * profile. */
struct pithp_tally;
void pithp_loop_fill(pith_scope *s,
                     const pithp_step *step,
                     const pithp_loop_calls *calls,
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
