/* Compiled control flow: a scan or while whose steps have few elements, nested loops and
 * branches included. One call runs all iterations. */
#ifndef PITH_PROGRAM_EMIT_LOOP_H
#define PITH_PROGRAM_EMIT_LOOP_H

#include "program/emit/emit.h"
#include "program/ir/region.h"

/* Whether a step of control flow can be compiled as such a loop. */
bool pithp_loop_fits(const pithp_plan *plan, const pithp_step *step);

/* Number of addresses in the table of a loop's function. The table holds the operands,
 * the results, the step's workspace, the scope, the functions of pithp_loop_calls and the
 * tally. For each nested plan follow its literals, its constants and its library calls,
 * in the order of the steps; the plans of a step precede those of the next one.
 *
 * The function does not write forwarded results. It returns as soon as a call fails; the
 * scope then has the error. */
int pithp_loop_addresses(const pithp_step *step);

/* Functions that the code calls. `step` runs a call step on a table of its addresses; not
 * 0: the scope's error is set. `ticks` is a clock. */
typedef struct pithp_loop_calls {
    int32_t (*step)(pith_scope *s, const pithp_step *step, char *const *at);
    uint64_t (*ticks)(void);
} pithp_loop_calls;

/* Fill in the table after the workspace. tally: see exec/watch.h; NULL: the plan has no
 * profile. */
struct pithp_tally;
void pithp_loop_fill(pith_scope *s,
                     const pithp_step *step,
                     const pithp_loop_calls *calls,
                     struct pithp_tally *tally,
                     const void **table);

/* Emit the functions that a loop needs; then the loop's parameters and body, to follow
 * its name: (const void *args, i64 begin, i64 end) { ... } It runs the iterations
 * begin..end if the step has several ranges, else all. */
void pithp_emit_loop_functions(pithp_string *t,
                               pithp_emitted_ops *ops,
                               const pithp_step *step);
void pithp_emit_loop(pithp_string *t, const pithp_plan *plan, const pithp_step *step);

#endif
