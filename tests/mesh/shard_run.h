/* A run whose state is sharded, with a result that is known on any number of ranks. */
#ifndef MESH_SHARD_RUN_H
#define MESH_SHARD_RUN_H

#include "mesh/shard_trees.h"

enum { SHARD_RUN_ROWS = 1000, SHARD_RUN_STEPS = 12 };

/* Rows move by 1 a step, and the box by the number of rows in use of all ranks. */
static inline const ShardAtoms *shard_run_step(pith_scope *s, const ShardAtoms *in) {
    ShardAtoms next = *in;
    const pith_array *rows = pith_psum(s, in->count, NULL, NULL);
    next.position = pith_add(s, in->position, 1.0);
    next.box = pith_add(s, in->box, pith_cast(s, rows, PITH_F64));
    return pith_freeze(s, ShardAtoms, &next);
}

static inline const ShardAtoms *shard_run_start(mesh_test *t) {
    return pith_shard(t->s, atoms_of(t, SHARD_RUN_ROWS, SHARD_RUN_ROWS), NULL);
}

/* Whether a state of this rank is that of a step. */
static inline bool shard_run_is(mesh_test *t, const ShardAtoms *state, int64_t step) {
    const ShardAtoms *whole = atoms_of(t, SHARD_RUN_ROWS, SHARD_RUN_ROWS);
    const ShardAtoms *got = pith_unshard(t->s, state, -1);
    const pith_array *position = whole->position, *box = whole->box;
    for (int64_t k = 0; k < step; k++) {
        position = pith_add(t->s, position, 1.0);
        box = pith_add(t->s, box, (double)SHARD_RUN_ROWS);
    }
    return !pith_failed(t->s) && mesh_equal(t, got->position, position) &&
           mesh_equal(t, got->box, box) && mesh_equal(t, got->mass, whole->mass);
}

#endif
