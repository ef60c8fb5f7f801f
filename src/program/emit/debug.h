/* Debug information of emitted text (PITH_JIT_DEBUG): function names of the traced
 * function, and `#line` directives of call sites. Without PITH_JIT_DEBUG function names
 * begin with "pith_step", and the text has no such directives. */
#ifndef PITH_PROGRAM_EMIT_DEBUG_H
#define PITH_PROGRAM_EMIT_DEBUG_H

#include "program/plan/plan.h"

enum { PITHP_PREFIX_BYTES = PITHP_PLAN_NAME_BYTES + 16 };

/* Prefix of the names of a plan's functions: "pith_step", or the function's name and a
 * hash of its program: "verlet_5c0ffee5". */
void pithp_debug_prefix(char prefix[PITHP_PREFIX_BYTES], const pithp_plan *plan);

/* Whether texts have lines of call sites. */
bool pithp_debug_lines(void);
/* Emit the part after the host prologue for such texts: functions that the compiler has
 * built in become macros, which have no lines of their own. */
void pithp_debug_prologue(pithp_string *t);
/* Mark the following text as emitted for a call site, until pithp_line_end. Not nested.
 * site: NULL or an unknown line marks nothing. */
void pithp_line_begin(pithp_string *t, const char *site);
void pithp_line_end(pithp_string *t);
/* Replace the marks by `#line` directives; lines outside marks refer to the text's own
 * file. False: memory is short.
 *
 * @param file Set to the file's name without `end`; "": the text is not kept. */
bool pithp_debug_directives(pithp_string *t,
                            const char *prefix,
                            const char *end,
                            char *file,
                            size_t room);

#endif
