/* A program with some of the outputs of another. */
#ifndef PITH_PROGRAM_IR_SELECT_H
#define PITH_PROGRAM_IR_SELECT_H

#include "program/ir/program.h"

/* The same inputs, and the outputs for which some is set, and then those for which more
 * is; NULL: none more. NULL: error set. */
pithp_program *pithp_program_select(pith_scope *s,
                                    const pithp_program *from,
                                    const bool *some,
                                    const bool *more);

#endif
