/* Names of dtypes in generated text. */
#ifndef PITH_PROGRAM_OP_SPELLING_H
#define PITH_PROGRAM_OP_SPELLING_H

#include "program/op/call.h"

/* The type name of a dtype in generated text: "b8", "f64". */
const char *pithp_dtype_spelling(pith_dtype dtype);

/* Append declarations of T, U, V and HALF for a dtype, which the rows of primitives.def
 * use; indent precedes each line. */
void pithp_dtype_scope(pithp_string *t, const char *indent, pith_dtype dtype);

#endif
