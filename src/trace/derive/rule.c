/* Rules of the user: their functions are recorded when a derivation reaches a call of the
 * function that has them. */
#include "pith/node.h"
#include "pith/vmap.h"

#include "trace/derive/derive_internal.h"

#include <string.h>

/* The rule of a call. Structures are in memory of the runtime, and functions made at run
 * time in a scope of the rule, with `none` for each bound tree. */
typedef struct custom_rule {
    pithp_rule rule;
    pith_runtime *runtime;
    pith_scope *store; /* NULL: all functions are static */
    const pith_function *functions[PITHP_MORE_BASES];
    int argument_count, tree_count;
    int first_tree[PITHP_MORE_BASES]; /* of a function's among all */
    pithp_structure *trees;           /* the arguments, then the bound trees */
    pithp_structure primals;          /* the argument, or a tuple of several */
    pithp_structure value;
    pithp_check_id *checks; /* that the function itself makes */
    int64_t check_count;
    uint64_t
        *operands; /* hashes of the operands among their values; NULL without checks */
} custom_rule;

/* The rule of the linear row: the transposed map of one derivation. */
typedef struct linear_rule {
    pithp_rule rule;
    custom_rule *of; /* one reference */
    pithp_structure residual;
    bool *zeros; /* of each primal, whether it has no tangent */
} linear_rule;

static bool is_float(const pithp_structure *t, int64_t k) {
    return pith_dtype_is_float(t->specs[k]->dtype);
}

/* ---- Recording ---- */

/* A function of a rule that is recorded. */
typedef struct recorded {
    pith_scope *s;
    const custom_rule *rule;
    int which;
    const char *const *members; /* of the record that it returns; NULL: none */
    const pith_array **bound;   /* of the outer trace: in place of bound leaves */
    pithp_part_call call;
    pithp_part part;
} recorded;

static const char *made_by(int which) {
    return which == PITHP_CUSTOM_TANGENT ? "pith_custom_jvp"
           : which == PITHP_CUSTOM_BATCH ? "pith_custom_vmap"
                                         : "pith_custom_vjp";
}

static const char *role_of(int which) {
    return which == PITHP_CUSTOM_TANGENT || which == PITHP_CUSTOM_BATCH ? "rule"
           : which == PITHP_CUSTOM_FORWARD                              ? "forward"
                                                                        : "backward";
}

static pith_status split_record(pith_scope *s,
                                const pithp_part_call *call,
                                const void *result,
                                const void *parts[2]) {
    const recorded *r = call->alone;
    const pithp_returned returned = {call->function, role_of(r->which), call->body,
                                     "result"};
    return pithp_returned_members(s, &returned, r->members, result, parts);
}

/* The function with bound trees of the outer trace, whose leaves stand for operands.
 * NULL: error set. */
static const pith_function *rebind(recorded *r) {
    const custom_rule *u = r->rule;
    const pith_function *f = u->functions[r->which];
    const int64_t count = pithp_function_bound(f, 0, NULL);
    const void **trees = pithp_scope_allocate(r->s, ((size_t)count + 1) * sizeof *trees);
    const pith_array **bound = r->bound;
    if (!trees)
        return NULL;
    for (int t = u->argument_count; t < u->tree_count; t++) {
        const int64_t at = t - u->first_tree[r->which];
        if (at >= 0 && at < count &&
            !(trees[at] = pithp_tangent_build(r->s, &u->trees[t], bound)))
            return NULL;
        bound += u->trees[t].item_count;
    }
    return pithp_function_rebind(r->s, f, trees);
}

/* The index of the first leaf that is bound in the function, among bound leaves. */
static int64_t first_bound(const custom_rule *u, int which) {
    int64_t first = 0;
    for (int t = u->argument_count; t < u->first_tree[which]; t++)
        first += u->trees[t].item_count;
    return first;
}

static pith_status make_bound(recorded *r) {
    const custom_rule *u = r->rule;
    const pith_array **next = r->bound =
        pithp_scope_allocate(r->s, ((size_t)u->rule.bound_count + 1) * sizeof *r->bound);
    for (int t = u->argument_count; next && t < u->tree_count; t++)
        for (int64_t k = 0; k < u->trees[t].item_count; k++)
            if (!(*next++ = pithp_trace_zeros(r->s, u->trees[t].specs[k])))
                return r->s->error.code;
    return r->s->error.code;
}

static pith_status
add_argument(recorded *r, const pithp_structure *t, const bool *zeros) {
    pithp_flat *flat = pithp_scope_allocate(r->s, sizeof *flat);
    if (!flat)
        return r->s->error.code;
    memset(flat, 0, sizeof *flat);
    flat->structure = *t;
    r->call.zeros[r->call.argument_count] = zeros;
    r->call.arguments[r->call.argument_count++] = flat;
    return PITH_OK;
}

/* The hashes of the inputs of a recorded function: bound leaves, leaves of arguments, and
 * others, which the function itself does not have. NULL: error set. */
static const uint64_t *hash_inputs(recorded *r) {
    const custom_rule *u = r->rule;
    const int64_t count = r->part.program->input_count, bound = u->rule.bound_count,
                  first = u->rule.first_count;
    uint64_t *hashes = pithp_scope_allocate(r->s, ((size_t)count + 1) * sizeof *hashes);
    for (int64_t k = 0; hashes && k < count; k++)
        hashes[k] = k < bound           ? u->operands[first + k]
                    : k < bound + first ? u->operands[k - bound]
                                        : pithp_hash(UINT64_MAX, &k, sizeof k);
    return hashes;
}

/* The checks of a function of the rule, without those that the function itself makes:
 * the value is computed by both. A backward function is called apart. */
static pith_status expose_checks(recorded *r) {
    const custom_rule *u = r->rule;
    const int64_t count = r->which == PITHP_CUSTOM_BACKWARD ? 0 : u->check_count;
    const uint64_t *inputs = count ? hash_inputs(r) : NULL;
    if (!count || inputs)
        pithp_rule_checks_expose(r->s, r->part.program, r->part.checks, inputs, count,
                                 u->checks);
    return r->s->error.code;
}

/* pithp_part_end is required if `part.scope` is set. */
static pith_status record(recorded *r) {
    pithp_captured captured = {.count = r->rule->rule.bound_count};
    pith_status rc = make_bound(r);
    if (rc != PITH_OK)
        return rc;
    captured.arrays = r->bound;
    r->call.function = made_by(r->which);
    r->call.captured = &captured;
    r->call.first_captured = first_bound(r->rule, r->which);
    r->call.body = rebind(r);
    r->call.split = r->members ? split_record : NULL;
    r->call.alone = r;
    if (!r->call.body)
        return r->s->error.code;
    rc = pithp_part_record(r->s, &r->part, &r->call);
    return rc == PITH_OK ? expose_checks(r) : rc;
}

/* Check that a returned tree is like a structure. */
static pith_status
check_like(recorded *r, const pithp_structure *like, int result, const char *part) {
    const pithp_returned returned = {r->call.function, role_of(r->which), r->call.body,
                                     part};
    const pithp_flat *got = &r->part.flats[result];
    if (pithp_structure_equal(like, &got->structure))
        return PITH_OK;
    const pith_array **zeros =
        pithp_scope_allocate(r->s, ((size_t)like->item_count + 1) * sizeof *zeros);
    for (int64_t k = 0; zeros && k < like->item_count; k++)
        if (!(zeros[k] = pithp_trace_zeros(r->s, like->specs[k])))
            return r->s->error.code;
    const void *expected = zeros ? pithp_tangent_build(r->s, like, zeros) : NULL;
    pithp_flat wanted;
    if (!expected || pithp_flat_make(r->s, &wanted, expected, NULL, NULL) != PITH_OK)
        return r->s->error.code;
    const pith_status rc =
        pithp_returned_check(r->s, &returned, expected, &wanted, r->part.results[result]);
    pithp_flat_end(&wanted);
    return rc;
}

/* The program of a part that is right. NULL: error set. */
static pithp_program *finish(recorded *r, pith_status rc) {
    pithp_program *p = rc == PITH_OK ? r->part.program : NULL;
    if (p)
        pithp_program_retain(p);
    if (r->part.scope)
        pithp_part_end(&r->part);
    if (r->s->error.code == PITH_OK)
        return p;
    pithp_program_release(p);
    return NULL;
}

/* rule(primals, tangents) */
static pithp_program *record_tangent(custom_rule *u, pith_scope *s, const bool *zeros) {
    static const char *const members[2] = {"value", "tangent"};
    recorded *r = pithp_scope_allocate(s, sizeof *r);
    if (!r)
        return NULL;
    *r = (recorded){.s = s, .rule = u, .which = PITHP_CUSTOM_TANGENT, .members = members};
    pith_status rc;
    PITH_TRY(add_argument(r, &u->primals, NULL));
    PITH_TRY(add_argument(r, &u->primals, zeros));
    PITH_TRY(record(r));
    PITH_TRY(check_like(r, &u->value, 0, "value"));
    PITH_TRY(check_like(r, &u->value, 1, "tangent"));
out:
    return finish(r, rc);
}

/* ---- Rules of linear rows ---- */

static void free_linear(pithp_rule *rule) {
    linear_rule *l = (linear_rule *)(void *)rule;
    pith_runtime *rt = l->of->runtime;
    pithp_release(rt, l->zeros, (size_t)l->of->rule.first_count + 1);
    pithp_release(rt, l->rule.results,
                  ((size_t)l->of->rule.result_count + 1) * sizeof *l->rule.results);
    pithp_structure_release(rt, &l->residual);
    custom_rule *of = l->of;
    pithp_release(rt, l, sizeof *l);
    pithp_rule_release(&of->rule);
}

/* The outputs for tangents that exist. The program has no other user yet. */
static void choose_outputs(const linear_rule *l, pithp_program *p) {
    int64_t count = 0;
    for (int k = 0; k < l->of->rule.first_count; k++)
        if (!l->zeros[k])
            p->outputs[count++] = p->outputs[k];
    p->output_count = count;
}

/* backward(residual, cotangent) */
static pithp_program *record_backward(pithp_rule *rule,
                                      pith_scope *s,
                                      bool reverse,
                                      const bool *zeros,
                                      pithp_rule **linear) {
    linear_rule *l = (linear_rule *)(void *)rule;
    const pithp_structure *value = &l->of->value;
    recorded *r = pithp_scope_allocate(s, sizeof *r);
    bool *by_leaf = pithp_scope_allocate(s, (size_t)value->item_count + 1);
    (void)reverse, (void)linear;
    if (!r || !by_leaf)
        return NULL;
    for (int64_t k = 0, next = 0; k < value->item_count; k++)
        by_leaf[k] = !is_float(value, k) || zeros[next++];
    *r = (recorded){.s = s, .rule = l->of, .which = PITHP_CUSTOM_BACKWARD};
    pith_status rc;
    PITH_TRY(add_argument(r, &l->residual, NULL));
    PITH_TRY(add_argument(r, value, by_leaf));
    PITH_TRY(record(r));
    PITH_TRY(check_like(r, &l->of->primals, 0, "gradients"));
    choose_outputs(l, r->part.program);
out:
    return finish(r, rc);
}

static void refuse_bound(const pithp_rule *rule, pith_scope *s, const char *site, int k);

static linear_rule *make_linear(custom_rule *u,
                                pith_scope *s,
                                const pithp_structure *residual,
                                const bool *zeros) {
    pith_runtime *rt = s->runtime;
    const size_t specs = ((size_t)u->rule.result_count + 1) * sizeof *u->rule.results;
    linear_rule *l = pithp_allocate(rt, sizeof *l);
    if (!l) {
        pithp_fail_memory(s, sizeof *l);
        return NULL;
    }
    *l = (linear_rule){.rule = {.free = free_linear,
                                .record = record_backward,
                                .refuse = refuse_bound,
                                .name = u->rule.name,
                                .reverse = true,
                                .linear = true,
                                .first_count = (int32_t)residual->item_count,
                                .bound_count = u->rule.bound_count},
                       .of = u};
    atomic_init(&l->rule.refs, 1);
    atomic_fetch_add_explicit(&u->rule.refs, 1, memory_order_relaxed);
    l->zeros = pithp_allocate(rt, (size_t)u->rule.first_count + 1);
    l->rule.results = pithp_allocate(rt, specs);
    if (!l->zeros || !l->rule.results)
        pithp_fail_memory(s, specs);
    else
        pithp_structure_copy(s, &l->residual, residual);
    if (s->error.code != PITH_OK) {
        pithp_rule_release(&l->rule);
        return NULL;
    }
    memcpy(l->zeros, zeros, (size_t)u->rule.first_count);
    l->residual.hooks = false;
    for (int64_t k = 0; k < u->value.item_count; k++)
        if (is_float(&u->value, k))
            l->rule.results[l->rule.result_count++] = u->value.specs[k];
    return l;
}

/* forward(arguments...) */
static pithp_program *
record_forward(custom_rule *u, pith_scope *s, const bool *zeros, pithp_rule **linear) {
    static const char *const members[2] = {"value", "residual"};
    recorded *r = pithp_scope_allocate(s, sizeof *r);
    linear_rule *made = NULL;
    if (!r)
        return NULL;
    *r = (recorded){.s = s, .rule = u, .which = PITHP_CUSTOM_FORWARD, .members = members};
    pith_status rc = PITH_OK;
    for (int k = 0; k < u->argument_count; k++)
        PITH_TRY(add_argument(r, &u->trees[k], NULL));
    PITH_TRY(record(r));
    PITH_TRY(check_like(r, &u->value, 0, "value"));
    made = make_linear(u, s, &r->part.flats[1].structure, zeros);
    rc = s->error.code;
out:;
    pithp_program *p = finish(r, rc);
    if (p)
        *linear = &made->rule;
    else if (made)
        pithp_rule_release(&made->rule);
    return p;
}

static pithp_program *record_custom(pithp_rule *rule,
                                    pith_scope *s,
                                    bool reverse,
                                    const bool *zeros,
                                    pithp_rule **linear) {
    custom_rule *u = (custom_rule *)(void *)rule;
    return reverse ? record_forward(u, s, zeros, linear) : record_tangent(u, s, zeros);
}

/* ---- Batches ---- */

/* A tree like a structure, perhaps with a leading batch axis. NULL: error set. */
static const void *
tree_of(pith_scope *s, const pithp_structure *t, bool mapped, int64_t size) {
    const pith_array **items =
        pithp_scope_allocate(s, ((size_t)t->item_count + 1) * sizeof *items);
    for (int64_t k = 0; items && k < t->item_count; k++) {
        const pith_spec *spec = t->specs[k];
        int64_t shape[PITHP_MAX_RANK + 1] = {size};
        memcpy(shape + mapped, spec->shape, (size_t)spec->rank * sizeof *shape);
        spec = pithp_spec_of_value(s, spec->dtype, spec->rank + mapped, shape);
        if (!spec || !(items[k] = pithp_trace_zeros(s, spec)))
            return NULL;
    }
    return items ? pithp_part_build_quiet(s, t, items) : NULL;
}

/* Which arguments are mapped: those with a mapped leaf, all of whose leaves are then. */
static int64_t find_mapped(const custom_rule *u, bool *batched) {
    int64_t mapped = 0;
    for (int i = 0; i < u->argument_count; i++) {
        const int64_t count = u->trees[i].item_count;
        for (int64_t k = 0; k < count; k++)
            mapped |= (int64_t)batched[k] << i;
        memset(batched, (int)(mapped >> i & 1), (size_t)count);
        batched += count;
    }
    return mapped;
}

/* The argument of the rule, of which only the structure counts. NULL: error set. */
static const pith_vmap_call *
batch_argument(const custom_rule *u, pith_scope *s, int64_t size, int64_t mapped) {
    const void *trees[PITHP_MOST_PARAMETERS];
    for (int i = 0; i < u->argument_count; i++)
        if (!(trees[i] = tree_of(s, &u->trees[i], mapped >> i & 1, size)))
            return NULL;
    pith_vmap_call call = pith_initial(pith_vmap_call);
    call.size = size;
    call.mapped = mapped;
    call.arguments = u->argument_count == 1
                         ? trees[0]
                         : pith_tuple_make(pithp_on_behalf(s), u->argument_count, trees);
    return call.arguments ? pith_freeze(pithp_on_behalf(s), pith_vmap_call, &call) : NULL;
}

/* Check that the result is like the value, with a leading batch axis. */
static pith_status check_batch(recorded *r, int64_t size) {
    const pithp_returned returned = {r->call.function, role_of(r->which), r->call.body,
                                     "result"};
    const void *expected = tree_of(r->s, &r->rule->value, true, size);
    pithp_flat wanted;
    if (!expected || pithp_flat_make(r->s, &wanted, expected, NULL, NULL) != PITH_OK)
        return r->s->error.code;
    const pith_status rc =
        pithp_returned_check(r->s, &returned, expected, &wanted, r->part.results[0]);
    pithp_flat_end(&wanted);
    return rc;
}

static pith_status refuse_batched(const custom_rule *u, pith_scope *s) {
    return pithp_fail(s, PITH_E_ARG, NULL,
                      "%s has a rule for batches, and a tree that is bound in it is "
                      "batched; make it an argument",
                      u->rule.name);
}

/* rule(call) */
static pithp_program *
record_batch(pithp_rule *rule, pith_scope *s, int64_t size, bool *batched) {
    custom_rule *u = (custom_rule *)(void *)rule;
    recorded *r = pithp_scope_allocate(s, sizeof *r);
    pithp_flat flat = {0};
    if (!r)
        return NULL;
    *r = (recorded){.s = s, .rule = u, .which = PITHP_CUSTOM_BATCH};
    pith_status rc = PITH_OK;
    for (int k = 0; k < rule->bound_count && rc == PITH_OK; k++)
        rc = batched[rule->first_count + k] ? refuse_batched(u, s) : PITH_OK;
    const void *argument =
        rc == PITH_OK ? batch_argument(u, s, size, find_mapped(u, batched)) : NULL;
    rc = s->error.code;
    if (argument && (rc = pithp_flat_make(s, &flat, argument, NULL, NULL)) == PITH_OK) {
        PITH_TRY(add_argument(r, &flat.structure, NULL));
        PITH_TRY(record(r));
        PITH_TRY(check_batch(r, size));
    }
out:;
    pithp_program *p = finish(r, rc);
    if (argument)
        pithp_flat_end(&flat);
    return p;
}

/* ---- Rules ---- */

static void refuse_bound(const pithp_rule *rule, pith_scope *s, const char *site, int k) {
    const custom_rule *u = (const custom_rule *)(const void *)rule;
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

static size_t operand_bytes(const custom_rule *u) {
    return (size_t)(u->rule.first_count + u->rule.bound_count + 1) * sizeof *u->operands;
}

static void free_custom(pithp_rule *rule) {
    custom_rule *u = (custom_rule *)(void *)rule;
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
keep_function(custom_rule *u, pith_scope *s, const pith_function *f) {
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

static pith_status keep_functions(custom_rule *u, pith_scope *s, const pith_function *f) {
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
        u->rule.batch = record_batch;
    u->rule.forward = u->functions[PITHP_CUSTOM_TANGENT];
    u->rule.reverse = u->functions[PITHP_CUSTOM_FORWARD];
    return PITH_OK;
}

/* The argument, or a tuple of several. */
static pith_status
keep_primals(custom_rule *u, pith_scope *s, const pithp_custom_call *call) {
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
keep_checks(custom_rule *u, pith_scope *s, const pithp_custom_call *call) {
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

static pith_status fill(custom_rule *u, pith_scope *s, const pithp_custom_call *call) {
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
    custom_rule *u = pithp_allocate(s->runtime, sizeof *u);
    if (!u) {
        pithp_fail_memory(s, sizeof *u);
        return NULL;
    }
    *u = (custom_rule){
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
