/* Transposition of control flow: a cond of transposed branches, and a loop in the other
 * direction, whose carries are the cotangents of carries and of constants. */
#include "program/derive/arrange.h"
#include "program/derive/record.h"

#include <string.h>

typedef struct turning {
    pithp_derivation *d;
    const pithp_moving_call *c;
    const pithp_instruction *i;
    pithp_regions r;
    pithp_value *cotangents;  /* of the values of c->from */
    bool *marks;              /* linear operands */
    bool *reaches;            /* operands that get a cotangent */
    bool **inputs;            /* of each program: inputs that get one */
    pithp_program **programs; /* transposed, one reference each */
} turning;

static const pith_spec *operand_spec(const turning *t, int k) {
    return pithp_value_spec(t->c->from, pithp_operands(t->c->from, t->i)[k]);
}

/* The cotangent of result k, with zeros for one that nothing depends on. */
static pithp_value cotangent(const turning *t, int k) {
    const pithp_value ct = t->cotangents[t->i->result + k];
    return ct != PITHP_ABSENT
               ? ct
               : pithp_derive_zeros(t->d, pithp_value_spec(t->c->from, t->i->result + k));
}

static bool has_cotangent(const turning *t) {
    bool any = false;
    for (int k = 0; k < t->i->result_count; k++)
        any |= t->cotangents[t->i->result + k] != PITHP_ABSENT;
    return any;
}

static bool is_in(const turning *t, int g, int k) {
    const pithp_operand_group *group = &t->r.groups[g];
    return k >= group->first && k < group->first + group->count;
}

/* Whether the cotangent of an operand is a sum over iterations. */
static bool has_sum(const turning *t, int k) {
    return t->i->primitive == PITHP_OP_SCAN && is_in(t, PITHP_SCAN_CONSTANTS, k);
}

/* Transpose the programs. Carries are linear whatever they begin as, without the one that
 * counts in a while. */
static bool transpose_programs(turning *t) {
    const bool counts = t->i->primitive == PITHP_OP_WHILE;
    for (int k = 0; k < t->r.carries.count; k++)
        t->marks[t->r.carries.first + k] = k >= counts;
    for (int b = counts; b < t->i->program_count; b++) {
        const pithp_program *p = t->i->programs[b];
        const size_t n = (size_t)p->input_count;
        bool *marks = pithp_scope_allocate(t->d->s, 3 * n + 1), *sums = marks + 2 * n;
        if (!marks)
            return false;
        for (int k = 0; k < p->input_count; k++) {
            const int operand = pithp_region_operand(&t->r, b, k);
            marks[k] = t->marks[operand];
            sums[k] = marks[k] && has_sum(t, operand);
        }
        t->inputs[b] = marks + n;
        t->programs[b] = pithp_transpose_onto(t->d->s, p, marks, sums, t->inputs[b]);
        if (!t->programs[b])
            return false;
        for (int64_t k = 0; k < p->input_count; k++)
            t->reaches[pithp_region_operand(&t->r, b, (int)k)] |= t->inputs[b][k];
    }
    return true;
}

/* The output of a transposed program that is the cotangent of an input; -1: none. */
static int64_t output_for(const turning *t, int b, int input) {
    int64_t n = 0;
    for (int k = 0; k < input; k++)
        n += t->inputs[b][k];
    return t->inputs[b][input] ? n : -1;
}

static bool give(turning *t, int operand, pithp_value part) {
    pithp_value *ct = &t->cotangents[pithp_operands(t->c->from, t->i)[operand]];
    return (*ct = pithp_derive_sum(t->d, *ct, part)) != -1;
}

static pithp_value add_instruction(const turning *t,
                                   int count,
                                   const pithp_value *operands,
                                   const void *params,
                                   pithp_program **programs) {
    const pithp_new_instruction made = {.primitive = t->i->primitive,
                                        .operand_count = count,
                                        .operands = operands,
                                        .params = params,
                                        .program_count = t->i->program_count,
                                        .programs = programs,
                                        .site = t->i->site};
    for (int k = 0; k < count; k++)
        if (operands[k] < 0)
            return -1;
    return pithp_program_add_many(t->d->s, t->d->to, &made);
}

/* ---- cond ---- */

/* The branch of known operands and cotangents, whose outputs all branches have. */
static pithp_program *turned_branch(const turning *t, int b) {
    const pithp_program *from = t->programs[b];
    pithp_arrangement a;
    if (!pithp_arrange_begin(&a, t->d->s, from, from->input_count, t->i->operand_count))
        return NULL;
    for (int64_t k = 0; k < from->input_count; k++)
        pithp_arrange_input(&a, pithp_value_spec(from, from->inputs[k]), k);
    for (int k = 1; k < t->i->operand_count; k++)
        if (t->reaches[k])
            pithp_arrange_output(&a, output_for(t, b, k - 1), operand_spec(t, k));
    return pithp_arrange(&a);
}

static bool turn_cond(turning *t, pithp_value *list, pithp_program **programs) {
    int count = 0, made = 0;
    bool fine = true;
    list[count++] = t->c->operands[0];
    for (int k = 1; k < t->i->operand_count; k++)
        if (!t->marks[k])
            list[count++] = t->c->operands[k];
    for (int k = 0; k < t->i->result_count; k++)
        list[count++] = cotangent(t, k);
    for (; made < t->i->program_count && fine; made += fine)
        fine = (programs[made] = turned_branch(t, made)) != NULL;
    pithp_value next = fine ? add_instruction(t, count, list, NULL, programs) : -1;
    for (int k = 0; k < made; k++)
        pithp_program_release(programs[k]);
    fine = next >= 0;
    for (int k = 1; k < t->i->operand_count && fine; k++)
        fine = !t->reaches[k] || give(t, k, next++);
    return fine;
}

/* ---- scan ---- */

/* The body: known constants; cotangents of carries, sums for constants; known elements of
 * xs, cotangents of outputs. */
static pithp_program *turned_body(const turning *t) {
    const pithp_program *from = t->programs[0], *body = t->i->programs[0];
    const int carries = t->r.carries.count, n = t->i->operand_count;
    const int64_t outs = body->output_count;
    int64_t known = 0, next = 0, sums;
    pithp_arrangement a;
    for (int k = 0; k < n; k++)
        known += !t->marks[k];
    sums = known + outs;
    if (!pithp_arrange_begin(&a, t->d->s, from, from->input_count + n, 2 * (int64_t)n))
        return NULL;
    for (int k = 0; k < n; k++)
        if (is_in(t, PITHP_SCAN_CONSTANTS, k) && !t->marks[k])
            pithp_arrange_input(&a, pithp_value_spec(body, body->inputs[k]), next++);
    for (int k = 0; k < carries; k++)
        pithp_arrange_input(&a, pithp_value_spec(body, body->outputs[k]), known + k);
    for (int k = 0; k < n; k++)
        if (is_in(t, PITHP_SCAN_CONSTANTS, k) && t->marks[k]) {
            if (t->reaches[k])
                pithp_arrange_input(&a, pithp_value_spec(body, body->inputs[k]), sums);
            sums++;
        }
    for (int k = 0; k < n; k++)
        if (is_in(t, PITHP_SCAN_XS, k) && !t->marks[k])
            pithp_arrange_input(&a, pithp_value_spec(body, body->inputs[k]), next++);
    for (int64_t k = carries; k < outs; k++)
        pithp_arrange_input(&a, pithp_value_spec(body, body->outputs[k]), known + k);
    for (int k = 0; k < carries; k++) {
        const int input = t->r.carries.first + k;
        pithp_arrange_output(&a, output_for(t, 0, input),
                             pithp_value_spec(body, body->inputs[input]));
    }
    for (int k = 0; k < n; k++)
        if (is_in(t, PITHP_SCAN_CONSTANTS, k) && t->reaches[k])
            pithp_arrange_output(&a, output_for(t, 0, k), NULL);
    for (int k = 0; k < n; k++)
        if (is_in(t, PITHP_SCAN_XS, k) && t->reaches[k])
            pithp_arrange_output(&a, output_for(t, 0, k), NULL);
    return pithp_arrange(&a);
}

/* The sum for a constant begins at the cotangent so far, unless another sum does. */
static bool begins(const turning *t, int k) {
    const pithp_value *of = pithp_operands(t->c->from, t->i);
    bool first = t->cotangents[of[k]] != PITHP_ABSENT;
    for (int j = 0; j < k; j++)
        first &= !(has_sum(t, j) && t->reaches[j] && of[j] == of[k]);
    return first;
}

static pithp_value first_sum(const turning *t, int k) {
    return begins(t, k) ? t->cotangents[pithp_operands(t->c->from, t->i)[k]]
                        : pithp_derive_zeros(t->d, operand_spec(t, k));
}

static bool take_sum(turning *t, int k, pithp_value sum) {
    if (!begins(t, k))
        return give(t, k, sum);
    t->cotangents[pithp_operands(t->c->from, t->i)[k]] = sum;
    return true;
}

static bool turn_scan(turning *t, pithp_value *list, pithp_program **programs) {
    const int n = t->i->operand_count, carries = t->r.carries.count;
    pithp_loop_params loop = *(const pithp_loop_params *)t->i->params;
    int count = 0;
    for (int k = 0; k < n; k++)
        if (is_in(t, PITHP_SCAN_CONSTANTS, k) && !t->marks[k])
            list[count++] = t->c->operands[k];
    loop.constants = count;
    for (int k = 0; k < carries; k++)
        list[count++] = cotangent(t, k);
    for (int k = 0; k < n; k++)
        if (is_in(t, PITHP_SCAN_CONSTANTS, k) && t->reaches[k])
            list[count++] = first_sum(t, k);
    loop.carries = count - loop.constants;
    for (int k = 0; k < n; k++)
        if (is_in(t, PITHP_SCAN_XS, k) && !t->marks[k])
            list[count++] = t->c->operands[k];
    for (int k = carries; k < t->i->result_count; k++)
        list[count++] = cotangent(t, k);
    loop.reverse = !loop.reverse;
    programs[0] = turned_body(t);
    pithp_value next =
        programs[0] ? add_instruction(t, count, list, &loop, programs) : -1;
    pithp_program_release(programs[0]);
    bool fine = next >= 0;
    const pithp_value of_carries = next;
    next += carries;
    for (int g = PITHP_SCAN_CONSTANTS; g <= PITHP_SCAN_XS && fine; g++)
        for (int k = 0; k < n && fine; k++)
            if (g != PITHP_SCAN_CARRIES && is_in(t, g, k) && t->reaches[k])
                fine = has_sum(t, k) ? take_sum(t, k, next++) : give(t, k, next++);
    for (int k = 0; k < carries && fine; k++) {
        const int operand = t->r.carries.first + k;
        fine = t->c->operands[operand] != PITHP_ABSENT || /* zeros: known */
               give(t, operand, of_carries + k);
    }
    return fine;
}

/* ---- while ---- */

static bool turn_while(turning *t) {
    const pithp_turned_loop loop = {.d = t->d,
                                    .c = t->c,
                                    .regions = &t->r,
                                    .marks = t->marks,
                                    .reaches = t->reaches,
                                    .inputs = t->inputs[1],
                                    .transposed = t->programs[1],
                                    .results = t->cotangents + t->i->result};
    pithp_value next = pithp_turn_while(&loop);
    bool fine = next >= 0;
    for (int k = 1; k < t->r.carries.count && fine; k++, next++) {
        const int operand = t->r.carries.first + k;
        fine = t->c->operands[operand] != PITHP_ABSENT || give(t, operand, next);
    }
    for (int k = 1; k < t->r.carries.first && fine; k++)
        fine = !t->reaches[k] || give(t, k, next++);
    return fine;
}

/* A while without a record: name what decides how often it runs. */
static void refuse_while(pith_scope *s, const pithp_instruction *i) {
    const pithp_program *cond = i->programs[0];
    const pithp_instruction *last = pithp_maker(cond, cond->outputs[0]);
    if (pithp_is_range(i))
        pithp_fail_at(s, PITH_E_DERIVATIVE, NULL, i->site,
                      "a loop with a traced upper bound has no derivative in reverse "
                      "mode: use pith_fori_with and .most, or bounds that are known");
    else
        pithp_fail_at(s, PITH_E_DERIVATIVE, NULL, i->site,
                      "a while has no derivative in reverse mode, because its number of "
                      "iterations is traced (%s%s%s): use pith_while_recorded, or a loop "
                      "with known bounds",
                      last ? pithp_ops[last->primitive].name : "a carry",
                      last && last->site ? " at " : "",
                      last && last->site ? pithp_site_name(last->site) : "");
}

bool pithp_transpose_control(pithp_derivation *d,
                             const pithp_moving_call *c,
                             pithp_value *cotangents) {
    const size_t n = (size_t)c->i->operand_count, programs = (size_t)c->i->program_count;
    turning t = {.d = d, .c = c, .i = c->i, .r = pithp_regions_of(c->i)};
    t.cotangents = cotangents;
    if (!has_cotangent(&t))
        return true;
    if (c->i->primitive == PITHP_OP_WHILE && !pithp_is_counted(c->i)) {
        refuse_while(d->s, c->i);
        return false;
    }
    t.marks = pithp_scope_allocate(d->s, 2 * n + 1);
    t.inputs = pithp_scope_allocate(d->s, programs * sizeof *t.inputs);
    t.programs = pithp_scope_allocate(d->s, 2 * programs * sizeof *t.programs);
    pithp_value *list = pithp_scope_allocate(
        d->s, (2 * n + (size_t)c->i->result_count + 1) * sizeof *list);
    if (!t.marks || !t.inputs || !t.programs || !list)
        return false;
    memset(t.programs, 0, 2 * programs * sizeof *t.programs);
    memset(t.marks, 0, 2 * n);
    t.reaches = t.marks + n;
    for (size_t k = 0; k < n; k++)
        t.marks[k] = c->operands[k] == PITHP_ABSENT;
    const bool fine =
        transpose_programs(&t) &&
        (c->i->primitive == PITHP_OP_COND ? turn_cond(&t, list, t.programs + programs)
         : c->i->primitive == PITHP_OP_WHILE
             ? turn_while(&t)
             : turn_scan(&t, list, t.programs + programs));
    for (size_t k = 0; k < programs; k++)
        pithp_program_release(t.programs[k]);
    return fine;
}
