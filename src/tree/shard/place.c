/* Placements of shards: from specs, and back. Local trees become sharded ones and plain
 * ones again without a copy. */
#include "base/in_flight.h"
#include "tree/shard/shard.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- Placements ---- */

static const pith_spec *
fail_axes(pith_scope *w, const pith_spec *shard, const char *axes) {
    char text[PITHP_SPEC_TEXT_BYTES];
    pithp_fail(w, PITH_E_ARG, NULL, "%s: the spec \"%s\" is for %d axes, the leaf is %s",
               pithp_function_of(w, "pith_shard_map"), axes, pithp_shard_text_lists(axes),
               pithp_spec_print(shard, text));
    return NULL;
}

/* The shards along one axis. */
static pith_status
place_axis(pith_scope *w, pith_placement *p, int axis, int64_t extent) {
    char list[PITHP_SHARD_TEXT];
    int64_t whole;
    pithp_shard_text_list(p->axes, axis, list);
    p->shards[axis] = 1;
    if (!list[0])
        return PITH_OK;
    const pithp_mesh_group *g = pithp_mesh_group_of(w, list);
    if (!g)
        return w->error.code;
    if (__builtin_mul_overflow(extent, g->size, &whole))
        return pithp_fail(w, PITH_E_OVERFLOW, NULL, "%s: the extent of axis %d overflows",
                          pithp_function_of(w, "pith_shard_map"), axis);
    p->shards[axis] = g->size;
    p->own[axis] = g->rank;
    return PITH_OK;
}

const pith_spec *pithp_shard_spec_of(pith_scope *w,
                                     const pith_spec *shard,
                                     const char *axes,
                                     const char *rows) {
    if (!axes[0])
        return pithp_spec_plain(w, shard);
    pith_placement p = {.mesh = pith_mesh_of(w)};
    if (pithp_shard_text_lists(axes) > (shard->rank ? shard->rank : 1))
        return fail_axes(w, shard, axes);
    if (rows && strlen(rows) >= sizeof p.rows) {
        pithp_fail(w, PITH_E_ARG, NULL,
                   "%s: the name '%.80s' of rows has more than 63 "
                   "characters",
                   pithp_function_of(w, "pith_shard_map"), rows);
        return NULL;
    }
    snprintf(p.axes, sizeof p.axes, "%s", axes);
    snprintf(p.rows, sizeof p.rows, "%s", rows ? rows : "");
    for (int d = 0; d < PITH_MAX_RANK; d++)
        if (place_axis(w, &p, d, d < shard->rank ? shard->shape[d] : 1) != PITH_OK)
            return NULL;
    const pith_placement *placement = pithp_placement(w, &p);
    return placement ? pithp_spec_placed(w, shard, placement) : NULL;
}

pith_sharding pith_array_sharding(const pith_array *a) {
    const pith_spec *spec = pith_array_spec(a);
    const pith_placement *p = spec ? pithp_placement_of(spec) : NULL;
    pith_sharding sharding = {.rows = -1};
    if (!p)
        return sharding;
    sharding.mesh = p->mesh;
    sharding.whole.rank = spec->rank ? spec->rank : 1;
    for (int d = 0; d < sharding.whole.rank; d++) {
        const int64_t extent = spec->rank ? spec->shape[d] : 1;
        sharding.whole.extents[d] = p->shards[d] * extent;
        sharding.begin[d] = p->own[d] * extent;
    }
    memcpy(sharding.axes, p->axes, sizeof sharding.axes);
    if (p->rows[0])
        sharding.rows = spec->shape[0];
    return sharding;
}

bool pithp_is_sharded(const pith_scope *s, const void *tree) {
    bool sharded = false;
    pithp_walk walk;
    pithp_visit visit;
    pithp_block *block = NULL;
    if (!pith_mesh_of(s) || !pithp_tree_is_usable(s, tree, &block))
        return false;
    pithp_walk_begin(&walk, s->runtime, tree);
    while (!sharded && pithp_walk_next(&walk, &visit))
        sharded = visit == PITHP_VISIT_LEAF && pithp_array_is_sharded(walk.node);
    pithp_walk_end(&walk);
    return sharded;
}

/* ---- From local trees ---- */

pith_status
pithp_shard_tree_place(pithp_shard_tree *t, int64_t k, const pith_array *shard) {
    const pithp_shard_leaf *leaf = &t->leaves[k];
    const pith_spec *spec =
        shard && t->w->error.code == PITH_OK
            ? pithp_shard_spec_of(t->w, pithp_array_spec(shard), leaf->axes, leaf->rows)
            : NULL;
    t->items[k] = spec ? pithp_array_place(t->w, shard, spec) : NULL;
    if (!t->items[k])
        pithp_item_prefix(t->w, &t->flat.structure, k);
    return t->w->error.code;
}

static pith_status place_leaves(pithp_shard_tree *t) {
    for (int64_t k = 0; k < t->flat.structure.item_count; k++) {
        const pith_array *a = t->flat.items[k];
        pithp_array_check(t->w, a, "pith_shard_local", "leaf");
        if (pithp_shard_tree_place(t, k, a) != PITH_OK)
            return t->w->error.code;
        t->flat.structure.specs[k] = pithp_array_spec(t->items[k]);
    }
    return PITH_OK;
}

const void *
pith_shard_local(pith_scope *s, const void *local, const pith_shard_spec *specs) {
    static const char function[] = "pith_shard_local";
    PITHP_IN_FLIGHT(s, function);
    pithp_shard_tree t = {0};
    uint64_t digest = 0;
    const void *result = NULL;
    pithp_enter_untraced(s, function);
    if (!pithp_scope_writable(s) || s->room[PITHP_ROOM_TRACE])
        return pithp_nil_for(local);
    pith_scope *w = pithp_temporaries_open(s);
    if (w && pithp_tree_check(w, local, function, "local") == PITH_OK &&
        pithp_shard_tree_read(w, &t, local, specs, false) == PITH_OK) {
        digest = pithp_shard_tree_digest(&t);
        if (pithp_shard_tree_link(&t) == PITH_OK && place_leaves(&t) == PITH_OK)
            result = pithp_shard_tree_build(w, &t, true);
    }
    t.w = w;
    return pithp_shard_tree_agree(s, &t, function, digest, result, local);
}

const void *pithp_shard_tree_agree(pith_scope *s,
                                   pithp_shard_tree *t,
                                   const char *function,
                                   uint64_t digest,
                                   const void *result,
                                   const void *given) {
    pith_scope *w = t->w;
    const pithp_intent intent = {.operation = function, .extra = digest};
    const bool agreed = pithp_collective_begin(w ? w : s, &intent);
    if (agreed)
        pithp_collective_end(w ? w : s);
    pithp_shard_tree_end(t);
    if (agreed && result)
        pithp_keep_slots(s, 1, &result);
    if (w)
        pith_scope_close(w);
    return s->error.code == PITH_OK ? result : pithp_nil_for(given);
}

/* ---- To local trees ---- */

const void *pith_unshard_local(pith_scope *s, const void *tree) {
    static const char function[] = "pith_unshard_local";
    PITHP_IN_FLIGHT(s, function);
    pithp_shard_tree t = {0};
    if (!pithp_enter_as(s, function) ||
        pithp_tree_check(s, tree, function, "tree") != PITH_OK)
        return pithp_nil_for(tree);
    const void *result = NULL;
    pith_scope *w = pithp_temporaries_open(s);
    if (w && pithp_shard_tree_read(w, &t, tree, NULL, true) == PITH_OK) {
        pithp_structure *flat = &t.flat.structure;
        for (int64_t k = 0; k < flat->item_count && w->error.code == PITH_OK; k++) {
            const pith_spec *plain = pithp_spec_plain(w, flat->specs[k]);
            if (plain && pithp_leaf_check(w, t.items[k], function, "leaf") == PITH_OK)
                t.items[k] = pithp_array_place(w, t.items[k], plain);
            flat->specs[k] = plain;
        }
        if (w->error.code == PITH_OK)
            result = pithp_shard_tree_build(s, &t, true);
    }
    pithp_shard_tree_end(&t);
    if (w)
        pith_scope_close(w);
    return s->error.code == PITH_OK ? result : pithp_nil_for(tree);
}
