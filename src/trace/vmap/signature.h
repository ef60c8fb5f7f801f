/* Signatures of generalized ufuncs (within src/trace/vmap):
 *
 *     signature := cores "->" cores
 *     cores     := core ("," core)*
 *     core      := "(" [dimension ("," dimension)*] ")"
 *     dimension := name | number          spaces are ignored
 *
 * A core lists the last axes of a leaf, those of one call of the function; the axes
 * before them are loop axes. A name has one size in all cores; a number is a size. */
#ifndef PITHP_TRACE_VMAP_SIGNATURE_H
#define PITHP_TRACE_VMAP_SIGNATURE_H

#include "array/array_internal.h"

typedef struct pithp_core {
    int rank;
    int dimensions[PITH_MAX_RANK]; /* numbers in the list of the signature */
} pithp_core;

typedef struct pithp_dimension {
    const char *text; /* in the signature */
    int length;
    int64_t size; /* a number; -1: a name */
} pithp_dimension;

typedef struct pithp_signature {
    int64_t input_count, output_count, dimension_count;
    pithp_core *cores; /* inputs, then outputs; in memory of the scope */
    pithp_dimension *dimensions;
} pithp_signature;

/* Parse. function, f: of the message. PITH_E_ARG: the text is invalid, with the place. */
pith_status pithp_signature_parse(pith_scope *s,
                                  const char *function,
                                  const char *f,
                                  const char *text,
                                  pithp_signature *signature);
/* Append a core as it is written: "(m,n)". */
void pithp_core_print(const pithp_signature *signature,
                      const pithp_core *core,
                      pithp_string *text);

#endif
