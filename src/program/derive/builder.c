/* Builder of derived programs: calls, numbers, and the two directions of broadcasting. */
#include "program/derive/rules.h"

#include <string.h>

/* ---- Calls ---- */

/* The cuts of a rule are meant: a derivative of the derivative is not refused for them.
 */
static pithp_value stopped(pithp_derivation *d, pithp_value v, const pith_spec *spec) {
    return pith_dtype_is_float(spec->dtype)
               ? pithp_program_add(d->s, d->to, PITHP_OP_STOP_GRADIENT, 1, &v, NULL,
                                   d->site)
               : v;
}

pithp_value pithp_derive_call(pithp_derivation *d,
                              pithp_primitive op,
                              int count,
                              const pithp_value *operands,
                              const void *params) {
    enum { MOST = 3 };
    pithp_value meant[MOST];
    for (int k = 0; k < count; k++) {
        PITH_ASSERT(operands[k] != PITHP_ABSENT);
        if (operands[k] < 0)
            return -1;
    }
    if (pithp_tangent_of(op).kind == PITHP_TANGENT_CUT && count <= MOST) {
        for (int k = 0; k < count; k++)
            if ((meant[k] = stopped(d, operands[k], pithp_derived_spec(d, operands[k]))) <
                0)
                return -1;
        operands = meant;
    }
    if (d->strong_zero)
        return pithp_derive_strong(d, op, count, operands, params);
    return pithp_program_add(d->s, d->to, op, count, operands, params, d->site);
}

pithp_value pithp_derive_1(pithp_derivation *d, pithp_primitive op, pithp_value a) {
    return pithp_derive_call(d, op, 1, &a, NULL);
}

pithp_value
pithp_derive_2(pithp_derivation *d, pithp_primitive op, pithp_value a, pithp_value b) {
    return pithp_derive_call(d, op, 2, (const pithp_value[]){a, b}, NULL);
}

pithp_value pithp_derive_3(pithp_derivation *d,
                           pithp_primitive op,
                           pithp_value a,
                           pithp_value b,
                           pithp_value c) {
    return pithp_derive_call(d, op, 3, (const pithp_value[]){a, b, c}, NULL);
}

pithp_value pithp_derive_number(pithp_derivation *d, double x) {
    uint64_t bits = 0;
    const pith_spec *spec = pithp_spec(d->s, d->dtype, 0, NULL);
    pithp_cast_block(PITHP_ISA_BASE, PITH_F64, d->dtype)(&bits, &x, NULL, NULL, 1);
    return spec ? pithp_program_literal(d->s, d->to, spec, &bits) : -1;
}

/* ---- Sums ---- */

/* Zeros around a part along one axis: the cotangent of a slice. */
typedef struct padded_part {
    const pithp_pad_params *pad;
    pithp_value part;
    int axis;
} padded_part;

/* Whether a value is such zeros. */
static bool is_padded(const pithp_program *p, pithp_value v, padded_part *x) {
    const pithp_instruction *i = pithp_maker(p, v);
    if (!i || i->primitive != PITHP_OP_PAD)
        return false;
    const pithp_value *of = pithp_operands(p, i);
    const pith_spec *spec = pithp_value_spec(p, v);
    const char *fill = pithp_literal_of(p, of[1]);
    bool fits = fill;
    for (size_t k = 0; fits && k < pith_dtype_size(spec->dtype); k++)
        fits = !fill[k];
    *x = (padded_part){i->params, of[0], -1};
    for (int n = 0; n < spec->rank && fits; n++) {
        const pithp_pad_params *pad = x->pad;
        fits = pad->low[n] >= 0 && pad->high[n] >= 0 && !pad->interior[n];
        if (pad->low[n] || pad->high[n]) {
            fits &= x->axis < 0;
            x->axis = n;
        }
    }
    return fits && x->axis >= 0;
}

/* Parts of one array side by side: their sum is both, and nothing is added to zeros.
 * PITHP_ABSENT: they are no such parts. */
static pithp_value join_parts(pithp_derivation *d, pithp_value a, pithp_value b) {
    padded_part x, y;
    if (!is_padded(d->to, a, &x) || !is_padded(d->to, b, &y) || x.axis != y.axis)
        return PITHP_ABSENT;
    const int axis = x.axis;
    if (x.pad->low[axis] > y.pad->low[axis]) {
        const padded_part first = y;
        y = x;
        x = first;
    }
    if (x.pad->low[axis] + pithp_derived_spec(d, x.part)->shape[axis] != y.pad->low[axis])
        return PITHP_ABSENT;
    pithp_pad_params pad = *x.pad;
    pad.high[axis] = y.pad->high[axis];
    const pithp_concatenate_params join = {.axis = axis};
    const pithp_value both = pithp_derive_call(
        d, PITHP_OP_CONCATENATE, 2, (const pithp_value[]){x.part, y.part}, &join);
    return pad.low[axis] || pad.high[axis]
               ? pithp_derive_call(d, PITHP_OP_PAD, 2,
                                   (const pithp_value[]){both, pithp_derive_number(d, 0)},
                                   &pad)
               : both;
}

pithp_value pithp_derive_sum(pithp_derivation *d, pithp_value a, pithp_value b) {
    if (a < 0 || b < 0)
        return a == PITHP_ABSENT ? b : b == PITHP_ABSENT ? a : -1;
    const pithp_value joined = join_parts(d, a, b);
    return joined == PITHP_ABSENT ? pithp_derive_2(d, PITHP_OP_ADD, a, b) : joined;
}

pithp_value pithp_derive_zeros(pithp_derivation *d, const pith_spec *spec) {
    pithp_full_params full = {.dtype = spec->dtype, .rank = spec->rank};
    memcpy(full.shape, spec->shape, sizeof full.shape);
    return pithp_derive_call(d, PITHP_OP_FULL, 0, NULL, &full);
}

static bool same_shape(const pith_spec *a, const pith_spec *b) {
    bool same = a->rank == b->rank;
    for (int k = 0; k < a->rank && same; k++)
        same = a->shape[k] == b->shape[k];
    return same;
}

pithp_value
pithp_derive_broadcast(pithp_derivation *d, pithp_value a, const pith_spec *spec) {
    if (a < 0 || same_shape(pithp_derived_spec(d, a), spec))
        return a;
    const int added = spec->rank - pithp_derived_spec(d, a)->rank;
    pithp_broadcast_params to = {.rank = spec->rank};
    memcpy(to.shape, spec->shape, sizeof to.shape);
    for (int k = 0; k + added < spec->rank; k++)
        to.dimensions[k] = k + added;
    return pithp_derive_call(d, PITHP_OP_BROADCAST, 1, &a, &to);
}

pithp_value
pithp_derive_unbroadcast(pithp_derivation *d, pithp_value a, const pith_spec *spec) {
    if (a < 0 || same_shape(pithp_derived_spec(d, a), spec))
        return a;
    const pith_spec *from = pithp_derived_spec(d, a);
    const int added = from->rank - spec->rank;
    pithp_reduce_params sum = {0};
    for (int k = 0; k < from->rank; k++)
        if (k < added || spec->shape[k - added] != from->shape[k])
            sum.axes |= 1U << k;
    pithp_value v = pithp_derive_call(d, PITHP_OP_SUM, 1, &a, &sum);
    if (v < 0 || same_shape(pithp_derived_spec(d, v), spec))
        return v;
    pithp_reshape_params back = {.rank = spec->rank};
    memcpy(back.shape, spec->shape, sizeof back.shape);
    return pithp_derive_call(d, PITHP_OP_RESHAPE, 1, &v, &back);
}
