/* Derivation of calls that are equal to others (within src/program/derive): what is
 * derived of a callee, and putting it in at a segment. */
#ifndef PITH_PROGRAM_DERIVE_CALLED_H
#define PITH_PROGRAM_DERIVE_CALLED_H

#include "program/derive/control.h"
#include "program/derive/outline.h"

/* What is derived of a callee for a pattern: which inputs move; or which cotangents there
 * are. */
typedef struct pithp_called {
    struct pithp_called *next;
    const bool *pattern;
    pithp_program *program; /* NULL: its segments are derived one by one */
    bool *marks;            /* forward: of each output of the callee, whether it moves;
                               transposed: of each input, whether it gets a cotangent */
    bool *comes; /* transposed: of each cotangent that is wanted, whether there is one */
    pithp_value *sums; /* two operands each: additions that depend on what the inputs are
                          made of */
    int64_t sum_count;
    pithp_kept kept;              /* forward: what its loops keep */
    pithp_derive_watches watches; /* forward: whose values are its last outputs */
} pithp_called;

/* Find what is derived of the callee in forward mode, or derive it. *found: NULL if the
 * segment is to be derived by itself. False sets the error.
 *
 * @param moving Of each input of the callee, whether it moves; in memory of the scope. */
bool pithp_called_forward(pithp_derivation *d,
                          const pithp_call_segment *g,
                          const pithp_derive_mode *mode,
                          const bool *moving,
                          const pithp_called **found);
/* The same for the transpose. The inputs of the program are those of the callee that are
 * not linear, the cotangents that are there, and those of inputs so far.
 *
 * @param pattern Of each input of the callee, whether it is linear, and whether it has a
 * cotangent; then of each output, whether that has one, and whether its cotangent after
 * the segment is wanted. In memory of the scope. */
bool pithp_called_transposed(pithp_derivation *d,
                             const pithp_call_segment *g,
                             const bool *pattern,
                             const pithp_called **found);
/* pithp_transpose_onto (control.h) of a program whose last outputs have no cotangents:
 * cotangents that they get by other values are the last outputs of the result.
 *
 * @param comes Set: of each of these outputs, whether there is one. */
pithp_program *pithp_transpose_shown(pith_scope *s,
                                     const pithp_program *linear,
                                     const bool *marks,
                                     const bool *sums,
                                     bool *reaches,
                                     int64_t shown,
                                     bool *comes);
/* Add the derived program. *done: false if the segment is to be derived by itself, since
 * sums of its inputs join parts of arrays (builder.c). False sets the error. */
bool pithp_called_add(pithp_derivation *d,
                      const pithp_call_segment *g,
                      const pithp_called *e,
                      const pithp_value *inputs,
                      pithp_value *outputs,
                      bool *done);

#endif
