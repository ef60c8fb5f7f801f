/* Within src/trace/control: sub-programs, and eager loops. */
#ifndef PITH_CONTROL_INTERNAL_H
#define PITH_CONTROL_INTERNAL_H

#include "pith/control.h"

#include "array/checks/length.h"
#include "gpu/collect.h"
#include "program/ir/program.h"
#include "trace/part/part.h"

/* ---- Functions of the user ---- */

/* Check a function of `arity` trees. */
pith_status pithp_body_check(pith_scope *s,
                             const pith_function *f,
                             int arity,
                             const char *function,
                             const char *name);
/* The trees `carry` and `out` of the result of a scan's body. If `alone` is not NULL, it
 * is a carry: a result of its kind (and type, for a record) is a carry without out. */
pith_status pithp_scan_parts(pith_scope *s,
                             const char *function,
                             const pith_function *body,
                             const void *result,
                             const void *alone,
                             const void *parts[2]);
/* ---- Recording ---- */

/* Carries of a loop body. Inputs: `fixed` constants, `count` carries, then others.
 * Outputs: the carries, then others. */
typedef struct pithp_loop_carries {
    int64_t fixed, count;
    bool counts;  /* the first carry is an index, which counts as a row */
    bool ends;    /* no iteration runs after a failed check */
    bool repairs; /* some check of the loop has a fix */
} pithp_loop_carries;
/* Find the check values of `part`, the loop body or its condition, that depend on carries
 * changed by the body. *needs is in memory of s. Inputs of the part: the constants, then
 * the carries. NULL: none depends on them, or it does not matter. */
pith_status pithp_part_carried_needs(pith_scope *s,
                                     const pithp_part *part,
                                     int64_t fixed,
                                     const pithp_part *body,
                                     const pithp_loop_carries *carried,
                                     const bool **needs);
/* A program that runs only if checks passed. Otherwise its first outputs are forwarded
 * inputs, the values of its own checks pass, and the other outputs are zeros. */
typedef struct pithp_conditional {
    pithp_program *program;
    const pithp_checks *checks;
    int64_t first, handed_on; /* first forwarded input; number of them */
} pithp_conditional;
/* Call it in the trace of s with values of that trace; `outputs` receives its outputs
 * there. passed: bool []. False: error set. */
bool pithp_control_call_if(pith_scope *s,
                           const pithp_conditional *c,
                           const pith_array *passed,
                           const pithp_value *inputs,
                           pithp_value *outputs);
/* Add check values to the carries of a loop body, after its own carries. The condition,
 * if any, receives them too. For a loop that ends at a failed check, the condition
 * becomes false then; without a condition the body is skipped. */
pith_status pithp_part_carry_checks(pith_scope *s,
                                    pithp_part *part,
                                    const pithp_loop_carries *carried,
                                    pithp_program **cond,
                                    int64_t cond_fixed);

/* Operands of an instruction, in memory of the scope. */
typedef struct pithp_operand_list {
    pithp_value *values;
    int count;
} pithp_operand_list;
/* Add the passing check values before the first iteration. */
pith_status pithp_operands_add_neutral(pith_scope *s,
                                       pithp_operand_list *o,
                                       const pithp_checks *checks,
                                       const char *function);
/* Begin a list with capacity for `room` operands. */
pith_status pithp_operands_begin(pith_scope *s, pithp_operand_list *o, int64_t room);
/* Add a checked operand; it must be usable in the trace of s. */
pith_status pithp_operands_add(pith_scope *s,
                               pithp_operand_list *o,
                               const pith_array *a,
                               const char *function,
                               const char *name);
pith_status pithp_operands_add_all(pith_scope *s,
                                   pithp_operand_list *o,
                                   const pithp_flat *f,
                                   const char *function,
                                   const char *name);
/* Add an output to a program: an array filled with these bits. False: error set. */
bool pithp_control_add_filled(pith_scope *s,
                              pithp_program *p,
                              const pith_spec *spec,
                              uint64_t bits);
/* Add an instruction to the trace of s; returns its results, in memory of s. NULL: error
 * set. */
const pith_array **pithp_control_add(pith_scope *s, const pithp_new_instruction *given);
/* Add a while, with a record unless that is NULL: then its check is recorded, too.
 * Returns the results of the loop itself. NULL: error set. */
const pith_array **pithp_control_add_while(pith_scope *s,
                                           const pithp_new_instruction *given,
                                           const pithp_record *record);
/* Carries that come to vary between ranks (widen.c): zero before the loop is recorded. */
typedef struct pithp_widening {
    pithp_flat *carry; /* the initial values */
    uint32_t decision; /* the axes that the number of iterations varies over */
    bool again;        /* the loop is to be recorded again: `carry` has been widened */
} pithp_widening;
/* Find whether a loop, which is about to be added, must be recorded again.
 *
 * @param skipped Carries before those of w->carry. */
pith_status pithp_control_widen(pith_scope *s,
                                const pithp_new_instruction *given,
                                int skipped,
                                pithp_widening *w);
/* A while loop whose condition makes checks, or that ends at a failed check. */
typedef struct pithp_checked_while {
    const char *function;
    const pithp_captured *of_cond, *of_body;
    const pithp_part *cond, *body;
    const pithp_flat *carry;
    const pithp_record *record; /* NULL: none */
    pithp_widening *widening;
    bool stops;
} pithp_checked_while;
/* The final carry; its checks are recorded in the trace of s. NULL: error set, or the
 * loop is to be recorded again. */
const pith_array **pithp_control_add_checked(pith_scope *s, const pithp_checked_while *w);

/* ---- Eager loops ---- */

/* The state of a loop, in a scope of its own, replaced by the next state. */
typedef struct pithp_holder {
    pith_scope *s, *scope; /* scope NULL: the initial state */
    const void *state;
    pithp_looping looping;
} pithp_holder;

void pithp_holder_begin(pithp_holder *h, pith_scope *s, const void *state);
/* Open the scope of the next iteration. NULL: error set. */
pith_scope *pithp_holder_next(pithp_holder *h);
/* Set the next state, made in that scope; NULL: the iteration failed. */
bool pithp_holder_step(pithp_holder *h, pith_scope *next, const void *state);
/* The final state in the outer scope; NULL: error set. */
const void *pithp_holder_end(pithp_holder *h);

/* Early end of an eager loop at a failed check. Begin before the loop, end after it on
 * all paths. Ranks that make collectives in an iteration end together, at a failed check
 * of any of them. */
typedef struct pithp_ending {
    const char *function; /* name of the user's call; NULL: failures do not end it */
    pithp_collector *around, *checks; /* of the loop; NULL: no collector */
    uint64_t agreed;                  /* collectives up to the last look at the checks */
} pithp_ending;
pith_status pithp_ending_begin(pith_scope *s, pithp_ending *e, const char *function);
/* Whether the loop continues: no check has failed, or failures do not end it; waits.
 * False also if an error is set. */
bool pithp_ending_goes_on(const pithp_holder *h, pithp_ending *e);
void pithp_ending_end(pith_scope *s, pithp_ending *e);

/* Read an integer or bool of rank 0, a u64 as its bits; waits. */
pith_status pithp_control_read(pith_scope *s,
                               const pith_array *a,
                               const char *function,
                               const char *name,
                               int64_t *value);
/* Check that a is an array of rank 0 of bool (or of an integer dtype). */
pith_status pithp_scalar_check(pith_scope *s,
                               const pith_array *a,
                               bool integer,
                               const char *function,
                               const char *name);

#endif
