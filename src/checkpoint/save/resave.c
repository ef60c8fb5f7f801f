/* Saving the structure of an open checkpoint with other arrays, or with its own leaves,
 * which are streamed, without C types. The structure can also be printed as text, to be
 * carried by other formats. */
#include "checkpoint/save/saving.h"
#include "checkpoint/store/open.h"

#include <string.h>

/* ---- The structure as text: a document whose leaves are empty ---- */

static void empty_leaf(pithp_doc_leaf *to, const pithp_doc_leaf *from) {
    *to = (pithp_doc_leaf){.dtype = from->dtype,
                           .shape = {.rank = 1},
                           .node = from->node,
                           .unit = from->unit,
                           .data = "",
                           .digest = pithp_digest_of("", 0)};
}

const char *pith_checkpoint_structure(pith_scope *s, const pith_checkpoint *c) {
    if (!pithp_enter(s))
        return NULL;
    if (!pithp_checkpoint_valid(c)) {
        pithp_fail(s, PITH_E_ARG, NULL,
                   "pith_checkpoint_structure: expected an open checkpoint");
        return NULL;
    }
    pithp_document d = c->document; /* shares all tables but the leaves */
    const size_t bytes = (size_t)d.leaves.count * sizeof *d.leaves.rows;
    pithp_string t;
    d.format = PITHP_CHECKPOINT_FORMAT;
    d.sidecars.count = 0;
    d.parts.count = 0;
    d.leaves.rows = pithp_allocate(s->runtime, bytes ? bytes : 1);
    if (!d.leaves.rows) {
        pithp_fail_memory(s, bytes);
        return NULL;
    }
    for (int64_t i = 0; i < d.leaves.count; i++)
        empty_leaf(&d.leaves.rows[i], &c->document.leaves.rows[i]);
    pithp_string_begin(&t, s->runtime);
    pithp_document_print(&d, &t);
    char *text = t.failed ? NULL : pithp_scope_allocate(s, t.length + 1);
    if (text)
        memcpy(text, t.bytes, t.length + 1);
    else
        pithp_fail_memory(s, t.length + 1);
    pithp_string_end(&t);
    pithp_release(s->runtime, d.leaves.rows, bytes ? bytes : 1);
    return text;
}

const pith_checkpoint *
pith_checkpoint_parse(pith_scope *s, const char *text, size_t bytes) {
    if (!pithp_enter(s))
        return NULL;
    if (text)
        return pithp_checkpoint_parse(s, text, bytes);
    pithp_fail(s, PITH_E_ARG, NULL, "pith_checkpoint_parse: text is NULL");
    return NULL;
}

/* ---- Saving a structure ---- */

/* Copy rows shallowly: their pointers are valid as long as the structure. */
static bool copy_rows(pithp_document *d,
                      void *rows_pointer,
                      int64_t *count,
                      int64_t *room,
                      const void *rows,
                      int64_t n,
                      size_t row_bytes) {
    for (int64_t i = 0; i < n; i++) {
        void *row = pithp_table_add(d->rt, rows_pointer, count, room, row_bytes);
        if (!row)
            return false;
        memcpy(row, (const char *)rows + (size_t)i * row_bytes, row_bytes);
    }
    return true;
}

#define COPY_ROWS(to, from, table)                                                       \
    copy_rows((to), &(to)->table.rows, &(to)->table.count, &(to)->table.room,            \
              (from)->table.rows, (from)->table.count, sizeof *(to)->table.rows)

bool pithp_document_copy(const pithp_document *from, pithp_document *to) {
    return COPY_ROWS(to, from, axes) && COPY_ROWS(to, from, metadata) &&
           COPY_ROWS(to, from, types) && COPY_ROWS(to, from, nodes) &&
           COPY_ROWS(to, from, statics) && COPY_ROWS(to, from, leaves);
}

/* The structure of a checkpoint with other arrays at its leaves (NULL: with its own). */
typedef struct structure_source {
    const pith_checkpoint *checkpoint;
    const pith_array *const *leaves;
} structure_source;

/* Pieces of any size become whole chunks, the last one excepted. */
typedef struct chunks {
    char *room; /* a chunk */
    size_t used, passed, rest;
    pithp_chunk_sink sink;
    void *closure;
} chunks;

static pith_status
fill_chunks(void *closure, const void *bytes, size_t offset, size_t n) {
    chunks *c = closure;
    (void)offset;
    n = n < c->rest ? n : c->rest;
    c->rest -= n;
    for (const char *from = bytes; n;) {
        const size_t room = PITHP_CHUNK_BYTES - c->used, some = n < room ? n : room;
        memcpy(c->room + c->used, from, some);
        c->used += some;
        from += some;
        n -= some;
        if (c->used < PITHP_CHUNK_BYTES && c->rest)
            continue;
        const pith_status rc = c->sink(c->closure, c->room, c->passed, c->used);
        c->passed += c->used;
        c->used = 0;
        if (rc != PITH_OK)
            return rc;
    }
    return PITH_OK;
}

pith_status pithp_checkpoint_stream(const pith_checkpoint *c,
                                    pith_scope *s,
                                    int64_t leaf,
                                    size_t most,
                                    pithp_chunk_sink sink,
                                    void *closure) {
    const pithp_doc_leaf *row = &c->document.leaves.rows[leaf];
    chunks pieces = {.rest = most, .sink = sink, .closure = closure};
    char *room = pithp_allocate(s->runtime, 2 * PITHP_CHUNK_BYTES);
    pith_status rc = PITH_OK;
    if (!room)
        return pithp_fail_memory(s, 2 * PITHP_CHUNK_BYTES);
    pieces.room = room + PITHP_CHUNK_BYTES;
    if (most < row->bytes)
        rc = pithp_leaf_read_bytes(s, c, row, 0, room, most);
    if (rc == PITH_OK)
        rc = most < row->bytes
                 ? fill_chunks(&pieces, room, 0, most)
                 : pithp_leaf_read(s, c, leaf, NULL, room, fill_chunks, &pieces);
    pithp_release(s->runtime, room, 2 * PITHP_CHUNK_BYTES);
    return rc;
}

static pith_status stream_own(void *source,
                              pith_scope *s,
                              int64_t leaf,
                              size_t most,
                              pithp_chunk_sink sink,
                              void *closure) {
    return pithp_checkpoint_stream(((const structure_source *)source)->checkpoint, s,
                                   leaf, most, sink, closure);
}

static pith_status capture_structure(pith_scope *s,
                                     const void *source,
                                     pithp_document *d,
                                     const pith_array ***arrays) {
    const structure_source *from = source;
    const pithp_document *structure = &from->checkpoint->document;
    const size_t bytes = (size_t)structure->leaves.count * sizeof **arrays;
    d->step = structure->step;
    if (!pithp_document_copy(structure, d))
        return pithp_fail_memory(s, 0);
    for (int64_t i = 0; i < d->leaves.count; i++) {
        pithp_doc_leaf *leaf = &d->leaves.rows[i];
        const pithp_doc_leaf own = *leaf;
        *leaf = (pithp_doc_leaf){.node = own.node,
                                 .unit = own.unit,
                                 .dtype = own.dtype,
                                 .shape = own.shape,
                                 .count = own.count,
                                 .bytes = own.bytes};
        if (!from->leaves)
            continue;
        const pith_spec *spec = pith_array_spec(from->leaves[i]);
        leaf->dtype = spec->dtype;
        leaf->shape.rank = spec->rank;
        memcpy(leaf->shape.extents, spec->shape, sizeof leaf->shape.extents);
        leaf->count = spec->count;
        leaf->bytes = spec->bytes;
    }
    *arrays = pithp_document_allocate(d, bytes ? bytes : 1);
    if (!*arrays)
        return pithp_fail_memory(s, bytes);
    if (bytes && from->leaves)
        memcpy(*arrays, from->leaves, bytes);
    else
        memset(*arrays, 0, bytes);
    return PITH_OK;
}

static pith_status check(pith_scope *s,
                         const pith_checkpoint *c,
                         int64_t count,
                         const pith_array *const *leaves,
                         const char *path,
                         const pith_save_options *o) {
    static const char function[] = "pith_checkpoint_save";
    if (!pithp_checkpoint_valid(c))
        return pithp_fail(s, PITH_E_ARG, NULL, "%s: expected an open checkpoint",
                          function);
    if (count != c->document.leaves.count)
        return pithp_fail(s, PITH_E_ARG, NULL,
                          "%s: expected %lld leaves, as the structure has, got %lld",
                          function, (long long)c->document.leaves.count,
                          (long long)count);
    if (o->keep || o->background || o->step || o->metadata)
        return pithp_fail(
            s, PITH_E_ARG, NULL,
            "%s: keep, background, step and metadata cannot be set: the structure has "
            "the last two",
            function);
    if (pithp_save_options_check(s, function, path, o) != PITH_OK)
        return PITH_E_ARG;
    for (int64_t i = 0; leaves && i < count; i++) {
        const pith_status rc = pithp_array_check(s, leaves[i], function, "leaves");
        if (rc != PITH_OK)
            return rc;
    }
    return PITH_OK;
}

bool pith_checkpoint_save(pith_scope *s,
                          const pith_checkpoint *c,
                          int64_t count,
                          const pith_array *const *leaves,
                          const char *path,
                          const pith_save_options *options) {
    static const pith_save_options defaults;
    const pith_save_options *o = options ? options : &defaults;
    if (!pithp_enter_untraced(s, "pith_checkpoint_save") ||
        check(s, c, count, leaves, path, o) != PITH_OK ||
        pithp_background_settle_before(s, path) != PITH_OK ||
        pithp_synchronise(s) != PITH_OK)
        return false;
    structure_source from = {c, leaves};
    pithp_saving *v = pithp_saving_begin(s, capture_structure, &from, path, o);
    if (!v)
        return false;
    pithp_saving_from(v, stream_own, &from);
    const bool saved = pithp_saving_write(v) == PITH_OK;
    if (saved)
        pithp_saving_sweep_parts(v, 0);
    pithp_saving_end(v);
    return saved;
}
