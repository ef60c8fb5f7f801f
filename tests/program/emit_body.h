/* Bodies of loops that are compiled whole, for tests of what is in them. */
#ifndef PITH_EMIT_BODY_H
#define PITH_EMIT_BODY_H

#include "emit_test.h"

/* A body of a scan whose carry, a number, says how far it is; its constants are the
 * operands of what is tested, whose results are stacked. */
typedef struct body {
    bench *b;
    pithp_program *p;
    pithp_value in[12];
    int count;
    pithp_value step; /* [] i64, 0 in the first iteration */
} body;

static inline body body_of(bench *b) {
    body y = {.b = b, .p = pithp_program_make(b->s)};
    return y;
}

static inline pithp_value
body_input(body *y, pith_dtype dtype, int rank, const int64_t *shape, const void *data) {
    y->in[y->count++] = input(y->b, dtype, rank, shape, data);
    return pithp_program_input(y->b->s, y->p, pithp_spec(y->b->s, dtype, rank, shape));
}

static inline void body_begin(body *y) {
    y->step = pithp_program_input(y->b->s, y->p, pithp_spec(y->b->s, PITH_I64, 0, NULL));
}

static inline pithp_value body_op(const body *y,
                                  pithp_primitive primitive,
                                  int count,
                                  const pithp_value *operands,
                                  const void *params) {
    const pithp_value v =
        pithp_program_add(y->b->s, y->p, primitive, count, operands, params, NULL);
    pt_ok(y->b->s, v >= 0);
    return v;
}

/* The loop of `outputs`, which are stacked; it must be compiled whole. */
static inline void body_end(body *y, int count, const pithp_value *outputs) {
    static const int64_t start = 0, one = 1;
    bench *b = y->b;
    const pithp_value unit =
        pithp_program_literal(b->s, y->p, pithp_spec(b->s, PITH_I64, 0, NULL), &one);
    pithp_program_output(b->s, y->p, op_in(b, y->p, PITHP_OP_ADD, y->step, unit));
    for (int k = 0; k < count; k++)
        pithp_program_output(b->s, y->p, outputs[k]);
    y->in[y->count] = input(b, PITH_I64, 0, NULL, &start);
    const pithp_loop_params params = {.length = 3, .constants = y->count, .carries = 1};
    const pithp_value v =
        control(b, PITHP_OP_SCAN, &params, y->count + 1, y->in, 1, &y->p);
    for (int k = 0; k <= count; k++)
        pithp_program_output(b->s, b->p, v + k);
    expect_compiled_loop(b);
}

static inline void *values(bench *b, pith_dtype dtype, int64_t n, uint64_t seed) {
    recipe r = {.s = b->s, .state = seed};
    void *data = malloc((size_t)n * 8 + 64);
    recipe_fill(&r, pithp_spec(b->s, dtype, 1, &n), data);
    return data;
}

#endif
