/* Functions of rules: recording them, and checking what they return. */
#include "trace/derive/rule.h"

#include <string.h>

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
    const pithp_rule_recording *r = call->alone;
    const pithp_returned returned = {call->function, role_of(r->which), call->body,
                                     "result"};
    return pithp_returned_members(s, &returned, r->members, result, parts);
}

/* The function with bound trees of the outer trace, whose leaves stand for operands.
 * NULL: error set. */
static const pith_function *rebind(pithp_rule_recording *r) {
    const pithp_function_rule *u = r->rule;
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
static int64_t first_bound(const pithp_function_rule *u, int which) {
    int64_t first = 0;
    for (int t = u->argument_count; t < u->first_tree[which]; t++)
        first += u->trees[t].item_count;
    return first;
}

static pith_status make_bound(pithp_rule_recording *r) {
    const pithp_function_rule *u = r->rule;
    const pith_array **next = r->bound =
        pithp_scope_allocate(r->s, ((size_t)u->rule.bound_count + 1) * sizeof *r->bound);
    for (int t = u->argument_count; next && t < u->tree_count; t++)
        for (int64_t k = 0; k < u->trees[t].item_count; k++)
            if (!(*next++ = pithp_trace_zeros(r->s, u->trees[t].specs[k])))
                return r->s->error.code;
    return r->s->error.code;
}

pith_status pithp_rule_add_argument(pithp_rule_recording *r,
                                    const pithp_structure *t,
                                    const bool *zeros) {
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
static const uint64_t *hash_inputs(pithp_rule_recording *r) {
    const pithp_function_rule *u = r->rule;
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
static pith_status expose_checks(pithp_rule_recording *r) {
    const pithp_function_rule *u = r->rule;
    const int64_t count = r->which == PITHP_CUSTOM_BACKWARD ? 0 : u->check_count;
    const uint64_t *inputs = count ? hash_inputs(r) : NULL;
    if (!count || inputs)
        pithp_rule_checks_expose(r->s, r->part.program, r->part.checks, inputs, count,
                                 u->checks, 0);
    return r->s->error.code;
}

/* pithp_part_end is required if `part.scope` is set. */
pith_status pithp_rule_record(pithp_rule_recording *r) {
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

pith_status pithp_rule_check_tree(pithp_rule_recording *r,
                                  const void *expected,
                                  int result,
                                  const char *part) {
    const pithp_returned returned = {r->call.function, role_of(r->which), r->call.body,
                                     part};
    pithp_flat wanted;
    if (!expected || pithp_flat_make(r->s, &wanted, expected, NULL, NULL) != PITH_OK)
        return r->s->error.code;
    const pith_status rc =
        pithp_returned_check(r->s, &returned, expected, &wanted, r->part.results[result]);
    pithp_flat_end(&wanted);
    return rc;
}

pith_status pithp_rule_check_like(pithp_rule_recording *r,
                                  const pithp_structure *like,
                                  int result,
                                  const char *part) {
    if (pithp_structure_equal(like, &r->part.flats[result].structure))
        return PITH_OK;
    const pith_array **zeros =
        pithp_scope_allocate(r->s, ((size_t)like->item_count + 1) * sizeof *zeros);
    for (int64_t k = 0; zeros && k < like->item_count; k++)
        if (!(zeros[k] = pithp_trace_zeros(r->s, like->specs[k])))
            return r->s->error.code;
    return pithp_rule_check_tree(r, zeros ? pithp_tangent_build(r->s, like, zeros) : NULL,
                                 result, part);
}

pithp_program *pithp_rule_finish(pithp_rule_recording *r, pith_status rc) {
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
