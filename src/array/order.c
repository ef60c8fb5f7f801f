/* Order operations along one axis: scans, differences, sorts, top-k, medians. */
#include "array/array_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The axis of a checked array; -1 with the error set. */
static int enter(pith_scope *s, const char *function, const pith_array *a, int axis) {
    if (!pithp_enter_as(s, function) ||
        pithp_operand_check(s, a, function, "a") != PITH_OK)
        return -1;
    return pithp_axis(s, function, axis, pithp_array_spec(a)->rank);
}

/* ---- Scans ---- */

static const pith_array *scan(pith_scope *s,
                              pithp_primitive primitive,
                              const char *function,
                              const pith_array *a,
                              int axis,
                              const pith_cumulative_options *options) {
    const pithp_scan_params params = {.axis = enter(s, function, a, axis),
                                      .reverse = options && options->reverse};
    const bool adds = primitive == PITHP_OP_CUMSUM || primitive == PITHP_OP_CUMPROD;
    if (params.axis < 0)
        return NULL;
    if (!adds || pithp_array_spec(a)->dtype != PITH_BOOL)
        return pithp_bind(s, primitive, 1, &a, &params);
    const pith_array *numbers = pithp_cast(s, a, PITH_I64);
    const pith_array *result =
        numbers ? pithp_bind(s, primitive, 1, &numbers, &params) : NULL;
    if (numbers)
        pithp_array_drop(s, numbers);
    return result;
}

#define SCAN(name, PRIMITIVE)                                                            \
    const pith_array *pith_##name(pith_scope *s, const pith_array *a, int axis,          \
                                  const pith_cumulative_options *options) {              \
        return scan(s, PITHP_OP_##PRIMITIVE, "pith_" #name, a, axis, options);           \
    }
SCAN(cumsum, CUMSUM)
SCAN(cumprod, CUMPROD)
SCAN(cummin, CUMMIN)
SCAN(cummax, CUMMAX)
SCAN(cumlogsumexp, CUMLOGSUMEXP)

/* The elements from..limit along one axis. */
static const pith_array *
along(pith_scope *s, const pith_array *a, int axis, int64_t from, int64_t limit) {
    pith_slice slices[PITHP_MAX_RANK];
    for (int d = 0; d < axis; d++)
        slices[d] = PITH_WHOLE;
    slices[axis] = PITH_SLICE(from, limit, 1);
    return pith_slice_array(s, a, axis + 1, slices);
}

const pith_array *pith_diff(pith_scope *s, const pith_array *a, int n, int axis) {
    const int counted = enter(s, "pith_diff", a, axis);
    if (counted < 0)
        return NULL;
    if (n < 0) {
        pithp_fail(s, PITH_E_ARG, NULL, "pith_diff: n is %d", n);
        return NULL;
    }
    pith_scope *work = pithp_temporaries_open(s);
    for (int k = 0; work && a && k < n && pithp_array_spec(a)->shape[counted] > 0; k++) {
        const pith_array *after = along(work, a, counted, 1, INT64_MAX),
                         *before = along(work, a, counted, 0, -1);
        a = pithp_array_spec(a)->dtype == PITH_BOOL ? pith_not_equal(work, after, before)
                                                    : pith_sub(work, after, before);
    }
    return work ? pithp_temporaries_close(s, work, a) : NULL;
}

/* ---- Sorts ---- */

static const pith_array *sort(pith_scope *s,
                              pithp_primitive primitive,
                              const char *function,
                              const pith_array *a,
                              int axis,
                              const pith_sort_options *options) {
    const pithp_sort_params params = {.axis = enter(s, function, a, axis),
                                      .descending = options && options->descending};
    return params.axis < 0 ? NULL : pithp_bind(s, primitive, 1, &a, &params);
}

const pith_array *pith_sort(pith_scope *s,
                            const pith_array *a,
                            int axis,
                            const pith_sort_options *options) {
    return sort(s, PITHP_OP_SORT, "pith_sort", a, axis, options);
}

const pith_array *pith_argsort(pith_scope *s,
                               const pith_array *a,
                               int axis,
                               const pith_sort_options *options) {
    return sort(s, PITHP_OP_ARGSORT, "pith_argsort", a, axis, options);
}

/* Check arrays of one shape and their axis; -1 with the error set. */
static int enter_all(pith_scope *s,
                     const char *function,
                     int64_t count,
                     const pith_array *const *arrays,
                     int axis) {
    if (!pithp_enter_as(s, function))
        return -1;
    if (count < 1 || !arrays) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: expected one array or more, got %s",
                   function, arrays ? "none" : "NULL");
        return -1;
    }
    for (int64_t i = 0; i < count; i++) {
        char name[32], texts[2][PITHP_SPEC_TEXT_BYTES];
        snprintf(name, sizeof name, "array %" PRId64, i);
        if (pithp_operand_check(s, arrays[i], function, name) != PITH_OK)
            return -1;
        const pith_spec *first = pithp_array_spec(arrays[0]),
                        *spec = pithp_array_spec(arrays[i]);
        if (spec->rank != first->rank ||
            memcmp(spec->shape, first->shape,
                   (size_t)first->rank * sizeof first->shape[0]) != 0) {
            pithp_fail(s, PITH_E_SHAPE, NULL, "%s: %s: expected the shape of %s, got %s",
                       function, name, pithp_spec_print(first, texts[0]),
                       pithp_spec_print(spec, texts[1]));
            return -1;
        }
    }
    return pithp_axis(s, function, axis, pithp_array_spec(arrays[0])->rank);
}

static const pith_array *
take_along(pith_scope *s, const pith_array *a, const pith_array *order, int axis) {
    const pith_array *operands[] = {a, order};
    const pithp_index_params params = {.axis = axis, .mode = PITHP_INDEX_PROMISE};
    return a && order ? pithp_bind(s, PITHP_OP_TAKE_ALONG, 2, operands, &params) : NULL;
}

/* Indices that sort by key `first`, then by each key after it by `step`; the last of them
 * is sorted first. */
static const pith_array *order_of(pith_scope *s,
                                  int64_t count,
                                  const pith_array *const *keys,
                                  int first,
                                  int step,
                                  int axis) {
    const pithp_sort_params params = {.axis = axis};
    const pith_array *order = pithp_bind(s, PITHP_OP_ARGSORT, 1, &keys[first], &params);
    for (int64_t k = 1; k < count && order; k++) {
        const pith_array *key = take_along(s, keys[first + k * step], order, axis);
        const pith_array *places =
            key ? pithp_bind(s, PITHP_OP_ARGSORT, 1, &key, &params) : NULL;
        order = take_along(s, order, places, axis);
    }
    return order;
}

const pith_array *
pith_lexsort(pith_scope *s, int64_t count, const pith_array *const *keys, int axis) {
    const int counted = enter_all(s, "pith_lexsort", count, keys, axis);
    pith_scope *work = counted < 0 ? NULL : pithp_temporaries_open(s);
    return work ? pithp_temporaries_close(s, work,
                                          order_of(work, count, keys, 0, 1, counted))
                : NULL;
}

bool pith_sort_by_keys(pith_scope *s,
                       int64_t count,
                       const pith_array *const *arrays,
                       int keys,
                       int axis,
                       const pith_array **sorted) {
    const int counted = enter_all(s, "pith_sort_by_keys", count, arrays, axis);
    if (counted < 0)
        return false;
    if (keys < 1 || keys > count || !sorted) {
        pithp_fail(s, PITH_E_ARG, NULL,
                   "pith_sort_by_keys: %d keys of %" PRId64 " arrays%s", keys, count,
                   sorted ? "" : " to NULL");
        return false;
    }
    pith_scope *work = pithp_temporaries_open(s);
    const pith_array *order =
        work ? order_of(work, keys, arrays, keys - 1, -1, counted) : NULL;
    bool done = order;
    int64_t made = 0;
    for (; done && made < count; made++) {
        sorted[made] = take_along(s, arrays[made], order, counted);
        done = sorted[made];
    }
    for (int64_t i = 0; !done && i < count; i++) {
        if (i < made && sorted[i])
            pithp_array_drop(s, sorted[i]);
        sorted[i] = NULL;
    }
    if (work)
        pith_scope_close(work);
    return done;
}

/* ---- Top-k ---- */

/* Block width for top-k of a line, so that the number of blocks is about that of elements
 * in k blocks. 0: not worth it. */
static int64_t block_of(int64_t extent, int64_t k) {
    int64_t width = 16;
    if (k < 1 || k > extent / 64 || extent < 16384)
        return 0;
    while (width < extent / width / k)
        width *= 2;
    return width;
}

/* Indices of the k greatest of a line. They lie in the k blocks with the greatest maxima,
 * or in the remainder after the last block: k elements precede any element of another
 * block. */
static const pith_array *
greatest_by_blocks(pith_scope *s, const pith_array *a, int64_t k, int64_t width) {
    const pith_sort_options descending = {.descending = true};
    const pith_take_options promised = {.mode = PITH_INDEX_PROMISE};
    const int64_t extent = pithp_array_spec(a)->shape[0], blocks = extent / width,
                  many = k * width;
    const pith_array *rows =
        pith_reshape(s, along(s, a, 0, 0, blocks * width), PITH_SHAPE(blocks, width));
    const pith_array *order =
        pith_argsort(s, pith_max(s, rows, PITH_AXES(1)), 0, &descending);
    /* in index order, so that ties keep their order */
    const pith_array *chosen = pith_sort(s, along(s, order, 0, 0, k), 0, NULL);
    const pith_array *first =
        pith_reshape(s, pith_mul(s, chosen, width), PITH_SHAPE(k, 1));
    const pith_array *elements[] = {
        pith_reshape(s, pith_take(s, rows, chosen, &promised), PITH_SHAPE(many)),
        along(s, a, 0, blocks * width, INT64_MAX)};
    const pith_array *places[] = {
        pith_reshape(s, pith_add(s, first, pith_arange(s, PITH_I64, width)),
                     PITH_SHAPE(many)),
        pith_add(s, pith_arange(s, PITH_I64, extent - blocks * width), blocks * width)};
    const pith_array *best =
        pith_argsort(s, pith_concatenate(s, 2, elements, 0), 0, &descending);
    return pith_take(s, pith_concatenate(s, 2, places, 0), along(s, best, 0, 0, k),
                     &promised);
}

/* Indices of the k greatest along the last axis. */
static const pith_array *
greatest(pith_scope *s, const pith_array *a, int axis, int64_t k) {
    const int64_t width = axis == 0 ? block_of(pithp_array_spec(a)->shape[0], k) : 0;
    if (width)
        return greatest_by_blocks(s, a, k, width);
    const pithp_sort_params params = {.axis = axis, .descending = true};
    const pith_array *order = pithp_bind(s, PITHP_OP_ARGSORT, 1, &a, &params);
    return order ? along(s, order, axis, 0, k) : NULL;
}

pith_top pith_top_k(pith_scope *s, const pith_array *a, int64_t k) {
    const pith_top none = {NULL, NULL};
    const int axis = enter(s, "pith_top_k", a, -1);
    if (axis < 0)
        return none;
    const int64_t extent = pithp_array_spec(a)->shape[axis];
    if (k < 0 || k > extent) {
        pithp_fail(s, PITH_E_SHAPE, NULL, "pith_top_k: %lld of an axis of extent %lld",
                   (long long)k, (long long)extent);
        return none;
    }
    pith_scope *work = pithp_temporaries_open(s);
    if (!work)
        return none;
    const pith_array *places = greatest(work, a, axis, k);
    const pith_array *narrow =
        places ? pithp_cast(work, places, extent <= INT32_MAX ? PITH_I32 : PITH_I64)
               : NULL;
    const pith_top top = {pithp_temporaries_keep(s, take_along(work, a, places, axis)),
                          pithp_temporaries_keep(s, narrow)};
    pith_scope_close(work);
    return s->error.code == PITH_OK ? top : none;
}

/* What decides has no derivative that could be missed. */
static const pith_array *decides(pith_scope *s, const pith_array *a) {
    return a ? pithp_mark(s, PITHP_OP_STOP_GRADIENT, NULL, a) : NULL;
}

/* The mean of two arrays, even if their sum overflows. */
static const pith_array *
middle(pith_scope *s, const pith_array *low, const pith_array *high) {
    const pith_array *half = pith_like(s, low, 0.5), *sum = pith_add(s, low, high);
    return pith_where(s, pith_is_finite(s, decides(s, sum)), pith_mul(s, sum, half),
                      pith_add(s, pith_mul(s, low, half), pith_mul(s, high, half)));
}

static const pith_array *median_of(pith_scope *s, const pith_array *a, int axis) {
    const int64_t n = pithp_array_spec(a)->shape[axis];
    const pith_array *sorted = pith_sort(s, a, axis, NULL),
                     *last = pith_slice_at(s, sorted, axis, n - 1),
                     *low = pith_slice_at(s, sorted, axis, (n - 1) / 2);
    if (n % 2 == 0)
        low = middle(s, low, pith_slice_at(s, sorted, axis, n / 2));
    return pith_where(s, pith_is_nan(s, decides(s, last)), last, low);
}

const pith_array *pith_median(pith_scope *s, const pith_array *a, int axis) {
    const int counted = enter(s, "pith_median", a, axis);
    if (counted < 0)
        return NULL;
    const pith_spec *spec = pithp_array_spec(a);
    if (!pith_dtype_is_float(spec->dtype)) {
        pithp_fail(s, PITH_E_DTYPE, NULL, "pith_median: expected a float dtype, got %s",
                   pith_dtype_name(spec->dtype));
        return NULL;
    }
    pith_scope *work = pithp_temporaries_open(s);
    if (!work)
        return NULL;
    if (spec->shape[counted] > 0)
        return pithp_temporaries_close(s, work, median_of(work, a, counted));
    pith_shape shape = {.rank = spec->rank - 1};
    for (int d = 0; d < shape.rank; d++)
        shape.extents[d] = spec->shape[d < counted ? d : d + 1];
    return pithp_temporaries_close(s, work,
                                   pith_full(work, spec->dtype, shape, (double)NAN));
}
