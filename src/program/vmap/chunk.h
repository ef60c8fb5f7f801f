/* Batches of a bounded number of entries at a time. */
#ifndef PITH_PROGRAM_VMAP_CHUNK_H
#define PITH_PROGRAM_VMAP_CHUNK_H

#include "program/vmap/vmap.h"

typedef struct pithp_chunk_options {
    int64_t chunk;   /* most entries at a time, at least 1 */
    bool concurrent; /* threads of the host run several chunks at the same time */
    int steps;       /* pithp_vmap_options.steps */
} pithp_chunk_options;

/* As pithp_program_vmap, for some entries at a time: a scan over chunks, and the entries
 * that remain. What depends on no batched input is computed once. */
pithp_program *pithp_program_vmap_chunks(pith_scope *s,
                                         const pithp_program *p,
                                         int64_t size,
                                         const pithp_chunk_options *options,
                                         const bool *batched,
                                         bool *outputs_batched);

/* A chunk for the host, whose state stays in the cache while loops, branches and kernels
 * run; INT64_MAX: all entries at a time are best. Derivatives of such batches would add
 * up shared parts in another order than on a device: it is for programs that are
 * not derived. */
int64_t pithp_program_vmap_block(pith_scope *s,
                                 const pithp_program *p,
                                 int64_t size,
                                 const bool *batched);

/* Steps of loops: more than one on devices, where each question takes a launch. Also for
 * programs that are not derived. */
int pithp_program_vmap_steps(pith_scope *s);

#endif
