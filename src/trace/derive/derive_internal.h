/* Within src/trace/derive: derivatives of functions over trees.
 *
 * A derived function is a closure under a compiled function, so that it always runs in a
 * trace. It records its base function as a program of its own, derives the program, and
 * adds the derived program to the trace. The result is a recorded program like others. */
#ifndef PITHP_TRACE_DERIVE_H
#define PITHP_TRACE_DERIVE_H

#include "pith/derive.h"

#include "array/checks/length.h"
#include "program/derive/derive.h"
#include "trace/derive/rule_checks.h"
#include "trace/part/part.h"

/* ---- Functions (function.c) ---- */

struct pithp_derivation_call;

/* A kind of derived functions. */
typedef struct pithp_derived_kind {
    const char *function; /* that makes it: "pith_grad" */
    bool scalar;          /* the value is a float of rank 0 */
    bool linear;          /* the function is linear, and its value is not wanted */
    bool reverse;         /* it makes cotangents */
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

/* A derived function of s over f, not compiled: `like` has its parameters and result.
 * tangent: a tree to bind, or NULL. NULL: error set. */
const pith_function *pithp_derived_make(pith_scope *s,
                                        const pithp_derived_kind *kind,
                                        const pith_function *f,
                                        const pith_function *like,
                                        const void *tangent,
                                        const pith_derive_options *options);
/* Compile it, with the static arguments of f. NULL does nothing. NULL: error set. */
const pith_function *pithp_derived_compile(pith_scope *s,
                                           const pith_function *derived,
                                           const pith_function *f);
/* Copy a list of texts to memory of s. */
pith_status pithp_derive_copy_texts(pith_scope *s, const char *const **texts);
/* Check a function of the user and the options of its derivation; `o` receives them. */
pith_status pithp_derive_check(pith_scope *s,
                               const char *function,
                               const pith_function *f,
                               const pith_derive_options *options,
                               pith_derive_options *o);
/* The type of the gradient of f: that of the selected argument, or NULL. */
const pith_type *(*pithp_gradient_type(const pith_function *f,
                                       const pith_derive_options *o))(void);

/* Check a name of pith_name_kept. */
pith_status pithp_name_check(pith_scope *s, const char *function, const char *name);

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
    bool named;                     /* the error names the function */
    pithp_program *program;         /* the optimised program of part, one reference */
    bool *moves;                    /* by input of the program */
    pithp_value *inputs;            /* by input of the program: in the trace */
    int64_t value_count, aux_count; /* outputs; then those of checks */
    pithp_rule_checks rule_checks;  /* of the program that was added */
    pithp_call_counts calls;        /* that share what is derived of them */
    pithp_attached *attached;       /* made by the derivation, one reference; or NULL */
} pithp_derivation_call;

/* The implementation of pith_function.call of derived functions. */
const void *
pithp_derived_call(const pith_function *self, pith_scope *s, const void *const *given);
/* The same for a derivation that makes a linear map: `attached` receives its
 * pithp_linear, with a reference. */
const void *pithp_derived_call_linear(const pith_function *self,
                                      pith_scope *s,
                                      const void *const *given,
                                      pithp_attached **attached);

/* The inputs of a program in forward mode: those of the recorded program, then the
 * tangents of those that move, which are checked. In memory of the scope. NULL: error
 * set. */
pithp_value *pithp_derivation_tangents(pithp_derivation_call *c);
/* Unless the options allow it, refuse inputs of a program with the inputs of the recorded
 * one whose paths to marked outputs are all cut. */
pith_status pithp_derivation_check_cuts(pithp_derivation_call *c,
                                        const pithp_program *p,
                                        const bool *results);
/* The most bytes for the backward half: those of its options, or what a derivation around
 * it leaves. 0: no limit. */
size_t pithp_derivation_budget(const pithp_derivation_call *c);
/* After its function is recorded: without what derivatives inside keep of it, which are
 * values of this one, and their cotangents. */
size_t pithp_derivation_budget_left(const pithp_derivation_call *c);
/* Take what its loops keep from the budget of a derivation around it. */
void pithp_derivation_take_budget(pithp_derivation_call *c, size_t kept);
/* pithp_derive_watches.rule (watch.c) */
pithp_rule *pithp_watch_rule(const pithp_derive_watches *watches,
                             pith_scope *s,
                             const pithp_derive_watch *w,
                             const pith_spec *guard,
                             const pith_spec *shown);
/* The options of its derivations in src/program: cuts were checked. watches: used if the
 * options ask for it. */
static inline pithp_derive_options
pithp_derivation_options(pithp_derivation_call *c, pithp_derive_watches *watches) {
    watches->rule = pithp_watch_rule;
    watches->function = c->function;
    return (pithp_derive_options){.cuts_are_zero = true,
                                  .strong_zero = c->derived->options.strong_zero,
                                  .watches =
                                      c->derived->options.find_nonfinite ? watches : NULL,
                                  .calls = &c->calls};
}
/* Whether the program may be derived with rows for calls (outlined.h): nothing is
 * chosen of whole programs by budgets, watches, or what varies between ranks. */
bool pithp_derivation_may_have_rows(const pithp_derivation_call *c);
static inline void pithp_derivation_count_calls(pithp_derivation_call *c,
                                                const pithp_call_counts *more) {
    c->calls.calls += more->calls;
    c->calls.derivations += more->derivations;
}
/* Add a program to the trace: values of its outputs, in memory of the scope. NULL: error
 * set. */
pithp_value *pithp_derivation_add(pithp_derivation_call *c,
                                  pithp_program *p,
                                  const pithp_value *inputs);
/* Replay the checks of the program, whose outputs these are, and then those of rules in
 * the program that was added. */
pith_status pithp_derivation_checks(pithp_derivation_call *c, const pithp_value *outputs);
/* The value or aux of outputs of the program. NULL: error set. */
const void *pithp_derivation_value(pithp_derivation_call *c, const pithp_value *outputs);
const void *pithp_derivation_aux(pithp_derivation_call *c, const pithp_value *outputs);
/* A tree like the value with a tangent for each output that moves, in order, and zeros
 * elsewhere. NULL: error set. */
const void *pithp_derivation_tangent(pithp_derivation_call *c,
                                     const bool *moves,
                                     const pithp_value *tangents);
/* A tree like the selected parts. reached: by input of the program, whether it has a
 * value, in order; others are zeros. NULL: error set. */
const void *pithp_derivation_gradient(pithp_derivation_call *c,
                                      const bool *reached,
                                      const pithp_value *values);
/* The input of the program that a leaf of a selected part is, after which *next is that
 * of the next leaf; -1: none. Begin with part->input. */
static inline int64_t pithp_selected_input(const pithp_derivation_call *c,
                                           const pithp_selected *part,
                                           int64_t leaf,
                                           int64_t *next) {
    return c->known[part->argument][part->first + leaf] ? -1 : (*next)++;
}
/* The selected part, or the tuple of several. NULL: error set. */
const void *pithp_derivation_selected(const pithp_derivation_call *c);
/* Set for each leaf of the selected parts the rank of its input; -1: it has none. */
void pithp_derivation_rank_leaves(const pithp_derivation_call *c,
                                  const int64_t *ranks,
                                  int64_t *to);
/* A tuple of two trees and aux if the options ask for it. NULL: error set. */
const void *pithp_derivation_tuple(pithp_derivation_call *c,
                                   const void *a,
                                   const void *b,
                                   const pithp_value *outputs);

/* A tree of tangents or gradients. NULL: error set. */
static inline const void *pithp_tangent_build(pith_scope *s,
                                              const pithp_structure *like,
                                              const pith_array *const *items) {
    return pithp_part_build_quiet(s, like, items);
}

/* ---- Watches (watch.c) ---- */

/* Record a check for each watch, whose values are `outputs` of a program in the trace: an
 * error where a derivative is NaN or infinite and the value is finite. `function` lives
 * as long as the runtime. inside: those of the same program in control flow. */
pith_status pithp_watches_check(pith_scope *s,
                                const char *function,
                                const pithp_derive_watches *watches,
                                const pithp_value *outputs,
                                pithp_rule_checks *inside);
/* The same for outputs with columns in front, of the first column that has such a
 * derivative. */
pith_status pithp_watches_check_columns(pith_scope *s,
                                        const char *function,
                                        const pithp_derive_watches *watches,
                                        const pithp_value *outputs,
                                        pithp_rule_checks *inside);
/* Number of these outputs. */
static inline int64_t pithp_watches_outputs(const pithp_derive_watches *watches) {
    return watches->count * PITHP_WATCH_OUTPUTS;
}

/* ---- Linear maps (map.c) ---- */

/* The program of a linear map: residuals and leaves of the argument to leaves of the
 * result. Immutable, and shared by maps over different residuals. */
typedef struct pithp_linear {
    pithp_attached attached;
    pith_runtime *runtime;
    uint64_t serial;      /* its identity: addresses are used again */
    const char *function; /* that made it */
    pithp_program *program;
    int64_t residual_count;
    pithp_derive_watches watches; /* of its last outputs; the list is of the map */
    pithp_structure argument, result;
    int64_t *inputs;  /* by leaf of the argument: its input after the residuals, or -1 */
    int64_t *outputs; /* by leaf of the result: its output; -1: zeros */
    /* The mesh, or NULL. By residual the axes of it along which that is equal on all
     * ranks; in reverse, by leaf of the argument those along which the value is, so that
     * its cotangent must be, too; and by leaf of the result those along which ranks have
     * primals of their own. */
    const struct pith_mesh *mesh;
    uint32_t *kept, *equal;
    int64_t *own;
} pithp_linear;

/* The map with these residuals, a tuple: a function of s that is not compiled. NULL:
 * error set. */
const pith_function *pithp_map_make(pith_scope *s,
                                    pithp_linear *linear,
                                    const char *name,
                                    const void *residuals);

/* The kind of pith_vjp (linearize.c): its programs have a pithp_linear attached, and the
 * outputs value, residuals and aux. */
extern const pithp_derived_kind pithp_vjp_kind;

/* ---- Programs (split.c) ---- */

/* A program in two, with one reference each: `forward` has the residuals as its last
 * outputs. The inputs of `linear` are residuals, then the tangents of the inputs that
 * move, or in reverse the cotangents of the values that move. Its outputs are the
 * tangents of the values that move, or the cotangents of the inputs that are reached. */
typedef struct pithp_split {
    pithp_program *forward, *linear;
    int64_t residual_count;
    bool *reached; /* by input of the program, in memory of the scope: whether linear has
                      a tangent or a cotangent of it */
    bool *moves;   /* by output of the program, likewise */
    uint32_t *varies; /* in reverse: by output, over which axes of the mesh it varies */
    pithp_derive_watches
        watches; /* of the last outputs of linear, in memory of the scope */
} pithp_split;

/* Split the recorded program: tangents of its value. map: linear is the program of a map,
 * whose residuals take memory until the map's end. False: error set, and nothing is to be
 * released. */
bool pithp_split_make(pithp_derivation_call *c,
                      bool reverse,
                      bool map,
                      pithp_split *split);
void pithp_split_end(pithp_split *split);
/* Set what the inputs of the program vary over, which is a list of twice as many. relies:
 * the derivation does so on what the trace knows so far. Returns the axes along which
 * mapped functions in the program call inputs equal; -1 sets the error. */
int64_t pithp_derivation_axes(pithp_derivation_call *c, bool relies, uint32_t *axes);
/* Drop the residuals that linear does not read. Sets for each, in memory of the scope,
 * whether it stays. NULL: error set. */
bool *pithp_split_trim(pithp_derivation_call *c, pithp_split *split);
/* A split in reverse as one program: inputs of p -> its outputs, then gradients of the
 * first output for the inputs that are reached, then those of watches. NULL: error set.
 */
pithp_program *pithp_split_join(pithp_derivation_call *c, const pithp_split *split);
/* The same, optimised, for a derivation of the gradients, whose cuts were checked. NULL:
 * error set. */
pithp_program *pithp_split_gradient(pithp_derivation_call *c, const pithp_split *split);

/* ---- Rules of the user (rule.c, custom.c) ---- */

/* A call of a function with a rule, in a trace. */
typedef struct pithp_custom_call {
    const pith_function *function; /* with its base, and the functions of the rule */
    int tree_count;                /* arguments, then the bound trees */
    pithp_flat *flats;             /* of these */
    const pithp_flat *value;       /* of the result */
    const pithp_check_id *checks;  /* that the function makes */
    int64_t check_count;
    const uint64_t *operands; /* of each leaf of the trees: its hash among their values;
                                 NULL without checks */
} pithp_custom_call;

/* The functions of a rule in a closure's `more`. */
enum {
    PITHP_CUSTOM_TANGENT,
    PITHP_CUSTOM_FORWARD,
    PITHP_CUSTOM_BACKWARD,
    PITHP_CUSTOM_BATCH
};
/* Whether a function has a rule for derivatives, which no tangent enters then. */
static inline bool pithp_custom_derives(const pith_function *f) {
    const pithp_closure *c = f->closure;
    return c->more[PITHP_CUSTOM_TANGENT] || c->more[PITHP_CUSTOM_FORWARD];
}

/* The rule of the row of a call, one reference. It holds no arrays, and lives as long as
 * the programs that have it. NULL: error set. */
pithp_rule *pithp_custom_rule(pith_scope *s, const pithp_custom_call *call);

#endif
