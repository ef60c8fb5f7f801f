/* Batches of calls with index arrays, for their rows and for the row that checks them
 * (within src/program/vmap). */
#ifndef PITH_PROGRAM_VMAP_GATHER_H
#define PITH_PROGRAM_VMAP_GATHER_H

#include "program/vmap/rules.h"

/* A call with index arrays on batched operands. The batch axis is axis `axis` of its
 * result. */
typedef struct pithp_batched_index {
    pithp_index_params params;
    int count, axis;
    pithp_value operands[PITHP_MAX_RANK + 3];
} pithp_batched_index;

/* Prepare the call of an entry with parameters `own`. False sets the error. */
bool pithp_batch_take(pithp_batching *b,
                      const pithp_batched_call *c,
                      const pithp_index_params *own,
                      pithp_batched_index *to);
bool pithp_batch_take_along(pithp_batching *b,
                            const pithp_batched_call *c,
                            const pithp_index_params *own,
                            pithp_batched_index *to);
bool pithp_batch_scatter(pithp_batching *b,
                         const pithp_batched_call *c,
                         const pithp_index_params *own,
                         pithp_batched_index *to);

#endif
