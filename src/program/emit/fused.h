/* Within emit only: the instructions of a fused step as statements. */
#ifndef PITH_PROGRAM_EMIT_FUSED_H
#define PITH_PROGRAM_EMIT_FUSED_H

#include "program/emit/emit.h"

/* Who reads what in a step; of ops and externals that it has. */
typedef struct pithp_step_text {
    pithp_text *t;
    const pithp_fused_step *a;
    int32_t segments, block; /* elements that a segment does before the next one */
    bool multiplies; /* divisions by those are done by their inverses (divide.h) */
    bool chooses;    /* the piece of each element; else pieces lie flat for a while */
    int16_t writer[PITHP_FUSED_OPS + PITHP_FUSED_EXTERNALS]; /* of each slot: the last
                                                                op, or -1 */
    int16_t operands[PITHP_FUSED_OPS][3]; /* op that made it, or -1: memory */
    int16_t segment[PITHP_FUSED_OPS];     /* of each op */
    bool crosses[PITHP_FUSED_OPS];        /* lies in a buffer for others */
    bool is_read[PITHP_FUSED_EXTERNALS];
    int16_t reader[PITHP_FUSED_EXTERNALS]; /* the first op that does */
    bool is_one[PITHP_FUSED_EXTERNALS];    /* x<external> is declared before the loops */
    uint8_t dtype[PITHP_FUSED_EXTERNALS];  /* pith_dtype */
} pithp_step_text;

void pithp_step_text_begin(pithp_step_text *x, pithp_text *t, const pithp_fused_step *a);

/* Whether an op calls a function of math.def. */
bool pithp_op_calls_maths(const pithp_fused_op *op);

/* How an element of an external at the index at hand is written: an expression that may
 * be assigned to. */
typedef struct pithp_elements {
    void (*add)(const void *closure, int external);
    const void *closure;
} pithp_elements;

/* One index of the step's space, as statements: what it reads, all instructions. */
void pithp_step_text_values(const pithp_step_text *x,
                            const char *indent,
                            const pithp_elements *memory);
/* The same, then what it writes. */
void pithp_step_text_index(const pithp_step_text *x,
                           const char *indent,
                           const pithp_elements *memory);
/* Whether they write an external. */
bool pithp_step_text_writes(const pithp_step_text *x, int external);
/* What those statements name the element of an external: "x3", or "v5" where they make
 * it. */
enum { PITHP_ELEMENT_NAME_BYTES = 16 };
void pithp_step_text_element(const pithp_step_text *x,
                             int external,
                             char name[PITHP_ELEMENT_NAME_BYTES]);

/* Whether the index is enough for all that a step does: no part of it has loops of its
 * own. */
bool pithp_step_text_is_plain(const pithp_step_text *x);

/* Loops over `i` from begin to end, both expressions, that do the same. */
void pithp_step_text_loops(const pithp_step_text *x,
                           const char *begin,
                           const char *end,
                           const pithp_elements *memory);

/* The arguments that a kernel gets, and what one thread does for index i of them, a. */
void pithp_kernel_text_arguments(const pithp_step_text *x, const char *name);
void pithp_kernel_text_index(const pithp_step_text *x, const char *indent);
/* The function of what a kernel reduces, and the kernel. */
void pithp_kernel_text_reduction(pithp_step_text *x,
                                 const char *name,
                                 const pithp_kernel_reduction *reduction);
/* The function's statements for index i of arguments a, which write nothing. */
void pithp_kernel_text_values(const pithp_step_text *x, const char *indent);
/* How many of the externals before one are walked: have strides, for they do not lie as
 * the index space does. And the number of one among those, or -1: it lies flat, is one
 * element, or is of pieces. */
int pithp_kernel_walks(const pithp_fused_step *a, int before);
int pithp_kernel_walk(const pithp_fused_step *a, int external);

/* What its text depends on beside instructions, and what lies flat or is one element, as
 * bytes; returns their number. */
enum { PITHP_NEST_BYTES = (PITHP_FUSED_EXTERNALS + 1) * PITH_MAX_RANK };
int pithp_nest_describe(const pithp_fused_step *a, int8_t bytes[PITHP_NEST_BYTES]);

/* The function of a step that is not direct. */
void pithp_emit_nest(pithp_step_text *x, const char *name);

/* Define the function of one elementwise row, if it is not there yet: its name is
 * row_<row>_<dtype>. */
void pithp_emit_row(pithp_text *t,
                    pithp_emitted_rows *emitted,
                    pithp_primitive row,
                    pith_dtype dtype);

#endif
