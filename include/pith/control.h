/**
 * @file
 * Control flow over trees: branches and loops whose bodies are functions.
 *
 * Outside traces they run call by call, like `if`, `for` and `while` in C. In a compiled
 * function (pith_jit) each is one instruction whose bodies are recorded once. Predicates
 * and bounds may then depend on traced arrays, and the size of the program does not
 * depend on the number of iterations.
 *
 * A loop carry keeps its structure, its statics, and the dtype and shape of each leaf;
 * otherwise the error names the path. Bind further trees of a body with pith_partial;
 * their leaves may be traced outside.
 */
#ifndef PITH_CONTROL_H
#define PITH_CONTROL_H

#include <pith/tree.h>

/** Options of pith_scan and pith_fori_with; zero is the default. A function refuses
 * members that it does not use (PITH_E_ARG). */
typedef struct pith_loop_options {
    /** pith_scan: number of iterations. 0: the extent of the first axis of the leaves of
     * xs, or no iterations if xs has no leaves. Must agree with the leaves. Negative:
     * PITH_E_ARG.
     */
    int64_t length PITH_DEFAULT;
    bool reverse PITH_DEFAULT; /**< pith_scan: from the last row to the first; outputs
                                  keep the order of rows */
    /** Unroll factor of compiled code: a hint that changes no result. 0: 1. Negative:
     * PITH_E_ARG. */
    int unroll PITH_DEFAULT;
    /** pith_fori_with: rows of the record of a loop with traced bounds, as in
     * pith_record_options. 0: no record. Negative: PITH_E_ARG. */
    int64_t most PITH_DEFAULT;
    /** pith_fori_with: name of the record, as in pith_record_options; copied. */
    const char *name PITH_DEFAULT;
    /** Most bytes that are kept for the backward half of a derivative of this loop.
     * Carries are kept for some steps, and the steps between them are computed again, as
     * often as the budget needs. Results and derivatives have the same bits. What loops
     * inside keep counts, also those with a budget of their own; what else one step needs
     * is not counted. 0: no limit. A derivative with a budget that is too
     * small is PITH_E_MEMORY, with the least that is enough. */
    size_t kept_bytes PITH_DEFAULT;
} pith_loop_options;

/** Options of pith_while_recorded. */
typedef struct pith_record_options {
    /** Rows of the record: the greatest number of iterations that a derivation in reverse
     * mode can go back through; at least 1. */
    int64_t most PITH_DEFAULT;
    /** Name of the record in messages and for pith_capacity_guard; copied. NULL: no name.
     */
    const char *name PITH_DEFAULT;
} pith_record_options;

PITH_BEGIN

/**
 * Conditional: on_true(operand) or on_false(operand), two functions of one tree.
 *
 * In a trace both are recorded and one of them runs. Their results must have the same
 * structure, statics and leaf specs. Checks of a branch that does not run pass.
 *
 * @return The result, owned by @p s; after an error the nil of on_true's type.
 *
 * @par Errors
 * PITH_E_ARG: the predicate is no bool of rank 0, or a branch is no function of one tree.
 * PITH_E_STRUCTURE, PITH_E_DTYPE, PITH_E_SHAPE: the results differ. Those of the
 * functions.
 */
PITH_API const void *pith_cond(pith_scope *s,
                               const pith_array *predicate,
                               const pith_function *on_true,
                               const pith_function *on_false,
                               const void *operand);
/**
 * Conditional over several functions of one tree: branches[index](operand). The index
 * (any integer dtype, rank 0) is clamped to 0 ... count - 1. Otherwise as pith_cond.
 *
 * @param count Number of branches, at least 1.
 * @return The result, owned by @p s; after an error the nil of the first branch's type,
 * NULL without branches.
 *
 * @par Errors
 * PITH_E_ARG: there are no branches, or the index is no integer of rank 0. Those of
 * pith_cond.
 */
PITH_API const void *pith_switch(pith_scope *s,
                                 const pith_array *index,
                                 int64_t count,
                                 const pith_function *const *branches,
                                 const void *operand);
/**
 * While loop: as long as cond(carry) is true, carry = body(carry).
 *
 * @param init The first carry; returned if the condition is false at first.
 * @return The last carry, owned by @p s; after an error the nil of init's type.
 *
 * @par Errors
 * PITH_E_ARG: cond does not return a bool of rank 0. Those of carries and functions.
 */
PITH_API const void *pith_while(pith_scope *s,
                                const pith_function *cond,
                                const pith_function *body,
                                const void *init);
/**
 * As pith_while, but the loop also ends after the first iteration in which a check of
 * cond or body fails. No further iteration runs, and cond is not evaluated again.
 *
 * Checks of level debug do not end the loop unless a collector is active.
 *
 * Among ranks an iteration that makes collectives is the last one on all ranks if a check
 * has failed on one of them. In compiled functions the predicates of the checks must be
 * equal on all ranks then (PITH_E_DIVERGED).
 *
 * @return The carry after that iteration.
 */
PITH_API const void *pith_while_passing(pith_scope *s,
                                        const pith_function *cond,
                                        const pith_function *body,
                                        const void *init);
/**
 * As pith_while, with a derivative in reverse mode. Each iteration of a derived loop
 * writes what its derivative needs as one row of a record, and the derivative runs from
 * the last row to the first. The record has options->most rows. A loop that is not
 * derived in reverse mode makes no record: its values, and its tangents in forward mode,
 * are those of pith_while.
 *
 * If a derived loop has more iterations than rows, it runs to its end, and its value is
 * that of pith_while. The derivation fails with PITH_E_CAPACITY at a synchronising call
 * or in a collector, and its gradients are unspecified. The message has the rows and the
 * number of iterations. A pith_capacity_guard with options->name repairs the failure.
 *
 * @param options `most` and, if a guard repairs the record, `name`.
 *
 * @par Errors
 * PITH_E_ARG: there are no options, or options->most is below 1. Those of pith_while.
 */
PITH_API const void *pith_while_recorded(pith_scope *s,
                                         const pith_function *cond,
                                         const pith_function *body,
                                         const void *init,
                                         const pith_record_options *options);
/** As pith_while_recorded, ending as pith_while_passing does. */
PITH_API const void *pith_while_recorded_passing(pith_scope *s,
                                                 const pith_function *cond,
                                                 const pith_function *body,
                                                 const void *init,
                                                 const pith_record_options *options);
/**
 * Counted loop for i = lower, lower + 1, ... upper - 1: carry = body(i, carry).
 *
 * @param body A function of i (i64, rank 0) and the carry.
 * @return The last carry, owned by @p s; init if upper <= lower; after an error the nil
 * of init's type.
 */
PITH_API const void *pith_fori(pith_scope *s,
                               int64_t lower,
                               int64_t upper,
                               const pith_function *body,
                               const void *init);
/**
 * As pith_fori, with bounds that may be traced: integers of one dtype and rank 0. i has
 * their dtype.
 *
 * @par Errors
 * PITH_E_ARG: a bound is no integer of rank 0. PITH_E_DTYPE: the dtypes differ.
 */
PITH_API const void *pith_fori_between(pith_scope *s,
                                       const pith_array *lower,
                                       const pith_array *upper,
                                       const pith_function *body,
                                       const void *init);
/**
 * As pith_fori_between, with options. If both bounds are known while the loop is
 * recorded, it has a derivative in reverse mode as pith_fori does. If a bound is traced,
 * it has one with options->most above 0, as pith_while_recorded does.
 *
 * @param options `unroll` and `kept_bytes`, for known bounds; `most` and `name`, for
 * traced bounds. NULL for the defaults.
 *
 * @par Errors
 * PITH_E_ARG: options->unroll or options->most is negative; options->length or
 * options->reverse is set, which pith_scan uses; options->kept_bytes is set and a bound
 * is traced. Those of pith_fori_between.
 */
PITH_API const void *pith_fori_with(pith_scope *s,
                                    const pith_array *lower,
                                    const pith_array *upper,
                                    const pith_function *body,
                                    const void *init,
                                    const pith_loop_options *options);
/**
 * As pith_fori, but the loop also ends after the first iteration in which a check of the
 * body fails. To know the number of iterations, count them in the carry.
 *
 * Checks of level debug do not end the loop unless a collector is active.
 *
 * @return The carry after that iteration.
 */
PITH_API const void *pith_fori_passing(pith_scope *s,
                                       int64_t lower,
                                       int64_t upper,
                                       const pith_function *body,
                                       const void *init);
/** As pith_fori_between, ending as pith_fori_passing does. */
PITH_API const void *pith_fori_between_passing(pith_scope *s,
                                               const pith_array *lower,
                                               const pith_array *upper,
                                               const pith_function *body,
                                               const void *init);
/**
 * Scan: carry a tree over the rows of xs and stack the outputs. body(carry, xs[i])
 * returns a record with the members `carry` (the next carry) and `out`. If @p outs is
 * NULL it may return the next carry alone.
 *
 * @param body A function of the carry and a row of xs: xs with each leaf without its
 * first axis.
 * @param xs Leaves [n, ...]. NULL: the body gets pith_none, and options->length is the
 * number of iterations.
 * @param outs Set to the tree of outputs with leaves [n, ...], owned by @p s, or to NULL
 * after an error. NULL: outputs are dropped.
 * @param options NULL for the defaults.
 * @return The last carry, owned by @p s; after an error the nil of init's type.
 *
 * @par Errors
 * PITH_E_SHAPE: leaves of xs differ in their first extent, or have rank 0. PITH_E_ARG: xs
 * has no leaves and there are no options; options->most or options->name is set, which
 * pith_fori_with uses. PITH_E_TYPE: the body returns neither such a
 * record nor, if allowed, a carry. Those of carries and functions.
 */
PITH_API const void *pith_scan(pith_scope *s,
                               const pith_function *body,
                               const void *init,
                               const void *xs,
                               const void **outs,
                               const pith_loop_options *options);
/**
 * As pith_scan, but the loop also ends after the first iteration in which a check of the
 * body fails, as pith_fori_passing does.
 *
 * @param outs As pith_scan. The failing iteration has its row; rows of iterations that
 * did not run are zeros (in a reverse scan the first rows).
 * @return The carry after that iteration.
 */
PITH_API const void *pith_scan_passing(pith_scope *s,
                                       const pith_function *body,
                                       const void *init,
                                       const void *xs,
                                       const void **outs,
                                       const pith_loop_options *options);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_cond(s, ...)           pith_cond(PITH_AT(s), __VA_ARGS__)
#    define pith_switch(s, ...)         pith_switch(PITH_AT(s), __VA_ARGS__)
#    define pith_while(s, ...)          pith_while(PITH_AT(s), __VA_ARGS__)
#    define pith_while_passing(s, ...)  pith_while_passing(PITH_AT(s), __VA_ARGS__)
#    define pith_while_recorded(s, ...) pith_while_recorded(PITH_AT(s), __VA_ARGS__)
#    define pith_while_recorded_passing(s, ...)                                          \
        pith_while_recorded_passing(PITH_AT(s), __VA_ARGS__)
#    define pith_fori(s, ...)         pith_fori(PITH_AT(s), __VA_ARGS__)
#    define pith_fori_between(s, ...) pith_fori_between(PITH_AT(s), __VA_ARGS__)
#    define pith_fori_with(s, ...)    pith_fori_with(PITH_AT(s), __VA_ARGS__)
#    define pith_fori_passing(s, ...) pith_fori_passing(PITH_AT(s), __VA_ARGS__)
#    define pith_fori_between_passing(s, ...)                                            \
        pith_fori_between_passing(PITH_AT(s), __VA_ARGS__)
#    define pith_scan(s, ...)         pith_scan(PITH_AT(s), __VA_ARGS__)
#    define pith_scan_passing(s, ...) pith_scan_passing(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
