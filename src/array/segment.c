/* Segment reductions, counts and histograms: scatters of rows by segment id. */
#include "array/array_internal.h"

#include <math.h>
#include <string.h>

/* A filled array; the value saturates. */
static const pith_array *
filled(pith_scope *s, pith_dtype dtype, int rank, const int64_t *shape, double value) {
    if (!pithp_spec(s, dtype, rank, shape))
        return NULL;
    pithp_full_params params = {.dtype = dtype, .rank = rank};
    memcpy(params.shape, shape, (size_t)rank * sizeof *shape);
    pithp_dtype_encode(dtype, value, &params.value);
    return pithp_bind(s, PITHP_OP_FULL, 0, NULL, &params);
}

/* ---- Segments ---- */

/* The identity of a segment reduction. Infinities saturate in integers. As a bool,
 * -INFINITY would be true, but the least bool is false. */
static double identity_of(pithp_primitive primitive, pith_dtype dtype) {
    return primitive == PITHP_OP_SCATTER_MUL   ? 1
           : primitive == PITHP_OP_SCATTER_MIN ? (double)INFINITY
           : primitive != PITHP_OP_SCATTER_MAX ? 0
           : dtype == PITH_BOOL                ? 0
                                               : -(double)INFINITY;
}

static bool ids_fit(pith_scope *s,
                    const char *function,
                    const pith_spec *data,
                    const pith_spec *ids,
                    int64_t segments) {
    char texts[2][PITHP_SPEC_TEXT_BYTES];
    if (segments < 0) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: %lld segments", function,
                   (long long)segments);
        return false;
    }
    if (ids->rank == 1 && data->rank > 0 && ids->shape[0] == data->shape[0])
        return true;
    pithp_fail(s, PITH_E_SHAPE, NULL, "%s: ids: expected one for each row of %s, got %s",
               function, pithp_spec_print(data, texts[0]),
               pithp_spec_print(ids, texts[1]));
    return false;
}

static const pith_array *segment(pith_scope *s,
                                 pithp_primitive primitive,
                                 const char *function,
                                 const pith_array *data,
                                 const pith_array *ids,
                                 int64_t segments,
                                 const pith_segment_options *options) {
    if (!pithp_enter_as(s, function) ||
        pithp_operand_check(s, data, function, "data") != PITH_OK ||
        !pithp_index_check(s, function, "ids", ids) ||
        !ids_fit(s, function, pithp_array_spec(data), pithp_array_spec(ids), segments))
        return NULL;
    const pith_spec *spec = pithp_array_spec(data);
    pith_scope *work = pithp_temporaries_open(s);
    if (!work)
        return NULL;
    const bool counts = spec->dtype == PITH_BOOL && (primitive == PITHP_OP_SCATTER_ADD ||
                                                     primitive == PITHP_OP_SCATTER_MUL);
    int64_t shape[PITHP_MAX_RANK];
    memcpy(shape, spec->shape, sizeof shape);
    shape[0] = segments;
    const pith_array *rows = counts ? pithp_cast(work, data, PITH_I64) : data;
    const pith_dtype dtype = counts ? PITH_I64 : spec->dtype;
    const pith_array *into =
        rows ? filled(work, dtype, spec->rank, shape, identity_of(primitive, dtype))
             : NULL;
    const pithp_index_params params = {.no_negative = true,
                                       .sorted = options && options->sorted,
                                       .unordered = options && options->unordered};
    const pith_array *operands[] = {into, ids, rows};
    return pithp_temporaries_close(
        s, work,
        into ? pithp_bind_in_place(work, primitive, 3, operands, &params) : NULL);
}

#define SEGMENT(name, PRIMITIVE)                                                         \
    const pith_array *pith_segment_##name(pith_scope *s, const pith_array *data,         \
                                          const pith_array *ids, int64_t segments,       \
                                          const pith_segment_options *options) {         \
        return segment(s, PITHP_OP_SCATTER_##PRIMITIVE, "pith_segment_" #name, data,     \
                       ids, segments, options);                                          \
    }
SEGMENT(sum, ADD)
SEGMENT(prod, MUL)
SEGMENT(min, MIN)
SEGMENT(max, MAX)

/* ---- Counts ---- */

/* Add up weights, or ones, by index [n]; out-of-range indices are dropped. s is a work
 * scope. */
static const pith_array *count_by(pith_scope *s,
                                  const pith_array *ids,
                                  const pith_array *weights,
                                  int64_t length) {
    const pith_spec *at = pithp_array_spec(ids);
    const pith_array *rows =
        weights ? weights : filled(s, PITH_I64, at->rank, at->shape, 1);
    return rows ? pith_segment_sum(s, rows, ids, length, NULL) : NULL;
}

const pith_array *pith_bincount(pith_scope *s,
                                const pith_array *ids,
                                const pith_array *weights,
                                int64_t length) {
    if (!pithp_enter(s) || !pithp_index_check(s, "pith_bincount", "ids", ids) ||
        (weights &&
         pithp_operand_check(s, weights, "pith_bincount", "weights") != PITH_OK) ||
        !ids_fit(s, "pith_bincount", pithp_array_spec(weights ? weights : ids),
                 pithp_array_spec(ids), length))
        return NULL;
    pith_scope *work = pithp_temporaries_open(s);
    if (!work)
        return NULL;
    const pith_array *least = pith_like(work, ids, 0);
    const pith_array *from_zero = least ? pith_maximum(work, ids, least) : NULL;
    return pithp_temporaries_close(
        s, work, from_zero ? count_by(work, from_zero, weights, length) : NULL);
}

/* ---- Histograms ---- */

static bool
is_float(pith_scope *s, const char *function, const char *name, const pith_array *a) {
    if (pithp_operand_check(s, a, function, name) != PITH_OK)
        return false;
    const pith_dtype dtype = pithp_array_spec(a)->dtype;
    if (pith_dtype_is_float(dtype))
        return true;
    pithp_fail(s, PITH_E_DTYPE, NULL, "%s: %s: expected a float dtype, got %s", function,
               name, pith_dtype_name(dtype));
    return false;
}

/* least + i * (greatest - least) / bins, with exactly `greatest` at the end. */
static const pith_array *edges_between(pith_scope *s,
                                       const pith_array *least,
                                       const pith_array *greatest,
                                       int64_t bins) {
    const pith_array *equal = pith_equal(s, least, greatest),
                     *half = pith_like(s, least, 0.5);
    least = pith_where(s, equal, pith_sub(s, least, half), least);
    greatest = pith_where(s, equal, pith_add(s, greatest, half), greatest);
    const pith_array *count = pith_like(s, least, (double)bins),
                     *width = pith_div(s, pith_sub(s, greatest, least), count);
    if (pith_failed(s))
        return NULL;
    const pith_array *i = pith_arange(s, pithp_array_spec(least)->dtype, bins);
    const pith_array *parts[] = {pith_add(s, pith_mul(s, i, width), least),
                                 pith_expand_dims(s, greatest, PITH_AXES(0))};
    return pith_concatenate(s, 2, parts, 0);
}

const pith_array *pith_histogram_edges(pith_scope *s, const pith_array *a, int64_t bins) {
    if (!pithp_enter(s) || !is_float(s, "pith_histogram_edges", "a", a))
        return NULL;
    if (bins < 1) {
        pithp_fail(s, PITH_E_ARG, NULL, "pith_histogram_edges: %lld bins",
                   (long long)bins);
        return NULL;
    }
    const pith_spec *spec = pithp_array_spec(a);
    pith_scope *work = pithp_temporaries_open(s);
    if (!work)
        return NULL;
    const bool none = spec->count == 0;
    const pith_array *least = none ? pith_full(work, spec->dtype, PITH_SCALAR, 0)
                                   : pith_min(work, a, PITH_ALL_AXES),
                     *greatest = none ? pith_full(work, spec->dtype, PITH_SCALAR, 1)
                                      : pith_max(work, a, PITH_ALL_AXES);
    return pithp_temporaries_close(s, work, edges_between(work, least, greatest, bins));
}

/* The bin index of each element: -1 or `bins` and more if it is outside. */
static const pith_array *
bins_of(pith_scope *s, const pith_array *flat, const pith_array *edges, int64_t bins) {
    const pith_array *bin = pith_sub(s, pith_digitize(s, flat, edges, false), 1);
    const pith_array *greatest = pith_slice_at(s, edges, 0, -1);
    return pith_where(s, pith_equal(s, flat, greatest), bins - 1, bin);
}

const pith_array *pith_histogram(pith_scope *s,
                                 const pith_array *a,
                                 const pith_array *edges,
                                 const pith_array *weights) {
    static const char function[] = "pith_histogram";
    char texts[2][PITHP_SPEC_TEXT_BYTES];
    if (!pithp_enter(s) || pithp_operand_check(s, a, function, "a") != PITH_OK ||
        pithp_operand_check(s, edges, function, "edges") != PITH_OK ||
        (weights && pithp_operand_check(s, weights, function, "weights") != PITH_OK))
        return NULL;
    const pith_spec *x = pithp_array_spec(a), *e = pithp_array_spec(edges);
    if (e->rank != 1 || e->count < 2) {
        pithp_fail(s, PITH_E_SHAPE, NULL,
                   "%s: edges: expected rank 1 and 2 or more, got %s", function,
                   pithp_spec_print(e, texts[0]));
        return NULL;
    }
    const pith_spec *w = weights ? pithp_array_spec(weights) : x;
    if (w->rank != x->rank ||
        memcmp(w->shape, x->shape, (size_t)x->rank * sizeof *x->shape) != 0) {
        pithp_fail(s, PITH_E_SHAPE, NULL, "%s: weights: expected the shape of %s, got %s",
                   function, pithp_spec_print(x, texts[0]),
                   pithp_spec_print(w, texts[1]));
        return NULL;
    }
    pith_scope *work = pithp_temporaries_open(s);
    if (!work)
        return NULL;
    const pith_array *flat = pith_reshape(work, a, PITH_SHAPE(x->count));
    const pith_array *bin = flat ? bins_of(work, flat, edges, e->count - 1) : NULL;
    const pith_array *rows =
        weights ? pith_reshape(work, weights, PITH_SHAPE(x->count)) : NULL;
    return pithp_temporaries_close(
        s, work,
        bin && (rows || !weights) ? count_by(work, bin, rows, e->count - 1) : NULL);
}

/* ---- One-hot rows ---- */

const pith_array *
pith_one_hot(pith_scope *s, const pith_array *index, int64_t classes, pith_dtype dtype) {
    static const char function[] = "pith_one_hot";
    if (!pithp_enter(s) || !pithp_index_check(s, function, "index", index))
        return NULL;
    const pith_spec *spec = pithp_array_spec(index);
    int64_t shape[PITHP_MAX_RANK];
    if (classes < 0 || spec->rank == PITH_MAX_RANK) {
        pithp_fail(s, classes < 0 ? PITH_E_ARG : PITH_E_SHAPE, NULL,
                   "%s: %lld classes of an array of rank %d", function,
                   (long long)classes, spec->rank);
        return NULL;
    }
    memcpy(shape, spec->shape, sizeof shape);
    shape[spec->rank] = 1;
    const pith_spec *column = pithp_spec(s, spec->dtype, spec->rank + 1, shape);
    pith_scope *work = column ? pithp_temporaries_open(s) : NULL;
    if (!work)
        return NULL;
    /* in i64: in a narrow dtype, large class indices would wrap to valid ones */
    const pith_dtype wide = spec->dtype == PITH_U64 ? PITH_U64 : PITH_I64;
    const pith_array *numbers = pithp_cast(work, pithp_alias(work, index, column), wide);
    const pith_array *hot =
        numbers ? pith_equal(work, numbers, pith_arange(work, wide, classes)) : NULL;
    return pithp_temporaries_close(s, work, hot ? pith_cast(work, hot, dtype) : NULL);
}
