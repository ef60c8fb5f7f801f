/* Derivation of control flow (within src/program/derive). */
#ifndef PITH_PROGRAM_DERIVE_CONTROL_H
#define PITH_PROGRAM_DERIVE_CONTROL_H

#include "program/derive/rules.h"

/* What derived programs are for, as in pithp_derivation. */
typedef struct pithp_derive_mode {
    bool split, reverse, strong_zero;
    bool direct; /* the program is linear in its moving inputs (linear.c) */
    bool no_cuts;
    uint64_t nest;     /* as in pithp_derivation */
    pithp_kept *kept;  /* for loops; or NULL */
    const bool *taken; /* of each input, whether keeping it takes no bytes, for a choice
                          by bytes; NULL: values that cross are kept */
    pithp_derive_watches *watches; /* receives them, or NULL */
    pithp_derive_watches *inside;  /* of the program around: rules examine; or NULL */
    const char *rule;              /* as in pithp_derivation */
    struct pithp_callees *callees; /* the program has rows for calls; or NULL */
    pithp_call_counts *calls;      /* added to; or NULL */
} pithp_derive_mode;

/* The mode of the programs of control flow in a derivation. Loops of a derivation with a
 * budget are in no other one. */
static inline pithp_derive_mode pithp_mode_in(const pithp_derivation *d) {
    return (pithp_derive_mode){.reverse = d->reverse,
                               .strong_zero = d->strong_zero,
                               .direct = d->dependent != NULL,
                               .no_cuts = d->no_cuts,
                               .nest = d->nest,
                               .kept = d->kept && d->kept->body ? d->kept : NULL,
                               .inside = d->inside,
                               .rule = d->rule,
                               .calls = d->calls};
}

/* pithp_program_jvp without a check of cuts; or, if it is to be split, with two
 * instructions for one of control flow. */
pithp_program *pithp_forward(pith_scope *s,
                             const pithp_program *p,
                             const bool *moving,
                             pithp_derive_mode mode,
                             bool *moves);
/* pithp_program_linearize without a check of cuts. */
bool pithp_split(pith_scope *s,
                 const pithp_program *p,
                 const bool *moving,
                 pithp_derive_mode mode,
                 bool *moves,
                 pithp_linearization *result);
/* Add a derived cond, while or scan. Sets its results, and their tangents or
 * PITHP_ABSENT. False sets the error. c->result is not used. */
bool pithp_derive_control(pithp_derivation *d,
                          const pithp_moving_call *c,
                          pithp_value *results,
                          pithp_value *tangents);
/* Add what a rule of the user gives for its row, as pithp_derive_control (user_rule.c).
 */
bool pithp_derive_rule(pithp_derivation *d,
                       const pithp_moving_call *c,
                       pithp_value *results,
                       pithp_value *tangents);
/* Show the first float operand of an elementwise row that does not move, at the elements
 * of w->spec, if there is one. False sets the error (watched_rule.c). */
bool pithp_watch_beside(pithp_derivation *d,
                        const pithp_instruction *i,
                        const pithp_value *operands,
                        const pithp_value *moving,
                        pithp_derive_watch *w);
/* Programs of rules of the user in which results are watched (watched_rule.c): if a
 * derivative that they return is NaN or infinite, the first such result is an error. */
/* Of a program that returns values, then their tangents, which count where the value is
 * finite; its inputs from `known` on are tangents. One reference; NULL sets the error. */
pithp_program *pithp_watched_tangents(pith_scope *s,
                                      const pithp_program *p,
                                      const pithp_derive_watches *watches,
                                      const char *name,
                                      int64_t known);
/* The linear row of a derived call, with the primals that move as residuals after its
 * own: cotangents that it returns count where the primal is finite, if those that it gets
 * are. One reference; NULL sets the error. */
pithp_rule *
pithp_watched_linear(pithp_derivation *d, const pithp_moving_call *c, pithp_rule *linear);
/* The same in a program that is linear in its moving inputs: the linear row of the rule
 * on tangents (user_rule.c). */
bool pithp_linear_rule(pithp_derivation *d,
                       const pithp_moving_call *c,
                       pithp_value *results,
                       pithp_value *tangents);
/* Find the results of control flow that move with marked operands, and mark carries that
 * come to move, as a fixed point. False sets the error. */
bool pithp_control_moves(pith_scope *s,
                         const pithp_instruction *i,
                         bool *operands,
                         bool *results);
/* Whether a tangent of operand k gives the first result of a lowered or checked
 * instruction, or of a kernel, a tangent. */
bool pithp_operand_moves(const pithp_program *p, const pithp_instruction *i, int k);
/* Mark all values that move with values that are marked. Refusals are left to the
 * derivation. False sets the error. */
bool pithp_mark_moves(pith_scope *s, const pithp_program *p, bool *values);
/* Find the outputs that move with marked inputs. Refusals are left to the derivation.
 * False sets the error. */
bool pithp_program_moves(pith_scope *s,
                         const pithp_program *p,
                         const bool *inputs,
                         bool *outputs);

/* ---- Linear programs (linear.c) ---- */

/* Which values of a program depend on moving inputs, in memory of the scope. NULL: error
 * set. */
const uint64_t *
pithp_dependent(pith_scope *s, const pithp_program *p, const bool *moving);
/* An operand with a tangent in which the row is not linear, jointly with the others; or
 * -1. */
int pithp_not_linear(const pithp_moving_call *c);
/* Set an error that names the row and the operand. Returns -1. */
pithp_value
pithp_refuse_nonlinear(pithp_derivation *d, const pithp_moving_call *c, int k);
/* Check that the rows of a program are linear in what depends on marked inputs. False
 * sets the error. */
bool pithp_check_linear(pith_scope *s, const pithp_program *p, const bool *inputs);
/* Check that the outputs from `first` on have no term that does not depend on marked
 * inputs, unless it is 0 or may be. site: of an error in none of its calls. False sets
 * the error. */
bool pithp_check_terms(pith_scope *s,
                       const pithp_program *p,
                       const bool *inputs,
                       int64_t first,
                       const char *site);
/* The row on the tangents of its operands: the tangent of the result. -1: error set. */
pithp_value pithp_linear_row(pithp_derivation *d, const pithp_moving_call *c);
/* Find the moving results and carries of control flow. False sets the error: a tangent
 * decides how often a loop runs. */
bool pithp_linear_moves(pithp_derivation *d,
                        const pithp_moving_call *c,
                        bool *operands,
                        bool *results);

/* ---- Transposition ---- */

/* pithp_program_transpose with sums, so that cotangents from iterations are added one by
 * one: after the cotangents of outputs, the result has an input for each input of linear
 * that `sums` marks, and the cotangent of this one is added to it. sums: marked inputs;
 * NULL: none. */
pithp_program *pithp_transpose_onto(pith_scope *s,
                                    const pithp_program *linear,
                                    const bool *marks,
                                    const bool *sums,
                                    bool *reaches);
/* Add the transpose of control flow, and the cotangents of its operands to those of the
 * values of c->from. False sets the error. */
bool pithp_transpose_control(pithp_derivation *d,
                             const pithp_moving_call *c,
                             pithp_value *cotangents);
/* The same for the linear row of a rule of the user. */
bool pithp_transpose_rule(pithp_derivation *d,
                          const pithp_moving_call *c,
                          pithp_value *cotangents);

#endif
