/* Calls of random programs that belong together, as people write them: stencils, rolls,
 * rows that are normalised, reductions of what was computed, takes at computed places,
 * and casts there and back. Lowering treats them in ways that calls chosen one by one
 * seldom meet. */
#ifndef PITH_TESTS_RANDOM_MOTIF_H
#define PITH_TESTS_RANDOM_MOTIF_H

#include "random_rows.h"

enum { RECIPE_MOTIF_ROOM = 12 }; /* values of a motif */

/* The value of a call that was made last. */
static inline int recipe_last(const recipe *r) {
    return r->count - 1;
}

/* An operation of two values; false: none that was tried takes them. */
static inline bool recipe_join(recipe *r, int a, int b) {
    static const pithp_primitive any[] = {PITHP_OP_ADD, PITHP_OP_SUB, PITHP_OP_MUL,
                                          PITHP_OP_MAX, PITHP_OP_MIN, PITHP_OP_DIV};
    for (int attempt = 0; attempt < 4; attempt++) {
        ingredient x =
            recipe_blank(attempt < 3 ? any[recipe_random(r, 6)] : PITHP_OP_MAX, 2);
        x.operands[0] = a;
        x.operands[1] = b;
        if (recipe_call(r, &x))
            return true;
    }
    return false;
}

/* An operation of one value, where one that is drawn takes it; the value, or that. */
static inline int recipe_turned(recipe *r, int a) {
    ingredient x = recipe_blank((pithp_primitive)0, 1);
    recipe_elementwise(r, &x);
    x.operands[0] = a;
    return x.operand_count == 1 && recipe_call(r, &x) ? recipe_last(r) : a;
}

static inline bool
recipe_slice(recipe *r, int a, int axis, int64_t start, int64_t limit) {
    const pith_spec *from = r->list[a].spec;
    ingredient x = recipe_blank(PITHP_OP_SLICE, 1);
    pithp_slice_params *p = (void *)x.params;
    for (int d = 0; d < from->rank; d++) {
        p->start[d] = d == axis ? start : 0;
        p->limit[d] = d == axis ? limit : from->shape[d];
        p->step[d] = 1;
    }
    x.operands[0] = a;
    return recipe_call(r, &x);
}

static inline bool recipe_reduce(recipe *r, pithp_primitive p, int a, uint32_t axes) {
    ingredient x = recipe_blank(p, 1);
    ((pithp_reduce_params *)(void *)x.params)->axes = axes;
    x.operands[0] = a;
    return recipe_call(r, &x);
}

static inline bool recipe_cast(recipe *r, int a, pith_dtype dtype) {
    ingredient x = recipe_blank(PITHP_OP_CAST, 1);
    ((pithp_cast_params *)(void *)x.params)->dtype = dtype;
    x.operands[0] = a;
    return recipe_call(r, &x);
}

/* Neighbours along an axis: x[1:] and x[:-1], or three of them, of what was computed. */
static inline bool recipe_stencil(recipe *r, int first, int axis) {
    const int64_t n = r->list[first].spec->shape[axis];
    const int places = 2 + (int)recipe_random(r, 2);
    if (n < places)
        return false;
    const int x = recipe_turned(r, first);
    int sum = -1;
    for (int k = 0; k < places; k++) {
        if (!recipe_slice(r, x, axis, k, n - places + 1 + k))
            return false;
        const int part = recipe_last(r);
        if (sum >= 0 && !recipe_join(r, sum, part))
            return false;
        sum = recipe_last(r);
    }
    return true;
}

/* What is at one end of an axis goes to the other, and is joined with what was there, or
 * reduced. */
static inline bool recipe_roll(recipe *r, int first, int axis) {
    const int64_t n = r->list[first].spec->shape[axis];
    if (n < 2)
        return false;
    const int x = recipe_turned(r, first);
    const int64_t at = 1 + (int64_t)recipe_random(r, (uint64_t)n - 1);
    ingredient y = recipe_blank(PITHP_OP_CONCATENATE, 2);
    ((pithp_concatenate_params *)(void *)y.params)->axis = axis;
    if (!recipe_slice(r, x, axis, at, n))
        return false;
    y.operands[0] = recipe_last(r);
    if (!recipe_slice(r, x, axis, 0, at))
        return false;
    y.operands[1] = recipe_last(r);
    if (!recipe_call(r, &y))
        return false;
    if (recipe_random(r, 3) == 0)
        return recipe_reduce(r, op_nth(OP_REDUCTIONS, recipe_random(r, 8)),
                             recipe_last(r), 1u << recipe_random(r, (uint64_t)axis + 1));
    return recipe_join(r, recipe_last(r), recipe_random(r, 2) ? x : first);
}

/* Reduced over an axis and spread again: rows or columns that are normalised. */
static inline bool recipe_normalise(recipe *r, int first, int axis) {
    static const pithp_primitive sums[] = {PITHP_OP_SUM, PITHP_OP_PROD, PITHP_OP_MIN_OF,
                                           PITHP_OP_MAX_OF};
    const pith_spec *from = r->list[first].spec;
    const int x = recipe_turned(r, first);
    if (!recipe_reduce(r, sums[recipe_random(r, PITHP_COUNT(sums))], x, 1u << axis))
        return false;
    const int sum = recipe_turned(r, recipe_last(r));
    ingredient y = recipe_blank(PITHP_OP_BROADCAST, 1);
    pithp_broadcast_params *p = (void *)y.params;
    p->rank = from->rank;
    for (int d = 0, at = 0; d < from->rank; d++) {
        p->shape[d] = from->shape[d];
        if (d != axis)
            p->dimensions[at++] = d;
    }
    y.operands[0] = sum;
    if (!recipe_call(r, &y) || !recipe_join(r, x, recipe_last(r)))
        return false;
    return recipe_random(r, 2) == 0 ||
           recipe_reduce(r, PITHP_OP_MAX, recipe_turned(r, recipe_last(r)),
                         1u << recipe_random(r, (uint64_t)from->rank));
}

/* A few calls, and all of it reduced: over one axis, or several. */
static inline bool recipe_total(recipe *r, int first) {
    int x = recipe_turned(r, first);
    if (!recipe_join(r, x, first))
        return false;
    x = recipe_turned(r, recipe_last(r));
    return recipe_reduce(
        r, op_nth(OP_REDUCTIONS, recipe_random(r, 8)), x,
        1 + (uint32_t)recipe_random(r, (1u << r->list[first].spec->rank) - 1));
}

/* Elements at places that are computed of a counter, and something done with them. */
static inline bool recipe_take_computed(recipe *r, int first, int axis) {
    const int64_t n = r->list[first].spec->shape[axis];
    const int64_t count = 1 + (int64_t)recipe_random(r, 2 * (uint64_t)n + 1);
    ingredient i = recipe_blank(PITHP_OP_IOTA, 0), y = recipe_blank(PITHP_OP_TAKE, 2);
    pithp_iota_params *p = (void *)i.params;
    p->dtype = recipe_random(r, 2) ? PITH_I32 : PITH_I64;
    p->rank = 1;
    p->shape[0] = count;
    if (!recipe_call(r, &i))
        return false;
    const int counter = recipe_last(r);
    if (!recipe_join(r, counter, counter))
        return false;
    pithp_index_params *q = (void *)y.params;
    q->axis = axis;
    y.operands[1] = recipe_last(r);
    y.operands[0] = recipe_turned(r, first); /* its dtype may be another */
    recipe_index_params(r, q, r->list[y.operands[0]].spec->dtype);
    if (!recipe_call(r, &y))
        return false;
    const int taken = recipe_last(r);
    return recipe_join(r, taken, recipe_turned(r, taken));
}

/* Cast to one dtype and another, with something done between. */
static inline bool recipe_recast(recipe *r, int first) {
    const pith_dtype home = r->list[first].spec->dtype;
    int x = first;
    for (int k = 1 + (int)recipe_random(r, 2); k > 0; k--) {
        if (!recipe_cast(r, x, (pith_dtype)(PITH_BOOL + (int)recipe_random(r, 13))))
            return false;
        x = recipe_random(r, 2) ? recipe_last(r) : recipe_turned(r, recipe_last(r));
    }
    return recipe_cast(r, x, home) && recipe_join(r, recipe_last(r), first);
}

static inline bool recipe_motif(recipe *r, int first) {
    const pith_spec *from = r->list[first].spec;
    if (r->count + RECIPE_MOTIF_ROOM > RECIPE_MOST)
        return false;
    const int kind = (int)recipe_random(r, 6);
    if (kind == 0 || from->rank == 0)
        return recipe_recast(r, first);
    const int axis = (int)recipe_random(r, (uint64_t)from->rank);
    switch (kind) {
        case 1:
            return recipe_stencil(r, first, axis);
        case 2:
            return recipe_roll(r, first, axis);
        case 3:
            return recipe_normalise(r, first, axis);
        case 4:
            return recipe_total(r, first);
        default:
            return recipe_take_computed(r, first, axis);
    }
}

#endif
