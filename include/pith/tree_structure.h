/**
 * @file
 * Structures of trees: flattening with a predicate, prefixes, composition and transpose,
 * and differences between trees.
 *
 * Results, scopes and errors: see tree.h. A structure A is a prefix of a tree if the tree
 * has all nodes of A, with any trees at the leaves of A.
 */
#ifndef PITH_TREE_STRUCTURE_H
#define PITH_TREE_STRUCTURE_H

#include <pith/tree.h>

/** One difference between two trees. */
typedef struct pith_difference {
    const char *path; /**< "" is the root */
    const char *text; /**< "expected a list of 2, got none" */
} pith_difference;

/** Options of pith_tree_diff; zero is the default: values must be equal. */
typedef struct pith_diff_options {
    double rtol PITH_DEFAULT, atol PITH_DEFAULT; /**< as in pith_tree_all_close */
} pith_diff_options;

PITH_BEGIN

/** Whether to treat a node as a leaf. Called for records, containers and none, from the
 * root down. */
typedef bool (*pith_is_leaf)(const void *node, void *closure);

/**
 * As pith_tree_flatten, but nodes that @p is_leaf accepts are items and not walked. The
 * structure counts them as leaves without a spec; any tree fits them.
 *
 * @param is_leaf NULL: accepts no node.
 * @param items Set to an array of pith_treedef_num_leaves trees, owned by @p s; may be
 * NULL.
 * @return The structure, or NULL.
 */
PITH_API const pith_treedef *pith_tree_flatten_where(pith_scope *s,
                                                     const void *tree,
                                                     pith_is_leaf is_leaf,
                                                     void *closure,
                                                     const void *const **items);
/** As pith_tree_unflatten, for a structure of pith_tree_flatten_where. Items are arrays,
 * or any trees where the predicate accepted a node. */
PITH_API const void *pith_tree_unflatten_where(pith_scope *s,
                                               const pith_treedef *def,
                                               int64_t count,
                                               const void *const *items);
/**
 * The parts of a tree at the leaves of a prefix: any trees, NULL if absent.
 *
 * @return pith_treedef_num_leaves(def) trees, owned by @p s, or NULL.
 *
 * @par Errors
 * PITH_E_STRUCTURE: lists the first paths where the tree has other nodes.
 */
PITH_API const void *const *
pith_tree_flatten_up_to(pith_scope *s, const pith_treedef *def, const void *tree);
/**
 * Each leaf of a prefix, repeated for every leaf of the tree below it, in tree order.
 *
 * @param count Set to the number of leaves of @p tree.
 * @return @p count arrays, owned by @p s, or NULL.
 *
 * @par Errors
 * PITH_E_STRUCTURE: lists the first paths where the prefix does not fit.
 */
PITH_API const pith_array *const *pith_tree_broadcast_prefix(pith_scope *s,
                                                             const void *prefix,
                                                             const void *tree,
                                                             int64_t *count);
/**
 * The paths where a prefix does not fit a tree. The walk does not enter nodes that
 * differ.
 *
 * @param count Set to the number of differences.
 * @return The differences in order, owned by @p s; NULL only on failure.
 */
PITH_API const pith_difference *pith_tree_prefix_errors(pith_scope *s,
                                                        const void *prefix,
                                                        const void *tree,
                                                        int64_t *count);
/**
 * The differences of two trees in nodes, keys, statics, leaf specs and values. For values
 * the text has the number of elements that differ and the first of them (NaN equals NaN,
 * -0 equals 0). The walk does not enter nodes that differ. Waits.
 *
 * @param count Set to the number of differences; 0 if pith_tree_equal holds.
 * @return The differences in the order of @p a, owned by @p s; NULL only on failure.
 */
PITH_API const pith_difference *pith_tree_diff(pith_scope *s,
                                               const void *a,
                                               const void *b,
                                               int64_t *count,
                                               const pith_diff_options *options);
/**
 * Transpose a tree of structure @p outer whose leaves are trees of structure @p inner: a
 * list of pairs becomes a pair of lists. Parts below the leaves of @p inner are
 * unchanged.
 *
 * @param inner NULL: the structure of the first inner tree.
 * @return A tree of @p inner with trees of @p outer as leaves.
 *
 * @par Errors
 * PITH_E_STRUCTURE: lists the paths that differ. PITH_E_ARG: @p outer has no leaves.
 */
PITH_API const void *pith_tree_transpose(pith_scope *s,
                                         const pith_treedef *outer,
                                         const pith_treedef *inner,
                                         const void *tree);

/** The structure @p outer with every leaf replaced by the structure @p inner. */
PITH_API const pith_treedef *
pith_treedef_compose(pith_scope *s, const pith_treedef *outer, const pith_treedef *inner);
/**
 * The structures of the root's children.
 *
 * @param count Set to their number; 0 for a leaf.
 * @return An array, owned by @p s, with NULL for absent children; NULL only on failure.
 */
PITH_API const pith_treedef *const *
pith_treedef_children(pith_scope *s, const pith_treedef *def, int64_t *count);
/** Whether a structure is one leaf. */
PITH_API bool pith_treedef_is_leaf(const pith_treedef *def);
/** Whether @p prefix is a prefix of the structure @p def. Leaf specs are ignored. False
 * also if memory is too short. */
PITH_API bool pith_treedef_is_prefix(const pith_treedef *prefix, const pith_treedef *def);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_tree_flatten_where(s, ...)                                              \
        pith_tree_flatten_where(PITH_AT(s), __VA_ARGS__)
#    define pith_tree_unflatten_where(s, ...)                                            \
        pith_tree_unflatten_where(PITH_AT(s), __VA_ARGS__)
#    define pith_tree_flatten_up_to(s, ...)                                              \
        pith_tree_flatten_up_to(PITH_AT(s), __VA_ARGS__)
#    define pith_tree_broadcast_prefix(s, ...)                                           \
        pith_tree_broadcast_prefix(PITH_AT(s), __VA_ARGS__)
#    define pith_tree_prefix_errors(s, ...)                                              \
        pith_tree_prefix_errors(PITH_AT(s), __VA_ARGS__)
#    define pith_tree_diff(s, ...)        pith_tree_diff(PITH_AT(s), __VA_ARGS__)
#    define pith_tree_transpose(s, ...)   pith_tree_transpose(PITH_AT(s), __VA_ARGS__)
#    define pith_treedef_compose(s, ...)  pith_treedef_compose(PITH_AT(s), __VA_ARGS__)
#    define pith_treedef_children(s, ...) pith_treedef_children(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
