/* dot_general: type inference, and lowering to batched matrix products. Dimensions of one
 * role that are contiguous are merged; otherwise the operand is transposed first. */
#include "program/host/dot.h"

#include "program/host/move.h"
#include "program/host/vector/dot.h"

#include <string.h>

/* ---- Specs ---- */

/* Both dimensions of a pair exist, and none is named twice. */
static pith_status check_pair(const pithp_call *call,
                              pithp_refusal *refusal,
                              const char *what,
                              const int8_t pair[2],
                              uint32_t seen[2]) {
    for (int k = 0; k < 2; k++) {
        const pith_spec *x = call->operands[k];
        if (pair[k] < 0 || pair[k] >= x->rank)
            return pithp_refuse(call, refusal, PITH_E_ARG,
                                "%s dimension %d of an operand of rank %d", what, pair[k],
                                x->rank);
        if (seen[k] >> pair[k] & 1)
            return pithp_refuse(call, refusal, PITH_E_ARG,
                                "dimension %d of operand %d is named twice", pair[k],
                                k + 1);
        seen[k] |= 1u << pair[k];
    }
    return PITH_OK;
}

static pith_status refuse_extents(const pithp_call *call,
                                  pithp_refusal *refusal,
                                  const char *what,
                                  const int8_t pair[2]) {
    char texts[2][PITHP_SPEC_TEXT_BYTES];
    const pith_spec *x = call->operands[0], *y = call->operands[1];
    return pithp_refuse(
        call, refusal, PITH_E_SHAPE,
        "%s dimensions %d of %s and %d of %s: extents %lld and %lld differ", what,
        pair[0], pithp_spec_print(x, texts[0]), pair[1], pithp_spec_print(y, texts[1]),
        (long long)x->shape[pair[0]], (long long)y->shape[pair[1]]);
}

pith_status
pithp_infer_product(const pithp_call *call, pith_spec *result, pithp_refusal *refusal) {
    const pithp_dot_params *p = call->params;
    const pith_spec *x = call->operands[0], *y = call->operands[1];
    char texts[2][PITHP_SPEC_TEXT_BYTES];
    uint32_t seen[2] = {0};
    int64_t shape[PITHP_MAX_RANK];
    int rank = 0;
    pith_status rc = PITH_OK;
    if (x->dtype != y->dtype)
        return pithp_refuse(call, refusal, PITH_E_DTYPE,
                            "expected operands of one dtype, got %s and %s",
                            pithp_spec_print(x, texts[0]), pithp_spec_print(y, texts[1]));
    for (int i = 0; i < p->batches && !rc; i++) {
        const int8_t pair[2] = {p->batch[0][i], p->batch[1][i]};
        if ((rc = check_pair(call, refusal, "batch", pair, seen)))
            return rc;
        const int64_t one = x->shape[pair[0]], two = y->shape[pair[1]];
        if (one != two && one != 1 && two != 1)
            return refuse_extents(call, refusal, "batch", pair);
        shape[rank++] = one == 1 ? two : one;
    }
    for (int i = 0; i < p->contracts && !rc; i++) {
        const int8_t pair[2] = {p->contract[0][i], p->contract[1][i]};
        if ((rc = check_pair(call, refusal, "contracted", pair, seen)))
            return rc;
        if (x->shape[pair[0]] != y->shape[pair[1]])
            return refuse_extents(call, refusal, "contracted", pair);
    }
    const int left = x->rank + y->rank - p->batches - 2 * p->contracts;
    if (left > pithp_call_max_rank(call))
        return pithp_refuse(call, refusal, PITH_E_SHAPE,
                            "the product of %s and %s would have rank %d, beyond %d",
                            pithp_spec_print(x, texts[0]), pithp_spec_print(y, texts[1]),
                            left, pithp_call_max_rank(call));
    for (int k = 0; k < 2; k++)
        for (int d = 0; d < call->operands[k]->rank; d++)
            if (!(seen[k] >> d & 1))
                shape[rank++] = call->operands[k]->shape[d];
    return pithp_spec_fill(call, refusal, result, x->dtype, rank, shape);
}

/* ---- Operands as matrices ---- */

/* Dimensions of an operand with one role, in order. */
typedef struct dimensions {
    int count;
    int8_t at[PITHP_MAX_RANK];
} dimensions;

/* Contracted dimensions. Their order is free: x's own order keeps those of x contiguous
 * if possible. */
static dimensions contracted_dimensions(const pithp_call *call, int operand) {
    const pithp_dot_params *p = call->params;
    dimensions d = {0};
    for (int axis = 0; axis < call->operands[0]->rank; axis++)
        for (int i = 0; i < p->contracts; i++)
            if (p->contract[0][i] == axis)
                d.at[d.count++] = p->contract[operand][i];
    return d;
}

static dimensions batch_dimensions(const pithp_dot_params *p, int operand) {
    dimensions d = {.count = p->batches};
    memcpy(d.at, p->batch[operand], sizeof d.at);
    return d;
}

static dimensions
free_dimensions(const pithp_dot_params *p, const pith_spec *x, int operand) {
    uint32_t named = 0;
    dimensions d = {0};
    for (int i = 0; i < p->batches; i++)
        named |= 1u << p->batch[operand][i];
    for (int i = 0; i < p->contracts; i++)
        named |= 1u << p->contract[operand][i];
    for (int axis = 0; axis < x->rank; axis++)
        if (!(named >> axis & 1))
            d.at[d.count++] = (int8_t)axis;
    return d;
}

/* Extent and stride of the dimensions merged into one; false if they have no common
 * stride. */
static bool merge_dimensions(const pith_spec *x,
                             const int64_t *stride,
                             const dimensions *d,
                             int64_t *extent,
                             int64_t *step) {
    bool first = true, one = true;
    *extent = 1;
    *step = 1;
    for (int i = d->count - 1; i >= 0; i--) {
        const int64_t here = x->shape[d->at[i]];
        if (here != 1) {
            if (first)
                *step = stride[d->at[i]];
            else
                one &= stride[d->at[i]] == *step * *extent;
            first = false;
        }
        *extent *= here;
    }
    return one;
}

/* Batch extents, and the operand's strides along them, from its strides by dimension. */
static void set_batch(const pithp_call *call,
                      const int64_t *stride,
                      pithp_product_view *v,
                      pithp_factor *f) {
    const pithp_dot_params *p = call->params;
    const pith_spec *mine = call->operands[f->operand],
                    *other = call->operands[!f->operand];
    v->rank = 0;
    for (int i = 0; i < p->batches; i++) {
        const int at = p->batch[f->operand][i];
        const int64_t extent = mine->shape[at],
                      against = other->shape[p->batch[!f->operand][i]];
        if (extent == 1 && against == 1)
            continue;
        v->batch[v->rank] = extent == 1 ? against : extent;
        f->batch[v->rank++] = extent == 1 ? 0 : stride[at];
    }
}

/* View the factor's operand as matrices. `moved` is set if it must be transposed first.
 */
static void view_factor(const pithp_call *call,
                        pithp_product_view *v,
                        pithp_factor *f,
                        int64_t *free) {
    const pith_spec *x = call->operands[f->operand];
    const dimensions stay = free_dimensions(call->params, x, f->operand),
                     sum = contracted_dimensions(call, f->operand);
    int64_t stride[PITHP_MAX_RANK];
    pithp_c_strides(x->rank, x->shape, 1, stride);
    const bool one = merge_dimensions(x, stride, &stay, free, &f->free);
    f->moved = !merge_dimensions(x, stride, &sum, &v->terms, &f->term) || !one;
    set_batch(call, stride, v, f);
}

/* Batch dimensions, then free and contracted ones in either order. */
static dimensions dimension_order(const pithp_call *call, const pithp_factor *f) {
    const dimensions roles[] = {
        batch_dimensions(call->params, f->operand),
        free_dimensions(call->params, call->operands[f->operand], f->operand),
        contracted_dimensions(call, f->operand)};
    const int order[] = {0, f->terms_last ? 1 : 2, f->terms_last ? 2 : 1};
    dimensions all = {0};
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < roles[order[k]].count; i++)
            all.at[all.count++] = roles[order[k]].at[i];
    return all;
}

static void transpose(const pithp_call *call,
                      pithp_product_view *v,
                      pithp_factor *f,
                      bool terms_last,
                      int64_t free) {
    const pith_spec *x = call->operands[f->operand];
    int64_t stride[PITHP_MAX_RANK], step = 1;
    f->moved = true;
    f->terms_last = terms_last;
    f->free = terms_last ? v->terms : 1;
    f->term = terms_last ? 1 : free;
    const dimensions order = dimension_order(call, f);
    for (int i = order.count - 1; i >= 0; i--) {
        stride[order.at[i]] = step;
        step *= x->shape[order.at[i]];
    }
    set_batch(call, stride, v, f);
}

/* Merge batch dimensions into rows: consecutive batches with contiguous rows and one
 * common b are one matrix. */
static void merge_batch(pithp_product_view *v) {
    while (v->rank > 0 && v->b.batch[v->rank - 1] == 0 && !v->dots &&
           (v->m == 1 || v->a.batch[v->rank - 1] == v->m * v->a.free)) {
        v->rank--;
        if (v->m == 1)
            v->a.free = v->a.batch[v->rank];
        v->m *= v->batch[v->rank];
    }
}

/* Whether neither rows nor columns of the matrices are contiguous. */
static bool is_scattered(const pithp_factor *f, int64_t extent, int64_t terms) {
    return extent > 1 && terms > 1 && f->free != 1 && f->term != 1;
}

static pithp_product_view view_of(const pithp_call *call, bool side_by_side) {
    pithp_product_view v = {.a = {.operand = 0}, .b = {.operand = 1}, .batches = 1};
    view_factor(call, &v, &v.a, &v.m);
    view_factor(call, &v, &v.b, &v.n);
    const bool few = v.terms <= PITHP_PRODUCT_SMALL;
    if ((v.n == 1 && v.m > 1 && !few) || (v.m == 1 && v.n > 1 && few && v.b.free != 1)) {
        /* c is a vector: as a row or as a column it has the same layout */
        const pithp_factor a = v.a;
        v.a = v.b;
        v.b = a;
        const int64_t m = v.m;
        v.m = v.n;
        v.n = m;
    }
    v.small = few && v.n <= PITHP_PRODUCT_SMALL;
    v.dots = !v.small && v.m == 1 && v.terms > 1 &&
             (v.n == 1 || (v.b.term == 1 && !v.b.moved));
    if (v.a.moved || (v.dots && v.a.term != 1) ||
        (side_by_side && is_scattered(&v.a, v.m, v.terms)))
        transpose(call, &v, &v.a, true, v.m);
    if (v.b.moved || (v.dots && v.b.term != 1) ||
        (side_by_side && is_scattered(&v.b, v.n, v.terms)))
        transpose(call, &v, &v.b, v.dots, v.n);
    merge_batch(&v);
    for (int d = 0; d < v.rank; d++)
        v.batches *= v.batch[d];
    return v;
}

pithp_product_view pithp_product_view_of(const pithp_call *call) {
    return view_of(call, false);
}

pithp_product_view pithp_product_view_side_by_side(const pithp_call *call) {
    return view_of(call, true);
}

pith_status pithp_product_launch_moving(const pithp_call *call,
                                        const pithp_factor *f,
                                        int64_t size,
                                        const void *from,
                                        void *to,
                                        const pithp_sink *sink) {
    const pith_spec *x = call->operands[f->operand];
    const dimensions order = dimension_order(call, f);
    int64_t stride[PITHP_MAX_RANK];
    pithp_move m = {.to = to, .from = from, .size = (int32_t)size, .rank = order.count};
    pithp_c_strides(x->rank, x->shape, size, stride);
    for (int i = 0; i < order.count; i++) {
        m.shape[i] = x->shape[order.at[i]];
        m.from_stride[i] = stride[order.at[i]];
    }
    pithp_c_strides(m.rank, m.shape, size, m.to_stride);
    return pithp_launch_move(sink, pithp_ops[call->primitive].name, &m);
}
