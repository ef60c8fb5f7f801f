/**
 * @file
 * Control flow over trees: branches and loops whose bodies are functions.
 *
 * Outside of traces they run call by call, as C's own `if`, `for` and `while` would. In a
 * function that is compiled (pith_jit) they become one instruction each, whose bodies are
 * recorded once: a predicate or bound may then depend on traced arrays, and a loop of a
 * million iterations is no longer than its body.
 *
 * What a loop carries from one iteration to the next keeps its structure, its statics,
 * and dtype and shape of every leaf; otherwise the error names the path. Further trees
 * that a body needs are bound with pith_partial: their leaves may be traced outside.
 */
#ifndef PITH_CONTROL_H
#define PITH_CONTROL_H

#include <pith/tree.h>

/** Options of pith_scan; zero is the default. */
typedef struct pith_loop_options {
    /** Iterations; 0: the extent of the first axis of the leaves of xs, or none if xs has
     * no leaves. The leaves must agree with it. Negative: PITH_E_ARG. */
    int64_t length PITH_DEFAULT;
    bool reverse PITH_DEFAULT; /**< from the last row to the first; outputs in place */
    /** How many iterations compiled code may lay out one after the other; a hint that
     * changes no result. 0: 1. Negative: PITH_E_ARG. */
    int unroll PITH_DEFAULT;
} pith_loop_options;

PITH_BEGIN

/**
 * Choose between two functions of one tree: on_true(operand) or on_false(operand).
 *
 * Traced, both are recorded, and their results must have one structure with the same
 * statics and leaf specs; one of them runs. The branches may make checks of their own:
 * one that is not taken passes.
 *
 * Errors: PITH_E_ARG (the predicate is no bool of rank 0; no functions of one tree),
 * PITH_E_STRUCTURE, PITH_E_DTYPE and PITH_E_SHAPE (results differ), and those of the
 * functions.
 * @return The result, owned by @p s; after an error the nil of on_true's type.
 */
PITH_API const void *pith_cond(pith_scope *s,
                               const pith_array *predicate,
                               const pith_function *on_true,
                               const pith_function *on_false,
                               const void *operand);
/**
 * Choose among functions of one tree: branches[index](operand); the index (any integer
 * dtype, rank 0) is clamped to those there are. Otherwise as pith_cond.
 *
 * @param count 1 or more.
 * Errors: PITH_E_ARG (no branches; the index is no integer of rank 0), else as pith_cond.
 * @return The result, owned by @p s; after an error the nil of the first branch's type,
 * NULL without branches.
 */
PITH_API const void *pith_switch(pith_scope *s,
                                 const pith_array *index,
                                 int64_t count,
                                 const pith_function *const *branches,
                                 const void *operand);
/**
 * Repeat a function while a condition holds: as long as cond(carry) is true,
 * carry = body(carry).
 *
 * @param cond Gives a bool of rank 0; any other result is PITH_E_ARG.
 * @param init The first carry; returned where the condition fails at once.
 * @return The last carry, owned by @p s; after an error the nil of init's type.
 */
PITH_API const void *pith_while(pith_scope *s,
                                const pith_function *cond,
                                const pith_function *body,
                                const void *init);
/**
 * The same, but the loop ends also where a check has failed that cond or body make: after
 * the iteration in which one fails no other one runs, and cond is not evaluated again.
 *
 * Checks of level debug do not end the loop unless a collector is active.
 *
 * @return The carry after that iteration.
 */
PITH_API const void *pith_while_passing(pith_scope *s,
                                        const pith_function *cond,
                                        const pith_function *body,
                                        const void *init);
/**
 * Repeat a function for i = lower, lower + 1, ... upper - 1: carry = body(i, carry).
 *
 * @param body Takes i (i64, rank 0) and the carry.
 * @return The last carry, owned by @p s: init where upper is not above lower; after an
 * error the nil of init's type.
 */
PITH_API const void *pith_fori(pith_scope *s,
                               int64_t lower,
                               int64_t upper,
                               const pith_function *body,
                               const void *init);
/**
 * The same with bounds that may be traced: integers of one dtype and rank 0, which i has
 * too. Errors: PITH_E_ARG (a bound that is no integer of rank 0), PITH_E_DTYPE (bounds of
 * different dtypes).
 */
PITH_API const void *pith_fori_between(pith_scope *s,
                                       const pith_array *lower,
                                       const pith_array *upper,
                                       const pith_function *body,
                                       const void *init);
/**
 * As pith_fori, but the loop ends also where a check has failed that the body makes:
 * after the iteration in which one fails no other one runs. A count of the iterations
 * that ran is a member of the carry.
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
/** As pith_fori_between, but it ends as pith_fori_passing does. */
PITH_API const void *pith_fori_between_passing(pith_scope *s,
                                               const pith_array *lower,
                                               const pith_array *upper,
                                               const pith_function *body,
                                               const void *init);
/**
 * Carry a tree over the rows of another and stack what comes out:
 * body(carry, xs[i]) returns a record with members `carry`, the next one, and `out`. If
 * @p outs is NULL, it may return the next carry alone.
 *
 * @param body Takes the carry and a row of xs: its tree, each leaf without its first
 * axis.
 * @param xs Leaves [n, ...]; NULL: no rows, the body gets pith_none and options->length
 * counts.
 * @param options NULL: the defaults.
 * @param outs Gets the tree of `out` with leaves [n, ...], owned by @p s, or NULL after
 * an error; NULL: not wanted.
 *
 * Errors: PITH_E_SHAPE (leaves of xs with another first extent, or a rank of 0),
 * PITH_E_ARG (neither leaves in xs nor options),
 * PITH_E_TYPE (the body returns neither a record with carry and out nor, where that is
 * allowed, a carry), and those of loops.
 * @return The last carry, owned by @p s; after an error the nil of init's type.
 */
PITH_API const void *pith_scan(pith_scope *s,
                               const pith_function *body,
                               const void *init,
                               const void *xs,
                               const void **outs,
                               const pith_loop_options *options);
/**
 * As pith_scan, but the loop ends also where a check has failed that the body makes, as
 * pith_fori_passing does: after the iteration in which one fails the body does not run
 * again.
 *
 * @param outs As pith_scan; the failing iteration has its row, and rows that were not
 * reached hold zeros (of a reverse scan those are the first ones).
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
#    define pith_cond(s, ...)          pith_cond(PITH_AT(s), __VA_ARGS__)
#    define pith_switch(s, ...)        pith_switch(PITH_AT(s), __VA_ARGS__)
#    define pith_while(s, ...)         pith_while(PITH_AT(s), __VA_ARGS__)
#    define pith_while_passing(s, ...) pith_while_passing(PITH_AT(s), __VA_ARGS__)
#    define pith_fori(s, ...)          pith_fori(PITH_AT(s), __VA_ARGS__)
#    define pith_fori_between(s, ...)  pith_fori_between(PITH_AT(s), __VA_ARGS__)
#    define pith_fori_passing(s, ...)  pith_fori_passing(PITH_AT(s), __VA_ARGS__)
#    define pith_fori_between_passing(s, ...)                                            \
        pith_fori_between_passing(PITH_AT(s), __VA_ARGS__)
#    define pith_scan(s, ...)         pith_scan(PITH_AT(s), __VA_ARGS__)
#    define pith_scan_passing(s, ...) pith_scan_passing(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
