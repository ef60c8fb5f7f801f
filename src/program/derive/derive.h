/* Derivation of programs: forward mode, linearization and transposition.
 *
 * A derivation is a program made from a program. Inputs that move have tangents; a value
 * moves if a tangent reaches it. A tangent has the spec of its value. The tangent of a
 * value that does not move is absent, never an array of zeros.
 *
 *     forward mode   inputs, tangents of moving inputs
 *                    -> outputs, tangents of moving outputs
 *     linearization  forward: inputs -> outputs, residuals
 *                    linear: residuals, tangents of moving inputs
 *                    -> tangents of moving outputs
 *     transposition  residuals, cotangents of the outputs of a linear program
 *                    -> cotangents of its tangents
 *
 * Derived programs are programs like others: they can be derived again. */
#ifndef PITH_PROGRAM_DERIVE_DERIVE_H
#define PITH_PROGRAM_DERIVE_DERIVE_H

#include "program/ir/program.h"

/* Watches: values of a derivation that callers examine, for example for NaN. Tangents of
 * the results of instructions are watched in forward mode and in linear programs, and in
 * transposed programs the cotangents of their operands. Inside of control flow a rule of
 * the caller examines them, whose program makes checks; see pithp_derive_watches. */
typedef enum pithp_derive_watched {
    PITHP_WATCH_TANGENTS,
    PITHP_WATCH_COTANGENTS
} pithp_derive_watched;
typedef struct pithp_derive_watch {
    pithp_primitive row;
    int operand; /* whose cotangent it is; -1: it belongs to the result */
    int beside;  /* the operand that is shown; -1: none has the shape */
    const char *site;
    const pith_spec *spec;
    const char *rule; /* the function in whose rule the row is; or NULL */
    pithp_value derivative, guard, shown; /* in the program that is made */
    int64_t place;                        /* number of watches before it, in order */
} pithp_derive_watch;
/* The last outputs of derived programs are three for each watch: the derivative; the
 * value that it belongs to; and the value of the operand, or that value again. */
struct pithp_rule;
typedef struct pithp_derive_watches {
    pithp_derive_watched watched;
    int64_t count, room;
    pithp_derive_watch *list; /* in memory of the scope */
    /* Inside of control flow: the rule of a linear row of the derivative, whose residuals
     * are the guard and the value that is shown, with these specs. Its program gives the
     * derivative as it is. One reference; NULL sets the error, and NULL as function: what
     * is inside is not watched. w->place: of the next watch. */
    struct pithp_rule *(*rule)(const struct pithp_derive_watches *watches,
                               pith_scope *s,
                               const pithp_derive_watch *w,
                               const pith_spec *guard,
                               const pith_spec *shown);
    const char *function; /* for it: of the user */
} pithp_derive_watches;
enum { PITHP_WATCH_OUTPUTS = 3 };

/* Calls that share what is derived of them in forward mode (outline.h), and the programs
 * that were derived for them. */
typedef struct pithp_call_counts {
    int64_t calls, derivations;
} pithp_call_counts;

/* Options of a derivation; NULL: all members are zero. */
typedef struct pithp_derive_options {
    bool cuts_are_zero;      /* an input is not refused because all its paths are cut */
    bool reverse;            /* of a linearization: the linear program is transposed */
    bool function_is_linear; /* calls that are constant almost everywhere are refused:
                                PITH_E_ARG */
    bool strong_zero;        /* 0 times anything is 0 in products with tangents */
    bool fewest_bytes; /* of a linearization: elementwise residuals are computed again by
                          the linear program if this keeps fewer bytes. Programs of loops
                          and branches always choose so */
    size_t kept_bytes; /* of a linearization: most bytes that loops keep for the linear
                          program; 0: no limit */
    size_t *kept;      /* receives what they keep, if there is a limit; or NULL */
    const char *const *names; /* of each input, for messages; NULL: its number */
    const bool *results;      /* of each output, whether cuts before it count: it is no
                                 check, for example; NULL: all */
    pithp_derive_watches *watches; /* receives the watches; NULL: none */
    pithp_call_counts *calls;      /* added to; or NULL */
    struct pithp_callees *callees; /* the program is one with rows for calls
                                      (outlined.h), and others are made: in forward
                                      mode and for gradients, with none of the options
                                      before but strong_zero. NULL: it has none */
} pithp_derive_options;

/* Forward mode.
 *
 * @param moving Of each input of p, whether it moves; floats only.
 * @param moves Set: of each output of p, whether it moves.
 * @return A program with one reference. NULL sets the error: PITH_E_DERIVATIVE for an
 *   instruction without derivative that a tangent reaches, with its call site, and for an
 *   input that pithp_program_check_cuts refuses. */
pithp_program *pithp_program_jvp(pith_scope *s,
                                 const pithp_program *p,
                                 const bool *moving,
                                 const pithp_derive_options *options,
                                 bool *moves);

/* The two programs of a linearization, one reference each. */
typedef struct pithp_linearization {
    pithp_program *forward, *linear;
    int64_t residual_count;
} pithp_linearization;

/* Linearize. Parameters and errors as pithp_program_jvp; false sets the error. */
bool pithp_program_linearize(pith_scope *s,
                             const pithp_program *p,
                             const bool *moving,
                             const pithp_derive_options *options,
                             bool *moves,
                             pithp_linearization *result);

/* Cuts: floor, comparisons, casts to integers and their like are constant almost
 * everywhere. Refuse a moving input all of whose paths to results have such a call, with
 * the calls at which its tangent ends. A path may go on through integers and control
 * flow. An input without a path is not refused, nor is one whose paths end in
 * stop_gradient. False sets the error: PITH_E_DERIVATIVE. */
bool pithp_program_check_cuts(pith_scope *s,
                              const pithp_program *p,
                              const bool *moving,
                              const pithp_derive_options *options);

/* Transpose a program that is jointly linear in marked inputs. The inputs of the result
 * are the others, then a cotangent for each output. Cotangents of a value are added in
 * the order of its uses, last use first.
 *
 * @param reaches Set: of each input, whether it is marked and an output depends on it.
 * The result has one output for each of these inputs.
 * @return NULL sets the error: PITH_E_DERIVATIVE for a while. */
pithp_program *pithp_program_transpose(pith_scope *s,
                                       const pithp_program *linear,
                                       const bool *marks,
                                       bool *reaches);
/* The same for a program whose last outputs belong to watches of cotangents, which have
 * no cotangents. Watches whose operand no output depends on are dropped. */
pithp_program *pithp_program_transpose_watched(pith_scope *s,
                                               const pithp_program *linear,
                                               const bool *marks,
                                               bool *reaches,
                                               pithp_derive_watches *watches);

/* The same for a program with rows for calls (outlined.h). */
pithp_program *pithp_program_transpose_called(pith_scope *s,
                                              const pithp_program *linear,
                                              const bool *marks,
                                              bool *reaches,
                                              struct pithp_callees *callees);

/* A program whose outputs are 0 where its last `count` inputs are all 0: for the linear
 * row of a rule with strong_zero, which is a map of these inputs. The others are those of
 * p. One reference; NULL sets the error. */
pithp_program *
pithp_program_zero_with(pith_scope *s, const pithp_program *p, int64_t count);

#endif
