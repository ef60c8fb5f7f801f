/* Functions with a rule of the user: a derivation replaces them by programs recorded of
 * the functions of the rule. */
#include "program/derive/control.h"
#include "program/derive/split.h"

#include <string.h>

static pithp_rule *rule_of(const pithp_moving_call *c) {
    return ((const pithp_rule_params *)c->i->params)->rule;
}

static bool is_float(const pith_spec *spec) {
    return pith_dtype_is_float(spec->dtype);
}

/* The row itself, of which no result moves. */
static bool
keep_row(pithp_derivation *d, const pithp_moving_call *c, pithp_value *results) {
    const pithp_new_instruction copy = {.primitive = PITHP_OP_RULE,
                                        .operand_count = c->i->operand_count,
                                        .operands = c->operands,
                                        .params = c->i->params,
                                        .site = c->i->site};
    const pithp_value first = pithp_program_add_many(d->s, d->to, &copy);
    for (int k = 0; k < c->i->result_count; k++)
        results[k] = first + k;
    return first >= 0;
}

/* Values of the inputs of a recorded program, bound ones first, then room for `outputs`.
 * `more`: absent ones are no inputs. NULL: error set. */
static pithp_value *list_inputs(pithp_derivation *d,
                                const pithp_rule *rule,
                                const pithp_value *operands,
                                int more_count,
                                const pithp_value *more,
                                const pithp_program *p) {
    const size_t n = (size_t)(p->input_count + p->output_count) + 1;
    pithp_value *list = pithp_scope_allocate(d->s, n * sizeof *list), *next = list;
    if (!list)
        return NULL;
    for (int k = 0; k < rule->bound_count; k++)
        *next++ = operands[rule->first_count + k];
    for (int k = 0; k < rule->first_count; k++)
        *next++ = operands[k];
    for (int k = 0; k < more_count; k++)
        if (more[k] >= 0)
            *next++ = more[k];
    PITH_ASSERT(next == list + p->input_count);
    return list;
}

/* ---- Results ---- */

/* The tangents that depend on a tangent of a primal: others are zero. */
static bool take_tangents(pithp_derivation *d,
                          const pithp_rule *rule,
                          const pithp_program *p,
                          const pithp_value *outputs,
                          pithp_value *tangents) {
    bool *linear =
        pithp_scope_allocate(d->s, (size_t)(p->input_count + p->value_count) + 1);
    if (!linear)
        return false;
    bool *inputs = linear + p->value_count;
    for (int64_t k = 0; k < p->input_count; k++)
        inputs[k] = k >= rule->first_count + rule->bound_count;
    pithp_colour(p, inputs, linear);
    for (int k = 0; k < rule->result_count; k++) {
        const int at = rule->result_count + k;
        const bool moves = is_float(rule->results[k]) && linear[p->outputs[at]];
        tangents[k] = moves ? outputs[at] : PITHP_ABSENT;
        if (!pithp_derive_linear(d, tangents[k]))
            return false;
    }
    return true;
}

/* ---- Reverse mode ---- */

/* Add the row that is linear in the tangents of primals; `residuals`: its first operands.
 * Returns its first result. */
static pithp_value add_linear(pithp_derivation *d,
                              const pithp_moving_call *c,
                              pithp_rule *linear,
                              const pithp_value *residuals) {
    const pithp_rule *rule = rule_of(c);
    const size_t most = (size_t)linear->first_count + (size_t)c->i->operand_count;
    pithp_value *list = pithp_scope_allocate(d->s, (most + 1) * sizeof *list),
                *next = list;
    if (!list)
        return -1;
    for (int k = 0; k < linear->first_count; k++)
        *next++ = residuals[k];
    for (int k = 0; k < rule->bound_count; k++)
        *next++ = c->operands[rule->first_count + k];
    for (int k = 0; k < rule->first_count; k++)
        if (c->tangents[k] >= 0)
            *next++ = c->tangents[k];
    const pithp_rule_params params = {linear};
    const pithp_new_instruction row = {.primitive = PITHP_OP_RULE,
                                       .operand_count = (int)(next - list),
                                       .operands = list,
                                       .params = &params,
                                       .site = c->i->site};
    return pithp_program_add_many(d->s, d->to, &row);
}

static bool derive_reverse(pithp_derivation *d,
                           const pithp_moving_call *c,
                           const bool *zeros,
                           pithp_value *results,
                           pithp_value *tangents) {
    pithp_rule *rule = rule_of(c), *linear = NULL;
    pithp_program *p = rule->record(rule, d->s, true, zeros, &linear);
    pithp_value *list = p ? list_inputs(d, rule, c->operands, 0, NULL, p) : NULL,
                *outputs = list ? list + p->input_count : NULL, next = -1;
    if (list && pithp_program_inline(d->s, d->to, p, list, outputs))
        next = add_linear(d, c, linear, outputs + rule->result_count);
    bool fine = next >= 0;
    for (int k = 0; k < rule->result_count && fine; k++) {
        results[k] = outputs[k];
        tangents[k] = is_float(rule->results[k]) ? next++ : PITHP_ABSENT;
        fine = pithp_derive_linear(d, tangents[k]);
    }
    pithp_program_release(p);
    pithp_rule_release(linear);
    return fine;
}

/* ---- Tangents that are transposed ---- */

/* Copying the program of a tangent so that it can be transposed. */
typedef struct tangent_copy {
    pithp_derivation d; /* of rows with rules */
    const pithp_program *from;
    bool *linear;
    pithp_value *names, *operands, *tangents, *results;
} tangent_copy;

/* A row with a rule that is applied to tangents: its linear row, or without a rule for
 * reverse mode the value that it marks. */
static bool copy_rule(tangent_copy *t, const pithp_instruction *i) {
    const pithp_rule *rule = ((const pithp_rule_params *)i->params)->rule;
    const pithp_value *of = pithp_operands(t->from, i);
    const pithp_moving_call c = {
        .i = i, .from = t->from, .operands = t->operands, .tangents = t->tangents};
    bool *zeros = pithp_scope_allocate(t->d.s, (size_t)rule->first_count + 1);
    const int values = i->operand_count - i->result_count;
    bool bound = false;
    for (int k = 0; k < i->operand_count; k++) {
        t->operands[k] = t->names[of[k]];
        t->tangents[k] = t->linear[of[k]] ? t->names[of[k]] : PITHP_ABSENT;
        bound |= t->linear[of[k]] && k >= rule->first_count && k < values;
    }
    for (int k = 0; k < i->result_count; k++)
        t->names[i->result + k] = t->operands[values + k];
    if (!zeros || !rule->reverse || bound)
        return zeros;
    for (int k = 0; k < rule->first_count; k++)
        zeros[k] = t->tangents[k] < 0;
    t->d.site = i->site;
    if (!derive_reverse(&t->d, &c, zeros, t->results, t->names + i->result))
        return false;
    for (int k = 0; k < i->result_count; k++)
        if (t->names[i->result + k] < 0)
            t->names[i->result + k] = t->results[k];
    return true;
}

static bool copy_tangent(tangent_copy *t) {
    const pithp_program *p = t->from;
    pithp_graph_walk w = {p, 0, 0};
    pithp_value v;
    const pithp_instruction *i;
    bool fine = true;
    while (fine && pithp_graph_next(&w, &v, &i)) {
        const bool linear = i && i->result_count && t->linear[v];
        if (!i && p->values[v].origin == PITHP_FROM_INPUT)
            fine = (t->names[v] = pithp_program_input(t->d.s, t->d.to,
                                                      pithp_value_spec(p, v))) >= 0;
        else if (linear && i->primitive == PITHP_OP_RULE)
            fine = copy_rule(t, i);
        else if (linear && i->primitive == PITHP_OP_STOP_GRADIENT)
            t->names[v] = t->names[pithp_operands(p, i)[0]];
        else
            fine = pithp_copy_value(t->d.s, t->d.to, p, v, i, t->names);
    }
    for (int64_t k = 0; k < p->output_count && fine; k++)
        fine = pithp_program_output(t->d.s, t->d.to, t->names[p->outputs[k]]);
    return fine;
}

static bool has_linear_rows(const pithp_program *p, const bool *linear) {
    for (int64_t k = 0; k < p->instruction_count; k++)
        if (p->instructions[k].primitive == PITHP_OP_RULE &&
            linear[p->instructions[k].result])
            return true;
    return false;
}

/* The program of a tangent for reverse mode. A function with a rule may be applied to
 * tangents if it is linear; only its linear row can be transposed. Consumes a reference
 * to p. NULL: error set. */
static pithp_program *
with_linear_rows(pithp_derivation *d, const pithp_rule *rule, pithp_program *p) {
    const size_t n = (size_t)(p->input_count + p->value_count) + 1,
                 most = (size_t)pithp_most_operands(p);
    bool *linear = pithp_scope_allocate(d->s, n);
    pithp_value *memory = pithp_scope_allocate(d->s, (2 * n + 2 * most) * sizeof *memory);
    if (!linear || !memory) {
        pithp_program_release(p);
        return NULL;
    }
    bool *inputs = linear + p->value_count;
    for (int64_t k = 0; k < p->input_count; k++)
        inputs[k] = k >= rule->first_count + rule->bound_count;
    pithp_colour(p, inputs, linear);
    if (!has_linear_rows(p, linear))
        return p;
    tangent_copy t = {
        .d = {.s = d->s, .to = pithp_program_make(d->s), .split = true, .reverse = true},
        .from = p,
        .linear = linear,
        .names = memory,
        .operands = memory + n,
        .tangents = memory + n + most,
        .results = memory + n + 2 * most};
    if (t.d.to)
        pithp_program_take_groups(t.d.to, p);
    const bool fine = t.d.to && copy_tangent(&t);
    pithp_derive_end(&t.d);
    pithp_program_release(p);
    if (fine)
        return t.d.to;
    pithp_program_release(t.d.to);
    return NULL;
}

/* ---- Forward mode ---- */

static bool derive_forward(pithp_derivation *d,
                           const pithp_moving_call *c,
                           const bool *zeros,
                           pithp_value *results,
                           pithp_value *tangents) {
    pithp_rule *rule = rule_of(c);
    pithp_program *p = rule->record(rule, d->s, false, zeros, NULL);
    if (p && d->reverse)
        p = with_linear_rows(d, rule, p);
    pithp_value *list =
        p ? list_inputs(d, rule, c->operands, rule->first_count, c->tangents, p) : NULL;
    bool fine = list;
    if (fine) {
        pithp_value *outputs = list + p->input_count;
        fine = pithp_program_inline(d->s, d->to, p, list, outputs) &&
               take_tangents(d, rule, p, outputs, tangents);
        memcpy(results, outputs, (size_t)rule->result_count * sizeof *results);
    }
    pithp_program_release(p);
    return fine;
}

/* ---- Both ---- */

static bool refuse_mode(pithp_derivation *d, const pithp_moving_call *c) {
    pithp_fail_at(d->s, PITH_E_DERIVATIVE, NULL, c->i->site,
                  "%s has a rule for reverse mode alone, and a tangent reaches it in "
                  "forward mode; pith_custom_jvp gives it another",
                  rule_of(c)->name);
    return false;
}

bool pithp_derive_rule(pithp_derivation *d,
                       const pithp_moving_call *c,
                       pithp_value *results,
                       pithp_value *tangents) {
    const pithp_rule *rule = rule_of(c);
    bool any = false, *zeros = pithp_scope_allocate(d->s, (size_t)rule->first_count + 1);
    if (!zeros)
        return false;
    for (int k = 0; k < c->i->result_count; k++)
        tangents[k] = PITHP_ABSENT;
    if (rule->linear)
        return refuse_mode(d, c);
    for (int k = 0; k < rule->bound_count; k++)
        if (c->tangents[rule->first_count + k] >= 0) {
            rule->refuse(rule, d->s, c->i->site, k);
            return false;
        }
    for (int k = 0; k < rule->first_count; k++) {
        zeros[k] = c->tangents[k] < 0;
        any |= !zeros[k];
    }
    if (!any)
        return keep_row(d, c, results);
    if (d->reverse && rule->reverse)
        return derive_reverse(d, c, zeros, results, tangents);
    return rule->forward ? derive_forward(d, c, zeros, results, tangents)
                         : refuse_mode(d, c);
}

bool pithp_transpose_rule(pithp_derivation *d,
                          const pithp_moving_call *c,
                          pithp_value *cotangents) {
    pithp_rule *rule = rule_of(c);
    const pithp_value *ct = cotangents + c->i->result,
                      *of = pithp_operands(c->from, c->i);
    const int first = rule->first_count + rule->bound_count;
    bool any = false, *zeros = pithp_scope_allocate(d->s, (size_t)rule->result_count + 1);
    if (!zeros)
        return false;
    for (int k = 0; k < rule->result_count; k++) {
        zeros[k] = ct[k] == PITHP_ABSENT;
        any |= !zeros[k];
    }
    if (!any)
        return true;
    for (int k = 0; k < first; k++)
        if (!rule->linear || c->operands[k] == PITHP_ABSENT) {
            pithp_fail_at(d->s, PITH_E_DERIVATIVE, NULL, c->i->site,
                          "the tangent of a rule is not linear: it has %s of a tangent",
                          rule->name);
            return false;
        }
    pithp_program *p = rule->record(rule, d->s, true, zeros, NULL);
    pithp_value *list =
        p ? list_inputs(d, rule, c->operands, rule->result_count, ct, p) : NULL;
    bool fine = list && pithp_program_inline(d->s, d->to, p, list, list + p->input_count);
    for (int k = c->i->operand_count; k-- > first && fine;) {
        const pithp_value part = list[p->input_count + k - first];
        if (c->operands[k] == PITHP_ABSENT)
            fine =
                (cotangents[of[k]] = pithp_derive_sum(d, cotangents[of[k]], part)) != -1;
    }
    pithp_program_release(p);
    return fine;
}
