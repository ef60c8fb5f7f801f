/* Text that tells where it came from (PITH_JIT_DEBUG): names of functions that say whose
 * they are, and lines that are those of calls. Without that variable names are
 * "pith_step", and there are no such lines. */
#ifndef PITH_PROGRAM_EMIT_DEBUG_H
#define PITH_PROGRAM_EMIT_DEBUG_H

#include "program/plan/plan.h"

enum { PITHP_PREFIX_BYTES = PITHP_PLAN_NAME_BYTES + 16 };

/* What the names of a plan's functions begin with: "pith_step", or the name of its
 * function and a hash of its program: "verlet_5c0ffee5". */
void pithp_debug_prefix(char prefix[PITHP_PREFIX_BYTES], const pithp_plan *plan);

/* Whether texts have lines of calls. */
bool pithp_debug_lines(void);
/* What follows the prologue of a text for the host then: what it has functions for and
 * the compiler knows has no lines of its own. */
void pithp_debug_prologue(pithp_text *t);
/* The text from here on came from a call (NULL: of unknown line, which is nothing), until
 * pithp_line_end. Not within another such piece. */
void pithp_line_begin(pithp_text *t, const char *site);
void pithp_line_end(pithp_text *t);
/* Write these lines as `#line` directives, all others being of a file of its own, whose
 * name is set without its end; "" where nothing is to be kept. False: memory is short. */
bool pithp_debug_settle(pithp_text *t,
                        const char *prefix,
                        const char *end,
                        char *file,
                        size_t room);

#endif
