/* Filled arrays. */
#include "array/array_internal.h"

#include <string.h>

static const pith_array *
full_of_bits(pith_scope *s, pith_dtype dtype, pith_shape shape, uint64_t bits) {
    const pith_spec *spec = pithp_spec(s, dtype, shape.rank, shape.extents);
    if (!spec) /* refused here, so that the parameters below are in range */
        return NULL;
    pithp_full_params params = {.dtype = dtype, .rank = shape.rank, .value = bits};
    memcpy(params.shape, shape.extents, sizeof params.shape);
    return pithp_bind(s, PITHP_OP_FULL, 0, NULL, &params);
}

const pith_array *
pith_full(pith_scope *s, pith_dtype dtype, pith_shape shape, double value) {
    if (!pithp_enter(s))
        return NULL;
    uint64_t bits = 0;
    if (!pithp_dtype_encode(dtype, value, &bits) && pith_dtype_size(dtype) != 0 &&
        !pith_dtype_is_float(dtype)) {
        pithp_fail(s, PITH_E_DTYPE, NULL, "pith_full: %.17g is not exact in %s", value,
                   pith_dtype_name(dtype));
        return NULL;
    }
    return full_of_bits(s, dtype, shape, bits);
}

const pith_array *pith_zeros(pith_scope *s, pith_dtype dtype, pith_shape shape) {
    return pithp_enter(s) ? full_of_bits(s, dtype, shape, 0) : NULL;
}

const pith_array *pith_ones(pith_scope *s, pith_dtype dtype, pith_shape shape) {
    if (!pithp_enter(s))
        return NULL;
    uint64_t bits = 0;
    pithp_dtype_encode(dtype, 1, &bits);
    return full_of_bits(s, dtype, shape, bits);
}

const pith_array *pith_full_array(pith_scope *s,
                                  pith_dtype dtype,
                                  pith_shape shape,
                                  const pith_array *value) {
    if (!pithp_enter(s) ||
        pithp_array_check(s, value, "pith_full_array", "value") != PITH_OK)
        return NULL;
    if (pithp_array_spec(value)->rank != 0) {
        char text[PITHP_SPEC_TEXT_BYTES];
        pithp_fail(s, PITH_E_SHAPE, NULL,
                   "pith_full_array: value: expected rank 0, got %s",
                   pithp_spec_print(pithp_array_spec(value), text));
        return NULL;
    }
    const pith_spec *spec = pithp_spec(s, dtype, shape.rank, shape.extents);
    const pith_array *element = spec ? pithp_cast(s, value, dtype) : NULL;
    if (!element)
        return NULL;
    pithp_broadcast_params params = {.rank = shape.rank};
    memcpy(params.shape, shape.extents, sizeof params.shape);
    return pithp_bind(s, PITHP_OP_BROADCAST, 1, &element, &params);
}

static const pith_array *
iota(pith_scope *s, pith_dtype dtype, pith_shape shape, int axis, const char *function) {
    if (!pithp_spec(s, dtype, shape.rank, shape.extents))
        return NULL;
    const int counted = pithp_axis(s, function, axis, shape.rank);
    if (counted < 0)
        return NULL;
    pithp_iota_params params = {.dtype = dtype, .rank = shape.rank, .axis = counted};
    memcpy(params.shape, shape.extents, sizeof params.shape);
    return pithp_bind(s, PITHP_OP_IOTA, 0, NULL, &params);
}

const pith_array *pith_iota(pith_scope *s, pith_dtype dtype, pith_shape shape, int axis) {
    return pithp_enter(s) ? iota(s, dtype, shape, axis, "pith_iota") : NULL;
}

const pith_array *pith_arange(pith_scope *s, pith_dtype dtype, int64_t count) {
    return pithp_enter(s) ? iota(s, dtype, PITH_SHAPE(count), 0, "pith_arange") : NULL;
}
