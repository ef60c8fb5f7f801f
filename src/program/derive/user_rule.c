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

/* Whether a tangent reaches a bound tree, which sets the error. */
static bool refuse_bound(pithp_derivation *d, const pithp_moving_call *c) {
    const pithp_rule *rule = rule_of(c);
    for (int k = 0; k < rule->bound_count; k++)
        if (c->tangents[rule->first_count + k] >= 0) {
            rule->refuse(rule, d->s, c->i->site, k);
            return true;
        }
    return false;
}

/* ---- Checks ---- */

static void name_checks(const pithp_program *p, pithp_nest_origin of, int32_t *number) {
    for (int64_t n = 0; p->has_effects && n < p->instruction_count; n++) {
        const pithp_instruction *i = &p->instructions[n];
        if (i->primitive == PITHP_OP_EXPOSE) {
            pithp_exposed *e = ((const pithp_expose_params *)i->params)->exposed;
            e->of = of;
            e->number = (*number)++;
        }
        for (int b = 0; b < i->program_count; b++)
            name_checks(i->programs[b], of, number);
    }
}

/* A function of a rule, for a row of a loop that may be divided. NULL: error set. */
static pithp_program *record(pith_scope *s,
                             pithp_rule *rule,
                             bool reverse,
                             const bool *zeros,
                             pithp_rule **linear,
                             pithp_nest_origin of) {
    pithp_program *p = rule->record(rule, s, reverse, zeros, linear);
    int32_t number = 0;
    if (p && of.nest)
        name_checks(p, of, &number);
    return p;
}

/* linear: of the row that is linear in tangents, which comes from the same one. */
static pithp_nest_origin
origin_of(const pithp_derivation *d, const pithp_moving_call *c, bool linear) {
    return (pithp_nest_origin){d->nest, (const char *)c->i + linear};
}

/* ---- Results ---- */

static bool refuse_value(pithp_derivation *d, const pithp_moving_call *c) {
    pithp_fail_at(d->s, PITH_E_DERIVATIVE, NULL, c->i->site,
                  "the value that the rule of %s returns depends on a tangent",
                  rule_of(c)->name);
    return false;
}

/* The tangents that depend on a tangent of a primal: others are zero. */
static bool take_tangents(pithp_derivation *d,
                          const pithp_moving_call *c,
                          const pithp_program *p,
                          const pithp_value *outputs,
                          pithp_value *tangents) {
    const pithp_rule *rule = rule_of(c);
    const size_t count = (size_t)(p->value_count + p->input_count + p->output_count) + 1;
    bool *linear = pithp_scope_allocate(d->s, count);
    if (!linear)
        return false;
    bool *inputs = linear + p->value_count, *reached = inputs + p->input_count;
    for (int64_t k = 0; k < p->input_count; k++)
        inputs[k] = k >= rule->first_count + rule->bound_count;
    pithp_colour(p, inputs, linear);
    if (!pithp_program_reach(d->s, p, inputs, reached))
        return false;
    for (int k = 0; k < rule->result_count; k++) {
        const int at = rule->result_count + k;
        if (reached[k])
            return refuse_value(d, c);
        const bool moves = is_float(rule->results[k]) && linear[p->outputs[at]];
        tangents[k] = moves ? outputs[at] : PITHP_ABSENT;
        if (!pithp_derive_linear(d, tangents[k]))
            return false;
    }
    return true;
}

/* ---- Reverse mode ---- */

static bool refuse_nonlinear(pithp_derivation *d, const pithp_moving_call *c) {
    pithp_fail_at(d->s, PITH_E_DERIVATIVE, NULL, c->i->site,
                  "the tangent of a rule is not linear: it has %s of a tangent",
                  rule_of(c)->name);
    return false;
}

/* The operands of the linear row: residuals, with primals that are watched, bound ones
 * and tangents. Returns their number. */
static int list_operands(const pithp_moving_call *c,
                         const pithp_rule *linear,
                         bool watched,
                         const pithp_value *residuals,
                         pithp_value *list) {
    const pithp_rule *rule = rule_of(c);
    pithp_value *next = list;
    for (int k = 0; k < linear->first_count; k++)
        *next++ = residuals[k];
    for (int k = 0; watched && k < rule->first_count; k++)
        if (c->tangents[k] >= 0)
            *next++ = c->operands[k];
    for (int k = 0; k < rule->bound_count; k++)
        *next++ = c->operands[rule->first_count + k];
    for (int k = 0; k < rule->first_count; k++)
        if (c->tangents[k] >= 0)
            *next++ = c->tangents[k];
    return (int)(next - list);
}

/* Add the row that is linear in the tangents of primals; `residuals`: its first operands.
 * Returns its first result. */
static pithp_value add_linear(pithp_derivation *d,
                              const pithp_moving_call *c,
                              pithp_rule *linear,
                              const pithp_value *residuals) {
    const bool watches = d->inside && d->inside->rule;
    const size_t most = (size_t)linear->first_count + 2 * (size_t)c->i->operand_count;
    pithp_value *list = pithp_scope_allocate(d->s, (most + 1) * sizeof *list), v = -1;
    linear->strong_zero = d->strong_zero; /* no other program has it yet */
    pithp_rule *watched = watches ? pithp_watched_linear(d, c, linear) : NULL;
    const pithp_rule_params params = {watches ? watched : linear};
    if (list && params.rule) {
        params.rule->of = origin_of(d, c, true);
        const pithp_new_instruction row = {
            .primitive = PITHP_OP_RULE,
            .operand_count = list_operands(c, linear, watches, residuals, list),
            .operands = list,
            .params = &params,
            .site = c->i->site};
        v = pithp_program_add_many(d->s, d->to, &row);
    }
    pithp_rule_release(watched);
    return v;
}

/* The number of results among the outputs of a program in reverse mode. */
static int result_outputs(const pithp_rule *rule) {
    return rule->takes_results ? 0 : rule->result_count;
}

/* Of a rule that is applied to tangents: the backward function must not read one. The
 * results depend on them. */
static bool
check_residuals(pithp_derivation *d, const pithp_moving_call *c, const pithp_program *p) {
    const pithp_rule *rule = rule_of(c);
    const int known = rule->bound_count + rule->first_count;
    bool *inputs =
             pithp_scope_allocate(d->s, (size_t)(p->input_count + p->output_count) + 1),
         *outputs = inputs + p->input_count, any = false;
    if (!inputs)
        return false;
    memset(inputs, 0, (size_t)p->input_count);
    for (int k = 0; k < rule->first_count; k++)
        inputs[rule->bound_count + k] = c->tangents[k] >= 0;
    for (int64_t k = known; k < p->input_count; k++)
        inputs[k] = true;
    if (!pithp_program_reach(d->s, p, inputs, outputs))
        return false;
    for (int64_t k = result_outputs(rule); k < p->output_count; k++)
        any |= outputs[k];
    return !any || refuse_nonlinear(d, c);
}

static bool derive_reverse(pithp_derivation *d,
                           const pithp_moving_call *c,
                           const bool *zeros,
                           pithp_value *results,
                           pithp_value *tangents) {
    pithp_rule *rule = rule_of(c), *linear = NULL;
    pithp_program *p = record(d->s, rule, true, zeros, &linear, origin_of(d, c, false));
    const bool takes = rule->takes_results,
               fits = p && (!d->dependent || check_residuals(d, c, p)) &&
                      (!takes || keep_row(d, c, results));
    pithp_value *list = fits ? list_inputs(d, rule, c->operands,
                                           takes ? rule->result_count : 0, results, p)
                             : NULL,
                *outputs = list ? list + p->input_count : NULL, next = -1;
    if (list && pithp_program_inline(d->s, d->to, p, list, outputs))
        next = add_linear(d, c, linear, outputs + result_outputs(rule));
    bool fine = next >= 0;
    for (int k = 0; k < rule->result_count && fine; k++) {
        results[k] = takes ? results[k] : outputs[k];
        tangents[k] = is_float(rule->results[k]) ? next++ : PITHP_ABSENT;
        fine = pithp_derive_linear(d, tangents[k]);
    }
    pithp_program_release(p);
    pithp_rule_release(linear);
    return fine;
}

/* ---- Forward mode ---- */

/* The inputs of the program of a tangent that are tangents. NULL: error set. */
static bool *
mark_tangents(pith_scope *s, const pithp_rule *rule, const pithp_program *p) {
    bool *inputs = pithp_scope_allocate(s, (size_t)p->input_count + 1);
    for (int64_t k = 0; inputs && k < p->input_count; k++)
        inputs[k] = k >= rule->first_count + rule->bound_count;
    return inputs;
}

/* Whether the program of a tangent is to be split apart from others: control flow may
 * carry tangents beside values, rules that are applied to tangents can be transposed only
 * as linear rows, and its products are those in which 0 wins. False may set the error. */
static bool
is_to_split(const pithp_derivation *d, const pithp_program *p, const bool *inputs) {
    bool any = d->strong_zero,
         *linear = pithp_scope_allocate(d->s, (size_t)p->value_count + 1);
    if (!linear || !d->split)
        return false;
    pithp_colour(p, inputs, linear);
    for (int64_t k = 0; k < p->instruction_count; k++) {
        const pithp_instruction *i = &p->instructions[k];
        any |= ((d->reverse && i->primitive == PITHP_OP_RULE) ||
                pithp_op_has(i->primitive, PITHP_TRAIT_REGIONS)) &&
               i->result_count && linear[i->result];
    }
    return any;
}

/* Add the program of a tangent in two halves: what depends on no tangent, and what is
 * linear in tangents. */
static bool add_halves(pithp_derivation *d,
                       const pithp_moving_call *c,
                       const pithp_program *p,
                       const pithp_linearization *l,
                       pithp_value *outputs,
                       pithp_value *linear_outputs) {
    const pithp_rule *rule = rule_of(c);
    const int64_t known = rule->first_count + rule->bound_count;
    pithp_value *list =
                    list_inputs(d, rule, c->operands, rule->first_count, c->tangents, p),
                *in = pithp_scope_allocate(d->s, ((size_t)l->linear->input_count + 1) *
                                                     sizeof *in);
    if (!list || !in)
        return false;
    memcpy(in + l->residual_count, list + known,
           (size_t)(p->input_count - known) * sizeof *in);
    for (int64_t k = known; k < p->input_count; k++) /* not read */
        if ((list[k] = pithp_derive_zeros(d, pithp_value_spec(p, p->inputs[k]))) < 0)
            return false;
    if (!pithp_program_inline(d->s, d->to, l->forward, list, outputs))
        return false;
    memcpy(in, outputs + p->output_count, (size_t)l->residual_count * sizeof *in);
    return pithp_program_inline(d->s, d->to, l->linear, in, linear_outputs);
}

/* Name the tangents of results among the outputs of the linear half. */
static bool name_tangents(pithp_derivation *d,
                          const pithp_moving_call *c,
                          const bool *moves,
                          const pithp_value *next,
                          pithp_value *tangents) {
    const pithp_rule *rule = rule_of(c);
    for (int k = 0; k < 2 * rule->result_count; k++) {
        const bool value = k < rule->result_count;
        if (value && moves[k])
            return refuse_value(d, c);
        if (!value)
            tangents[k - rule->result_count] = moves[k] ? *next : PITHP_ABSENT;
        next += moves[k];
        if (!value && !pithp_derive_linear(d, tangents[k - rule->result_count]))
            return false;
    }
    return true;
}

static bool derive_split(pithp_derivation *d,
                         const pithp_moving_call *c,
                         const pithp_program *p,
                         const bool *inputs,
                         pithp_value *results,
                         pithp_value *tangents) {
    const pithp_rule *rule = rule_of(c);
    const pithp_derive_mode mode = {.split = true,
                                    .reverse = d->reverse,
                                    .strong_zero = d->strong_zero,
                                    .direct = true,
                                    .inside = d->reverse ? d->inside : NULL,
                                    .rule = rule->name};
    pithp_linearization l;
    bool *moves = pithp_scope_allocate(d->s, (size_t)p->output_count + 1);
    if (!moves || !pithp_split(d->s, p, inputs, mode, moves, &l))
        return false;
    const size_t count = (size_t)(l.forward->output_count + l.linear->output_count) + 1;
    pithp_value *outputs = pithp_scope_allocate(d->s, count * sizeof *outputs),
                *linear_outputs = outputs + l.forward->output_count;
    const bool fine = outputs && add_halves(d, c, p, &l, outputs, linear_outputs) &&
                      name_tangents(d, c, moves, linear_outputs, tangents);
    if (fine)
        memcpy(results, outputs, (size_t)rule->result_count * sizeof *results);
    pithp_program_release(l.forward);
    pithp_program_release(l.linear);
    return fine;
}

static bool derive_whole(pithp_derivation *d,
                         const pithp_moving_call *c,
                         const pithp_program *p,
                         pithp_value *results,
                         pithp_value *tangents) {
    const pithp_rule *rule = rule_of(c);
    pithp_value *list =
        list_inputs(d, rule, c->operands, rule->first_count, c->tangents, p);
    if (!list)
        return false;
    const pithp_value *outputs = list + p->input_count;
    const bool fine = pithp_program_inline(d->s, d->to, p, list, list + p->input_count) &&
                      take_tangents(d, c, p, outputs, tangents);
    memcpy(results, outputs, (size_t)rule->result_count * sizeof *results);
    return fine;
}

/* Replace a program by one that is watched. False sets the error. */
static bool watch(pithp_derivation *d, const pithp_rule *rule, pithp_program **p) {
    pithp_program *watched = pithp_watched_tangents(
        d->s, *p, d->inside, rule->name, rule->first_count + rule->bound_count);
    pithp_program_release(*p);
    *p = watched;
    return watched;
}

static bool derive_forward(pithp_derivation *d,
                           const pithp_moving_call *c,
                           const bool *zeros,
                           pithp_value *results,
                           pithp_value *tangents) {
    pithp_rule *rule = rule_of(c);
    pithp_program *p = record(d->s, rule, false, zeros, NULL, origin_of(d, c, false));
    const bool *inputs = p ? mark_tangents(d->s, rule, p) : NULL;
    const bool watches = d->inside && d->inside->rule;
    const bool split =
        inputs && (is_to_split(d, p, inputs) || (watches && d->reverse && d->split));
    const bool watched = watches && !d->reverse && !split;
    bool fine = inputs && d->s->error.code == PITH_OK &&
                pithp_check_terms(d->s, p, inputs, rule->result_count, c->i->site);
    fine = fine && (!watched || watch(d, rule, &p));
    fine = fine && (split ? derive_split(d, c, p, inputs, results, tangents)
                          : derive_whole(d, c, p, results, tangents));
    pithp_program_release(p);
    return fine;
}

/* ---- Rules that are applied to tangents ---- */

/* The row on tangents. */
static bool add_on_tangents(pithp_derivation *d,
                            const pithp_moving_call *c,
                            pithp_value *results,
                            pithp_value *tangents) {
    const int values = c->i->operand_count - c->i->result_count;
    for (int k = 0; k < c->i->operand_count; k++)
        c->scratch[k] = c->tangents[k] >= 0 ? c->tangents[k] : c->operands[k];
    const pithp_moving_call row = {.i = c->i, .operands = c->scratch};
    if (!keep_row(d, &row, tangents))
        return false;
    for (int k = 0; k < c->i->result_count; k++) {
        const bool moves = c->tangents[values + k] >= 0;
        results[k] = moves ? c->operands[values + k] : tangents[k];
        tangents[k] = moves ? tangents[k] : PITHP_ABSENT;
    }
    return true;
}

/* For reverse mode its linear row, or without a rule for that mode the value that it
 * marks. */
bool pithp_linear_rule(pithp_derivation *d,
                       const pithp_moving_call *c,
                       pithp_value *results,
                       pithp_value *tangents) {
    pithp_rule *rule = rule_of(c);
    const int values = c->i->operand_count - c->i->result_count;
    bool any = false, *zeros = pithp_scope_allocate(d->s, (size_t)rule->first_count + 1);
    for (int k = 0; zeros && k < rule->first_count; k++) {
        zeros[k] = c->tangents[k] < 0;
        any |= !zeros[k];
    }
    for (int k = 0; k < c->i->result_count; k++) {
        results[k] = c->operands[values + k];
        tangents[k] = c->tangents[values + k];
    }
    if (zeros && !d->reverse)
        return add_on_tangents(d, c, results, tangents);
    if (!zeros || !rule->reverse || !any)
        return zeros;
    return !refuse_bound(d, c) && derive_reverse(d, c, zeros, results, tangents);
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
    if (pithp_rule_passes(rule)) {
        for (int k = 0; k < c->i->result_count; k++)
            tangents[k] = c->tangents[rule->first_count + rule->bound_count + k];
        return keep_row(d, c, results);
    }
    if (refuse_bound(d, c))
        return false;
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
        if (!rule->linear || c->operands[k] == PITHP_ABSENT)
            return refuse_nonlinear(d, c);
    pithp_program *p = record(d->s, rule, true, zeros, NULL, rule->of);
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
