/* Control flow of random programs: as loops of C over the calls of bodies, and how bodies
 * are chosen. */
#ifndef PITH_TESTS_RANDOM_CONTROL_H
#define PITH_TESTS_RANDOM_CONTROL_H

#include "random_many.h"

/* ---- Control flow, as loops of C over the calls of bodies ---- */

/* The first two values of a body, which are its inputs, and then all others. */
static inline void recipe_evaluate(recipe *body, const void *a, const void *b) {
    const void *given[2] = {a, b};
    for (int k = 0; k < body->count; k++) {
        ingredient *x = &body->list[k];
        if (k < 2)
            memcpy(x->data, given[k], x->spec->bytes);
        else if (x->kind >= RECIPE_CALL)
            recipe_compute(body, x);
    }
}

static inline const void *recipe_output(const recipe *body, int k) {
    return body->list[body->outputs[k]].data;
}

static inline bool recipe_has_nan(const pith_spec *spec, const char *data) {
    bool any = false;
    for (int64_t k = 0; k < spec->count; k++, data += pith_dtype_size(spec->dtype))
        any |= isnan(pithp_dtype_decode(spec->dtype, data));
    return any;
}

static inline void recipe_run(recipe *r, ingredient *x) {
    const ingredient *in[RECIPE_OPERANDS];
    for (int k = 0; k < x->operand_count; k++)
        in[k] = &r->list[x->operands[k]];
    if (x->primitive == PITHP_OP_COND) {
        int32_t index;
        memcpy(&index, in[0]->data, sizeof index);
        index = index < 0 ? 0 : index >= x->body_count ? x->body_count - 1 : index;
        recipe_evaluate(x->bodies[index], in[1]->data, in[2]->data);
        memcpy(x->data, recipe_output(x->bodies[index], 0), x->spec->bytes);
        return;
    }
    recipe *body = x->bodies[0];
    const bool first = x->rows || x->primitive == PITHP_OP_WHILE; /* is the carry */
    const ingredient *start = in[first ? 0 : 1], *other = in[first ? 1 : 0];
    const size_t bytes = start->spec->bytes, row = body->list[1].spec->bytes;
    char *carry = malloc(bytes + 64);
    memcpy(carry, start->data, bytes);
    for (int64_t t = 0; t < x->length; t++) {
        if (x->ends && recipe_has_nan(start->spec, carry))
            break;
        const size_t i = (size_t)(x->reverse ? x->length - 1 - t : t);
        const char *with = (const char *)other->data + (x->rows ? i * row : 0);
        recipe_evaluate(body, first ? carry : with, first ? with : carry);
        if (x->picks) {
            const size_t each = body->list[body->outputs[1]].spec->bytes;
            memcpy((char *)x->data + i * each, recipe_output(body, 1), each);
        }
        memcpy(carry, recipe_output(body, 0), bytes);
    }
    if (!x->picks)
        memcpy(x->data, carry, bytes);
    free(carry);
}

/* ---- Bodies ---- */

static inline void recipe_step(recipe *r);

/* A body of a few calls over two values; its first output has the spec of one of them. */
static inline recipe *recipe_body(recipe *r,
                                  const ingredient *a,
                                  const ingredient *b,
                                  const pith_spec *row,
                                  bool second) {
    recipe *body = calloc(1, sizeof *body);
    body->s = r->s;
    body->state = recipe_random(r, 1u << 30) * 0x9e3779b97f4a7c15u + 1;
    body->largest = 2000;
    body->depth = r->depth + 1;
    body->device = r->device;
    body->values = r->values;
    for (int k = 0; k < 2; k++) {
        ingredient x;
        memset(&x, 0, sizeof x);
        x.kind = RECIPE_INPUT;
        x.spec = k ? (row ? row : b->spec) : a->spec;
        const int at = recipe_add(body, &x);
        memset(body->list[at].data, 0, x.spec->bytes);
        if (!row || k == 0)
            memcpy(body->list[at].data, k ? b->data : a->data, x.spec->bytes);
    }
    for (int k = 1 + (int)recipe_random(r, 6); k > 0; k--)
        recipe_step(body);
    const pith_spec *carry = body->list[second].spec;
    int last = recipe_random(r, 4) ? body->count - 1 : second; /* it is handed on */
    while (body->list[last].spec != carry)
        last--;
    body->outputs[0] = last;
    body->outputs[1] = body->count - 1;
    body->output_count = 1;
    return body;
}

static inline int recipe_index(recipe *r) {
    ingredient x;
    memset(&x, 0, sizeof x);
    x.kind = r->depth == 0 && recipe_random(r, 3) ? RECIPE_INPUT : RECIPE_LITERAL;
    x.spec = pithp_spec(r->s, PITH_I32, 0, NULL);
    const int32_t index = (int32_t)recipe_random(r, 5) - 1;
    const int at = recipe_add(r, &x);
    memcpy(r->list[at].data, &index, sizeof index);
    return at;
}

/* Rows of a value that are worth a scan; NULL: there are none. */
static inline const pith_spec *recipe_row(const recipe *r, const pith_spec *x) {
    return x->rank > 0 && x->shape[0] <= 8
               ? pithp_spec(r->s, x->dtype, x->rank - 1, x->shape + 1)
               : NULL;
}

/* The value of the least rank: what comes in, mostly. */
static inline int recipe_plainest(const recipe *body) {
    int plainest = 0;
    for (int k = 1; k < body->count; k++)
        if (body->list[k].spec->rank < body->list[plainest].spec->rank)
            plainest = k;
    return plainest;
}

/* The last carry, or what is made in each iteration. */
static inline const pith_spec *recipe_scan_spec(const recipe *r, const ingredient *x) {
    const recipe *body = x->bodies[0];
    const pith_spec *y = body->list[body->outputs[1]].spec;
    int64_t shape[PITH_MAX_RANK] = {x->length};
    if (!x->picks)
        return body->list[x->rows ? 0 : 1].spec;
    for (int d = 0; d < y->rank && d + 1 < PITH_MAX_RANK; d++)
        shape[d + 1] = y->shape[d];
    return pithp_spec(r->s, y->dtype, y->rank + 1, shape);
}

static inline void recipe_other_result(recipe *r, int at) {
    ingredient x = r->list[at];
    if (r->count + 1 > RECIPE_MOST)
        return;
    x.picks = !x.picks;
    x.sibling = 1 + at;
    x.spec = recipe_scan_spec(r, &x);
    recipe_compute(r, &r->list[recipe_add(r, &x)]);
}

static inline bool recipe_control(recipe *r, int first) {
    ingredient x;
    memset(&x, 0, sizeof x);
    const int second = (int)recipe_random(r, (uint64_t)r->count);
    const ingredient *a = &r->list[first], *b = &r->list[second];
    if (r->count + 2 > RECIPE_MOST || a->spec->count > 2000 || b->spec->count > 2000 ||
        a->spec->rank == PITH_MAX_RANK || b->spec->rank == PITH_MAX_RANK)
        return false;
    x.kind = RECIPE_CONTROL;
    x.spec = a->spec;
    x.length = (int64_t)recipe_random(r, 5);
    x.operand_count = 2;
    x.operands[0] = first;
    x.operands[1] = second;
    x.body_count = 1;
    const uint64_t kind = recipe_random(r, 4);
    const pith_spec *row = recipe_row(r, b->spec);
    if (kind == 0) {
        x.primitive = PITHP_OP_COND;
        x.body_count = 1 + (int)recipe_random(r, 3);
        for (int k = 0; k < x.body_count; k++)
            x.bodies[k] = recipe_body(r, a, b, NULL, false);
        x.operand_count = 3;
        x.operands[2] = second;
        x.operands[1] = first;
        x.operands[0] = recipe_index(r);
    } else if (kind == 1) {
        x.primitive = PITHP_OP_WHILE;
        x.bodies[0] = recipe_body(r, a, b, NULL, false);
        x.ends = pith_dtype_is_float(a->spec->dtype) && recipe_random(r, 2);
    } else {
        x.primitive = PITHP_OP_SCAN;
        x.reverse = recipe_random(r, 2);
        x.rows = kind == 2 && row;
        x.length = x.rows ? b->spec->shape[0] : x.length;
        x.bodies[0] = recipe_body(r, a, b, x.rows ? row : NULL, !x.rows);
        x.bodies[0]->output_count = 2;
        if (x.bodies[0]->list[x.bodies[0]->outputs[1]].spec->rank == PITH_MAX_RANK)
            x.bodies[0]->outputs[1] = recipe_plainest(x.bodies[0]);
        x.picks = (int)recipe_random(r, 2);
        x.spec = recipe_scan_spec(r, &x);
    }
    const int at = recipe_add(r, &x);
    recipe_compute(r, &r->list[at]);
    if (x.primitive == PITHP_OP_SCAN && recipe_random(r, 2))
        recipe_other_result(r, at);
    return true;
}

#endif
