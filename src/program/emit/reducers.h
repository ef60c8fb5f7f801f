/* Names of the reducers of source/reducers.h (within emit). */
#ifndef PITH_PROGRAM_EMIT_REDUCERS_H
#define PITH_PROGRAM_EMIT_REDUCERS_H

#include "program/emit/emit.h"

/* Spellings of what combine.h says of one. */
typedef struct pithp_text_reducer {
    const char *name, *type, *accumulator, *loaded, *identity, *combine;
} pithp_text_reducer;
extern const pithp_text_reducer pithp_text_reducers[];

/* That of a reduction of a dtype; -1: there is none. */
int pithp_text_reducer_of(pithp_primitive reduction, pith_dtype dtype);
/* Whether the order of its elements makes a difference; and for nothing but which one of
 * nans and zeros it is. */
bool pithp_text_reducer_is_ordered(const pithp_text_reducer *r);
bool pithp_text_reducer_chooses(const pithp_text_reducer *r);
/* Whether it is any or all of bytes. */
bool pithp_text_reducer_is_truth_of_bytes(const pithp_text_reducer *r);

#endif
