/* Debug messages of programs: an instruction without results passes its operands to a
 * callback, each time it runs and in program order. */
#ifndef PITH_PROGRAM_OP_DEBUG_H
#define PITH_PROGRAM_OP_DEBUG_H

#include "program/op/call.h"

/* It lives as long as the runtime. */
typedef struct pithp_debug {
    /* Operands are device addresses, ready on the stream of s. Sets no error of s. Any
     * thread may call it. */
    void (*print)(const struct pithp_debug *debug,
                  pith_scope *s,
                  const pith_spec *const *specs,
                  const void *const *operands);
    const char *message; /* for the text of programs */
} pithp_debug;

/* Print the message of an instruction with these parameters and operands. */
static inline void pithp_debug_print(pith_scope *s,
                                     const void *params,
                                     const pith_spec *const *specs,
                                     const void *const *operands) {
    const pithp_debug *debug = ((const pithp_debug_params *)params)->debug;
    debug->print(debug, s, specs, operands);
}

#endif
