/* Structure differences between a tree and a structure, and their error messages. */
#ifndef PITHP_TREE_DIFFERENCES_H
#define PITHP_TREE_DIFFERENCES_H

#include "tree/structure.h"

/* ---- Trees matched to a structure (ops/prefix.c) ---- */

/* Read a checked tree at the items of a structure; NULL for absent items. Sets
 * PITH_E_STRUCTURE with the first differing nodes. */
pith_status pithp_read_up_to(pith_scope *s,
                             const pithp_structure *t,
                             const void *tree,
                             const void **items,
                             const char *function);

/* Differences of a tree from a structure, in order. */
typedef struct pithp_difference_list {
    pith_scope *s;
    pith_difference *all;
    int64_t count, room, most; /* at most `most` are listed, the others only counted */
    /* Compares two leaves: describes in text how they differ, if they do. Called where
     * both sides have leaves. NULL: leaves match anything. */
    pith_status (*leaf)(struct pithp_difference_list *l,
                        int64_t item,
                        const pith_array *got,
                        pithp_string *text);
    const void *closure;
} pithp_difference_list;

pith_status pithp_differences_list(pithp_difference_list *l,
                                   const pithp_structure *t,
                                   const void *tree);
/* Move the list to memory of its scope, for the caller of the public function, and
 * release it. NULL sets the error. */
const pith_difference *pithp_differences_give(pithp_difference_list *l, int64_t *count);
/* Compare the elements of two leaves of one shape: bool of that shape. near: within the
 * tolerances (compare.c). NULL sets the error. */
const pith_array *pithp_same_elements(pith_scope *s,
                                      const pith_array *a,
                                      const pith_array *b,
                                      bool near,
                                      double rtol,
                                      double atol);

/* ---- Differences of structure (differences.c) ---- */

/* Describe a live node for messages: "Atoms", "a list of 4", "f64[256,3]", "nothing". */
void pithp_node_describe(pithp_string *t, const void *node);
/* Print the value of a static field of a record, or of the struct of its statics: 64,
 * 2.5, true, "text", fcc, f32, Box{x=1}. */
void pithp_static_describe(pithp_string *t, const pithp_field *field, const void *record);
/* The same next to another record's value: long texts begin shortly before the first
 * difference. */
void pithp_static_describe_beside(pithp_string *t,
                                  const pithp_field *field,
                                  const void *record,
                                  const void *other);
/* Whether two records (or structs of their statics) have equal values of a static. */
bool pithp_static_same(const pithp_static_info *info, const void *a, const void *b);
/* Describe a node by its definition: "a list of 4", "Atoms". */
void pithp_node_def_describe(pithp_string *t, const pithp_node_def *node_def);
/* How two node definitions differ: "expected a list of 2, got none". */
void pithp_node_defs_differ(pithp_string *t,
                            const pithp_node_def *expected,
                            const pithp_node_def *got);
/* Append a path; a long path loses its middle. */
void pithp_path_shorten(pithp_string *to, const pithp_string *path);
/* Set PITH_E_STRUCTURE with the first differences of `got` from `expected`, in one line.
 * `of` names the tree got ("tree 1"). is_leaf: picked nodes are not compared. */
pith_status pithp_differences_fail(pith_scope *s,
                                   const void *expected,
                                   const void *got,
                                   const char *of,
                                   pithp_is_leaf is_leaf,
                                   void *closure);

#endif
