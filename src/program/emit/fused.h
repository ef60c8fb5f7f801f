/* Within emit only: the instructions of a fused step as statements. */
#ifndef PITH_PROGRAM_EMIT_FUSED_H
#define PITH_PROGRAM_EMIT_FUSED_H

#include "program/emit/emit.h"

/* Who reads what in a step. */
typedef struct pithp_step_text {
    pithp_text *t;
    const pithp_fused_args *a;
    int16_t writer[UINT8_MAX + 1];              /* of each slot: the last, or -1 */
    int16_t operands[PITHP_FUSED_OPS][3];       /* op that made it, or -1: memory */
    uint8_t segment[PITHP_FUSED_OPS], segments; /* of each op */
    bool crosses[PITHP_FUSED_OPS];              /* lies in a buffer for others */
    bool is_read[PITHP_FUSED_EXTERNALS];
    pith_dtype dtype[PITHP_FUSED_EXTERNALS];
} pithp_step_text;

void pithp_step_text_begin(pithp_step_text *x, pithp_text *t, const pithp_fused_args *a);

/* One index of the step's space, as statements: what it reads, all instructions, what it
 * writes.
 *
 * @param element Adds an external's element at that index: an expression that may be
 * assigned to. */
void pithp_step_text_index(const pithp_step_text *x,
                           const char *indent,
                           void (*element)(const void *closure, int external),
                           const void *closure);

/* Define the function of one elementwise row, if it is not there yet: its name is
 * row_<row>_<dtype>. */
void pithp_emit_row(pithp_text *t,
                    pithp_emitted_rows *emitted,
                    pithp_primitive row,
                    pith_dtype dtype);

#endif
