/* Chunked runs from host memory: each chunk is copied to the device, stepped, and copied
 * back before the next one starts. */
#include "pith/run.h"
#include "pith/run_host.h"

#include "array/array_internal.h"
#include "gpu/memory/host_array.h"
#include "mesh/mesh_internal.h"
#include "run/chunked.h"

#include <string.h>

/* ---- Host trees ---- */

static pith_shape shape_of(const pith_spec *spec) {
    pith_shape shape = {.rank = spec->rank, .extents = {0}};
    for (int d = 0; d < spec->rank; d++)
        shape.extents[d] = spec->shape[d];
    return shape;
}

/* Host arrays of these shapes in s, which the caller overwrites; NULL: error set. */
static const pith_host_tree *make_tree(pith_scope *s,
                                       const pith_treedef *def,
                                       int64_t count,
                                       const pith_dtype *dtypes,
                                       const pith_shape *shapes,
                                       const pith_host_options *options) {
    pith_host_tree *t = pithp_scope_allocate(s, sizeof *t);
    const pith_host_array **leaves =
        pithp_scope_allocate(s, ((size_t)count + 1) * sizeof *leaves);
    if (!t || !leaves)
        return NULL;
    for (int64_t i = 0; i < count; i++) {
        leaves[i] = pithp_host_array_make(s, dtypes[i], shapes[i], options);
        if (!leaves[i])
            return NULL;
    }
    *t = (pith_host_tree){def, count, leaves};
    return t;
}

/* Host arrays like the leaves of a tree, with `runs` along their run axes (-1:
 * unchanged). */
static const pith_host_tree *make_like(pith_scope *s,
                                       const pithp_flat *flat,
                                       const int *axes,
                                       int64_t runs,
                                       const pith_host_options *options) {
    const int64_t count = flat->structure.item_count;
    const pith_treedef *def = pithp_treedef_make(s, &flat->structure);
    pith_dtype *dtypes = pithp_scope_allocate(s, ((size_t)count + 1) * sizeof *dtypes);
    pith_shape *shapes = pithp_scope_allocate(s, ((size_t)count + 1) * sizeof *shapes);
    if (!def || !dtypes || !shapes)
        return NULL;
    for (int64_t i = 0; i < count; i++) {
        const pith_spec *spec = flat->structure.specs[i];
        dtypes[i] = spec->dtype;
        shapes[i] = shape_of(spec);
        if (runs >= 0 && axes[i] != PITHP_CHUNK_WHOLE)
            shapes[i].extents[axes[i]] = runs;
    }
    return make_tree(s, def, count, dtypes, shapes, options);
}

/* Whether a host array is valid. */
static bool is_whole(const pith_host_array *a) {
    size_t bytes = a ? pith_dtype_size(a->dtype) : 0;
    if (!bytes || !a->data || a->shape.rank < 0 || a->shape.rank > PITH_MAX_RANK)
        return false;
    for (int d = 0; d < a->shape.rank; d++)
        if (a->shape.extents[d] < 0 ||
            pithp_mul_overflows(bytes, (size_t)a->shape.extents[d], &bytes))
            return false;
    return bytes == a->bytes;
}

/* The structure of a host tree passed by the user; NULL: error set. */
static const pithp_structure *
check_tree(pith_scope *s, const pith_host_tree *t, const char *function) {
    if (!t) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: the host tree is NULL", function);
        return NULL;
    }
    const pithp_structure *structure = pithp_treedef_check(s, t->def, function, "def");
    if (!structure)
        return NULL;
    if (t->count != structure->item_count || (t->count && !t->leaves)) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: %lld host arrays, and %lld leaves", function,
                   (long long)(t->leaves ? t->count : 0),
                   (long long)structure->item_count);
        return NULL;
    }
    for (int64_t i = 0; i < t->count; i++)
        if (!is_whole(t->leaves[i])) {
            pithp_item_fail(s, structure, i, PITH_E_ARG,
                            "%s: a leaf is not a host array of its dtype and shape",
                            function);
            return NULL;
        }
    return structure;
}

const pith_host_tree *(pith_host_tree_copy)(pith_scope *s,
                                            const void *tree,
                                            const pith_host_options *options) {
    pithp_flat flat;
    if (!pithp_enter_untraced(s, "pith_host_tree_copy") ||
        pithp_tree_check(s, tree, "pith_host_tree_copy", "tree") != PITH_OK ||
        pithp_flat_make(s, &flat, tree, NULL, NULL) != PITH_OK)
        return NULL;
    const pith_host_tree *t = make_like(s, &flat, NULL, -1, options);
    for (int64_t i = 0; t && i < t->count; i++)
        pith_read(s, flat.items[i], t->leaves[i]->data, t->leaves[i]->bytes);
    pithp_flat_end(&flat);
    return pith_failed(s) ? NULL : t;
}

const void *(pith_host_tree_load)(pith_scope *s, const pith_host_tree *tree) {
    if (!pithp_enter(s) || !check_tree(s, tree, "pith_host_tree_load"))
        return NULL;
    const pith_array **leaves =
        pithp_scope_allocate(s, ((size_t)tree->count + 1) * sizeof *leaves);
    for (int64_t i = 0; leaves && i < tree->count; i++) {
        const pith_host_array *a = tree->leaves[i];
        leaves[i] = pith_array_copy(s, a->dtype, a->shape, a->data);
        if (!leaves[i])
            return NULL;
    }
    return leaves ? pith_tree_unflatten(s, tree->def, tree->count, leaves) : NULL;
}

/* ---- Regions of host arrays ---- */

/* Runs begin..begin + length of an array in C order: `rows` rows of `bytes` each, at
 * offsets first + i * stride. */
typedef struct {
    int64_t rows;
    size_t bytes, stride, first;
} region;

static region
region_of(const pith_host_array *a, int axis, int64_t begin, int64_t length) {
    if (axis == PITHP_CHUNK_WHOLE)
        return (region){.rows = 1, .bytes = a->bytes};
    region r = {.rows = 1};
    size_t one = pith_dtype_size(a->dtype);
    for (int d = 0; d < axis; d++)
        r.rows *= a->shape.extents[d];
    for (int d = axis + 1; d < a->shape.rank; d++)
        one *= (size_t)a->shape.extents[d];
    r.bytes = (size_t)length * one;
    r.stride = (size_t)a->shape.extents[axis] * one;
    r.first = (size_t)begin * one;
    return r;
}

/* Copy a region to an array of s. NULL: error set. */
static const pith_array *
load(pith_scope *s, const pith_host_array *a, int axis, int64_t begin, int64_t length) {
    const region r = region_of(a, axis, begin, length);
    pith_shape shape = a->shape;
    if (axis != PITHP_CHUNK_WHOLE)
        shape.extents[axis] = length;
    const char *from = (const char *)a->data + r.first;
    if (r.rows <= 1)
        return pith_array_copy(s, a->dtype, shape, from);
    const size_t bytes = (size_t)r.rows * r.bytes;
    char *packed = pithp_scratch_allocate(s->runtime, bytes ? bytes : 1);
    if (!packed) {
        pithp_fail_memory(s, bytes);
        return NULL;
    }
    for (int64_t row = 0; row < r.rows; row++)
        memcpy(packed + (size_t)row * r.bytes, from + (size_t)row * r.stride, r.bytes);
    const pith_array *made = pith_array_copy(s, a->dtype, shape, packed);
    pithp_scratch_release(s->runtime, packed, bytes ? bytes : 1);
    return made;
}

/* Copy an array to its region. An unsplit array after the first chunk is compared with
 * the stored one instead. False: it differs, or s has an error. */
static bool store(pith_scope *s,
                  const pith_host_array *a,
                  int axis,
                  int64_t begin,
                  int64_t length,
                  const pith_array *from) {
    const region r = region_of(a, axis, begin, length);
    char *to = (char *)a->data + r.first;
    const size_t bytes = (size_t)r.rows * r.bytes;
    const bool compared = axis == PITHP_CHUNK_WHOLE && begin > 0;
    if (r.rows <= 1 && !compared)
        return pith_read(s, from, to, bytes), !pith_failed(s);
    char *packed = pithp_scratch_allocate(s->runtime, bytes ? bytes : 1);
    if (!packed) {
        pithp_fail_memory(s, bytes);
        return false;
    }
    pith_read(s, from, packed, bytes);
    bool fine = !pith_failed(s);
    if (compared)
        fine = fine && memcmp(to, packed, bytes) == 0;
    else
        for (int64_t row = 0; fine && row < r.rows; row++)
            memcpy(to + (size_t)row * r.stride, packed + (size_t)row * r.bytes, r.bytes);
    pithp_scratch_release(s->runtime, packed, bytes ? bytes : 1);
    return fine;
}

/* ---- Chunks ---- */

typedef struct {
    pith_scope *s;
    const pith_function *step;
    const pith_chunked_options *options;
    const pith_host_options *memory;
    pithp_chunk_rule rule;
    const pith_host_tree *state;
    const pithp_structure *structure; /* of the state */
    int *axes;                        /* of its leaves */
    int64_t runs;
    const pith_host_tree *result;            /* NULL before the first chunk */
    const pithp_structure *result_structure; /* of the result */
    int *result_axes;
    bool no_room; /* no host memory for the result: do not retry */
} stream;

/* Determine the split of the state's leaves. */
static bool prepare(stream *t) {
    t->axes = pithp_chunk_axes_of(t->s, &t->rule, t->structure, NULL, t->state);
    t->runs = -1;
    for (int64_t i = 0; t->axes && i < t->state->count; i++) {
        if (t->axes[i] == PITHP_CHUNK_WHOLE)
            continue;
        const int64_t runs = t->state->leaves[i]->shape.extents[t->axes[i]];
        if (t->runs >= 0 && runs != t->runs)
            return pithp_item_fail(t->s, t->structure, i, PITH_E_SHAPE,
                                   "pith_run_chunked_host: a leaf of the state has %lld "
                                   "runs along axis %d, others have %lld",
                                   (long long)runs, t->axes[i],
                                   (long long)t->runs) == PITH_OK;
        t->runs = runs;
    }
    if (t->axes && t->runs < 0)
        pithp_fail(t->s, PITH_E_SHAPE, NULL,
                   "pith_run_chunked_host: no leaf of the state is split along axis %d",
                   t->rule.axis);
    return !pith_failed(t->s);
}

/* Estimated chunk length: memory must hold the chunk, its result and the step's own
 * demand; unsplit leaves count twice. */
static int64_t guess_length(const stream *t) {
    const pith_memory_hint hint = t->options->hint;
    size_t whole = 0, one = 0;
    for (int64_t i = 0; i < t->state->count; i++) {
        const size_t bytes = t->state->leaves[i]->bytes, runs = (size_t)t->runs;
        if (t->axes[i] == PITHP_CHUNK_WHOLE)
            whole += bytes;
        else
            one += bytes / runs + (bytes % runs != 0);
    }
    const size_t work = hint.per_sample || hint.persistent ? hint.per_sample : 2 * one,
                 left = pithp_memory_left(t->s);
    size_t taken, each;
    if (pithp_add_overflows(2 * whole, hint.persistent, &taken) || taken >= left ||
        pithp_add_overflows(2 * one, work, &each))
        return 1;
    const size_t fit = each ? (left - taken) / each : (size_t)t->runs;
    return fit < 1 ? 1 : fit < (size_t)t->runs ? (int64_t)fit : t->runs;
}

static const void *
load_chunk(stream *t, pith_scope *work, int64_t begin, int64_t length) {
    const int64_t count = t->state->count;
    const pith_array **leaves =
        pithp_scope_allocate(work, ((size_t)count + 1) * sizeof *leaves);
    for (int64_t i = 0; leaves && i < count; i++) {
        leaves[i] = load(work, t->state->leaves[i], t->axes[i], begin, length);
        if (!leaves[i])
            return NULL;
    }
    return leaves ? pith_tree_unflatten(work, t->state->def, count, leaves) : NULL;
}

/* Allocate the result for all runs, like that of the first chunk. */
static bool begin_result(stream *t, const pithp_flat *flat) {
    t->result_axes = pithp_chunk_axes_of(t->s, &t->rule, &flat->structure, flat, NULL);
    t->result =
        t->result_axes ? make_like(t->s, flat, t->result_axes, t->runs, t->memory) : NULL;
    t->result_structure =
        t->result
            ? pithp_treedef_check(t->s, t->result->def, "pith_run_chunked_host", "result")
            : NULL;
    t->no_room = !t->result_structure;
    return t->result_structure != NULL;
}

/* Whether a leaf of a chunk's result matches that of the whole result. */
static bool
leaf_fits(const stream *t, const pithp_flat *flat, int64_t i, int64_t length) {
    const pith_spec *spec = flat->structure.specs[i];
    const pith_host_array *a = t->result->leaves[i];
    bool same = spec->dtype == a->dtype && spec->rank == a->shape.rank;
    for (int d = 0; same && d < spec->rank; d++)
        same = spec->shape[d] == (d == t->result_axes[i] ? length : a->shape.extents[d]);
    return same;
}

static void store_chunk(stream *t,
                        pith_scope *work,
                        const pithp_flat *flat,
                        int64_t begin,
                        int64_t length) {
    if (!t->result && !begin_result(t, flat))
        return;
    if (!pithp_structure_same(t->result_structure, &flat->structure)) {
        pithp_fail(work, PITH_E_STRUCTURE, NULL,
                   "pith_run_chunked_host: a tree of another structure than that of "
                   "the first chunk");
        return;
    }
    for (int64_t i = 0; i < t->result->count && !pith_failed(work); i++) {
        if (!leaf_fits(t, flat, i, length)) {
            pithp_item_fail(work, &flat->structure, i, PITH_E_SHAPE,
                            "pith_run_chunked_host: a leaf of the result is not like "
                            "that of the first chunk, with %lld runs",
                            (long long)length);
            return;
        }
        if (!store(work, t->result->leaves[i], t->result_axes[i], begin, length,
                   flat->items[i]) &&
            !pith_failed(work))
            pithp_item_fail(
                work, &flat->structure, i, PITH_E_CHECK,
                "pith_run_chunked_host: an unsplit leaf of the result differs "
                "between chunks: it depends on the runs");
    }
}

/* On failure t->s has the error. */
static void run_chunk(stream *t, int64_t begin, int64_t length) {
    pith_scope *work = pithp_temporaries_open(t->s);
    pithp_flat flat;
    if (!work)
        return;
    pithp_decisions_nest(t->s, 1);
    const void *result = load_chunk(t, work, begin, length);
    if (result)
        result = pith_propagate_any(
            work, NULL, t->step, result,
            &(pith_propagate_options){.steps = t->options->steps ? t->options->steps : 1,
                                      .max_tries = t->options->max_tries});
    pithp_decisions_nest(t->s, -1);
    if (result && pithp_flat_make(work, &flat, result, NULL, NULL) == PITH_OK) {
        store_chunk(t, work, &flat, begin, length);
        pithp_flat_end(&flat);
    }
    pith_scope_close(work);
}

static bool run_all(stream *t, pith_chunks *chunks) {
    const int64_t most = t->options->length;
    int64_t length = most > 0 && most < t->runs ? most : t->runs, begin = 0;
    if (most == 0 && t->runs > 0)
        length = pithp_chunk_length(t->s, guess_length(t));
    if (length == 0 && t->runs > 0)
        return false;
    length = pithp_chunk_even(t->runs, length);
    *chunks = (pith_chunks){.runs = t->runs};
    do {
        const int64_t left = t->runs - begin, now = left < length ? left : length;
        run_chunk(t, begin, now);
        const pithp_chunk_end end = pithp_chunk_agree(t->s, now > 1 && !t->no_room);
        if (end == PITHP_CHUNK_FINE) {
            begin += now;
            chunks->count++;
            chunks->length = now > chunks->length ? now : chunks->length;
        } else if (end == PITHP_CHUNK_FAILED) {
            pithp_error_context(t->s, "runs %lld to %lld of %lld", (long long)begin,
                                (long long)(begin + now - 1), (long long)t->runs);
            return false;
        } else {
            length = pithp_chunk_even(left, (now + 1) / 2);
            pithp_chunk_warn(t->s, length, now);
        }
    } while (begin < t->runs);
    return true;
}

const pith_host_tree *(pith_run_chunked_host)(pith_scope *s,
                                              const pith_function *step,
                                              const pith_host_tree *state,
                                              int axis,
                                              const pith_chunked_options *options,
                                              const pith_host_options *host_options) {
    static const pith_chunked_options defaults;
    stream t = {.s = s,
                .step = step,
                .options = options ? options : &defaults,
                .memory = host_options,
                .state = state};
    pith_chunks chunks;
    if (!pithp_enter_untraced(s, "pith_run_chunked_host") ||
        !pithp_chunk_options_fit(s, t.options) ||
        !(t.structure = check_tree(s, state, "pith_run_chunked_host"))) {
        if (pithp_scope_joins(s))
            pithp_ranks_fine(s, "pith_run_chunked_host");
        return NULL;
    }
    t.rule = (pithp_chunk_rule){axis, t.options->whole, t.options->closure};
    prepare(&t);
    if (!pithp_chunk_call_agrees(s, "pith_run_chunked_host", t.options, axis, t.runs) ||
        !run_all(&t, &chunks))
        return NULL;
    if (t.options->chunks)
        *t.options->chunks = chunks;
    return t.result;
}
