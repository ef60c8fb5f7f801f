/* Regions: how the operands and results of control flow belong to the inputs and outputs
 * of its programs. */
#ifndef PITH_PROGRAM_IR_REGION_H
#define PITH_PROGRAM_IR_REGION_H

#include "program/ir/program.h"

/* The carries of a loop: operands from `first` on, results from 0 on. */
typedef struct pithp_carried {
    int first, count;
} pithp_carried;
pithp_carried pithp_carries_of(const pithp_instruction *i);

/* The operand that a result of a loop always is, for it is carried and handed on; -1: it
 * is made. */
int pithp_handed_on(const pithp_instruction *i, int result);

#endif
