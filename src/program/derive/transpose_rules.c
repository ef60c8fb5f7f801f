/* Transposition of the structural rows: the cotangent of an operand from the cotangent of
 * the result. */
#include "program/derive/rules.h"

#include <string.h>

#define RULE(name)                                                                       \
    pithp_value pithp_transpose_##name(pithp_derivation *d, const pithp_moving_call *c,  \
                                       pithp_value ct, int k);                           \
    pithp_value pithp_transpose_##name(pithp_derivation *d, const pithp_moving_call *c,  \
                                       pithp_value ct, int k)

static const pith_spec *spec_of(const pithp_moving_call *c, int k) {
    return pithp_value_spec(c->from, pithp_operands(c->from, c->i)[k]);
}

static pithp_value reshape(pithp_derivation *d, pithp_value v, const pith_spec *spec) {
    pithp_reshape_params to = {.rank = spec->rank};
    memcpy(to.shape, spec->shape, sizeof to.shape);
    return pithp_derive_call(d, PITHP_OP_RESHAPE, 1, &v, &to);
}

/* ---- Views, casts and joins ---- */

RULE(cast) {
    const pithp_cast_params to = {spec_of(c, k)->dtype};
    return pithp_derive_call(d, PITHP_OP_CAST, 1, &ct, &to);
}

RULE(reshape) {
    return reshape(d, ct, spec_of(c, k));
}

RULE(broadcast) {
    const pithp_broadcast_params *p = c->i->params;
    const pith_spec *x = spec_of(c, k);
    pithp_reduce_params sum = {.axes = (1U << p->rank) - 1};
    for (int n = 0; n < x->rank; n++)
        if (x->shape[n] == p->shape[p->dimensions[n]])
            sum.axes &= ~(1U << p->dimensions[n]);
    const pithp_value v =
        sum.axes ? pithp_derive_call(d, PITHP_OP_SUM, 1, &ct, &sum) : ct;
    return v < 0 ? v : reshape(d, v, x);
}

RULE(transpose) {
    const pithp_transpose_params *p = c->i->params;
    pithp_transpose_params back = {{0}};
    for (int n = 0; n < spec_of(c, k)->rank; n++)
        back.permutation[p->permutation[n]] = n;
    return pithp_derive_call(d, PITHP_OP_TRANSPOSE, 1, &ct, &back);
}

RULE(reverse) {
    (void)k;
    return pithp_derive_call(d, PITHP_OP_REVERSE, 1, &ct, c->i->params);
}

/* Zeros between and around the elements; those of a negative step in reverse first. */
RULE(slice) {
    const pithp_slice_params *p = c->i->params;
    const pith_spec *x = spec_of(c, k), *y = pithp_value_spec(c->from, c->i->result);
    pithp_reverse_params reverse = {0};
    pithp_pad_params pad = {{0}, {0}, {0}};
    for (int n = 0; n < x->rank; n++) {
        const int64_t count = y->shape[n],
                      step = p->step[n] < 0 ? -p->step[n] : p->step[n];
        const int64_t last = p->start[n] + (count - 1) * p->step[n];
        const int64_t first = p->step[n] < 0 ? last : p->start[n];
        if (p->step[n] < 0)
            reverse.axes |= 1U << n;
        pad.low[n] = count ? first : x->shape[n];
        pad.interior[n] = count > 1 ? step - 1 : 0;
        pad.high[n] = count ? x->shape[n] - (first + (count - 1) * step + 1) : 0;
    }
    if (reverse.axes)
        ct = pithp_derive_call(d, PITHP_OP_REVERSE, 1, &ct, &reverse);
    const pithp_value operands[2] = {ct, pithp_derive_number(d, 0)};
    return pithp_derive_call(d, PITHP_OP_PAD, 2, operands, &pad);
}

static pithp_slice_params whole(const pith_spec *spec) {
    pithp_slice_params all = {{0}, {0}, {0}};
    for (int n = 0; n < spec->rank; n++) {
        all.limit[n] = spec->shape[n];
        all.step[n] = 1;
    }
    return all;
}

RULE(concatenate) {
    const int axis = ((const pithp_concatenate_params *)c->i->params)->axis;
    pithp_slice_params part = whole(pithp_derived_spec(d, ct));
    for (int n = 0; n < k; n++)
        part.start[axis] += spec_of(c, n)->shape[axis];
    part.limit[axis] = part.start[axis] + spec_of(c, k)->shape[axis];
    return pithp_derive_call(d, PITHP_OP_SLICE, 1, &ct, &part);
}

/* The elements that a pad kept: those that it removed have the cotangent 0. */
static pithp_value
unpad(pithp_derivation *d, const pithp_moving_call *c, pithp_value ct) {
    const pithp_pad_params *p = c->i->params;
    const pith_spec *x = spec_of(c, 0);
    pithp_pad_params more = {{0}, {0}, {0}};
    bool removes = false;
    for (int n = 0; n < x->rank; n++) {
        more.low[n] = p->low[n] < 0 ? -p->low[n] : 0;
        more.high[n] = p->high[n] < 0 ? -p->high[n] : 0;
        removes |= more.low[n] || more.high[n];
    }
    if (removes)
        ct = pithp_derive_call(d, PITHP_OP_PAD, 2,
                               (const pithp_value[]){ct, pithp_derive_number(d, 0)},
                               &more);
    if (ct < 0)
        return ct;
    pithp_slice_params part = whole(pithp_derived_spec(d, ct));
    for (int n = 0; n < x->rank; n++) {
        part.start[n] = p->low[n] < 0 ? 0 : p->low[n];
        part.step[n] = p->interior[n] + 1;
        part.limit[n] = x->shape[n] ? part.start[n] + (x->shape[n] - 1) * part.step[n] + 1
                                    : part.start[n];
    }
    return pithp_derive_call(d, PITHP_OP_SLICE, 1, &ct, &part);
}

/* The sum over the places of the padding, found by padding a mask. */
static pithp_value
of_padding(pithp_derivation *d, const pithp_moving_call *c, pithp_value ct) {
    const pith_spec *x = spec_of(c, 0);
    pithp_full_params none = {.dtype = PITH_BOOL, .rank = x->rank};
    memcpy(none.shape, x->shape, sizeof none.shape);
    pithp_full_params one = {.dtype = PITH_BOOL, .value = 1};
    const pithp_value inside = pithp_derive_call(d, PITHP_OP_FULL, 0, NULL, &none);
    const pithp_value truth = pithp_derive_call(d, PITHP_OP_FULL, 0, NULL, &one);
    const pithp_value mask = pithp_derive_call(
        d, PITHP_OP_PAD, 2, (const pithp_value[]){inside, truth}, c->i->params);
    const pithp_value outside =
        pithp_derive_3(d, PITHP_OP_WHERE, mask, ct, pithp_derive_number(d, 0));
    return pithp_derive_unbroadcast(d, outside, spec_of(c, 1));
}

RULE(pad) {
    return k == 0 ? unpad(d, c, ct) : of_padding(d, c, ct);
}

/* ---- Sums and products ---- */

RULE(cumsum) {
    pithp_scan_params back = *(const pithp_scan_params *)c->i->params;
    (void)k;
    back.reverse = !back.reverse;
    return pithp_derive_call(d, PITHP_OP_CUMSUM, 1, &ct, &back);
}

RULE(sum) {
    const pithp_reduce_params *p = c->i->params;
    const pith_spec *x = spec_of(c, k);
    pithp_broadcast_params to = {.rank = x->rank};
    memcpy(to.shape, x->shape, sizeof to.shape);
    for (int n = 0, next = 0; n < x->rank; n++)
        if (!(p->axes >> n & 1))
            to.dimensions[next++] = n;
    return pithp_derive_call(d, PITHP_OP_BROADCAST, 1, &ct, &to);
}

/* Dimensions of one operand of a product that are in no pair, in order. */
static int free_dimensions(const pithp_dot_params *p, int side, int rank, int8_t *list) {
    int count = 0;
    for (int n = 0; n < rank; n++) {
        bool paired = false;
        for (int i = 0; i < p->contracts; i++)
            paired |= p->contract[side][i] == n;
        for (int i = 0; i < p->batches; i++)
            paired |= p->batch[side][i] == n;
        if (!paired)
            list[count++] = (int8_t)n;
    }
    return count;
}

/* The cotangent contracts with the free dimensions of the other operand. The result has
 * the batch, the operand's free and the other's contracted dimensions. The operands are
 * in the order that gives the cotangent of a matrix without a transposition. */
RULE(product) {
    const pithp_dot_params *p = c->i->params;
    const pith_spec *mine = spec_of(c, k), *other = spec_of(c, 1 - k);
    int8_t my_free[PITHP_MAX_RANK], other_free[PITHP_MAX_RANK];
    const int my_count = free_dimensions(p, k, mine->rank, my_free);
    const int other_count = free_dimensions(p, 1 - k, other->rank, other_free);
    pithp_dot_params dot = {.contracts = other_count, .batches = p->batches};
    for (int n = 0; n < other_count; n++) {
        dot.contract[k][n] = (int8_t)(p->batches + n + (k ? 0 : my_count));
        dot.contract[1 - k][n] = other_free[n];
    }
    for (int n = 0; n < p->batches && n < PITHP_MAX_RANK; n++) { /* as compilers know */
        dot.batch[k][n] = (int8_t)n;
        dot.batch[1 - k][n] = p->batch[1 - k][n];
    }
    const pithp_value operands[2] = {k ? c->operands[0] : ct, k ? ct : c->operands[1]};
    const pithp_value v = pithp_derive_call(d, PITHP_OP_DOT_GENERAL, 2, operands, &dot);
    /* the other's remaining dimensions are its contracted ones in ascending order */
    pithp_transpose_params order = {{0}};
    int next = 0;
    for (int n = 0; n < p->batches; n++)
        order.permutation[p->batch[k][n]] = next++;
    for (int n = 0; n < my_count; n++)
        order.permutation[my_free[n]] = (k ? p->contracts : 0) + next++;
    next = p->batches + (k ? 0 : my_count);
    for (int n = 0; n < other->rank; n++)
        for (int i = 0; i < p->contracts; i++)
            if (p->contract[1 - k][i] == n)
                order.permutation[p->contract[k][i]] = next++;
    const pithp_value moved = pithp_derive_call(d, PITHP_OP_TRANSPOSE, 1, &v, &order);
    return pithp_derive_unbroadcast(d, moved, mine);
}

/* ---- Gathers, scatters and dynamic slices ---- */

pithp_index_params pithp_derived_index(const pithp_moving_call *c) {
    pithp_index_params p = *(const pithp_index_params *)c->i->params;
    p.fill = 0;
    if (p.mode == PITHP_INDEX_ERROR)
        p.mode = PITHP_INDEX_DROP;
    return p;
}

pithp_value pithp_derive_indexed(pithp_derivation *d,
                                 const pithp_moving_call *c,
                                 int arrays,
                                 pithp_primitive op,
                                 pithp_value first,
                                 pithp_value last) {
    const pithp_index_params p = pithp_derived_index(c);
    pithp_value operands[PITHP_MAX_RANK + 2] = {first};
    memcpy(operands + 1, c->operands + 1, (size_t)arrays * sizeof *operands);
    operands[arrays + 1] = last;
    return pithp_derive_call(d, op, arrays + 1 + (last != PITHP_ABSENT), operands, &p);
}

/* The sum of negative updates is 0 minus that of the updates, bit for bit: a sum that
 * begins with 0 is never -0. The smaller array changes its sign. */
RULE(take) {
    const pith_spec *spec = spec_of(c, k);
    const pithp_instruction *made = pithp_maker(d->to, ct);
    const bool negative = made && made->primitive == PITHP_OP_NEG &&
                          pithp_value_spec(d->to, ct)->count > spec->count;
    /* before calls are added, which move the program's lists */
    const pithp_value updates = negative ? pithp_operands(d->to, made)[0] : ct;
    const pithp_value zeros = pithp_derive_zeros(d, spec);
    const pithp_value sum = pithp_derive_indexed(d, c, c->i->operand_count - 1,
                                                 PITHP_OP_SCATTER_ADD, zeros, updates);
    return negative ? pithp_derive_2(d, PITHP_OP_SUB, pithp_derive_number(d, 0), sum)
                    : sum;
}

RULE(scatter_add) {
    return k == 0 ? ct
                  : pithp_derive_indexed(d, c, c->i->operand_count - 2, PITHP_OP_TAKE, ct,
                                         PITHP_ABSENT);
}

/* An array that boxes share has the sum of their cotangents. */
RULE(dynamic_slice) {
    const pith_spec *x = spec_of(c, k), *starts = spec_of(c, 1);
    const int leading = x->rank == starts->shape[starts->rank - 1] ? starts->rank - 1 : 0;
    const pithp_reduce_params sum = {.axes = (1U << leading) - 1};
    pith_spec all = *x;
    all.rank += leading;
    memcpy(all.shape, starts->shape, (size_t)leading * sizeof *all.shape);
    memcpy(all.shape + leading, x->shape, (size_t)x->rank * sizeof *all.shape);
    const pithp_value operands[3] = {pithp_derive_zeros(d, &all), ct, c->operands[1]};
    const pithp_value v =
        pithp_derive_call(d, PITHP_OP_DYNAMIC_UPDATE_SLICE, 3, operands, NULL);
    return leading ? pithp_derive_call(d, PITHP_OP_SUM, 1, &v, &sum) : v;
}

RULE(dynamic_update_slice) {
    const pith_spec *update = spec_of(c, 1);
    if (k == 0)
        return pithp_derive_call(
            d, PITHP_OP_DYNAMIC_UPDATE_SLICE, 3,
            (const pithp_value[]){ct, pithp_derive_zeros(d, update), c->operands[2]},
            NULL);
    pithp_dynamic_params box = {{0}};
    memcpy(box.shape, update->shape, sizeof box.shape);
    return pithp_derive_call(d, PITHP_OP_DYNAMIC_SLICE, 2,
                             (const pithp_value[]){ct, c->operands[2]}, &box);
}

/* Index arrays in i64, in which every position of an axis has a number. An unsigned index
 * beyond the extent stays beyond it. */
static pithp_value widen(pithp_derivation *d, pithp_value index, int64_t extent) {
    static const pithp_cast_params to = {PITH_I64};
    const pith_spec *spec = pithp_derived_spec(d, index);
    if (spec->dtype == PITH_U64) {
        pithp_full_params most = {.dtype = PITH_U64, .value = (uint64_t)extent};
        index = pithp_derive_2(d, PITHP_OP_MIN, index,
                               pithp_derive_call(d, PITHP_OP_FULL, 0, NULL, &most));
    }
    return spec->dtype == PITH_I64 ? index
                                   : pithp_derive_call(d, PITHP_OP_CAST, 1, &index, &to);
}

/* A scatter-add at the index along the axis and the own position along the others. */
RULE(take_along) {
    pithp_index_params p = pithp_derived_index(c);
    const int axis = p.axis;
    const pith_spec *x = spec_of(c, k), *y = pithp_value_spec(c->from, c->i->result);
    pithp_value operands[PITHP_MAX_RANK + 2] = {pithp_derive_zeros(d, x)};
    for (int n = 0; n < x->rank; n++) {
        pithp_iota_params iota = {.dtype = PITH_I64, .rank = y->rank, .axis = n};
        memcpy(iota.shape, y->shape, sizeof iota.shape);
        operands[1 + n] = n == axis ? widen(d, c->operands[1], x->shape[n])
                                    : pithp_derive_call(d, PITHP_OP_IOTA, 0, NULL, &iota);
    }
    operands[1 + x->rank] = ct;
    p.axis = 0;
    p.unique = p.sorted = false;
    p.axes = 0;
    return pithp_derive_call(d, PITHP_OP_SCATTER_ADD, x->rank + 2, operands, &p);
}

/* Which updates stay: the position that each target got last is compared with the own. */
static pithp_value is_last(pithp_derivation *d, const pithp_moving_call *c, int arrays) {
    pithp_index_params p = pithp_derived_index(c);
    const pith_spec *x = spec_of(c, 0), *index = spec_of(c, 1);
    const int64_t none = -1, lost = -2;
    pithp_full_params no_update = {
        .dtype = PITH_I64, .rank = arrays, .value = (uint64_t)none};
    memcpy(no_update.shape, x->shape + p.axis, (size_t)arrays * sizeof *no_update.shape);
    pithp_iota_params count = {.dtype = PITH_I64, .rank = 1, .shape = {index->count}};
    const pithp_value positions = pithp_derive_call(d, PITHP_OP_IOTA, 0, NULL, &count);
    const pithp_value own = positions < 0 ? positions : reshape(d, positions, index);
    pithp_value operands[PITHP_MAX_RANK + 2] = {
        pithp_derive_call(d, PITHP_OP_FULL, 0, NULL, &no_update)};
    memcpy(operands + 1, c->operands + 1, (size_t)arrays * sizeof *operands);
    operands[arrays + 1] = own;
    p.axis = 0;
    p.axes = 0;
    operands[0] = pithp_derive_call(d, PITHP_OP_SCATTER_SET, arrays + 2, operands, &p);
    p.fill = (uint64_t)lost;
    return pithp_derive_2(d, PITHP_OP_EQ,
                          pithp_derive_call(d, PITHP_OP_TAKE, arrays + 1, operands, &p),
                          own);
}

/* The last of the updates at an index has its cotangent, the others have 0. */
static pithp_value
of_updates(pithp_derivation *d, const pithp_moving_call *c, int arrays, pithp_value ct) {
    const pithp_index_params *p = c->i->params;
    const pithp_value taken =
        pithp_derive_indexed(d, c, arrays, PITHP_OP_TAKE, ct, PITHP_ABSENT);
    if (p->unique || taken < 0)
        return taken;
    const pith_spec *spec = pithp_derived_spec(d, taken), *index = spec_of(c, 1);
    pithp_broadcast_params to = {.rank = spec->rank};
    memcpy(to.shape, spec->shape, sizeof to.shape);
    for (int n = 0; n < index->rank; n++)
        to.dimensions[n] = p->axis + n;
    const pithp_value last = is_last(d, c, arrays);
    const pithp_value mask = pithp_derive_call(d, PITHP_OP_BROADCAST, 1, &last, &to);
    return pithp_derive_3(d, PITHP_OP_WHERE, mask, taken, pithp_derive_number(d, 0));
}

RULE(scatter_set) {
    const int arrays = c->i->operand_count - 2;
    if (k)
        return of_updates(d, c, arrays, ct);
    const pithp_value zeros = pithp_derive_zeros(d, spec_of(c, arrays + 1));
    return pithp_derive_indexed(d, c, arrays, PITHP_OP_SCATTER_SET, ct, zeros);
}
