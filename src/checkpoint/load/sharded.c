/* Loading a checkpoint of many ranks on the ranks of a mesh, of any number: each reads
 * its slices, and all of them agree on the outcome. */
#include "checkpoint/load/slice.h"

/* ---- Leaves of the file ---- */

/* The shard of this rank of a parted leaf. NULL: the error is set. */
static const pith_array *load_shard(pith_scope *w,
                                    const pith_checkpoint *c,
                                    const pithp_doc_leaf *leaf,
                                    const pithp_field *field) {
    pithp_slice cut = {.same = true};
    pithp_parted x;
    if (pithp_parted_find(w, c, leaf, &x) != PITH_OK)
        return NULL;
    for (int d = 0; d < (leaf->shape.rank ? leaf->shape.rank : 1); d++)
        if (pithp_slice_axis(w, &x, d, &cut) != PITH_OK)
            return NULL;
    if (!cut.same)
        return pithp_slice_read(w, c, leaf, &cut, field);
    int64_t row;
    const pith_checkpoint *part = pithp_parted_piece(w, c, &x, cut.own, &row);
    return part ? pithp_leaf_load(w, part, row) : NULL;
}

const pith_array *pithp_load_count(pith_scope *w, const pithp_doc_leaf *leaf) {
    const pithp_mesh_group *g = pithp_mesh_group_of(w, leaf->shard);
    if (!g)
        return NULL;
    const int64_t all = pithp_sum_before(leaf->counts, leaf->counts_count);
    return pith_i64(w, g->size == leaf->counts_count
                           ? leaf->counts[g->rank]
                           : pithp_shard_part_of(all, g->size, g->rank).count);
}

static pith_status place_leaf(pithp_shard_tree *t,
                              const pith_checkpoint *c,
                              const pithp_doc_leaf *row,
                              int64_t k) {
    pithp_shard_leaf *leaf = &t->leaves[k];
    pithp_shard_text_read(row->shard, leaf->axes);
    leaf->rows = row->rows;
    const pith_array *a =
        row->counts ? pithp_load_count(t->w, row) : load_shard(t->w, c, row, leaf->field);
    const pith_spec *spec =
        a ? pithp_shard_spec_of(t->w, pithp_array_spec(a), leaf->axes, leaf->rows) : NULL;
    t->items[k] = spec ? pithp_array_place(t->w, a, spec) : NULL;
    if (!t->items[k] && !t->w->error.path[0])
        pithp_item_prefix(t->w, &t->flat.structure, k);
    return t->w->error.code;
}

/* ---- The tree ---- */

/* The number of a leaf in the tree, or -1. Leaves are nearly in the order of the file. */
static int64_t find_item(const pithp_shard_tree *t, const pith_array *a, int64_t from) {
    const int64_t count = t->flat.structure.item_count;
    for (int64_t i = 0; i < count; i++)
        if (t->flat.items[(from + i) % count] == a)
            return (from + i) % count;
    return -1;
}

static pith_status place_all(pithp_shard_tree *t,
                             const pith_checkpoint *c,
                             const pith_array *const *arrays) {
    const pithp_document *d = &c->document;
    pith_status rc = PITH_OK;
    for (int64_t i = 0, at = 0; rc == PITH_OK && i < d->leaves.count; i++) {
        const bool read = d->leaves.rows[i].shard && arrays[i];
        const int64_t k = read ? find_item(t, arrays[i], at) : -1;
        if (k >= 0)
            rc = place_leaf(t, c, &d->leaves.rows[i], at = k);
    }
    return rc == PITH_OK ? pithp_load_given(t, d) : rc;
}

const void *pithp_load_shards(pith_scope *s,
                              const pith_checkpoint *c,
                              const pith_array *const *arrays,
                              const void *root) {
    pithp_shard_tree t = {0};
    const void *made = NULL;
    pith_scope *w = pithp_temporaries_open(s);
    if (!w)
        return NULL;
    w->caller = "pith_load"; /* other functions were called on s meanwhile */
    pith_status rc = pithp_shard_tree_read(w, &t, root, NULL, false);
    if (rc == PITH_OK)
        rc = place_all(&t, c, arrays);
    if (rc == PITH_OK)
        made = pithp_shard_tree_build(s, &t, true);
    pithp_shard_tree_end(&t);
    pith_scope_close(w);
    return made;
}

/* How severe the outcome of a rank is: the greatest of all ranks decides. */
enum { LOADED, DAMAGE, OTHER_FAILURE };

static int64_t severity_of(pith_status code) {
    return code == PITH_OK ? LOADED : pithp_is_damage(code) ? DAMAGE : OTHER_FAILURE;
}

bool pithp_load_agree(pith_scope *s, pith_scope *agreed, const pith_checkpoint *c) {
    const pithp_intent intent = {.operation = "pith_load",
                                 .extra = c->document.checksum.low};
    pith_scope *in = pithp_scope_writable(agreed) ? agreed : s;
    in->function = s->function;
    int64_t severity = severity_of(s->error.code);
    pithp_mesh_group *all = pithp_mesh_group_of(in, NULL);
    if (!pithp_collective_begin(in, &intent))
        return false;
    pithp_mesh_group_reduce(in, all, PITHP_COMBINE_MAX, PITH_I64, &severity, 1);
    pithp_collective_end(in);
    if (severity != LOADED && pithp_collective_begin(s, &intent)) /* tells the others */
        pithp_collective_end(s);
    return severity == DAMAGE;
}
