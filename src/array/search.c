/* Search in sorted arrays, and sets of a given size: unique elements, nonzero indices,
 * membership. */
#include "array/array_internal.h"

#include <string.h>

/* ---- Searches ---- */

static bool
is_vector(pith_scope *s, const char *function, const char *name, const pith_array *a) {
    if (pithp_operand_check(s, a, function, name) != PITH_OK)
        return false;
    if (pithp_array_spec(a)->rank == 1)
        return true;
    char text[PITHP_SPEC_TEXT_BYTES];
    pithp_fail(s, PITH_E_SHAPE, NULL, "%s: %s: expected rank 1, got %s", function, name,
               pithp_spec_print(pithp_array_spec(a), text));
    return false;
}

/* The dtype of the comparison; PITH_DTYPE_NONE with the error set. */
static pith_dtype
common(pith_scope *s, const char *function, const pith_array *a, const pith_array *b) {
    const pith_dtype p = pithp_array_spec(a)->dtype, q = pithp_array_spec(b)->dtype;
    const pith_dtype dtype = pithp_promote(p, q);
    if (dtype == PITH_DTYPE_NONE)
        pithp_fail(s, PITH_E_DTYPE, NULL, "%s: %s and %s have no common dtype",
                   s->caller ? s->caller : function, pith_dtype_name(p),
                   pith_dtype_name(q));
    return dtype;
}

/* The number of sorted elements before each value, i64; s is a work scope. */
static const pith_array *search(pith_scope *s,
                                const pith_array *sorted,
                                const pith_array *values,
                                pith_dtype dtype,
                                bool right) {
    const pith_array *operands[] = {pithp_cast(s, sorted, dtype),
                                    pithp_cast(s, values, dtype)};
    return operands[0] && operands[1] ? pithp_bind(s, PITHP_OP_SEARCH_SORTED, 2, operands,
                                                   &(pithp_search_params){.right = right})
                                      : NULL;
}

const pith_array *pith_search_sorted(pith_scope *s,
                                     const pith_array *sorted,
                                     const pith_array *values,
                                     const pith_search_options *options) {
    static const char function[] = "pith_search_sorted";
    if (!pithp_enter(s) || !is_vector(s, function, "sorted", sorted) ||
        pithp_operand_check(s, values, function, "values") != PITH_OK)
        return NULL;
    const pith_dtype dtype = common(s, function, sorted, values);
    pith_scope *work = dtype == PITH_DTYPE_NONE ? NULL : pithp_temporaries_open(s);
    if (!work)
        return NULL;
    const pith_array *places =
        search(work, sorted, values, dtype, options && options->right);
    const bool narrow = pithp_array_spec(sorted)->count <= INT32_MAX;
    return pithp_temporaries_close(
        s, work, places ? pithp_cast(work, places, narrow ? PITH_I32 : PITH_I64) : NULL);
}

const pith_array *pith_digitize(pith_scope *s,
                                const pith_array *values,
                                const pith_array *edges,
                                bool right) {
    static const char function[] = "pith_digitize";
    if (!pithp_enter(s) || !is_vector(s, function, "edges", edges) ||
        pithp_operand_check(s, values, function, "values") != PITH_OK)
        return NULL;
    const pith_dtype dtype = common(s, function, edges, values);
    pith_scope *work = dtype == PITH_DTYPE_NONE ? NULL : pithp_temporaries_open(s);
    return work ? pithp_temporaries_close(s, work,
                                          search(work, edges, values, dtype, !right))
                : NULL;
}

const pith_array *pith_partition_point(pith_scope *s, const pith_array *mask) {
    static const char function[] = "pith_partition_point";
    if (!pithp_enter(s) || !is_vector(s, function, "mask", mask))
        return NULL;
    if (pithp_array_spec(mask)->dtype != PITH_BOOL) {
        pithp_fail(s, PITH_E_DTYPE, NULL, "%s: mask: expected bool, got %s", function,
                   pith_dtype_name(pithp_array_spec(mask)->dtype));
        return NULL;
    }
    pith_scope *work = pithp_temporaries_open(s);
    return work ? pithp_temporaries_close(
                      s, work,
                      pith_sum(work, pith_cummin(work, mask, 0, NULL), PITH_ALL_AXES))
                : NULL;
}

/* ---- Compaction ---- */

/* [size] equal elements: the first element of `from`, or else an i64. */
static const pith_array *
numbers(pith_scope *s, int64_t size, const pith_array *from, int64_t otherwise) {
    const bool has = from && pithp_array_spec(from)->count > 0;
    const pith_array *value = has ? pith_slice_at(s, from, 0, 0) : pith_i64(s, otherwise);
    return value ? pith_broadcast_to(s, value, PITH_SHAPE(size)) : NULL;
}

/* A copy of `into` with elements of `from` [n] at distinct indices `at` [n]; negative
 * ones are dropped. */
static const pith_array *
put(pith_scope *s, const pith_array *into, const pith_array *at, const pith_array *from) {
    const pith_array *operands[] = {into, at, from};
    const pithp_index_params params = {.no_negative = true, .unique = true};
    return into && at && from ? pithp_bind(s, PITHP_OP_SCATTER_SET, 3, operands, &params)
                              : NULL;
}

/* Indices 0, 1, ... of the marked elements, in order; -1 elsewhere. */
static const pith_array *
number_marked(pith_scope *s, const pith_array *marks, const pith_array **last) {
    *last = pith_sub(s, pith_cumsum(s, marks, 0, NULL), 1);
    return pith_where(s, marks, *last, -1);
}

static bool size_fits(pith_scope *s, const char *function, int64_t size) {
    if (size >= 0)
        return true;
    pithp_fail(s, PITH_E_ARG, NULL, "%s: size %lld", function, (long long)size);
    return false;
}

/* ---- unique ---- */

/* Whether each sorted element differs from the previous one; true for the first. */
static const pith_array *firsts(pith_scope *s, const pith_array *sorted) {
    const pith_array *after =
                         pith_slice_array(s, sorted, 1, &PITH_SLICE(1, INT64_MAX, 1)),
                     *before = pith_slice_array(s, sorted, 1, &PITH_SLICE(0, -1, 1));
    const pith_array *differs = pith_not_equal(s, after, before);
    if (pith_failed(s))
        return NULL;
    if (pith_dtype_is_float(pithp_array_spec(sorted)->dtype)) /* NaN equals NaN */
        differs = pith_logical_and(s, differs, pith_equal(s, before, before));
    const pith_array *parts[] = {
        pith_ones(s, PITH_BOOL, PITH_SHAPE(pithp_array_spec(sorted)->count > 0 ? 1 : 0)),
        differs};
    return pith_concatenate(s, 2, parts, 0);
}

static pith_unique_result
unique(pith_scope *s, const pith_array *a, int64_t size, const pith_array *fill) {
    const pith_spec *spec = pithp_array_spec(a);
    const pith_array *flat = pith_reshape(s, a, PITH_SHAPE(spec->count)),
                     *order = pith_argsort(s, flat, 0, NULL),
                     *sorted =
                         pith_take(s, flat, order,
                                   &(pith_take_options){.mode = PITH_INDEX_PROMISE}),
                     *number = NULL;
    const pith_array *marked =
        pith_failed(s) ? NULL : number_marked(s, firsts(s, sorted), &number);
    if (pith_failed(s))
        return (pith_unique_result){NULL, NULL, NULL, NULL};
    if (!fill && spec->count > 0)
        fill = pith_slice_at(s, sorted, 0, 0);
    const pith_array *into = fill ? pith_broadcast_to(s, fill, PITH_SHAPE(size))
                                  : pith_zeros(s, spec->dtype, PITH_SHAPE(size));
    const pith_array *inverse =
        put(s, pith_zeros(s, PITH_I64, PITH_SHAPE(spec->count)), order, number);
    return (pith_unique_result){
        .values = put(s, into, marked, sorted),
        .index = put(s, numbers(s, size, order, 0), marked, order),
        .inverse = inverse ? pithp_alias(s, inverse,
                                         pithp_spec(s, PITH_I64, spec->rank, spec->shape))
                           : NULL,
        .counts =
            pith_segment_sum(s, pith_ones(s, PITH_I64, PITH_SHAPE(spec->count)), number,
                             size, &(pith_segment_options){.sorted = true})};
}

pith_unique_result pith_unique(pith_scope *s,
                               const pith_array *a,
                               int64_t size,
                               const pith_unique_options *options) {
    static const char function[] = "pith_unique";
    const pith_unique_result none = {NULL, NULL, NULL, NULL};
    if (!pithp_enter(s) || pithp_operand_check(s, a, function, "a") != PITH_OK ||
        !size_fits(s, function, size))
        return none;
    const pith_dtype dtype = pithp_array_spec(a)->dtype;
    uint64_t bits = 0;
    const double *fill = options ? options->fill : NULL;
    if (fill && !pithp_dtype_encode(dtype, *fill, &bits) && !pith_dtype_is_float(dtype)) {
        pithp_fail(s, PITH_E_DTYPE, NULL, "%s: fill: %.17g is not exact in %s", function,
                   *fill, pith_dtype_name(dtype));
        return none;
    }
    pith_scope *work = pithp_temporaries_open(s);
    if (!work)
        return none;
    const pith_array *element =
        fill ? pithp_bind(work, PITHP_OP_FULL, 0, NULL,
                          &(pithp_full_params){.dtype = dtype, .value = bits})
             : NULL;
    const pith_unique_result found = unique(work, a, size, element),
                             kept = {pithp_temporaries_keep(s, found.values),
                                     pithp_temporaries_keep(s, found.index),
                                     pithp_temporaries_keep(s, found.inverse),
                                     pithp_temporaries_keep(s, found.counts)};
    pith_scope_close(work);
    return s->error.code == PITH_OK ? kept : none;
}

/* ---- nonzero ---- */

pith_indices pith_nonzero(pith_scope *s,
                          const pith_array *a,
                          int64_t size,
                          const pith_nonzero_options *options) {
    static const char function[] = "pith_nonzero";
    pith_indices indices = {0, {NULL}};
    if (!pithp_enter(s) || pithp_operand_check(s, a, function, "a") != PITH_OK ||
        !size_fits(s, function, size))
        return indices;
    const pith_spec *spec = pithp_array_spec(a);
    if (spec->rank == 0) {
        pithp_fail(s, PITH_E_SHAPE, NULL, "%s: a: expected rank 1 or more, got rank 0",
                   function);
        return indices;
    }
    pith_scope *work = pithp_temporaries_open(s);
    if (!work)
        return indices;
    const pith_shape all = PITH_SHAPE(spec->count);
    const pith_array *flat = pith_reshape(work, a, all), *number;
    const pith_array *marked =
        number_marked(work, pith_cast(work, flat, PITH_BOOL), &number);
    pith_shape shape = {.rank = spec->rank};
    memcpy(shape.extents, spec->shape, sizeof shape.extents);
    for (int d = 0; d < spec->rank; d++) {
        const pith_array *along =
            pith_reshape(work, pith_iota(work, PITH_I64, shape, d), all);
        indices.axes[d] = pithp_temporaries_keep(
            s, put(work, numbers(work, size, NULL, options ? options->fill : 0), marked,
                   along));
    }
    pith_scope_close(work);
    indices.count = spec->rank;
    return s->error.code == PITH_OK ? indices : (pith_indices){0, {NULL}};
}

/* ---- isin ---- */

/* By binary search in the sorted set. */
static const pith_array *
isin_sorted(pith_scope *s, const pith_array *a, const pith_array *set, pith_dtype dtype) {
    const pith_array *items = pith_reshape(s, pith_cast(s, set, dtype),
                                           PITH_SHAPE(pithp_array_spec(set)->count));
    const pith_array *sorted = pith_sort(s, items, 0, NULL);
    const pith_array *wide = pith_cast(s, a, dtype);
    const pith_array *place =
        sorted && wide ? search(s, sorted, wide, dtype, false) : NULL;
    /* past the end the last element is read: it is less, so not equal */
    return pith_equal(
        s, wide,
        pith_take(s, sorted, place, &(pith_take_options){.mode = PITH_INDEX_PROMISE}));
}

/* By a lookup table of the set. */
static const pith_array *
isin_table(pith_scope *s, const pith_array *a, const pith_array *set, int64_t max_item) {
    const pithp_index_params params = {.no_negative = true};
    const pith_array *operands[] = {
        pith_zeros(s, PITH_BOOL, PITH_SHAPE(max_item)), set,
        pith_broadcast_to(s, pith_bool(s, true),
                          PITH_SHAPE(pithp_array_spec(set)->count))};
    if (pith_failed(s))
        return NULL;
    const pith_array *item =
        pith_reshape(s, set, PITH_SHAPE(pithp_array_spec(set)->count));
    operands[1] = item;
    const pith_array *table =
        item ? pithp_bind(s, PITHP_OP_SCATTER_SET, 3, operands, &params) : NULL;
    const pith_array *lookup[] = {table, a};
    return table ? pithp_bind(s, PITHP_OP_TAKE, 2, lookup, &params) : NULL;
}

const pith_array *pith_isin(pith_scope *s,
                            const pith_array *a,
                            const pith_array *set,
                            const pith_isin_options *options) {
    static const char function[] = "pith_isin";
    const int64_t max_item = options ? options->max_item : 0;
    if (!pithp_enter(s) || pithp_operand_check(s, a, function, "a") != PITH_OK ||
        pithp_operand_check(s, set, function, "set") != PITH_OK)
        return NULL;
    if (max_item < 0) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: max_item %lld", function,
                   (long long)max_item);
        return NULL;
    }
    if (max_item && (!pithp_index_check(s, function, "a", a) ||
                     !pithp_index_check(s, function, "set", set)))
        return NULL;
    const pith_dtype dtype = max_item ? PITH_I64 : common(s, function, a, set);
    if (dtype == PITH_DTYPE_NONE)
        return NULL;
    const pith_spec *spec = pithp_array_spec(a);
    pith_scope *work = pithp_temporaries_open(s);
    if (!work)
        return NULL;
    pith_shape shape = {.rank = spec->rank};
    memcpy(shape.extents, spec->shape, sizeof shape.extents);
    const pith_array *in = pithp_array_spec(set)->count == 0
                               ? pith_zeros(work, PITH_BOOL, shape)
                           : max_item ? isin_table(work, a, set, max_item)
                                      : isin_sorted(work, a, set, dtype);
    return pithp_temporaries_close(
        s, work, in && options && options->invert ? pith_logical_not(work, in) : in);
}
