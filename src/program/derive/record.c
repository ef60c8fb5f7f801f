/* Loops with a record: rows of buffers, and loops that count (record.h). */
#include "program/derive/record.h"

#include <string.h>

/* ---- Rows ---- */

pithp_derivation pithp_derivation_in(const pithp_derivation *d, pithp_program *to) {
    return (pithp_derivation){.s = d->s, .to = to, .site = d->site};
}

pithp_value pithp_derive_integer(pithp_derivation *d, int64_t x) {
    const pith_spec *spec = pithp_spec(d->s, PITH_I64, 0, NULL);
    return spec ? pithp_program_literal(d->s, d->to, spec, &x) : -1;
}

pithp_value pithp_derive_next(pithp_derivation *d, pithp_value k) {
    return pithp_derive_2(d, PITHP_OP_ADD, k, pithp_derive_integer(d, 1));
}

pithp_value pithp_row_position(pithp_derivation *d, pithp_value k) {
    static const int64_t row[2] = {1, 0}, two = 2;
    const pith_spec *spec = pithp_spec(d->s, PITH_I64, 1, &two);
    const pithp_value unit = spec ? pithp_program_literal(d->s, d->to, spec, row) : -1;
    return pithp_derive_2(d, PITHP_OP_MUL, k, unit);
}

static pithp_value
shaped(pithp_derivation *d, pithp_value v, int rank, const int64_t *shape) {
    pithp_reshape_params to = {.rank = rank};
    memcpy(to.shape, shape, (size_t)rank * sizeof *shape);
    return pithp_derive_call(d, PITHP_OP_RESHAPE, 1, &v, &to);
}

pithp_value
pithp_with_row(pithp_derivation *d, pithp_value buffer, pithp_value at, pithp_value v) {
    if (v < 0)
        return -1;
    const pithp_value row =
        shaped(d, v, 2, (const int64_t[]){1, pithp_derived_spec(d, v)->count});
    return pithp_derive_call(d, PITHP_OP_DYNAMIC_UPDATE_SLICE, 3,
                             (const pithp_value[]){buffer, row, at}, NULL);
}

pithp_value pithp_row_of(pithp_derivation *d,
                         pithp_value buffer,
                         pithp_value at,
                         const pith_spec *spec) {
    const pithp_dynamic_params box = {{1, spec->count}};
    const pithp_value row = pithp_derive_call(d, PITHP_OP_DYNAMIC_SLICE, 2,
                                              (const pithp_value[]){buffer, at}, &box);
    return shaped(d, row, spec->rank, spec->shape);
}

/* ---- Loops that count ---- */

/* count, k, carries of the body after the first -> k < count. NULL sets the error. */
static pithp_program *
below(const pithp_derivation *d, int64_t count, pithp_program *body, int64_t fixed) {
    pithp_derivation e = pithp_derivation_in(d, pithp_program_make(d->s));
    bool fine = e.to;
    pithp_value in[2] = {-1, -1};
    for (int64_t k = 0; k < 2 && fine; k++)
        fine =
            (in[k] = pithp_program_input(d->s, e.to, pithp_input_spec(body, fixed))) >= 0;
    for (int64_t k = 1; k < count && fine; k++)
        fine = pithp_program_input(d->s, e.to, pithp_input_spec(body, fixed + k)) >= 0;
    const pithp_value less = fine ? pithp_derive_2(&e, PITHP_OP_LT, in[1], in[0]) : -1;
    if (less >= 0 && pithp_program_output(d->s, e.to, less))
        return e.to;
    pithp_program_release(e.to);
    return NULL;
}

pithp_value pithp_add_counted(const pithp_derivation *d,
                              const pithp_instruction *of,
                              const pithp_value *operands,
                              int count,
                              int constants,
                              pithp_program *body) {
    const pithp_while_params params = {
        .cond_operands = 1,
        .body_operands = constants,
        .most = ((const pithp_while_params *)of->params)->most};
    for (int k = 0; k < count; k++)
        if (operands[k] < 0)
            return -1;
    pithp_program *programs[2] = {below(d, count - 1 - constants, body, constants), body};
    const pithp_new_instruction loop = {.primitive = PITHP_OP_WHILE,
                                        .operand_count = count,
                                        .operands = operands,
                                        .params = &params,
                                        .program_count = 2,
                                        .programs = programs,
                                        .site = of->site};
    const pithp_value first =
        programs[0] ? pithp_program_add_many(d->s, d->to, &loop) : -1;
    pithp_program_release(programs[0]);
    return first;
}

bool pithp_counted_operand(pithp_counted_loop *l, pithp_value v, const pith_spec *spec) {
    l->list[l->count] = v;
    if (v < 0 || !spec)
        return false;
    l->in[l->count] = pithp_program_input(l->e.s, l->e.to, spec);
    return l->in[l->count++] >= 0;
}

/* Whether a value is the call of two operands, in an order. */
static bool is_call(const pithp_program *p,
                    pithp_value v,
                    pithp_primitive op,
                    pithp_value a,
                    pithp_value b) {
    const pithp_instruction *i = pithp_maker(p, v);
    return i && i->primitive == op && pithp_operands(p, i)[0] == a &&
           (b < 0 || pithp_operands(p, i)[1] == b);
}

bool pithp_is_range(const pithp_instruction *i) {
    const pithp_while_params *w = i->params;
    const pithp_program *cond = i->programs[0];
    return w->cond_operands == 1 && cond->input_count > 1 &&
           is_call(cond, cond->outputs[0], PITHP_OP_LT, cond->inputs[1], cond->inputs[0]);
}

bool pithp_is_counted(const pithp_instruction *i) {
    const pithp_while_params *w = i->params;
    const pithp_program *body = i->programs[1];
    return w->most > 0 && pithp_is_range(i) &&
           is_call(body, body->outputs[0], PITHP_OP_ADD, body->inputs[w->body_operands],
                   -1);
}
