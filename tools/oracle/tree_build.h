/* Trees of golden cases: built from their JSON, and compared with it.
 *
 * A leaf's value can be anything, so a leaf is an i64 of rank 0: an index into a table of
 * values. Records and named tuples are record types with a PITH_TREE per field; their
 * statics are f64, bool or text. Integer keys of dicts become texts that sort like
 * numbers. pith's dicts have one kind of key, so mixed keys are refused. */
#ifndef PITH_ORACLE_TREE_BUILD_H
#define PITH_ORACLE_TREE_BUILD_H

#include "golden.h"

#include <pith/tree.h>

/* Value of a leaf: one of these. */
typedef struct golden_value {
    const golden_json *json;
    const char *text;
    const void *const *trees; /* a list of trees */
    int count;
    void *owned; /* memory of text or trees, freed with the values; or NULL */
} golden_value;

typedef struct golden_values {
    golden_value *all;
    int64_t count, room;
} golden_values;

/* A leaf with a new value. NULL: the scope has failed. */
const pith_array *
golden_leaf(pith_scope *s, golden_values *values, const golden_value *value);
/* The value of a leaf. */
const golden_value *
golden_value_of(pith_scope *s, const golden_values *values, const pith_array *leaf);
void golden_values_end(golden_values *values);

/* The tree of a node. NULL: the scope has failed. */
const void *golden_tree(pith_scope *s, golden_values *values, const golden_json *node);
/* Whether a tree equals that of a node. */
bool golden_is_tree(pith_scope *s,
                    const golden_values *values,
                    const void *tree,
                    const golden_json *node);
/* A path in the form of jax.tree_util.keystr; simple: its elements joined by "/". False:
 * `text` is too small. */
bool golden_keystr(const char *path, bool simple, char *text, size_t room);

#endif
