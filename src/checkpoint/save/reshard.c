/* pith_checkpoint_shard: one process writes a checkpoint as the ranks of a mesh would
 * have, format 3, leaf by leaf. Parts come first, then the document that names them. */
#include "checkpoint/save/reshard.h"

#include <stdlib.h>
#include <string.h>

/* ---- Parts ---- */

static pith_status add_piece(pithp_reshard *x, pithp_document *d, int64_t leaf) {
    const pithp_doc_leaf *from = &x->to.document.leaves.rows[leaf];
    pithp_doc_node *node = pithp_document_add(d, nodes);
    pithp_doc_leaf *row = node ? pithp_document_add(d, leaves) : NULL;
    if (!row)
        return pithp_fail_memory(x->s, sizeof *row);
    *node = (pithp_doc_node){.kind = PITH_NODE_LEAF,
                             .type = -1,
                             .depth = 1,
                             .index = d->leaves.count - 1,
                             .name = from->key,
                             .leaf = d->leaves.count - 1};
    d->nodes.rows[0].child_count++;
    *row = (pithp_doc_leaf){.node = d->nodes.count - 1,
                            .dtype = from->dtype,
                            .shape = from->part,
                            .count = 1};
    for (int i = 0; i < from->part.rank; i++)
        row->count *= from->part.extents[i];
    row->bytes = (size_t)row->count * pith_dtype_size(row->dtype);
    x->leaves[x->leaf_count++] = leaf;
    return PITH_OK;
}

static pith_status
no_arrays(pith_scope *s, pithp_document *d, const pith_array ***arrays) {
    const size_t bytes = ((size_t)d->leaves.count + 1) * sizeof **arrays;
    *arrays = pithp_document_allocate(d, bytes);
    if (!*arrays)
        return pithp_fail_memory(s, bytes);
    memset(*arrays, 0, bytes);
    return PITH_OK;
}

/* A dict of the pieces that the rank writes; its keys are sorted. */
static pith_status capture_part(pith_scope *s,
                                const void *source,
                                pithp_document *d,
                                const pith_array ***arrays) {
    pithp_reshard *x = (pithp_reshard *)(uintptr_t)source;
    int64_t numbers[PITH_MAX_RANK];
    pithp_doc_node *root = pithp_document_add(d, nodes);
    if (!root)
        return pithp_fail_memory(s, sizeof *root);
    *root =
        (pithp_doc_node){.kind = PITH_NODE_DICT, .type = -1, .parent = -1, .leaf = -1};
    x->leaf_count = 0;
    for (int64_t i = 0; i < x->to.document.leaves.count; i++) {
        const int64_t k = x->by_key[i];
        const pithp_doc_leaf *leaf = &x->to.document.leaves.rows[k];
        if (pithp_leaf_is_parted(leaf) &&
            pithp_parted_numbers(&x->to.document, leaf, x->rank, numbers) &&
            add_piece(x, d, k) != PITH_OK)
            return s->error.code;
    }
    return no_arrays(s, d, arrays);
}

static pith_status
write_part(pithp_reshard *x, const char *path, const pith_save_options *o) {
    const pith_save_options options = {.inline_all = o->inline_all,
                                       .inline_bytes = o->inline_bytes,
                                       .compress = o->compress,
                                       .step = x->from->document.step};
    pithp_saving *v = pithp_saving_begin(x->s, capture_part, x, path, &options);
    if (!v)
        return x->s->error.code;
    v->is_part = true;
    pithp_saving_from(v, pithp_reshard_stream, x);
    const pith_status rc = pithp_saving_write(v);
    pithp_saving_end(v);
    return rc;
}

/* Write the parts of all ranks, and note them in the document. */
static pith_status write_parts(pithp_reshard *x,
                               pithp_saving *document,
                               const char *path,
                               const pith_save_options *o) {
    pithp_document *d = &document->d;
    for (x->rank = 0; x->rank < x->ranks; x->rank++) {
        char name[256];
        pithp_doc_part row = {.file = NULL};
        if (!pithp_part_name(document->location.name, x->number, x->rank, x->ranks, name))
            return pithp_fail(x->s, PITH_E_IO, NULL,
                              "cannot write \"%s\": the name is too long", path);
        const char *beside = pithp_part_path(x->s, path, name);
        if (!beside || write_part(x, beside, o) != PITH_OK)
            return x->s->error.code;
        char room[120];
        const int error = pithp_part_find(document->location.folder, name, &row);
        if (error)
            return pithp_fail(x->s, PITH_E_IO, NULL,
                              "cannot write \"%s\": its part \"%s\" cannot be read: %s",
                              path, name, pithp_part_trouble(error, room, sizeof room));
        row.file = pithp_document_text(d, name, strlen(name));
        pithp_doc_part *added = row.file ? pithp_document_add(d, parts) : NULL;
        if (!added)
            return pithp_fail_memory(x->s, sizeof *added);
        *added = row;
    }
    pithp_parts_digest(d);
    pithp_folder_sync(&document->location); /* the names of the parts */
    return PITH_OK;
}

/* ---- The document ---- */

static pith_status capture_whole(pith_scope *s,
                                 const void *source,
                                 pithp_document *d,
                                 const pith_array ***arrays) {
    const pithp_document *from = &((const pithp_reshard *)source)->to.document;
    d->format = from->format;
    d->step = from->step;
    if (!pithp_document_copy(from, d))
        return pithp_fail_memory(s, 0);
    return no_arrays(s, d, arrays);
}

/* Replicated leaves, which are those of the checkpoint. */
static pith_status stream_whole(void *source,
                                pith_scope *s,
                                int64_t leaf,
                                size_t most,
                                pithp_chunk_sink sink,
                                void *closure) {
    return pithp_checkpoint_stream(((const pithp_reshard *)source)->from, s, leaf, most,
                                   sink, closure);
}

static bool is_replicated(const pithp_reshard *x) {
    for (int64_t k = 0; k < x->to.document.leaves.count; k++)
        if (pithp_leaf_is_parted(&x->to.document.leaves.rows[k]))
            return false;
    return true;
}

/* Elements are verified here; pieces of them are not when they are read. */
static pith_status verify(pithp_reshard *x) {
    for (int64_t k = 0; k < x->to.document.leaves.count; k++)
        if (pithp_leaf_is_parted(&x->to.document.leaves.rows[k]) &&
            !pith_checkpoint_verify(x->s, x->from, k))
            return x->s->error.code;
    return PITH_OK;
}

static pith_status
write_all(pithp_reshard *x, const char *path, const pith_save_options *o) {
    pith_status rc = verify(x);
    pithp_saving *v = NULL;
    if (rc == PITH_OK)
        v = pithp_saving_begin(x->s, capture_whole, x, path, o);
    if (!v)
        return x->s->error.code;
    pithp_saving_from(v, stream_whole, x);
    rc = pithp_folder_sweep(x->s, &v->location);
    if (rc == PITH_OK)
        rc = write_parts(x, v, path, o);
    if (rc == PITH_OK)
        rc = pithp_saving_write(v);
    pithp_saving_sweep_parts(v, x->number);
    pithp_saving_end(v);
    return rc;
}

/* ---- The call ---- */

/* The path of a leaf, which is its key in parts. NULL: out of memory. */
static const char *key_of(pithp_document *d, const pithp_doc_leaf *leaf) {
    pithp_string path;
    pithp_string_begin(&path, d->rt);
    pithp_document_path(d, leaf->node, SIZE_MAX / 2, &path);
    const char *key =
        path.failed ? NULL : pithp_document_text(d, path.bytes, path.length);
    pithp_string_end(&path);
    return key;
}

static int compare_keys(const void *a, const void *b, void *document) {
    const pithp_doc_leaf *rows = ((const pithp_document *)document)->leaves.rows;
    return strcmp(rows[*(const int64_t *)a].key, rows[*(const int64_t *)b].key);
}

/* The rows of the document that is made: those of the checkpoint, without shards. */
static pith_status copy_rows(pithp_reshard *x) {
    pithp_document *d = &x->to.document;
    const pithp_document *from = &x->from->document;
    const size_t bytes = ((size_t)from->leaves.count + 1) * sizeof *x->cuts;
    d->format = PITHP_PARTED_FORMAT;
    d->step = from->step;
    x->cuts = pithp_document_allocate(d, bytes);
    x->leaves = pithp_document_allocate(d, bytes);
    x->by_key = pithp_document_allocate(d, bytes);
    if (!x->cuts || !x->leaves || !x->by_key || !pithp_document_copy(from, d))
        return pithp_fail_memory(x->s, bytes);
    d->axes.count = 0;
    for (int64_t k = 0; k < d->leaves.count; k++) {
        const pithp_doc_leaf own = d->leaves.rows[k];
        d->leaves.rows[k] = (pithp_doc_leaf){.node = own.node,
                                             .dtype = own.dtype,
                                             .shape = own.shape,
                                             .count = own.count,
                                             .bytes = own.bytes,
                                             .unit = own.unit,
                                             .key = key_of(d, &own),
                                             .counter = -1};
        if (!d->leaves.rows[k].key)
            return pithp_fail_memory(x->s, 0);
        x->by_key[k] = k;
    }
    if (d->leaves.count)
        qsort_r(x->by_key, (size_t)d->leaves.count, sizeof *x->by_key, compare_keys, d);
    return PITH_OK;
}

static pith_status check(pith_scope *s,
                         const pith_checkpoint *c,
                         const char *path,
                         const pith_save_options *o) {
    static const char function[] = "pith_checkpoint_shard";
    if (!pithp_checkpoint_valid(c))
        return pithp_fail(s, PITH_E_ARG, NULL, "%s: expected an open checkpoint",
                          function);
    if (o->keep || o->background || o->step || o->metadata || o->part_per_node)
        return pithp_fail(
            s, PITH_E_ARG, NULL,
            "%s: only inline_all, inline_bytes and compress can be set: the checkpoint "
            "has step and metadata",
            function);
    return pithp_save_options_check(s, function, path, o);
}

static pith_status shard(pithp_reshard *x,
                         const pith_mesh_axis *axes,
                         const pith_shard_spec *specs,
                         const char *path,
                         const pith_save_options *o) {
    pith_status rc = copy_rows(x);
    if (rc == PITH_OK)
        rc = pithp_reshard_read(x, axes, specs);
    if (rc == PITH_OK && is_replicated(x))
        rc = pithp_fail(x->s, PITH_E_ARG, NULL,
                        "pith_checkpoint_shard: no leaf is sharded: expected a spec");
    return rc == PITH_OK ? write_all(x, path, o) : rc;
}

bool pith_checkpoint_shard(pith_scope *s,
                           const pith_checkpoint *c,
                           const pith_mesh_axis *axes,
                           const pith_shard_spec *specs,
                           const char *path,
                           const pith_save_options *options) {
    static const pith_save_options defaults;
    const pith_save_options *o = options ? options : &defaults;
    if (!pithp_enter_untraced(s, "pith_checkpoint_shard") ||
        check(s, c, path, o) != PITH_OK ||
        pithp_background_settle_before(s, path) != PITH_OK)
        return false;
    pith_scope *w = pithp_temporaries_open(s);
    if (!w)
        return false;
    pithp_reshard x = {.s = w, .from = c, .number = pithp_part_number()};
    pithp_document_begin(&x.to.document, s->runtime);
    memcpy(x.to.shown, c->shown, sizeof x.to.shown);
    const bool saved = shard(&x, axes, specs, path, o) == PITH_OK;
    pithp_document_end(&x.to.document);
    pith_scope_close(w);
    return saved && s->error.code == PITH_OK;
}
