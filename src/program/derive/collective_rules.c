/* Derivatives of collectives. A value that is replicated along axes is one value, whose
 * cotangent is replicated too; so psum, which makes one of varying values, and the
 * widening of a replicated value (program/vary) are each other's transpose. Rows whose
 * results vary are transposed as maps between the arrays of all ranks. */
#include "mesh/mesh_internal.h"
#include "program/derive/rules.h"

#include <string.h>

#define TANGENT(name)                                                                    \
    pithp_value pithp_tangent_##name(pithp_derivation *d, const pithp_moving_call *c);   \
    pithp_value pithp_tangent_##name(pithp_derivation *d, const pithp_moving_call *c)
#define TRANSPOSE(name)                                                                  \
    pithp_value pithp_transpose_##name(pithp_derivation *d, const pithp_moving_call *c,  \
                                       pithp_value ct, int k);                           \
    pithp_value pithp_transpose_##name(pithp_derivation *d, const pithp_moving_call *c,  \
                                       pithp_value ct, int k)

static const pithp_collective_params *params_of(const pithp_moving_call *c) {
    return c->i->params;
}

static const pith_spec *operand_spec(const pithp_moving_call *c) {
    return pithp_value_spec(c->from, pithp_operands(c->from, c->i)[0]);
}

/* A collective over the ranks of c. */
static pithp_value collective(pithp_derivation *d,
                              const pithp_moving_call *c,
                              pithp_primitive op,
                              pithp_value v,
                              int64_t axis) {
    const pithp_collective_params to = {
        .group = params_of(c)->group, .axis = axis, .unordered = params_of(c)->unordered};
    return pithp_derive_call(d, op, 1, &v, &to);
}

/* A replicated value as one that varies over the axes of c. */
static pithp_value
widened(pithp_derivation *d, const pithp_moving_call *c, pithp_value v) {
    const pithp_vary_params to = {.group = params_of(c)->group};
    return pithp_derive_call(d, PITHP_OP_VARY, 1, &v, &to);
}

static pithp_value reshaped(pithp_derivation *d, pithp_value v, const pith_spec *spec) {
    pithp_reshape_params to = {.rank = spec->rank};
    memcpy(to.shape, spec->shape, sizeof to.shape);
    return pithp_derive_call(d, PITHP_OP_RESHAPE, 1, &v, &to);
}

/* ---- Rows in use ---- */

/* Bool [n, 1...]: the rows in use. */
static pithp_value
rows_in_use(pithp_derivation *d, pithp_value rows, const pith_spec *x) {
    pithp_iota_params number = {
        .dtype = PITH_I64, .rank = x->rank, .shape = {x->shape[0]}};
    for (int n = 1; n < x->rank; n++)
        number.shape[n] = 1;
    return pithp_derive_2(d, PITHP_OP_LT,
                          pithp_derive_call(d, PITHP_OP_IOTA, 0, NULL, &number), rows);
}

/* A cotangent of operand 0, which is zero in rows that are not in use. */
static pithp_value
in_use(pithp_derivation *d, const pithp_moving_call *c, pithp_value ct) {
    return c->i->operand_count == 1
               ? ct
               : pithp_derive_3(d, PITHP_OP_WHERE,
                                rows_in_use(d, c->operands[1], operand_spec(c)), ct,
                                pithp_derive_number(d, 0));
}

/* ---- Widening and its transpose ---- */

TRANSPOSE(vary) {
    (void)k;
    const pithp_collective_params sum = {
        .group = ((const pithp_vary_params *)c->i->params)->group};
    return pithp_derive_call(d, PITHP_OP_PSUM, 1, &ct, &sum);
}

/* What a derivation relies on concerns the value alone. */
TANGENT(replicated) {
    const pithp_vary_params *p = c->i->params;
    return p->expected ? c->tangents[0]
                       : pithp_derive_call(d, PITHP_OP_REPLICATED, 1, c->tangents, p);
}

TRANSPOSE(replicated) {
    (void)k;
    return pithp_derive_call(d, PITHP_OP_VARY, 1, &ct, c->i->params);
}

TRANSPOSE(psum) {
    (void)k;
    return in_use(d, c, widened(d, c, ct));
}

/* The cotangent goes to the rank whose array the result is. */
TRANSPOSE(pbroadcast) {
    const pithp_collective_params self = {.group = params_of(c)->group};
    const int32_t root = (int32_t)params_of(c)->root;
    (void)k;
    pithp_value is_root[2] = {
        pithp_derive_call(d, PITHP_OP_AXIS_INDEX, 0, NULL, &self),
        pithp_program_literal(d->s, d->to, pithp_spec(d->s, PITH_I32, 0, NULL), &root)};
    return pithp_derive_3(d, PITHP_OP_WHERE,
                          pithp_derive_call(d, PITHP_OP_EQ, 2, is_root, NULL),
                          widened(d, c, ct), pithp_derive_number(d, 0));
}

/* ---- Gathers and blocks ---- */

TRANSPOSE(all_gather) {
    (void)k;
    return collective(d, c, PITHP_OP_REDUCE_SCATTER, ct, params_of(c)->axis);
}

TRANSPOSE(reduce_scatter) {
    (void)k;
    return in_use(d, c, collective(d, c, PITHP_OP_ALL_GATHER, ct, params_of(c)->axis));
}

TRANSPOSE(all_stack) {
    (void)k;
    const pithp_value own = collective(d, c, PITHP_OP_REDUCE_SCATTER, ct, 0);
    return own < 0 ? -1 : reshaped(d, own, operand_spec(c));
}

TRANSPOSE(all_to_all) {
    (void)k;
    pithp_collective_params back = *params_of(c);
    back.axis = params_of(c)->join;
    back.join = params_of(c)->axis;
    return in_use(d, c, pithp_derive_call(d, PITHP_OP_ALL_TO_ALL, 1, &ct, &back));
}

TRANSPOSE(ppermute) {
    (void)k;
    pithp_collective_params back = *params_of(c);
    back.pairs = pithp_mesh_pairs_back(d->s, back.group, back.pairs);
    return back.pairs
               ? in_use(d, c, pithp_derive_call(d, PITHP_OP_PPERMUTE, 1, &ct, &back))
               : -1;
}

/* ---- Halos ---- */

/* Rows begin to end of an axis. */
static pithp_value rows_of(pithp_derivation *d,
                           pithp_value v,
                           const pith_spec *like,
                           int64_t axis,
                           int64_t begin,
                           int64_t end) {
    pithp_slice_params part = {.start = {0}};
    for (int n = 0; n < like->rank; n++) {
        part.limit[n] = like->shape[n];
        part.step[n] = 1;
    }
    part.start[axis] = begin;
    part.limit[axis] = end;
    return pithp_derive_call(d, PITHP_OP_SLICE, 1, &v, &part);
}

/* v plus rows of the halo, which go back to the rank that they came from and belong to
 * rows from `at` on there. */
static pithp_value add_back(pithp_derivation *d,
                            const pithp_moving_call *c,
                            pithp_value v,
                            pithp_value rows,
                            int64_t count,
                            int64_t at,
                            int64_t by) {
    const pithp_collective_params *p = params_of(c);
    const pithp_collective_params shift = {
        .group = p->group, .pairs = pithp_mesh_shift_of(d->s, p->group, by, p->wrap)};
    pithp_pad_params pad = {.low = {0}};
    pad.low[p->axis] = at;
    pad.high[p->axis] = operand_spec(c)->shape[p->axis] - at - count;
    if (!shift.pairs)
        return -1;
    const pithp_value passed = pithp_derive_call(d, PITHP_OP_PPERMUTE, 1, &rows, &shift);
    const pithp_value operands[] = {passed, pithp_derive_number(d, 0)};
    return pithp_derive_2(d, PITHP_OP_ADD, v,
                          pithp_derive_call(d, PITHP_OP_PAD, 2, operands, &pad));
}

/* As pith_halo_add. */
TRANSPOSE(halo) {
    const pithp_collective_params *p = params_of(c);
    const pith_spec *x = operand_spec(c);
    const int64_t n = x->shape[p->axis], begin = p->root, end = begin + n,
                  all = end + p->join;
    (void)k;
    pithp_value sum = rows_of(d, ct, x, p->axis, begin, end);
    if (p->join)
        sum = add_back(d, c, sum, rows_of(d, ct, x, p->axis, end, all), p->join, 0, 1);
    if (p->root)
        sum = add_back(d, c, sum, rows_of(d, ct, x, p->axis, 0, begin), p->root,
                       n - p->root, -1);
    return sum;
}

/* ---- Rows ---- */

/* Every row in use has the cotangent of the sum. */
TRANSPOSE(psum_rows) {
    const pith_spec *x = operand_spec(c);
    pithp_broadcast_params to = {.rank = x->rank};
    (void)k;
    memcpy(to.shape, x->shape, sizeof to.shape);
    for (int n = 1; n < x->rank; n++)
        to.dimensions[n - 1] = n;
    const pithp_value one = widened(d, c, ct);
    return in_use(d, c, pithp_derive_call(d, PITHP_OP_BROADCAST, 1, &one, &to));
}

/* ---- Routes ---- */

/* Rows go back to where they came from, and are added to zeros. */
TRANSPOSE(route_send) {
    const pithp_value operands[] = {ct,
                                    pithp_derive_zeros(d, operand_spec(c)),
                                    c->operands[1],
                                    c->operands[2],
                                    c->operands[3],
                                    c->operands[4]};
    (void)k;
    return operands[1] < 0
               ? -1
               : pithp_derive_call(d, PITHP_OP_ROUTE_RETURN, 6, operands, params_of(c));
}

TRANSPOSE(route_return) {
    pithp_collective_params send = *params_of(c);
    send.root = operand_spec(c)->shape[0];
    const pithp_value operands[] = {ct, c->operands[2], c->operands[3], c->operands[4],
                                    c->operands[5]};
    return k == 1 ? ct : pithp_derive_call(d, PITHP_OP_ROUTE_SEND, 5, operands, &send);
}

/* ---- Extremes ---- */

/* Ranks with equal extremes share equally. */
TANGENT(pextreme) {
    const pithp_cast_params to = {d->dtype};
    const pithp_value equal =
        pithp_derive_2(d, PITHP_OP_EQ, c->operands[0], widened(d, c, c->result));
    const pithp_value chosen = pithp_derive_3(d, PITHP_OP_WHERE, equal, c->tangents[0],
                                              pithp_derive_number(d, 0)),
                      one = pithp_derive_call(d, PITHP_OP_CAST, 1, &equal, &to);
    return pithp_derive_2(d, PITHP_OP_DIV, collective(d, c, PITHP_OP_PSUM, chosen, 0),
                          collective(d, c, PITHP_OP_PSUM, one, 0));
}
