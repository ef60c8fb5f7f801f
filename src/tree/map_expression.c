/* An expression over all leaves of trees in one launch. Results share one block where
 * they are small; where the leaves of every tree lie as the results do, the launch runs
 * flat over it, else by a table of chunks that is made once for specs of leaves. */
#include "program/cuda/cuda.h"
#include "program/math/link.h"
#include "tree/expression.h"
#include "tree/map_cache.h"

#include <string.h>

enum { GRAIN = 16384, LEAST_SHIFT = 8, MOST_SHIFT = 16 };

/* A call in progress. */
typedef struct call {
    pith_scope *s;
    const char *expression;
    pithp_forest forest;
    pithp_map_text text;
    uint8_t *loops; /* of each leaf */
    const pith_array **results;
    pithp_map_args args;
} call;

static const pith_array *leaf_of(const call *c, int64_t tree, int64_t leaf) {
    return pithp_forest_items(&c->forest, tree)[leaf];
}

/* ---- Operands ---- */

/* A leaf's place in every tree: concrete, ordered after what wrote it, of one shape. */
static pith_status check_place(const call *c, int64_t i) {
    const pith_spec *first = c->forest.first.structure.specs[i];
    const pithp_stream *stream = pithp_scope_stream(c->s);
    for (int k = 0; k < c->text.trees; k++) {
        const pith_array *leaf = leaf_of(c, k, i);
        const pithp_header *h = pithp_header_of(leaf);
        const pithp_structure *t = &c->forest.first.structure;
        if (h->extra & PITHP_ARRAY_TRACED)
            return pithp_item_fail(c->s, t, i, PITH_E_TRACED,
                                   "a traced array in pith_tree_map_expression");
        if (PITHP_UNLIKELY(h->extra || leaf->buffer->stream != stream)) {
            const pith_status rc =
                pithp_array_check(c->s, leaf, "pith_tree_map_expression", "leaf");
            if (rc != PITH_OK) {
                pithp_item_prefix(c->s, t, i);
                return rc;
            }
        }
        const pith_spec *spec = h->shape;
        if (PITHP_LIKELY(spec == first))
            continue;
        if (spec->rank != first->rank ||
            memcmp(spec->shape, first->shape, (size_t)spec->rank * sizeof *spec->shape) !=
                0) {
            char a[PITHP_SPEC_TEXT_BYTES], b[PITHP_SPEC_TEXT_BYTES];
            return pithp_item_fail(c->s, t, i, PITH_E_SHAPE,
                                   "expected shape %s, got %s in tree %d",
                                   pithp_shape_print(first->rank, first->shape, a),
                                   pithp_shape_print(spec->rank, spec->shape, b), k);
        }
    }
    return PITH_OK;
}

static pithp_map_loop dtypes_of(const call *c, int64_t i) {
    pithp_map_loop l = {{0}};
    for (int k = 0; k < c->text.trees; k++)
        l.dtypes[k] = (uint8_t)pithp_array_spec(leaf_of(c, k, i))->dtype;
    return l;
}

static bool takes_integers(const pithp_map_loop *l) {
    for (int k = 0; k < PITHP_MAP_TREES; k++)
        if (l->dtypes[k] && !pith_dtype_is_float((pith_dtype)l->dtypes[k]))
            return true;
    return false;
}

/* Find the loop of every leaf; new tuples of dtypes get new ones. */
static pith_status find_loops(call *c) {
    const pithp_structure *t = &c->forest.first.structure;
    const bool divides = pithp_expression_divides(c->expression);
    int last = 0;
    for (int64_t i = 0; i < t->item_count; i++) {
        const pith_status rc = check_place(c, i);
        if (rc != PITH_OK)
            return rc;
        const pithp_map_loop l = dtypes_of(c, i);
        if (c->text.loop_count == 0 || memcmp(&c->text.loops[last], &l, sizeof l) != 0) {
            for (last = 0; last < c->text.loop_count; last++)
                if (memcmp(&c->text.loops[last], &l, sizeof l) == 0)
                    break;
            if (last == PITHP_MAP_LOOPS)
                return pithp_item_fail(c->s, t, i, PITH_E_UNSUPPORTED,
                                       "more than %d combinations of dtypes",
                                       PITHP_MAP_LOOPS);
            if (last == c->text.loop_count) {
                if (divides && takes_integers(&l))
                    return pithp_item_fail(
                        c->s, t, i, PITH_E_DTYPE,
                        "the expression divides, which integers do with quotient(x, y) "
                        "and rest(x, y)");
                c->text.loops[c->text.loop_count++] = l;
            }
        }
        c->loops[i] = (uint8_t)last;
    }
    return PITH_OK;
}

/* ---- Where the work is ---- */

/* Bytes from a small leaf to the next in a block of pithp_arrays_make. */
static size_t step_of(const pith_spec *spec) {
    return (spec->bytes + PITHP_ALIGNMENT - 1) & ~(size_t)(PITHP_ALIGNMENT - 1);
}

/* Whether the leaves of a tree lie in a block as arrays made together do, and have the
 * first tree's specs, all of one dtype. */
static bool lies_flat(const call *c, int64_t tree) {
    const pithp_structure *t = &c->forest.first.structure;
    const pith_array *const *leaves = pithp_forest_items(&c->forest, tree);
    const pithp_buffer *buffer = leaves[0]->buffer;
    const char *expected = leaves[0]->data;
    const pith_spec *last = t->specs[0];
    size_t step = step_of(last);
    for (int64_t i = 0; i < t->item_count; i++) {
        const pithp_header *h = pithp_header_of(leaves[i]);
        const pith_spec *spec = t->specs[i];
        if (h->extra || h->shape != spec || leaves[i]->buffer != buffer ||
            leaves[i]->data != expected)
            return false;
        if (spec != last) {
            if (spec->dtype != last->dtype)
                return false;
            last = spec;
            step = step_of(spec);
        }
        expected += step;
    }
    return buffer->stream == pithp_scope_stream(c->s);
}

/* Plan one chunk over the whole block, gaps included where they are few. False: the
 * leaves do not lie so, and are not checked. */
static bool plan_flat(call *c) {
    const pithp_structure *t = &c->forest.first.structure;
    if (t->item_count == 0 || pithp_array_is_traced(leaf_of(c, 0, 0)))
        return false;
    size_t span = 0;
    int64_t elements = 0;
    for (int64_t i = 0; i < t->item_count; i++) {
        span += i + 1 < t->item_count ? step_of(t->specs[i]) : t->specs[i]->bytes;
        elements += t->specs[i]->count;
    }
    const int64_t total = (int64_t)(span / pith_dtype_size(t->specs[0]->dtype));
    if (total > elements + elements / 4)
        return false;
    for (int k = 0; k < c->text.trees; k++)
        if (pithp_array_is_traced(leaf_of(c, k, 0)) || !lies_flat(c, k))
            return false;
    c->text.loops[0] = dtypes_of(c, 0);
    if (takes_integers(&c->text.loops[0]) && pithp_expression_divides(c->expression))
        return false;
    c->text.loop_count = 1;
    c->args.whole = (pithp_map_chunk){.count = total};
    c->args.total = total;
    c->args.shift = 62;
    return true;
}

/* Whether the results lie so too: large ones have blocks of their own. */
static bool results_are_flat(call *c) {
    const pithp_structure *t = &c->forest.first.structure;
    const int64_t last = t->item_count - 1;
    const pith_array *operand = leaf_of(c, 0, last);
    if (c->results[0]->buffer != c->results[last]->buffer ||
        (const char *)c->results[last]->data - (const char *)c->results[0]->data !=
            (const char *)operand->data - (const char *)leaf_of(c, 0, 0)->data)
        return false;
    c->args.direct[0] = c->results[0]->data;
    for (int k = 0; k < c->text.trees; k++)
        c->args.direct[k + 1] = leaf_of(c, k, 0)->data;
    return true;
}

/* Chunks of one width, a power of two about the mean size of a leaf. */
static pith_status make_table(const call *c, pithp_map_cached *table) {
    const pithp_structure *t = &c->forest.first.structure;
    int64_t elements = 0, count = 0;
    for (int64_t i = 0; i < t->item_count; i++)
        elements += t->specs[i]->count;
    table->shift = LEAST_SHIFT;
    while (table->shift < MOST_SHIFT && (t->item_count << table->shift) < elements)
        table->shift++;
    const int64_t width = (int64_t)1 << table->shift;
    for (int64_t i = 0; i < t->item_count; i++)
        count += (t->specs[i]->count + width - 1) >> table->shift;
    table->total = count << table->shift;
    const size_t bytes = (size_t)count * sizeof(pithp_map_chunk);
    pithp_map_chunk *chunks = pithp_scratch_allocate(c->s->runtime, bytes);
    if (!chunks)
        return pithp_fail_memory(c->s, bytes);
    for (int64_t i = 0, next = 0; i < t->item_count; i++)
        for (int64_t at = 0; at < t->specs[i]->count; at += width) {
            const int64_t left = t->specs[i]->count - at;
            chunks[next++] = (pithp_map_chunk){.leaf = (int32_t)i,
                                               .loop = c->loops[i],
                                               .begin = at,
                                               .count = left < width ? left : width};
        }
    table->chunks = pithp_buffer_make(c->s, bytes ? bytes : 1);
    pith_status rc = table->chunks ? PITH_OK : c->s->error.code;
    if (rc == PITH_OK && bytes)
        rc = pithp_copy_in(c->s, table->chunks->data, chunks, bytes);
    pithp_scratch_release(c->s->runtime, chunks, bytes);
    return rc;
}

static pith_status find_table(const call *c, pithp_map_cached *table) {
    const pithp_structure *t = &c->forest.first.structure;
    const size_t specs = (size_t)t->item_count * sizeof *t->specs;
    const size_t bytes = specs + (size_t)t->item_count;
    char *key = pithp_scratch_allocate(c->s->runtime, bytes);
    if (!key)
        return pithp_fail_memory(c->s, bytes);
    memcpy(key, t->specs, specs);
    memcpy(key + specs, c->loops, (size_t)t->item_count);
    pith_status rc = PITH_OK;
    if (!pithp_map_cache_find(c->s, PITHP_MAP_CACHE_TABLES, key, bytes, table)) {
        rc = c->s->error.code;
        if (rc == PITH_OK)
            rc = make_table(c, table);
        if (rc == PITH_OK)
            pithp_map_cache_add(c->s, PITHP_MAP_CACHE_TABLES, key, bytes, table);
    } else {
        rc = pithp_buffer_read(c->s, table->chunks);
    }
    pithp_scratch_release(c->s->runtime, key, bytes);
    return rc;
}

/* The addresses of all leaves, in memory of the device. NULL: error set. */
static pithp_buffer *make_addresses(const call *c) {
    const int64_t count = c->forest.first.structure.item_count;
    const int each = c->text.trees + 1;
    const size_t bytes = (size_t)count * (size_t)each * sizeof(void *);
    void **addresses = pithp_scratch_allocate(c->s->runtime, bytes);
    if (!addresses) {
        pithp_fail_memory(c->s, bytes);
        return NULL;
    }
    for (int64_t i = 0; i < count; i++) {
        addresses[i * each] = c->results[i]->data;
        for (int k = 0; k < c->text.trees; k++)
            addresses[i * each + k + 1] = leaf_of(c, k, i)->data;
    }
    pithp_buffer *buffer = pithp_buffer_make(c->s, bytes);
    if (buffer && pithp_copy_in(c->s, buffer->data, addresses, bytes) != PITH_OK) {
        pithp_buffer_release(buffer, 1);
        buffer = NULL;
    }
    pithp_scratch_release(c->s->runtime, addresses, bytes);
    return buffer;
}

/* ---- Code ---- */

static pith_status compile(const call *c, pithp_map_cached *code) {
    pithp_text text;
    pithp_text_begin(&text, c->s->runtime);
    const bool host = pithp_scope_device(c->s)->backend->addressable;
    pithp_text_add(&text, host ? pithp_text_host : pithp_text_cuda);
    if (host)
        pithp_math_text(&text);
    pithp_expression_emit(&text, &c->text);
    pith_status rc = PITH_OK;
    if (text.failed)
        rc = pithp_fail_memory(c->s, text.length);
    else
        rc = pithp_compile(c->s, text.bytes,
                           &(pithp_compile_options){.name = "pith_tree_map_expression"},
                           &code->module);
    pithp_text_end(&text);
    if (rc == PITH_OK && host)
        rc = pithp_math_link(c->s, code->module);
    if (rc != PITH_OK)
        return rc;
    code->launch = (pithp_launch){.name = "pith_tree_map_expression", .grain = GRAIN};
    return pithp_module_find(c->s, code->module, PITHP_MAP_FUNCTION, &code->launch);
}

static pith_status find_code(const call *c, pithp_map_cached *code) {
    pithp_text key;
    pithp_text_begin(&key, c->s->runtime);
    pithp_text_print(&key, "%d %d ", c->text.trees, c->text.parameters);
    pithp_text_add_n(&key, (const char *)c->text.loops,
                     (size_t)c->text.loop_count * sizeof *c->text.loops);
    pithp_text_add(&key, c->expression);
    pith_status rc = PITH_OK;
    if (key.failed) {
        rc = pithp_fail_memory(c->s, key.length);
    } else if (!pithp_map_cache_find(c->s, PITHP_MAP_CACHE_CODE, key.bytes, key.length,
                                     code)) {
        rc = c->s->error.code;
        if (rc == PITH_OK)
            rc = compile(c, code);
        if (rc == PITH_OK)
            pithp_map_cache_add(c->s, PITHP_MAP_CACHE_CODE, key.bytes, key.length, code);
    }
    pithp_text_end(&key);
    return rc;
}

/* ---- The call ---- */

static pith_status launch(call *c, bool flat) {
    pithp_map_cached code = {0}, table = {0};
    pithp_buffer *addresses = NULL;
    pith_status rc;
    PITH_TRY(find_code(c, &code));
    if (!flat) {
        PITH_TRY(find_table(c, &table));
        addresses = make_addresses(c);
        PITH_TRY(addresses ? PITH_OK : c->s->error.code);
        c->args.chunks = table.chunks->data;
        c->args.addresses = addresses->data;
        c->args.total = table.total;
        c->args.shift = table.shift;
    }
    code.launch.args = &c->args;
    code.launch.args_bytes = sizeof c->args;
    code.launch.count = c->args.total;
    rc = pithp_launch_run(c->s, &code.launch);
out:
    pithp_buffer_release(addresses, 1);
    pithp_map_cached_release(&table);
    pithp_map_cached_release(&code);
    return rc;
}

static const void *map_forest(call *c, const void *like) {
    const pithp_structure *t = &c->forest.first.structure;
    const size_t each = sizeof *c->results + sizeof *c->loops;
    const size_t bytes = (size_t)t->item_count * each;
    c->results = pithp_scratch_allocate(c->s->runtime, bytes);
    if (!c->results) {
        pithp_fail_memory(c->s, bytes);
        return NULL;
    }
    c->loops = (uint8_t *)(c->results + t->item_count);
    const void *made = NULL;
    pith_status rc = PITH_OK;
    const bool flat = plan_flat(c);
    if (flat)
        memset(c->loops, 0, (size_t)t->item_count);
    else
        rc = find_loops(c);
    if (rc == PITH_OK)
        rc = pithp_arrays_make(c->s, t->item_count, t->specs, c->results);
    if (rc == PITH_OK && t->item_count)
        rc = launch(c, flat && results_are_flat(c));
    if (rc == PITH_OK)
        made = pithp_build_made(c->s, t, pithp_owner_of(like), c->results);
    pithp_scratch_release(c->s->runtime, c->results, bytes);
    return made;
}

static pith_status
begin(call *c, int count, int parameter_count, const double *parameters) {
    static const char *const function = "pith_tree_map_expression";
    pith_scope *s = c->s;
    if (!c->expression)
        return pithp_fail(s, PITH_E_ARG, NULL, "%s: expression is NULL", function);
    if (count < 1 || count > PITHP_MAP_TREES)
        return pithp_fail(s, PITH_E_ARG, NULL, "%s: %d trees, expected 1 to %d", function,
                          count, PITHP_MAP_TREES);
    if (parameter_count < 0 || parameter_count > PITHP_MAP_PARAMETERS)
        return pithp_fail(s, PITH_E_ARG, NULL, "%s: %d parameters, expected 0 to %d",
                          function, parameter_count, PITHP_MAP_PARAMETERS);
    if (parameter_count && !parameters)
        return pithp_fail(s, PITH_E_ARG, NULL, "%s: parameters is NULL", function);
    c->text.expression = c->expression;
    c->text.trees = count;
    c->text.parameters = parameter_count;
    for (int i = 0; i < parameter_count; i++)
        c->args.parameters[i] = parameters[i];
    return pithp_expression_check(s, &c->text);
}

const void *pith_tree_map_expression(pith_scope *s,
                                     const char *expression,
                                     int count,
                                     const void *const *trees,
                                     int parameter_count,
                                     const double *parameters) {
    const void *nil = count > 0 && trees ? pithp_nil_for(trees[0]) : NULL;
    if (!pithp_enter(s))
        return nil;
    call c = {.s = s, .expression = expression};
    if (begin(&c, count, parameter_count, parameters) != PITH_OK ||
        pithp_forest_make(s, &c.forest, "pith_tree_map_expression", count, trees, NULL,
                          NULL) != PITH_OK)
        return nil;
    const void *made = map_forest(&c, trees[0]);
    pithp_forest_end(&c.forest);
    return made ? made : nil;
}
