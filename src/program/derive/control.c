/* Derivation of control flow. In forward mode one instruction carries tangents beside
 * values. In a linearization there are two: the first also has the residuals of its
 * programs as results, the second is linear in the tangents. */
#include "program/derive/arrange.h"
#include "program/derive/nest.h"
#include "program/derive/record.h"

#include <string.h>

/* ---- A control flow instruction that is derived ---- */

/* The operands of the derived instruction, group by group: those of the instruction, with
 * tangents after them. */
static int add_operands(const pithp_deriving_flow *f,
                        pithp_value *list,
                        int counts[PITHP_OPERAND_GROUPS]) {
    int n = 0;
    for (int g = 0; g < PITHP_OPERAND_GROUPS; g++) {
        const pithp_operand_group *group = &f->r.groups[g];
        const int before = n;
        for (int k = group->first; k < group->first + group->count; k++)
            list[n++] = f->c->operands[k];
        for (int k = group->first; k < group->first + group->count; k++)
            if (f->moving[k])
                list[n++] = pithp_flow_tangent(f, k);
        counts[g] = n - before;
    }
    return n;
}

/* A program of the instruction in forward mode: its inputs by groups as add_operands has
 * operands; its outputs, if they are results, with tangents after the carries and after
 * the others. */
static pithp_program *
forward_program(const pithp_deriving_flow *f, int b, bool *inputs, bool *outputs) {
    const pithp_program *p = f->i->programs[b];
    const bool yields = pithp_region_yields(&f->r, b);
    pith_scope *s = f->d->s;
    pithp_arrangement a;
    pithp_flow_inputs(f, b, inputs);
    if (!yields)
        memset(inputs, 0, (size_t)p->input_count * sizeof *inputs);
    pithp_derive_mode mode = pithp_mode_in(f->d);
    mode.reverse = false;
    pithp_program *jvp = pithp_forward(s, p, inputs, mode, outputs);
    if (!jvp ||
        !pithp_arrange_begin(&a, s, jvp, 2 * p->input_count, 2 * p->output_count)) {
        pithp_program_release(jvp);
        return NULL;
    }
    int64_t *tangents =
        pithp_scope_allocate(s, ((size_t)p->input_count + 1) * sizeof *tangents);
    if (!tangents) {
        pithp_program_release(jvp);
        return NULL;
    }
    for (int64_t k = 0, next = p->input_count; k < p->input_count; k++)
        tangents[k] = inputs[k] ? next++ : -1;
    for (int g = 0; g < PITHP_OPERAND_GROUPS; g++) {
        int first;
        if (!pithp_region_takes(&f->r, b, g, &first))
            continue;
        const int count = f->r.groups[g].count;
        for (int k = first; k < first + count; k++)
            pithp_arrange_input(&a, pithp_value_spec(p, p->inputs[k]), k);
        for (int k = first; k < first + count; k++)
            if (f->moving[f->r.groups[g].first + k - first])
                pithp_arrange_input(&a, pithp_value_spec(p, p->inputs[k]), tangents[k]);
    }
    const int64_t carries = yields ? f->r.carries.count : 0;
    int64_t next = p->output_count;
    for (int part = 0; part < 2; part++) {
        const int64_t from = part ? carries : 0, to = part ? p->output_count : carries;
        for (int64_t k = from; k < to; k++)
            pithp_arrange_output(&a, k, NULL);
        for (int64_t k = from; k < to && yields; k++)
            if (f->moves[k]) {
                pithp_arrange_output(&a, outputs[k] ? next : -1,
                                     pithp_value_spec(p, p->outputs[k]));
                next += outputs[k];
            }
    }
    pithp_program *made = pithp_arrange(&a);
    pithp_program_release(jvp);
    return made;
}

/* Whether result k is the stacked outputs of a scan, and so on: where results and
 * tangents of the derived instruction are. */
static void name_results(const pithp_deriving_flow *f,
                         pithp_value first,
                         pithp_value *results,
                         pithp_value *tangents) {
    const int carries = f->r.carries.count;
    pithp_value next = first;
    for (int part = 0; part < 2; part++) {
        const int from = part ? carries : 0, to = part ? f->i->result_count : carries;
        for (int k = from; k < to; k++)
            results[k] = next++;
        for (int k = from; k < to; k++)
            tangents[k] = f->moves[k] ? next++ : PITHP_ABSENT;
    }
}

static bool derive_forward(pithp_deriving_flow *f,
                           bool *inputs,
                           bool *outputs,
                           pithp_value *results,
                           pithp_value *tangents) {
    pith_scope *s = f->d->s;
    const size_t most = 2 * (size_t)f->i->operand_count + 1;
    pithp_value *list = pithp_scope_allocate(s, most * sizeof *list);
    pithp_program **programs =
        pithp_scope_allocate(s, ((size_t)f->i->program_count + 1) * sizeof *programs);
    if (!list || !programs)
        return false;
    union {
        pithp_while_params as_while;
        pithp_loop_params as_loop;
    } params;
    const size_t bytes = pithp_params_bytes(f->i->primitive);
    if (bytes)
        memcpy(&params, f->i->params, bytes);
    int counts[PITHP_OPERAND_GROUPS], made = 0;
    const int count = add_operands(f, list, counts);
    pithp_regions_resize(f->i->primitive, &params, counts);
    bool fine = true;
    for (int k = 0; k < count; k++)
        fine &= list[k] >= 0;
    for (; made < f->i->program_count && fine; made += fine)
        fine = (programs[made] = forward_program(f, made, inputs, outputs)) != NULL;
    const pithp_new_instruction derived = {.primitive = f->i->primitive,
                                           .operand_count = count,
                                           .operands = list,
                                           .params = bytes ? &params : NULL,
                                           .program_count = f->i->program_count,
                                           .programs = programs,
                                           .site = f->i->site};
    const pithp_value first = fine ? pithp_program_add_many(s, f->d->to, &derived) : -1;
    for (int k = 0; k < made; k++)
        pithp_program_release(programs[k]);
    if (first >= 0)
        name_results(f, first, results, tangents);
    return first >= 0;
}

/* The instruction itself. A while without a record is not split: its linear one computes
 * the values once more. */
static bool copy_instruction(const pithp_deriving_flow *f, pithp_value *results) {
    const pithp_new_instruction copy = {.primitive = f->i->primitive,
                                        .operand_count = f->i->operand_count,
                                        .operands = f->c->operands,
                                        .params = f->i->params,
                                        .program_count = f->i->program_count,
                                        .programs = f->i->programs,
                                        .site = f->i->site};
    const pithp_value first = pithp_program_add_many(f->d->s, f->d->to, &copy);
    for (int k = 0; k < f->i->result_count; k++)
        results[k] = first + k;
    return first >= 0;
}

/* ---- Loops that may be longer than their record ---- */

/* The condition of a while with a record, as long as there are rows. NULL: error set. */
static pithp_program *while_rows_last(const pithp_deriving_flow *f) {
    const pithp_program *cond = f->i->programs[0];
    const pithp_while_params *params = f->i->params;
    pithp_value *in =
        pithp_scope_allocate(f->d->s, ((size_t)cond->input_count + 1) * sizeof *in);
    pithp_derivation e =
        pithp_derivation_in(f->d, in ? pithp_program_make(f->d->s) : NULL);
    bool fine = e.to;
    for (int64_t k = 0; k < cond->input_count && fine; k++)
        fine = (in[k] = pithp_program_input(e.s, e.to, pithp_input_spec(cond, k))) >= 0;
    pithp_value goes_on = -1;
    fine = fine && pithp_program_inline(e.s, e.to, cond, in, &goes_on);
    if (fine) {
        const pithp_value row = pithp_derive_2(&e, PITHP_OP_LT, in[params->cond_operands],
                                               pithp_derive_integer(&e, params->most));
        goes_on = pithp_derive_2(&e, PITHP_OP_LOGICAL_AND, goes_on, row);
        fine = goes_on >= 0 && pithp_program_output(e.s, e.to, goes_on);
    }
    if (fine)
        return e.to;
    pithp_program_release(e.to);
    return NULL;
}

/* The iterations that the record has rows for. */
static bool split_recorded(const pithp_deriving_flow *f,
                           bool *inputs,
                           bool *outputs,
                           pithp_value *results,
                           pithp_value *tangents) {
    pithp_program *programs[2] = {while_rows_last(f), f->i->programs[1]};
    pithp_instruction i = *f->i;
    pithp_moving_call c = *f->c;
    pithp_deriving_flow part = *f;
    i.programs = programs;
    c.i = part.i = &i;
    part.c = &c;
    const bool fine =
        programs[0] && pithp_split_while(&part, inputs, outputs, results, tangents);
    pithp_program_release(programs[0]);
    return fine;
}

/* Whether a record spares more than what is computed again anyway: elementwise work on
 * values that are kept. A loop that ends as its counter reaches a bound has the counter
 * of all iterations: those that follow the rows cannot count from 0. */
static bool spares_work(const pithp_instruction *i) {
    const pithp_program *body = i->programs[1];
    bool spares = false;
    if (pithp_is_range(i))
        return false;
    for (int64_t n = 0; n < body->instruction_count && !spares; n++) {
        const pithp_primitive op = body->instructions[n].primitive;
        spares = !pithp_op_has(op, PITHP_TRAIT_POINTWISE | PITHP_TRAIT_VIEW |
                                       PITHP_TRAIT_MARK) &&
                 body->instructions[n].operand_count > 0;
    }
    return spares;
}

/* A linearization that is not transposed: the iterations that have rows, and a loop for
 * those that follow, whose linear one computes its values once more. So no record is too
 * short. */
static bool split_longer(pithp_deriving_flow *f,
                         bool *inputs,
                         bool *outputs,
                         pithp_value *results,
                         pithp_value *tangents) {
    pithp_derivation *d = f->d;
    const int n = f->i->operand_count, first = f->r.carries.first;
    pithp_value *list = pithp_scope_allocate(d->s, 2 * (size_t)n * sizeof *list);
    pithp_moving_call c = *f->c;
    pithp_deriving_flow rest = *f;
    if (!list || !split_recorded(f, inputs, outputs, results, tangents))
        return false;
    for (int k = 0; k < n; k++) {
        const int carry = k - first;
        list[k] = carry < 0    ? f->c->operands[k]
                  : carry == 0 ? pithp_derive_integer(d, 0) /* its own record */
                               : results[carry];
        list[n + k] = carry < 0 ? f->c->tangents[k] : tangents[carry];
    }
    const pithp_value rows = results[0];
    c.operands = list;
    c.tangents = list + n;
    rest.c = &c;
    if (list[first] < 0 || !derive_forward(&rest, inputs, outputs, results, tangents) ||
        !copy_instruction(&rest, results))
        return false;
    results[0] = pithp_derive_2(d, PITHP_OP_MAX, rows, results[0]);
    return results[0] >= 0;
}

/* No result moves. Its programs may refuse tangents. */
static bool
derive_still(pithp_deriving_flow *f, bool *inputs, bool *outputs, pithp_value *results) {
    bool fine = true;
    for (int b = 0; b < f->i->program_count && fine; b++) {
        const bool refuses = f->i->programs[b]->has_refusals || f->d->no_cuts;
        if (!refuses || !pithp_region_yields(&f->r, b))
            continue;
        pithp_flow_inputs(f, b, inputs);
        pithp_program *derived = pithp_forward(f->d->s, f->i->programs[b], inputs,
                                               pithp_mode_in(f->d), outputs);
        fine = derived != NULL;
        pithp_program_release(derived);
    }
    return fine && copy_instruction(f, results);
}

static int64_t most_of(const pithp_instruction *i) {
    int64_t most = i->operand_count + i->result_count;
    for (int k = 0; k < i->program_count; k++) {
        const pithp_program *p = i->programs[k];
        most = p->input_count > most ? p->input_count : most;
        most = p->output_count > most ? p->output_count : most;
    }
    return most + 1;
}

bool pithp_derive_control(pithp_derivation *d,
                          const pithp_moving_call *c,
                          pithp_value *results,
                          pithp_value *tangents) {
    const size_t most = (size_t)most_of(c->i);
    bool *memory = pithp_scope_allocate(d->s, 4 * most);
    if (!memory)
        return false;
    pithp_deriving_flow f = {.d = d,
                             .c = c,
                             .i = c->i,
                             .r = pithp_regions_of(c->i),
                             .moving = memory,
                             .moves = memory + most};
    for (int k = 0; k < c->i->operand_count; k++)
        f.moving[k] = c->tangents[k] >= 0;
    bool *inputs = memory + 2 * most, *outputs = memory + 3 * most;
    if (!(d->dependent ? pithp_linear_moves(d, c, f.moving, f.moves)
                       : pithp_control_moves(d->s, c->i, f.moving, f.moves)))
        return false;
    bool any = false;
    for (int k = 0; k < c->i->result_count; k++) {
        tangents[k] = PITHP_ABSENT;
        any |= f.moves[k];
    }
    if (!any)
        return derive_still(&f, inputs, outputs, results);
    if (d->split && c->i->primitive == PITHP_OP_SCAN && pithp_is_nested(d->kept, c->i))
        return pithp_split_nested(&f, results, tangents);
    if (d->split && c->i->primitive == PITHP_OP_SCAN)
        return pithp_split_scan(&f, inputs, outputs, results, tangents);
    if (d->split && c->i->primitive == PITHP_OP_COND)
        return pithp_split_cond(&f, inputs, outputs, results, tangents);
    if (d->split && d->reverse && pithp_has_record(c->i))
        return pithp_split_while(&f, inputs, outputs, results, tangents);
    if (d->split && pithp_has_record(c->i) && spares_work(c->i))
        return split_longer(&f, inputs, outputs, results, tangents);
    return derive_forward(&f, inputs, outputs, results, tangents) &&
           (!d->split || copy_instruction(&f, results));
}
