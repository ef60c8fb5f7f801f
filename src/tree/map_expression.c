/* An expression over all leaves of trees in one launch. Results share one block where
 * they are small; code is compiled once for an expression and the dtypes it meets. */
#include "program/cuda/cuda.h"
#include "program/math/link.h"
#include "tree/expression_tree.h"
#include "tree/map_cache.h"
#include "tree/map_chunks.h"

#include <string.h>

enum { GRAIN = 16384 };

/* A call in progress. */
typedef struct call {
    pith_scope *s;
    const char *expression;
    pithp_forest forest;
    pithp_map_text text;
    pithp_map_args args;
} call;

/* ---- Code ---- */

static pith_status compile(const call *c, pithp_map_code *code) {
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

static pith_status find_code(const call *c, pithp_map_code *code) {
    pithp_text key;
    pithp_text_begin(&key, c->s->runtime);
    pithp_text_print(&key, "%d %d ", c->text.trees, c->text.parameters);
    pithp_text_add_n(&key, (const char *)c->text.loops,
                     (size_t)c->text.loop_count * sizeof *c->text.loops);
    pithp_text_add(&key, c->expression);
    pith_status rc = PITH_OK;
    if (key.failed) {
        rc = pithp_fail_memory(c->s, key.length);
    } else if (!pithp_map_cache_find(c->s, key.bytes, key.length, code)) {
        rc = c->s->error.code;
        if (rc == PITH_OK)
            rc = compile(c, code);
        if (rc == PITH_OK)
            pithp_map_cache_add(c->s, key.bytes, key.length, code);
    }
    pithp_text_end(&key);
    return rc;
}

/* ---- The call ---- */

static pith_status launch(call *c) {
    pithp_map_code code = {0};
    pith_status rc = find_code(c, &code);
    if (rc != PITH_OK)
        return rc;
    code.launch.args = &c->args;
    code.launch.args_bytes = sizeof c->args;
    code.launch.count = c->args.total;
    rc = pithp_launch_run(c->s, &code.launch);
    pithp_map_code_release(&code);
    return rc;
}

/* Results of every place, made and written. */
static pith_status make_results(call *c, const pith_array **results) {
    const pithp_structure *t = &c->forest.first.structure;
    pithp_map_chunks chunks;
    pith_status rc = pithp_arrays_make(c->s, t->item_count, t->specs, results);
    if (rc != PITH_OK)
        return rc;
    rc = pithp_map_chunks_make(c->s, &c->forest, results, &c->text, &c->args, &chunks);
    if (rc == PITH_OK) {
        rc = launch(c);
        pithp_map_chunks_end(c->s, &chunks);
    }
    for (int64_t i = 0; rc != PITH_OK && i < t->item_count; i++)
        pithp_array_drop(c->s, results[i]);
    return rc;
}

/* ---- Traced leaves: the expression as primitives ---- */

static bool any_traced(const call *c) {
    const int64_t items = c->forest.first.structure.item_count;
    if (PITHP_LIKELY(!pithp_scope_trace(c->s)))
        return false;
    for (int k = 0; k < c->text.trees; k++)
        for (int64_t i = 0; i < items; i++)
            if (pithp_header_of(pithp_forest_items(&c->forest, k)[i])->extra &
                PITHP_ARRAY_TRACED)
                return true;
    return false;
}

static const pith_array *record_one(const call *c, const pithp_term *term, int64_t i) {
    static const char *const function = "pith_tree_map_expression";
    const pithp_structure *t = &c->forest.first.structure;
    const pith_array *leaves[PITHP_MAP_TREES];
    const pith_spec *specs[PITHP_MAP_TREES];
    bool integers = false;
    for (int k = 0; k < c->text.trees; k++) {
        leaves[k] = pithp_forest_items(&c->forest, k)[i];
        if (pithp_operand_check(c->s, leaves[k], function, "leaf") != PITH_OK) {
            pithp_item_prefix(c->s, t, i);
            return NULL;
        }
        specs[k] = pithp_array_spec(leaves[k]);
        integers |= !pith_dtype_is_float(specs[k]->dtype);
        if (pithp_map_check_shape(c->s, t, i, k, specs[0], specs[k]) != PITH_OK)
            return NULL;
    }
    if (integers && pithp_map_check_division(c->s, t, i, c->expression) != PITH_OK)
        return NULL;
    const pith_array *made =
        pithp_expression_bind(c->s, term, leaves, c->args.parameters);
    if (!made)
        pithp_item_prefix(c->s, t, i);
    return made;
}

static pith_status record_all(const call *c, const pith_array **results) {
    const pithp_term *term = pithp_expression_parse(c->s, c->expression);
    for (int64_t i = 0; term && i < c->forest.first.structure.item_count; i++)
        if (!(results[i] = record_one(c, term, i)))
            break;
    return c->s->error.code;
}

/* ---- All leaves ---- */

static pith_status map_items(call *c, const pith_array **results) {
    return any_traced(c) ? record_all(c, results) : make_results(c, results);
}

static const void *map_forest(call *c, const void *like) {
    const pithp_structure *t = &c->forest.first.structure;
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
        pithp_forest_make(s, &c.forest,
                          &(pithp_trees){.function = "pith_tree_map_expression",
                                         .count = count,
                                         .at = trees}) != PITH_OK)
        return nil;
    const void *made = map_forest(&c, trees[0]);
    pithp_forest_end(&c.forest);
    return made ? made : nil;
}
