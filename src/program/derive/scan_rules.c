/* Tangents of cumulative rows by the linear recurrence cumlinear, whose tangent and
 * transpose are recurrences again. */
#include "program/derive/rules.h"

#include <math.h>

#define RULE(name)                                                                       \
    pithp_value pithp_tangent_##name(pithp_derivation *d, const pithp_moving_call *c);   \
    pithp_value pithp_tangent_##name(pithp_derivation *d, const pithp_moving_call *c)

/* In the order of a scan: at each place the element before it, or after it. The first
 * place, or the last, has `fill`. */
static pithp_value neighbour(pithp_derivation *d,
                             pithp_value x,
                             const pithp_scan_params *p,
                             bool after,
                             pithp_value fill) {
    const int64_t up = p->reverse == after ? 1 : -1;
    pithp_pad_params pad = {{0}, {0}, {0}};
    pad.low[p->axis] = up;
    pad.high[p->axis] = -up;
    return pithp_derive_call(d, PITHP_OP_PAD, 2, (const pithp_value[]){x, fill}, &pad);
}

static pithp_value
before(pithp_derivation *d, pithp_value x, const pithp_scan_params *p, pithp_value fill) {
    return neighbour(d, x, p, false, fill);
}

static pithp_value recurrence(pithp_derivation *d,
                              pithp_value factors,
                              pithp_value terms,
                              const pithp_scan_params *p) {
    return pithp_derive_call(d, PITHP_OP_CUMLINEAR, 2,
                             (const pithp_value[]){factors, terms}, p);
}

static bool is_empty(pithp_derivation *d, const pithp_moving_call *c) {
    return pithp_derived_spec(d, c->result)->count == 0;
}

#define num(x)         pithp_derive_number(d, x)
#define add(x, y)      pithp_derive_2(d, PITHP_OP_ADD, x, y)
#define sub(x, y)      pithp_derive_2(d, PITHP_OP_SUB, x, y)
#define mul(x, y)      pithp_derive_2(d, PITHP_OP_MUL, x, y)
#define exp(x)         pithp_derive_1(d, PITHP_OP_EXP, x)
#define eq(x, y)       pithp_derive_2(d, PITHP_OP_EQ, x, y)
#define where(c, x, y) pithp_derive_3(d, PITHP_OP_WHERE, c, x, y)

/* y[k] = x[k] y[k - 1] */
RULE(cumprod) {
    const pithp_scan_params *p = c->i->params;
    const pithp_value t = c->tangents[0];
    if (is_empty(d, c))
        return t;
    return recurrence(d, c->operands[0], mul(before(d, c->result, p, num(1)), t), p);
}

/* Where the result is that of the place before, so is its tangent: the first of equals
 * has it, and the first NaN. */
RULE(cumextreme) {
    const pithp_scan_params *p = c->i->params;
    const pithp_full_params no = {.dtype = PITH_BOOL};
    const pithp_value t = c->tangents[0], y = c->result;
    if (is_empty(d, c))
        return t;
    const pithp_value stays =
        pithp_derive_2(d, PITHP_OP_LOGICAL_OR, eq(y, neighbour(d, y, p, true, num(0))),
                       pithp_derive_1(d, PITHP_OP_IS_NAN, y));
    const pithp_value old =
        before(d, stays, p, pithp_derive_call(d, PITHP_OP_FULL, 0, NULL, &no));
    return recurrence(d, where(old, num(1), num(0)), where(old, num(0), t), p);
}

/* y[k] = logaddexp(y[k - 1], x[k]): the derivatives by both, where equal infinities share
 * equally. */
RULE(cumlogsumexp) {
    const pithp_scan_params *p = c->i->params;
    const pithp_value x = c->operands[0], y = c->result, t = c->tangents[0];
    if (is_empty(d, c))
        return t;
    const pithp_value last = before(d, y, p, num(-INFINITY));
    const pithp_value share =
        where(eq(x, before(d, y, p, num(NAN))), num(0.5), num(1)); /* the first: 1 */
    const pithp_value by_last = where(eq(last, y), share, exp(sub(last, y)));
    const pithp_value by_x = where(eq(x, y), share, exp(sub(x, y)));
    return recurrence(d, by_last, mul(by_x, t), p);
}

/* y[k] = a[k] y[k - 1] + b[k] */
RULE(cumlinear) {
    const pithp_scan_params *p = c->i->params;
    pithp_value terms = c->tangents[1];
    if (is_empty(d, c))
        return c->tangents[terms == PITHP_ABSENT ? 0 : 1];
    if (c->tangents[0] != PITHP_ABSENT)
        terms = pithp_derive_sum(
            d, terms,
            pithp_derive_2(d, p->strong ? PITHP_OP_MUL_STRONG : PITHP_OP_MUL,
                           c->tangents[0], before(d, c->result, p, num(0))));
    return terms == -1 ? -1 : recurrence(d, c->operands[0], terms, p);
}

pithp_value pithp_transpose_cumlinear(pithp_derivation *d,
                                      const pithp_moving_call *c,
                                      pithp_value ct,
                                      int k);

/* The recurrence in the other direction: the factor of a place is that of the next. */
pithp_value pithp_transpose_cumlinear(pithp_derivation *d,
                                      const pithp_moving_call *c,
                                      pithp_value ct,
                                      int k) {
    pithp_scan_params back = *(const pithp_scan_params *)c->i->params;
    (void)k;
    if (ct < 0 || pithp_derived_spec(d, ct)->count == 0)
        return ct;
    const pithp_value factors = neighbour(d, c->operands[0], &back, true, num(0));
    back.reverse = !back.reverse;
    return recurrence(d, factors, ct, &back);
}
