/* Lifting of checks: the rows `expose` of a derived program and of its nested programs
 * become outputs, so that the program can run. */
#ifndef PITH_PROGRAM_DERIVE_LIFT_H
#define PITH_PROGRAM_DERIVE_LIFT_H

#include "program/ir/program.h"

/* A row that was lifted. */
typedef struct pithp_lifted {
    pithp_exposed *exposed; /* one reference */
    bool nested;            /* its values are results of control flow */
} pithp_lifted;

typedef struct pithp_lifted_list {
    int64_t count, value_count;
    pithp_lifted *list; /* in memory of the scope */
} pithp_lifted_list;

/* The program without rows `expose`, one reference; its last outputs are the values of
 * the list, in order. A branch that is not taken gives passing values, and a loop those
 * of all iterations, merged. NULL sets the error; the list is to be ended in any case. */
pithp_program *
pithp_program_lift(pith_scope *s, pithp_program *p, pithp_lifted_list *lifted);
void pithp_lifted_end(pithp_lifted_list *lifted);

#endif
