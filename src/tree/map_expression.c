/* Maps by a fused expression. On the host, runs of contiguous leaves go through all
 * operations in one pass; small results share one block. On other devices, all leaves are
 * one program. Otherwise the expression is applied leaf by leaf. */
#include "array/expression.h"
#include "tree/map_runs.h"

#include <inttypes.h>
#include <string.h>

enum { PARAMETERS = 8, OPERANDS = PITHP_MAP_TREES + PARAMETERS };

static const char *const function = "pith_tree_map_expression";

/* A call in progress. */
typedef struct call {
    pith_scope *s;
    pith_scope *work; /* owns the parameters */
    pithp_expression expression;
    int trees, parameters;
    const pith_array *scalars[PITHP_MAP_TREES]; /* a tree that is one element for all
                                                   leaves; NULL: the tree is in the zip */
    int number[PITHP_MAP_TREES];                /* index of the tree in the zip */
    const double *values;                       /* of the parameters */
    const pith_array *singles[PARAMETERS], *doubles[PARAMETERS]; /* NULL until used */
    pithp_zip zip;
} call;

/* ---- Operands ---- */

/* p[i]: f32 if the leaf of the first tree is f32, f16 or bf16, else f64. NULL sets the
 * error. */
static const pith_array *parameter(call *c, pith_dtype first, int i) {
    const bool single = first == PITH_F32 || first == PITH_F16 || first == PITH_BF16;
    const pith_array **made = single ? &c->singles[i] : &c->doubles[i];
    if (!*made)
        *made = single ? pith_f32(c->work, (float)c->values[i])
                       : pith_f64(c->work, c->values[i]);
    return *made;
}

static const pith_array *leaf_of(const call *c, int tree, int64_t i) {
    return c->scalars[tree] ? c->scalars[tree]
                            : pithp_zip_items(&c->zip, c->number[tree])[i];
}

/* ---- Runs of leaves ---- */

static pith_status
find_code(call *c, const pithp_map_loop *loop, pithp_fused_code **code) {
    pithp_fused_key key;
    memset(&key, 0, sizeof key); /* padding too: keys are compared as bytes */
    key.count = c->trees + c->parameters;
    key.as = loop->dtypes[0];
    for (int k = 0; k < c->trees; k++) {
        const int n = c->number[k];
        key.dtypes[k] = c->scalars[k] ? (uint8_t)pithp_array_spec(c->scalars[k])->dtype
                                      : loop->dtypes[n];
        key.scalar |= (uint32_t)(c->scalars[k] || loop->scalar >> n & 1) << k;
    }
    for (int i = 0; i < c->parameters; i++) {
        const pith_array *p = parameter(c, (pith_dtype)loop->dtypes[0], i);
        if (!p)
            return c->work->error.code;
        key.dtypes[c->trees + i] = (uint8_t)pithp_array_spec(p)->dtype;
        key.scalar |= 1u << (c->trees + i);
    }
    return pithp_expression_fuse(c->s, &c->expression, &key, code);
}

static pith_status run_one(call *c,
                           const pithp_map_loop *loop,
                           const pithp_map_run *run,
                           pithp_fused_code *code) {
    const void *operands[OPERANDS];
    for (int k = 0; k < c->trees; k++)
        operands[k] = c->scalars[k] ? c->scalars[k]->data : run->at[c->number[k] + 1];
    for (int i = 0; i < c->parameters; i++)
        operands[c->trees + i] = parameter(c, (pith_dtype)loop->dtypes[0], i)->data;
    return pithp_fused_code_run(c->s, code, operands, run->at[0], run->count);
}

/* *done: all runs ran, or the error is set. false: a loop cannot be fused. */
static pith_status run_all(call *c, const pithp_map_runs *runs, bool *done) {
    pithp_fused_code *codes[PITHP_MAP_LOOPS] = {NULL};
    pith_status rc = PITH_OK;
    *done = !runs->too_many;
    for (int k = 0; *done && k < runs->loop_count; k++) {
        rc = find_code(c, &runs->loops[k], &codes[k]);
        *done = codes[k] != NULL;
        if (rc != PITH_OK)
            pithp_item_prefix(c->s, &c->zip.first.structure, runs->items[k]);
    }
    for (int64_t k = 0; *done && rc == PITH_OK && k < runs->count; k++) {
        const pithp_map_run *run = &runs->list[k];
        rc = run_one(c, &runs->loops[run->loop], run, codes[run->loop]);
    }
    for (int k = 0; k < runs->loop_count; k++)
        pithp_fused_code_release(codes[k]);
    *done |= rc != PITH_OK;
    return rc;
}

/* Make and write the results of all items. */
static pith_status map_runs(call *c, const pith_array **results, bool *done) {
    const pithp_structure *t = &c->zip.first.structure;
    pithp_map_runs runs;
    pith_status rc = pithp_arrays_make(c->s, t->item_count, t->specs, results);
    *done = true;
    if (rc != PITH_OK)
        return rc;
    rc = pithp_map_runs_make(c->s, &c->zip, results, &runs);
    if (rc == PITH_OK) {
        rc = run_all(c, &runs, done);
        pithp_map_runs_end(c->s, &runs);
    }
    for (int64_t i = 0; (rc != PITH_OK || !*done) && i < t->item_count; i++)
        pithp_array_drop(c->s, results[i]);
    return rc;
}

/* ---- Leaf by leaf ---- */

static pith_status operands_at(call *c, int64_t i, const pith_array **operands) {
    const pithp_structure *t = &c->zip.first.structure;
    for (int k = 0; k < c->trees; k++) {
        operands[k] = leaf_of(c, k, i);
        pith_status rc = pithp_operand_check(c->s, operands[k], function, "leaf");
        if (rc != PITH_OK) {
            pithp_item_prefix(c->s, t, i);
            return rc;
        }
        rc = pithp_map_check_shape(c->s, t, i, k, pithp_array_spec(operands[0]),
                                   pithp_array_spec(operands[k]));
        if (rc != PITH_OK)
            return rc;
    }
    const pith_dtype first = pithp_array_spec(operands[0])->dtype;
    for (int p = 0; p < c->parameters; p++)
        if (!(operands[c->trees + p] = parameter(c, first, p)))
            return c->work->error.code;
    return PITH_OK;
}

static const pith_array *map_one(call *c, int64_t i) {
    const pith_array *operands[OPERANDS];
    if (operands_at(c, i, operands) != PITH_OK)
        return NULL;
    const pith_spec *like = pithp_array_spec(operands[0]);
    pith_scope *w = pithp_temporaries_open(c->s);
    if (!w)
        return NULL;
    bool fits;
    const pith_array *made =
        pithp_expression_record(w, &c->expression, operands, like->dtype);
    if (made)
        made = pithp_broadcast(w, made, like->rank, like->shape, &fits);
    made = pithp_temporaries_close(c->s, w, made);
    if (!made)
        pithp_item_prefix(c->s, &c->zip.first.structure, i);
    return made;
}

/* ---- All leaves as one program ---- */

static pith_status run_joined(call *c,
                              const pithp_leaf_operands *leaves,
                              const pith_array **results,
                              bool *done) {
    const pithp_structure *t = &c->zip.first.structure;
    pithp_fused_code *code;
    pith_status rc = pithp_expression_join(c->s, &c->expression, leaves, &code);
    if (rc != PITH_OK && *leaves->refused >= 0)
        pithp_item_prefix(c->s, t, *leaves->refused);
    *done = code || rc != PITH_OK;
    if (!code)
        return rc;
    rc = pithp_arrays_make(c->s, t->item_count, t->specs, results);
    if (rc == PITH_OK) {
        rc = pithp_joined_run(c->s, code, leaves, results);
        for (int64_t i = 0; rc != PITH_OK && i < t->item_count; i++)
            pithp_array_drop(c->s, results[i]);
    }
    pithp_fused_code_release(code);
    return rc;
}

static pith_status map_joined(call *c, const pith_array **results, bool *done) {
    const int64_t count = c->zip.first.structure.item_count;
    const int width = c->trees + c->parameters;
    const size_t of_operands = (size_t)count * (size_t)width * sizeof(void *),
                 bytes = of_operands + (size_t)count * sizeof(int64_t);
    char *memory = pithp_scratch_allocate(c->s->runtime, bytes);
    *done = true;
    if (!memory)
        return pithp_fail_memory(c->s, bytes);
    const pith_array **operands = (const pith_array **)(void *)memory;
    int64_t *order = (int64_t *)(void *)(memory + of_operands);
    pith_status rc = PITH_OK;
    for (int64_t i = 0; i < count && rc == PITH_OK; i++)
        rc = operands_at(c, i, operands + i * width);
    int64_t refused = -1;
    const pithp_leaf_operands leaves = {count, width, operands, order, &refused};
    if (rc == PITH_OK) {
        pithp_leaf_operands_sort(&leaves);
        rc = run_joined(c, &leaves, results, done);
    }
    pithp_scratch_release(c->s->runtime, memory, bytes);
    return rc;
}

/* ---- All leaves ---- */

static pith_status map_items(call *c, const pith_array **results) {
    bool done = false;
    pith_status rc = PITH_OK;
    if (!pithp_scope_trace(c->s))
        rc = pithp_scope_device(c->s)->backend->addressable
                 ? map_runs(c, results, &done)
                 : map_joined(c, results, &done);
    for (int64_t i = 0; !done && i < c->zip.first.structure.item_count; i++)
        if (!(results[i] = map_one(c, i)))
            return c->s->error.code;
    return rc;
}

static const void *map_zip(call *c, const void *like) {
    const pithp_structure *t = &c->zip.first.structure;
    const size_t bytes = (size_t)t->item_count * sizeof(void *);
    const pith_array **results = pithp_scratch_allocate(c->s->runtime, bytes);
    if (!results) {
        pithp_fail_memory(c->s, bytes);
        return NULL;
    }
    const void *made = NULL;
    if (t->item_count == 0 || map_items(c, results) == PITH_OK)
        made = pithp_build_made(c->s, t, pithp_owner_of(like), results);
    pithp_scratch_release(c->s->runtime, results, bytes);
    return made;
}

/* Trees after the first that are one array of rank 0 apply to all leaves. */
static bool is_scalar_tree(const void *const *trees, int k) {
    pithp_block *block = NULL;
    return k > 0 && pithp_pointer_check(trees[k], &block) == PITHP_POINTER_OK &&
           pithp_kind_is_array(trees[k]) && pithp_array_spec(trees[k])->rank == 0;
}

static const void *map_trees(call *c, const void *const *trees) {
    const void *of_forest[PITHP_MAP_TREES];
    pithp_trees all = {.function = function, .at = of_forest};
    for (int k = 0; k < c->trees; k++) {
        c->scalars[k] = is_scalar_tree(trees, k) ? trees[k] : NULL;
        c->number[k] = (int)all.count;
        if (!c->scalars[k])
            of_forest[all.count++] = trees[k];
        else if (pithp_operand_check(c->s, trees[k], function, "tree") != PITH_OK)
            return NULL;
    }
    if (pithp_zip_make(c->s, &c->zip, &all) != PITH_OK)
        return NULL;
    const void *made = NULL;
    c->work = pithp_temporaries_open(c->s);
    if (c->work)
        made = map_zip(c, trees[0]);
    if (c->work)
        pithp_temporaries_close(c->s, c->work, NULL);
    pithp_zip_end(&c->zip);
    return made;
}

static pith_status begin(call *c,
                         const char *text,
                         int64_t count,
                         const void *const *trees,
                         int64_t parameter_count) {
    static const pith_binding operands[PITHP_MAP_TREES] = {
        {"a", NULL}, {"b", NULL}, {"c", NULL}, {"d", NULL},
        {"e", NULL}, {"f", NULL}, {"g", NULL}, {"h", NULL}};
    pith_scope *s = c->s;
    if (!text)
        return pithp_fail(s, PITH_E_ARG, NULL, "%s: expression is NULL", function);
    if (count < 1 || count > PITHP_MAP_TREES)
        return pithp_fail(s, PITH_E_ARG, NULL, "%s: %" PRId64 " trees, expected 1 to %d",
                          function, count, PITHP_MAP_TREES);
    if (!trees)
        return pithp_fail(s, PITH_E_ARG, NULL, "%s: trees is NULL", function);
    if (parameter_count < 0 || parameter_count > PARAMETERS)
        return pithp_fail(s, PITH_E_ARG, NULL,
                          "%s: %" PRId64 " parameters, expected 0 to %d", function,
                          parameter_count, PARAMETERS);
    if (parameter_count && !c->values)
        return pithp_fail(s, PITH_E_ARG, NULL, "%s: parameters is NULL", function);
    c->trees = (int)count;
    c->parameters = (int)parameter_count;
    const pithp_expression_names names = {.bindings = operands,
                                          .count = c->trees,
                                          .parameters = c->parameters,
                                          .c_types = true};
    return pithp_expression_parse(s, &c->expression, text, &names);
}

const void *pith_tree_map_expression(pith_scope *s,
                                     const char *expression,
                                     int64_t count,
                                     const void *const *trees,
                                     int64_t parameter_count,
                                     const double *parameters) {
    const void *nil = count > 0 && trees ? pithp_nil_for(trees[0]) : NULL;
    if (!pithp_enter(s))
        return nil;
    call c = {.s = s, .values = parameters};
    if (begin(&c, expression, count, trees, parameter_count) != PITH_OK)
        return nil;
    const void *made = map_trees(&c, trees);
    pithp_expression_end(&c.expression);
    return made ? made : nil;
}
