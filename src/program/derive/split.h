/* Colours of a linear program: which values depend on a tangent (within
 * src/program/derive). */
#ifndef PITH_PROGRAM_DERIVE_SPLIT_H
#define PITH_PROGRAM_DERIVE_SPLIT_H

#include "program/derive/derive.h"

/* Set for each value whether it depends on a marked input. */
void pithp_colour(const pithp_program *p, const bool *inputs, bool *linear);
/* Copy a constant or an instruction whose operands have names, with its group and stage;
 * sets the names of its results. False sets the error. */
bool pithp_copy_value(pith_scope *s,
                      pithp_program *to,
                      const pithp_program *from,
                      pithp_value v,
                      const pithp_instruction *i,
                      pithp_value *names);
/* Choose what is kept of the values that cross from a forward to a linear program, by
 * bytes: an elementwise value may be computed again from others. The results have the
 * same bits.
 *
 * @param taken Of each input, whether keeping it takes no bytes.
 * @param crosses The values that the linear program reads; set: those that are kept.
 * @param again Set, added to what it has: values that the linear program computes.
 * False sets the error. */
bool pithp_choose_kept(pith_scope *s,
                       const pithp_program *p,
                       const bool *taken,
                       bool *crosses,
                       bool *again);
/* Of a program with groups, mark the operands of linear instructions that cross, and the
 * values that the linear program computes again: instructions of the group of the reader,
 * of which only what enters the group crosses. */
void pithp_keep_groups(const pithp_program *p,
                       const bool *linear,
                       bool *crosses,
                       bool *again);
/* A program that computes the same values, and neither prints nor refuses tangents: for
 * values that are computed again. NULL sets the error. */
pithp_program *pithp_quiet(pith_scope *s, const pithp_program *p);
/* The greatest number of operands of an instruction, at least 1. */
int pithp_most_operands(const pithp_program *p);

#endif
