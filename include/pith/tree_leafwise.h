/**
 * @file
 * Maps over the leaves of trees, folds of leaves, and operations on all leaves.
 *
 * Results, scopes and errors: see tree.h.
 */
#ifndef PITH_TREE_LEAFWISE_H
#define PITH_TREE_LEAFWISE_H

#include <pith/tree.h>

/** A leaf function: leaves[i] is the leaf of the i-th tree. It returns the new leaf, or
 * NULL on failure. */
typedef const pith_array *(*pith_leaf_function)(pith_scope *s,
                                                const pith_array *const *leaves,
                                                void *closure);

/** Options of the maps; zero is the default. */
typedef struct pith_map_options {
    /** If it returns true the node is passed to @c whole and not walked. It is called for
     * records, containers and none of the first tree, from the root down. */
    bool (*is_leaf)(const void *node, void *closure) PITH_DEFAULT;
    /** Maps nodes that is_leaf picks: nodes[i] is the node of the i-th tree, NULL if
     * absent. It returns any tree; NULL only on failure. */
    const void *(*whole)(pith_scope *s,
                         const void *const *nodes,
                         void *closure)PITH_DEFAULT;
    /** The other trees may have any trees at the leaves of the first, as in JAX.
     * Positions without a leaf in every tree go to @c whole. */
    bool up_to PITH_DEFAULT;
} pith_map_options;

PITH_BEGIN

/* ---- Maps ---- */

/**
 * Apply a function to the leaves of trees of one structure. Leaf specs may differ.
 *
 * @return A tree of the first tree's structure.
 *
 * @par Errors
 * PITH_E_STRUCTURE: lists the first paths that differ. An error of @p function gets the
 * path.
 */
PITH_API const void *pith_tree_map(pith_scope *s,
                                   pith_leaf_function function,
                                   void *closure,
                                   int64_t count,
                                   const void *const *trees,
                                   const pith_map_options *options);
/**
 * Evaluate an elementwise expression over all leaves of trees, in one pass.
 *
 * Operators, functions and casts are those of pith_expression (array_expression.h). They
 * are recorded as primitives, eager or traced, without a compiler. Values have C types:
 * integers narrower than i32 and bool become i32; two operands are converted by the usual
 * arithmetic conversions; f16 and bf16 become f32; a literal has its C type (0.5 is f64,
 * 0.5f is f32); functions of math.h have the type of their first argument (f64 for
 * integers). The result is converted to the dtype of the first tree's leaf as by
 * pith_cast, and has its shape.
 *
 * Arithmetic is that of array operations where C leaves it undefined. Integers wrap. x /
 * y of integers rounds towards zero (quotient), and x / y and x % y (rest) are 0 if y is
 * 0. A shift by the width or more gives 0 or the sign. Floats convert to integers as by
 * pith_cast.
 *
 * @param expression Over the operands a to h (leaf elements of up to eight trees) and
 * the numbers p[0] to p[7] (f32 if a is f32, f16 or bf16; else f64).
 * @param trees The first tree determines structure and shapes. A leaf of another tree, or
 * another tree as a whole, may be an array of rank 0, which is broadcast.
 * @param parameters The numbers p, or NULL.
 *
 * @par Errors
 * PITH_E_ARG: the expression is invalid; a caret marks the position. PITH_E_STRUCTURE,
 * PITH_E_SHAPE, PITH_E_DTYPE: with the path.
 */
PITH_API const void *pith_tree_map_expression(pith_scope *s,
                                              const char *expression,
                                              int64_t count,
                                              const void *const *trees,
                                              int64_t parameter_count,
                                              const double *parameters);

/** Fold a leaf into the value of the leaves before it. Returns the new value, or NULL on
 * failure. */
typedef const pith_array *(*pith_fold_function)(pith_scope *s,
                                                const pith_array *value,
                                                const pith_array *leaf,
                                                void *closure);
/**
 * Fold the leaves of a tree in order: function(function(initial, first), second) and so
 * on.
 *
 * @param initial NULL: start with the first leaf.
 *
 * @par Errors
 * PITH_E_ARG: @p initial is NULL and the tree has no leaves. An error of @p function gets
 * the path of the leaf.
 */
PITH_API const pith_array *pith_tree_reduce(pith_scope *s,
                                            pith_fold_function function,
                                            void *closure,
                                            const void *tree,
                                            const pith_array *initial);

/* ---- Whole trees ---- */

/** The tree with all elements zero. */
PITH_API const void *pith_tree_zeros_like(pith_scope *s, const void *tree);
/** The tree with all elements @p value, which must be exact in integer leaves. */
PITH_API const void *pith_tree_full_like(pith_scope *s, const void *tree, double value);
/** Stack the leaves of trees of one structure and equal specs along a new first axis. */
PITH_API const void *
pith_tree_stack(pith_scope *s, int64_t count, const void *const *trees);
/** Concatenate the leaves of trees of one structure along an axis (negative: from the
 * last). Leaves at one path have one dtype. */
PITH_API const void *
pith_tree_concat(pith_scope *s, int64_t count, const void *const *trees, int axis);
/** Whether structures, specs and all elements are equal. NaN equals NaN, and -0 equals 0.
 * Waits. */
PITH_API bool pith_tree_equal(pith_scope *s, const void *a, const void *b);
/** Whether structures and shapes are equal and |a - b| <= atol + rtol * |b| for all
 * elements. NaN equals NaN, and an infinity equals itself. Computed in f64; |a - b| of
 * integers is exact. Dtypes may differ. Waits. */
PITH_API bool pith_tree_all_close(pith_scope *s,
                                  const void *a,
                                  const void *b,
                                  double rtol,
                                  double atol);
/**
 * Sum trees of one structure and equal specs, with compensation of rounding errors
 * (Kahan).
 *
 * The first tree is the sum so far. The true sum is close to the result minus
 * @p compensation. In a loop, pith_tree_kahan_sum(s, 2, (const void *[]){sum, step},
 * lost, &lost) keeps a running sum whose error does not grow with the number of steps.
 *
 * @param compensate The compensation of an earlier call; NULL at first.
 * @param compensation Set to a tree of the same structure: the new compensation; 0 for
 * integers and for sums that are not finite. May be NULL.
 */
PITH_API const void *pith_tree_kahan_sum(pith_scope *s,
                                         int64_t count,
                                         const void *const *trees,
                                         const void *compensate,
                                         const void **compensation);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_tree_map(s, ...) pith_tree_map(PITH_AT(s), __VA_ARGS__)
#    define pith_tree_map_expression(s, ...)                                             \
        pith_tree_map_expression(PITH_AT(s), __VA_ARGS__)
#    define pith_tree_reduce(s, ...)     pith_tree_reduce(PITH_AT(s), __VA_ARGS__)
#    define pith_tree_zeros_like(s, ...) pith_tree_zeros_like(PITH_AT(s), __VA_ARGS__)
#    define pith_tree_full_like(s, ...)  pith_tree_full_like(PITH_AT(s), __VA_ARGS__)
#    define pith_tree_stack(s, ...)      pith_tree_stack(PITH_AT(s), __VA_ARGS__)
#    define pith_tree_concat(s, ...)     pith_tree_concat(PITH_AT(s), __VA_ARGS__)
#    define pith_tree_equal(s, ...)      pith_tree_equal(PITH_AT(s), __VA_ARGS__)
#    define pith_tree_all_close(s, ...)  pith_tree_all_close(PITH_AT(s), __VA_ARGS__)
#    define pith_tree_kahan_sum(s, ...)  pith_tree_kahan_sum(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
