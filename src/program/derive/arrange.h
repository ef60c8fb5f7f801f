/* Nested programs made from others: inputs in another order, outputs chosen (within
 * src/program/derive). */
#ifndef PITH_PROGRAM_DERIVE_ARRANGE_H
#define PITH_PROGRAM_DERIVE_ARRANGE_H

#include "program/derive/builder.h"

/* An output: one of the program's, or zeros. */
typedef struct pithp_chosen {
    int64_t output; /* -1: zeros of the spec */
    const pith_spec *spec;
} pithp_chosen;

typedef struct pithp_arrangement {
    pith_scope *s;
    const pithp_program *p;
    int64_t input_count, output_count;
    const pith_spec **specs; /* of each input */
    int64_t *inputs; /* of each input of p: its number among the inputs; -1: zeros */
    pithp_chosen *outputs;
} pithp_arrangement;

/* Begin with room for at most this number of inputs and outputs. False sets the error. */
bool pithp_arrange_begin(pithp_arrangement *a,
                         pith_scope *s,
                         const pithp_program *p,
                         int64_t inputs,
                         int64_t outputs);
/* Add an input, which is input `of` of p; -1: p does not read it. Returns its number. */
int64_t pithp_arrange_input(pithp_arrangement *a, const pith_spec *spec, int64_t of);
/* Add an output of p; -1: zeros of the spec. */
void pithp_arrange_output(pithp_arrangement *a, int64_t output, const pith_spec *spec);
/* The program, one reference. NULL sets the error. */
pithp_program *pithp_arrange(pithp_arrangement *a);

#endif
