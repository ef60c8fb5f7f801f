/* Regions: layout of the operands and results of control flow in the inputs and outputs
 * of its nested programs. */
#ifndef PITH_PROGRAM_IR_REGION_H
#define PITH_PROGRAM_IR_REGION_H

#include "program/ir/program.h"

/* The carries of a loop: operands from `first` on, results from 0 on. */
typedef struct pithp_carried {
    int first, count;
} pithp_carried;
pithp_carried pithp_carries_of(const pithp_instruction *i);

/* Loop-invariant carry: the operand that equals the loop's result because the body
 * forwards the carry unchanged; -1: the body computes it. */
int pithp_forwarded_operand(const pithp_instruction *i, int result);

#endif
