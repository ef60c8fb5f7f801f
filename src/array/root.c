/* Roots whose derivative is 0 where they are 0. */
#include "array/own_rule.h"

static const pith_array *
root(pith_scope *w, const pithp_own_options *o, const pith_array *const *x) {
    return o->order == 2 ? pith_sqrt(w, x[0])
                         : pith_pow(w, x[0], pith_like(w, x[0], 1 / o->order));
}

/* t / (order y^(order - 1)), or 0 where y is 0. */
static const pith_array *root_tangent(pith_scope *w,
                                      const pithp_own_options *o,
                                      const pith_array *const *x,
                                      const pith_array *const *t) {
    const pith_array *zero = pith_like(w, x[1], 0), *one = pith_like(w, x[1], 1),
                     *order = pith_like(w, x[1], o->order);
    const pith_array *is_zero =
        pith_equal(w, pithp_mark(w, PITHP_OP_STOP_GRADIENT, NULL, x[1]), zero);
    const pith_array *safe = pith_where(w, is_zero, one, x[1]);
    const pith_array *slope =
        o->order == 2 ? pith_div(w, t[0], pith_mul(w, order, safe))
                      : pith_div(w, pith_mul(w, t[0], safe),
                                 pith_mul(w, order, pith_where(w, is_zero, one, x[0])));
    return pith_where(w, is_zero, zero, slope);
}

static const pithp_own_kind kind = {.name = "root",
                                    .count = 1,
                                    .value = root,
                                    .tangent = root_tangent};

const pith_array *pithp_root(pith_scope *s, const pith_array *x, double order) {
    return x ? pithp_own_call(s, &kind, &(pithp_own_options){.order = order}, &x) : NULL;
}
