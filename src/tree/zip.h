/* Several trees at a time, leaf by leaf. */
#ifndef PITHP_TREE_FOREST_H
#define PITHP_TREE_FOREST_H

#include "tree/structure.h"

/* ---- Several trees of one structure (zip.c) ---- */

/* Trees that a user passed to a function. */
typedef struct pithp_trees {
    const char *function; /* its name, for messages */
    int64_t count;
    const void *const *at;
    pithp_is_leaf is_leaf; /* what it picks of the first one is picked of all, or NULL */
    void *closure;         /* of is_leaf */
    bool up_to;            /* the others may have any tree at the first one's leaves */
} pithp_trees;

typedef struct pithp_zip {
    pithp_flat first;
    int64_t count;             /* trees */
    const pith_array **others; /* items of the second, third, ... tree */
    size_t bytes;              /* of others */
    const void *root;          /* the first tree: what was passed, or aligned to others */
} pithp_zip;

static inline const pith_array **pithp_zip_items(const pithp_zip *f, int64_t tree) {
    return tree ? f->others + (tree - 1) * f->first.structure.item_count : f->first.items;
}
/* Check trees, match them and gather them. On failure the error is set and there is
 * nothing to end. */
pith_status pithp_zip_make(pith_scope *s, pithp_zip *zip, const pithp_trees *trees);
/* As pithp_zip_make, of trees that are checked and not matched. */
pith_status pithp_zip_gather(pith_scope *s, pithp_zip *zip, const pithp_trees *trees);
void pithp_zip_end(pithp_zip *zip);

/* The trees with records that have a match hook brought into line: in `aligned`, which
 * holds as many (match.c). */
pith_status
pithp_match_trees(pith_scope *s, const pithp_trees *trees, const void **aligned);

/* ---- Rows of every leaf (ops/rows.c) ---- */

/* What scatters into the leaves of a tree read back: rows at the index along an axis, of
 * each leaf with the options that its records ask for (PITH_SCATTER_ARGS) where the
 * call's are zero; negative indices count from the end in every mode. fill: of indices
 * out of range; NULL: as pith_take. */
const void *pithp_tree_take_back(pith_scope *s,
                                 const char *function,
                                 const void *tree,
                                 const pith_array *index,
                                 const pith_scatter_options *options,
                                 const double *fill);
/* pith_tree_scatter_set; one: rows that are an array are those of all leaves. */
const void *pithp_tree_scatter_set(pith_scope *s,
                                   const char *function,
                                   const void *into,
                                   const pith_array *index,
                                   const void *rows,
                                   bool one,
                                   const pith_scatter_options *options);

#endif
