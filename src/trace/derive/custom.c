/* Functions with rules of the user for derivatives and batches. A call in a trace records
 * the function, over arguments without tangents if it has a rule for them, and a row that
 * gives its results what the rules say. */
#include "pith/vmap.h"

#include "trace/derive/derive_internal.h"

#include <string.h>

/* ---- Calls in a trace ---- */

typedef struct custom_call {
    pithp_custom_call c;
    pith_scope *s;
    const void **trees; /* arguments, then bound trees */
    pithp_flat value;
    bool has_value; /* it is to be ended */
    int64_t operand_count;
    const pith_array **operands;            /* leaves of the trees, then of the value */
    int64_t first_check, first_instruction; /* of the function, in the trace */
} custom_call;

static bool is_moving(const pith_scope *s, const pith_array *a) {
    return pithp_trace_has(s, a) && pith_dtype_is_float(pithp_array_spec(a)->dtype);
}

static bool has_batch_rule(const pith_function *f) {
    return ((const pithp_closure *)f->closure)->more[PITHP_CUSTOM_BATCH];
}

static pith_status
flatten(custom_call *c, const pith_function *self, const void *const *given) {
    pith_scope *s = c->s;
    const int64_t bound = pithp_function_bound(self, 0, NULL),
                  count = self->arity + bound;
    c->c.flats = pithp_scope_allocate(s, (size_t)count * sizeof *c->c.flats);
    c->trees = pithp_scope_allocate(s, (size_t)count * sizeof *c->trees);
    if (!c->c.flats || !c->trees)
        return s->error.code;
    memcpy(c->trees, given, (size_t)self->arity * sizeof *c->trees);
    pithp_function_bound(self, bound, c->trees + self->arity);
    while (c->c.tree_count < count) {
        pithp_flat *flat = &c->c.flats[c->c.tree_count];
        const pith_status rc =
            pithp_flat_make(s, flat, c->trees[c->c.tree_count], NULL, NULL);
        if (rc != PITH_OK)
            return rc;
        c->c.tree_count++;
        c->operand_count += flat->structure.item_count;
    }
    return PITH_OK;
}

/* List the leaves as operands of the row. Sets whether a rule may concern one: it may
 * have a tangent or, if there is a rule for batches, a batch axis. */
static pith_status list_operands(custom_call *c, int64_t more, bool *moving) {
    pith_scope *s = c->s;
    const size_t room = (size_t)(c->operand_count + more) + 1;
    const pith_array **next = c->operands =
        pithp_scope_allocate(s, room * sizeof *c->operands);
    *moving = false;
    for (int t = 0; next && t < c->c.tree_count; t++)
        for (int64_t k = 0; k < c->c.flats[t].structure.item_count; k++) {
            const pith_array *a = c->c.flats[t].items[k];
            if (pithp_operand_check(s, a, c->c.function->name, "argument") != PITH_OK) {
                pithp_item_prefix(s, &c->c.flats[t].structure, k);
                return s->error.code;
            }
            *moving |= is_moving(s, a) ||
                       (pithp_trace_has(s, a) && has_batch_rule(c->c.function));
            *next++ = a;
        }
    return s->error.code;
}

/* A tree whose leaves have no tangents. NULL: error set. */
static const void *without_tangents(pith_scope *s, const pithp_flat *f) {
    const int64_t count = f->structure.item_count;
    const pith_array **items =
        pithp_scope_allocate(s, ((size_t)count + 1) * sizeof *items);
    for (int64_t k = 0; items && k < count; k++) {
        items[k] = is_moving(s, f->items[k])
                       ? pithp_mark(s, PITHP_OP_STOP_GRADIENT, NULL, f->items[k])
                       : f->items[k];
        if (!items[k])
            return NULL;
    }
    return items ? pithp_tangent_build(s, &f->structure, items) : NULL;
}

/* The value of the function, which no tangent reaches if it has a rule for them. NULL:
 * error set. */
static const void *call_base(custom_call *c) {
    const pithp_closure *closure = c->c.function->closure;
    const pith_function *base = closure->base;
    const int64_t bound = pithp_function_bound(base, 0, NULL);
    c->first_check = pithp_checks_mark(c->s);
    c->first_instruction = pithp_scope_trace(c->s)->program->instruction_count;
    for (int t = 0; t < base->arity + bound && pithp_custom_derives(c->c.function); t++)
        if (!(c->trees[t] = without_tangents(c->s, &c->c.flats[t])))
            return NULL;
    const pith_function *f = pithp_function_rebind(c->s, base, c->trees + base->arity);
    return f ? (pith_call)(pithp_on_behalf(c->s), f, base->arity, c->trees) : NULL;
}

/* Find what tells the checks of the function from others. Values before the call are
 * hashed by their numbers. */
static pith_status identify_checks(custom_call *c) {
    pith_scope *s = c->s;
    pithp_trace *t = pithp_scope_trace(s);
    const size_t operands = (size_t)c->operand_count + 1;
    c->c.check_count = pithp_checks_mark(s) - c->first_check;
    if (!c->c.check_count)
        return PITH_OK;
    pithp_value *values = pithp_scope_allocate(s, operands * sizeof *values);
    uint64_t *of_operands = pithp_scope_allocate(s, operands * sizeof *of_operands);
    if (!values || !of_operands)
        return s->error.code;
    for (int64_t k = 0; k < c->operand_count; k++) /* a constant is a new value */
        if ((values[k] = pithp_trace_value(s, t, c->operands[k])) < 0)
            return s->error.code;
    const int64_t count = t->program->value_count;
    uint64_t *hashes = pithp_scope_allocate(s, ((size_t)count + 1) * sizeof *hashes);
    for (int64_t v = 0; hashes && v < count; v++)
        hashes[v] = pithp_hash(1, &v, sizeof v);
    if (!hashes ||
        !pithp_program_expressions(s, t->program, c->first_instruction, hashes))
        return s->error.code;
    for (int64_t k = 0; k < c->operand_count; k++)
        of_operands[k] = hashes[values[k]];
    c->c.operands = of_operands;
    c->c.checks = pithp_checks_ids(s, t->checks, c->first_check, hashes);
    return s->error.code;
}

/* Add the row. NULL: error set. */
static const void *add_row(custom_call *c, pithp_rule *rule) {
    const pithp_flat *value = &c->value;
    const int64_t count = value->structure.item_count;
    const pithp_rule_params params = {rule};
    const pith_array **results =
        pithp_scope_allocate(c->s, ((size_t)count + 1) * sizeof *results);
    for (int64_t k = 0; results && k < count; k++)
        c->operands[c->operand_count + k] = value->items[k];
    return results && pithp_trace_bind_many(c->s, PITHP_OP_RULE,
                                            (int)(c->operand_count + count), c->operands,
                                            &params, results) == PITH_OK
               ? pithp_tangent_build(c->s, &value->structure, results)
               : NULL;
}

static bool has_float(const pithp_flat *f) {
    bool any = false;
    for (int64_t k = 0; k < f->structure.item_count; k++)
        any |= pith_dtype_is_float(f->structure.specs[k]->dtype);
    return any;
}

/* The value with the row. NULL: error set. */
static const void *mark_value(custom_call *c, const void *value) {
    bool moving;
    if (pithp_flat_make(c->s, &c->value, value, NULL, NULL) != PITH_OK)
        return NULL;
    c->has_value = true;
    c->c.value = &c->value;
    if (!has_float(&c->value) && !has_batch_rule(c->c.function))
        return value;
    if (list_operands(c, c->value.structure.item_count, &moving) != PITH_OK)
        return NULL;
    if (!moving)
        return value;
    if (identify_checks(c) != PITH_OK)
        return NULL;
    pithp_rule *rule = pithp_custom_rule(c->s, &c->c);
    const void *result = rule ? add_row(c, rule) : NULL;
    pithp_rule_release(rule);
    return result;
}

static const void *
call_traced(const pith_function *self, pith_scope *s, const void *const *given) {
    custom_call *c = pithp_scope_allocate(s, sizeof *c);
    if (!c)
        return NULL;
    memset(c, 0, sizeof *c);
    c->s = s;
    c->c.function = self;
    const void *value = flatten(c, self, given) == PITH_OK ? call_base(c) : NULL,
               *result = value ? mark_value(c, value) : NULL;
    for (int t = 0; t < c->c.tree_count; t++)
        pithp_flat_end(&c->c.flats[t]);
    if (c->has_value)
        pithp_flat_end(&c->value);
    return s->error.code == PITH_OK ? result : NULL;
}

static const void *
call_custom(const pith_function *self, pith_scope *s, const void *const *given) {
    const pithp_closure *c = self->closure;
    return pithp_scope_trace(s)
               ? call_traced(self, s, given)
               : (pith_call)(pithp_on_behalf(s), c->base, self->arity, given);
}

/* ---- Making ---- */

static const pithp_closure_kind custom_kind = {.name = "custom rule",
                                               .bytes = sizeof(pithp_closure)};

static pith_status check_parameters(pith_scope *s,
                                    const char *name,
                                    const pith_function *f,
                                    int arity,
                                    const char *role) {
    if (pithp_function_check(s, f, name) != PITH_OK || f->arity == arity)
        return s->error.code;
    return pithp_fail(s, PITH_E_ARG, NULL,
                      "%s: %s: expected a function of %d tree%s, got "
                      "%s of %d",
                      name, role, arity, arity == 1 ? "" : "s", f->name, f->arity);
}

/* A function with rules for both modes is one: f may have one for the other mode. */
static const pith_function *
make(pith_scope *s, const pith_function *f, const pithp_closure *rules) {
    pith_function like = *f;
    const pithp_closure *before = f->closure;
    pithp_closure c = *rules;
    c.kind = &custom_kind;
    c.base = f;
    like.call = call_custom;
    if (before && before->kind == &custom_kind) {
        c.base = before->base;
        for (int k = 0; k < PITHP_MORE_BASES; k++)
            if (!c.more[k])
                c.more[k] = before->more[k];
    }
    const pithp_closure *made = pithp_function_make(s, &like, &c);
    return made ? made->function : NULL;
}

const pith_function *
pith_custom_jvp(pith_scope *s, const pith_function *function, const pith_function *rule) {
    static const char *const name = "pith_custom_jvp";
    if (!pithp_enter(s) || pithp_function_check(s, function, name) != PITH_OK ||
        check_parameters(s, name, rule, 2, "rule") != PITH_OK)
        return NULL;
    return make(s, function, &(pithp_closure){.more = {[PITHP_CUSTOM_TANGENT] = rule}});
}

const pith_function *pith_custom_vjp(pith_scope *s,
                                     const pith_function *function,
                                     const pith_function *forward,
                                     const pith_function *backward) {
    static const char *const name = "pith_custom_vjp";
    if (!pithp_enter(s) || pithp_function_check(s, function, name) != PITH_OK ||
        check_parameters(s, name, forward, function->arity, "forward") != PITH_OK ||
        check_parameters(s, name, backward, 2, "backward") != PITH_OK)
        return NULL;
    return make(
        s, function,
        &(pithp_closure){
            .more = {
                [PITHP_CUSTOM_FORWARD] = forward, [PITHP_CUSTOM_BACKWARD] = backward}});
}

const pith_function *pith_custom_vmap(pith_scope *s,
                                      const pith_function *function,
                                      const pith_function *rule) {
    static const char *const name = "pith_custom_vmap";
    if (!pithp_enter(s) || pithp_function_check(s, function, name) != PITH_OK ||
        check_parameters(s, name, rule, 1, "rule") != PITH_OK)
        return NULL;
    return make(s, function, &(pithp_closure){.more = {[PITHP_CUSTOM_BATCH] = rule}});
}

bool pith_is_zero_tangent(const pith_array *tangent) {
    pithp_block *block = NULL;
    if (pithp_pointer_check(tangent, &block) != PITHP_POINTER_OK ||
        pithp_kind_of(tangent) != PITHP_KIND_ARRAY || !pithp_array_is_traced(tangent))
        return false;
    const pithp_trace *t = tangent->data;
    const pithp_instruction *i =
        t->program ? pithp_maker(t->program, (pithp_value)tangent->value) : NULL;
    return i && i->primitive == PITHP_OP_FULL &&
           !((const pithp_full_params *)i->params)->value;
}
