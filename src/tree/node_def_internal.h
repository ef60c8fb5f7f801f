/* Between node_def.c, which interns shapes, statics.c, which brings the statics of records
 * into one form, and node_def_scope.c, which keeps shapes alive for scopes. */
#ifndef PITH_SHAPE_INTERNAL_H
#define PITH_SHAPE_INTERNAL_H

#include "tree/node_internal.h"

struct pithp_shape_table *
pithp_shape_table_make(pith_runtime *rt); /* NULL: memory short */
void pithp_shape_table_free(pith_runtime *rt, struct pithp_shape_table *table);

/* What a shape is looked up by. */
typedef struct pithp_shape_key {
    pithp_kind kind;
    bool all_leaves;
    const pith_type *type;
    const char *statics; /* canonical; static records are their shapes */
    int64_t count;
    const char *const *keys;
    uint64_t hash;
} pithp_shape_key;

/* The shape of a key, with a reference for the caller. NULL: error set. */
pithp_shape *pithp_shape_find(pith_scope *s, pithp_shape_key *key);
void pithp_shape_release(pith_runtime *rt, pithp_shape *shape);

/* The shape of a record with these statics, with a reference for the caller. NULL: error
 * set. */
pithp_shape *
pithp_shape_of_statics(pith_scope *s, const pith_type *type, const void *value);

#endif
