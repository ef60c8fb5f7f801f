/* Nested recomputation: a scan in chunks, whose steps a linearization computes again from
 * the carry that it keeps for each chunk (within src/program/derive).
 *
 * With one level all residuals are kept. With more, a chunk of level k is a scan over
 * chunks of level k - 1, and one of level 1 is a step. Each level computes the values of
 * its chunks once more. The loop is first counts[k] chunks of the highest level, then
 * those of lower levels, and at last single steps, whose residuals are kept. */
#ifndef PITH_PROGRAM_DERIVE_NEST_H
#define PITH_PROGRAM_DERIVE_NEST_H

#include "program/derive/flow.h"

enum { PITHP_MOST_LEVELS = 12 };

/* Arrays are by level, from 1. */
typedef struct pithp_nest {
    int levels;
    int64_t length;                        /* steps; 0 with levels 0: no nest */
    int64_t sizes[PITHP_MOST_LEVELS + 1];  /* steps of a chunk */
    int64_t counts[PITHP_MOST_LEVELS + 1]; /* chunks that are in no other */
    int64_t bytes;                         /* estimate of what is kept at once */
} pithp_nest;

/* What a loop keeps by an estimate. */
typedef struct pithp_nest_costs {
    int64_t carry, residual; /* bytes of the carries, of the residuals of a step */
    int64_t beside;          /* bytes of later steps, which are there until chunks of this
                                nest are computed again */
    bool even; /* chunks of the highest level alone: rows of xs are not cut */
} pithp_nest_costs;

/* The nest of this number of levels that keeps the fewest bytes. Its number of levels is
 * 0 if there is no such nest. */
pithp_nest pithp_nest_choose(int levels, int64_t length, const pithp_nest_costs *costs);
/* A program that computes the results of the scan from its operands: the steps of the
 * first nest, then those of the second, which may have none. A scan with rows has one
 * nest. NULL sets the error. */
pithp_program *
pithp_nest_make(pith_scope *s, const pithp_instruction *i, const pithp_nest nests[2]);
/* Whether a scan is to become a nest: it has a budget, or is one of the loops that `kept`
 * is for, and no part of a nest. kept: may be NULL. */
bool pithp_is_nested(const pithp_kept *kept, const pithp_instruction *i);
/* Derive a scan with pithp_loop_params.kept_bytes, or one of a derivation with a budget.
 * PITH_E_MEMORY: no nest keeps so few bytes. False sets the error. */
bool pithp_split_nested(pithp_deriving_flow *f,
                        pithp_value *results,
                        pithp_value *tangents);

#endif
