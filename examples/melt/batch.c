/* Several melts as one state: every leaf has a leading batch axis. The step and what
 * comes before it are written for one melt, and mapped over this axis. Ranks share the
 * axis: the state is sharded along it, and each steps its own melts. */
#include "melt.h"

#include <inttypes.h>
#include <string.h>

/* The first axis of every leaf over all ranks. */
static const pith_shard_spec by_entry[] = {{"", NULL, NULL}, {NULL, NULL, NULL}};

/* The melt with velocities of a key. */
static const Sim *draw(pith_scope *s, const pith_array *key, const Sim *one) {
    Sim next = *one;
    Atoms atoms = *one->atoms;
    const pith_spec *spec = pith_array_spec(atoms.velocity);
    atoms.velocity = pith_cast(s, melt_velocities(s, key, spec->shape[0]), spec->dtype);
    next.atoms = pith_freeze(s, Atoms, &atoms);
    return pith_freeze(s, Sim, &next);
}
PITH_FUNCTION2(draw_of, draw, Sim, pith_array, Sim)

const Sim *melt_batch(pith_scope *s, const Sim *one, const Options *o) {
    const int64_t ranks = o->ranks ? pith_axis_size(s, NULL) : 1;
    const int64_t count = o->batch / ranks;
    const int64_t first = o->ranks ? count * pith_axis_rank(s, NULL) : 0;
    if (o->batch % ranks)
        pith_fail(s, PITH_E_ARG, NULL,
                  "--batch: expected a multiple of the number of ranks, which is %" PRId64
                  ", got %" PRId64,
                  ranks, o->batch);
    const pith_array *seeds =
        pith_add(s, pith_arange(s, PITH_I64, count), pith_i64(s, o->seed + first));
    /* as pith_random_key: the high and the low word of a seed */
    const pith_array *words[] = {
        pith_cast(s, pith_shift_right(s, seeds, 32), PITH_U32),
        pith_cast(s, pith_bitwise_and(s, seeds, 0xffffffff), PITH_U32)};
    const pith_vmap_options shared = {.in = PITH_MAPPED({"[1]", PITH_NOT_MAPPED})};
    const Sim *own =
        pith_apply(s, pith_vmap(s, &draw_of, &shared), pith_stack(s, 2, words, 1), one);
    return o->ranks ? pith_shard_local(s, own, by_entry) : own;
}

Batch melt_batch_of(const Sim *sim) {
    const pith_spec *step = pith_array_spec(sim->step);
    const pith_sharding at = pith_array_sharding(sim->step);
    if (!step->rank)
        return (Batch){.all = 0};
    return (Batch){.all = at.mesh ? at.whole.extents[0] : step->shape[0],
                   .first = at.mesh ? at.begin[0] : 0,
                   .count = step->shape[0],
                   .shared = at.mesh != NULL};
}

bool melt_saved_batch(pith_scope *s, const char *path) {
    pith_scope *in = pith_scope_open_in(s);
    const pith_checkpoint *c = pith_checkpoint_open(in, path);
    pith_checkpoint_node node;
    pith_checkpoint_leaf step = {.shape = {.rank = 0}};
    if (c && pith_checkpoint_get_node(c, 0, &node) && node.type &&
        strcmp(node.type, "Sim") == 0 &&
        pith_checkpoint_get_node(c, pith_checkpoint_find(in, c, ".step"), &node))
        pith_checkpoint_get_leaf(c, node.leaf, &step);
    pith_clear(in); /* the load tells what is wrong */
    pith_scope_close(in);
    return step.shape.rank == 1;
}

const Sim *melt_share(pith_scope *s, const Sim *sim) {
    const Batch batch = melt_batch_of(sim);
    return batch.all && !batch.shared ? pith_shard(s, sim, by_entry) : sim;
}

const Sim *melt_here(pith_scope *s, const Sim *sim) {
    return melt_batch_of(sim).shared ? pith_unshard_local(s, sim) : sim;
}

const pith_function *
melt_of_batch(pith_scope *s, const pith_function *f, const Batch *batch) {
    const pith_shard_options own = {.in = {by_entry}, .out = by_entry};
    const pith_function *each = batch->all ? pith_vmap(s, f, NULL) : f;
    return batch->shared ? pith_shard_map(s, each, &own) : each;
}

const Sim *melt_entry(pith_scope *s, const Sim *sim, int64_t entry) {
    return pith_tree_take(s, sim, pith_i64(s, entry), NULL);
}
