/* Reducers of source/reducers.h by name (within src/program/emit). */
#ifndef PITH_PROGRAM_EMIT_REDUCERS_H
#define PITH_PROGRAM_EMIT_REDUCERS_H

#include "program/emit/emit.h"

/* The columns of M_REDUCERS as text. */
typedef struct pithp_text_reducer {
    const char *name, *type, *accumulator, *loaded, *identity, *combine;
} pithp_text_reducer;
extern const pithp_text_reducer pithp_text_reducers[];

/* The reducer of a reduction of a dtype; -1: none. */
int pithp_text_reducer_of(pithp_primitive reduction, pith_dtype dtype);
/* Whether the result depends on the order of the elements; and whether only the choice
 * among NaNs and zeros does. */
bool pithp_text_reducer_is_ordered(const pithp_text_reducer *r);
bool pithp_text_reducer_chooses(const pithp_text_reducer *r);
/* Whether it is `any` or `all` of bytes. */
bool pithp_text_reducer_is_truth_of_bytes(const pithp_text_reducer *r);

#endif
