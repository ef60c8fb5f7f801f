/* Passes: from a program to another with less work that gives the same bits (but for
 * PITHP_PASS_RELAX). */
#ifndef PITH_PROGRAM_PASS_PASS_H
#define PITH_PROGRAM_PASS_PASS_H

#include "program/ir/program.h"

typedef enum pithp_pass {
    PITHP_PASS_ALGEBRA = 1,  /* rules that never change a bit: see algebra.c */
    PITHP_PASS_FOLD = 2,     /* what depends on literals alone is computed now, by the
                                block functions that would compute it later; a cond whose
                                index is known is its branch */
    PITHP_PASS_COMMON = 4,   /* equal calls of equal operands are made once */
    PITHP_PASS_DEAD = 8,     /* dead code elimination */
    PITHP_PASS_CONTROL = 16, /* what control flow hands on, hands in as it is known, or
                                computes in each iteration anew, is outside of it */
    PITHP_PASS_ALL = 31,
    PITHP_PASS_RELAX = 32, /* what fast_math gives up, other bits: see relax.c */
} pithp_pass;

/* A new program with the same inputs and outputs, after these passes, which go into the
 * programs of instructions too. Instructions that may report an error stay. NULL: the
 * scope's error is set. */
pithp_program *
pithp_program_optimise(pith_scope *s, const pithp_program *p, unsigned passes);

/* ---- What the passes share ---- */

enum { PITHP_PARAMS_BYTES = 256, PITHP_RULE_OPERANDS = 3 };

/* A call that is about to become an instruction of a program. */
typedef struct pithp_proposal {
    pithp_primitive primitive;
    int count;
    const pithp_value *operands;
    const void *params;
    const pith_spec *spec; /* of the result; NULL: there is not one */
    int program_count;
    pithp_program *const *programs;
    /* Where a rule that changes the call keeps what it makes. */
    pithp_value new_operands[PITHP_RULE_OPERANDS];
    _Alignas(16) char new_params[PITHP_PARAMS_BYTES];
} pithp_proposal;

/* Apply one rule: gives a value that is the result already, or changes the proposal.
 * False: none applies. */
bool pithp_simplify(const pithp_program *p, pithp_proposal *call, pithp_value *same);

/* The call as fast_math makes it. */
void pithp_relax(const pithp_program *p, pithp_proposal *call);
/* The row within 4 ulp of another row; that row itself: it has none. */
pithp_primitive pithp_fast_form(pithp_primitive exact);

/* Compute a call of literals on the host: the value of the literal in p, -1 where it is
 * not to be folded or (with the scope's error set) failed. */
pithp_value pithp_fold(pith_scope *s, pithp_program *p, const pithp_proposal *call);

/* The bits of the one element that all elements of a value are; false: not known. */
bool pithp_uniform(const pithp_program *p, pithp_value v, uint64_t *element);

#endif
