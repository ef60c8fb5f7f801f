/* Transposition of the linear loop of a record: from its last row to its first. */
#include "program/derive/record.h"

#include <string.h>

/* ---- The transposed loop ---- */

/* The output of the transposed body that is the cotangent of an input. */
static int64_t output_for(const pithp_turned_loop *t, int64_t input) {
    int64_t n = 0;
    for (int64_t k = 0; k < input; k++)
        n += t->inputs[k];
    return t->inputs[input] ? n : -1;
}

/* sum + v. If v is one row among zeros, that row of the sum changes alone. */
static pithp_value add_to_sum(pithp_derivation *e, pithp_value sum, pithp_value v) {
    const pithp_instruction *i = v >= 0 ? pithp_maker(e->to, v) : NULL;
    if (!i || i->primitive != PITHP_OP_DYNAMIC_UPDATE_SLICE)
        return pithp_derive_2(e, PITHP_OP_ADD, sum, v);
    const pithp_value *of = pithp_operands(e->to, i), row = of[1], at = of[2];
    const pithp_instruction *zeros = pithp_maker(e->to, of[0]);
    if (!zeros || zeros->primitive != PITHP_OP_FULL ||
        ((const pithp_full_params *)zeros->params)->value)
        return pithp_derive_2(e, PITHP_OP_ADD, sum, v);
    pithp_dynamic_params box = {{0}};
    memcpy(box.shape, pithp_derived_spec(e, row)->shape, sizeof box.shape);
    const pithp_value before = pithp_derive_call(e, PITHP_OP_DYNAMIC_SLICE, 2,
                                                 (const pithp_value[]){sum, at}, &box);
    const pithp_value now = pithp_derive_2(e, PITHP_OP_ADD, before, row);
    return pithp_derive_call(e, PITHP_OP_DYNAMIC_UPDATE_SLICE, 3,
                             (const pithp_value[]){sum, now, at}, NULL);
}

typedef struct turned_body {
    const pithp_turned_loop *t;
    const pithp_program *body;
    pithp_counted_loop o;
    pithp_value *in, *out;  /* of the transposed body */
    int constants, carries; /* of the body */
} turned_body;

static int operand_of(const turned_body *b, int input) {
    return pithp_region_operand(b->t->regions, 1, input);
}

/* Operands of the loop: the count and known constants; 0, cotangents of carries, and sums
 * for constants. Returns the number of constants; -1 sets the error. */
static int add_turned_operands(turned_body *b) {
    const pithp_turned_loop *t = b->t;
    pithp_derivation *d = t->d;
    const pith_spec *counter = pithp_spec(d->s, PITH_I64, 0, NULL);
    bool fine = pithp_counted_operand(&b->o, t->c->operands[0], counter);
    for (int k = 0; k < b->constants && fine; k++)
        if (!t->marks[operand_of(b, k)])
            fine = pithp_counted_operand(&b->o, t->c->operands[operand_of(b, k)],
                                         pithp_input_spec(b->body, k));
    const int constants = b->o.count;
    fine = fine && pithp_counted_operand(&b->o, pithp_derive_integer(d, 0), counter);
    for (int k = 1; k < b->carries && fine; k++) {
        const pith_spec *spec = pithp_input_spec(b->body, b->constants + k);
        fine = pithp_counted_operand(
            &b->o,
            t->results[k] == PITHP_ABSENT ? pithp_derive_zeros(d, spec) : t->results[k],
            spec);
    }
    for (int k = 0; k < b->constants && fine; k++)
        if (t->reaches[operand_of(b, k)])
            fine = pithp_counted_operand(
                &b->o, pithp_derive_zeros(d, pithp_input_spec(b->body, k)),
                pithp_input_spec(b->body, k));
    return fine ? constants : -1;
}

/* The inputs of the transposed body: what is known, and a cotangent for each output. */
static bool name_inputs(turned_body *b, int constants, pithp_value k) {
    int64_t n = 0, at = 1;
    for (int c = 0; c < b->constants; c++)
        if (!b->t->marks[operand_of(b, c)])
            b->in[n++] = b->o.in[at++];
    b->in[n++] = k; /* the counter, and a cotangent of it that is not read */
    b->in[n++] = k;
    for (int c = 1; c < b->carries; c++)
        b->in[n++] = b->o.in[constants + c];
    PITH_ASSERT(n == b->t->transposed->input_count);
    return k >= 0;
}

static bool add_outputs(turned_body *b, int constants) {
    const pithp_turned_loop *t = b->t;
    pithp_derivation *e = &b->o.e;
    const pithp_value next = pithp_derive_next(e, b->o.in[constants]);
    bool fine = next >= 0 && pithp_program_output(e->s, e->to, next);
    for (int k = 1; k < b->carries && fine; k++) {
        const int64_t at = output_for(t, b->constants + k);
        const pithp_value v =
            at >= 0 ? b->out[at]
                    : pithp_derive_zeros(e, pithp_input_spec(b->body, b->constants + k));
        fine = v >= 0 && pithp_program_output(e->s, e->to, v);
    }
    int sum = constants + b->carries;
    for (int k = 0; k < b->constants && fine; k++)
        if (t->reaches[operand_of(b, k)]) {
            const pithp_value v = add_to_sum(e, b->o.in[sum++], b->out[output_for(t, k)]);
            fine = v >= 0 && pithp_program_output(e->s, e->to, v);
        }
    return fine;
}

pithp_value pithp_turn_while(const pithp_turned_loop *t) {
    pithp_derivation *d = t->d;
    const pithp_instruction *i = t->c->i;
    turned_body b = {.t = t,
                     .body = i->programs[1],
                     .constants = ((const pithp_while_params *)i->params)->body_operands,
                     .carries = t->regions->carries.count};
    const size_t most = 2 * (size_t)i->operand_count + 4;
    const size_t inner =
        (size_t)t->transposed->input_count + (size_t)t->transposed->output_count + 1;
    pithp_value *list = pithp_scope_allocate(d->s, (2 * most + inner) * sizeof *list);
    b.o.e = pithp_derivation_in(d, list ? pithp_program_make(d->s) : NULL);
    if (!b.o.e.to)
        return -1;
    b.o.list = list + 1;
    b.o.in = list + most;
    b.in = list + 2 * most;
    b.out = b.in + t->transposed->input_count;
    list[0] = t->c->operands[0]; /* the count */
    pithp_derivation *e = &b.o.e;
    const int constants = add_turned_operands(&b);
    bool fine = constants >= 0;
    if (fine) {
        const pithp_value last =
            pithp_derive_2(e, PITHP_OP_SUB, b.o.in[0], pithp_derive_integer(e, 1));
        const pithp_value k = pithp_derive_2(e, PITHP_OP_SUB, last, b.o.in[constants]);
        fine = name_inputs(&b, constants, k) &&
               pithp_program_inline(e->s, e->to, t->transposed, b.in, b.out) &&
               add_outputs(&b, constants);
    }
    const pithp_value first =
        fine ? pithp_add_counted(d, i, list, 1 + b.o.count, constants, e->to) : -1;
    pithp_program_release(e->to);
    return first < 0 ? -1 : first + 1;
}
