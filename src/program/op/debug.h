/* Messages of programs: an instruction without results that hands its operands to the one
 * who recorded it, each time it is reached and in the order of the program. */
#ifndef PITH_PROGRAM_OP_DEBUG_H
#define PITH_PROGRAM_OP_DEBUG_H

#include "program/op/call.h"

/* Lives as long as the runtime. */
typedef struct pithp_debug {
    /* The operands are addresses on the device, ready on the stream of s. Sets no error
     * of s. Any thread. */
    void (*print)(const struct pithp_debug *debug,
                  pith_scope *s,
                  const pith_spec *const *specs,
                  const void *const *operands);
    const char *message; /* for the text of programs */
} pithp_debug;

/* Print the message of an instruction, whose parameters these are, with its operands. */
static inline void pithp_debug_print(pith_scope *s,
                                     const void *params,
                                     const pith_spec *const *specs,
                                     const void *const *operands) {
    const pithp_debug *debug = ((const pithp_debug_params *)params)->debug;
    debug->print(debug, s, specs, operands);
}

#endif
