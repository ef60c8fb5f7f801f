/**
 * @file
 * The same part of every leaf: slices, splits, takes, choices and scatters over trees.
 *
 * Results, scopes and errors: see tree.h. What becomes of one leaf is what the operation
 * on arrays of that name does (array_shape.h, array_index.h); an error names the leaf's
 * path. Records are made anew, so that leaves must still fit what is declared.
 */
#ifndef PITH_TREE_PARTS_H
#define PITH_TREE_PARTS_H

#include <pith/tree.h>

PITH_BEGIN

/** The elements that @p slices pick along the first @p count axes of every leaf. */
PITH_API const void *
pith_tree_slice(pith_scope *s, const void *tree, int64_t count, const pith_slice *slices);
/**
 * @p count trees with equal parts of every leaf along an axis (negative: from the last).
 *
 * Errors: PITH_E_SHAPE where an extent is no multiple of @p count.
 * @return @p count trees, which pith_tree_concat joins again, or NULL.
 */
PITH_API const void *const *
pith_tree_split(pith_scope *s, const void *tree, int64_t count, int axis);
/**
 * @p count + 1 trees with the parts of every leaf between @p places along an axis.
 *
 * @param places Ascending; negative ones count from the end, what lies beyond is the end.
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
 * pith_scatter_set into every leaf of @p into: @p rows, a tree of its structure, at
 * @p index along an axis.
 *
 * Options that are zero are those of the records around a leaf (PITH_SCATTER_ARGS), the
 * outermost first; promises add up. Records that match (PITH_MATCH) are brought into line
 * before. An empty index gives @p into itself.
 *
 * @return A tree of the structure of @p into.
 */
PITH_API const void *pith_tree_scatter_set(pith_scope *s,
                                           const void *into,
                                           const pith_array *index,
                                           const void *rows,
                                           const pith_scatter_options *options);
/**
 * Elements of @p a where @p condition holds, else of @p b; the axes of the condition are
 * the first ones of every leaf, and it is repeated along the others.
 *
 * Shapes: condition [n, m] (bool), leaves [n, m, ...]. Leaves promote. A leaf that is one
 * array in both trees stays itself; so does the whole tree.
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
