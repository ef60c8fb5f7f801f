/* Text of programs: C for the host's compiler and, behind another prologue, for NVRTC. */
#ifndef PITH_PROGRAM_EMIT_H
#define PITH_PROGRAM_EMIT_H

#include "program/interpret/plan.h"

/* How a dtype is called in texts: "b8", "f64". */
const char *pithp_dtype_spelling(pith_dtype dtype);

/* Declare T, U, V and HALF of the primitive table for a dtype; indent precedes each line.
 */
void pithp_dtype_scope(pithp_text *t, const char *indent, pith_dtype dtype);

/* ---- Fused steps ---- */

/* Define the functions that rows of the table and casts are in texts, each once:
 * "add_f64(x, y)" over elements as they are stored. */
typedef struct pithp_emitted_rows {
    uint16_t rows[PITHP_ELEMENTWISE_COUNT], casts[PITH_DTYPE_COUNT]; /* bits: dtypes */
    bool maths; /* one of them calls a function of math.def */
} pithp_emitted_rows;
void pithp_emit_row_functions(pithp_text *t,
                              pithp_emitted_rows *emitted,
                              const pithp_fused_args *step);

/* The parameters and the body of a function for a fused step, which must follow its rows:
 *     (const void *at, i64 begin, i64 end) { ... }
 * on elements begin to end of what lies at at[e], for external e: all side by side, but
 * uniform ones, of which the first element is read. */
void pithp_emit_fused(pithp_text *t, const pithp_fused_args *step);

/* Whether a step reads and writes all memory where it lies. */
bool pithp_is_direct(const pithp_fused_args *step);
/* An external that is one element for all. */
bool pithp_is_uniform(const pithp_fused_args *step, const pithp_external *e);

/* ---- Plans ---- */

enum { PITHP_STEP_NAME_BYTES = 32 };
/* "pith_step_3" */
void pithp_step_name(char name[PITHP_STEP_NAME_BYTES], int64_t function);

/* The whole text for the host of a plan's fused steps. Steps that do the same work share
 * a function: functions[k] is the number in the name of step k's, or -1 (a call). maths:
 * it has to be linked with pithp_math_link_module. False: there is none, or no memory. */
bool pithp_emit_host(pithp_text *t,
                     const pithp_plan *plan,
                     int32_t *functions,
                     bool *maths);

#endif
