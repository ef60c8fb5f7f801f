/* Horizontal fusion on the host: equal steps on different arrays as one launch. */
#ifndef PITH_PROGRAM_EXEC_HORIZONTAL_H
#define PITH_PROGRAM_EXEC_HORIZONTAL_H

#include "program/exec/exec.h"

/* A range of steps with equal element counts whose externals are adjacent entries of the
 * address tables: the addresses of a step follow those of the step before. */
typedef struct pithp_horizontal_range {
    int64_t begin;                       /* elements of the launch before this range */
    int64_t elements;                    /* of each step */
    const pithp_compiled_address *first; /* of the varying externals, in the first step */
} pithp_horizontal_range;

struct pithp_horizontal {
    int64_t steps, range_count;
    int varying, externals; /* externals that differ from step to step; all externals */
    pithp_host_loop loop;   /* over one step's elements */
    const pithp_compiled_address *first; /* of all externals of the first step */
    uint16_t *which;                     /* numbers of the varying externals */
    uint16_t *size; /* stride in bytes of the varying externals; 0: uniform */
    pithp_compiled_address *addresses; /* of all ranges */
    pithp_horizontal_range ranges[];   /* and a last one, which marks the end */
};

/* Find such launches among the direct steps of compiled code; step k calls
 * functions[k]. */
void pithp_horizontal_find(const pithp_plan *plan,
                           pithp_compiled *code,
                           const int32_t *functions);
void pithp_horizontal_free(pith_runtime *rt, pithp_horizontal *h); /* NULL does nothing */
/* Run a launch; the scope's device is immediate. */
pith_status pithp_horizontal_run(const pithp_exec *r, const pithp_horizontal *h);

#endif
