/* Saving the structure of an open checkpoint with other arrays, without C types. The
 * structure can also be printed as text, to be carried by other formats. */
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

static bool copy_tables(const pithp_document *from, pithp_document *to) {
    return COPY_ROWS(to, from, metadata) && COPY_ROWS(to, from, types) &&
           COPY_ROWS(to, from, nodes) && COPY_ROWS(to, from, statics) &&
           COPY_ROWS(to, from, leaves);
}

/* The structure of a checkpoint with other arrays at its leaves. */
typedef struct structure_source {
    const pith_checkpoint *checkpoint;
    const pith_array *const *leaves;
} structure_source;

static pith_status capture_structure(pith_scope *s,
                                     const void *source,
                                     pithp_document *d,
                                     const pith_array ***arrays) {
    const structure_source *from = source;
    const pithp_document *structure = &from->checkpoint->document;
    const size_t bytes = (size_t)structure->leaves.count * sizeof **arrays;
    d->step = structure->step;
    if (!copy_tables(structure, d))
        return pithp_fail_memory(s, 0);
    for (int64_t i = 0; i < d->leaves.count; i++) {
        pithp_doc_leaf *leaf = &d->leaves.rows[i];
        *leaf = (pithp_doc_leaf){.node = leaf->node, .unit = leaf->unit};
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
    if (bytes)
        memcpy(*arrays, from->leaves, bytes);
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
    if (!leaves && count)
        return pithp_fail(s, PITH_E_ARG, NULL, "%s: leaves is NULL", function);
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
    for (int64_t i = 0; i < count; i++) {
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
        pithp_background_settle(s) != PITH_OK || pithp_synchronise(s) != PITH_OK)
        return false;
    const structure_source from = {c, leaves};
    pithp_saving *v = pithp_saving_begin(s, capture_structure, &from, path, o);
    if (!v)
        return false;
    const bool saved = pithp_saving_write(v) == PITH_OK;
    pithp_saving_end(v);
    return saved;
}
