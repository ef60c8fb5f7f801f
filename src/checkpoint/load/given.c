/* Leaves that are in memory when a checkpoint of many ranks is loaded: of
 * options.initial, or made by upgrade hooks. They are whole; each rank cuts its shards as
 * their fields declare them. */
#include "checkpoint/load/slice.h"

#include <inttypes.h>
#include <string.h>

/* The row of the file's leaf that counts the rows of leaf k, which is in the same record;
 * -1: there is none. */
static int64_t find_counter(const pithp_shard_tree *t,
                            const pithp_document *d,
                            const pith_array *const *arrays,
                            int64_t k) {
    const pithp_shard_leaf *leaf = &t->leaves[k];
    for (int64_t q = 0; leaf->rows && q < t->flat.structure.item_count; q++)
        if (t->leaves[q].record == leaf->record && t->leaves[q].field &&
            strcmp(t->leaves[q].field->declared.name, leaf->rows) == 0)
            for (int64_t i = 0; i < d->leaves.count; i++)
                if (d->leaves.rows[i].counts && arrays[i] == t->flat.items[q])
                    return i;
    return -1;
}

/* Rows of the shards of a leaf, fill included, as others with its counter have. */
static int64_t rows_of_shards(const pithp_document *d, int64_t counter) {
    const pithp_doc_leaf *row = &d->leaves.rows[counter];
    for (int64_t i = 0; i < d->leaves.count; i++)
        if (d->leaves.rows[i].rows && d->leaves.rows[i].counter == counter)
            return d->leaves.rows[i].part.extents[0];
    return (pithp_sum_before(row->counts, row->counts_count) + row->counts_count - 1) /
           row->counts_count;
}

/* Cut a whole leaf as its field declares it: its rows lie with those that the file's
 * counter counts. */
static pith_status place_given(pithp_shard_tree *t,
                               const pithp_document *d,
                               const pith_array *const *arrays,
                               int64_t k) {
    const pithp_shard_leaf *leaf = &t->leaves[k];
    const pith_spec *whole = t->flat.structure.specs[k];
    const int64_t counter = find_counter(t, d, arrays, k);
    pithp_doc_leaf made = {
        .shard = leaf->axes, .rows = leaf->rows, .shape = {.rank = whole->rank}};
    pithp_parted x = {.leaf = &made};
    pithp_slice cut = {.same = true};
    memcpy(made.shape.extents, whole->shape, sizeof made.shape.extents);
    for (int i = 0; i < PITH_MAX_RANK; i++)
        x.pieces[i] = 1;
    if (counter >= 0 && whole->rank) {
        x.counts = d->leaves.rows[counter].counts;
        x.pieces[0] = d->leaves.rows[counter].counts_count;
        made.part.extents[0] = rows_of_shards(d, counter);
        if (pithp_sum_before(x.counts, x.pieces[0]) != whole->shape[0])
            return pithp_item_fail(
                t->w, &t->flat.structure, k, PITH_E_SHAPE,
                "%" PRId64 " rows, expected the %" PRId64 " that '%s' counts in the file",
                whole->shape[0], pithp_sum_before(x.counts, x.pieces[0]), leaf->rows);
    }
    for (int i = 0; i < (whole->rank ? whole->rank : 1); i++)
        if (pithp_slice_axis(t->w, &x, i, &cut) != PITH_OK)
            break;
    const double fill = leaf->field->declared.options.fill;
    const pith_array *a = t->w->error.code == PITH_OK
                              ? pithp_slice_cut(t->w, t->flat.items[k], &cut, fill)
                              : NULL;
    if (!a)
        pithp_item_prefix(t->w, &t->flat.structure, k);
    return a ? pithp_shard_tree_place(t, k, a) : t->w->error.code;
}

/* Whether leaf k of the tree is in memory. -1: the error is set. */
static int is_given(const pithp_shard_tree *t, const pithp_document *d, int64_t k) {
    pithp_string path;
    pithp_string_begin(&path, t->w->runtime);
    pithp_structure_path(t->w->runtime, &t->flat.structure, k, &path);
    const bool failed = path.failed;
    const int64_t node = failed ? -2 : pithp_document_find(d, path.bytes);
    pithp_string_end(&path);
    if (failed || node == -2)
        pithp_fail_memory(t->w, PITHP_PATH_BYTES);
    const int64_t leaf = node < 0 ? -1 : d->nodes.rows[node].leaf;
    return t->w->error.code != PITH_OK ? -1
                                       : leaf >= 0 && d->leaves.rows[leaf].given != NULL;
}

pith_status pithp_load_given(pithp_shard_tree *t,
                             const pithp_document *d,
                             const pith_array *const *arrays) {
    bool any = false;
    for (int64_t i = 0; i < d->leaves.count; i++)
        any |= d->leaves.rows[i].given != NULL;
    for (int64_t k = 0; any && k < t->flat.structure.item_count; k++) {
        if (!t->leaves[k].axes[0] || !t->leaves[k].field ||
            pithp_array_is_sharded(t->items[k]))
            continue;
        const int given = is_given(t, d, k);
        if (given < 0 || (given && place_given(t, d, arrays, k) != PITH_OK))
            break;
    }
    return t->w->error.code;
}
