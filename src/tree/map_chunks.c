/* Chunks of a one-launch map. Leaves that follow one another in every tree and in the
 * result, as those of one block do, are one run, few gaps included: a tree in one block
 * is one chunk, and one that was made leaf by leaf a chunk for each block of its scope.
 */
#include "tree/map_chunks.h"

#include <string.h>

/* Elements of a chunk: a power of two between these, about the mean length of a run. */
enum { LEAST_SHIFT = 8, MOST_SHIFT = 16, OPERANDS = PITHP_MAP_TREES + 1 };

static const char *const function = "pith_tree_map_expression";

typedef struct chunking {
    pith_scope *s;
    const pithp_structure *structure;
    pithp_map_text *text;
    const pith_array *const *lists[OPERANDS]; /* the results, then each tree's leaves */
    /* Of the leaves in the place that was looked at last: */
    const pith_spec *specs[OPERANDS];
    const pithp_buffer *buffers[OPERANDS];
    size_t steps[OPERANDS]; /* bytes to where a leaf of the same run would begin */
    int64_t loop, count;
    int64_t gap; /* elements behind the leaf that a run may take along */
    char *run;   /* the current one */
    size_t run_bytes;
    int64_t run_count, elements, longest;
} chunking;

static pithp_map_chunk *chunk_at(char *list, size_t bytes, int64_t i) {
    return (pithp_map_chunk *)(void *)(list + (size_t)i * bytes);
}

/* ---- What leaves must be ---- */

static pith_status check_leaf(const chunking *c, int operand, int64_t i) {
    const pith_array *leaf = c->lists[operand][i];
    const pith_status rc =
        pithp_header_of(leaf)->extra & PITHP_ARRAY_TRACED
            ? pithp_fail(c->s, PITH_E_TRACED, NULL, "a traced array in %s", function)
            : pithp_array_check(c->s, leaf, function, "leaf");
    if (rc != PITH_OK)
        pithp_item_prefix(c->s, c->structure, i);
    return rc;
}

static pith_status check_shape(const chunking *c, int operand, int64_t i) {
    const pith_spec *first = c->structure->specs[i], *spec = c->specs[operand];
    if (spec == first || (spec->rank == first->rank &&
                          memcmp(spec->shape, first->shape,
                                 (size_t)spec->rank * sizeof *spec->shape) == 0))
        return PITH_OK;
    char a[PITHP_SPEC_TEXT_BYTES], b[PITHP_SPEC_TEXT_BYTES];
    return pithp_item_fail(c->s, c->structure, i, PITH_E_SHAPE,
                           "expected shape %s, got %s in tree %d",
                           pithp_shape_print(first->rank, first->shape, a),
                           pithp_shape_print(spec->rank, spec->shape, b), operand - 1);
}

/* The number of a tuple of dtypes; new ones get the next. */
static pith_status find_loop(chunking *c, int64_t i) {
    pithp_map_text *text = c->text;
    pithp_map_loop loop = {{0}};
    bool integers = false;
    for (int k = 0; k < text->trees; k++) {
        loop.dtypes[k] = (uint8_t)c->specs[k + 1]->dtype;
        integers |= !pith_dtype_is_float(c->specs[k + 1]->dtype);
    }
    for (c->loop = 0; c->loop < text->loop_count; c->loop++)
        if (memcmp(&text->loops[c->loop], &loop, sizeof loop) == 0)
            return PITH_OK;
    if (c->loop == PITHP_MAP_LOOPS)
        return pithp_item_fail(c->s, c->structure, i, PITH_E_UNSUPPORTED,
                               "more than %d combinations of dtypes", PITHP_MAP_LOOPS);
    if (integers && pithp_expression_divides(text->expression))
        return pithp_item_fail(
            c->s, c->structure, i, PITH_E_DTYPE,
            "the expression divides, which integers do with quotient(x, y) "
            "and rest(x, y)");
    text->loops[text->loop_count++] = loop;
    return PITH_OK;
}

/* Elements from a leaf to the next in a block of pithp_arrays_make, and what a run takes
 * along: gaps where they are short. */
static void take_steps(chunking *c) {
    const pith_spec *first = c->specs[0];
    const size_t size = pith_dtype_size(first->dtype);
    const size_t end = first->bytes + PITHP_ALIGNMENT - 1;
    c->count = first->count;
    c->gap = (int64_t)((end - end % PITHP_ALIGNMENT - first->bytes) / size);
    if (c->gap > c->count / 4)
        c->gap = 0;
    for (int k = 0; k <= c->text->trees; k++)
        c->steps[k] = (size_t)(c->count + c->gap) * pith_dtype_size(c->specs[k]->dtype);
}

/* The leaves in this place have other specs than those before, or lie in other buffers,
 * or cannot be read. */
static pith_status look(chunking *c, int64_t i) {
    bool same = true;
    for (int k = 0; k <= c->text->trees; k++) {
        pith_status rc = k ? check_leaf(c, k, i) : PITH_OK;
        const pith_spec *spec = pithp_array_spec(c->lists[k][i]);
        same &= spec == c->specs[k];
        c->specs[k] = spec;
        c->buffers[k] = c->lists[k][i]->buffer;
        if (rc == PITH_OK && k)
            rc = check_shape(c, k, i);
        if (rc != PITH_OK)
            return rc;
    }
    if (same)
        return PITH_OK;
    take_steps(c);
    return find_loop(c, i);
}

/* ---- Runs ---- */

static void end_run(chunking *c, int64_t length) {
    if (c->run_count == 0)
        return;
    ((pithp_map_chunk *)(void *)c->run)->count = length;
    c->elements += length;
    c->longest = length > c->longest ? length : c->longest;
}

/* A run that begins with the leaves in a place; the one before it had that length. */
static void begin_run(chunking *c, int64_t length, int64_t i) {
    end_run(c, length);
    if (c->run_count++)
        c->run += c->run_bytes;
    pithp_map_chunk *run = (pithp_map_chunk *)(void *)c->run;
    run->loop = c->loop;
    for (int k = 0; k <= c->text->trees; k++)
        run->at[k] = c->lists[k][i]->data;
}

/* Runs of all leaves, at c->run. Inlined for each number of trees: this loop is most of
 * what a map over many small leaves costs beside the work itself. `now` is a copy of what
 * the last leaves were, which stays in registers. */
static inline __attribute__((always_inline)) pith_status find_runs(chunking *c,
                                                                   const int trees) {
    chunking now = *c;
    const char *next[OPERANDS] = {NULL}; /* where a leaf would go on with the run */
    int64_t length = 0, gap = 0;         /* of the run, and behind it */
    for (int64_t i = 0; i < now.structure->item_count; i++) {
        bool same = now.lists[0][i]->buffer == now.buffers[0];
        for (int k = 1; k <= trees; k++) {
            const pith_array *leaf = now.lists[k][i];
            const pithp_header *h = pithp_header_of(leaf);
            same &= (h->shape == now.specs[k]) & (leaf->buffer == now.buffers[k]) &
                    (h->extra == 0);
        }
        if (PITHP_UNLIKELY(!same)) {
            const pith_status rc = look(c, i);
            if (rc != PITH_OK)
                return rc;
            if (c->loop != now.loop)
                next[0] = NULL;
            for (int k = 0; k <= trees; k++)
                if (gap && c->buffers[k] != now.buffers[k])
                    next[0] = NULL; /* the gap is no part of the buffer */
            for (int k = 0; k <= trees; k++) {
                now.specs[k] = c->specs[k];
                now.buffers[k] = c->buffers[k];
                now.steps[k] = c->steps[k];
            }
            now.loop = c->loop, now.count = c->count, now.gap = c->gap;
        }
        if (PITHP_UNLIKELY(now.count == 0))
            continue;
        bool follows = true;
        for (int k = 0; k <= trees; k++) {
            const char *data = now.lists[k][i]->data;
            follows &= data == next[k];
            next[k] = data + now.steps[k];
        }
        if (PITHP_UNLIKELY(!follows)) {
            begin_run(c, length, i);
            length = gap = 0;
        }
        length += gap + now.count;
        gap = now.gap;
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

/* Where the launch finds the chunks: work that runs at once reads the host's memory. */
static pith_status
place(const chunking *c, pithp_map_args *args, pithp_map_chunks *chunks) {
    const pithp_device *d = pithp_scope_device(c->s);
    args->chunks = chunks->list;
    if (d->immediate && d->backend->addressable)
        return PITH_OK;
    const size_t bytes = (size_t)c->run_count * c->run_bytes;
    chunks->device = pithp_buffer_make(c->s, bytes);
    if (!chunks->device)
        return c->s->error.code;
    args->chunks = chunks->device->data;
    return pithp_copy_in(c->s, chunks->device->data, chunks->list, bytes);
}

static pith_status describe(chunking *c, pithp_map_args *args, pithp_map_chunks *chunks) {
    if (c->run_count <= 1) {
        args->total = c->elements;
        args->shift = 62;
        if (c->run_count)
            memcpy(&args->whole, chunks->list, c->run_bytes);
        return PITH_OK;
    }
    int64_t shift = LEAST_SHIFT;
    while (shift < MOST_SHIFT && (c->run_count << shift) < c->elements)
        shift++;
    if (c->longest > (int64_t)1 << shift) {
        const pith_status rc = cut(c, shift, chunks);
        if (rc != PITH_OK)
            return rc;
    }
    args->total = c->run_count << shift;
    args->shift = shift;
    return place(c, args, chunks);
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
                  .run_bytes = offsetof(pithp_map_chunk, at) +
                               (size_t)(text->trees + 1) * sizeof(void *)};
    c.lists[0] = results;
    for (int k = 0; k < text->trees; k++)
        c.lists[k + 1] = pithp_forest_items(forest, k);
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
