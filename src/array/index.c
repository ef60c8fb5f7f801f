/* Takes and scatters along an axis by an array of indices, and dynamic slices. */
#include "array/array_internal.h"

#include <math.h>
#include <string.h>

/* Default fill value of mode fill for out-of-range indices, as in JAX. */
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
    pithp_fail(s, PITH_E_ARG, NULL, "%s: invalid index mode %d", function, (int)mode);
    return false;
}

bool pithp_index_check(pith_scope *s,
                       const char *function,
                       const char *name,
                       const pith_array *index) {
    if (pithp_operand_check(s, index, function, name) != PITH_OK)
        return false;
    const pith_dtype dtype = pithp_array_spec(index)->dtype;
    if (pith_dtype_is_integer(dtype))
        return true;
    pithp_fail(s, PITH_E_DTYPE, NULL, "%s: %s: expected an integer dtype, got %s",
               function, name, pith_dtype_name(dtype));
    return false;
}

bool pithp_take_params(pith_scope *s,
                       const char *function,
                       pith_dtype dtype,
                       const pith_take_options *options,
                       pithp_index_params *params) {
    *params = (pithp_index_params){.fill = default_fill(dtype)};
    if (!options)
        return true;
    if (!mode_of(s, function, options->mode, &params->mode))
        return false;
    if (!options->fill)
        return true;
    params->fill = 0;
    if (pithp_dtype_encode(dtype, *options->fill, &params->fill) ||
        pith_dtype_is_float(dtype))
        return true;
    pithp_fail(s, PITH_E_DTYPE, NULL, "%s: fill: %.17g is not exact in %s", function,
               *options->fill, pith_dtype_name(dtype));
    return false;
}

bool pithp_scatter_params(pith_scope *s,
                          const char *function,
                          const pith_scatter_options *options,
                          pithp_index_params *params) {
    *params = (pithp_index_params){0};
    if (!options)
        return true;
    params->unique = options->unique;
    params->sorted = options->sorted;
    params->unordered = options->unordered;
    return mode_of(s, function, options->mode, &params->mode);
}

const pith_array *pithp_take(pith_scope *s,
                             const pith_array *a,
                             const pith_array *index,
                             const pith_take_options *options,
                             bool no_negative) {
    pithp_index_params params;
    if (pithp_operand_check(s, a, "pith_take", "a") != PITH_OK ||
        !pithp_index_check(s, "pith_take", "index", index) ||
        !pithp_take_params(s, "pith_take", pithp_array_spec(a)->dtype, options, &params))
        return NULL;
    params.axis = pithp_axis(s, "pith_take", options ? options->axis : 0,
                             pithp_array_spec(a)->rank);
    if (params.axis < 0)
        return NULL;
    params.no_negative = no_negative;
    const pith_array *operands[] = {a, index};
    return pithp_bind(s, PITHP_OP_TAKE, 2, operands, &params);
}

const pith_array *pith_take(pith_scope *s,
                            const pith_array *a,
                            const pith_array *index,
                            const pith_take_options *options) {
    const bool clips = options && options->mode == PITH_INDEX_CLIP;
    return pithp_enter(s) ? pithp_take(s, a, index, options, clips) : NULL;
}

/* ---- Scatters ---- */

pithp_primitive
pithp_scatter_row(pith_scope *s, const char *function, pith_scatter_operation operation) {
    switch (operation) {
        case PITH_SCATTER_SET:
            return PITHP_OP_SCATTER_SET;
        case PITH_SCATTER_ADD:
            return PITHP_OP_SCATTER_ADD;
        case PITH_SCATTER_MUL:
            return PITHP_OP_SCATTER_MUL;
        case PITH_SCATTER_MIN:
            return PITHP_OP_SCATTER_MIN;
        case PITH_SCATTER_MAX:
            return PITHP_OP_SCATTER_MAX;
        case PITH_SCATTER_AND:
            return PITHP_OP_SCATTER_AND;
        case PITH_SCATTER_OR:
            return PITHP_OP_SCATTER_OR;
    }
    pithp_fail(s, PITH_E_ARG, NULL, "%s: invalid operation %d", function, (int)operation);
    return PITHP_PRIMITIVE_COUNT;
}

const pith_array *pithp_updates(pith_scope *s,
                                const char *function,
                                const pith_array *value,
                                pith_dtype dtype,
                                int rank,
                                const int64_t *shape) {
    bool fits;
    const pith_array *cast = pithp_cast(s, value, dtype);
    const pith_array *updates =
        cast ? pithp_broadcast(s, cast, rank, shape, &fits) : NULL;
    if (cast && !fits) {
        char texts[2][PITHP_SPEC_TEXT_BYTES];
        pithp_fail(s, PITH_E_SHAPE, NULL,
                   "%s: value: expected %s%s or a shape that broadcasts to it, got %s",
                   function, pith_dtype_name(dtype),
                   pithp_shape_print(rank, shape, texts[0]),
                   pithp_spec_print(pithp_array_spec(value), texts[1]));
    }
    return updates;
}

/* The value of a scatter along an axis as updates. */
static const pith_array *updates_of(pith_scope *s,
                                    const char *function,
                                    const pith_array *into,
                                    const pith_array *index,
                                    const pith_array *value,
                                    int axis) {
    const pith_spec *to = pithp_array_spec(into), *at = pithp_array_spec(index);
    const int rank = to->rank - 1 + at->rank;
    if (rank > PITH_MAX_RANK) {
        pithp_fail(s, PITH_E_SHAPE, NULL, "%s: the updates have more than 8 axes",
                   function);
        return NULL;
    }
    int64_t shape[PITHP_MAX_RANK];
    memcpy(shape, to->shape, (size_t)axis * sizeof *shape);
    memcpy(shape + axis, at->shape, (size_t)at->rank * sizeof *shape);
    memcpy(shape + axis + at->rank, to->shape + axis + 1,
           (size_t)(to->rank - axis - 1) * sizeof *shape);
    return pithp_updates(s, function, value, to->dtype, rank, shape);
}

static const pith_array *scatter(pith_scope *s,
                                 pithp_primitive primitive,
                                 const char *function,
                                 const pith_array *into,
                                 const pith_array *index,
                                 const pith_array *value,
                                 const pith_scatter_options *options) {
    pithp_index_params params;
    if (!pithp_enter_as(s, function) ||
        pithp_operand_check(s, into, function, "into") != PITH_OK ||
        !pithp_index_check(s, function, "index", index) ||
        pithp_operand_check(s, value, function, "value") != PITH_OK ||
        !pithp_scatter_params(s, function, options, &params))
        return NULL;
    params.axis = pithp_axis(s, function, options ? options->axis : 0,
                             pithp_array_spec(into)->rank);
    if (params.axis < 0)
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
SCATTER(and, AND)
SCATTER(or, OR)

/* ---- Dynamic slices ---- */

/* One start for each axis: the row takes starts of several boxes too. */
static bool starts_fit(pith_scope *s,
                       const char *function,
                       const pith_array *a,
                       const pith_array *starts) {
    const pith_spec *x = pithp_array_spec(a);
    char first[PITHP_SPEC_TEXT_BYTES], second[PITHP_SPEC_TEXT_BYTES];
    if (!pithp_index_check(s, function, "starts", starts))
        return false;
    const pith_spec *spec = pithp_array_spec(starts);
    if (spec->rank == 1 && spec->shape[0] == x->rank)
        return true;
    pithp_fail_function(s, PITH_E_SHAPE, function,
                        "expected a start for each axis of %s, got %s",
                        pithp_spec_print(x, first), pithp_spec_print(spec, second));
    return false;
}

const pith_array *pith_dynamic_slice(pith_scope *s,
                                     const pith_array *a,
                                     const pith_array *starts,
                                     pith_shape sizes) {
    if (!pithp_enter(s) ||
        pithp_operand_check(s, a, "pith_dynamic_slice", "a") != PITH_OK ||
        !starts_fit(s, "pith_dynamic_slice", a, starts))
        return NULL;
    const int rank = pithp_array_spec(a)->rank;
    if (sizes.rank != rank) {
        pithp_fail(s, PITH_E_SHAPE, NULL,
                   "pith_dynamic_slice: sizes: expected %d extents, got %d", rank,
                   sizes.rank);
        return NULL;
    }
    pithp_dynamic_params params;
    memcpy(params.shape, sizes.extents, sizeof sizes.extents);
    const pith_array *operands[] = {a, starts};
    return pithp_bind(s, PITHP_OP_DYNAMIC_SLICE, 2, operands, &params);
}

const pith_array *pith_dynamic_update_slice(pith_scope *s,
                                            const pith_array *a,
                                            const pith_array *update,
                                            const pith_array *starts) {
    static const char function[] = "pith_dynamic_update_slice";
    if (!pithp_enter(s) || pithp_operand_check(s, a, function, "a") != PITH_OK ||
        pithp_operand_check(s, update, function, "update") != PITH_OK ||
        !starts_fit(s, function, a, starts))
        return NULL;
    const pith_dtype dtype = pithp_array_spec(a)->dtype;
    if (pithp_array_spec(update)->dtype != dtype) {
        pithp_fail(s, PITH_E_DTYPE, NULL, "%s: update: expected %s, got %s", function,
                   pith_dtype_name(dtype),
                   pith_dtype_name(pithp_array_spec(update)->dtype));
        return NULL;
    }
    const pith_array *operands[] = {a, update, starts};
    return pithp_bind(s, PITHP_OP_DYNAMIC_UPDATE_SLICE, 3, operands, NULL);
}
