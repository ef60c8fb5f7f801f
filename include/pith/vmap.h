/**
 * @file
 * Batches: one function over many trees at once.
 *
 *     const pith_function *each = pith_vmap(s, &energy, NULL);
 *     const pith_array *energies = pith_apply(s, each, molecules);
 *
 * A batched function is a compiled function (pith_jit): the first call with a structure
 * of its arguments records the function for one entry and makes the program of all
 * entries; later calls run it. It can be passed to loops, bound, derived, compiled and
 * batched again. Static arguments of a compiled function stay static.
 *
 * An entry has the bits that a call of the function alone has; products of matrices are
 * within their bound. Trees bound by pith_partial are shared by all entries, and so are
 * statics. Absent parts stay absent.
 *
 * In the function records have their declared specs. Outside of it mapped leaves have the
 * batch axis as an extra extent. All leaves of a record have the same extra leading
 * extents: a record whose leaves are partly mapped and partly shared mostly has specs
 * that it cannot hold. Such parts belong into different arguments or child nodes.
 *
 * A key that is not mapped gives every entry the same draws; keys that are mapped give
 * each entry its own.
 *
 * A check of the function is one assertion for the batch. Its predicate has the batch
 * axis in front, so that the first failing index tells the entry and the element; its
 * arguments are those of the first entry that fails. Fix arguments are the greatest over
 * the entries if the check asks for it (pith_check_options.fix_greatest, capacities);
 * otherwise those of the first entry that fails.
 */
#ifndef PITH_VMAP_H
#define PITH_VMAP_H

#include <pith/jit.h>

/** The axis of a part that is shared by all entries. */
enum { PITH_NOT_MAPPED = -128 };

/** The batch axis of the leaves of a part. */
typedef struct pith_mapped {
    /** Of arguments "[0].atoms.charge", of results ".energy"; "" is the whole result. */
    const char *path;
    int axis; /**< negative: from the end; PITH_NOT_MAPPED: shared */
} pith_mapped;

/** A list of parts: PITH_MAPPED({"[0]", 1}, {"[1].cell", PITH_NOT_MAPPED}). */
#define PITH_MAPPED(...) PITH_ARRAY_(pith_mapped, __VA_ARGS__, {NULL, 0})

/** Options of pith_vmap; zero is the default. */
typedef struct pith_vmap_options {
    /** Axes of arguments. Parts that are not named have axis 0. A part inside of another
     * one that is named has its own axis. A path of NULL terminates the list. */
    const pith_mapped *in PITH_DEFAULT;
    /** Axes of the result, likewise. PITH_NOT_MAPPED is for what does not depend on a
     * mapped leaf: it is returned without the axis. */
    const pith_mapped *out PITH_DEFAULT;
    int64_t size PITH_DEFAULT; /**< number of entries, where no leaf is mapped */
    /** Most entries at a time, which bounds the memory that they need; the bits are the
     * same. 0: the library's choice. */
    int64_t chunk PITH_DEFAULT;
} pith_vmap_options;

/** The argument of a rule for batches: a batch of calls of a function. */
typedef struct pith_vmap_call {
    int64_t size;   /**< number of entries */
    int64_t mapped; /**< set of the arguments that are mapped, as of PITH_ARGUMENT */
    /** The argument, or a tuple of several. All leaves of a mapped one have the batch
     * axis in front; the others are shared. */
    const void *arguments;
} pith_vmap_call;

PITH_BEGIN

/** The type of calls, for PITH_FUNCTION1 and its like. */
PITH_API const pith_type *pith_vmap_call_pith_type(void);

/**
 * A function over a batch: each leaf of an argument has one axis more, along which the
 * entries are, and so has each leaf of the result. It has the parameters of @p function.
 *
 * Leaves may be sharded (shard.h) along axes that are not mapped.
 *
 * Batches of equal sizes nest: an axis is tracked, never guessed from its extent. Sizes 0
 * and 1 are batches as others. What does not depend on a mapped leaf is computed once.
 *
 * @param options NULL for the defaults; copied.
 * @return The function, owned by @p s, or NULL.
 *
 * @par Errors
 * PITH_E_ARG: @p function is no function; a path is named twice; .size or .chunk is
 * negative. PITH_E_PATH: a path is malformed or names no argument.
 * @par Errors of calls
 * PITH_E_SHAPE: a leaf does not have the axis; the sizes of two leaves differ; a value
 * would have more than PITH_MAX_RANK axes; the leaves of a record do not have specs that
 * it can hold. PITH_E_ARG: no leaf is mapped, and .size is 0; a leaf that .out shares
 * depends on the batch; the axis of a sharded leaf lies on ranks; a sharded leaf of rank
 * 0 or one with counted rows would get a batch axis before them. PITH_E_PATH: an argument
 * or the result does not have a named part. PITH_E_TRACED: the function reads a value.
 * Errors of the function.
 */
PITH_API const pith_function *
pith_vmap(pith_scope *s, const pith_function *function, const pith_vmap_options *options);

/** Options of pith_vectorize; zero is the default. */
typedef struct pith_vectorize_options {
    /** The axes of one call, as "(m,n),(n)->(m)": a core for each leaf of the arguments
     * in order, then for each leaf of the result. A name has one size in all cores; a
     * number is a demand. Names of results alone are taken from the result. NULL: all
     * cores have rank 0. */
    const char *signature PITH_DEFAULT;
    /** Set of arguments that are given whole, which the signature does not count:
     * PITH_ARGUMENT(0) | PITH_ARGUMENT(2). */
    unsigned excluded PITH_DEFAULT;
} pith_vectorize_options;

/**
 * A function over loop axes, as a generalized ufunc: leaves have any axes before those of
 * their core, and these broadcast from the right. @p function is called with cores alone.
 * The result has all loop axes, then its core.
 *
 *     (m,n),(n)->(m)     f64[7,1,2,3], f64[5,3]  ->  f64[7,5,2]
 *
 * Leaves without a loop axis, or with an extent of 1 there, are shared along it and not
 * copied. What depends on no leaf with loop axes is computed once. A check of the
 * function is one assertion; its entries are the calls in C order. Otherwise as
 * pith_vmap.
 *
 * @param options NULL for the defaults; copied.
 * @return The function, owned by @p s, or NULL.
 *
 * @par Errors
 * PITH_E_ARG: @p function is no function; the signature is invalid, with the place;
 * .excluded names an argument that does not exist.
 * @par Errors of calls
 * PITH_E_SHAPE: the signature has another number of arguments or results than there are
 * leaves; a leaf has fewer axes than its core, or other sizes; loop axes do not
 * broadcast; a result would have more than PITH_MAX_RANK axes. Those of pith_vmap.
 */
PITH_API const pith_function *pith_vectorize(pith_scope *s,
                                             const pith_function *function,
                                             const pith_vectorize_options *options);
/**
 * A function of which a batch runs for one entry after the other. Where no leaf of an
 * argument is batched it is @p function itself: it does not map anything. In a batch
 * (pith_vmap around it) it is a loop over the entries, whose memory is that of one;
 * arguments that are not batched are passed whole. Batches of batches are loops in loops.
 *
 * In reverse mode the arguments alone are kept: @p function is computed again, as by
 * pith_recompute, and derivatives of any order run for one entry after the other too.
 *
 * @return The function, owned by @p s, or NULL.
 *
 * @par Errors
 * PITH_E_ARG: @p function is no function. Calls: errors of the function.
 */
PITH_API const pith_function *pith_sequential_vmap(pith_scope *s,
                                                   const pith_function *function);

/**
 * A function with a rule for batches: where an argument is batched, the rule's result
 * stands for that of @p function.
 *
 * The rule is a function of a pith_vmap_call. It returns a tree like the value of
 * @p function with a leading batch axis in each leaf. It is recorded once for a call
 * of the function in a batch, and may call the function itself. It runs for all entries,
 * also for those that do not take a branch around the call; in a branch that entries
 * choose, all arguments are mapped. Batches of batches batch the rule. With
 * pith_vmap_options.chunk it gets a chunk as the batch; without it the whole batch. A
 * check of the rule is one assertion for all chunks: values whose first extent is the
 * number of entries are those of all entries, others those of the first chunk that fails.
 *
 * @p function itself is not batched, except for what its checks and messages compute: it
 * may be a function that cannot be. Checks in @p function and in the rule are both made;
 * one that both have, at one source line, is made once.
 *
 * Derivatives are those of @p function, which are batched as those of other functions
 * are, unless it has a rule for them too: pith_custom_jvp and pith_custom_vjp.
 *
 * @return The function, owned by @p s, or NULL.
 *
 * @par Errors
 * PITH_E_ARG: a function is no function; the rule does not have one parameter.
 * @par Errors of batches
 * PITH_E_STRUCTURE, PITH_E_SHAPE, PITH_E_DTYPE: the result of the rule is not like the
 * value with a batch axis. PITH_E_ARG: a tree bound in one of the functions is batched.
 */
PITH_API const pith_function *
pith_custom_vmap(pith_scope *s, const pith_function *function, const pith_function *rule);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_vmap(s, ...)            pith_vmap(PITH_AT(s), __VA_ARGS__)
#    define pith_vectorize(s, ...)       pith_vectorize(PITH_AT(s), __VA_ARGS__)
#    define pith_sequential_vmap(s, ...) pith_sequential_vmap(PITH_AT(s), __VA_ARGS__)
#    define pith_custom_vmap(s, ...)     pith_custom_vmap(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
