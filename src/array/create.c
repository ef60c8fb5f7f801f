/* Filled arrays. */
#include "array/array_internal.h"

#include <math.h>
#include <string.h>

static const pith_array *
full_of_bits(pith_scope *s, pith_dtype dtype, pith_shape shape, uint64_t bits) {
    const pith_spec *spec = pithp_spec(s, dtype, shape.rank, shape.extents);
    if (!spec) /* refused early, so that the parameters below are in range */
        return NULL;
    pithp_full_params params = {.dtype = dtype, .rank = shape.rank, .value = bits};
    memcpy(params.shape, shape.extents, sizeof shape.extents);
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
        pithp_operand_check(s, value, "pith_full_array", "value") != PITH_OK)
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
    memcpy(params.shape, shape.extents, sizeof shape.extents);
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
    memcpy(params.shape, shape.extents, sizeof shape.extents);
    return pithp_bind(s, PITHP_OP_IOTA, 0, NULL, &params);
}

const pith_array *pith_iota(pith_scope *s, pith_dtype dtype, pith_shape shape, int axis) {
    return pithp_enter(s) ? iota(s, dtype, shape, axis, "pith_iota") : NULL;
}

const pith_array *pith_arange(pith_scope *s, pith_dtype dtype, int64_t count) {
    return pithp_enter(s) ? iota(s, dtype, PITH_SHAPE(count), 0, "pith_arange") : NULL;
}

/* ---- Ranges and matrices by a rule ---- */

/* start + i * step in a dtype; exact for integers. */
static const pith_array *
ramp(pith_scope *s, pith_dtype dtype, int64_t count, double start, double step) {
    pith_scope *w = pithp_temporaries_open(s);
    if (!w)
        return NULL;
    const pith_dtype inner = pith_dtype_is_float(dtype) ? PITH_F64 : dtype;
    const pith_array *place = pith_arange(w, inner, count);
    const pith_array *width = pith_full(w, inner, PITH_SCALAR, step),
                     *first = pith_full(w, inner, PITH_SCALAR, start);
    const pith_array *steps = pith_mul(w, place, width);
    const pith_array *row = pith_add(w, steps, first);
    return pithp_temporaries_close(s, w, pith_cast(w, row, dtype));
}

const pith_array *
pith_range(pith_scope *s, pith_dtype dtype, double start, double stop, double step) {
    if (!pithp_enter(s))
        return NULL;
    uint64_t bits = 0;
    const double count = ceil((stop - start) / step);
    if (!(isfinite(start) && isfinite(step) && step != 0 && count < 0x1p62)) {
        pithp_fail(s, PITH_E_ARG, NULL, "pith_range: no range from %g to %g by %g", start,
                   stop, step);
        return NULL;
    }
    const bool number = pith_dtype_is_float(dtype) || pith_dtype_is_integer(dtype);
    if (!number ||
        (!pith_dtype_is_float(dtype) && !(pithp_dtype_encode(dtype, start, &bits) &&
                                          pithp_dtype_encode(dtype, step, &bits)))) {
        pithp_fail(s, PITH_E_DTYPE, NULL, "pith_range: %g and steps of %g are not in %s",
                   start, step, pith_dtype_name(dtype));
        return NULL;
    }
    return ramp(s, dtype, count > 0 ? (int64_t)count : 0, start, step);
}

/* From start to stop if stop - start overflows: a weighted sum of both ends. */
static const pith_array *
weighted(pith_scope *s, int64_t count, double start, double stop, double parts) {
    pith_scope *w = pithp_temporaries_open(s);
    if (!w)
        return NULL;
    const pith_array *place = pith_arange(w, PITH_F64, count);
    const pith_array *of_stop = pith_div(w, place, parts);
    const pith_array *of_start = pith_sub(w, 1, of_stop);
    const pith_array *low = pith_mul(w, of_start, start);
    const pith_array *high = pith_mul(w, of_stop, stop);
    return pithp_temporaries_close(s, w, pith_add(w, low, high));
}

const pith_array *pith_linspace(pith_scope *s,
                                pith_dtype dtype,
                                double start,
                                double stop,
                                int64_t count,
                                bool endpoint) {
    if (!pithp_enter(s) || !pithp_spec(s, dtype, 1, &count))
        return NULL;
    if (!pith_dtype_is_float(dtype) || !isfinite(start) || !isfinite(stop)) {
        pithp_fail(s, pith_dtype_is_float(dtype) ? PITH_E_ARG : PITH_E_DTYPE, NULL,
                   "pith_linspace: no %s from %g to %g", pith_dtype_name(dtype), start,
                   stop);
        return NULL;
    }
    const double parts = (double)(endpoint && count > 1 ? count - 1 : count ? count : 1);
    pith_scope *w = pithp_temporaries_open(s);
    if (!w)
        return NULL;
    const pith_array *row = isfinite(stop - start)
                                ? ramp(w, PITH_F64, count, start, (stop - start) / parts)
                                : weighted(w, count, start, stop, parts);
    if (endpoint && count > 1) { /* the last element is exactly stop */
        const pith_array *place = pith_arange(w, PITH_I64, count);
        const pith_array *last = pith_equal(w, place, count - 1);
        row = pith_where(w, last, stop, row);
    }
    return pithp_temporaries_close(s, w, pith_cast(w, row, dtype));
}

const pith_array *pith_eye(pith_scope *s,
                           pith_dtype dtype,
                           int64_t rows,
                           int64_t columns,
                           int64_t diagonal) {
    if (!pithp_enter(s) || !pithp_spec(s, dtype, 2, (int64_t[]){rows, columns}))
        return NULL;
    const int64_t offset = diagonal < -rows     ? -rows
                           : diagonal > columns ? columns
                                                : diagonal;
    pith_scope *w = pithp_temporaries_open(s);
    if (!w)
        return NULL;
    const pith_array *row = pith_iota(w, PITH_I64, PITH_SHAPE(rows, 1), 0);
    const pith_array *column = pith_arange(w, PITH_I64, columns);
    const pith_array *there = pith_add(w, row, offset);
    const pith_array *on = pith_equal(w, there, column);
    return pithp_temporaries_close(s, w, pith_cast(w, on, dtype));
}
