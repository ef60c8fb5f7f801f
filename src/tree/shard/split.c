/* pith_shard: each rank slices its shard from a tree that all ranks have. */
#include "base/in_flight.h"
#include "tree/shard/shard.h"

#include <inttypes.h>
#include <string.h>

/* ---- Leaves ---- */

/* The rows of the whole in use that leaf k has; -1: error set. */
static int64_t used_rows(pithp_shard_tree *t, int64_t k) {
    const int64_t counter = t->leaves[k].counter,
                  rows = pithp_array_spec(t->flat.items[k])->shape[0],
                  used = pith_read_i64(t->w, t->flat.items[counter]);
    if (t->w->error.code != PITH_OK)
        return -1;
    if (used >= 0 && used <= rows)
        return used;
    pithp_fail(t->w, PITH_E_INDEX, NULL,
               "%" PRId64 " rows in use (%s), expected 0 to %" PRId64, used,
               t->leaves[k].rows, rows);
    return -1;
}

/* The slice of one axis, and what is added to make its shard as long as the others. */
static pith_status slice_axis(pithp_shard_tree *t,
                              int64_t k,
                              int axis,
                              pith_slice *slice,
                              pith_padding *fill) {
    const int64_t extent = pithp_array_spec(t->flat.items[k])->shape[axis];
    char list[PITHP_SHARD_TEXT];
    pithp_shard_text_list(t->leaves[k].axes, axis, list);
    *slice = PITH_SLICE(0, extent, 1);
    if (!list[0])
        return PITH_OK;
    const pithp_mesh_group *g = pithp_mesh_group_of(t->w, list);
    if (!g)
        return t->w->error.code;
    const bool counted = axis == 0 && t->leaves[k].counter >= 0;
    if (!counted && extent % g->size)
        return pithp_fail(t->w, PITH_E_SHAPE, NULL,
                          "pith_shard: axis %d has %" PRId64
                          " elements, expected a multiple of the "
                          "%" PRId64 " ranks along %s, or rows that are counted",
                          axis, extent, g->size, list);
    const int64_t used = counted ? used_rows(t, k) : extent;
    if (used < 0)
        return t->w->error.code;
    const pithp_shard_part own = pithp_shard_part_of(used, g->size, g->rank);
    *slice = PITH_SLICE(own.begin, own.begin + own.count, 1);
    fill->high = (extent + g->size - 1) / g->size - own.count;
    return PITH_OK;
}

/* The fill of a leaf; NULL: zero, or the error is set. */
static const pith_array *fill_of(pithp_shard_tree *t, int64_t k) {
    const pithp_field *f = t->leaves[k].field;
    const double fill = f ? f->declared.options.fill : 0;
    return fill < 0 || fill > 0 || fill != fill ? pith_like(t->w, t->flat.items[k], fill)
                                                : NULL;
}

static const pith_array *shard_of(pithp_shard_tree *t, int64_t k) {
    const pith_array *a = t->flat.items[k];
    const int rank = pithp_array_spec(a)->rank;
    pith_slice slices[PITH_MAX_RANK];
    pith_padding fill[PITH_MAX_RANK] = {{0, 0, 0}};
    for (int d = 0; d < rank; d++)
        if (slice_axis(t, k, d, &slices[d], &fill[d]) != PITH_OK)
            return NULL;
    if (!t->leaves[k].axes[0] || !rank)
        return a;
    a = pith_slice_array(t->w, a, rank, slices);
    return fill[0].high ? pith_pad(t->w, a, fill_of(t, k), rank, fill) : a;
}

/* This rank's part of a count of rows. */
static const pith_array *count_of(pithp_shard_tree *t, int64_t k) {
    const pithp_mesh_group *g = pithp_mesh_group_of(t->w, t->leaves[k].axes);
    const int64_t used = pith_read_i64(t->w, t->flat.items[k]);
    return g ? pith_i64(t->w, pithp_shard_part_of(used, g->size, g->rank).count) : NULL;
}

static pith_status split_leaves(pithp_shard_tree *t) {
    for (int64_t k = 0; k < t->flat.structure.item_count; k++) {
        const pith_array *shard = t->leaves[k].counts ? count_of(t, k) : shard_of(t, k);
        if (pithp_shard_tree_place(t, k, shard) != PITH_OK)
            return t->w->error.code;
    }
    return PITH_OK;
}

/* ---- Content ---- */

/* The digest of all elements, which are equal on all ranks. */
static uint64_t add_content(pithp_shard_tree *t, uint64_t h) {
    pith_scope *w = t->w;
    for (int64_t k = 0; k < t->flat.structure.item_count && w->error.code == PITH_OK;
         k++) {
        const pith_array *a = t->flat.items[k];
        if (pithp_array_check(w, a, "pith_shard", "leaf") != PITH_OK) {
            pithp_item_prefix(w, &t->flat.structure, k);
            return h;
        }
        h = pithp_shard_hash(w, h, a);
    }
    return h;
}

const void *pith_shard(pith_scope *s, const void *whole, const pith_shard_spec *specs) {
    static const char function[] = "pith_shard";
    PITHP_IN_FLIGHT(s, function);
    pithp_shard_tree t = {0};
    uint64_t digest = 0;
    const void *result = NULL;
    pithp_enter_untraced(s, function);
    if (!pithp_scope_writable(s) || s->room[PITHP_ROOM_TRACE])
        return pithp_nil_for(whole);
    pith_scope *w = pithp_temporaries_open(s);
    if (w && pithp_tree_check(w, whole, function, "whole") == PITH_OK &&
        pithp_shard_tree_read(w, &t, whole, specs, false) == PITH_OK) {
        digest = add_content(&t, pithp_shard_tree_digest(&t));
        if (w->error.code == PITH_OK && pithp_shard_tree_link(&t) == PITH_OK &&
            split_leaves(&t) == PITH_OK)
            result = pithp_shard_tree_build(w, &t, true);
    }
    t.w = w;
    return pithp_shard_tree_agree(s, &t, function, digest, result, whole);
}
