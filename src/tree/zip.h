/* Zip: several trees of one structure, item by item. */
#ifndef PITHP_TREE_FOREST_H
#define PITHP_TREE_FOREST_H

#include "tree/structure.h"

/* ---- Zips (zip.c) ---- */

/* Trees that a user passed to a function. */
typedef struct pithp_trees {
    const char *function; /* its name, for messages */
    int64_t count;
    const void *const *at;
    pithp_is_leaf is_leaf; /* nodes picked in the first tree are picked in all; or NULL */
    void *closure;         /* of is_leaf */
    bool up_to;            /* the others may have any tree at the first one's leaves */
} pithp_trees;

typedef struct pithp_zip {
    pithp_flat first;
    int64_t count;                           /* trees */
    const pith_array **others;               /* items of the second and further trees */
    size_t bytes;                            /* of others */
    const pith_array *few[PITHP_FLAT_FIRST]; /* others, if these suffice */
    const void *root; /* the first tree, as passed or after match hooks */
} pithp_zip;

static inline const pith_array **pithp_zip_items(const pithp_zip *f, int64_t tree) {
    return tree ? f->others + (tree - 1) * f->first.structure.item_count : f->first.items;
}
/* Check trees, run match hooks and flatten. On failure the error is set and the caller
 * releases nothing. */
pith_status pithp_zip_make(pith_scope *s, pithp_zip *zip, const pithp_trees *trees);
/* As pithp_zip_make, for trees that are already checked and matched. */
pith_status pithp_zip_gather(pith_scope *s, pithp_zip *zip, const pithp_trees *trees);
void pithp_zip_end(pithp_zip *zip);

/* Run match hooks over the trees; results are in `aligned`, which has the same count
 * (match.c). */
pith_status
pithp_match_trees(pith_scope *s, const pithp_trees *trees, const void **aligned);

/* ---- Rows of every leaf (ops/rows.c) ---- */

/* Gather the rows that a scatter into the leaves of a tree writes: rows at the index
 * along an axis. Options of the call that are zero come from the records
 * (PITH_SCATTER_ARGS). Negative indices count from the end in every mode. fill: for
 * indices out of range; NULL: as pith_take. */
const void *pithp_tree_take_back(pith_scope *s,
                                 const char *function,
                                 const void *tree,
                                 const pith_array *index,
                                 const pith_scatter_options *options,
                                 const double *fill);
/* pith_tree_scatter_set. one: an array as rows applies to all leaves. */
const void *pithp_tree_scatter_set(pith_scope *s,
                                   const char *function,
                                   const void *into,
                                   const pith_array *index,
                                   const void *rows,
                                   bool one,
                                   const pith_scatter_options *options);

#endif
