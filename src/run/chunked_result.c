/* Result of a chunked run: allocated for all runs after the first chunk, and filled chunk
 * by chunk. */
#include "array/array_internal.h"
#include "program/exec/copy_many.h"
#include "run/chunked.h"

#include <string.h>

/* ---- Axes ---- */

/* The path of a leaf in memory of s; NULL: error set. */
static const char *
path_of(pith_scope *s, const pithp_structure *structure, int64_t item) {
    pithp_string path;
    char *copy = NULL;
    pithp_string_begin(&path, s->runtime);
    if (!pithp_structure_path(s->runtime, structure, item, &path))
        pithp_fail_memory(s, 0);
    else
        copy = pithp_scope_allocate(s, path.length + 1);
    if (copy) {
        memcpy(copy, path.bytes, path.length);
        copy[path.length] = 0;
    }
    pithp_string_end(&path);
    return copy;
}

int *pithp_chunk_axes_of(pith_scope *s,
                         const pithp_chunk_rule *rule,
                         const pithp_structure *structure,
                         const pithp_flat *tree,
                         const pith_host_tree *host) {
    const int64_t count = structure->item_count;
    int *axes = pithp_scope_allocate(s, ((size_t)count + 1) * sizeof *axes);
    for (int64_t i = 0; axes && i < count; i++) {
        const int rank = tree ? structure->specs[i]->rank : host->leaves[i]->shape.rank;
        const int axis = rule->axis < 0 ? rule->axis + rank : rule->axis;
        axes[i] = axis >= 0 && axis < rank ? axis : PITHP_CHUNK_WHOLE;
        if (axes[i] == PITHP_CHUNK_WHOLE || !rule->whole)
            continue;
        const char *path = path_of(s, structure, i);
        if (!path)
            return NULL;
        if (rule->whole(path, tree ? tree->items[i] : NULL, rule->closure))
            axes[i] = PITHP_CHUNK_WHOLE;
    }
    return axes;
}

pith_status pithp_chunk_runs_check(pith_scope *s,
                                   const pithp_flat *tree,
                                   const int *axes,
                                   int64_t runs,
                                   const char *of) {
    for (int64_t i = 0; i < tree->structure.item_count; i++) {
        const pith_spec *spec = tree->structure.specs[i];
        char text[PITHP_SPEC_TEXT_BYTES];
        if (axes[i] != PITHP_CHUNK_WHOLE && spec->shape[axes[i]] != runs)
            return pithp_item_fail(
                s, &tree->structure, i, PITH_E_SHAPE,
                "pith_run_chunked: a leaf of the %s: expected %lld runs along axis %d, "
                "got %s; options.whole names the unsplit leaves",
                of, (long long)runs, axes[i], pithp_spec_print(spec, text));
    }
    return PITH_OK;
}

/* ---- The chunks of a result ---- */

void pithp_chunk_results_begin(pithp_chunk_results *r,
                               pith_scope *s,
                               const pithp_chunk_rule *rule,
                               int64_t runs) {
    *r = (pithp_chunk_results){.s = s, .rule = rule, .runs = runs};
}

/* Whether two arrays of one spec have the same bits. */
static bool same_bits(pith_scope *s, const pith_array *a, const pith_array *b) {
    const size_t bytes = pithp_array_spec(a)->bytes;
    if (bytes == 0 || a->data == b->data)
        return true;
    char *room = pithp_scratch_allocate(s->runtime, 2 * bytes);
    if (!room) {
        pithp_fail_memory(s, 2 * bytes);
        return false;
    }
    const bool same = pithp_buffer_read(s, pithp_array_buffer(a)) == PITH_OK &&
                      pithp_buffer_read(s, pithp_array_buffer(b)) == PITH_OK &&
                      pithp_copy_out(s, room, a->data, bytes) == PITH_OK &&
                      pithp_copy_out(s, room + bytes, b->data, bytes) == PITH_OK &&
                      memcmp(room, room + bytes, bytes) == 0;
    pithp_scratch_release(s->runtime, room, 2 * bytes);
    return same;
}

/* Whether the result of a later chunk has the structure and specs of the first one. */
static pith_status
fits_first(const pithp_chunk_results *r, pith_scope *work, const pithp_flat *flat) {
    if (!pithp_structure_same(r->structure, &flat->structure))
        return pithp_fail(work, PITH_E_STRUCTURE, NULL,
                          "pith_run_chunked: chunk %lld returns a tree of another "
                          "structure than the first one",
                          (long long)r->count);
    for (int64_t i = 0; i < flat->structure.item_count; i++) {
        const pith_spec *a = r->structure->specs[i], *b = flat->structure.specs[i];
        char first[PITHP_SPEC_TEXT_BYTES], here[PITHP_SPEC_TEXT_BYTES];
        bool same = a->dtype == b->dtype && a->rank == b->rank;
        for (int d = 0; same && d < a->rank; d++)
            same = d == r->axes[i] || a->shape[d] == b->shape[d];
        if (!same)
            return pithp_item_fail(
                work, &flat->structure, i,
                a->dtype == b->dtype ? PITH_E_SHAPE : PITH_E_DTYPE,
                "pith_run_chunked: chunk %lld returns %s, the first one %s",
                (long long)r->count, pithp_spec_print(b, here),
                pithp_spec_print(a, first));
    }
    return PITH_OK;
}

/* Record the first unsplit leaf that differs between chunks. It is reported after the
 * step's checks pass: a chunk with failed checks may differ. */
static pith_status
compare_whole(pithp_chunk_results *r, pith_scope *work, const pithp_flat *flat) {
    for (int64_t i = 0; i < flat->structure.item_count && !r->differs[0]; i++) {
        if (r->axes[i] != PITHP_CHUNK_WHOLE ||
            same_bits(work, r->leaves[i], flat->items[i]))
            continue;
        const char *path =
            work->error.code == PITH_OK ? path_of(work, &flat->structure, i) : NULL;
        if (!path)
            return work->error.code;
        strncpy(r->differs, path[0] ? path : "the result", sizeof r->differs - 1);
        r->differs[sizeof r->differs - 1] = 0;
    }
    return PITH_OK;
}

/* The spec of a leaf of the result for all runs. NULL: error set. */
static const pith_spec *
spec_of_all(const pithp_chunk_results *r, const pith_spec *chunk, int axis) {
    int64_t shape[PITH_MAX_RANK];
    memcpy(shape, chunk->shape, sizeof shape);
    shape[axis] = r->runs;
    return pithp_spec(r->s, chunk->dtype, chunk->rank, shape);
}

/* Allocate the split leaves for all runs, and keep the unsplit ones. On failure the error
 * of r->s is set and nothing is allocated. */
static bool make_leaves(pithp_chunk_results *r, const pithp_flat *flat) {
    const int64_t count = flat->structure.item_count;
    const pith_spec **specs =
        pithp_scope_allocate(r->s, ((size_t)count + 1) * sizeof *specs);
    const pith_array **made =
        pithp_scope_allocate(r->s, ((size_t)count + 1) * sizeof *made);
    int64_t split = 0;
    for (int64_t i = 0; specs && made && i < count; i++) {
        if (r->axes[i] == PITHP_CHUNK_WHOLE)
            continue;
        specs[split] = spec_of_all(r, flat->structure.specs[i], r->axes[i]);
        if (!specs[split++])
            return false;
    }
    if (!specs || !made || pithp_arrays_make(r->s, split, specs, made) != PITH_OK)
        return false;
    split = 0;
    for (int64_t i = 0; i < count; i++) {
        r->leaves[i] = r->axes[i] == PITHP_CHUNK_WHOLE
                           ? pith_keep_any(r->s, flat->items[i])
                           : made[split++];
        if (!r->leaves[i])
            return false;
    }
    return true;
}

/* A single chunk is the whole result. */
static bool keep_leaves(pithp_chunk_results *r, const pithp_flat *flat) {
    for (int64_t i = 0; i < flat->structure.item_count; i++) {
        r->leaves[i] = pith_keep_any(r->s, flat->items[i]);
        if (!r->leaves[i])
            return false;
    }
    return true;
}

static pith_status begin_result(pithp_chunk_results *r,
                                pith_scope *work,
                                const pithp_flat *flat,
                                int64_t length) {
    r->axes = pithp_chunk_axes(r->s, r->rule, flat);
    r->leaves =
        r->axes ? pithp_scope_allocate(r->s, ((size_t)flat->structure.item_count + 1) *
                                                 sizeof *r->leaves)
                : NULL;
    const pith_treedef *def =
        r->leaves ? pithp_treedef_make(r->s, &flat->structure) : NULL;
    r->structure =
        def ? pithp_treedef_check(r->s, def, "pith_run_chunked", "result") : NULL;
    if (r->structure &&
        pithp_chunk_runs_check(work, flat, r->axes, length, "result") != PITH_OK)
        return work->error.code;
    if (r->structure && (length == r->runs ? keep_leaves(r, flat) : make_leaves(r, flat)))
        r->def = def;
    pithp_error_move(work, r->s);
    return work->error.code;
}

/* Copy a chunk to its region, all leaves in one launch. */
static pith_status
store_chunk(const pithp_chunk_results *r, pith_scope *work, const pithp_flat *flat) {
    const int64_t count = flat->structure.item_count;
    pithp_copies copies;
    pith_status rc = pithp_copies_begin(work, &copies, count);
    if (rc != PITH_OK)
        return rc;
    for (int64_t i = 0; i < count && rc == PITH_OK; i++) {
        const pith_spec *from = flat->structure.specs[i];
        if (r->axes[i] == PITHP_CHUNK_WHOLE || from->count == 0)
            continue;
        rc = pithp_array_check(work, flat->items[i], "pith_run_chunked", "result");
        int64_t rows = 1;
        for (int d = 0; d < r->axes[i]; d++)
            rows *= from->shape[d];
        const int64_t row = (int64_t)from->bytes / rows,
                      run = row / from->shape[r->axes[i]];
        char *to = (char *)r->leaves[i]->data + r->done * run;
        if (rc == PITH_OK)
            rc = pithp_copies_add(&copies, to, flat->items[i]->data, rows, row,
                                  r->runs * run, row);
    }
    if (rc == PITH_OK)
        rc = pithp_copies_run(&copies, "pith_run_chunked");
    pithp_copies_end(&copies);
    return rc;
}

static pith_status check_chunk(pith_scope *work, const pithp_flat *flat) {
    for (int64_t i = 0; i < flat->structure.item_count; i++)
        if (pithp_array_is_traced(flat->items[i]))
            return pithp_item_fail(work, &flat->structure, i, PITH_E_TRACED,
                                   "pith_run_chunked: a traced leaf has no value yet");
    return PITH_OK;
}

pith_status pithp_chunk_results_add(pithp_chunk_results *r,
                                    pith_scope *work,
                                    const void *result,
                                    int64_t length) {
    pithp_flat flat;
    if (pithp_tree_check(work, result, "pith_run_chunked", "result") != PITH_OK ||
        pithp_flat_make(work, &flat, result, NULL, NULL) != PITH_OK)
        return work->error.code;
    pith_status rc = check_chunk(work, &flat);
    if (rc == PITH_OK && !r->def) {
        rc = begin_result(r, work, &flat, length);
    } else if (rc == PITH_OK) {
        rc = fits_first(r, work, &flat);
        if (rc == PITH_OK)
            rc = pithp_chunk_runs_check(work, &flat, r->axes, length, "result");
        if (rc == PITH_OK)
            rc = compare_whole(r, work, &flat);
    }
    if (rc == PITH_OK && length < r->runs)
        rc = store_chunk(r, work, &flat);
    pithp_flat_end(&flat);
    if (rc == PITH_OK) {
        r->done += length;
        r->count++;
    }
    return rc;
}

const void *pithp_chunk_results_end(pithp_chunk_results *r) {
    return pith_tree_unflatten(r->s, r->def, r->structure->item_count, r->leaves);
}
