/* Loops of small steps in compiled code: a scan or while all of whose programs' steps are
 * fused, walk memory as it lies and have few elements. One call runs all iterations. */
#ifndef PITH_PROGRAM_LOOP_H
#define PITH_PROGRAM_LOOP_H

#include "program/interpret/plan.h"

enum { PITHP_LOOP_STEPS = 64 }; /* of a program, at most */

/* Whether a step of control flow is such a loop. */
bool pithp_loop_fits(const pithp_plan *plan, const pithp_step *step);

/* The carries of a loop: operands from `first` on, results from 0 on. */
typedef struct pithp_carried {
    int first, count;
} pithp_carried;
pithp_carried pithp_carries_of(const pithp_instruction *i);

/* What its function gets is a table of addresses, for iteration 0, whose places these
 * are. Carries come back in it as those of the body's inputs. */
typedef struct pithp_loop_table {
    int inputs[2];      /* of program k (a while's cond and body; a scan's body) */
    int literals[2];    /* one */
    int constants[2];   /* of program k */
    int results, spare; /* of the loop; the second buffers of carries */
    int workspace;      /* of the programs: one */
    int flag;           /* memory for cond's result: one */
    int count;
} pithp_loop_table;
pithp_loop_table pithp_loop_layout(const pithp_step *step);

/* The parameters and the body of the function, as those of pithp_emit_fused; only a scan
 * looks at begin and end.
 *
 * @param functions For each program one after the other, of its steps: the number in the
 * name of what does it. */
void pithp_emit_loop(pithp_text *t, const pithp_step *step, const int32_t *functions);

#endif
