/* Within src/trace/control: functions recorded into programs of their own, and loops that
 * run call by call. */
#ifndef PITH_CONTROL_INTERNAL_H
#define PITH_CONTROL_INTERNAL_H

#include "pith/control.h"

#include "array/checks/checks.h"
#include "gpu/collect.h"
#include "program/ir/program.h"
#include "tree/tree_internal.h"

/* ---- Functions that a user passed ---- */

/* A function of so many trees. */
pith_status pithp_body_check(pith_scope *s,
                             const pith_function *f,
                             int arity,
                             const char *function,
                             const char *name);
/* A tree that a function returned, as errors name it: "pith_scan: body f's out". */
typedef struct pithp_returned {
    const char *function;   /* of the user: "pith_scan" */
    const char *role;       /* of the body in it: "body", "on_true", "branch 2" */
    const pith_function *f; /* that body */
    const char *part;       /* "result", or the member of it */
} pithp_returned;
enum { PITHP_RETURNED_BYTES = 200 };
void pithp_returned_print(char text[PITHP_RETURNED_BYTES], const pithp_returned *r);
/* The trees `carry` and `out` of what a scan's body returned. `alone` is NULL, or a
 * carry: a tree of its kind, and of its type if it is a record, is a carry without out.
 */
pith_status pithp_scan_parts(pith_scope *s,
                             const char *function,
                             const pith_function *body,
                             const void *result,
                             const void *alone,
                             const void *parts[2]);
/* It is like the carry that the body got: structure, statics, leaf specs. */
pith_status pithp_carry_check(pith_scope *s,
                              const pithp_returned *r,
                              const void *expected,
                              const pithp_flat *wanted,
                              const void *got);

/* ---- Recording ---- */

/* Traced leaves of the trees that are bound in functions: what the functions read of the
 * trace around them. */
typedef struct pithp_captured {
    const pith_array **arrays; /* in memory of the scope */
    int64_t count, room;
} pithp_captured;
/* Add those of f. */
pith_status
pithp_control_capture(pith_scope *s, pithp_captured *captured, const pith_function *f);

enum { PITHP_CONTROL_ARGUMENTS = 2, PITHP_CONTROL_RESULTS = 2 };

/* What is to be recorded. */
typedef struct pithp_part_call {
    const char *function; /* of the user: "pith_scan" */
    const pith_function *body;
    const pithp_captured *captured; /* inputs of the program, before all else */
    int64_t first_captured;         /* of the body's own */
    int argument_count;
    const pithp_flat *arguments[PITHP_CONTROL_ARGUMENTS];
    const pith_spec **rows; /* specs of the second argument's leaves; NULL: its own */
    bool counts; /* the first argument is an index: the first output is the next one */
    bool scans;  /* the result is a record of carry and out */
    const void *alone; /* of pithp_scan_parts */
} pithp_part_call;

/* A function recorded into a program: inputs are what was captured and the leaves of the
 * arguments, outputs are the leaves of the results. */
typedef struct pithp_part {
    pith_scope *scope;      /* of the results; open until the end */
    pithp_program *program; /* one reference */
    pithp_checks *checks;   /* of the body, whose values are the last outputs; or NULL */
    pithp_value *check_values; /* those outputs */
    int result_count;
    const void *results[PITHP_CONTROL_RESULTS];
    pithp_flat flats[PITHP_CONTROL_RESULTS];
} pithp_part;

/* On failure the error is set; end it in any case. */
pith_status
pithp_part_record(pith_scope *s, pithp_part *part, const pithp_part_call *call);
void pithp_part_end(pithp_part *part);

/* What the body of a loop carries. Inputs of the body: `fixed` constants, `count`
 * carries, then others. Outputs: the carries, then others. */
typedef struct pithp_loop_carries {
    int64_t fixed, count;
    bool counts;  /* the first one is an index, which counts as a row */
    bool ends;    /* no iteration runs after one in which a check failed */
    bool repairs; /* some check of the loop has a fix */
} pithp_loop_carries;
/* Which values of checks of `part`, the body of a loop or its condition, depend on what
 * the body changes of its carry; in memory of s. Inputs of the part: the constants, then
 * the carries. *needs: NULL where none does, or it does not matter. */
pith_status pithp_part_carried_needs(pith_scope *s,
                                     const pithp_part *part,
                                     int64_t fixed,
                                     const pithp_part *body,
                                     const pithp_loop_carries *carried,
                                     const bool **needs);
/* A program that runs only if checks passed. Otherwise its first outputs are inputs that
 * it hands on, those of its own checks pass, and the others are zeros. */
typedef struct pithp_conditional {
    pithp_program *program;
    const pithp_checks *checks;
    int64_t first, handed_on; /* inputs */
} pithp_conditional;
/* Call it in the trace of s with values of that: what its outputs are there. passed: bool
 * []. False: error set. */
bool pithp_control_call_if(pith_scope *s,
                           const pithp_conditional *c,
                           const pith_array *passed,
                           const pithp_value *inputs,
                           pithp_value *outputs);
/* Let the body of a loop carry the values of its checks, behind its own carries. The
 * condition, if there is one, gets the values too. Of a loop that ends with a check that
 * failed, the condition does not hold then; without a condition the body does not run. */
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
/* What the values of checks are before the first iteration. */
pith_status pithp_operands_add_neutral(pith_scope *s,
                                       pithp_operand_list *o,
                                       const pithp_checks *checks,
                                       const char *function);
/* Room for so many. */
pith_status pithp_operands_begin(pith_scope *s, pithp_operand_list *o, int64_t room);
/* A checked operand; it must be usable in the trace of s. */
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
/* The next output of a program: an array whose elements all have these bits. False: error
 * set. */
bool pithp_control_add_filled(pith_scope *s,
                              pithp_program *p,
                              const pith_spec *spec,
                              uint64_t bits);
/* The results of an instruction of the trace of s, in memory of s. NULL: error set. */
const pith_array **pithp_control_add(pith_scope *s, const pithp_new_instruction *given);
/* A tree of s around new leaves. NULL: error set. */
const void *pithp_control_build(pith_scope *s,
                                const pithp_flat *like,
                                const pith_array *const *items);

/* A while whose condition makes checks, or that ends where a check fails. */
typedef struct pithp_checked_while {
    const char *function;
    const pithp_captured *of_cond, *of_body;
    const pithp_part *cond, *body;
    const pithp_flat *carry;
    bool stops;
} pithp_checked_while;
/* The last carry; its checks are noted in the trace of s. NULL: error set. */
const pith_array **pithp_control_add_checked(pith_scope *s, const pithp_checked_while *w);

/* ---- Loops that run ---- */

/* The state of a loop, in a scope of its own, which the next state replaces. */
typedef struct pithp_holder {
    pith_scope *s, *scope; /* scope NULL: the state is what the loop began with */
    const void *state;
    pithp_looping looping;
} pithp_holder;

void pithp_holder_begin(pithp_holder *h, pith_scope *s, const void *state);
/* Open the scope of the next iteration. NULL: error set. */
pith_scope *pithp_holder_next(pithp_holder *h);
/* The next state, made in that scope; NULL: it failed. */
bool pithp_holder_step(pithp_holder *h, pith_scope *next, const void *state);
/* The last state in the scope around; NULL: error set. */
const void *pithp_holder_end(pithp_holder *h);

/* Whether a loop that runs ends where a check fails. Before and after it, on all ways. */
typedef struct pithp_ending {
    bool ends;
    pithp_collector *around, *checks; /* of the loop; NULL: no collector */
} pithp_ending;
pith_status pithp_ending_begin(pith_scope *s, pithp_ending *e, bool ends);
/* No check of the loop has failed so far, or the loop does not end there; waits. False
 * also if an error is set. */
bool pithp_ending_goes_on(const pithp_holder *h, const pithp_ending *e);
void pithp_ending_end(pith_scope *s, pithp_ending *e);

/* An integer or bool of rank 0 on the host, a u64 as its bits; waits. */
pith_status pithp_control_read(pith_scope *s,
                               const pith_array *a,
                               const char *function,
                               const char *name,
                               int64_t *value);
/* Whether a is an array of rank 0 of bool (or of an integer dtype); sets the error. */
pith_status pithp_scalar_check(pith_scope *s,
                               const pith_array *a,
                               bool integer,
                               const char *function,
                               const char *name);

#endif
