/* Leaves that are in memory when a checkpoint of many ranks is loaded: of
 * options.initial, or made by upgrade hooks. They are whole; each rank cuts its shards as
 * their fields declare them. */
#include "checkpoint/load/slice.h"

#include <inttypes.h>
#include <string.h>

/* The row of leaf k of the tree, by its path. NULL: it has none, or the error is set. */
static const pithp_doc_leaf *
row_of(const pithp_shard_tree *t, const pithp_document *d, int64_t k) {
    pithp_string path;
    pithp_string_begin(&path, t->w->runtime);
    pithp_structure_path(t->w->runtime, &t->flat.structure, k, &path);
    const int64_t node = path.failed ? -2 : pithp_document_find(d, path.bytes);
    pithp_string_end(&path);
    if (node == -2)
        pithp_fail_memory(t->w, PITHP_PATH_BYTES);
    const int64_t leaf = node < 0 ? -1 : d->nodes.rows[node].leaf;
    return leaf < 0 ? NULL : &d->leaves.rows[leaf];
}

/* The leaf that counts the rows of leaf k, which is in the same record. NULL: none in the
 * file does, or the error is set. */
static const pithp_doc_leaf *
find_counter(const pithp_shard_tree *t, const pithp_document *d, int64_t k) {
    const pithp_shard_leaf *leaf = &t->leaves[k];
    for (int64_t q = 0; q < t->flat.structure.item_count; q++)
        if (t->leaves[q].record == leaf->record && t->leaves[q].field &&
            strcmp(t->leaves[q].field->declared.name, leaf->rows) == 0) {
            const pithp_doc_leaf *row = row_of(t, d, q);
            return row && row->counts ? row : NULL;
        }
    return NULL;
}

/* Rows of the shards of a leaf, fill included, as others with its counter have. */
static int64_t rows_of_shards(const pithp_document *d, const pithp_doc_leaf *counter) {
    for (int64_t i = 0; i < d->leaves.count; i++)
        if (d->leaves.rows[i].rows &&
            &d->leaves.rows[d->leaves.rows[i].counter] == counter)
            return d->leaves.rows[i].part.extents[0];
    return (pithp_sum_before(counter->counts, counter->counts_count) +
            counter->counts_count - 1) /
           counter->counts_count;
}

static pith_status
refuse_rows(pithp_shard_tree *t, int64_t k, int64_t rows, int64_t expected) {
    return pithp_item_fail(t->w, &t->flat.structure, k, PITH_E_SHAPE,
                           "%" PRId64 " rows, expected the %" PRId64
                           " that the file counts",
                           rows, expected);
}

/* The pieces of a leaf whose rows lie with those that the file's counter counts. */
static pith_status
count_pieces(pithp_shard_tree *t, const pithp_document *d, int64_t k, pithp_parted *x) {
    const pithp_doc_leaf *counter = find_counter(t, d, k);
    const int64_t rows = x->leaf->shape.extents[0];
    if (t->w->error.code != PITH_OK)
        return t->w->error.code;
    if (!counter)
        return pithp_item_fail(t->w, &t->flat.structure, k, PITH_E_UNSUPPORTED,
                               "its rows are counted by '%s', but the file has no such "
                               "count of ranks",
                               x->leaf->rows);
    x->counts = counter->counts;
    x->pieces[0] = counter->counts_count;
    const int64_t all = pithp_sum_before(x->counts, x->pieces[0]);
    return rows == all ? PITH_OK : refuse_rows(t, k, rows, all);
}

/* Cut a whole leaf as its field declares it. */
static pith_status place_given(pithp_shard_tree *t, const pithp_document *d, int64_t k) {
    const pithp_shard_leaf *leaf = &t->leaves[k];
    const pith_spec *whole = t->flat.structure.specs[k];
    pithp_doc_leaf made = {
        .shard = leaf->axes, .rows = leaf->rows, .shape = {.rank = whole->rank}};
    pithp_parted x = {.leaf = &made};
    pithp_slice cut = {.same = true};
    memcpy(made.shape.extents, whole->shape, sizeof made.shape.extents);
    for (int i = 0; i < PITH_MAX_RANK; i++)
        x.pieces[i] = 1;
    pith_status rc = PITH_OK;
    if (leaf->rows && whole->rank) {
        rc = count_pieces(t, d, k, &x);
        if (rc == PITH_OK)
            made.part.extents[0] = rows_of_shards(d, find_counter(t, d, k));
    }
    for (int i = 0; rc == PITH_OK && i < (whole->rank ? whole->rank : 1); i++)
        rc = pithp_slice_axis(t->w, &x, i, &cut);
    const double fill = leaf->field->declared.options.fill;
    const pith_array *a =
        rc == PITH_OK ? pithp_slice_cut(t->w, t->flat.items[k], &cut, fill) : NULL;
    if (!a && !t->w->error.path[0])
        pithp_item_prefix(t->w, &t->flat.structure, k);
    return a ? pithp_shard_tree_place(t, k, a) : t->w->error.code;
}

/* A count that a hook has read is still that of the file; another one would not fit the
 * rows of the ranks. */
static pith_status
place_count(pithp_shard_tree *t, const pithp_doc_leaf *row, int64_t k) {
    const int64_t value = pith_read_i64(t->w, t->flat.items[k]),
                  all = pithp_sum_before(row->counts, row->counts_count);
    if (t->w->error.code == PITH_OK && value != all)
        return refuse_rows(t, k, value, all);
    const pith_array *own = pithp_load_count(t->w, row);
    return own ? pithp_shard_tree_place(t, k, own) : t->w->error.code;
}

pith_status pithp_load_given(pithp_shard_tree *t, const pithp_document *d) {
    bool any = false;
    for (int64_t i = 0; i < d->leaves.count; i++)
        any |= d->leaves.rows[i].given != NULL;
    pith_status rc = PITH_OK;
    for (int64_t k = 0; any && rc == PITH_OK && k < t->flat.structure.item_count; k++) {
        if (!t->leaves[k].axes[0] || !t->leaves[k].field ||
            pithp_array_is_sharded(t->items[k]))
            continue;
        const pithp_doc_leaf *row = row_of(t, d, k);
        rc = t->w->error.code;
        if (row && row->given)
            rc = row->counts ? place_count(t, row, k) : place_given(t, d, k);
    }
    return rc;
}
