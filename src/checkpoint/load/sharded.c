/* Loading a checkpoint of many ranks on the ranks of a mesh, of any number: each reads
 * its slices. Rows that are counted are divided evenly, unless as many ranks read them as
 * wrote them: then each gets the shard that it had. */
#include "checkpoint/load/load.h"
#include "tree/shard/shard.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What this rank reads of a leaf, by axis, in the rows in use of the whole. */
typedef struct slice {
    int64_t begin[PITH_MAX_RANK], count[PITH_MAX_RANK];
    int64_t extent[PITH_MAX_RANK]; /* of the shard, fill included */
    int64_t own[PITH_MAX_RANK];    /* this rank's number along the axis */
    bool same;                     /* as many ranks along each axis as wrote it */
} slice;

/* ---- Slices ---- */

static int64_t sum_before(const int64_t *counts, int64_t n) {
    int64_t sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += counts[i];
    return sum;
}

static pith_status slice_axis(pith_scope *w, const pithp_parted *x, int d, slice *cut) {
    const pithp_doc_leaf *leaf = x->leaf;
    const int64_t whole = leaf->shape.rank ? leaf->shape.extents[d] : 1,
                  part = leaf->shape.rank ? leaf->part.extents[d] : 1;
    char normal[PITHP_SHARD_TEXT], list[PITHP_SHARD_TEXT];
    int64_t ranks = 1;
    pithp_shard_text_read(leaf->shard, normal);
    pithp_shard_text_list(normal, d, list);
    if (list[0]) {
        const pithp_mesh_group *g = pithp_mesh_group_of(w, list);
        if (!g)
            return w->error.code;
        ranks = g->size;
        cut->own[d] = g->rank;
    }
    const int64_t own = cut->own[d];
    const bool counted = d == 0 && x->counts;
    cut->same &= ranks == x->pieces[d];
    if (counted && ranks == x->pieces[0]) {
        cut->begin[0] = sum_before(x->counts, own);
        cut->count[0] = x->counts[own];
        cut->extent[0] = part;
    } else if (counted) {
        const pithp_shard_part rows = pithp_shard_part_of(whole, ranks, own);
        cut->begin[0] = rows.begin;
        cut->count[0] = rows.count;
        cut->extent[0] = x->pieces[0] * part / ranks + (x->pieces[0] * part % ranks != 0);
    } else if (leaf->shape.rank && whole % ranks) {
        return pithp_fail(w, PITH_E_SHAPE, NULL,
                          "axis %d has %" PRId64 " elements, expected a multiple of the "
                          "%" PRId64 " ranks along %s, or rows that are counted",
                          d, whole, ranks, list);
    } else {
        cut->extent[d] = cut->count[d] = leaf->shape.rank ? whole / ranks : 1;
        cut->begin[d] = own * cut->count[d];
    }
    return PITH_OK;
}

/* ---- Elements ---- */

static void put_fill(char *to, size_t bytes, pith_dtype dtype, const pithp_field *field) {
    const size_t size = pith_dtype_size(dtype);
    uint64_t fill = 0;
    if (field)
        pithp_dtype_encode(dtype, field->declared.options.fill, &fill);
    for (size_t at = 0; at < bytes; at += size)
        memcpy(to + at, &fill, size);
}

/* Read a slice into a shard of memory: runs along the last axis that is cut. */
static pith_status read_runs(pith_scope *w,
                             const pith_checkpoint *c,
                             const pithp_doc_leaf *leaf,
                             const slice *cut,
                             char *to) {
    const int rank = leaf->shape.rank;
    const int64_t *whole = leaf->shape.extents;
    int last = 0; /* runs go over the axes from here on */
    for (int d = 1; d < rank; d++)
        if (cut->count[d] != whole[d])
            last = d;
    int64_t runs = 1, run = 1;
    for (int d = 0; d < rank; d++)
        *(d < last ? &runs : &run) *= cut->count[d];
    const size_t size = pith_dtype_size(leaf->dtype);
    for (int64_t i = 0; run && i < runs; i++) {
        int64_t at[PITH_MAX_RANK] = {0}, from = 0, into = 0, rest = i;
        for (int d = last; d-- > 0; rest /= cut->count[d])
            at[d] = rest % cut->count[d];
        for (int d = 0; d < rank; d++) {
            from = from * whole[d] + cut->begin[d] + at[d];
            into = into * cut->extent[d] + at[d];
        }
        if (pithp_parted_read(w, c, leaf, (size_t)from * size, to + (size_t)into * size,
                              (size_t)run * size) != PITH_OK)
            return w->error.code;
    }
    return PITH_OK;
}

/* Fill a shard through memory of the host. */
static pith_status read_staged(pith_scope *w,
                               const pith_checkpoint *c,
                               const pithp_doc_leaf *leaf,
                               const slice *cut,
                               const pithp_field *field,
                               const pith_array *shard) {
    const size_t bytes = pithp_array_spec(shard)->bytes;
    char *memory = pithp_allocate(w->runtime, bytes + 1);
    if (!memory)
        return pithp_fail_memory(w, bytes);
    put_fill(memory, bytes, leaf->dtype, field);
    pith_status rc = read_runs(w, c, leaf, cut, memory);
    if (rc == PITH_OK)
        rc = pithp_copy_in(w, shard->data, memory, bytes);
    pithp_release(w->runtime, memory, bytes + 1);
    return rc;
}

static const pith_array *read_slice(pith_scope *w,
                                    const pith_checkpoint *c,
                                    const pithp_doc_leaf *leaf,
                                    const slice *cut,
                                    const pithp_field *field) {
    const pith_array *shard = NULL;
    if (pithp_parted_check(w, c, leaf, false) != PITH_OK)
        return NULL;
    const pith_spec *spec = pithp_spec(w, leaf->dtype, leaf->shape.rank, cut->extent);
    if (!spec || pithp_arrays_make(w, 1, &spec, &shard) != PITH_OK ||
        pithp_synchronise(w) != PITH_OK) /* earlier work may still use the memory */
        return NULL;
    if (!pithp_scope_device(w)->backend->addressable)
        return read_staged(w, c, leaf, cut, field, shard) == PITH_OK ? shard : NULL;
    put_fill(shard->data, spec->bytes, leaf->dtype, field);
    return read_runs(w, c, leaf, cut, shard->data) == PITH_OK ? shard : NULL;
}

/* The shard of this rank of a parted leaf. NULL: the error is set. */
static const pith_array *load_shard(pith_scope *w,
                                    const pith_checkpoint *c,
                                    const pithp_doc_leaf *leaf,
                                    const pithp_field *field) {
    slice cut = {.same = true};
    pithp_parted x;
    if (pithp_parted_find(w, c, leaf, &x) != PITH_OK)
        return NULL;
    for (int d = 0; d < (leaf->shape.rank ? leaf->shape.rank : 1); d++)
        if (slice_axis(w, &x, d, &cut) != PITH_OK)
            return NULL;
    if (!cut.same)
        return read_slice(w, c, leaf, &cut, field);
    int64_t row;
    const pith_checkpoint *part = pithp_parted_piece(w, c, &x, cut.own, &row);
    return part ? pithp_leaf_load(w, part, row) : NULL;
}

/* The rows in use here. */
static const pith_array *load_count(pith_scope *w, const pithp_doc_leaf *leaf) {
    const pithp_mesh_group *g = pithp_mesh_group_of(w, leaf->shard);
    if (!g)
        return NULL;
    const int64_t all = sum_before(leaf->counts, leaf->counts_count);
    return pith_i64(w, g->size == leaf->counts_count
                           ? leaf->counts[g->rank]
                           : pithp_shard_part_of(all, g->size, g->rank).count);
}

/* ---- Leaves of the file ---- */

static pith_status place_leaf(pithp_shard_tree *t,
                              const pith_checkpoint *c,
                              const pithp_doc_leaf *row,
                              int64_t k) {
    pithp_shard_leaf *leaf = &t->leaves[k];
    pithp_shard_text_read(row->shard, leaf->axes);
    leaf->rows = row->rows;
    const pith_array *a =
        row->counts ? load_count(t->w, row) : load_shard(t->w, c, row, leaf->field);
    const pith_spec *spec =
        a ? pithp_shard_spec_of(t->w, pithp_array_spec(a), leaf->axes, leaf->rows) : NULL;
    t->items[k] = spec ? pithp_array_place(t->w, a, spec) : NULL;
    if (!t->items[k] && !t->w->error.path[0])
        pithp_item_prefix(t->w, &t->flat.structure, k);
    return t->w->error.code;
}

/* ---- Leaves in memory: of options.initial, or made by upgrade hooks ---- */

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
    return (sum_before(row->counts, row->counts_count) + row->counts_count - 1) /
           row->counts_count;
}

static const pith_array *
cut_array(pith_scope *w, const pith_array *a, const slice *cut, double fill) {
    const int rank = pithp_array_spec(a)->rank;
    pith_slice slices[PITH_MAX_RANK];
    pith_padding padding[PITH_MAX_RANK] = {{.low = 0}};
    for (int d = 0; d < rank; d++) {
        slices[d] = PITH_SLICE(cut->begin[d], cut->begin[d] + cut->count[d], 1);
        padding[d].high = cut->extent[d] - cut->count[d];
    }
    const pith_array *some = rank ? pith_slice_array(w, a, rank, slices) : a;
    return some ? pith_pad(w, some, pith_like(w, a, fill), rank, padding) : NULL;
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
    slice cut = {.same = true};
    memcpy(made.shape.extents, whole->shape, sizeof made.shape.extents);
    for (int i = 0; i < PITH_MAX_RANK; i++)
        x.pieces[i] = 1;
    if (counter >= 0 && whole->rank) {
        x.counts = d->leaves.rows[counter].counts;
        x.pieces[0] = d->leaves.rows[counter].counts_count;
        made.part.extents[0] = rows_of_shards(d, counter);
        if (sum_before(x.counts, x.pieces[0]) != whole->shape[0])
            return pithp_item_fail(
                t->w, &t->flat.structure, k, PITH_E_SHAPE,
                "%" PRId64 " rows, expected the %" PRId64 " that '%s' counts in the file",
                whole->shape[0], sum_before(x.counts, x.pieces[0]), leaf->rows);
    }
    for (int i = 0; i < (whole->rank ? whole->rank : 1); i++)
        if (slice_axis(t->w, &x, i, &cut) != PITH_OK)
            break;
    const double fill = leaf->field->declared.options.fill;
    const pith_array *a = t->w->error.code == PITH_OK
                              ? cut_array(t->w, t->flat.items[k], &cut, fill)
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

static pith_status place_all_given(pithp_shard_tree *t,
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
    return rc == PITH_OK ? place_all_given(t, d, arrays) : rc;
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
