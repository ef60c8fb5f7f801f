/* Rows for calls: segments that are equal (outline.h) become rows of one program, a cond
 * with this program as its only branch, and 0 as its index. It is derived once for each
 * pattern of moving inputs, and each call has rows of what is derived. No program of all
 * instructions is made on the way; folding (PITHP_PASS_FOLD) puts the programs in place
 * at the end. Only where nothing is chosen of the whole program, such as what a map
 * keeps: elsewhere what is derived is put in at once (called.h).
 *
 * The bits of results are those of the program without such rows: cotangents that come
 * from later uses enter the transposed program, and are added to in the order of the
 * uses.
 */
#ifndef PITH_PROGRAM_DERIVE_OUTLINED_H
#define PITH_PROGRAM_DERIVE_OUTLINED_H

#include "program/derive/derive.h"

struct pithp_row_callee;

/* The programs of calls in one derivation, and what was derived of them. */
typedef struct pithp_callees {
    struct pithp_row_callee *list; /* in memory of the scope */
    pithp_program *outlined; /* the program with rows for calls; NULL: it has none */
    bool refused; /* set without an error: a sum would not have the same bits, and the
                     program is to be derived without rows for calls */
    pithp_call_counts counts;
} pithp_callees;

/* Find equal calls in an optimised program, all of whose calls give results and do no
 * more: no checks, rules or kernels, and no groups. False sets the error. */
bool pithp_callees_begin(pith_scope *s, const pithp_program *p, pithp_callees *callees);
void pithp_callees_end(pithp_callees *callees);

#endif
