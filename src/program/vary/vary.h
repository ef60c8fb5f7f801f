/* Variance: over which axes of a mesh the values of a program differ between ranks.
 *
 * A value varies over an axis if ranks that differ along it may hold different elements;
 * otherwise it is replicated along it. Constants are replicated. A result varies as its
 * operands do together, but for the rows that work over axes (axes.h): psum and its like
 * take axes away, gathers and permutations add them. Results of a branch vary as its
 * predicate does too, and carries as the number of iterations does.
 *
 * Derivatives need it. The cotangent of a replicated value is the sum over all ranks, if
 * it is used together with varying ones: such a use widens it, and widening and psum are
 * each other's transpose. Widening is an identity, PITHP_OP_VARY, which linear programs
 * get before they are transposed. */
#ifndef PITH_PROGRAM_VARY_VARY_H
#define PITH_PROGRAM_VARY_VARY_H

#include "program/derive/derive.h"
#include "program/vary/axes.h"

/* Over which axes the values of a program vary.
 *
 * @param inputs Of each input.
 * @param values Set: of each value. p may be under construction.
 * False sets the error. */
bool pithp_program_variance(pith_scope *s,
                            const pithp_program *p,
                            const pithp_axis_set *inputs,
                            pithp_axis_set *values);

/* What pithp_program_check_variance is asked. */
typedef struct pithp_variance_claim {
    const pith_mesh *mesh;        /* the axes of the sets */
    const pithp_axis_set *inputs; /* of each input: what it varies over */
    int64_t count;                /* values that are claimed to vary little: */
    const pithp_value *values;    /* of the program, such as its outputs */
    const pithp_axis_set *most;   /* of each, the axes that it may vary over; NULL: any */
    const char *const *names;     /* of each, in messages: a path; NULL: none */
    const char *function;         /* whose results they are, in messages; NULL: none */
} pithp_variance_claim;

/* The same for a program that was recorded, or is being recorded. Refused are
 *
 *     a value that varies over an axis which `most` lacks, with its name
 *     a collective over an axis, at any depth, in a branch whose predicate varies over
 *     the axis, or in a loop whose number of iterations does
 *
 * with PITH_E_DIVERGED and the call site; and a derivative that was recorded in a loop in
 * the belief that a carry does not come to vary, with PITH_E_DERIVATIVE. A random draw
 * whose key is replicated along an axis, combined with values that vary over it, is
 * logged once.
 *
 * @param varies Set: of each of the values what it varies over.
 * False sets the error. */
bool pithp_program_check_variance(pith_scope *s,
                                  const pithp_program *p,
                                  const pithp_variance_claim *claim,
                                  pithp_axis_set *varies);

/* What calls of pith_shard_map in a program say of its inputs: a leaf that a spec calls
 * replicated is equal on all ranks, and so is what it was computed from.
 *
 * @param inputs Set: of each input the axes along which it is equal.
 * @return The axes of all such claims, in control flow too; 0 may be an error of s. */
pithp_axis_set
pithp_program_claims(pith_scope *s, const pithp_program *p, pithp_axis_set *inputs);

/* A loop that is to be recorded. */
typedef struct pithp_loop_variance {
    bool mistaken;           /* a derivation in it relies on a value being replicated that
                                varies in some iteration */
    pithp_axis_set decision; /* what its number of iterations varies over */
    pithp_axis_set *results; /* set: of each result; carries vary so in all iterations */
} pithp_loop_variance;
/* Analyse a loop; `results` has room.
 *
 * @param around The program that its operands are values of; carries that are not known
 *   yet are -1.
 * @param operands What each of them varies over.
 * False sets the error. */
bool pithp_loop_find_variance(pith_scope *s,
                              const pithp_program *around,
                              const pithp_new_instruction *given,
                              const pithp_axis_set *operands,
                              pithp_loop_variance *loop);

/* Widening: a program with the same results, in which operands of float dtypes that meet
 * others vary as these do.
 *
 * @param outputs Of each output, what it varies over at least; NULL: nothing.
 * @return A program with one reference; p itself if nothing is to be widened. NULL sets
 *   the error. */
pithp_program *pithp_program_widen(pith_scope *s,
                                   pithp_program *p,
                                   const pith_mesh *mesh,
                                   const pithp_axis_set *inputs,
                                   const pithp_axis_set *outputs);

/* Widen the linear program of a linearization, so that it can be transposed.
 *
 * @param inputs Of each input of the program that was linearized.
 * @param moving Of each, whether it has a tangent.
 * @param moves Of each of its outputs.
 * @param results Set: of each of its outputs, what it varies over.
 * False sets the error. */
bool pithp_linearization_widen(pith_scope *s,
                               pithp_linearization *l,
                               const pith_mesh *mesh,
                               const pithp_axis_set *inputs,
                               const bool *moving,
                               const bool *moves,
                               pithp_axis_set *results);

#endif
