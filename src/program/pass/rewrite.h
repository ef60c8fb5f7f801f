/* Rewriter: a new program built from an old one, instruction by instruction (within
 * src/program/pass). */
#ifndef PITH_PROGRAM_PASS_REWRITE_H
#define PITH_PROGRAM_PASS_REWRITE_H

#include "program/pass/pass.h"

/* Values of the new program by what makes them; open addressing, -1: free. */
typedef struct pithp_known {
    pithp_value *slots;
    uint64_t mask;
} pithp_known;

typedef struct pithp_rebuild {
    pith_scope *s;
    const pithp_program *from;
    pithp_program *to;
    unsigned passes;
    bool shallow;       /* the programs of instructions stay as they are */
    bool values_only;   /* effects stay where they are: what has one is not taken over */
    bool *live;         /* values of `from`: those of an instruction are so together */
    bool *wanted;       /* those that are read */
    pithp_value *names; /* of those values in `to`; -1: not yet */
    pithp_known known;
} pithp_rebuild;

/* Take over what those values of `from` need, which are its outputs or some of them.
 * Names are memory for all of its values, set where one is known already. False: error
 * set. */
bool pithp_rebuild_values(pithp_rebuild *r, int64_t count, const pithp_value *values);
/* The call, or one that is the same and there already; -1: error set. */
pithp_value pithp_rebuild_call(pithp_rebuild *r, pithp_proposal *c, const char *site);
/* The program after passes. NULL: error set. */
pithp_program *
pithp_rebuild_program(pith_scope *s, const pithp_program *p, unsigned passes);
/* The literal, or one that is the same and there already. */
pithp_value pithp_rebuild_literal(pithp_rebuild *r, pithp_value literal);

/* ---- Control flow (control.c) ---- */

/* An instruction that runs programs, while passes change it. Lists are memory of the
 * scope, and the programs references of their own. */
typedef struct pithp_flow {
    pithp_rebuild *r;
    pithp_primitive primitive;
    union {
        pithp_while_params as_while;
        pithp_loop_params as_loop;
    } params;
    int operand_count, result_count, program_count;
    pithp_value *operands; /* of r->to */
    pithp_program **programs;
    bool *wanted; /* of each result */
    /* Of the results that it had in the beginning: the number of the result that it is,
     * or a value of r->to; an unused result may have neither. */
    int first_count;
    int32_t *now;
    pithp_value *instead;
} pithp_flow;

enum { PITHP_FLOW_GROUPS = 3 };
/* Operands come in groups: cond index, operands; while: cond's, body's, carries; scan:
 * constants, carries, xs. */
int pithp_flow_group(const pithp_flow *f, int operand);
/* The operand that carry 0 is; operand_count where there are no carries. */
int pithp_flow_first_carry(const pithp_flow *f);
int pithp_flow_carries(const pithp_flow *f);
/* The input of program b that an operand is; -1: none. */
int pithp_flow_input(const pithp_flow *f, int b, int operand);

/* Remove unused results and invariant carries. False sets the error. */
bool pithp_flow_narrow(pithp_flow *f);
/* Compute before a loop what it would compute in each iteration. False: error set. */
bool pithp_flow_hoist(pithp_flow *f);
/* Lay out iterations of a scan one after the other where it asks for that. False: error
 * set. */
bool pithp_flow_unroll(pithp_flow *f);
/* All of it: names of its results in r. False: error set. */
bool pithp_rebuild_control(pithp_rebuild *r,
                           const pithp_instruction *i,
                           const pithp_value *operands);

#endif
