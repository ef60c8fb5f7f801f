/* Areas: programs with what their values vary over (within src/program/vary). */
#ifndef PITH_PROGRAM_VARY_AREA_H
#define PITH_PROGRAM_VARY_AREA_H

#include "program/ir/region.h"
#include "program/vary/vary.h"

/* A program at one place where it runs: nested programs that several instructions have
 * are several areas. */
typedef struct pithp_area {
    const pithp_program *program; /* NULL: not entered */
    pithp_axis_set *varies;       /* of its values */
    pithp_axis_set *drawn;        /* of its values: axes along which a random draw that it
                                     depends on has a replicated key */
    struct pithp_area *inner;     /* of the programs of its instructions, in order */
    bool walked;                  /* since an input was last marked */
} pithp_area;

/* Analyse a program, in memory of s; `varies` and `drawn` may be given. False sets the
 * error. */
bool pithp_area_analyse(pith_scope *s,
                        pithp_area *area,
                        const pithp_program *p,
                        const pithp_axis_set *inputs);

/* What the choice of a branch, or the number of iterations, varies over. */
pithp_axis_set pithp_area_decision(const pithp_area *area,
                                   const pithp_instruction *i,
                                   const pithp_area *inner);
/* The programs of a while loop, without what its number of iterations adds to their
 * values. inner: zeroed areas of both. False sets the error. */
bool pithp_area_own_loop(pith_scope *s,
                         const pithp_area *area,
                         const pithp_instruction *i,
                         pithp_area *inner);
/* Why the decision of a branch or loop varies over axes (cause.c): the first instruction
 * that makes it so; where inputs of the program vary, the last one at another line than
 * the branch or loop. NULL: not known. */
const pithp_instruction *pithp_area_cause(pith_scope *s,
                                          const pithp_area *area,
                                          const pithp_instruction *decides,
                                          pithp_axis_set axes);
/* The axes over which an operand varies although a derivation relies on the opposite. */
pithp_axis_set pithp_area_mistakes(const pithp_area *area, const pithp_instruction *i);
/* Whether a row draws random numbers from a key, its first operand. */
bool pithp_draws(const pithp_instruction *i);

static inline pithp_axis_set pithp_area_input(const pithp_area *a, int64_t input) {
    return a->varies[a->program->inputs[input]];
}
static inline pithp_axis_set pithp_area_output(const pithp_area *a, int64_t output) {
    return a->varies[a->program->outputs[output]];
}

#endif
