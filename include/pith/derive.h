/**
 * @file
 * Derivatives of functions over trees.
 *
 *     const pith_function *force = pith_grad(s, &energy, NULL);
 *     const Atoms *slope = pith_call(s, force, PITH_ITEMS(atoms));
 *
 * A derived function is a compiled function (pith_jit): the first call with a structure
 * of its arguments records and derives a program, and later calls run it. It can be
 * passed to loops, bound, compiled and derived again. Static arguments of a compiled
 * function that is derived stay static.
 *
 * Options select arguments, or parts of arguments by path. Tangents and gradients of one
 * selected part have its structure, its statics, and the dtype and shape of its leaves;
 * absent parts stay absent. Several selected parts have a tuple of them, in the order of
 * the arguments or paths. Hooks do not run on tangents and gradients.
 *
 * Trees bound by pith_partial are constants of the derivation. If a derivation around it
 * moves them, its tangents reach the result.
 *
 * A leaf that the value does not depend on has gradient 0. Checks of the function are
 * made once, by the computation of the value.
 *
 * Sharded leaves (shard.h) of arguments, of values that need not have rank 0, and of aux
 * have tangents and gradients that are sharded likewise.
 */
#ifndef PITH_DERIVE_H
#define PITH_DERIVE_H

#include <pith/jit.h>

/** Treatment of leaves that reach the value only through functions that are constant
 * almost everywhere (floor, comparisons, casts to integers, sort orders). */
typedef enum pith_cuts {
    PITH_CUTS_REFUSED,  /**< PITH_E_DERIVATIVE with the path and the call sites */
    PITH_CUTS_ARE_ZERO, /**< the derivative is 0 */
} pith_cuts;

/** Options of derivations; zero is the default. */
typedef struct pith_derive_options {
    /** Set of arguments to differentiate: PITH_ARGUMENT(0) | PITH_ARGUMENT(2). 0: the
     * first argument. */
    unsigned arguments PITH_DEFAULT;
    /** Parts of arguments instead: PITH_PATHS("[0].atoms.position"). NULL terminates the
     * list. */
    const char *const *paths PITH_DEFAULT;
    /** The function returns a record with members `value` and `aux`. aux is returned
     * unchanged and is not differentiated. */
    bool aux PITH_DEFAULT;
    /** Leaves of integer dtypes and bool may be selected: their tangents are not read,
     * and their gradients are zeros. Otherwise they are PITH_E_DTYPE. */
    bool skip_integers PITH_DEFAULT;
    /** In products with tangents and cotangents 0 times anything is 0, so that infinities
     * and NaN of a branch that pith_where does not take cannot reach a derivative. A
     * function with a rule has gradient 0 where the cotangent of its value is 0 as a
     * whole. Not in the recurrences of pith_cumprod. */
    bool strong_zero PITH_DEFAULT;
    /** Check derivatives for NaN and infinity. The first one that belongs to a finite
     * value is PITH_E_CHECK, with the source line of the call, its operation and operand,
     * the element, and the value of the operand there. In forward mode it is the tangent
     * of a result, in reverse mode the cotangent of an operand. In loops the first
     * iteration counts, in that order. If the tangent that a rule of pith_custom_jvp
     * returns in forward mode is wrong, or the cotangent of a backward function of
     * pith_custom_vjp, the call in the rule is named whose result is the first one. In
     * reverse mode the calls of a rule of pith_custom_jvp are checked like others. Of the
     * linear map of pith_linearize, a rule with loops or branches is one call. The values
     * that are checked are kept for it. */
    bool find_nonfinite PITH_DEFAULT;
    pith_cuts cuts PITH_DEFAULT; /**< PITH_CUTS_REFUSED */
    /** Most bytes that loops keep for the backward half, together: their steps are
     * computed again, as by pith_loop_options.kept_bytes. Loops with a budget of their
     * own count, and keep within both. Derivatives inside of the function without a
     * budget have a part of this one. 0: no limit. Forward mode keeps nothing. */
    size_t kept_bytes PITH_DEFAULT;
    /** Of Jacobians and Hessians: most columns or rows that are computed at a time, which
     * bounds the memory for them. 0: chunks that need about 256 MiB. The rest of a
     * derivation does not read it. */
    int64_t chunk PITH_DEFAULT;
} pith_derive_options;

/** A value with its tangent. After an error all are NULL. */
typedef struct pith_pushed {
    const void *value;   /**< the function's value */
    const void *tangent; /**< its tangent: the structure of the value */
    const void *aux;     /**< with options->aux; otherwise NULL */
} pith_pushed;

/** A value with a linear map. After an error all are NULL. */
typedef struct pith_linearized {
    const void *value;        /**< the function's value */
    const void *aux;          /**< with options->aux; otherwise NULL */
    const pith_function *map; /**< a function of one tree */
} pith_linearized;

PITH_BEGIN

/**
 * Forward mode: the value of a function at @p primals, and the derivative along
 * @p tangent. Outside of traces the derived program is cached as that of a compiled
 * function.
 *
 * @param count Number of primals: that of the parameters of @p function.
 * @param tangent Like the selected part of the primals; a tuple if several are selected.
 * @param options NULL for the defaults.
 * @return Value and tangent, owned by @p s. Leaves of the value of integer dtypes have
 * the tangent 0.
 *
 * @par Errors
 * PITH_E_ARG: the number of primals differs. PITH_E_STRUCTURE, PITH_E_SHAPE,
 * PITH_E_DTYPE: the tangent is not like the selected part. Those of pith_grad, except
 * those of the value.
 */
PITH_API pith_pushed pith_jvp(pith_scope *s,
                              const pith_function *function,
                              int64_t count,
                              const void *const *primals,
                              const void *tangent,
                              const pith_derive_options *options);

/**
 * The gradient of a function whose value is a float of rank 0, by reverse mode: a
 * function with the parameters of @p function. It returns the gradient, or with
 * options->aux a tuple of the gradient and aux.
 *
 * @param options NULL for the defaults; copied.
 * @return The function, owned by @p s, or NULL.
 *
 * @par Errors
 * PITH_E_ARG: @p function is no function; the selected argument does not exist; paths
 * are empty, or one contains another; both arguments and paths are given. PITH_E_PATH: a
 * path is malformed or names no argument.
 * @par Errors of calls
 * PITH_E_DTYPE: a selected leaf or the value has no float dtype. PITH_E_SHAPE: the value
 * has another rank than 0. PITH_E_STRUCTURE: the value is no array. PITH_E_ARG: it is
 * sharded. PITH_E_PATH: the argument does not have a selected part. PITH_E_TYPE:
 * options->aux, and the result is no record with `value` and `aux`. PITH_E_DERIVATIVE: an
 * operation without a derivative is reached. PITH_E_TRACED: the function reads a value.
 * Errors of the function.
 */
PITH_API const pith_function *pith_grad(pith_scope *s,
                                        const pith_function *function,
                                        const pith_derive_options *options);
/**
 * As pith_grad, with the value: the function returns a tuple of the value, the gradient,
 * and with options->aux aux.
 */
PITH_API const pith_function *pith_value_and_grad(pith_scope *s,
                                                  const pith_function *function,
                                                  const pith_derive_options *options);
/**
 * The value of a function at @p primals, and the map from tangents to the tangent of the
 * value: a function of one tree like the selected part, or of a tuple if several are
 * selected. The map computes what depends on the tangent alone. What else it needs is
 * bound in it: arrays that are leaves of the primals are shared with them, and donating
 * these is refused. Of elementwise operations the map computes values again, with the
 * same bits, if this keeps fewer bytes. pith_keep moves the map to an outer scope.
 *
 * @return Value, aux and map, owned by @p s.
 *
 * @par Errors
 * Those of pith_jvp, except those of the tangent.
 * @par Errors of calls of the map
 * PITH_E_STRUCTURE, PITH_E_SHAPE, PITH_E_DTYPE: the tangent is not like the selected
 * part.
 */
PITH_API pith_linearized pith_linearize(pith_scope *s,
                                        const pith_function *function,
                                        int64_t count,
                                        const void *const *primals,
                                        const pith_derive_options *options);
/**
 * As pith_linearize, with the transposed map: from a cotangent like the value to the
 * gradient of the selected part. The value may be any tree. Cotangents of its leaves of
 * integer dtypes are not read.
 *
 * On several ranks (mesh.h) the cotangent of a value that is equal on them is, too. A
 * call of the map outside of compiled functions compares its elements.
 *
 * @par Errors of calls of the map
 * Those of maps of pith_linearize. PITH_E_DIVERGED: such a cotangent is not equal.
 */
PITH_API pith_linearized pith_vjp(pith_scope *s,
                                  const pith_function *function,
                                  int64_t count,
                                  const void *const *primals,
                                  const pith_derive_options *options);
/**
 * The transpose of a linear function of one tree: a function from a cotangent like the
 * value to one like the argument. Constant terms of the function are ignored.
 *
 * @param like An argument, of which only the structure counts, or a pith_treedef.
 * @return The function, owned by @p s, or NULL.
 *
 * @par Errors
 * PITH_E_ARG: @p function has more than one parameter, or is not linear. Those of
 * pith_vjp.
 */
PITH_API const pith_function *
pith_linear_transpose(pith_scope *s, const pith_function *function, const void *like);
/**
 * The product of the Hessian of a function with a direction, by forward mode over
 * reverse: a function with the parameters of @p function and the direction, which is like
 * the selected part. It returns a tuple of the gradient, the product, and with
 * options->aux aux.
 *
 * @par Errors
 * PITH_E_ARG: @p function has four parameters. Those of pith_grad and, for the direction,
 * of pith_jvp.
 */
PITH_API const pith_function *pith_hessian_product(pith_scope *s,
                                                   const pith_function *function,
                                                   const pith_derive_options *options);

/**
 * The Jacobian of a function by forward mode, which costs as much as a derivative along
 * each element of the selected part: a function with the parameters of @p function. Of an
 * array by an array it is an array with the shape of the value, then the shape of the
 * argument, and the dtype of the value.
 *
 *     f: f64[n,3] -> f64[m]    Jacobian f64[m,n,3]
 *
 * If the value is another tree, it is a dict by the paths of the value's leaves; if the
 * selected part is, each item is a dict by the paths of its leaves (pith_tree_paths; of
 * several selected parts those of their tuple):
 *
 *     pith_dict_get(pith_dict_get(jacobian, ".energy"), ".position")
 *
 * The derivatives along all elements are one batch (pith_vmap), or a loop over batches of
 * options->chunk. A block whose value does not depend on its argument is 0.
 * Blocks of a sharded leaf of the value are sharded along its axes.
 *
 * @param options NULL for the defaults; copied. With options->aux the function returns a
 * tuple of the Jacobian and aux.
 * @return The function, owned by @p s, or NULL.
 *
 * @par Errors
 * PITH_E_ARG: options->chunk is negative. Those of pith_grad.
 * @par Errors of calls
 * PITH_E_SHAPE: a block has more than PITH_MAX_RANK axes. PITH_E_ARG: the selected part
 * has a sharded leaf, or the value one of rank 0. Those of pith_jvp and pith_vmap.
 */
PITH_API const pith_function *pith_jacobian_forward(pith_scope *s,
                                                    const pith_function *function,
                                                    const pith_derive_options *options);
/**
 * As pith_jacobian_forward, by reverse mode, which costs as much as a gradient of each
 * element of the value. Blocks have the dtype of the argument. The selected part may have
 * sharded leaves, whose blocks are sharded along their axes; the value may not.
 */
PITH_API const pith_function *pith_jacobian_reverse(pith_scope *s,
                                                    const pith_function *function,
                                                    const pith_derive_options *options);
/**
 * The matrix of second derivatives of a function whose value is a float of rank 0, by
 * forward mode over reverse: a function with the parameters of @p function. It is the
 * Jacobian of the gradient: of an array it has the shape of the argument twice; of
 * another tree it is a dict by the paths of its leaves of dicts by these paths. With
 * options->aux the function returns a tuple of the Hessian and aux.
 *
 * The product with one direction is much cheaper: pith_hessian_product. Other functions
 * have the second derivatives pith_jacobian_forward(s, pith_jacobian_reverse(s, f)).
 *
 * @par Errors
 * Those of pith_grad and pith_jacobian_forward.
 */
PITH_API const pith_function *pith_hessian(pith_scope *s,
                                           const pith_function *function,
                                           const pith_derive_options *options);

/**
 * The residuals of a function: the arrays that the map of pith_vjp, and the backward half
 * of a gradient, need of the computation of the value. One line for each, with its bytes,
 * its dtype and shape, and the operation and source line that make it, or the leaf of the
 * arguments that it is; then the total. The program is recorded if it is not cached, and
 * not run.
 *
 *     8000 bytes, f64[1000]: cumsum at melt.c:41
 *     8000 bytes, f64[1000]: argument [0].position, not copied
 *     8000 bytes in all, and 8000 bytes not copied
 *
 * @return Text owned by @p s, or NULL.
 *
 * @par Errors
 * PITH_E_TRACED: a function is being traced. Those of pith_vjp, except those of running
 * the function.
 */
PITH_API const char *pith_residual_text(pith_scope *s,
                                        const pith_function *function,
                                        int64_t count,
                                        const void *const *arguments,
                                        const pith_derive_options *options);

/** A tree as a constant of derivations: the same values, whose tangents are 0. */
#define pith_stop_gradient(s, tree)                                                      \
    ((__typeof__(tree))pith_stop_gradient_any((s), (tree)))
/** As pith_stop_gradient, for trees of any type.
 *
 * @return The tree, owned by @p s; after an error the nil of its type. */
PITH_API const void *pith_stop_gradient_any(pith_scope *s, const void *tree);
/** A tree that must not be differentiated: the same values. A derivation is
 * PITH_E_DERIVATIVE with the line of this call as soon as a tangent reaches a leaf, in
 * forward and in reverse mode, whether the leaf is used or not. */
#define pith_non_differentiable(s, tree)                                                 \
    ((__typeof__(tree))pith_non_differentiable_any((s), (tree)))
/** As pith_non_differentiable, for trees of any type.
 *
 * @return The tree, owned by @p s; after an error the nil of its type. */
PITH_API const void *pith_non_differentiable_any(pith_scope *s, const void *tree);

/**
 * A function with a rule for its derivative in forward mode. Reverse mode transposes the
 * rule, unless the function also has one of pith_custom_vjp.
 *
 * The rule is a function of primals and tangents: of one argument itself, of several a
 * tuple. Tangents are like primals. It returns a record with the members `value`, which
 * is like the value of @p function, and `tangent`, which is like the value and linear in
 * the tangents. Leaves of integers have tangents that are not read. A derivation takes
 * the value of the rule for that of the function.
 *
 * The rule is recorded when a derivation reaches a call of the function, once for a call.
 * It may call the function itself, made once more or bound; where it does, derivatives of
 * the derivative use the rule again. Derivatives are not taken of what @p function does:
 * it may launch kernels. Checks in @p function and in the rule are made with the value.
 * One that both have, at one source line, is made once.
 *
 * @return The function, owned by @p s, or NULL.
 *
 * @par Errors
 * PITH_E_ARG: a function is no function; the rule does not have two parameters.
 * @par Errors of derivations
 * PITH_E_STRUCTURE, PITH_E_SHAPE, PITH_E_DTYPE: a member is not like the value.
 * PITH_E_TYPE: the result is no record with these members. PITH_E_DERIVATIVE: a tangent
 * reaches a tree bound by pith_partial in the function or its rule; the value depends on
 * a tangent; the tangent has a term that depends on no tangent and is not 0, or in
 * reverse mode and pith_linearize is not linear otherwise. PITH_E_ARG: a leaf of an
 * argument is sharded; call the function within pith_shard_map.
 */
PITH_API const pith_function *
pith_custom_jvp(pith_scope *s, const pith_function *function, const pith_function *rule);
/**
 * A function with a rule for reverse mode.
 *
 * @param forward A function of the arguments of @p function. It returns a record with the
 * members `value` and `residual`, any tree that the backward function needs.
 * @param backward A function of the residual and of a cotangent like the value. It
 * returns the gradient: a tree like the argument, of several arguments a tuple.
 *
 * A derivation takes the value of @p forward for that of the function. Cotangents of
 * leaves of integers are zeros, and gradients of such leaves are not read. The rest is as
 * in pith_custom_jvp; a function with both rules uses each for its mode. Checks in
 * @p backward are made where the map is called.
 *
 * @return The function, owned by @p s, or NULL.
 *
 * @par Errors
 * PITH_E_ARG: a function is no function, or does not have these parameters.
 * @par Errors of derivations
 * Those of pith_custom_jvp. PITH_E_DERIVATIVE: a tangent reaches the function in forward
 * mode, and it has no other rule.
 */
PITH_API const pith_function *pith_custom_vjp(pith_scope *s,
                                              const pith_function *function,
                                              const pith_function *forward,
                                              const pith_function *backward);
/** In a rule, whether a tangent or cotangent is zero as a whole: what it is multiplied
 * with need not be computed. False outside of rules. */
PITH_API bool pith_is_zero_tangent(const pith_array *tangent);

/** A list of names: PITH_NAMES("density", "forces"). */
#define PITH_NAMES(...) PITH_ARRAY_(const char *, __VA_ARGS__, NULL)

/** Results inside a function that derivations keep although it is recomputed. */
typedef enum pith_kept {
    PITH_KEPT_NAMED,    /**< those that pith_name_kept named, and options list */
    PITH_KEPT_PRODUCTS, /**< those of products of matrices too */
} pith_kept;

/** Options of pith_recompute; zero is the default. */
typedef struct pith_recompute_options {
    pith_kept keep PITH_DEFAULT; /**< PITH_KEPT_NAMED */
    /** Names of pith_name_kept: these results are kept. NULL terminates the list; NULL
     * instead of a list: none. */
    const char *const *names PITH_DEFAULT;
} pith_recompute_options;

/**
 * A function that is computed again by the backward half of derivatives: of its values
 * only arguments and bound trees are kept for it, and what the options say. Value and
 * gradient have the same bits. Without a derivation the function is as @p function.
 *
 * Checks are made once, by the computation of the value. A function that is recomputed
 * inside another one belongs to the outer one, with its options.
 *
 * @param options NULL for the defaults; copied.
 * @return The function, owned by @p s, or NULL.
 *
 * @par Errors
 * PITH_E_ARG: @p function is no function; options->keep is invalid; a name is empty, or
 * longer than 63 bytes.
 */
PITH_API const pith_function *pith_recompute(pith_scope *s,
                                             const pith_function *function,
                                             const pith_recompute_options *options);
/** A tree whose leaves have a name for pith_recompute: the same values. */
#define pith_name_kept(s, tree, name)                                                    \
    ((__typeof__(tree))pith_name_kept_any((s), (tree), (name)))
/** As pith_name_kept, for trees of any type.
 *
 * @return The tree, owned by @p s; after an error the nil of its type.
 *
 * @par Errors
 * PITH_E_ARG: the name is empty, or longer than 63 bytes. */
PITH_API const void *
pith_name_kept_any(pith_scope *s, const void *tree, const char *name);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_jvp(s, ...)               pith_jvp(PITH_AT(s), __VA_ARGS__)
#    define pith_grad(s, ...)              pith_grad(PITH_AT(s), __VA_ARGS__)
#    define pith_value_and_grad(s, ...)    pith_value_and_grad(PITH_AT(s), __VA_ARGS__)
#    define pith_linearize(s, ...)         pith_linearize(PITH_AT(s), __VA_ARGS__)
#    define pith_vjp(s, ...)               pith_vjp(PITH_AT(s), __VA_ARGS__)
#    define pith_linear_transpose(s, ...)  pith_linear_transpose(PITH_AT(s), __VA_ARGS__)
#    define pith_hessian_product(s, ...)   pith_hessian_product(PITH_AT(s), __VA_ARGS__)
#    define pith_jacobian_forward(s, ...)  pith_jacobian_forward(PITH_AT(s), __VA_ARGS__)
#    define pith_jacobian_reverse(s, ...)  pith_jacobian_reverse(PITH_AT(s), __VA_ARGS__)
#    define pith_hessian(s, ...)           pith_hessian(PITH_AT(s), __VA_ARGS__)
#    define pith_residual_text(s, ...)     pith_residual_text(PITH_AT(s), __VA_ARGS__)
#    define pith_stop_gradient_any(s, ...) pith_stop_gradient_any(PITH_AT(s), __VA_ARGS__)
#    define pith_non_differentiable_any(s, ...)                                          \
        pith_non_differentiable_any(PITH_AT(s), __VA_ARGS__)
#    define pith_custom_jvp(s, ...)    pith_custom_jvp(PITH_AT(s), __VA_ARGS__)
#    define pith_custom_vjp(s, ...)    pith_custom_vjp(PITH_AT(s), __VA_ARGS__)
#    define pith_recompute(s, ...)     pith_recompute(PITH_AT(s), __VA_ARGS__)
#    define pith_name_kept_any(s, ...) pith_name_kept_any(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
