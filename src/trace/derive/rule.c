/* Rules of the user: their functions are recorded when a derivation reaches a call of the
 * function that has them. */
#include "trace/derive/rule.h"

#include "pith/node.h"

#include <string.h>

/* rule(primals, tangents) */
static pithp_program *
record_tangent(pithp_function_rule *u, pith_scope *s, const bool *zeros) {
    static const char *const members[2] = {"value", "tangent"};
    pithp_rule_recording *r = pithp_scope_allocate(s, sizeof *r);
    if (!r)
        return NULL;
    *r = (pithp_rule_recording){
        .s = s, .rule = u, .which = PITHP_CUSTOM_TANGENT, .members = members};
    pith_status rc;
    PITH_TRY(pithp_rule_add_argument(r, &u->primals, NULL));
    PITH_TRY(pithp_rule_add_argument(r, &u->primals, zeros));
    PITH_TRY(pithp_rule_record(r));
    PITH_TRY(pithp_rule_check_like(r, &u->value, 0, "value"));
    PITH_TRY(pithp_rule_check_like(r, &u->value, 1, "tangent"));
out:
    return pithp_rule_finish(r, rc);
}

static pithp_program *record_custom(pithp_rule *rule,
                                    pith_scope *s,
                                    bool reverse,
                                    const bool *zeros,
                                    pithp_rule **linear) {
    pithp_function_rule *u = (pithp_function_rule *)(void *)rule;
    return reverse ? pithp_rule_record_forward(u, s, zeros, linear)
                   : record_tangent(u, s, zeros);
}

/* ---- Rules ---- */

void pithp_rule_refuse_bound(const pithp_function_rule *u,
                             pith_scope *s,
                             const char *site,
                             int k) {
    int t = u->argument_count;
    int64_t leaf = k;
    pithp_string path;
    for (; leaf >= u->trees[t].item_count; t++)
        leaf -= u->trees[t].item_count;
    pithp_string_begin(&path, s->runtime);
    pithp_structure_path(s->runtime, &u->trees[t], leaf, &path);
    const char *name = pithp_string_finish(s, &path);
    if (name)
        pithp_fail_at(s, PITH_E_DERIVATIVE, name, site,
                      "%s has a rule, and a tangent reaches a tree that is bound in it; "
                      "make it an argument",
                      u->rule.name);
}

static void refuse_bound(const pithp_rule *rule, pith_scope *s, const char *site, int k) {
    pithp_rule_refuse_bound((const pithp_function_rule *)(const void *)rule, s, site, k);
}

static size_t operand_bytes(const pithp_function_rule *u) {
    return (size_t)(u->rule.first_count + u->rule.bound_count + 1) * sizeof *u->operands;
}

static void free_custom(pithp_rule *rule) {
    pithp_function_rule *u = (pithp_function_rule *)(void *)rule;
    pith_runtime *rt = u->runtime;
    for (int t = 0; u->trees && t < u->tree_count; t++)
        pithp_structure_release(rt, &u->trees[t]);
    pithp_release(rt, u->trees, (size_t)u->tree_count * sizeof *u->trees);
    pithp_release(rt, u->rule.results,
                  ((size_t)u->rule.result_count + 1) * sizeof *u->rule.results);
    pithp_structure_release(rt, &u->primals);
    pithp_structure_release(rt, &u->value);
    pithp_release(rt, u->checks, (size_t)u->check_count * sizeof *u->checks);
    pithp_release(rt, u->operands, operand_bytes(u));
    if (u->store)
        pithp_trace_store_close(rt, u->store);
    pithp_release(rt, u, sizeof *u);
}

/* The function in the rule's scope, without its bound trees. NULL: error set. */
static const pith_function *
keep_function(pithp_function_rule *u, pith_scope *s, const pith_function *f) {
    if (!f->closure)
        return f;
    if (!u->store && !(u->store = pithp_trace_store_open(s)))
        return NULL;
    const int64_t count = pithp_function_bound(f, 0, NULL);
    const void **trees = pithp_scope_allocate(s, ((size_t)count + 1) * sizeof *trees);
    for (int64_t k = 0; trees && k < count; k++)
        trees[k] = pith_none_make(pithp_on_behalf(u->store));
    const pith_function *kept = trees ? pithp_function_rebind(u->store, f, trees) : NULL;
    if (!kept && s->error.code == PITH_OK)
        pithp_fail_as(s, &u->store->error);
    return kept;
}

static pith_status
keep_functions(pithp_function_rule *u, pith_scope *s, const pith_function *f) {
    const pithp_closure *c = f->closure;
    int tree = u->argument_count + (int)pithp_function_bound(c->base, 0, NULL);
    for (int k = 0; k < PITHP_MORE_BASES; k++) {
        u->first_tree[k] = tree;
        if (!c->more[k])
            continue;
        tree += (int)pithp_function_bound(c->more[k], 0, NULL);
        if (!(u->functions[k] = keep_function(u, s, c->more[k])))
            return s->error.code;
    }
    PITH_ASSERT(tree == u->tree_count);
    if (u->functions[PITHP_CUSTOM_BATCH])
        u->rule.batch = pithp_rule_record_batch;
    u->rule.forward = u->functions[PITHP_CUSTOM_TANGENT];
    u->rule.reverse = u->functions[PITHP_CUSTOM_FORWARD];
    return PITH_OK;
}

/* The argument, or a tuple of several. */
static pith_status
keep_primals(pithp_function_rule *u, pith_scope *s, const pithp_custom_call *call) {
    const void *trees[PITHP_MOST_PARAMETERS];
    pithp_flat all;
    if (u->argument_count == 1)
        return pithp_structure_copy(s, &u->primals, &call->flats[0].structure);
    for (int k = 0; k < u->argument_count; k++)
        if (!(trees[k] = pithp_part_build(s, &call->flats[k], call->flats[k].items)))
            return s->error.code;
    const void *tuple = pith_tuple_make(pithp_on_behalf(s), u->argument_count, trees);
    pith_status rc = tuple ? pithp_flat_make(s, &all, tuple, NULL, NULL) : s->error.code;
    if (rc != PITH_OK)
        return rc;
    rc = pithp_structure_copy(s, &u->primals, &all.structure);
    pithp_flat_end(&all);
    return rc;
}

static pith_status
keep_checks(pithp_function_rule *u, pith_scope *s, const pithp_custom_call *call) {
    const size_t bytes = (size_t)call->check_count * sizeof *u->checks;
    if (!bytes)
        return PITH_OK;
    u->checks = pithp_allocate(s->runtime, bytes);
    u->operands = pithp_allocate(s->runtime, operand_bytes(u));
    u->check_count = call->check_count;
    if (!u->checks || !u->operands)
        return pithp_fail_memory(s, bytes + operand_bytes(u));
    memcpy(u->checks, call->checks, bytes);
    memcpy(u->operands, call->operands, operand_bytes(u) - sizeof *u->operands);
    return PITH_OK;
}

static pith_status
fill(pithp_function_rule *u, pith_scope *s, const pithp_custom_call *call) {
    pith_status rc;
    const int64_t results = call->value->structure.item_count;
    u->trees = pithp_allocate(s->runtime, (size_t)u->tree_count * sizeof *u->trees);
    if (!u->trees)
        return pithp_fail_memory(s, (size_t)u->tree_count * sizeof *u->trees);
    memset(u->trees, 0, (size_t)u->tree_count * sizeof *u->trees);
    u->rule.results =
        pithp_allocate(s->runtime, ((size_t)results + 1) * sizeof *u->rule.results);
    u->rule.result_count = (int32_t)results;
    if (!u->rule.results)
        return pithp_fail_memory(s, (size_t)results * sizeof *u->rule.results);
    for (int t = 0; t < u->tree_count; t++) {
        PITH_TRY(pithp_structure_copy(s, &u->trees[t], &call->flats[t].structure));
        *(t < u->argument_count ? &u->rule.first_count : &u->rule.bound_count) +=
            (int32_t)u->trees[t].item_count;
        u->trees[t].hooks = false;
    }
    PITH_TRY(keep_primals(u, s, call));
    PITH_TRY(pithp_structure_copy(s, &u->value, &call->value->structure));
    u->primals.hooks = u->value.hooks = false;
    PITH_TRY(keep_checks(u, s, call));
    for (int64_t k = 0; k < results; k++)
        u->rule.results[k] = u->value.specs[k];
    rc = keep_functions(u, s, call->function);
out:
    return rc;
}

pithp_rule *pithp_custom_rule(pith_scope *s, const pithp_custom_call *call) {
    pithp_function_rule *u = pithp_allocate(s->runtime, sizeof *u);
    if (!u) {
        pithp_fail_memory(s, sizeof *u);
        return NULL;
    }
    *u = (pithp_function_rule){
        .rule = {.free = free_custom, .record = record_custom, .refuse = refuse_bound},
        .runtime = s->runtime,
        .argument_count = call->function->arity,
        .tree_count = call->tree_count};
    atomic_init(&u->rule.refs, 1);
    u->rule.name = call->function->name;
    if (fill(u, s, call) == PITH_OK)
        return &u->rule;
    pithp_rule_release(&u->rule);
    return NULL;
}
