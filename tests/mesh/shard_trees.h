/* Trees that cases of shards share. */
#ifndef MESH_SHARD_TREES_H
#define MESH_SHARD_TREES_H

#include "mesh/cases.h"

typedef struct {
    const pith_array *position, *mass, *count, *box;
    int64_t max;
    double cutoff;
} ShardAtoms;
PITH_NODE(ShardAtoms,
          PITH_LEAF(position, "float[max,3]", .shard = "x", .rows = "count", .fill = -1),
          PITH_LEAF(mass, "f32[max]", .shard = "x", .rows = "count"),
          PITH_LEAF(count, "i64[]", .shard = "x"),
          PITH_LEAF(box, "float[3]"),
          PITH_STATIC(max),
          PITH_STATIC(cutoff))

typedef struct {
    const ShardAtoms *atoms;
    const pith_array *charge, *field;
} ShardSystem;
PITH_NODE(ShardSystem,
          PITH_CHILD(atoms, ShardAtoms),
          PITH_LEAF(charge, "f64[n]"),
          PITH_LEAF(field, "f64[2*k,m]", .shard = ";x"))

/* A record of n atoms, equal on all ranks; `used` of them count. */
static inline const ShardAtoms *atoms_of(mesh_test *t, int64_t n, int64_t used) {
    const ShardAtoms a = {
        .position = mesh_data(t, 1, PITH_F64, PITH_SHAPE(n, 3)),
        .mass = mesh_data(t, 2, PITH_F32, PITH_SHAPE(n)),
        .count = pith_i64(t->s, used),
        .box = mesh_data(t, 3, PITH_F64, PITH_SHAPE(3)),
        .max = n,
        .cutoff = 2.5,
    };
    return pith_freeze(t->s, ShardAtoms, &a);
}

static inline const pith_array *
rows(mesh_test *t, const pith_array *a, int64_t from, int64_t to) {
    return pith_slice_array(t->s, a, 1, &PITH_SLICE(from, to, 1));
}

static inline bool equal_trees(mesh_test *t, const void *a, const void *b) {
    return a && b && pith_tree_equal(t->s, a, b);
}

#endif
