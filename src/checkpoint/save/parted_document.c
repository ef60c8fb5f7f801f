/* The document of a sharded tree: the structure of the whole tree, with replicated leaves
 * and no elements of sharded ones, and where their shards are. */
#include "checkpoint/save/parted.h"

#include <stdio.h>
#include <string.h>

/* Rows in use of the shards of leaf k along its first axes, by their number there, in
 * `room` for as many as there are ranks. Returns how many, or 0: the error is set. */
static int64_t counts_of(pithp_parted_call *v, int64_t k, int64_t *room) {
    const pithp_mesh_group *g = pithp_mesh_group_of(v->w, v->t.leaves[k].axes);
    for (int64_t r = 0; g && r < v->ranks; r++) {
        const int64_t number = pithp_mesh_group_find(g, r);
        if (number >= 0)
            room[number] = v->everyone[r].counts[v->counter_number[k]];
    }
    return g ? g->size : 0;
}

static int64_t *counts_room(pithp_parted_call *v) {
    return pithp_scope_allocate(v->w, (size_t)v->ranks * sizeof(int64_t));
}

/* The rows in use of all shards of leaf k, which leaf `counter` counts. -1: the error is
 * set. */
static int64_t sum_counts(pithp_parted_call *v, int64_t counter, int64_t k) {
    const pith_spec *spec = v->t.flat.structure.specs[k];
    int64_t *counts = counts_room(v), sum = 0;
    const int64_t n = counts ? counts_of(v, counter, counts) : 0;
    for (int64_t i = 0; i < n; i++) {
        if (k != counter && (counts[i] < 0 || counts[i] > spec->shape[0])) {
            pithp_item_fail(v->w, &v->t.flat.structure, k, PITH_E_INDEX,
                            "%lld rows in use, expected 0 to %lld", (long long)counts[i],
                            (long long)spec->shape[0]);
            return -1;
        }
        sum += counts[i];
    }
    return n ? sum : -1;
}

/* The spec of the whole of leaf k. */
static const pith_spec *whole_spec(pithp_parted_call *v, int64_t k) {
    const pith_spec *spec = v->t.flat.structure.specs[k];
    const pith_placement *p = pithp_placement_of(spec);
    int64_t shape[PITH_MAX_RANK];
    if (!p)
        return spec;
    for (int d = 0; d < spec->rank; d++)
        shape[d] = spec->shape[d] * p->shards[d];
    if (v->t.leaves[k].counter >= 0)
        shape[0] = sum_counts(v, v->t.leaves[k].counter, k);
    return v->w->error.code == PITH_OK ? pithp_spec(v->w, spec->dtype, spec->rank, shape)
                                       : NULL;
}

const void *pithp_parted_whole(pithp_parted_call *v) {
    for (int64_t k = 0; k < v->t.flat.structure.item_count; k++) {
        const pith_array *a = v->t.flat.items[k];
        if (v->t.leaves[k].counts) {
            v->t.items[k] = pith_i64(v->w, sum_counts(v, k, k));
        } else if (pithp_array_is_sharded(a)) {
            const pith_spec *spec = whole_spec(v, k);
            v->t.items[k] =
                spec ? pithp_array_view(v->w, spec, pithp_array_buffer(a), a->data)
                     : NULL;
        }
        if (v->w->error.code != PITH_OK)
            return NULL;
    }
    return pithp_shard_tree_build(v->w, &v->t, true);
}

/* ---- Rows ---- */

static pith_status add_axes(pithp_parted_call *v, pithp_document *d) {
    for (const char *name = v->all->axes; *name;) {
        const size_t n = strcspn(name, ",");
        pithp_doc_axis *axis = pithp_document_add(d, axes);
        if (!axis || !(axis->name = pithp_document_text(d, name, n)))
            return pithp_fail_memory(v->w, sizeof *axis);
        axis->size = pith_axis_size(v->w, axis->name);
        name += n + (name[n] == ',');
    }
    return PITH_OK;
}

static pith_status
add_shard(pithp_parted_call *v, pithp_document *d, int64_t k, pithp_doc_leaf *row) {
    const pithp_shard_leaf *leaf = &v->t.leaves[k];
    const pith_spec *spec = v->t.flat.structure.specs[k];
    const size_t bytes = (size_t)v->ranks * sizeof *row->counts;
    row->shard = pithp_document_text(d, leaf->axes, strlen(leaf->axes));
    row->rows =
        leaf->rows ? pithp_document_text(d, leaf->rows, strlen(leaf->rows)) : NULL;
    row->counter = leaf->counter;
    row->part.rank = spec->rank;
    memcpy(row->part.extents, spec->shape, (size_t)spec->rank * sizeof *spec->shape);
    if (leaf->counts && (row->counts = pithp_document_allocate(d, bytes)))
        row->counts_count = counts_of(v, k, row->counts);
    return row->shard && (row->rows || !leaf->rows) && (row->counts || !leaf->counts)
               ? v->w->error.code
               : pithp_fail_memory(v->w, bytes);
}

/* The captured leaves are those of the tree, in its order. */
pith_status pithp_parted_describe(pithp_parted_call *v, pithp_document *d) {
    d->format = PITHP_PARTED_FORMAT;
    pith_status rc = add_axes(v, d);
    for (int64_t k = 0; rc == PITH_OK && k < d->leaves.count; k++)
        if (v->t.leaves[k].axes[0])
            rc = add_shard(v, d, k, &d->leaves.rows[k]);
    return rc;
}
