/* Tangents of structural rows that are not linear: reductions and sorts. */
#include "program/derive/rules.h"

#include <string.h>

#define RULE(name)                                                                       \
    pithp_value pithp_tangent_##name(pithp_derivation *d, const pithp_moving_call *c);   \
    pithp_value pithp_tangent_##name(pithp_derivation *d, const pithp_moving_call *c)

static const pith_spec *operand_spec(const pithp_moving_call *c) {
    return pithp_value_spec(c->from, pithp_operands(c->from, c->i)[0]);
}

static pithp_value sum(pithp_derivation *d, pithp_value v, uint32_t axes) {
    const pithp_reduce_params p = {axes};
    return pithp_derive_call(d, PITHP_OP_SUM, 1, &v, &p);
}

static pithp_value cast(pithp_derivation *d, pithp_value v, pith_dtype dtype) {
    const pithp_cast_params p = {dtype};
    return v >= 0 && pithp_derived_spec(d, v)->dtype == dtype
               ? v
               : pithp_derive_call(d, PITHP_OP_CAST, 1, &v, &p);
}

pithp_value
pithp_derive_is_extreme(pithp_derivation *d, pithp_value x, pithp_value extreme) {
    return pithp_derive_2(d, PITHP_OP_LOGICAL_OR,
                          pithp_derive_2(d, PITHP_OP_EQ, x, extreme),
                          pithp_derive_1(d, PITHP_OP_IS_NAN, x));
}

/* ---- Reductions ---- */

/* The result of a reduction, broadcast to the operand. */
static pithp_value spread(pithp_derivation *d, const pithp_moving_call *c) {
    const uint32_t axes = ((const pithp_reduce_params *)c->i->params)->axes;
    const pith_spec *x = operand_spec(c);
    pithp_broadcast_params to = {.rank = x->rank};
    memcpy(to.shape, x->shape, sizeof to.shape);
    for (int n = 0, next = 0; n < x->rank; n++)
        if (!(axes >> n & 1))
            to.dimensions[next++] = n;
    return pithp_derive_call(d, PITHP_OP_BROADCAST, 1, &c->result, &to);
}

/* Equal extremes share equally, and so do elements that are NaN. */
RULE(extreme) {
    const uint32_t axes = ((const pithp_reduce_params *)c->i->params)->axes;
    const pith_dtype wide = pithp_wide_dtype(d->dtype);
    const pithp_value equal = pithp_derive_is_extreme(d, c->operands[0], spread(d, c));
    const pithp_value chosen = pithp_derive_3(d, PITHP_OP_WHERE, equal, c->tangents[0],
                                              pithp_derive_number(d, 0));
    return cast(d,
                pithp_derive_2(d, PITHP_OP_DIV, sum(d, cast(d, chosen, wide), axes),
                               sum(d, cast(d, equal, wide), axes)),
                d->dtype);
}

/* [outer, n]: the reduced axes last, as one. */
static pithp_value
reduced_last(pithp_derivation *d, pithp_value v, uint32_t axes, int64_t *length) {
    const pith_spec *x = pithp_derived_spec(d, v);
    pithp_transpose_params order = {{0}};
    pithp_reshape_params flat = {.rank = 2, .shape = {1, 1}};
    int next = 0;
    for (int last = 0; last < 2; last++)
        for (int n = 0; n < x->rank; n++)
            if ((int)(axes >> n & 1) == last) {
                order.permutation[next++] = n;
                flat.shape[last] *= x->shape[n];
            }
    *length = flat.shape[1];
    v = pithp_derive_call(d, PITHP_OP_TRANSPOSE, 1, &v, &order);
    return pithp_derive_call(d, PITHP_OP_RESHAPE, 1, &v, &flat);
}

/* Products of the elements before each one, or after it. */
static pithp_value
exclusive(pithp_derivation *d, pithp_value v, int64_t length, bool after) {
    const int64_t outer = pithp_derived_spec(d, v)->shape[0];
    const pithp_slice_params part = {{0, after}, {outer, length - !after}, {1, 1}};
    const pithp_scan_params scan = {.axis = 1, .reverse = after};
    const pithp_pad_params pad = {{0, !after}, {0, after}, {0, 0}};
    v = pithp_derive_call(d, PITHP_OP_SLICE, 1, &v, &part);
    v = pithp_derive_call(d, PITHP_OP_CUMPROD, 1, &v, &scan);
    return pithp_derive_call(d, PITHP_OP_PAD, 2,
                             (const pithp_value[]){v, pithp_derive_number(d, 1)}, &pad);
}

/* The products of all other elements, without a division: zeros are exact. */
RULE(prod) {
    const uint32_t axes = ((const pithp_reduce_params *)c->i->params)->axes;
    const pith_spec *y = pithp_value_spec(c->from, c->i->result);
    int64_t length = 0;
    const pithp_value x = reduced_last(d, c->operands[0], axes, &length);
    pithp_value t = reduced_last(d, c->tangents[0], axes, &length);
    if (x < 0 || t < 0)
        return -1;
    if (length > 0) {
        const pithp_value others =
            pithp_derive_2(d, PITHP_OP_MUL, exclusive(d, x, length, false),
                           exclusive(d, x, length, true));
        t = pithp_derive_2(d, PITHP_OP_MUL, t, others);
    }
    const pithp_value all = sum(d, t, 2);
    pithp_reshape_params back = {.rank = y->rank};
    memcpy(back.shape, y->shape, sizeof back.shape);
    return pithp_derive_call(d, PITHP_OP_RESHAPE, 1, &all, &back);
}

/* ---- Along an axis ---- */

static pithp_value
take_along(pithp_derivation *d, pithp_value x, pithp_value index, int axis) {
    const pithp_index_params p = {.axis = axis, .mode = PITHP_INDEX_PROMISE};
    return pithp_derive_call(d, PITHP_OP_TAKE_ALONG, 2, (const pithp_value[]){x, index},
                             &p);
}

RULE(sort) {
    const pithp_sort_params *p = c->i->params;
    const pithp_value order = pithp_derive_call(d, PITHP_OP_ARGSORT, 1, c->operands, p);
    return take_along(d, c->tangents[0], order, p->axis);
}
