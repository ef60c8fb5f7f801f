/* Within src/trace/derive: derivatives of functions over trees.
 *
 * A derived function is a closure under a compiled function, so that it always runs in a
 * trace. It records its base function as a program of its own, derives the program, and
 * adds the derived program to the trace. The result is a recorded program like others. */
#ifndef PITHP_TRACE_DERIVE_H
#define PITHP_TRACE_DERIVE_H

#include "pith/derive.h"

#include "program/derive/derive.h"
#include "trace/part/part.h"

/* ---- Functions (function.c) ---- */

struct pithp_derivation_call;

/* A kind of derived functions. */
typedef struct pithp_derived_kind {
    const char *function; /* that makes it: "pith_grad" */
    bool scalar;          /* the value is a float of rank 0 */
    const char *tangent;  /* forward mode: the name of the tangent; or NULL */
    /* Derive the recorded program of the call. NULL: error set. */
    const void *(*derive)(struct pithp_derivation_call *c);
} pithp_derived_kind;

/* The closure of a derived function. */
typedef struct pithp_derived {
    pithp_closure closure;
    const pithp_derived_kind *kind;
    pith_derive_options options; /* with paths of the scope */
} pithp_derived;

/* A derived function of s over f: `like` has its parameters and result. tangent: a tree
 * to bind, or NULL. NULL: error set. */
const pith_function *pithp_derived_make(pith_scope *s,
                                        const pithp_derived_kind *kind,
                                        const pith_function *f,
                                        const pith_function *like,
                                        const void *tangent,
                                        const pith_derive_options *options);
/* Check a function of the user and the options of its derivation; `o` receives them. */
pith_status pithp_derive_check(pith_scope *s,
                               const char *function,
                               const pith_function *f,
                               const pith_derive_options *options,
                               pith_derive_options *o);
/* The type of the gradient of f: that of the selected argument, or NULL. */
const pith_type *(*pithp_gradient_type(const pith_function *f,
                                       const pith_derive_options *o))(void);

/* ---- Calls (call.c) ---- */

/* A selected part of an argument. */
typedef struct pithp_selected {
    const void *node;
    int argument;
    int64_t first; /* of its leaves, among those of the argument */
    pithp_flat flat;
    int64_t input; /* of the program: of its first leaf */
} pithp_selected;

/* A call of a derived function in a trace. Arrays are in memory of s. */
typedef struct pithp_derivation_call {
    pith_scope *s;
    pithp_trace *trace;
    const pithp_derived *derived;
    const char *function;   /* of the user: "pith_grad" */
    const pith_function *f; /* the base function */
    const void *const *given;
    const void *tangent; /* of the selected parts: the bound tree or the last argument */
    pithp_flat arguments[PITHP_MOST_PARAMETERS];
    int argument_count;
    bool *moving[PITHP_MOST_PARAMETERS]; /* by leaf */
    bool *known[PITHP_MOST_PARAMETERS];  /* by leaf: passed on as it is */
    pithp_selected *selected;
    int selected_count;
    pithp_captured captured;
    pithp_part part;
    bool recorded;                  /* part is to be ended */
    pithp_program *program;         /* the optimised program of part, one reference */
    bool *moves;                    /* by input of the program */
    pithp_value *inputs;            /* by input of the program: in the trace */
    int64_t value_count, aux_count; /* outputs; then those of checks */
} pithp_derivation_call;

/* The implementation of pith_function.call of derived functions. */
const void *
pithp_derived_call(const pith_function *self, pith_scope *s, const void *const *given);

/* The inputs of a program in forward mode: those of the recorded program, then the
 * tangents of those that move, which are checked. In memory of the scope. NULL: error
 * set. */
pithp_value *pithp_derivation_tangents(pithp_derivation_call *c);
/* Add a program to the trace: values of its outputs, in memory of the scope. NULL: error
 * set. */
pithp_value *pithp_derivation_add(pithp_derivation_call *c,
                                  const pithp_program *p,
                                  const pithp_value *inputs);
/* Replay the checks of the program, whose outputs these are. */
pith_status pithp_derivation_checks(pithp_derivation_call *c, const pithp_value *outputs);
/* The value or aux of outputs of the program. NULL: error set. */
const void *pithp_derivation_value(pithp_derivation_call *c, const pithp_value *outputs);
const void *pithp_derivation_aux(pithp_derivation_call *c, const pithp_value *outputs);
/* A tree like the value with a tangent for each output that moves, in order, and zeros
 * elsewhere. NULL: error set. */
const void *pithp_derivation_tangent(pithp_derivation_call *c,
                                     const bool *moves,
                                     const pithp_value *tangents);
/* A tree like the selected parts. reaches: by input of the program, whether it has a
 * value, in order; others are zeros. NULL: error set. */
const void *pithp_derivation_gradient(pithp_derivation_call *c,
                                      const bool *reaches,
                                      const pithp_value *values);
/* A tuple of two trees and aux if the options ask for it. NULL: error set. */
const void *pithp_derivation_tuple(pithp_derivation_call *c,
                                   const void *a,
                                   const void *b,
                                   const pithp_value *outputs);

/* ---- Programs (reverse.c) ---- */

/* A program in reverse: forward and transposed, with one reference each. The inputs of
 * transposed are residuals and a cotangent for each value that moves; its outputs are
 * the cotangents of the inputs that `reaches` marks. */
typedef struct pithp_reverse {
    pithp_program *forward, *transposed;
    bool *reaches;          /* by input of the program, in memory of the scope */
    bool *moves;            /* by output of the program, likewise */
    int64_t residual_count; /* the last outputs of forward */
} pithp_reverse;

/* value_count: the first outputs of p, of which cotangents are given. False: error set,
 * and nothing is to be released. */
bool pithp_reverse_make(pith_scope *s,
                        const pithp_program *p,
                        const bool *moves,
                        int64_t value_count,
                        pithp_reverse *r);
void pithp_reverse_end(pithp_reverse *r);
/* One program: inputs of p -> its outputs, then gradients of the first output for the
 * inputs that r->reaches marks. NULL: error set. */
pithp_program *
pithp_reverse_join(pith_scope *s, const pithp_program *p, const pithp_reverse *r);

#endif
