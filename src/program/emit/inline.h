/* Within emit only: the steps of small plans, laid out one after the other in one
 * function whose addresses and extents are in the text.
 *
 * A plan that is laid out is a frame: its inputs and outputs are variables i<frame>_<k>
 * and o<frame>_<k>, its workspace is w<frame>. Small values that only steps of the frame
 * see are variables and arrays of their own, so that they may stay in registers. */
#ifndef PITH_PROGRAM_EMIT_INLINE_H
#define PITH_PROGRAM_EMIT_INLINE_H

#include "program/emit/fused.h"
#include "program/op/thresholds.h"

typedef struct pithp_inlining {
    pithp_text *t;
    pithp_emitted_rows *rows;
    int frames, slot; /* numbers for the next ones */
    bool timed;       /* ticks of steps are counted, of entries from the first on */
    int64_t first_entry;
} pithp_inlining;

typedef struct pithp_frame {
    pithp_inlining *x;
    const pithp_plan *plan;
    int number;
    int slot; /* of the literals in the table; constants follow */
} pithp_frame;

/* A frame of a plan, the next one in the order in which the table lists them. Declares
 * its variables, but inputs, outputs and workspace. */
pithp_frame pithp_frame_open(pithp_inlining *x, const pithp_plan *plan);
/* Location of a value. A value passed through control flow has a variable of its own,
 * unless the same value is always passed on. */
pithp_place pithp_frame_place(const pithp_plan *plan, pithp_value v);
/* The address of a value, as an expression of type char *. */
void pithp_frame_address(const pithp_frame *f, pithp_value v);
/* All steps. */
void pithp_frame_steps(const pithp_frame *f);

/* A step of elementwise instructions. */
void pithp_inline_fused(const pithp_frame *f, const pithp_step *step);

/* A step that is control flow. */
void pithp_inline_control(const pithp_frame *f, const pithp_step *step);

/* A step that is a call of the library or of a kernel; how many slots of the table a step
 * takes for that; and what is in them. */
bool pithp_inline_library_fits(const pithp_plan *plan, const pithp_step *step);
int pithp_inline_library_slots(const pithp_plan *plan, const pithp_step *step);
const void **pithp_inline_library_fill(pith_scope *s,
                                       const pithp_plan *plan,
                                       const pithp_step *step,
                                       const void **next);
void pithp_inline_library(const pithp_frame *f, const pithp_step *step);

/* Whether a step that is a call of one row can be laid out. */
bool pithp_inline_call_fits(const pithp_plan *plan, const pithp_step *step);
void pithp_inline_call(const pithp_frame *f, const pithp_step *step);
/* What must be defined before the function in which the call is. */
void pithp_inline_call_define(pithp_inlining *x,
                              const pithp_plan *plan,
                              const pithp_step *step);

/* Whether a call is a product that is laid out; the functions it needs; and the call. */
bool pithp_inline_product_fits(const pithp_step *step);
void pithp_inline_product_define(pithp_inlining *x, const pithp_step *step);
void pithp_inline_product(const pithp_frame *f, const pithp_step *step);

/* "for (i64 j1 = 2; j1 < 3; j1++)", of axis 1, without a brace; simd: its iterations are
 * independent. */
void pithp_inline_loop(pithp_text *t, int axis, int64_t begin, int64_t end, bool simd);
/* "for (i64 j0 = 0; j0 < 3; j0++)" for each axis, without a brace; and its index
 * "j0 * 5 + j1 * 1", with these strides. */
void pithp_inline_loops(pithp_text *t, int rank, const int64_t *shape, bool simd);
void pithp_inline_index(pithp_text *t, int rank, const int64_t *stride);

#endif
