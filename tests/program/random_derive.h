/* Random programs of floats for tests of derivations: smooth nearly everywhere, with
 * bounded values, so that rounding stays small. A program of fewer steps is a prefix of
 * the one with more. */
#ifndef PITH_TESTS_RANDOM_DERIVE_H
#define PITH_TESTS_RANDOM_DERIVE_H

#include "pith_test.h"
#include "program/ir/program.h"

#include <math.h>

enum { DRAWN_MOST = 96, DRAWN_DEEPEST = 2, DRAWN_LARGEST = 64 };

typedef struct drawing {
    pith_scope *s;
    pithp_program *p;
    uint64_t *state;
    pithp_value list[DRAWN_MOST]; /* f64 */
    int count, depth;
    pithp_value index; /* i64 [], or -1 */
    bool has_while;
    bool stops; /* some values are under stop_gradient, others have names */
} drawing;

static inline uint64_t drawn(uint64_t *state, uint64_t below) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 33) % below;
}
static inline double drawn_number(uint64_t *state, double low, double high) {
    return low + (high - low) * (double)drawn(state, 1u << 30) / 0x1p30;
}

static inline int below(drawing *d, int n) {
    return n > 1 ? (int)drawn(d->state, (uint64_t)n) : 0;
}
static inline const pith_spec *spec_of(const drawing *d, pithp_value v) {
    return pithp_value_spec(d->p, v);
}
static inline pithp_value pick(drawing *d) {
    const int recent = d->count > 6 ? d->count - 6 : 0;
    return d
        ->list[below(d, 2) ? below(d, d->count) : recent + below(d, d->count - recent)];
}
/* With rank 1 or more; -1: none was found. */
static inline pithp_value pick_ranked(drawing *d) {
    for (int k = 0; k < 8; k++) {
        const pithp_value v = pick(d);
        if (spec_of(d, v)->rank)
            return v;
    }
    return -1;
}

static inline pithp_value add(drawing *d,
                              pithp_primitive op,
                              int count,
                              const pithp_value *operands,
                              const void *params) {
    return pithp_program_add(d->s, d->p, op, count, operands, params, "drawn:1");
}
static inline pithp_value call1(drawing *d, pithp_primitive op, pithp_value a) {
    return add(d, op, 1, &a, NULL);
}
static inline pithp_value
call2(drawing *d, pithp_primitive op, pithp_value a, pithp_value b) {
    return add(d, op, 2, (const pithp_value[]){a, b}, NULL);
}
static inline pithp_value number(drawing *d, double x) {
    return pithp_program_literal(d->s, d->p, pithp_spec(d->s, PITH_F64, 0, NULL), &x);
}
static inline pithp_value
integers(drawing *d, int rank, const int64_t *shape, int64_t low, int64_t high) {
    int64_t elements[DRAWN_LARGEST];
    const pith_spec *spec = pithp_spec(d->s, PITH_I64, rank, shape);
    for (int64_t k = 0; k < spec->count; k++)
        elements[k] = low + (int64_t)drawn(d->state, (uint64_t)(high - low + 1));
    return pithp_program_literal(d->s, d->p, spec, elements);
}

/* 2 + sin(x): far from 0. */
static inline pithp_value positive(drawing *d, pithp_value x) {
    return call2(d, PITHP_OP_ADD, number(d, 2), call1(d, PITHP_OP_SIN, x));
}
static inline pithp_value squashed(drawing *d, pithp_value x) {
    return call1(d, below(d, 2) ? PITHP_OP_TANH : PITHP_OP_SIN, x);
}

/* ---- Elementwise ---- */

static inline pithp_value draw_unary(drawing *d) {
    static const pithp_primitive any[] = {
        PITHP_OP_NEG,      PITHP_OP_ABS,   PITHP_OP_SQUARE, PITHP_OP_SIN,
        PITHP_OP_COS,      PITHP_OP_TANH,  PITHP_OP_ATAN,   PITHP_OP_ERF,
        PITHP_OP_LOGISTIC, PITHP_OP_ASINH, PITHP_OP_FLOOR,  PITHP_OP_SIGN};
    static const pithp_primitive of_positive[] = {
        PITHP_OP_SQRT, PITHP_OP_RSQRT, PITHP_OP_LOG,           PITHP_OP_RECIPROCAL,
        PITHP_OP_CBRT, PITHP_OP_LOG1P, PITHP_OP_ACOSH,         PITHP_OP_LGAMMA,
        PITHP_OP_EXP,  PITHP_OP_EXPM1, PITHP_OP_FREXP_MANTISSA};
    const pithp_named_params name = {"drawn"};
    const pithp_value x = pick(d);
    const int kind = below(d, 12);
    if (kind == 0)
        return d->stops ? call1(d, PITHP_OP_STOP_GRADIENT, x)
                        : add(d, PITHP_OP_NAME, 1, &x, &name);
    return kind < 7 ? call1(d, any[below(d, PITHP_COUNT(any))], x)
                    : call1(d, of_positive[below(d, PITHP_COUNT(of_positive))],
                            positive(d, x));
}

static inline bool broadcast(const pith_spec *a, const pith_spec *b) {
    bool fits = true;
    for (int k = 1; k <= a->rank && k <= b->rank; k++) {
        const int64_t m = a->shape[a->rank - k], n = b->shape[b->rank - k];
        fits &= m == n || m == 1 || n == 1;
    }
    return fits;
}

/* A value that broadcasts with x; perhaps itself. */
static inline pithp_value pick_beside(drawing *d, pithp_value x) {
    for (int k = 0; k < 8; k++) {
        const pithp_value y = pick(d);
        if (broadcast(spec_of(d, x), spec_of(d, y)))
            return y;
    }
    return x;
}

static inline pithp_value draw_binary(drawing *d) {
    static const pithp_primitive any[] = {
        PITHP_OP_ADD, PITHP_OP_SUB, PITHP_OP_MUL,      PITHP_OP_MUL,
        PITHP_OP_MIN, PITHP_OP_MAX, PITHP_OP_COPYSIGN, PITHP_OP_LOGADDEXP};
    static const pithp_primitive of_positive[] = {PITHP_OP_DIV,   PITHP_OP_POWER,
                                                  PITHP_OP_HYPOT, PITHP_OP_ATAN2,
                                                  PITHP_OP_FMOD,  PITHP_OP_REMAINDER};
    const pithp_value x = pick(d), y = pick_beside(d, x);
    const int kind = below(d, 12);
    if (kind < 6)
        return call2(d, any[below(d, PITHP_COUNT(any))], x, y);
    if (kind < 9) {
        const pithp_primitive op = of_positive[below(d, PITHP_COUNT(of_positive))];
        return call2(d, op, op == PITHP_OP_POWER ? positive(d, x) : x, positive(d, y));
    }
    if (kind == 9)
        return add(d, PITHP_OP_CLIP, 3,
                   (const pithp_value[]){x, number(d, -0.5), number(d, 0.75)}, NULL);
    const pithp_value less = call2(d, PITHP_OP_LT, x, y);
    return add(d, PITHP_OP_WHERE, 3,
               (const pithp_value[]){less, squashed(d, x), squashed(d, y)}, NULL);
}

/* ---- Shapes ---- */

static inline pithp_value draw_slice(drawing *d, pithp_value x) {
    const pith_spec *spec = spec_of(d, x);
    pithp_slice_params p = {{0}, {0}, {0}};
    for (int k = 0; k < spec->rank; k++) {
        const int n = (int)spec->shape[k];
        p.start[k] = below(d, n);
        p.limit[k] = p.start[k] + 1 + below(d, n - (int)p.start[k]);
        p.step[k] = 1 + below(d, 2);
        if (below(d, 3) == 0) {
            p.start[k] = n - 1;
            p.limit[k] = below(d, n) - 1;
            p.step[k] = -1 - below(d, 2);
        }
    }
    return add(d, PITHP_OP_SLICE, 1, &x, &p);
}

static inline pithp_value draw_pad(drawing *d, pithp_value x) {
    const pith_spec *spec = spec_of(d, x);
    pithp_pad_params p = {{0}, {0}, {0}};
    pithp_value value = number(d, 0.5);
    for (int k = 0; k < d->count && below(d, 2); k++)
        if (spec_of(d, d->list[k])->rank == 0)
            value = d->list[k];
    for (int k = 0; k < spec->rank; k++) {
        p.low[k] = spec->shape[k] > 1 ? below(d, 3) - 1 : below(d, 2);
        p.high[k] = below(d, 2);
        p.interior[k] = below(d, 4) == 0;
    }
    return add(d, PITHP_OP_PAD, 2, (const pithp_value[]){x, value}, &p);
}

static inline pithp_value draw_broadcast(drawing *d, pithp_value x) {
    const pith_spec *spec = spec_of(d, x);
    pithp_broadcast_params p = {.rank = spec->rank};
    const int lead = spec->rank < 3 && below(d, 2);
    p.rank += lead;
    if (lead)
        p.shape[0] = 1 + below(d, 3);
    for (int k = 0; k < spec->rank; k++) {
        p.dimensions[k] = k + lead;
        p.shape[k + lead] = spec->shape[k] == 1 ? 1 + below(d, 3) : spec->shape[k];
    }
    return add(d, PITHP_OP_BROADCAST, 1, &x, &p);
}

static inline pithp_value draw_shape(drawing *d) {
    const pithp_value x = pick_ranked(d);
    if (x < 0)
        return draw_broadcast(d, pick(d));
    const pith_spec *spec = spec_of(d, x);
    pithp_reshape_params flat = {.rank = 1, .shape = {spec->count}};
    pithp_transpose_params turned = {{0}};
    const pithp_reverse_params reversed = {(uint32_t)below(d, 1 << spec->rank)};
    const pithp_concatenate_params joined = {below(d, spec->rank)};
    switch (below(d, 7)) {
        case 0:
            if (spec->rank > 1)
                flat = (pithp_reshape_params){
                    .rank = 2, .shape = {spec->count / spec->shape[0], spec->shape[0]}};
            return add(d, PITHP_OP_RESHAPE, 1, &x, &flat);
        case 1:
            for (int k = 0; k < spec->rank; k++)
                turned.permutation[k] = (k + 1) % spec->rank;
            return add(d, PITHP_OP_TRANSPOSE, 1, &x, &turned);
        case 2:
            return add(d, PITHP_OP_REVERSE, 1, &x, &reversed);
        case 3:
            return add(d, PITHP_OP_CONCATENATE, 3,
                       (const pithp_value[]){x, call1(d, PITHP_OP_SIN, x), x}, &joined);
        case 4:
            return draw_pad(d, x);
        case 5:
            return draw_broadcast(d, x);
        default:
            return draw_slice(d, x);
    }
}

/* ---- Reductions, order and products ---- */

static inline pithp_value draw_reduction(drawing *d) {
    static const pithp_primitive any[] = {PITHP_OP_SUM, PITHP_OP_PROD, PITHP_OP_MIN_OF,
                                          PITHP_OP_MAX_OF};
    const pithp_value x = pick(d);
    const pithp_reduce_params p = {(uint32_t)below(d, 1 << spec_of(d, x)->rank)};
    return add(d, any[below(d, PITHP_COUNT(any))], 1, &x, &p);
}

static inline pithp_value draw_order(drawing *d) {
    static const pithp_primitive any[] = {PITHP_OP_CUMSUM, PITHP_OP_CUMMIN,
                                          PITHP_OP_CUMMAX, PITHP_OP_CUMPROD,
                                          PITHP_OP_CUMLOGSUMEXP};
    const pithp_value x = pick_ranked(d);
    if (x < 0)
        return -1;
    const int axis = below(d, spec_of(d, x)->rank);
    const pithp_sort_params sort = {axis, below(d, 2)};
    const pithp_scan_params scan = {.axis = axis, .reverse = below(d, 2)};
    const pithp_index_params along = {.axis = axis, .mode = PITHP_INDEX_CLIP};
    switch (below(d, 4)) {
        case 0:
            return add(d, PITHP_OP_SORT, 1, &x, &sort);
        case 1: {
            const pithp_value y = call1(d, PITHP_OP_COS, x);
            return add(d, PITHP_OP_TAKE_ALONG, 2,
                       (const pithp_value[]){x, add(d, PITHP_OP_ARGSORT, 1, &y, &sort)},
                       &along);
        }
        default:
            return add(d, any[below(d, PITHP_COUNT(any))], 1, &x, &scan);
    }
}

static inline pithp_value draw_product(drawing *d) {
    const pithp_value x = pick_ranked(d), y = pick_ranked(d);
    if (x < 0 || y < 0)
        return -1;
    const pith_spec *a = spec_of(d, x), *b = spec_of(d, y);
    for (int i = 0; i < a->rank; i++)
        for (int j = 0; j < b->rank; j++) {
            pithp_dot_params p = {.contracts = 1, .contract = {{(int8_t)i}, {(int8_t)j}}};
            if (a->shape[i] != b->shape[j])
                continue;
            if (i && j && a->shape[0] == b->shape[0] && below(d, 2))
                p.batches = 1;
            if (a->rank + b->rank - 2 - p.batches <= 3)
                return squashed(
                    d, add(d, PITHP_OP_DOT_GENERAL, 2, (const pithp_value[]){x, y}, &p));
        }
    return -1;
}

/* ---- Indices and draws ---- */

static inline pithp_value draw_indexed(drawing *d) {
    static const pithp_primitive scatters[] = {PITHP_OP_SCATTER_ADD, PITHP_OP_SCATTER_SET,
                                               PITHP_OP_SCATTER_MUL, PITHP_OP_SCATTER_MIN,
                                               PITHP_OP_SCATTER_MAX};
    const pithp_value x = pick_ranked(d);
    if (x < 0)
        return -1;
    const pith_spec *spec = spec_of(d, x);
    const int64_t shape[2] = {1 + below(d, 4), 2};
    pithp_index_params p = {.axis = below(d, spec->rank),
                            .mode = (pithp_index_mode)below(d, 3),
                            .no_negative = below(d, 3) == 0};
    const int64_t n = spec->shape[p.axis];
    const int rank = spec->rank < 3 ? 1 + below(d, 2) : 1;
    const pithp_value at = integers(d, rank, shape, -n - 1, n + 1);
    const double fill = 1.5;
    pithp_index_params filled = p;
    memcpy(&filled.fill, &fill, sizeof fill);
    const pithp_value taken =
        add(d, PITHP_OP_TAKE, 2, (const pithp_value[]){x, at}, &filled);
    if (below(d, 3) == 0)
        return taken;
    const pithp_value updates = call1(d, PITHP_OP_SIN, taken),
                      places = integers(d, rank, shape, -n - 1, n + 1);
    return add(d, scatters[below(d, PITHP_COUNT(scatters))], 3,
               (const pithp_value[]){x, places, updates}, &p);
}

static inline pithp_value draw_box(drawing *d) {
    const pithp_value x = pick_ranked(d);
    if (x < 0)
        return -1;
    const pith_spec *spec = spec_of(d, x);
    const int64_t rank = spec->rank;
    pithp_dynamic_params box = {{0}};
    for (int k = 0; k < spec->rank; k++)
        box.shape[k] = 1 + below(d, (int)spec->shape[k]);
    const pithp_value from = integers(d, 1, &rank, -2, 3),
                      to = integers(d, 1, &rank, -2, 3);
    const pithp_value part =
        add(d, PITHP_OP_DYNAMIC_SLICE, 2, (const pithp_value[]){x, from}, &box);
    return below(d, 2)
               ? part
               : add(d, PITHP_OP_DYNAMIC_UPDATE_SLICE, 3,
                     (const pithp_value[]){x, call1(d, PITHP_OP_COS, part), to}, NULL);
}

static inline pithp_value draw_drawn(drawing *d) {
    const uint32_t key[2] = {7, (uint32_t)below(d, 100)};
    const int64_t two = 2;
    const pithp_value x = pick(d);
    const pith_spec *spec = spec_of(d, x);
    pithp_random_params p = {.dtype = PITH_F64, .rank = spec->rank, .low = -1, .high = 1};
    memcpy(p.shape, spec->shape, sizeof p.shape);
    const pithp_value k =
        pithp_program_literal(d->s, d->p, pithp_spec(d->s, PITH_U32, 1, &two), key);
    return call2(d, PITHP_OP_MUL, x,
                 add(d, below(d, 2) ? PITHP_OP_RANDOM_UNIFORM : PITHP_OP_RANDOM_NORMAL, 1,
                     &k, &p));
}

/* ---- Control flow ---- */

static inline void draw_steps(drawing *d, int steps);

/* A nested program that takes values of these specs. */
static inline drawing begin_body(const drawing *d, int count, const pith_spec **specs) {
    drawing body = {
        .s = d->s, .p = pithp_program_make(d->s), .state = d->state, .index = -1};
    body.depth = d->depth + 1;
    body.stops = d->stops;
    for (int k = 0; k < count; k++)
        body.list[body.count++] = pithp_program_input(d->s, body.p, specs[k]);
    return body;
}

/* The last value of the spec; there is one. */
static inline pithp_value last_of(const drawing *d, const pith_spec *spec) {
    int k = d->count - 1;
    while (spec_of(d, d->list[k]) != spec)
        k--;
    return d->list[k];
}

static inline void give(drawing *d, pithp_value v) {
    pithp_program_output(d->s, d->p, v);
}

static inline pithp_value add_regions(drawing *d,
                                      pithp_primitive op,
                                      int count,
                                      const pithp_value *operands,
                                      const void *params,
                                      int programs,
                                      pithp_program **list) {
    const pithp_new_instruction made = {.primitive = op,
                                        .operand_count = count,
                                        .operands = operands,
                                        .params = params,
                                        .program_count = programs,
                                        .programs = list,
                                        .site = "drawn:2"};
    const pithp_value v = pithp_program_add_many(d->s, d->p, &made);
    for (int k = 0; k < programs; k++)
        pithp_program_release(list[k]);
    return v;
}

static inline pithp_value draw_cond(drawing *d) {
    pithp_program *ways[3];
    const pith_spec *specs[3];
    pithp_value operands[4] = {d->index};
    const int count = 1 + below(d, 3), ways_count = 1 + below(d, 3),
              outs = 1 + below(d, count);
    if (d->index < 0 || below(d, 2))
        operands[0] = integers(d, 0, NULL, -1, 3);
    for (int k = 0; k < count; k++) {
        operands[1 + k] = pick(d);
        specs[k] = spec_of(d, operands[1 + k]);
    }
    for (int b = 0; b < ways_count; b++) {
        drawing body = begin_body(d, count, specs);
        draw_steps(&body, 1 + below(d, 4));
        d->has_while |= body.has_while;
        for (int k = 0; k < outs; k++)
            give(&body, last_of(&body, specs[k]));
        ways[b] = body.p;
    }
    const pithp_value v =
        add_regions(d, PITHP_OP_COND, 1 + count, operands, NULL, ways_count, ways);
    for (int k = 1; k < outs && v >= 0; k++)
        if (d->count < DRAWN_MOST)
            d->list[d->count++] = v + k;
    return v;
}

static inline pithp_value draw_scan(drawing *d) {
    const pith_spec *specs[4];
    pithp_value operands[4], xs = below(d, 2) ? pick_ranked(d) : -1;
    if (xs >= 0 && spec_of(d, xs)->shape[0] > 5)
        xs = -1;
    pithp_loop_params loop = {.length = 1 + below(d, 4),
                              .constants = below(d, 2),
                              .carries = 1 + below(d, 2),
                              .unroll = 1 + below(d, 3),
                              .reverse = below(d, 2)};
    int count = 0;
    for (int k = 0; k < loop.constants + loop.carries; k++)
        operands[count++] = pick(d);
    for (int k = 0; k < count; k++)
        specs[k] = spec_of(d, operands[k]);
    if (xs >= 0) {
        const pith_spec *all = spec_of(d, xs);
        loop.length = all->shape[0];
        operands[count] = xs;
        specs[count++] = pithp_spec(d->s, PITH_F64, all->rank - 1, all->shape + 1);
    }
    drawing body = begin_body(d, count, specs);
    draw_steps(&body, 1 + below(d, 5));
    d->has_while |= body.has_while;
    for (int k = 0; k < loop.carries; k++) {
        const pithp_value v = last_of(&body, specs[loop.constants + k]);
        give(&body, below(d, 2) ? squashed(&body, v) : v);
    }
    const pithp_value y = pick(&body);
    const bool outs = spec_of(&body, y)->rank < 3 && below(d, 2);
    if (outs)
        give(&body, y);
    const pithp_value v =
        add_regions(d, PITHP_OP_SCAN, count, operands, &loop, 1, &body.p);
    for (int k = 1; k < loop.carries + outs && v >= 0; k++)
        if (d->count < DRAWN_MOST &&
            pithp_value_spec(d->p, v + k)->count <= DRAWN_LARGEST)
            d->list[d->count++] = v + k;
    return v;
}

/* The inputs of a program of a while after the constants: rows if there is a record, the
 * carry, i. Returns i, and sets the rows. */
static inline pithp_value add_carries(drawing *d,
                                      bool recorded,
                                      const pith_spec *carry,
                                      const pith_spec *count,
                                      pithp_value *rows) {
    *rows = recorded ? pithp_program_input(d->s, d->p, count) : -1;
    d->list[d->count++] = pithp_program_input(d->s, d->p, carry);
    return pithp_program_input(d->s, d->p, count);
}

/* i = 0; while (i < n) carry = body(constant, carry), i = i + 1; half of them with a
 * record. */
static inline pithp_value draw_while(drawing *d) {
    const pith_spec *count = pithp_spec(d->s, PITH_I64, 0, NULL);
    const pithp_value carry = pick(d);
    const pith_spec *constant_spec = spec_of(d, pick(d)), *spec = spec_of(d, carry);
    pithp_value constant = carry, rows;
    for (int k = 0; k < d->count; k++)
        if (spec_of(d, d->list[k]) == constant_spec)
            constant = d->list[k];
    const int64_t one = 1, zero = 0;
    const bool recorded = below(d, 2);
    drawing test = begin_body(d, 0, NULL), body = begin_body(d, 1, &constant_spec);
    d->has_while |= !recorded;
    const pithp_value n = add_carries(&test, recorded, spec, count, &rows),
                      i = add_carries(&body, recorded, spec, count, &rows);
    give(&test, call2(&test, PITHP_OP_LT, n, integers(&test, 0, NULL, 0, 3)));
    body.depth = DRAWN_DEEPEST;
    if (recorded)
        give(&body, call1(&body, PITHP_OP_STOP_GRADIENT, rows));
    draw_steps(&body, 1 + below(d, 4));
    give(&body, squashed(&body, last_of(&body, spec)));
    give(&body,
         call2(&body, PITHP_OP_ADD, i, pithp_program_literal(d->s, body.p, count, &one)));
    const pithp_value none = pithp_program_literal(d->s, d->p, count, &zero),
                      operands[4] = {constant, recorded ? none : carry,
                                     recorded ? carry : none, none};
    const pithp_while_params params = {.body_operands = 1, .most = recorded ? 4 : 0};
    pithp_program *programs[2] = {test.p, body.p};
    const pithp_value v =
        add_regions(d, PITHP_OP_WHILE, 3 + recorded, operands, &params, 2, programs);
    return v < 0 ? v : v + recorded;
}

/* ---- Programs ---- */

static inline pithp_value draw_call(drawing *d) {
    const int kind = below(d, 24);
    if (kind < 6)
        return draw_unary(d);
    if (kind < 11)
        return draw_binary(d);
    if (kind < 14)
        return draw_shape(d);
    if (kind < 16)
        return draw_reduction(d);
    if (kind == 16)
        return draw_order(d);
    if (kind == 17)
        return draw_product(d);
    if (kind == 18)
        return draw_indexed(d);
    if (kind == 19)
        return draw_box(d);
    if (kind == 20)
        return draw_drawn(d);
    if (d->depth == DRAWN_DEEPEST)
        return -1;
    return kind == 21                  ? draw_cond(d)
           : kind == 22 || below(d, 3) ? draw_scan(d)
                                       : draw_while(d);
}

static inline void draw_steps(drawing *d, int steps) {
    for (int k = 0; k < steps && d->count < DRAWN_MOST && !pith_failed(d->s); k++) {
        const pithp_value v = draw_call(d);
        if (v < 0 || spec_of(d, v)->rank > 3 || spec_of(d, v)->count > DRAWN_LARGEST ||
            spec_of(d, v)->count == 0)
            continue;
        d->list[d->count++] = below(d, 2) ? squashed(d, v) : v;
    }
}

/* A program of f64 inputs and one i64 []. */
static inline pithp_program *
draw_program(pith_scope *s, uint64_t seed, int steps, bool *has_while) {
    static const struct {
        int rank;
        int64_t shape[3];
    } shapes[] = {{0, {0}}, {1, {3}}, {1, {4}}, {2, {3, 4}}, {2, {2, 3}}, {2, {1, 4}}};
    uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    drawing d = {.s = s, .p = pithp_program_make(s), .state = &state};
    d.index = pithp_program_input(s, d.p, pithp_spec(s, PITH_I64, 0, NULL));
    d.stops = below(&d, 4) == 0;
    for (int k = 1 + below(&d, 3); k > 0; k--) {
        const int n = below(&d, PITHP_COUNT(shapes));
        d.list[d.count++] = pithp_program_input(
            s, d.p, pithp_spec(s, PITH_F64, shapes[n].rank, shapes[n].shape));
    }
    draw_steps(&d, steps);
    for (int k = 0; k < 3 && k < d.count; k++)
        give(&d, d.list[d.count - 1 - k]);
    give(&d, call1(&d, PITHP_OP_IS_NAN, d.list[d.count - 1]));
    *has_while = d.has_while;
    return d.p;
}

#endif
