/* Batches: steps that do the same work on arrays of their own, run as one launch. */
#ifndef PITH_PROGRAM_EXEC_HORIZONTAL_H
#define PITH_PROGRAM_EXEC_HORIZONTAL_H

#include "program/exec/exec.h"

/* Steps of as many elements whose externals are neighbours in their tables, step by step:
 * what differs is an address and the ones behind it. */
typedef struct pithp_batch_part {
    int64_t begin;                       /* elements of the batch before it */
    int64_t elements;                    /* of a step */
    const pithp_compiled_address *first; /* of those externals that differ */
} pithp_batch_part;

struct pithp_batch {
    int64_t steps, part_count;
    int varying, externals; /* those that differ from step to step, and all */
    pithp_host_loop loop;   /* over one step's elements */
    const pithp_compiled_address *first; /* of all externals of the first step */
    uint16_t *which;                     /* of those that differ: their numbers */
    uint16_t *size;                      /* bytes to the next element, or 0 */
    pithp_compiled_address *addresses;   /* of all parts */
    pithp_batch_part parts[];            /* and one behind, for the end */
};

/* Find batches among the direct steps of compiled code; step k calls functions[k]. */
void pithp_batches_find(const pithp_plan *plan,
                        pithp_compiled *code,
                        const int32_t *functions);
void pithp_batch_free(pith_runtime *rt, pithp_batch *b); /* NULL does nothing */
/* Run one at once: the scope's device is immediate. */
pith_status pithp_batch_run(const pithp_exec *r, const pithp_batch *b);

#endif
