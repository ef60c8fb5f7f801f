/* Calls of compiled functions in a derivation: equal calls are derived once for each
 * pattern of moving inputs, and what is derived is put in at each of them.
 *
 * A trace holds the instructions of a call among others, and optimisation may merge or
 * fold some. Consecutive instructions of a call that are left are a segment. Equal
 * segments have one callee, a program of their instructions. What a derivation adds for a
 * segment depends on its instructions, on the tangents or cotangents that are there, and
 * in few cases on what these are made of (called.c): so the program that is made is that
 * of the walk over all instructions. */
#ifndef PITH_PROGRAM_DERIVE_OUTLINE_H
#define PITH_PROGRAM_DERIVE_OUTLINE_H

#include "program/derive/derive.h"

struct pithp_called;

/* The program of equal segments. Its groups are numbered from 1 in each segment anew. */
typedef struct pithp_callee {
    struct pithp_callee *next;
    pithp_program *program;
    struct pithp_called *derived; /* what was derived of it (called.c) */
} pithp_callee;

typedef struct pithp_call_segment {
    int64_t first, end; /* its instructions; of a linear program, known ones that others
                           read too are not its own */
    pithp_callee *callee;
    const pithp_value *inputs, *outputs; /* the values that those of the callee are */
    const int32_t *groups;               /* the group that each of the callee is */
    int32_t call;
} pithp_call_segment;

/* The segments of a program that are equal to others, in order. */
typedef struct pithp_call_segments {
    int64_t count;
    const pithp_call_segment *list; /* in memory of the scope */
    pithp_callee *callees;
} pithp_call_segments;

/* Find them; pithp_call_segments_end in any case (called.c). False sets the error.
 *
 * @param linear Of a linear program, by value whether it depends on a tangent; else NULL.
 */
bool pithp_call_segments_find(pith_scope *s,
                              const pithp_program *p,
                              const bool *linear,
                              pithp_call_segments *found);
void pithp_call_segments_end(pithp_call_segments *segments);

#endif
