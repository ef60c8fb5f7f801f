/* Fused steps as C statements (within src/program/emit). */
#ifndef PITH_PROGRAM_EMIT_FUSED_H
#define PITH_PROGRAM_EMIT_FUSED_H

#include "program/emit/emit.h"

/* Def-use analysis of a step: arrays have an entry per op, slot or external. */
typedef struct pithp_step_text {
    pithp_string *t;
    const pithp_fused_step *a;
    int32_t segments, block; /* block: elements of a segment at a time */
    bool multiplies;         /* a division by a uniform operand multiplies by its inverse
                                (source/divide.h) */
    bool chooses; /* each element selects its piece; else pieces are contiguous, block by
                     block */
    int16_t writer[PITHP_FUSED_OPS + PITHP_FUSED_EXTERNALS]; /* of each slot: the last op
                                                                that writes it, or -1 */
    int16_t operands[PITHP_FUSED_OPS]
                    [3];              /* op that computes it; -1: loaded from memory */
    int16_t segment[PITHP_FUSED_OPS]; /* of each op */
    bool crosses[PITHP_FUSED_OPS];    /* a later segment reads it, from a buffer */
    bool is_read[PITHP_FUSED_EXTERNALS];
    int16_t reader[PITHP_FUSED_EXTERNALS];  /* the first op that reads it */
    bool is_hoisted[PITHP_FUSED_EXTERNALS]; /* x<external> is declared before the loops */
    uint8_t dtype[PITHP_FUSED_EXTERNALS];   /* pith_dtype */
} pithp_step_text;

void pithp_step_text_begin(pithp_step_text *x,
                           pithp_string *t,
                           const pithp_fused_step *a);

/* Whether an op calls a function of math.def. */
bool pithp_op_calls_maths(const pithp_fused_op *op);

/* Addressing of an external: `add` emits its element at the current index, as an
 * lvalue. */
typedef struct pithp_elements {
    void (*add)(const void *closure, int external);
    const void *closure;
} pithp_elements;

/* Emit the loads and instructions of one index, without stores. */
void pithp_step_text_values(const pithp_step_text *x,
                            const char *indent,
                            const pithp_elements *memory);
/* Emit its stores, without those of marked externals; NULL: all. */
void pithp_step_text_stores(const pithp_step_text *x,
                            const char *indent,
                            const pithp_elements *memory,
                            const bool *except);
/* Emit the loads, instructions and stores of one index. */
void pithp_step_text_index(const pithp_step_text *x,
                           const char *indent,
                           const pithp_elements *memory);
/* Whether the step writes an external. */
bool pithp_step_text_writes(const pithp_step_text *x, int external);
/* The variable that holds an external's element in those statements: "x3" if it is
 * loaded, "v5" if op 5 computes it. */
enum { PITHP_ELEMENT_NAME_BYTES = 16 };
void pithp_step_text_element(const pithp_step_text *x,
                             int external,
                             char name[PITHP_ELEMENT_NAME_BYTES]);

/* Whether a single loop over the index runs the whole step: one segment and no check of
 * divisors. */
bool pithp_step_text_is_plain(const pithp_step_text *x);

/* Emit loops over `i` from `begin` to `end`, both expressions, that run the step. */
void pithp_step_text_loops(const pithp_step_text *x,
                           const char *begin,
                           const char *end,
                           const pithp_elements *memory);

/* Emit the argument struct of a kernel, and the statements of a thread for index i of
 * arguments `a`. */
void pithp_kernel_text_arguments(const pithp_step_text *x, const char *name);
void pithp_kernel_text_index(const pithp_step_text *x, const char *indent);
/* Emit the function of a reduction's operand, and the kernel. */
void pithp_kernel_text_reduction(pithp_step_text *x,
                                 const char *name,
                                 const pithp_kernel_reduction *reduction);
/* Emit the statements of that function for index i of arguments `a`; they store
 * nothing. */
void pithp_kernel_text_values(const pithp_step_text *x, const char *indent);
/* The number of strided externals before external `before`: an external that is neither
 * contiguous, uniform nor piecewise has strides. And the rank of an external among them,
 * or -1. */
int pithp_kernel_strided_before(const pithp_fused_step *a, int before);
int pithp_kernel_strided_index(const pithp_fused_step *a, int external);

/* Describe a loop nest as bytes: all that its text depends on, other than instructions
 * and kinds of externals. Returns their number. */
enum { PITHP_NEST_BYTES = (PITHP_FUSED_EXTERNALS + 1) * PITHP_MAX_RANK };
int pithp_nest_describe(const pithp_fused_step *a, int8_t bytes[PITHP_NEST_BYTES]);

/* Emit the function of a step that is not direct. */
void pithp_emit_nest(pithp_step_text *x, const char *name);

/* Define the function op_<operation>_<dtype> of an elementwise operation, once in a
 * text. */
void pithp_emit_op_function(pithp_string *t,
                            pithp_emitted_ops *emitted,
                            pithp_primitive operation,
                            pith_dtype dtype);

#endif
