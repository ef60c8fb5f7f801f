/* Taking and scattering along an axis by an array of indices. */
#include "array/array_internal.h"

#include <math.h>
#include <string.h>

/* What out-of-range indices give in mode fill where the caller names no value, as in JAX.
 */
static uint64_t default_fill(pith_dtype dtype) {
    uint64_t bits = 0;
    if (dtype == PITH_BOOL)
        return 1;
    if (pith_dtype_is_float(dtype))
        pithp_dtype_encode(dtype, (double)NAN, &bits);
    else /* saturates: the least signed, the greatest unsigned integer */
        pithp_dtype_encode(dtype, pithp_dtype_is_signed(dtype) ? -INFINITY : INFINITY,
                           &bits);
    return bits;
}

static bool mode_of(pith_scope *s,
                    const char *function,
                    pith_index_mode mode,
                    pithp_index_mode *internal) {
    switch (mode) {
        case PITH_INDEX_DEFAULT:
        case PITH_INDEX_DROP:
        case PITH_INDEX_FILL:
            *internal = PITHP_INDEX_DROP;
            return true;
        case PITH_INDEX_CLIP:
            *internal = PITHP_INDEX_CLIP;
            return true;
        case PITH_INDEX_WRAP:
            *internal = PITHP_INDEX_WRAP;
            return true;
        case PITH_INDEX_PROMISE:
            *internal = PITHP_INDEX_PROMISE;
            return true;
        case PITH_INDEX_ERROR:
            *internal = PITHP_INDEX_ERROR;
            return true;
    }
    pithp_fail(s, PITH_E_ARG, NULL, "%s: no index mode has the number %d", function,
               (int)mode);
    return false;
}

static bool index_fits(pith_scope *s, const char *function, const pith_array *index) {
    if (pithp_array_check(s, index, function, "index") != PITH_OK)
        return false;
    const pith_dtype dtype = pithp_array_spec(index)->dtype;
    if (pith_dtype_is_integer(dtype))
        return true;
    pithp_fail(s, PITH_E_DTYPE, NULL, "%s: index: expected an integer dtype, got %s",
               function, pith_dtype_name(dtype));
    return false;
}

const pith_array *pith_take(pith_scope *s,
                            const pith_array *a,
                            const pith_array *index,
                            const pith_take_options *options) {
    static const pith_take_options defaults;
    const pith_take_options *o = options ? options : &defaults;
    if (!pithp_enter(s) || pithp_array_check(s, a, "pith_take", "a") != PITH_OK ||
        !index_fits(s, "pith_take", index))
        return NULL;
    const pith_dtype dtype = pithp_array_spec(a)->dtype;
    pithp_index_params params = {
        .axis = pithp_axis(s, "pith_take", o->axis, pithp_array_spec(a)->rank),
        .fill = default_fill(dtype)};
    if (params.axis < 0 || !mode_of(s, "pith_take", o->mode, &params.mode))
        return NULL;
    if (o->fill) {
        params.fill = 0;
        pithp_dtype_encode(dtype, *o->fill, &params.fill);
    }
    const pith_array *operands[] = {a, index};
    return pithp_bind(s, PITHP_OP_TAKE, 2, operands, &params);
}

/* The value of a scatter as updates: into's dtype, and the shape of what is scattered. */
static const pith_array *updates_of(pith_scope *s,
                                    const char *function,
                                    const pith_array *into,
                                    const pith_array *index,
                                    const pith_array *value,
                                    int axis) {
    const pith_spec *to = pithp_array_spec(into), *at = pithp_array_spec(index),
                    *from = pithp_array_spec(value);
    const int rank = to->rank - 1 + at->rank;
    if (rank > PITH_MAX_RANK) {
        pithp_fail(s, PITH_E_SHAPE, NULL, "%s: the updates have more than 8 axes",
                   function);
        return NULL;
    }
    int64_t shape[PITH_MAX_RANK];
    memcpy(shape, to->shape, (size_t)axis * sizeof *shape);
    memcpy(shape + axis, at->shape, (size_t)at->rank * sizeof *shape);
    memcpy(shape + axis + at->rank, to->shape + axis + 1,
           (size_t)(to->rank - axis - 1) * sizeof *shape);
    const pith_spec *wanted = pithp_spec(s, to->dtype, rank, shape);
    if (!wanted)
        return NULL;
    bool fits = from->rank <= rank;
    pithp_broadcast_params params = {.rank = rank};
    memcpy(params.shape, shape, (size_t)rank * sizeof *shape);
    for (int d = 0; fits && d < from->rank; d++) {
        params.dimensions[d] = rank - from->rank + d;
        fits = from->shape[d] == 1 || from->shape[d] == shape[params.dimensions[d]];
    }
    if (!fits) {
        char texts[2][PITHP_SPEC_TEXT_BYTES];
        pithp_fail(s, PITH_E_SHAPE, NULL,
                   "%s: value: expected %s or what broadcasts to it, got %s", function,
                   pithp_spec_print(wanted, texts[0]), pithp_spec_print(from, texts[1]));
        return NULL;
    }
    const pith_array *cast = pithp_cast(s, value, to->dtype);
    if (!cast || pithp_array_spec(cast) == wanted)
        return cast;
    return pithp_bind(s, PITHP_OP_BROADCAST, 1, &cast, &params);
}

static const pith_array *scatter(pith_scope *s,
                                 pithp_primitive primitive,
                                 const char *function,
                                 const pith_array *into,
                                 const pith_array *index,
                                 const pith_array *value,
                                 const pith_scatter_options *options) {
    static const pith_scatter_options defaults;
    const pith_scatter_options *o = options ? options : &defaults;
    if (!pithp_enter(s) || pithp_array_check(s, into, function, "into") != PITH_OK ||
        !index_fits(s, function, index) ||
        pithp_array_check(s, value, function, "value") != PITH_OK)
        return NULL;
    pithp_index_params params = {
        .axis = pithp_axis(s, function, o->axis, pithp_array_spec(into)->rank)};
    if (params.axis < 0 || !mode_of(s, function, o->mode, &params.mode))
        return NULL;
    const pith_array *updates = updates_of(s, function, into, index, value, params.axis);
    const pith_array *operands[] = {into, index, updates};
    return updates ? pithp_bind(s, primitive, 3, operands, &params) : NULL;
}

#define SCATTER(name, PRIMITIVE)                                                         \
    const pith_array *pith_scatter_##name(                                               \
        pith_scope *s, const pith_array *into, const pith_array *index,                  \
        const pith_array *value, const pith_scatter_options *options) {                  \
        return scatter(s, PITHP_OP_SCATTER_##PRIMITIVE, "pith_scatter_" #name, into,     \
                       index, value, options);                                           \
    }

SCATTER(set, SET)
SCATTER(add, ADD)
SCATTER(mul, MUL)
SCATTER(min, MIN)
SCATTER(max, MAX)
