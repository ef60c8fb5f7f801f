/* Chunks of a one-launch map. Leaves that follow one another in every tree and in the
 * result, as those of one block do, are one run, few gaps included: a tree in one block
 * is one chunk, and one that was made leaf by leaf a chunk for each block of its scope.
 */
#include "tree/map_chunks.h"

#include "gpu/stage.h"
#include "program/move.h"

#include <string.h>

static const char *const function = "pith_tree_map_expression";

/* Results of so many bytes are out of the caches before they are read again. */
enum { STREAMED_BYTES = 32 << 20 };

typedef struct chunking {
    pith_scope *s;
    const pithp_structure *structure;
    pithp_map_text *text;
    const pith_array *const *results;
    const pith_array *const *leaves[PITHP_MAP_TREES]; /* of each tree */
    /* Of the leaves in the place that was looked at last: */
    const pith_spec *specs[PITHP_MAP_TREES];
    const pithp_hold *holds[PITHP_MAP_TREES]; /* on their buffers */
    size_t steps[PITHP_MAP_TREES]; /* bytes to where a leaf that follows begins */
    size_t step;                   /* the same in the result */
    int64_t loop, count;
    int64_t gap; /* elements behind the leaf that a run may take along */
    bool moved;  /* some leaf lies in another buffer than the one before it */
    char *run;   /* the current one */
    size_t run_bytes;
    int64_t run_count, elements, longest;
    size_t result_bytes;
} chunking;

static pithp_map_chunk *chunk_at(char *list, size_t bytes, int64_t i) {
    return (pithp_map_chunk *)(void *)(list + (size_t)i * bytes);
}

/* ---- What leaves must be ---- */

static pith_status check_leaf(const chunking *c, int tree, int64_t i) {
    const pith_status rc = pithp_array_check(c->s, c->leaves[tree][i], function, "leaf");
    if (rc != PITH_OK)
        pithp_item_prefix(c->s, c->structure, i);
    return rc;
}

pith_status pithp_map_check_shape(pith_scope *s,
                                  const pithp_structure *t,
                                  int64_t i,
                                  int tree,
                                  const pith_spec *first,
                                  const pith_spec *spec) {
    if (spec == first || (spec->rank == first->rank &&
                          memcmp(spec->shape, first->shape,
                                 (size_t)spec->rank * sizeof *spec->shape) == 0))
        return PITH_OK;
    char a[PITHP_SPEC_TEXT_BYTES], b[PITHP_SPEC_TEXT_BYTES];
    return pithp_item_fail(s, t, i, PITH_E_SHAPE, "expected shape %s, got %s in tree %d",
                           pithp_shape_print(first->rank, first->shape, a),
                           pithp_shape_print(spec->rank, spec->shape, b), tree);
}

pith_status pithp_map_check_division(pith_scope *s,
                                     const pithp_structure *t,
                                     int64_t i,
                                     const char *expression) {
    return pithp_expression_divides(expression)
               ? pithp_item_fail(s, t, i, PITH_E_DTYPE,
                                 "the expression divides, which integers do with "
                                 "quotient(x, y) and rest(x, y)")
               : PITH_OK;
}

/* The number of a tuple of dtypes; new ones get the next. */
static pith_status find_loop(chunking *c, int64_t i) {
    pithp_map_text *text = c->text;
    pithp_map_loop loop = {{0}};
    bool integers = false;
    for (int k = 0; k < text->trees; k++) {
        loop.dtypes[k] = (uint8_t)c->specs[k]->dtype;
        integers |= !pith_dtype_is_float(c->specs[k]->dtype);
    }
    for (c->loop = 0; c->loop < text->loop_count; c->loop++)
        if (memcmp(&text->loops[c->loop], &loop, sizeof loop) == 0)
            return PITH_OK;
    if (c->loop == PITHP_MAP_LOOPS)
        return pithp_item_fail(c->s, c->structure, i, PITH_E_UNSUPPORTED,
                               "more than %d combinations of dtypes", PITHP_MAP_LOOPS);
    if (integers &&
        pithp_map_check_division(c->s, c->structure, i, text->expression) != PITH_OK)
        return c->s->error.code;
    text->loops[text->loop_count++] = loop;
    return PITH_OK;
}

/* How the leaves of these specs follow one another: as in a block of pithp_arrays_make,
 * where the gaps are short, else without any. */
static void take_steps(chunking *c) {
    const pith_spec *first = c->specs[0];
    const size_t size = pith_dtype_size(first->dtype);
    c->count = first->count;
    c->gap = (int64_t)((pithp_array_step(first) - first->bytes) / size);
    if (!pithp_array_shares(first) || c->gap > c->count / 4)
        c->gap = 0;
    c->step = (size_t)(c->count + c->gap) * size;
    for (int k = 0; k < c->text->trees; k++)
        c->steps[k] = (size_t)(c->count + c->gap) * pith_dtype_size(c->specs[k]->dtype);
}

/* The leaves in this place have other specs than those before, or lie in other buffers,
 * or cannot be read. */
static pith_status look(chunking *c, int64_t i) {
    bool same = true;
    c->moved = false;
    for (int k = 0; k < c->text->trees; k++) {
        const pith_array *leaf = c->leaves[k][i];
        const pithp_header *h = pithp_header_of(leaf);
        pith_status rc = PITH_OK;
        if (leaf->hold != c->holds[k] || h->extra) {
            rc = check_leaf(c, k, i);
            c->moved = true;
        }
        c->holds[k] = leaf->hold;
        if (h->shape != c->specs[k]) {
            c->specs[k] = h->shape;
            same = false;
        }
        if (rc != PITH_OK)
            return rc;
    }
    if (same)
        return PITH_OK;
    for (int k = 1; k < c->text->trees; k++) {
        const pith_status rc =
            pithp_map_check_shape(c->s, c->structure, i, k, c->specs[0], c->specs[k]);
        if (rc != PITH_OK)
            return rc;
    }
    take_steps(c);
    return find_loop(c, i);
}

/* ---- Runs ---- */

static void end_run(chunking *c, int64_t length) {
    if (c->run_count == 0)
        return;
    pithp_map_chunk *run = (pithp_map_chunk *)(void *)c->run;
    run->count = length;
    c->elements += length;
    c->result_bytes +=
        (size_t)length * pith_dtype_size((pith_dtype)c->text->loops[run->loop].dtypes[0]);
    c->longest = length > c->longest ? length : c->longest;
}

/* A run that begins with the leaves in a place; the one before it had that length. */
static void begin_run(chunking *c, int64_t length, int64_t i) {
    end_run(c, length);
    if (c->run_count++)
        c->run += c->run_bytes;
    pithp_map_chunk *run = (pithp_map_chunk *)(void *)c->run;
    run->loop = c->loop;
    run->at[0] = c->results[i]->data;
    for (int k = 0; k < c->text->trees; k++)
        run->at[k + 1] = c->leaves[k][i]->data;
}

/* Whether the leaves in a place are such as were looked at last, and where they lie. */
static inline __attribute__((always_inline)) bool
alike(const chunking *c, const int trees, int64_t i, const char **data) {
    bool same = true;
    for (int k = 0; k < trees; k++) {
        const pith_array *leaf = c->leaves[k][i];
        const pithp_header *h = pithp_header_of(leaf);
        same &= (h->shape == c->specs[k]) & (leaf->hold == c->holds[k]) & (h->extra == 0);
        data[k] = leaf->data;
    }
    return same;
}

/* The place behind those from i on that go on with the run, in every tree (`next`) and,
 * as small results do where their gaps are taken along, in the result. */
static inline __attribute__((always_inline)) int64_t
follow(const chunking *c, const int trees, int64_t i, const char **next) {
    const chunking local = *c; /* in registers: nothing is written that could be it */
    const char *data[PITHP_MAP_TREES];
    const bool solid = pithp_array_shares(local.specs[0]) &&
                       local.step == pithp_array_step(local.specs[0]);
    for (const int64_t count = solid ? local.structure->item_count : i; i < count; i++) {
        if (!alike(&local, trees, i, data))
            break;
        bool follows = true;
        for (int k = 0; k < trees; k++)
            follows &= data[k] == next[k];
        if (!follows)
            break;
        for (int k = 0; k < trees; k++)
            next[k] += local.steps[k];
    }
    return i;
}

/* Runs of all leaves, at c->run. Inlined for each number of trees: this is most of what a
 * map over many small leaves costs beside the work itself. */
static inline __attribute__((always_inline)) pith_status find_runs(chunking *c,
                                                                   const int trees) {
    const char *next[PITHP_MAP_TREES] = {NULL}, *data[PITHP_MAP_TREES], *end = NULL;
    int64_t length = 0, gap = 0; /* of the run, and behind it; `end`: of its result */
    for (int64_t i = 0; i < c->structure->item_count;) {
        if (PITHP_UNLIKELY(!alike(c, trees, i, data))) {
            const int64_t loop = c->loop;
            const pith_status rc = look(c, i);
            if (rc != PITH_OK)
                return rc;
            if (c->loop != loop || (gap && c->moved))
                end = NULL; /* what lies between two buffers is part of neither */
        }
        if (PITHP_UNLIKELY(c->count == 0)) {
            i++;
            continue;
        }
        bool follows = c->results[i]->data == end;
        for (int k = 0; k < trees; k++) {
            follows &= data[k] == next[k];
            next[k] = data[k] + c->steps[k];
        }
        if (!follows) {
            begin_run(c, length, i);
            length = gap = 0;
        }
        const int64_t first = i;
        i = follow(c, trees, i + 1, next);
        length += gap + (i - first) * (c->count + c->gap) - c->gap;
        gap = c->gap;
        end = (const char *)c->results[i - 1]->data + c->step;
    }
    end_run(c, length);
    return PITH_OK;
}

static pith_status find_all_runs(chunking *c) {
    switch (c->text->trees) {
        case 1:
            return find_runs(c, 1);
        case 2:
            return find_runs(c, 2);
        case 3:
            return find_runs(c, 3);
        default:
            return find_runs(c, 4);
    }
}

/* ---- Chunks ---- */

/* Cut the runs so that none is longer than a chunk. */
static pith_status cut(chunking *c, int64_t shift, pithp_map_chunks *chunks) {
    const int64_t width = (int64_t)1 << shift;
    int64_t count = 0, next = 0;
    for (int64_t i = 0; i < c->run_count; i++)
        count +=
            (chunk_at((char *)chunks->list, c->run_bytes, i)->count + width - 1) >> shift;
    const size_t bytes = (size_t)count * c->run_bytes;
    char *list = pithp_scratch_allocate(c->s->runtime, bytes);
    if (!list)
        return pithp_fail_memory(c->s, bytes);
    for (int64_t i = 0; i < c->run_count; i++) {
        const pithp_map_chunk *run = chunk_at((char *)chunks->list, c->run_bytes, i);
        const uint8_t *dtypes = c->text->loops[run->loop].dtypes;
        for (int64_t at = 0; at < run->count; at += width) {
            pithp_map_chunk *chunk = chunk_at(list, c->run_bytes, next++);
            chunk->loop = run->loop;
            chunk->count = run->count - at < width ? run->count - at : width;
            for (int k = 0; k <= c->text->trees; k++)
                chunk->at[k] =
                    (char *)run->at[k] +
                    (size_t)at * pith_dtype_size((pith_dtype)dtypes[k ? k - 1 : 0]);
        }
    }
    pithp_scratch_release(c->s->runtime, chunks->list, chunks->bytes);
    *chunks = (pithp_map_chunks){.list = (pithp_map_chunk *)(void *)list, .bytes = bytes};
    c->run_count = count;
    return PITH_OK;
}

static pith_status describe(chunking *c, pithp_map_args *args, pithp_map_chunks *chunks) {
    args->streamed = c->result_bytes >= STREAMED_BYTES;
    if (c->run_count <= 1) {
        args->total = c->elements;
        args->shift = 62;
        if (c->run_count)
            memcpy(&args->whole, chunks->list, c->run_bytes);
        return PITH_OK;
    }
    const int64_t shift = pithp_pieces_shift(c->run_count, c->elements);
    if (c->longest > (int64_t)1 << shift) {
        const pith_status rc = cut(c, shift, chunks);
        if (rc != PITH_OK)
            return rc;
    }
    args->total = c->run_count << shift;
    args->shift = shift;
    args->chunks = pithp_stage(c->s, chunks->list, (size_t)c->run_count * c->run_bytes,
                               &chunks->device);
    return args->chunks ? PITH_OK : c->s->error.code;
}

pith_status pithp_map_chunks_make(pith_scope *s,
                                  const pithp_forest *forest,
                                  const pith_array *const *results,
                                  pithp_map_text *text,
                                  pithp_map_args *args,
                                  pithp_map_chunks *chunks) {
    chunking c = {.s = s,
                  .structure = &forest->first.structure,
                  .text = text,
                  .results = results,
                  .run_bytes = offsetof(pithp_map_chunk, at) +
                               (size_t)(text->trees + 1) * sizeof(void *)};
    for (int k = 0; k < text->trees; k++)
        c.leaves[k] = pithp_forest_items(forest, k);
    *chunks = (pithp_map_chunks){.bytes = (size_t)c.structure->item_count * c.run_bytes};
    chunks->list = pithp_scratch_allocate(s->runtime, chunks->bytes);
    if (!chunks->list)
        return pithp_fail_memory(s, chunks->bytes);
    c.run = (char *)chunks->list;
    pith_status rc = find_all_runs(&c);
    if (rc == PITH_OK)
        rc = describe(&c, args, chunks);
    if (rc != PITH_OK)
        pithp_map_chunks_end(s, chunks);
    return rc;
}

void pithp_map_chunks_end(pith_scope *s, pithp_map_chunks *chunks) {
    pithp_buffer_release(chunks->device, 1);
    pithp_scratch_release(s->runtime, chunks->list, chunks->bytes);
}
