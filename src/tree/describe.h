/* Private interface of tree: values as short text, besides pithp_node_describe and
 * pithp_static_describe. */
#ifndef PITH_TREE_DESCRIBE_H
#define PITH_TREE_DESCRIBE_H

#include "tree/tree_internal.h"

/* The shortest decimal of at least 6 digits that reads back as the same number. */
void pithp_describe_f64(pithp_string *t, double value);
/* The first elements of a concrete array: "1 2 3 4 5 6 ...". Waits for the array. Failure
 * sets the error. */
pith_status pithp_describe_elements(pith_scope *s, pithp_string *t, const pith_array *a);

#endif
