/* Linearization of a while with a record (record.h). */
#include "program/derive/record.h"

#include <string.h>

/* ---- The split ---- */

typedef struct while_split {
    pithp_deriving_flow *f;
    pithp_linearization l;
    const pithp_program *body;
    const bool *outputs; /* of the body: whether they move */
    int64_t *residuals;  /* of each residual: the operand that it is, COUNTER, or -1 -
                            buffer */
    int64_t *buffers;    /* of each buffer: the residual */
    int64_t buffer_count, most;
    int constants, carries; /* of the body */
    pithp_value first;      /* of the first loop */
} while_split;

enum { COUNTER = INT32_MAX }; /* the number of the iteration */

static const pith_spec *residual_spec(const while_split *p, int64_t k) {
    return pithp_input_spec(p->l.linear, k);
}

/* The operand that an input of the body always is, COUNTER, or -1. */
static int64_t constant_of(const while_split *p, int64_t input) {
    const int operand = pithp_region_operand(&p->f->r, 1, (int)input);
    const int64_t carry = input - p->constants;
    if (carry == 0)
        return COUNTER;
    return carry < 0 || p->body->outputs[carry] == p->body->inputs[input] ? operand : -1;
}

static bool find_residuals(while_split *p) {
    const pithp_program *forward = p->l.forward;
    const size_t n = (size_t)p->l.residual_count + 1;
    p->residuals = pithp_scope_allocate(p->f->d->s, 2 * n * sizeof *p->residuals);
    p->buffers = p->residuals ? p->residuals + n : NULL;
    for (int64_t k = 0; p->residuals && k < p->l.residual_count; k++) {
        const pithp_value_info *v =
            &forward->values[forward->outputs[p->body->output_count + k]];
        const int64_t is = v->origin == PITHP_FROM_INPUT ? constant_of(p, v->at) : -1;
        p->residuals[k] = is;
        if (is >= 0)
            continue;
        p->buffers[p->buffer_count] = k;
        p->residuals[k] = -1 - p->buffer_count++;
    }
    return p->residuals;
}

static const pith_spec *buffer_spec(const while_split *p, int64_t b) {
    const pith_spec *row = residual_spec(p, p->buffers[b]);
    return pithp_spec(p->f->d->s, row->dtype, 2, (const int64_t[]){p->most, row->count});
}

/* ---- The loop of values ---- */

/* Inputs as those of a program of the loop, then the buffers. */
static bool add_inputs(const while_split *p,
                       pithp_derivation *e,
                       const pithp_program *like,
                       pithp_value *in) {
    for (int64_t k = 0; k < like->input_count; k++)
        if ((in[k] = pithp_program_input(e->s, e->to, pithp_input_spec(like, k))) < 0)
            return false;
    for (int64_t b = 0; b < p->buffer_count; b++) {
        const pith_spec *spec = buffer_spec(p, b);
        if (!spec ||
            (in[like->input_count + b] = pithp_program_input(e->s, e->to, spec)) < 0)
            return false;
    }
    return true;
}

static bool fill_body(const while_split *p, pithp_derivation *e, pithp_value *memory) {
    const int64_t inputs = p->body->input_count, outputs = p->body->output_count;
    pithp_value *in = memory, *out = in + inputs + p->buffer_count;
    if (!add_inputs(p, e, p->body, in) ||
        !pithp_program_inline(e->s, e->to, p->l.forward, in, out))
        return false;
    const pithp_value count = in[p->constants], next = pithp_derive_next(e, count),
                      at = pithp_row_position(e, count);
    bool fine = next >= 0 && at >= 0 && pithp_program_output(e->s, e->to, next);
    for (int64_t k = 1; k < outputs && fine; k++)
        fine = pithp_program_output(e->s, e->to, out[k]);
    for (int64_t b = 0; b < p->buffer_count && fine; b++) {
        const pithp_value v =
            pithp_with_row(e, in[inputs + b], at, out[outputs + p->buffers[b]]);
        fine = v >= 0 && pithp_program_output(e->s, e->to, v);
    }
    return fine;
}

static bool fill_cond(const while_split *p, pithp_derivation *e, pithp_value *memory) {
    const pithp_program *cond = p->f->i->programs[0];
    pithp_value truth = -1;
    return add_inputs(p, e, cond, memory) &&
           pithp_program_inline(e->s, e->to, cond, memory, &truth) &&
           pithp_program_output(e->s, e->to, truth);
}

/* A program of the loop with the buffers as further carries. NULL sets the error. */
static pithp_program *
recording(const while_split *p,
          int b,
          bool (*fill)(const while_split *p, pithp_derivation *e, pithp_value *memory)) {
    pith_scope *s = p->f->d->s;
    const int64_t n = p->f->i->programs[b]->input_count + p->buffer_count +
                      p->l.forward->output_count + 1;
    pithp_value *memory = pithp_scope_allocate(s, (size_t)n * sizeof *memory);
    pithp_derivation e =
        pithp_derivation_in(p->f->d, memory ? pithp_program_make(s) : NULL);
    if (e.to && fill(p, &e, memory))
        return e.to;
    pithp_program_release(e.to);
    return NULL;
}

static bool add_first(while_split *p) {
    pithp_derivation *d = p->f->d;
    const pithp_instruction *i = p->f->i;
    int count = i->operand_count;
    pithp_value *list =
        pithp_scope_allocate(d->s, (size_t)(count + p->buffer_count + 1) * sizeof *list);
    if (!list)
        return false;
    memcpy(list, p->f->c->operands, (size_t)count * sizeof *list);
    for (int64_t b = 0; b < p->buffer_count; b++, count++) {
        const pith_spec *spec = buffer_spec(p, b);
        if (!spec || (list[count] = pithp_derive_zeros(d, spec)) < 0)
            return false;
    }
    pithp_program *programs[2] = {recording(p, 0, fill_cond), recording(p, 1, fill_body)};
    const pithp_new_instruction loop = {.primitive = PITHP_OP_WHILE,
                                        .operand_count = count,
                                        .operands = list,
                                        .params = i->params,
                                        .program_count = 2,
                                        .programs = programs,
                                        .site = i->site};
    p->first =
        programs[0] && programs[1] ? pithp_program_add_many(d->s, d->to, &loop) : -1;
    for (int b = 0; b < 2; b++)
        pithp_program_release(programs[b]);
    return p->first >= 0;
}

/* ---- The linear loop ---- */

/* Residuals that are operands, then the buffers. */
static bool add_residuals(const while_split *p, pithp_counted_loop *o) {
    bool fine = true;
    for (int64_t k = 0; k < p->l.residual_count && fine; k++)
        if (p->residuals[k] >= 0 && p->residuals[k] != COUNTER)
            fine = pithp_counted_operand(o, p->f->c->operands[p->residuals[k]],
                                         residual_spec(p, k));
    const pithp_value first = p->first + p->f->i->result_count;
    for (int64_t b = 0; b < p->buffer_count && fine; b++)
        fine = pithp_counted_operand(o, first + (pithp_value)b, buffer_spec(p, b));
    return fine;
}

/* Tangents of inputs from..to - 1 of the body. */
static bool add_tangents(const while_split *p, pithp_counted_loop *o, int from, int to) {
    bool fine = true;
    for (int k = from; k < to && fine; k++) {
        const int operand = pithp_region_operand(&p->f->r, 1, k);
        if (p->f->moving[operand])
            fine = pithp_counted_operand(o, pithp_flow_tangent(p->f, operand),
                                         pithp_input_spec(p->body, k));
    }
    return fine;
}

/* The outputs of the body: counter is its input that counts, of the constants. */
static bool fill_linear(const while_split *p, pithp_counted_loop *o, int constants) {
    pithp_derivation *e = &o->e;
    const int64_t residuals = p->l.residual_count;
    const pithp_value k = o->in[constants], at = pithp_row_position(e, k),
                      next = pithp_derive_next(e, k);
    pithp_value *values = pithp_scope_allocate(
        e->s, (size_t)(p->l.linear->input_count + p->l.linear->output_count + 1) *
                  sizeof *values);
    if (!values || at < 0 || next < 0)
        return false;
    int64_t known = 0, tangent = residuals;
    for (int64_t r = 0; r < residuals; r++)
        known += p->residuals[r] >= 0 && p->residuals[r] != COUNTER;
    for (int64_t r = 0, at_known = 0; r < residuals; r++) {
        const int64_t is = p->residuals[r];
        values[r] = is == COUNTER ? k
                    : is >= 0
                        ? o->in[at_known++]
                        : pithp_row_of(e, o->in[known - 1 - is], at, residual_spec(p, r));
        if (values[r] < 0)
            return false;
    }
    for (int n = (int)(known + p->buffer_count); n < o->count; n++)
        if (n != constants)
            values[tangent++] = o->in[n];
    pithp_value *out = values + p->l.linear->input_count;
    bool fine = pithp_program_inline(e->s, e->to, p->l.linear, values, out) &&
                pithp_program_output(e->s, e->to, next);
    for (int64_t c = 1, n = 0; c < p->carries && fine; c++) {
        if (!p->f->moves[c])
            continue;
        const pithp_value v =
            p->outputs[c]
                ? out[n++]
                : pithp_derive_zeros(e, pithp_value_spec(p->body, p->body->outputs[c]));
        fine = v >= 0 && pithp_program_output(e->s, e->to, v);
    }
    return fine;
}

/* The number of rows that the linear loop reads. */
static pithp_value row_count(const while_split *p) {
    return pithp_derive_2(p->f->d, PITHP_OP_MIN, p->first,
                          pithp_derive_integer(p->f->d, p->most));
}

static bool add_second(while_split *p, pithp_value *tangents) {
    pithp_derivation *d = p->f->d;
    const pithp_instruction *i = p->f->i;
    const size_t most = (size_t)p->l.residual_count + (size_t)i->operand_count + 3;
    pithp_value *list = pithp_scope_allocate(d->s, 2 * most * sizeof *list);
    pithp_counted_loop o = {
        .e = pithp_derivation_in(d, list ? pithp_program_make(d->s) : NULL)};
    if (!o.e.to)
        return false;
    o.list = list + 1; /* after the count */
    o.in = list + most;
    list[0] = row_count(p);
    bool fine =
        list[0] >= 0 && add_residuals(p, &o) && add_tangents(p, &o, 0, p->constants);
    const int constants = o.count;
    fine = fine &&
           pithp_counted_operand(&o, pithp_derive_integer(d, 0),
                                 pithp_spec(d->s, PITH_I64, 0, NULL)) &&
           add_tangents(p, &o, p->constants + 1, p->constants + p->carries) &&
           fill_linear(p, &o, constants);
    pithp_value next =
        fine ? pithp_add_counted(d, i, list, 1 + o.count, constants, o.e.to) : -1;
    pithp_program_release(o.e.to);
    fine = next++ >= 0; /* after the counter */
    for (int k = 0; k < i->result_count; k++)
        tangents[k] = fine && p->f->moves[k] ? next++ : PITHP_ABSENT;
    return fine;
}

bool pithp_split_while(pithp_deriving_flow *f,
                       bool *inputs,
                       bool *outputs,
                       pithp_value *results,
                       pithp_value *tangents) {
    pithp_derivation *d = f->d;
    const pithp_while_params *params = f->i->params;
    while_split p = {.f = f,
                     .body = f->i->programs[1],
                     .outputs = outputs,
                     .most = params->most,
                     .constants = params->body_operands,
                     .carries = f->r.carries.count};
    bool *taken = pithp_scope_allocate(d->s, (size_t)p.body->input_count + 1);
    pithp_flow_inputs(f, 1, inputs);
    for (int64_t k = 0; taken && k < p.body->input_count; k++)
        taken[k] = constant_of(&p, k) >= 0;
    pithp_derive_mode mode = pithp_mode_in(d);
    mode.taken = taken;
    if (!taken || !pithp_split(d->s, p.body, inputs, mode, outputs, &p.l))
        return false;
    const bool fine = find_residuals(&p) && add_first(&p) && add_second(&p, tangents);
    for (int k = 0; k < f->i->result_count; k++)
        results[k] = p.first + k;
    pithp_program_release(p.l.forward);
    pithp_program_release(p.l.linear);
    return fine;
}
