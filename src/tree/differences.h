/* How a tree differs from a structure, and messages that say so. */
#ifndef PITHP_TREE_DIFFERENCES_H
#define PITHP_TREE_DIFFERENCES_H

#include "tree/structure.h"

/* ---- Trees along a structure (ops/prefix.c) ---- */

/* What a checked tree has at the items of a structure, NULL where it is absent. Sets
 * PITH_E_STRUCTURE with the first places where its nodes are others. */
pith_status pithp_read_up_to(pith_scope *s,
                             const pithp_structure *t,
                             const void *tree,
                             const void **items,
                             const char *function);

/* Differences of a tree from a structure, in order. */
typedef struct pithp_difference_list {
    pith_scope *s;
    pith_difference *all;
    int64_t count, room, most; /* more than most are only counted */
    /* NULL: leaves stand for anything. Else both have a leaf where one does: says how the
     * items differ, in text, if they do. */
    pith_status (*leaf)(struct pithp_difference_list *l,
                        int64_t item,
                        const pith_array *got,
                        pithp_text *text);
    const void *closure;
} pithp_difference_list;

pith_status pithp_differences_list(pithp_difference_list *l,
                                   const pithp_structure *t,
                                   const void *tree);
/* The list in memory of its scope, which the caller returns; releases it. NULL: error
 * set.
 */
const pith_difference *pithp_differences_give(pithp_difference_list *l, int64_t *count);
/* Whether elements of two leaves of one shape are equal, or near where that is asked:
 * bool of that shape (compare.c). NULL: error set. */
const pith_array *pithp_same_elements(pith_scope *s,
                                      const pith_array *a,
                                      const pith_array *b,
                                      bool near,
                                      double rtol,
                                      double atol);

/* ---- Differences of structure (differences.c) ---- */

/* "Atoms", "a list of 4", "f64[256,3]", "nothing": what a live node is, for messages. */
void pithp_node_describe(pithp_text *t, const void *node);
/* The value of a static field of a record (or of the struct of its statics): 64, 2.5,
 * true, "text", fcc, f32, Box{x=1}. */
void pithp_static_describe(pithp_text *t, const pithp_field *field, const void *record);
/* The same beside another record's: long texts begin shortly before they differ. */
void pithp_static_describe_beside(pithp_text *t,
                                  const pithp_field *field,
                                  const void *record,
                                  const void *other);
/* Whether two records (or structs of their statics) have the same value there. */
bool pithp_static_same(const pithp_static_info *info, const void *a, const void *b);
/* "a list of 4", "Atoms": a node of that shape. */
void pithp_node_def_describe(pithp_text *t, const pithp_node_def *node_def);
/* How nodes of two shapes differ: "expected a list of 2, got none". */
void pithp_node_defs_differ(pithp_text *t,
                            const pithp_node_def *expected,
                            const pithp_node_def *got);
/* Append a path; a long one loses its middle. */
void pithp_path_shorten(pithp_text *to, const pithp_text *path);
/* Set PITH_E_STRUCTURE with the first places where `got` differs from `expected`, in one
 * line; `of` says which tree got is ("tree 1"). is_leaf: what it picks is not looked
 * into. */
pith_status pithp_differences_fail(pith_scope *s,
                                   const void *expected,
                                   const void *got,
                                   const char *of,
                                   pithp_is_leaf is_leaf,
                                   void *closure);

#endif
