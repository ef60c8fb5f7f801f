/**
 * @file
 * Operations on all leaves of a tree: slice, split, take, select and scatter.
 *
 * Results, scopes and errors: see tree.h. Each leaf is treated as by the array operation
 * of the same name (array_shape.h, array_index.h); an error names the leaf's path. The
 * new leaves must fit the declarations of their records.
 */
#ifndef PITH_TREE_PARTS_H
#define PITH_TREE_PARTS_H

#include <pith/tree.h>

PITH_BEGIN

/** Slice every leaf along its first @p count axes. */
PITH_API const void *
pith_tree_slice(pith_scope *s, const void *tree, int64_t count, const pith_slice *slices);
/**
 * Split every leaf into @p count equal parts along an axis (negative: from the last).
 *
 * @return @p count trees, owned by @p s, the inverse of pith_tree_concat; or NULL.
 *
 * @par Errors
 * PITH_E_SHAPE: an extent is no multiple of @p count.
 */
PITH_API const void *const *
pith_tree_split(pith_scope *s, const void *tree, int64_t count, int axis);
/**
 * Split every leaf at @p count positions along an axis.
 *
 * @param places Ascending positions; negative ones count from the end, larger ones are
 * the end.
 * @return @p count + 1 trees, owned by @p s, or NULL.
 */
PITH_API const void *const *pith_tree_split_at(pith_scope *s,
                                               const void *tree,
                                               int64_t count,
                                               const int64_t *places,
                                               int axis);
/** pith_take of every leaf. */
PITH_API const void *pith_tree_take(pith_scope *s,
                                    const void *tree,
                                    const pith_array *index,
                                    const pith_take_options *options);
/**
 * pith_scatter_set of every leaf: set the rows at @p index of @p into along an axis to
 * those of @p rows, a tree of the same structure.
 *
 * Zero options are taken from the records around a leaf (PITH_SCATTER_ARGS), the
 * outermost first; promises accumulate. Records with PITH_MATCH are matched first. With
 * an empty index the result is @p into itself.
 *
 * @return A tree of the structure of @p into.
 */
PITH_API const void *pith_tree_scatter_set(pith_scope *s,
                                           const void *into,
                                           const pith_array *index,
                                           const void *rows,
                                           const pith_scatter_options *options);
/**
 * Select elements of @p a where @p condition holds, else of @p b. The axes of the
 * condition are the first axes of every leaf; it is repeated along the others.
 *
 * Shapes: condition [n, m] (bool), leaves [n, m, ...]. Leaves promote. An array that is
 * the same leaf in both trees is shared; so is a whole tree.
 */
PITH_API const void *pith_tree_where_broadcast_last(pith_scope *s,
                                                    const pith_array *condition,
                                                    const void *a,
                                                    const void *b);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_tree_slice(s, ...)       pith_tree_slice(PITH_AT(s), __VA_ARGS__)
#    define pith_tree_split(s, ...)       pith_tree_split(PITH_AT(s), __VA_ARGS__)
#    define pith_tree_split_at(s, ...)    pith_tree_split_at(PITH_AT(s), __VA_ARGS__)
#    define pith_tree_take(s, ...)        pith_tree_take(PITH_AT(s), __VA_ARGS__)
#    define pith_tree_scatter_set(s, ...) pith_tree_scatter_set(PITH_AT(s), __VA_ARGS__)
#    define pith_tree_where_broadcast_last(s, ...)                                       \
        pith_tree_where_broadcast_last(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
