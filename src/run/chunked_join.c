/* The results of chunks: what is split is joined along the runs, what is whole must be
 * the same in all. */
#include "array/array_internal.h"
#include "run/chunked.h"

#include <string.h>

/* ---- Axes ---- */

/* The path of a leaf in memory of s; NULL: error set. */
static const char *
path_of(pith_scope *s, const pithp_structure *structure, int64_t item) {
    pithp_text path;
    char *copy = NULL;
    pithp_text_begin(&path, s->runtime);
    if (!pithp_structure_path(s->runtime, structure, item, &path))
        pithp_fail_memory(s, 0);
    else
        copy = pithp_scope_allocate(s, path.length + 1);
    if (copy) {
        memcpy(copy, path.bytes, path.length);
        copy[path.length] = 0;
    }
    pithp_text_end(&path);
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
                "got %s; what is not split is for options.whole to name",
                of, (long long)runs, axes[i], pithp_spec_print(spec, text));
    }
    return PITH_OK;
}

/* ---- Collecting ---- */

void pithp_chunk_results_begin(pithp_chunk_results *r,
                               pith_scope *s,
                               const pithp_chunk_rule *rule) {
    r->s = s;
    r->rule = rule;
    r->def = NULL;
    r->first = NULL;
    r->last = &r->first;
    r->count = 0;
    r->differs[0] = 0;
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

/* Whether the result of a further chunk is a tree like the first one's. */
static pith_status
fits_first(const pithp_chunk_results *r, pith_scope *work, const pithp_flat *flat) {
    if (!pithp_structure_same(r->structure, &flat->structure))
        return pithp_fail(work, PITH_E_STRUCTURE, NULL,
                          "pith_run_chunked: chunk %lld gives a tree of another "
                          "structure than the first one",
                          (long long)r->count);
    for (int64_t i = 0; i < flat->structure.item_count; i++) {
        const pith_spec *a = r->structure->specs[i], *b = flat->structure.specs[i];
        char first[PITHP_SPEC_TEXT_BYTES], here[PITHP_SPEC_TEXT_BYTES];
        bool same = a->dtype == b->dtype && a->rank == b->rank;
        for (int d = 0; same && d < a->rank; d++)
            same = d == r->axes[i] || a->shape[d] == b->shape[d];
        if (!same)
            return pithp_item_fail(work, &flat->structure, i,
                                   a->dtype == b->dtype ? PITH_E_SHAPE : PITH_E_DTYPE,
                                   "pith_run_chunked: chunk %lld gives %s, the first one "
                                   "%s",
                                   (long long)r->count, pithp_spec_print(b, here),
                                   pithp_spec_print(a, first));
    }
    return PITH_OK;
}

/* What is whole must not depend on the chunk. It is told when the checks of the step have
 * passed: where they have not, it may well differ. */
static pith_status
compare_whole(pithp_chunk_results *r, pith_scope *work, const pithp_flat *flat) {
    for (int64_t i = 0; i < flat->structure.item_count && !r->differs[0]; i++) {
        if (r->axes[i] != PITHP_CHUNK_WHOLE ||
            same_bits(work, r->first->leaves[i], flat->items[i]))
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

/* The leaves of a result that are to last, in r->s. */
static pith_status
keep_piece(pithp_chunk_results *r, pith_scope *work, const pithp_flat *flat) {
    const int64_t count = flat->structure.item_count;
    pithp_chunk_piece *piece =
        pithp_scope_allocate(r->s, sizeof *piece + (size_t)count * sizeof *piece->leaves);
    bool fine = piece != NULL;
    for (int64_t i = 0; fine && i < count; i++) {
        const bool needed = r->axes[i] != PITHP_CHUNK_WHOLE || r->count == 0;
        piece->leaves[i] = needed ? pith_keep_any(r->s, flat->items[i]) : NULL;
        fine = !needed || piece->leaves[i];
    }
    if (!fine) {
        pithp_error_move(work, r->s);
        return work->error.code;
    }
    piece->next = NULL;
    *r->last = piece;
    r->last = &piece->next;
    r->count++;
    return PITH_OK;
}

static pith_status
begin(pithp_chunk_results *r, pith_scope *work, const pithp_flat *flat) {
    r->axes = pithp_chunk_axes(r->s, r->rule, flat);
    r->def = r->axes ? pithp_treedef_make(r->s, &flat->structure) : NULL;
    r->structure =
        r->def ? pithp_treedef_check(r->s, r->def, "pith_run_chunked", "result") : NULL;
    if (!r->structure)
        pithp_error_move(work, r->s);
    return work->error.code;
}

pith_status pithp_chunk_results_add(pithp_chunk_results *r,
                                    pith_scope *work,
                                    const void *result,
                                    int64_t runs) {
    pithp_flat flat;
    if (pithp_tree_check(work, result, "pith_run_chunked", "result") != PITH_OK ||
        pithp_flat_make(work, &flat, result, NULL, NULL) != PITH_OK)
        return work->error.code;
    pith_status rc = PITH_OK;
    for (int64_t i = 0; rc == PITH_OK && i < flat.structure.item_count; i++)
        if (pithp_array_is_traced(flat.items[i]))
            rc = pithp_item_fail(work, &flat.structure, i, PITH_E_TRACED,
                                 "pith_run_chunked: a traced leaf has no value yet");
    if (rc == PITH_OK)
        rc = r->def ? fits_first(r, work, &flat) : begin(r, work, &flat);
    if (rc == PITH_OK)
        rc = pithp_chunk_runs_check(work, &flat, r->axes, runs, "result");
    if (rc == PITH_OK && r->count > 0)
        rc = compare_whole(r, work, &flat);
    if (rc == PITH_OK)
        rc = keep_piece(r, work, &flat);
    pithp_flat_end(&flat);
    return rc;
}

/* ---- Joining ---- */

/* One leaf of all pieces, which are given back as soon as they are joined: there is room
 * for one leaf twice, not for all. */
static const pith_array *
join_leaf(pithp_chunk_results *r, int64_t i, const pith_array **parts) {
    if (r->axes[i] == PITHP_CHUNK_WHOLE || r->count == 1)
        return r->first->leaves[i];
    int64_t at = 0;
    for (const pithp_chunk_piece *p = r->first; p; p = p->next)
        parts[at++] = p->leaves[i];
    const pith_array *joined = pith_concatenate(r->s, (int)r->count, parts, r->axes[i]);
    for (at = 0; joined && at < r->count; at++)
        pith_drop(r->s, parts[at]);
    if (!joined)
        pithp_item_prefix(r->s, r->structure, i);
    return joined;
}

const void *pithp_chunk_results_join(pithp_chunk_results *r) {
    const int64_t count = r->structure->item_count;
    const pith_array **parts =
        pithp_scope_allocate(r->s, (size_t)r->count * sizeof *parts);
    const pith_array **leaves =
        pithp_scope_allocate(r->s, ((size_t)count + 1) * sizeof *leaves);
    if (!parts || !leaves)
        return NULL;
    for (int64_t i = 0; i < count; i++) {
        leaves[i] = join_leaf(r, i, parts);
        if (!leaves[i])
            return NULL;
    }
    return pith_tree_unflatten(r->s, r->def, count, leaves);
}
