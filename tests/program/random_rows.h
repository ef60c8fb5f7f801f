/* Calls of random programs whose operands have to fit: updates and takes at places,
 * dynamic slices, products, searches and random numbers. */
#ifndef PITH_TESTS_RANDOM_ROWS_H
#define PITH_TESTS_RANDOM_ROWS_H

#include "random_call.h"

static inline bool recipe_has_room(const recipe *r) {
    return r->count + 4 <= RECIPE_MOST;
}

static inline pith_dtype recipe_index_dtype(recipe *r) {
    static const pith_dtype dtypes[] = {PITH_I32, PITH_I64, PITH_I8, PITH_U16};
    return dtypes[recipe_random(r, 4)];
}

/* Places along an axis, a few of them out of range; `unique`: none is and none repeats.
 */
static inline int
recipe_places(recipe *r, pith_dtype dtype, int64_t extent, int64_t count, bool unique) {
    const bool has_sign = dtype != PITH_U16;
    const int at = recipe_integers(r, dtype, 1, &count, has_sign ? -2 : 0, extent + 4);
    for (int64_t k = 0; unique && k < count; k++)
        memcpy((char *)r->list[at].data + (size_t)k * pith_dtype_size(dtype), &k,
               pith_dtype_size(dtype));
    return at;
}

/* What scatters store has the shape of x with `rows` in place of one or two axes. */
static inline bool recipe_update(recipe *r, int first) {
    const pith_spec *from = r->list[first].spec;
    if (from->rank == 0 || from->count == 0 || !recipe_has_room(r))
        return false;
    const int indices = 1 + (from->rank > 1 && recipe_random(r, 4) == 0);
    const int axis = recipe_random(r, 2)
                         ? 0
                         : (int)recipe_random(r, (uint64_t)(from->rank - indices + 1));
    const int64_t most = from->shape[axis], want = 1 + (int64_t)recipe_random(r, 4);
    const bool unique = indices == 1 && recipe_random(r, 4) == 0;
    const int64_t rows = unique && want > most ? most : want;
    int64_t shape[PITH_MAX_RANK];
    int rank = 0;
    for (int d = 0; d < axis; d++)
        shape[rank++] = from->shape[d];
    shape[rank++] = rows;
    for (int d = axis + indices; d < from->rank; d++)
        shape[rank++] = from->shape[d];
    ingredient with = recipe_blank((pithp_primitive)0, 0);
    with.kind = RECIPE_LITERAL;
    with.spec = pithp_spec(r->s, from->dtype, rank, shape);
    if (with.spec->bytes > PITHP_LITERAL_BYTES)
        return false;
    ingredient x =
        recipe_blank(op_nth(PITHP_TRAIT_SCATTER, recipe_random(r, 7)), 2 + indices);
    pithp_index_params *p = (void *)x.params;
    const pith_dtype dtype = recipe_index_dtype(r);
    x.operands[0] = first;
    for (int k = 0; k < indices; k++)
        x.operands[1 + k] =
            recipe_places(r, dtype, from->shape[axis + k], rows, unique && k == 0);
    x.operands[1 + indices] = recipe_add(r, &with);
    recipe_fill(r, with.spec, r->list[x.operands[1 + indices]].data);
    p->axis = axis;
    recipe_index_params(r, p, from->dtype);
    p->fill = 0;
    p->unique = unique;
    p->sorted = unique && recipe_random(r, 2);
    if (recipe_call(r, &x))
        return true;
    x.primitive = PITHP_OP_SCATTER_SET; /* the others do not take every dtype */
    return recipe_call(r, &x);
}

/* A box of x is read, or written with elements of x. */
static inline bool recipe_dynamic(recipe *r, int first) {
    const pith_spec *from = r->list[first].spec;
    const int64_t rank = from->rank;
    if (!recipe_has_room(r))
        return false;
    ingredient box = recipe_blank(PITHP_OP_DYNAMIC_SLICE, 2);
    pithp_dynamic_params *p = (void *)box.params;
    for (int d = 0; d < rank; d++)
        p->shape[d] = (int64_t)recipe_random(r, (uint64_t)from->shape[d] + 1);
    box.operands[0] = first;
    box.operands[1] = recipe_integers(r, PITH_I32, 1, &rank, -3, 12);
    if (!recipe_call(r, &box))
        return false;
    if (recipe_random(r, 2) == 0)
        return true;
    ingredient x = recipe_blank(PITHP_OP_DYNAMIC_UPDATE_SLICE, 3);
    x.operands[0] = first;
    x.operands[1] = r->count - 1;
    x.operands[2] = recipe_integers(r, PITH_I32, 1, &rank, -3, 12);
    return recipe_call(r, &x);
}

/* x times x over one axis, with another as a batch or not. */
static inline bool recipe_product(recipe *r, int first) {
    const pith_spec *from = r->list[first].spec;
    ingredient x = recipe_blank(PITHP_OP_DOT_GENERAL, 2);
    pithp_dot_params *p = (void *)x.params;
    if (from->rank == 0 || from->count > 4000 || r->count + 1 > RECIPE_MOST ||
        (r->device && pith_dtype_is_float(from->dtype)))
        return false;
    const int8_t over = (int8_t)recipe_random(r, (uint64_t)from->rank);
    p->contracts = 1;
    p->contract[0][0] = p->contract[1][0] = over;
    if (from->rank > 1 && recipe_random(r, 2)) {
        p->batches = 1;
        p->batch[0][0] = p->batch[1][0] = (int8_t)(over ? 0 : 1);
    }
    x.operands[0] = x.operands[1] = first;
    for (int k = 0; k < r->count; k++) /* rather with something else */
        if (k != first && r->list[k].spec == from)
            x.operands[1] = k;
    return recipe_call(r, &x);
}

/* A recurrence with factors of the same spec, perhaps the terms themselves. */
static inline bool recipe_recur(recipe *r, int first) {
    const pith_spec *from = r->list[first].spec;
    if (from->rank == 0 || !recipe_has_room(r))
        return false;
    ingredient x = recipe_blank(PITHP_OP_CUMLINEAR, 2);
    pithp_scan_params *p = (void *)x.params;
    p->axis = (int32_t)recipe_random(r, (uint64_t)from->rank);
    p->reverse = recipe_random(r, 2);
    p->strong = recipe_random(r, 2);
    x.operands[0] = x.operands[1] = first;
    for (int k = 0; k < first; k++)
        if (r->list[k].spec == from)
            x.operands[0] = k;
    return recipe_call(r, &x);
}

/* What is sorted is searched. */
static inline bool recipe_search(recipe *r, int first) {
    const pith_spec *from = r->list[first].spec;
    if (from->rank != 1 || !recipe_has_room(r))
        return false;
    ingredient sort = recipe_blank(PITHP_OP_SORT, 1);
    sort.operands[0] = first;
    if (!recipe_call(r, &sort))
        return false;
    ingredient x = recipe_blank(PITHP_OP_SEARCH_SORTED, 2);
    ((pithp_search_params *)(void *)x.params)->right = recipe_random(r, 2);
    x.operands[0] = r->count - 1;
    x.operands[1] = first;
    for (int k = 0; k < first; k++)
        if (r->list[k].spec->dtype == from->dtype)
            x.operands[1] = k;
    return recipe_call(r, &x);
}

/* Keys, one or a few, and what they draw or give further keys of. */
static inline bool recipe_draw(recipe *r) {
    static const int64_t shapes[][2] = {{2, 0}, {3, 2}, {1, 2}};
    const uint64_t kind = recipe_random(r, 3);
    if (!recipe_has_room(r))
        return false;
    const int key =
        recipe_integers(r, PITH_U32, kind ? 2 : 1, shapes[kind], 0, (int64_t)1 << 31);
    ingredient x = recipe_blank(op_nth(PITHP_TRAIT_RANDOM, recipe_random(r, 7)), 1);
    x.operands[0] = key;
    if (x.primitive == PITHP_OP_THREEFRY || x.primitive == PITHP_OP_FOLD_IN) {
        x.operand_count = 2;
        x.operands[1] =
            x.primitive == PITHP_OP_THREEFRY
                ? key
                : recipe_integers(r, PITH_U32, kind ? 1 : 0, shapes[kind], 0, 1000);
        return recipe_call(r, &x);
    }
    static const pith_dtype dtypes[] = {PITH_F64, PITH_F32, PITH_F16, PITH_BF16,
                                        PITH_I8,  PITH_U8,  PITH_I32, PITH_I64,
                                        PITH_U16, PITH_U32, PITH_U64, PITH_I16};
    pithp_random_params *p = (void *)x.params;
    p->dtype = dtypes[recipe_random(r, x.primitive == PITHP_OP_RANDOM_UNIFORM ||
                                               x.primitive == PITHP_OP_RANDOM_NORMAL
                                           ? 4
                                           : 12)];
    p->rank = (int32_t)recipe_random(r, 3);
    p->shape[0] = (int64_t)recipe_random(r, 7);
    p->shape[1] = 1 + (int64_t)recipe_random(r, 20);
    p->original = recipe_random(r, 3) == 0;
    p->low = -1, p->high = 2;
    p->least = 1, p->greatest = 6;
    return recipe_call(r, &x);
}

#endif
