/* Products with tangents in which 0 wins over infinities and NaN (the option
 * strong_zero).
 */
#include "program/derive/rules.h"

#include <string.h>

/* ---- Tangents ---- */

static bool is_linear(const pithp_derivation *d, pithp_value v) {
    return v < d->linear_room && d->linear[v];
}

bool pithp_derive_linear(pithp_derivation *d, pithp_value v) {
    if (!d->strong_zero || v < 0)
        return true;
    if (v >= d->linear_room) {
        const int64_t room = 2 * (int64_t)v + 64;
        bool *more = pithp_allocate(d->s->runtime, (size_t)room);
        if (!more) {
            pithp_fail_memory(d->s, (size_t)room);
            return false;
        }
        memset(more, 0, (size_t)room);
        if (d->linear)
            memcpy(more, d->linear, (size_t)d->linear_room);
        pithp_derive_end(d);
        d->linear = more;
        d->linear_room = room;
    }
    d->linear[v] = true;
    return true;
}

void pithp_derive_end(pithp_derivation *d) {
    pithp_release(d->s->runtime, d->linear, (size_t)d->linear_room);
    d->linear = NULL;
    d->linear_room = 0;
}

/* ---- Products of matrices ---- */

/* The axes of a product of matrices: those of the result, then those that are summed. */
typedef struct product_axes {
    const pithp_dot_params *p;
    int rank, free[2]; /* the first free axis of each operand */
    int64_t shape[PITHP_MAX_RANK];
} product_axes;

/* Where axis k of an operand is among them; -1: it is free. */
static int axis_of(const product_axes *x, int operand, int k) {
    const pithp_dot_params *p = x->p;
    for (int n = 0; n < p->batches; n++)
        if (p->batch[operand][n] == k)
            return n;
    for (int n = 0; n < p->contracts; n++)
        if (p->contract[operand][n] == k)
            return x->rank - p->contracts + n;
    return -1;
}

/* False: an array cannot have that many axes. */
static bool
find_axes(product_axes *x, const pithp_dot_params *p, const pith_spec *const of[2]) {
    *x = (product_axes){.p = p,
                        .rank = of[0]->rank + of[1]->rank - p->batches - p->contracts};
    if (x->rank > PITHP_MAX_RANK)
        return false;
    int next = p->batches;
    for (int o = 0; o < 2; o++) {
        x->free[o] = next;
        for (int k = 0; k < of[o]->rank; k++) {
            const int at = axis_of(x, o, k), to = at < 0 ? next++ : at;
            if (x->shape[to] <= 1 || at < 0) /* an extent 1 of a batch is repeated */
                x->shape[to] = of[o]->shape[k];
        }
    }
    return true;
}

/* An operand over all axes. */
static pithp_value
spread(pithp_derivation *d, const product_axes *x, int operand, pithp_value a) {
    const int rank = pithp_derived_spec(d, a)->rank;
    pithp_transpose_params order = {{0}};
    pithp_broadcast_params to = {.rank = x->rank};
    int next = x->free[operand], at[PITHP_MAX_RANK], count = 0;
    memcpy(to.shape, x->shape, sizeof to.shape);
    for (int k = 0; k < rank; k++)
        if ((at[k] = axis_of(x, operand, k)) < 0)
            at[k] = next++;
    for (int n = 0; n < x->rank; n++)
        for (int k = 0; k < rank; k++)
            if (at[k] == n) {
                order.permutation[count] = k;
                to.dimensions[count++] = n;
            }
    a = pithp_derive_call(d, PITHP_OP_TRANSPOSE, 1, &a, &order);
    return pithp_derive_call(d, PITHP_OP_BROADCAST, 1, &a, &to);
}

/* A sum of products, each of which is 0 if a factor is. */
static pithp_value
sum_of_products(pithp_derivation *d, const product_axes *x, const pithp_value *operands) {
    const pithp_value products = pithp_derive_2(
        d, PITHP_OP_MUL, spread(d, x, 0, operands[0]), spread(d, x, 1, operands[1]));
    pithp_reduce_params sum = {0};
    for (int k = x->rank - x->p->contracts; k < x->rank; k++)
        sum.axes |= 1U << k;
    return sum.axes ? pithp_derive_call(d, PITHP_OP_SUM, 1, &products, &sum) : products;
}

/* ---- Calls ---- */

/* A call of which an operand is a tangent. */
static pithp_value add_call(pithp_derivation *d,
                            pithp_primitive op,
                            int count,
                            const pithp_value *operands,
                            const void *params) {
    pithp_value both[2];
    pithp_scan_params scan;
    if (op == PITHP_OP_MUL) {
        const bool second = !is_linear(d, operands[0]); /* the tangent is first */
        both[0] = operands[second];
        both[1] = operands[!second];
        operands = both;
        op = PITHP_OP_MUL_STRONG;
    } else if (op == PITHP_OP_DIV && is_linear(d, operands[0])) {
        op = PITHP_OP_DIV_STRONG;
    } else if (op == PITHP_OP_CUMLINEAR) {
        scan = *(const pithp_scan_params *)params;
        scan.strong = true;
        params = &scan;
    }
    return pithp_program_add(d->s, d->to, op, count, operands, params, d->site);
}

pithp_value pithp_derive_strong(pithp_derivation *d,
                                pithp_primitive op,
                                int count,
                                const pithp_value *operands,
                                const void *params) {
    product_axes axes;
    bool any = false;
    for (int k = 0; k < count; k++)
        any |= is_linear(d, operands[k]);
    if (!any)
        return pithp_program_add(d->s, d->to, op, count, operands, params, d->site);
    if (op == PITHP_OP_DOT_GENERAL &&
        find_axes(&axes, params,
                  (const pith_spec *const[2]){pithp_derived_spec(d, operands[0]),
                                              pithp_derived_spec(d, operands[1])}))
        return sum_of_products(d, &axes, operands);
    const pithp_value v = add_call(d, op, count, operands, params);
    return pithp_derive_linear(d, v) ? v : -1;
}

/* ---- Rules ---- */

/* Whether an element of the last inputs is not 0. */
static pithp_value is_any_nonzero(pithp_derivation *d, int64_t count) {
    const pithp_program *p = d->to;
    pithp_value all = PITHP_ABSENT;
    for (int64_t k = p->input_count - count; k < p->input_count; k++) {
        const pith_spec *spec = pithp_value_spec(p, p->inputs[k]);
        const pithp_reduce_params axes = {(1U << spec->rank) - 1};
        d->dtype = spec->dtype;
        pithp_value v =
            pithp_derive_2(d, PITHP_OP_NE, p->inputs[k], pithp_derive_number(d, 0));
        if (spec->rank)
            v = pithp_derive_call(d, PITHP_OP_ANY, 1, &v, &axes);
        all = all == PITHP_ABSENT ? v : pithp_derive_2(d, PITHP_OP_LOGICAL_OR, all, v);
    }
    return all;
}

static bool fill_guarded(pithp_derivation *d, const pithp_program *from, int64_t count) {
    const size_t n = (size_t)(from->input_count + from->output_count) + 1;
    pithp_value *in = pithp_scope_allocate(d->s, n * sizeof *in),
                *out = in + from->input_count;
    bool fine = in;
    for (int64_t k = 0; k < from->input_count && fine; k++)
        fine = (in[k] = pithp_program_input(
                    d->s, d->to, pithp_value_spec(from, from->inputs[k]))) >= 0;
    const pithp_value any = fine ? is_any_nonzero(d, count) : -1;
    fine = any >= 0 && pithp_program_inline(d->s, d->to, from, in, out);
    for (int64_t k = 0; k < from->output_count && fine; k++) {
        d->dtype = pithp_derived_spec(d, out[k])->dtype;
        if (pith_dtype_is_float(d->dtype))
            out[k] =
                pithp_derive_3(d, PITHP_OP_WHERE, any, out[k], pithp_derive_number(d, 0));
        fine = out[k] >= 0 && pithp_program_output(d->s, d->to, out[k]);
    }
    return fine;
}

pithp_program *
pithp_program_zero_with(pith_scope *s, const pithp_program *p, int64_t count) {
    pithp_derivation d = {.s = s, .to = pithp_program_make(s)};
    if (d.to && fill_guarded(&d, p, count))
        return d.to;
    pithp_program_release(d.to);
    return NULL;
}
