/* Batches of programs: a program over many entries at once.
 *
 * Values that depend on a batched input are batched: their axis 0 is the entries. Which
 * values are, is tracked and never guessed from extents. The
 * others are computed once.
 *
 *     an entry's value f64[3,4]  ->  in a batch of n  f64[n,3,4]
 *
 * The bits of an entry are those of the program alone; those of products are within
 * their bound. Batched programs are programs like others: they can be derived, and
 * batched again. */
#ifndef PITH_PROGRAM_VMAP_VMAP_H
#define PITH_PROGRAM_VMAP_VMAP_H

#include "program/ir/program.h"

/* Options of a batch; NULL: all members are zero. Those of a part of another batch are
 * for checks of rules (chunk.h). */
typedef struct pithp_vmap_options {
    bool chunk;     /* the entries of an iteration of a scan over chunks */
    int64_t before; /* entries of the whole before this part */
    int64_t batch;  /* number of the whole, which its parts have in common; 0: none */
    int steps; /* most iterations of a loop between two questions whether an entry goes on
                  (while.c); 0: one */
} pithp_vmap_options;

/* A batch: the program of `size` entries. Its inputs are those of p. Batched ones have
 * an axis of `size` more, in front.
 *
 * @param size 0 or more.
 * @param batched Of each input of p, whether it is batched.
 * @param outputs_batched Set: of each output of p, whether it is batched. One that
 *   depends on no batched input is computed once and has no axis more.
 * @return A program with one reference. NULL sets the error: PITH_E_SHAPE for a value
 *   whose rank would be above PITH_MAX_RANK, with its call site. */
pithp_program *pithp_program_vmap(pith_scope *s,
                                  const pithp_program *p,
                                  int64_t size,
                                  const bool *batched,
                                  const pithp_vmap_options *options,
                                  bool *outputs_batched);

/* Whether a program, or one in it, calls a function with a rule; for_batches: with one
 * for batches. */
bool pithp_calls_rule(const pithp_program *p, bool for_batches);

/* The check of an entry of a batched check (pithp_expose_params), whose values are all
 * batched, and the size of the batch; NULL: it is no batch. */
const pithp_exposed *pithp_exposed_of_entry(const pithp_exposed *e, int64_t *size);
/* The check in a rule for batches that stands for all parts of a batch in chunks, with
 * values of all entries; NULL: it is none. */
const pithp_exposed *pithp_exposed_in_rule(const pithp_exposed *e);

#endif
