/* Unrolled plans (within src/program/emit): the steps of small plans in sequence in one
 * function. Addresses and extents are constants of the text.
 *
 * An unrolled plan has a frame: its inputs and outputs are variables i<frame>_<k> and
 * o<frame>_<k>, its workspace is w<frame>. Small values that only the frame's steps
 * access are local variables and arrays, so that the compiler can keep them in registers.
 */
#ifndef PITH_PROGRAM_EMIT_INLINE_H
#define PITH_PROGRAM_EMIT_INLINE_H

#include "program/emit/fused.h"
#include "program/op/thresholds.h"

typedef struct pithp_inlining {
    pithp_string *t;
    pithp_emitted_ops *ops;
    int frames, slot; /* numbers of the next frame and table slot */
    bool timed;       /* count the ticks of the steps; the tally begins at first_entry */
    int64_t first_entry;
} pithp_inlining;

typedef struct pithp_frame {
    pithp_inlining *x;
    const pithp_plan *plan;
    int number;
    int slot; /* table slot of the literals; the constants follow */
} pithp_frame;

/* Open a frame of a plan, in the order of the table. Declares its variables except
 * inputs, outputs and workspace. */
pithp_frame pithp_frame_open(pithp_inlining *x, const pithp_plan *plan);
/* Storage of a value. A value forwarded by control flow has memory of its own, unless the
 * same operand is always forwarded. */
pithp_place pithp_frame_place(const pithp_plan *plan, pithp_value v);
/* The number of a large result of branches that forward operands: its address is the
 * variable f<frame>_<number>, which a branch sets. -1: the address is known. */
int pithp_frame_forwarded(const pithp_plan *plan, pithp_value v);
/* Emit the address of a value, as an expression of type char *; and that of its own
 * memory, which its step writes. */
void pithp_frame_address(const pithp_frame *f, pithp_value v);
void pithp_frame_memory(const pithp_frame *f, pithp_value v);
/* Emit all steps. */
void pithp_frame_steps(const pithp_frame *f);

/* Emit a fused step. */
void pithp_inline_fused(const pithp_frame *f, const pithp_step *step);

/* Emit a step of control flow. */
void pithp_inline_control(const pithp_frame *f, const pithp_step *step);

/* Whether a step calls the library or a kernel; the number of table slots of the call;
 * and the contents of those slots. `fill` returns the next slot. */
bool pithp_inline_library_fits(const pithp_plan *plan, const pithp_step *step);
int pithp_inline_library_slots(const pithp_plan *plan, const pithp_step *step);
const void **pithp_inline_library_fill(pith_scope *s,
                                       const pithp_plan *plan,
                                       const pithp_step *step,
                                       const void **next);
void pithp_inline_library(const pithp_frame *f, const pithp_step *step);

/* Whether a call of one operation can be unrolled. */
bool pithp_inline_call_fits(const pithp_plan *plan, const pithp_step *step);
void pithp_inline_call(const pithp_frame *f, const pithp_step *step);
/* Emit the functions that the call needs, before the function with the call. */
void pithp_inline_call_define(pithp_inlining *x,
                              const pithp_plan *plan,
                              const pithp_step *step);

/* Whether a call is a small product that can be unrolled; the functions that it needs;
 * and the call. */
bool pithp_inline_dot_fits(const pithp_step *step);
void pithp_inline_dot_define(pithp_inlining *x, const pithp_step *step);
void pithp_inline_dot(const pithp_frame *f, const pithp_step *step);

/* Emit "for (i64 j1 = 2; j1 < 3; j1++)" for axis 1, without a brace. simd: iterations are
 * independent. */
void pithp_inline_loop(pithp_string *t, int axis, int64_t begin, int64_t end, bool simd);
/* Emit "for (i64 j0 = 0; j0 < 3; j0++)" for each axis, without a brace; and the linear
 * index "j0 * 5 + j1 * 1" of those strides. */
void pithp_inline_loops(pithp_string *t, int rank, const int64_t *shape, bool simd);
void pithp_inline_index(pithp_string *t, int rank, const int64_t *stride);

#endif
