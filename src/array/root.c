/* Roots whose derivative is 0 where they are 0: a rule around the row. */
#include "array/array_internal.h"
#include "program/ir/program.h"

typedef struct root_rule {
    pithp_rule rule;
    pith_runtime *runtime;
    const pith_spec *spec;
    double order;
} root_rule;

/* Values of a program; -1 is passed on. */
typedef struct building {
    pith_scope *s;
    pithp_program *p;
    root_rule *root;
} building;

static pithp_value
add(const building *b, pithp_primitive op, int count, const pithp_value *operands) {
    for (int k = 0; k < count; k++)
        if (operands[k] < 0)
            return -1;
    return pithp_program_add(b->s, b->p, op, count, operands, NULL, b->s->site);
}
#define ADD(b, op, ...)                                                                  \
    add(b, PITHP_OP_##op, PITH_COUNT_ARGS_(__VA_ARGS__),                                 \
        (const pithp_value[]){__VA_ARGS__})

static pithp_value number(const building *b, double x) {
    uint64_t bits = 0;
    const pith_dtype dtype = b->root->spec->dtype;
    const pith_spec *scalar = pithp_spec(b->s, dtype, 0, NULL);
    pithp_dtype_encode(dtype, x, &bits);
    return scalar ? pithp_program_literal(b->s, b->p, scalar, &bits) : -1;
}

/* The root with its rule, for derivatives of the derivative. */
static pithp_value root_of(const building *b, pithp_value x) {
    const pithp_value still = ADD(b, STOP_GRADIENT, x),
                      y = b->root->order == 2
                              ? ADD(b, SQRT, still)
                              : ADD(b, POWER, still, number(b, 1 / b->root->order));
    const pithp_rule_params params = {&b->root->rule};
    return y < 0 ? -1
                 : pithp_program_add(b->s, b->p, PITHP_OP_RULE, 2,
                                     (const pithp_value[]){x, y}, &params, b->s->site);
}

/* t / (order y^(order - 1)), or 0 where y is 0. */
static pithp_value
tangent_of(const building *b, pithp_value x, pithp_value y, pithp_value t) {
    const pithp_value zero = number(b, 0), one = number(b, 1),
                      order = number(b, b->root->order),
                      is_zero = ADD(b, EQ, ADD(b, STOP_GRADIENT, y), zero),
                      safe = ADD(b, WHERE, is_zero, one, y);
    const pithp_value slope =
        b->root->order == 2 ? ADD(b, DIV, t, ADD(b, MUL, order, safe))
                            : ADD(b, DIV, ADD(b, MUL, t, safe),
                                  ADD(b, MUL, order, ADD(b, WHERE, is_zero, one, x)));
    return ADD(b, WHERE, is_zero, zero, slope);
}

static pithp_program *record(pithp_rule *rule,
                             pith_scope *s,
                             bool reverse,
                             const bool *zeros,
                             pithp_rule **linear) {
    root_rule *root = (root_rule *)(void *)rule;
    const building b = {s, pithp_program_make(s), root};
    (void)reverse, (void)zeros, (void)linear;
    if (!b.p)
        return NULL;
    const pithp_value x = pithp_program_input(s, b.p, root->spec),
                      t = x < 0 ? -1 : pithp_program_input(s, b.p, root->spec),
                      y = t < 0 ? -1 : root_of(&b, x),
                      ty = y < 0 ? -1 : tangent_of(&b, x, y, t);
    if (ty >= 0 && pithp_program_output(s, b.p, y) && pithp_program_output(s, b.p, ty))
        return b.p;
    pithp_program_release(b.p);
    return NULL;
}

static void free_root(pithp_rule *rule) {
    root_rule *root = (root_rule *)(void *)rule;
    pithp_release(root->runtime, root, sizeof *root);
}

static pithp_rule *make_rule(pith_scope *s, const pith_spec *spec, double order) {
    root_rule *root = pithp_allocate(s->runtime, sizeof *root);
    if (!root) {
        pithp_fail_memory(s, sizeof *root);
        return NULL;
    }
    *root = (root_rule){.rule = {.free = free_root,
                                 .record = record,
                                 .name = "root",
                                 .forward = true,
                                 .first_count = 1,
                                 .result_count = 1},
                        .runtime = s->runtime,
                        .spec = spec,
                        .order = order};
    atomic_init(&root->rule.refs, 1);
    root->rule.results = &root->spec;
    return &root->rule;
}

const pith_array *pithp_root(pith_scope *s, const pith_array *x, double order) {
    const bool traced = x && pithp_trace_has(s, x);
    const pith_array *still = traced ? pithp_mark(s, PITHP_OP_STOP_GRADIENT, NULL, x) : x;
    const pith_array *operands[2] = {
        x, order == 2 ? pith_sqrt(s, still)
                      : pith_pow(s, still, pith_like(s, still, 1 / order))};
    if (!traced || !operands[1])
        return operands[1];
    const pith_array *result = NULL;
    pithp_rule *rule = make_rule(s, pithp_array_spec(x), order);
    const pithp_rule_params params = {rule};
    if (rule &&
        pithp_trace_bind_many(s, PITHP_OP_RULE, 2, operands, &params, &result) != PITH_OK)
        result = NULL;
    pithp_rule_release(rule);
    return result;
}
