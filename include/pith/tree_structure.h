/**
 * @file
 * Structures of trees as values: what a predicate takes for a leaf, trees read along a
 * structure or a prefix, structures inside each other, and how trees differ.
 *
 * Results, scopes and errors: see tree.h. A structure A is a prefix of a tree where the
 * tree has A's nodes, with anything at all in the places of A's leaves.
 */
#ifndef PITH_TREE_STRUCTURE_H
#define PITH_TREE_STRUCTURE_H

#include <pith/tree.h>

/** One place where two trees differ. */
typedef struct pith_difference {
    const char *path; /**< "" is the root */
    const char *text; /**< "expected a list of 2, got none" */
} pith_difference;

/** Options of pith_tree_diff; zero is the default: values are to be equal. */
typedef struct pith_diff_options {
    double rtol PITH_DEFAULT, atol PITH_DEFAULT; /**< as of pith_tree_all_close */
} pith_diff_options;

PITH_BEGIN

/** Whether a node is to be taken for a leaf. Asked of records, containers and none, from
 * the root on. */
typedef bool (*pith_is_leaf)(const void *node, void *closure);

/**
 * As pith_tree_flatten, but a node of which @p is_leaf says so is not looked into: it is
 * an item itself.
 *
 * The structure counts such places as leaves; they have no spec, and any tree fits them.
 *
 * @param is_leaf NULL: no node is.
 * @param items Set to an array of pith_treedef_num_leaves trees, owned by @p s; may be
 * NULL.
 * @return The structure, or NULL.
 */
PITH_API const pith_treedef *pith_tree_flatten_where(pith_scope *s,
                                                     const void *tree,
                                                     pith_is_leaf is_leaf,
                                                     void *closure,
                                                     const void *const **items);
/** As pith_tree_unflatten for a structure of pith_tree_flatten_where: items are arrays,
 * and any trees where the predicate took a node for a leaf. */
PITH_API const void *pith_tree_unflatten_where(pith_scope *s,
                                               const pith_treedef *def,
                                               int64_t count,
                                               const void *const *items);
/**
 * What a tree has at the leaves of a structure: any trees, NULL where it is absent there.
 *
 * Errors: PITH_E_STRUCTURE with the first places where the tree has other nodes.
 * @return pith_treedef_num_leaves(def) trees, or NULL.
 */
PITH_API const void *const *
pith_tree_flatten_up_to(pith_scope *s, const pith_treedef *def, const void *tree);
/**
 * Each leaf of a prefix once for every leaf of the tree below it, in the tree's order.
 *
 * @param count Set to the number of leaves of @p tree.
 * Errors: PITH_E_STRUCTURE with the first places where the prefix does not fit.
 * @return @p count arrays, or NULL.
 */
PITH_API const pith_array *const *pith_tree_broadcast_prefix(pith_scope *s,
                                                             const void *prefix,
                                                             const void *tree,
                                                             int64_t *count);
/**
 * The places where a prefix does not fit a tree; nodes that differ are not looked into.
 *
 * @param count Set to how many there are.
 * @return The differences in order; not NULL where there are none, but on failure.
 */
PITH_API const pith_difference *pith_tree_prefix_errors(pith_scope *s,
                                                        const void *prefix,
                                                        const void *tree,
                                                        int64_t *count);
/**
 * How two trees differ: nodes, keys, statics, specs of leaves, and values: how many of a
 * leaf's elements differ (NaN equals NaN, -0 equals 0), and the first of them. Nodes that
 * differ are not looked into. Waits.
 *
 * @param count Set to how many there are; 0 where pith_tree_equal holds.
 * @return The differences in the order of @p a; not NULL where there are none, but on
 * failure.
 */
PITH_API const pith_difference *pith_tree_diff(pith_scope *s,
                                               const void *a,
                                               const void *b,
                                               int64_t *count,
                                               const pith_diff_options *options);
/**
 * Turn a tree of the structure @p outer with trees of the structure @p inner as leaves
 * inside out: a list of pairs becomes a pair of lists.
 *
 * @param inner NULL: that of the first one.
 * Errors: PITH_E_STRUCTURE with the places that differ; PITH_E_ARG where @p outer has no
 * leaves. What lies below the leaves of @p inner stays as it is.
 * @return A tree of @p inner with trees of @p outer as leaves.
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
 * @param count Set to how many there are: 0 for a leaf.
 * @return An array, with NULL for what is absent; not NULL where there are none, but on
 * failure.
 */
PITH_API const pith_treedef *const *
pith_treedef_children(pith_scope *s, const pith_treedef *def, int64_t *count);
/** Whether a structure is one leaf. */
PITH_API bool pith_treedef_is_leaf(const pith_treedef *def);
/** Whether @p prefix fits every tree of the structure @p def. Specs of leaves do not
 * count. False also where memory is too short to look. */
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
