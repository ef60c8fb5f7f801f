/* How the leaves of a checkpoint are cut for a mesh: specs by path, rows that are
 * counted, and shapes of shards. */
#include "checkpoint/save/reshard.h"
#include "tree/path.h"
#include "tree/shard/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- The mesh ---- */

static pith_status read_axes(pithp_reshard *x, const pith_mesh_axis *axes) {
    pithp_document *d = &x->to.document;
    x->ranks = 1;
    for (; axes && axes->name; axes++) {
        char normal[PITHP_SHARD_TEXT];
        bool fine = d->axes.count < PITHP_MESH_AXES && axes->size > 0 &&
                    strlen(axes->name) < PITHP_AXIS_BYTES && !strpbrk(axes->name, ",;") &&
                    axes->name[0] && !pithp_shard_text_read(axes->name, normal) &&
                    !__builtin_mul_overflow(x->ranks, axes->size, &x->ranks) &&
                    x->ranks <= 1 << 20;
        for (int64_t i = 0; i < d->axes.count; i++)
            fine &= strcmp(d->axes.rows[i].name, axes->name) != 0;
        if (!fine)
            return pithp_fail(x->s, PITH_E_ARG, NULL,
                              "pith_checkpoint_shard: the axis \"%.40s\" of size %" PRId64
                              ": expected up to 8 different names with sizes from 1 on, "
                              "and at most 2^20 ranks",
                              axes->name, axes->size);
        pithp_doc_axis *row = pithp_document_add(d, axes);
        if (!row)
            return pithp_fail_memory(x->s, sizeof *row);
        *row = (pithp_doc_axis){axes->name, axes->size};
    }
    return d->axes.count ? PITH_OK
                         : pithp_fail(x->s, PITH_E_ARG, NULL,
                                      "pith_checkpoint_shard: the mesh has no axis");
}

/* ---- Leaves ---- */

static pith_status fail(pithp_reshard *x,
                        const pithp_doc_leaf *leaf,
                        pith_status code,
                        const char *format,
                        ...) PITH_FORMAT(4, 5);
static pith_status fail(pithp_reshard *x,
                        const pithp_doc_leaf *leaf,
                        pith_status code,
                        const char *format,
                        ...) {
    char path[PITHP_PATH_BYTES], text[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return pithp_fail(x->s, code,
                      pithp_document_error_path(&x->to.document, leaf->node, path), "%s",
                      text);
}

/* All axes of the mesh as a list. */
static void list_all(const pithp_document *d, char list[PITHP_SHARD_TEXT]) {
    size_t n = 0;
    list[0] = 0;
    for (int64_t i = 0; i < d->axes.count && n < PITHP_SHARD_TEXT; i++)
        n += (size_t)snprintf(list + n, PITHP_SHARD_TEXT - n, "%s%s", i ? "," : "",
                              d->axes.rows[i].name);
}

/* Axes and rows of leaf k. */
static pith_status read_spec(pithp_reshard *x, int64_t k, const pith_shard_spec *specs) {
    pithp_document *d = &x->to.document;
    const pithp_doc_leaf *own = &x->from->document.leaves.rows[k];
    pithp_doc_leaf *leaf = &d->leaves.rows[k];
    char all[PITHP_SHARD_TEXT], normal[PITHP_SHARD_TEXT];
    const pith_shard_spec *spec = pithp_shard_spec_for(specs, leaf->key);
    const char *axes = spec ? spec->axes : own->shard ? own->shard : "";
    if (spec && !axes && leaf->shape.rank == 0)
        axes = "";
    if (!axes)
        list_all(d, all);
    const char *wrong = pithp_shard_text_read(axes ? axes : all, normal);
    if (wrong)
        return fail(x, leaf, PITH_E_ARG, "the spec \"%.80s\": %s", axes ? axes : all,
                    wrong);
    if (pithp_shard_text_lists(normal) > (leaf->shape.rank ? leaf->shape.rank : 1))
        return fail(x, leaf, PITH_E_ARG,
                    "the spec \"%s\" is for %d axes, the leaf has %d", normal,
                    pithp_shard_text_lists(normal), (int)leaf->shape.rank);
    for (int i = 0; i < PITH_MAX_RANK; i++) {
        char list[PITHP_SHARD_TEXT];
        pithp_shard_text_list(normal, i, list);
        if (!pithp_document_ranks_along(d, list))
            return fail(x, leaf, PITH_E_ARG,
                        "the mesh does not have all axes of the spec \"%s\"", normal);
    }
    if (!normal[0])
        return PITH_OK;
    leaf->shard = pithp_document_text(d, normal, strlen(normal));
    leaf->rows = spec ? spec->rows : own->rows;
    return leaf->shard ? PITH_OK : pithp_fail_memory(x->s, sizeof normal);
}

static pith_status check_paths(pithp_reshard *x, const pith_shard_spec *specs) {
    const pithp_document *d = &x->to.document;
    for (; specs && specs->path; specs++) {
        bool used = false;
        for (int64_t k = 0; k < d->leaves.count; k++)
            used |= pithp_path_contains(specs->path, d->leaves.rows[k].key);
        if (!used)
            return pithp_fail(x->s, PITH_E_PATH, NULL,
                              "pith_checkpoint_shard: no leaf is at the path \"%.100s\" "
                              "of a spec",
                              specs->path);
    }
    return PITH_OK;
}

/* ---- Counted rows ---- */

/* The row of the leaf that counts the rows of leaf k; -1: the error is set. */
static int64_t find_counter(pithp_reshard *x, const pithp_doc_leaf *leaf) {
    const pithp_document *d = &x->to.document;
    const bool from_root = leaf->rows[0] == '.' || leaf->rows[0] == '[';
    const int64_t parent = d->nodes.rows[leaf->node].parent;
    pithp_string path;
    pithp_string_begin(&path, d->rt);
    if (!from_root && parent >= 0)
        pithp_document_path(d, parent, SIZE_MAX / 2, &path);
    pithp_string_print(&path, "%s%s", from_root ? "" : ".", leaf->rows);
    const int64_t node = path.failed ? -2 : pithp_document_find(d, path.bytes);
    pithp_string_end(&path);
    const int64_t found = node < 0 ? -1 : d->nodes.rows[node].leaf;
    if (node == -2)
        pithp_fail_memory(x->s, 0);
    else if (found < 0)
        fail(x, leaf, PITH_E_PATH,
             "the leaf '%.100s', which counts its rows, is not in the checkpoint",
             leaf->rows);
    return found;
}

/* Rows in use of each rank: evenly, or as they were on as many ranks. */
static pith_status count_rows(pithp_reshard *x,
                              const pithp_doc_leaf *leaf,
                              pithp_doc_leaf *counter,
                              int64_t ranks) {
    const pithp_doc_leaf *own = &x->from->document.leaves.rows[leaf->counter];
    const size_t bytes = (size_t)ranks * sizeof *counter->counts;
    int64_t value = 0;
    if (counter->dtype != PITH_I64 || counter->shape.rank)
        return fail(x, counter, PITH_E_DTYPE, "counts rows: expected i64[]");
    if (pithp_leaf_read_bytes(x->s, x->from, own, 0, &value, sizeof value) != PITH_OK)
        return x->s->error.code;
    if (value != leaf->shape.extents[0])
        return fail(x, leaf, PITH_E_SHAPE,
                    "%" PRId64 " rows of %" PRId64
                    " are in use, expected all: rows behind them are not kept",
                    value, leaf->shape.extents[0]);
    counter->counts = pithp_document_allocate(&x->to.document, bytes);
    if (!counter->counts)
        return pithp_fail_memory(x->s, bytes);
    counter->counts_count = ranks;
    for (int64_t i = 0; i < ranks; i++)
        counter->counts[i] = own->counts && own->counts_count == ranks
                                 ? own->counts[i]
                                 : pithp_shard_part_of(value, ranks, i).count;
    return PITH_OK;
}

static pith_status link_rows(pithp_reshard *x, pithp_doc_leaf *leaf) {
    char first[PITHP_SHARD_TEXT];
    pithp_shard_text_list(leaf->shard, 0, first);
    if (!first[0] || leaf->shape.rank == 0)
        return fail(x, leaf, PITH_E_ARG,
                    "its rows are counted by '%.100s', but it has no sharded rows",
                    leaf->rows);
    leaf->counter = find_counter(x, leaf);
    if (leaf->counter < 0)
        return x->s->error.code;
    pithp_doc_leaf *counter = &x->to.document.leaves.rows[leaf->counter];
    if (counter->counts)
        return strcmp(counter->shard, first) == 0
                   ? PITH_OK
                   : fail(x, leaf, PITH_E_ARG,
                          "its rows are counted over \"%s\", but those of another leaf "
                          "over \"%s\"",
                          first, counter->shard);
    counter->shard = pithp_document_text(&x->to.document, first, strlen(first));
    if (!counter->shard)
        return pithp_fail_memory(x->s, sizeof first);
    counter->rows = NULL;
    return count_rows(x, leaf, counter,
                      pithp_document_ranks_along(&x->to.document, first));
}

/* ---- Shards ---- */

/* The shape of a shard of leaf k. */
static pith_status cut_leaf(pithp_reshard *x, int64_t k) {
    pithp_document *d = &x->to.document;
    pithp_doc_leaf *leaf = &d->leaves.rows[k];
    const pithp_doc_leaf *own = &x->from->document.leaves.rows[k];
    leaf->part.rank = leaf->shape.rank;
    for (int i = 0; i < leaf->shape.rank; i++) {
        char list[PITHP_SHARD_TEXT];
        pithp_shard_text_list(leaf->shard, i, list);
        const int64_t ranks = pithp_document_ranks_along(d, list),
                      whole = leaf->shape.extents[i];
        const bool counted = i == 0 && leaf->rows;
        if (!counted && whole % ranks)
            return fail(x, leaf, PITH_E_SHAPE,
                        "axis %d has %" PRId64 " elements, expected a multiple of the "
                        "%" PRId64 " ranks along %s, or rows that are counted",
                        i, whole, ranks, list);
        leaf->part.extents[i] = whole / ranks + (whole % ranks != 0);
        const int64_t *counts = counted ? d->leaves.rows[leaf->counter].counts : NULL;
        for (int64_t r = 0; counts && r < ranks; r++)
            if (counts[r] > leaf->part.extents[i])
                leaf->part.extents[i] = own->part.extents[i]; /* as it was */
    }
    return pithp_parted_find(x->s, &x->to, leaf, &x->cuts[k]);
}

pith_status pithp_reshard_read(pithp_reshard *x,
                               const pith_mesh_axis *axes,
                               const pith_shard_spec *specs) {
    pithp_document *d = &x->to.document;
    pith_status rc = read_axes(x, axes);
    for (int64_t k = 0; rc == PITH_OK && k < d->leaves.count; k++)
        rc = read_spec(x, k, specs);
    if (rc == PITH_OK)
        rc = check_paths(x, specs);
    for (int64_t k = 0; rc == PITH_OK && k < d->leaves.count; k++)
        if (d->leaves.rows[k].rows)
            rc = link_rows(x, &d->leaves.rows[k]);
    for (int64_t k = 0; rc == PITH_OK && k < d->leaves.count; k++)
        if (pithp_leaf_is_parted(&d->leaves.rows[k]))
            rc = cut_leaf(x, k);
    return rc;
}
