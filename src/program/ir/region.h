/* Regions: how operands and results of control flow belong to inputs and outputs of its
 * nested programs. The layout of cond, while and scan is written here alone.
 *
 *             group 0                  group 1                  group 2
 *     cond    index -> no program      constants -> all         -
 *     while   constants -> condition   constants -> body        carries -> both
 *     scan    constants -> body        carries -> body          xs -> body
 *
 * Operands are these groups in order. Inputs of a program are the groups that it takes,
 * in the same order. Result k is output k of the branches or of the body: the carries
 * first, then the stacked outputs of a scan. */
#ifndef PITH_PROGRAM_IR_REGION_H
#define PITH_PROGRAM_IR_REGION_H

#include "program/ir/program.h"

typedef enum pithp_operand_role {
    PITHP_OPERAND_INDEX,    /* chooses a branch */
    PITHP_OPERAND_CONSTANT, /* the same in each iteration */
    PITHP_OPERAND_CARRY,    /* the initial value of a carry */
    PITHP_OPERAND_XS,       /* an iteration takes one element along axis 0 */
} pithp_operand_role;

/* Consecutive operands of one role. */
typedef struct pithp_operand_group {
    pithp_operand_role role;
    int first, count;
    int program; /* that takes them; PITHP_ALL_PROGRAMS, PITHP_NO_PROGRAM */
} pithp_operand_group;

enum { PITHP_OPERAND_GROUPS = 3, PITHP_ALL_PROGRAMS = -1, PITHP_NO_PROGRAM = -2 };

/* Numbers of the groups. */
enum {
    PITHP_COND_INDEX = 0,
    PITHP_COND_CONSTANTS = 1,
    PITHP_WHILE_OF_COND = 0,
    PITHP_WHILE_OF_BODY = 1,
    PITHP_WHILE_CARRIES = 2,
    PITHP_SCAN_CONSTANTS = 0,
    PITHP_SCAN_CARRIES = 1,
    PITHP_SCAN_XS = 2,
};

/* The layout of one instruction. */
typedef struct pithp_regions {
    pithp_operand_group groups[PITHP_OPERAND_GROUPS];
    pithp_operand_group carries; /* one of them; empty in a cond */
    /* The program whose outputs are the results; PITHP_ALL_PROGRAMS: the chosen branch.
     */
    int body;
} pithp_regions;

/* The layout from parameters and number of operands, which must fit (pithp_infer). */
pithp_regions
pithp_regions_of_call(pithp_primitive primitive, const void *params, int operand_count);
/* The layout of an instruction; without control flow all groups are empty. */
static inline pithp_regions pithp_regions_of(const pithp_instruction *i) {
    return pithp_regions_of_call(i->primitive, i->params, i->operand_count);
}
/* The number of the group of an operand. */
int pithp_operand_group_of(const pithp_regions *r, int operand);
/* The carry, and result, that an operand is the initial value of; or -1. */
int pithp_carry_of(const pithp_regions *r, int operand);
/* The number of inputs of a program. */
int pithp_region_inputs(const pithp_regions *r, int program);
/* Whether a program takes a group, as inputs from *first on. */
bool pithp_region_takes(const pithp_regions *r, int program, int group, int *first);
/* The input of a program for an operand; -1: the program does not take it. */
int pithp_region_input(const pithp_regions *r, int program, int operand);
/* The operand for an input of a program. */
int pithp_region_operand(const pithp_regions *r, int program, int input);
/* The first input of a program that is a carry. */
int pithp_region_first_carry(const pithp_regions *r, int program);
/* Whether outputs of a program are results. */
static inline bool pithp_region_yields(const pithp_regions *r, int program) {
    return r->body == PITHP_ALL_PROGRAMS || r->body == program;
}
/* The operand that result k is if a program forwards an input as output k: of a branch,
 * or the initial value of a carry. -1: the result is another array. */
int pithp_region_forwards(const pithp_regions *r, int program, int input, int k);

/* Set the numbers of operands of each group in the parameters of a call. */
void pithp_regions_resize(pithp_primitive primitive,
                          void *params,
                          const int counts[PITHP_OPERAND_GROUPS]);

/* The carries of a loop: operands from first on, results from 0 on. */
static inline pithp_operand_group pithp_carries_of(const pithp_instruction *i) {
    return pithp_regions_of(i).carries;
}
/* Invariant carries: the operand that result k of a loop always equals, because the body
 * forwards the carry; or -1. */
int pithp_forwarded_operand(const pithp_instruction *i, int k);

#endif
