/* Optimisation passes: from a program to another with less work and the same bits (except
 * PITHP_PASS_RELAX). */
#ifndef PITH_PROGRAM_PASS_PASS_H
#define PITH_PROGRAM_PASS_PASS_H

#include "program/ir/program.h"

typedef enum pithp_pass {
    PITHP_PASS_ALGEBRA = 1, /* algebraic simplification that changes no bit: simplify.c */
    PITHP_PASS_FOLD =
        2, /* constant folding by the block functions that would run later; a cond
              with a known index becomes its branch: constant_fold.c */
    PITHP_PASS_COMMON = 4, /* common subexpression elimination: rewrite.c */
    PITHP_PASS_DEAD = 8,   /* dead code elimination */
    PITHP_PASS_CONTROL =
        16, /* control flow: forwarded, constant and loop-invariant values move
               outside: control_simplify.c, hoist.c, unroll.c */
    PITHP_PASS_ALL = 31,
    PITHP_PASS_RELAX = 32,   /* fast_math, which changes bits: fast_math.c */
    PITHP_PASS_MARKS = 64,   /* identity marks are removed: for programs that run, and are
                                not derived any more */
    PITHP_PASS_LAYOUT = 128, /* layout of products: product_layout.c */
    PITHP_PASS_MESSAGES = 256, /* rows that leaves send by a route: messages.c; for
                                  programs that run, too */
    PITHP_PASS_RUN =
        PITHP_PASS_ALL | PITHP_PASS_MARKS | PITHP_PASS_LAYOUT | PITHP_PASS_MESSAGES,
} pithp_pass;

/* Optimise: a new program with the same inputs and outputs. Passes also run on nested
 * programs. Instructions that may report an error stay. NULL sets the error. */
pithp_program *
pithp_program_optimise(pith_scope *s, const pithp_program *p, unsigned passes);

/* ---- Shared by the passes ---- */

enum { PITHP_PARAMS_BYTES = sizeof(pithp_slice_params), PITHP_RULE_OPERANDS = 3 };

/* A call before it becomes an instruction of a program. */
typedef struct pithp_proposal {
    pithp_primitive primitive;
    int count;
    const pithp_value *operands;
    const void *params;
    const pith_spec *spec; /* of the result; NULL: no result, or several */
    int program_count;
    pithp_program *const *programs;
    /* Storage for a rule that changes the call. */
    pithp_value new_operands[PITHP_RULE_OPERANDS];
    _Alignas(16) char new_params[PITHP_PARAMS_BYTES];
} pithp_proposal;

/* Apply one rule: set `same` to an existing value of the result, or change the proposal.
 * False: no rule applies. */
bool pithp_simplify(const pithp_program *p, pithp_proposal *call, pithp_value *same);

/* Rewrite a call for fast_math. */
void pithp_relax(const pithp_program *p, pithp_proposal *call);
/* The fast form (within 4 ulp) of a primitive; itself if it has none. */
pithp_primitive pithp_fast_form(pithp_primitive exact);

/* Fold a call of literals on the host: the value of the literal in p; -1 if it is not
 * folded, or failed with the scope's error set. */
pithp_value
pithp_constant_fold(pith_scope *s, pithp_program *p, const pithp_proposal *call);

#endif
