/* Between node_def.c, which interns node definitions, statics.c, which brings the statics
 * of records into one form, and node_def_scope.c, which keeps node definitions alive for
 * scopes. */
#ifndef PITH_SHAPE_INTERNAL_H
#define PITH_SHAPE_INTERNAL_H

#include "tree/node_internal.h"

struct pithp_node_def_table *
pithp_node_def_table_make(pith_runtime *rt); /* NULL: memory short */
void pithp_node_def_table_free(pith_runtime *rt, struct pithp_node_def_table *table);

/* What a node definition is looked up by. */
typedef struct pithp_node_def_key {
    pithp_kind kind;
    bool all_leaves;
    const pith_type *type;
    const char *statics; /* canonical; static records are their node definitions */
    int64_t count;
    const char *const *keys;
    uint64_t hash;
} pithp_node_def_key;

/* The node definition of a key, with a reference for the caller. NULL: error set. */
pithp_node_def *pithp_node_def_find(pith_scope *s, pithp_node_def_key *key);
void pithp_node_def_release(pith_runtime *rt, pithp_node_def *node_def);

/* The node definition of a record with these statics, with a reference for the caller.
 * NULL: error set. */
pithp_node_def *
pithp_node_def_of_statics(pith_scope *s, const pith_type *type, const void *value);

#endif
