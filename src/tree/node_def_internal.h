/* Private interface of node definitions, between the interning table (node_def.c), the
 * canonical form of statics (statics.c) and the references of scopes
 * (node_def_scope.c). */
#ifndef PITH_SHAPE_INTERNAL_H
#define PITH_SHAPE_INTERNAL_H

#include "tree/node_internal.h"

struct pithp_node_def_table *
pithp_node_def_table_make(pith_runtime *rt); /* NULL if memory is short */
void pithp_node_def_table_free(pith_runtime *rt, struct pithp_node_def_table *table);

/* Look-up key of a node definition. */
typedef struct pithp_node_def_key {
    pithp_kind kind;
    bool all_leaves;
    const pith_type *type;
    const char *statics; /* canonical; static records are given as node definitions */
    int64_t count;
    const char *const *keys;
    uint64_t hash;
} pithp_node_def_key;

/* The node definition of a key, with a reference for the caller. NULL sets the error. */
pithp_node_def *pithp_node_def_find(pith_scope *s, pithp_node_def_key *key);
void pithp_node_def_release(pith_runtime *rt, pithp_node_def *node_def);

/* The node definition of a record with these statics, with a reference for the caller.
 * NULL sets the error. */
pithp_node_def *
pithp_node_def_of_statics(pith_scope *s, const pith_type *type, const void *value);

#endif
