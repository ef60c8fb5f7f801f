/* Calls of compiled functions in a derivation: equal calls are derived once for each
 * pattern of moving inputs, and put in by their derived programs.
 *
 * A trace holds the instructions of a call among others, and optimisation may merge or
 * fold some. Consecutive instructions of a call that are left are a segment. Segments
 * that are equal become rows of one program: a cond with this program as its only branch,
 * and 0 as its index. The bits of results are those of the program without such rows:
 * cotangents that come from later uses enter the transposed program, and are added to in
 * the order of the uses. Folding (PITHP_PASS_FOLD) puts the programs in place. */
#ifndef PITH_PROGRAM_DERIVE_OUTLINE_H
#define PITH_PROGRAM_DERIVE_OUTLINE_H

#include "program/derive/derive.h"

struct pithp_callee;

/* The programs of calls in one derivation, and what was derived of them. */
typedef struct pithp_callees {
    pith_scope *s;
    struct pithp_callee *list; /* in memory of the scope */
    pithp_program *outlined;   /* the program with rows for calls; NULL: it has none */
    bool refused; /* set without an error: a sum would not have the same bits, and the
                     program is to be derived without rows for calls */
    int64_t calls, linearized, transposed; /* segments; programs that were derived */
} pithp_callees;

/* Find equal calls in an optimised program. False sets the error. */
bool pithp_callees_begin(pith_scope *s, const pithp_program *p, pithp_callees *callees);
void pithp_callees_end(pithp_callees *callees);

#endif
