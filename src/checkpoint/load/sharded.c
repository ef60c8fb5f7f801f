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

/* ---- The tree ---- */

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
    const pithp_document *d = &c->document;
    for (int64_t i = 0; rc == PITH_OK && i < d->leaves.count; i++) {
        if (!d->leaves.rows[i].shard || !arrays[i])
            continue;
        for (int64_t k = 0; rc == PITH_OK && k < t.flat.structure.item_count; k++)
            if (t.flat.items[k] == arrays[i])
                rc = place_leaf(&t, c, &d->leaves.rows[i], k);
    }
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
