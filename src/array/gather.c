/* Multi-entry indexing, as x[i, 1:3, j], and index arrays along an axis element by
 * element. Both are lowered to takes and scatters with index arrays along adjacent
 * axes. */
#include "array/array_internal.h"

#include <inttypes.h>
#include <string.h>

/* ---- Entries ---- */

/* The entries of an index, by axis of the array. */
typedef struct {
    const char *function;
    int rank;                                /* of the array */
    int chosen;                              /* axes indexed by arrays or positions */
    int first;                               /* first of these axes */
    bool together;                           /* they are adjacent */
    bool sliced[PITHP_MAX_RANK];             /* by a slice shorter than the axis */
    pith_slice slice[PITHP_MAX_RANK];        /* of an axis without an index array */
    const pith_array *index[PITHP_MAX_RANK]; /* of a chosen axis, broadcast */
    int index_rank;
    int64_t index_shape[PITHP_MAX_RANK];
} plan;

static bool is_whole(pith_slice slice) {
    return slice.start == 0 && slice.limit == INT64_MAX && slice.step == 1;
}

static bool read_entry(pith_scope *s, plan *p, int axis, const pith_index_entry *entry) {
    char name[24] = "entry 0";
    name[6] = (char)('0' + axis);
    p->slice[axis] = PITH_WHOLE;
    switch (entry->kind) {
        case PITH_ENTRY_IS_WHOLE:
            return true;
        case PITH_ENTRY_IS_SLICE:
            if (entry->slice.step == 0 || entry->slice.step == INT64_MIN) {
                pithp_fail(s, PITH_E_ARG, NULL, "%s: %s: step %lld along axis %d",
                           p->function, name, (long long)entry->slice.step, axis);
                return false;
            }
            p->slice[axis] = entry->slice;
            p->sliced[axis] = !is_whole(entry->slice);
            return true;
        case PITH_ENTRY_IS_PLACE:
            p->index[axis] = pith_i64(s, entry->slice.start);
            break;
        case PITH_ENTRY_IS_ARRAY:
            if (!pithp_index_check(s, p->function, name, entry->array))
                return false;
            p->index[axis] = entry->array;
            break;
        default:
            pithp_fail(s, PITH_E_ARG, NULL, "%s: %s: invalid kind %d", p->function, name,
                       (int)entry->kind);
            return false;
    }
    if (!p->index[axis])
        return false;
    p->together &= p->chosen == 0 || p->index[axis - 1];
    p->first = p->chosen++ == 0 ? axis : p->first;
    return true;
}

/* u64 indices as i64; indices beyond every extent stay out of range. */
static const pith_array *
narrowed(pith_scope *s, const pith_array *index, pithp_index_mode mode, int64_t extent) {
    const pith_shape scalar = PITH_SCALAR;
    if (pithp_array_spec(index)->dtype != PITH_U64)
        return pithp_cast(s, index, PITH_I64);
    const pithp_full_params params = {
        .dtype = PITH_U64,
        .rank = scalar.rank,
        .value = mode == PITHP_INDEX_WRAP && extent ? (uint64_t)extent : INT64_MAX};
    const pith_array *limit = pithp_bind(s, PITHP_OP_FULL, 0, NULL, &params);
    const pith_array *operands[] = {index, limit};
    if (!limit)
        return NULL;
    index = pithp_bind(s, mode == PITHP_INDEX_WRAP ? PITHP_OP_REMAINDER : PITHP_OP_MIN, 2,
                       operands, NULL);
    return index ? pithp_cast(s, index, PITH_I64) : NULL;
}

/* Give index arrays one dtype and one shape. wide: the dtype is i64. */
static bool
unite(pith_scope *s, plan *p, const pith_spec *x, pithp_index_mode mode, bool wide) {
    const pith_spec *seen = NULL;
    for (int d = 0; d < p->rank; d++) {
        if (!p->index[d])
            continue;
        const pith_spec *spec = pithp_array_spec(p->index[d]);
        wide |= seen && seen->dtype != spec->dtype;
        seen = spec;
        if (!pithp_broadcast_shape(spec, &p->index_rank, p->index_shape)) {
            char text[PITHP_SPEC_TEXT_BYTES];
            pithp_fail(s, PITH_E_SHAPE, NULL,
                       "%s: entry %d: %s does not broadcast with earlier entries",
                       p->function, d, pithp_spec_print(spec, text));
            return false;
        }
    }
    for (int d = 0; d < p->rank; d++) {
        bool fits;
        if (p->index[d] && wide)
            p->index[d] = narrowed(s, p->index[d], mode, x->shape[d]);
        else if (!p->index[d])
            continue;
        if (!p->index[d] || !(p->index[d] = pithp_broadcast(s, p->index[d], p->index_rank,
                                                            p->index_shape, &fits)))
            return false;
    }
    return true;
}

static bool read_entries(pith_scope *s,
                         plan *p,
                         const pith_spec *x,
                         int64_t count,
                         const pith_index_entry *entries) {
    if (count < 0 || (count > 0 && !entries)) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: %" PRId64 " entries%s", p->function, count,
                   count < 0 ? "" : " at NULL");
        return false;
    }
    if (count > x->rank) {
        char text[PITHP_SPEC_TEXT_BYTES];
        pithp_fail(s, PITH_E_SHAPE, NULL, "%s: %" PRId64 " entries for %s", p->function,
                   count, pithp_spec_print(x, text));
        return false;
    }
    p->rank = x->rank;
    p->together = true;
    for (int d = 0; d < x->rank; d++)
        if (!read_entry(s, p, d, d < count ? &entries[d] : &PITH_ENTRY_WHOLE))
            return false;
    return true;
}

/* With entries, options.axis is not allowed. */
static bool no_axis(pith_scope *s, const char *function, int axis) {
    if (axis == 0)
        return true;
    pithp_fail(s, PITH_E_ARG, NULL, "%s: axis %d cannot be combined with entries",
               function, axis);
    return false;
}

/* Bind a primitive: x, the arrays of chosen axes, and updates if not NULL. */
static const pith_array *apply(pith_scope *s,
                               pithp_primitive primitive,
                               const pith_array *x,
                               const pith_array *const *index,
                               int axes,
                               const pith_array *updates,
                               const pithp_index_params *params) {
    const pith_array *operands[PITHP_MAX_RANK + 2] = {x};
    int count = 1;
    for (int d = 0; d < axes; d++)
        if (index[d])
            operands[count++] = index[d];
    if (updates)
        operands[count++] = updates;
    return pithp_bind(s, primitive, count, operands, params);
}

/* x with these axes first, in order. */
static const pith_array *
brought_forward(pith_scope *s, const pith_array *x, const bool *first, int *order) {
    const int rank = pithp_array_spec(x)->rank;
    int next = 0;
    for (int turn = 1; turn >= 0; turn--)
        for (int d = 0; d < rank; d++)
            if (first[d] == (turn == 1))
                order[next++] = d;
    return pith_transpose(s, x, order);
}

/* For messages: the axes of the index arrays in the order of apply(), and the number of
 * positions per element of the caller's index arrays. */
static void
note_axes(const plan *p, const pith_array *const *places, pithp_index_params *params) {
    if (params->mode == PITHP_INDEX_DROP)
        return; /* indices are never refused */
    params->repeats = 1;
    for (int d = 0, k = 0; d < p->rank; d++) {
        if (p->index[d])
            params->axes |= (uint64_t)(d + 1) << 8 * k++;
        if (places && places[d])
            params->repeats *= (uint64_t)pithp_array_spec(places[d])->count;
    }
}

/* The gather after validation; s is a work scope. */
static const pith_array *gather(pith_scope *s,
                                plan *p,
                                const pith_array *a,
                                int64_t count,
                                const pith_index_entry *entries,
                                pithp_index_params *params) {
    const pith_spec *x = pithp_array_spec(a);
    if (!read_entries(s, p, x, count, entries) || !unite(s, p, x, params->mode, false) ||
        !(a = pith_slice_array(s, a, p->rank, p->slice)))
        return NULL;
    if (p->chosen == 0)
        return a;
    params->axis = p->together ? p->first : 0;
    if (!p->together) {
        bool chosen[PITHP_MAX_RANK];
        int order[PITHP_MAX_RANK];
        for (int d = 0; d < p->rank; d++)
            chosen[d] = p->index[d];
        if (!(a = brought_forward(s, a, chosen, order)))
            return NULL;
    }
    note_axes(p, NULL, params);
    return apply(s, PITHP_OP_TAKE, a, p->index, p->rank, NULL, params);
}

const pith_array *pith_gather(pith_scope *s,
                              const pith_array *a,
                              int64_t count,
                              const pith_index_entry *entries,
                              const pith_take_options *options) {
    plan p = {.function = "pith_gather"};
    pithp_index_params params;
    if (!pithp_enter(s) || pithp_operand_check(s, a, p.function, "a") != PITH_OK ||
        !pithp_take_params(s, p.function, pithp_array_spec(a)->dtype, options, &params) ||
        (options && !no_axis(s, p.function, options->axis)))
        return NULL;
    pith_scope *work = pithp_temporaries_open(s);
    return work ? pithp_temporaries_close(s, work,
                                          gather(work, &p, a, count, entries, &params))
                : NULL;
}

/* ---- Scatters: slices become index arrays too, because updates go to single positions
 * ---- */

/* Origin of the axes of into[entries], in order. */
typedef struct {
    int rank;
    int64_t shape[PITHP_MAX_RANK];
    int source[PITHP_MAX_RANK]; /* an axis of into; for index arrays: -1 - their axis */
} result_axes;

static bool
add_axis(pith_scope *s, const plan *p, result_axes *r, int64_t extent, int from) {
    if (r->rank == PITH_MAX_RANK) {
        pithp_fail(s, PITH_E_SHAPE, NULL, "%s: the updates have more than 8 axes",
                   p->function);
        return false;
    }
    r->shape[r->rank] = extent;
    r->source[r->rank++] = from;
    return true;
}

/* places[d]: the positions of a sliced axis, a vector; NULL if the axis is whole or
 * chosen. */
static bool find_axes(pith_scope *s,
                      const plan *p,
                      const pith_spec *x,
                      const pith_array *const *places,
                      result_axes *r) {
    bool ok = true;
    for (int d = p->chosen && !p->together ? -1 : 0; ok && d < p->rank; d++) {
        if (d < 0 || (p->index[d] && p->together && d == p->first))
            for (int k = 0; ok && k < p->index_rank; k++)
                ok = add_axis(s, p, r, p->index_shape[k], -1 - k);
        if (d >= 0 && !p->index[d])
            ok = add_axis(
                s, p, r, places[d] ? pithp_array_spec(places[d])->count : x->shape[d], d);
    }
    return ok;
}

/* Broadcast index arrays of chosen and sliced axes: the axes of the index arrays, then
 * one axis per slice. */
static bool spread(pith_scope *s,
                   plan *p,
                   const pith_array *const *places,
                   pithp_broadcast_params *all) {
    int slices = 0;
    all->rank = p->index_rank;
    memcpy(all->shape, p->index_shape, sizeof all->shape);
    for (int d = 0; d < p->rank; d++)
        if (places[d])
            all->shape[all->rank++] = pithp_array_spec(places[d])->count;
    for (int d = 0; d < p->rank; d++) {
        for (int k = 0; k < p->index_rank; k++)
            all->dimensions[k] = k;
        if (places[d]) {
            all->dimensions[0] = p->index_rank + slices++;
            p->index[d] = places[d];
        }
        if (p->index[d] && all->rank > pithp_array_spec(p->index[d])->rank &&
            !(p->index[d] = pithp_bind(s, PITHP_OP_BROADCAST, 1, &p->index[d], all)))
            return false;
    }
    return true;
}

/* The positions of sliced axes; also of the first axis if no other axis is chosen. */
static bool
find_places(pith_scope *s, const plan *p, const pith_spec *x, const pith_array **places) {
    bool any = p->chosen;
    for (int d = 0; d < p->rank; d++)
        any |= p->sliced[d];
    for (int d = 0; d < p->rank; d++) {
        if (!p->sliced[d] && (any || d > 0))
            continue;
        const pith_array *all = pith_arange(s, PITH_I64, x->shape[d]);
        places[d] = all ? pith_slice_array(s, all, 1, &p->slice[d]) : NULL;
        if (!places[d])
            return false;
    }
    return true;
}

/* The order that permutes updates from the axes of into[entries] to those of the
 * primitive: whole axes before, index arrays, slices, whole axes after. */
static void order_updates(const plan *p,
                          const pith_array *const *places,
                          const result_axes *r,
                          int axis,
                          const int *order,
                          int *to) {
    int next = 0, wanted[PITHP_MAX_RANK], count = 0;
    for (int i = 0; i < axis; i++)
        wanted[count++] = order[i];
    for (int k = 0; k < p->index_rank; k++)
        wanted[count++] = -1 - k;
    for (int d = 0; d < p->rank; d++)
        if (places[d])
            wanted[count++] = d;
    for (int i = axis; i < p->rank; i++)
        if (!p->index[order[i]])
            wanted[count++] = order[i];
    for (; next < count; next++)
        for (int i = 0; i < r->rank; i++)
            if (r->source[i] == wanted[next])
                to[next] = i;
}

static const pith_array *scatter_at(pith_scope *s,
                                    pithp_primitive primitive,
                                    plan *p,
                                    const pith_array *into,
                                    const pith_array *value,
                                    pithp_index_params *params) {
    const pith_spec *x = pithp_array_spec(into);
    const pith_array *places[PITHP_MAX_RANK] = {0};
    result_axes r = {0};
    pithp_broadcast_params all;
    if (!find_places(s, p, x, places) || !find_axes(s, p, x, places, &r))
        return NULL;
    const pith_array *updates =
        pithp_updates(s, p->function, value, x->dtype, r.rank, r.shape);
    if (!updates || !spread(s, p, places, &all))
        return NULL;
    bool indexed[PITHP_MAX_RANK], neighbours = true;
    int order[PITHP_MAX_RANK], back[PITHP_MAX_RANK], to[PITHP_MAX_RANK], count = 0;
    for (int d = 0; d < p->rank; d++) {
        indexed[d] = p->index[d];
        order[d] = d;
        if (indexed[d] && count++ == 0)
            params->axis = d;
        else if (indexed[d])
            neighbours &= indexed[d - 1];
    }
    note_axes(p, places, params);
    if (!neighbours) {
        params->axis = 0;
        into = brought_forward(s, into, indexed, order);
    }
    order_updates(p, places, &r, params->axis, order, to);
    updates = pith_transpose(s, updates, to);
    const pith_array *result =
        into && updates ? apply(s, primitive, into, p->index, p->rank, updates, params)
                        : NULL;
    for (int d = 0; d < p->rank; d++)
        back[order[d]] = d;
    return result && !neighbours ? pith_transpose(s, result, back) : result;
}

static const pith_array *scatter_entries(pith_scope *s,
                                         pithp_primitive primitive,
                                         plan *p,
                                         const pith_array *into,
                                         int64_t count,
                                         const pith_index_entry *entries,
                                         const pith_array *value,
                                         pithp_index_params *params) {
    const pith_spec *x = pithp_array_spec(into);
    if (!read_entries(s, p, x, count, entries))
        return NULL;
    bool sliced = p->chosen == 0;
    for (int d = 0; d < p->rank; d++)
        sliced |= p->sliced[d];
    if (!unite(s, p, x, params->mode, sliced))
        return NULL;
    if (x->rank > 0)
        return scatter_at(s, primitive, p, into, value, params);
    const pith_array *line = pith_reshape(s, into, PITH_SHAPE(1));
    const pith_array *operands[] = {
        line, pith_i64(s, 0), pithp_updates(s, p->function, value, x->dtype, 0, NULL)};
    const pith_array *joined = line && operands[1] && operands[2]
                                   ? pithp_bind(s, primitive, 3, operands, params)
                                   : NULL;
    return joined ? pithp_alias(s, joined, x) : NULL;
}

const pith_array *pith_scatter(pith_scope *s,
                               pith_scatter_operation operation,
                               const pith_array *into,
                               int64_t count,
                               const pith_index_entry *entries,
                               const pith_array *value,
                               const pith_scatter_options *options) {
    plan p = {.function = "pith_scatter"};
    pithp_index_params params;
    if (!pithp_enter(s) || pithp_operand_check(s, into, p.function, "into") != PITH_OK ||
        pithp_operand_check(s, value, p.function, "value") != PITH_OK ||
        !pithp_scatter_params(s, p.function, options, &params) ||
        (options && !no_axis(s, p.function, options->axis)))
        return NULL;
    const pithp_primitive primitive = pithp_scatter_row(s, p.function, operation);
    pith_scope *work =
        primitive == PITHP_PRIMITIVE_COUNT ? NULL : pithp_temporaries_open(s);
    return work ? pithp_temporaries_close(s, work,
                                          scatter_entries(work, primitive, &p, into,
                                                          count, entries, value, &params))
                : NULL;
}

/* ---- Along an axis ---- */

/* The common extents of a and index except along the axis; false with the error set. */
static bool along_shapes(pith_scope *s,
                         const char *function,
                         const pith_spec *a,
                         const pith_spec *index,
                         int axis,
                         int64_t *a_shape,
                         int64_t *index_shape) {
    bool fits = a->rank == index->rank;
    for (int d = 0; fits && d < a->rank; d++) {
        const int64_t n = a->shape[d], m = index->shape[d];
        fits = d == axis || n == m || n == 1 || m == 1;
        a_shape[d] = d == axis || n != 1 ? n : m;
        index_shape[d] = d == axis || m != 1 ? m : n;
    }
    if (fits)
        return true;
    char texts[2][PITHP_SPEC_TEXT_BYTES];
    pithp_fail(s, PITH_E_SHAPE, NULL,
               "%s: index: expected the extents of %s except along axis %d, got %s",
               function, pithp_spec_print(a, texts[0]), axis,
               pithp_spec_print(index, texts[1]));
    return false;
}

const pith_array *pith_take_along_axis(pith_scope *s,
                                       const pith_array *a,
                                       const pith_array *index,
                                       const pith_take_options *options) {
    static const char function[] = "pith_take_along_axis";
    pithp_index_params params;
    if (!pithp_enter(s) || pithp_operand_check(s, a, function, "a") != PITH_OK ||
        !pithp_index_check(s, function, "index", index) ||
        !pithp_take_params(s, function, pithp_array_spec(a)->dtype, options, &params))
        return NULL;
    const int rank = pithp_array_spec(a)->rank;
    int64_t a_shape[PITHP_MAX_RANK], index_shape[PITHP_MAX_RANK];
    params.axis = pithp_axis(s, function, options ? options->axis : 0, rank);
    if (params.axis < 0 ||
        !along_shapes(s, function, pithp_array_spec(a), pithp_array_spec(index),
                      params.axis, a_shape, index_shape))
        return NULL;
    bool fits;
    const pith_array *operands[] = {pithp_broadcast(s, a, rank, a_shape, &fits),
                                    pithp_broadcast(s, index, rank, index_shape, &fits)};
    return operands[0] && operands[1]
               ? pithp_bind(s, PITHP_OP_TAKE_ALONG, 2, operands, &params)
               : NULL;
}

/* a reshaped to [outer, extent, inner] around an axis. */
static const pith_array *around(pith_scope *s, const pith_array *a, int axis) {
    const pith_spec *from = pithp_array_spec(a);
    int64_t shape[] = {1, from->shape[axis], 1};
    for (int d = 0; d < from->rank; d++)
        if (d != axis)
            shape[d < axis ? 0 : 2] *= from->shape[d];
    const pith_spec *spec = pithp_spec(s, from->dtype, 3, shape);
    return spec ? pithp_alias(s, a, spec) : NULL;
}

/* A scatter with one index array per axis of [outer, extent, inner]. */
static const pith_array *put_along(pith_scope *s,
                                   pithp_primitive primitive,
                                   const pith_array *into,
                                   const pith_array *index,
                                   const pith_array *updates,
                                   int axis,
                                   pithp_index_params *params) {
    const uint64_t named = (uint64_t)(axis + 1);
    const pith_dtype dtype =
        pithp_array_spec(index)->dtype == PITH_U64 ? PITH_U64 : PITH_I64;
    if (!(index = pithp_cast(s, index, dtype)) || !(index = around(s, index, axis)) ||
        !(updates = around(s, updates, axis)) || !(into = around(s, into, axis)))
        return NULL;
    pithp_iota_params row = {.dtype = dtype, .rank = 3}, column;
    memcpy(row.shape, pithp_array_spec(index)->shape, sizeof row.shape);
    if (params->mode == PITHP_INDEX_ERROR)
        params->axes = named | named << 8 | named << 16;
    column = row;
    column.axis = 2;
    const pith_array *operands[] = {into, pithp_bind(s, PITHP_OP_IOTA, 0, NULL, &row),
                                    index, pithp_bind(s, PITHP_OP_IOTA, 0, NULL, &column),
                                    updates};
    return operands[1] && operands[3] ? pithp_bind(s, primitive, 5, operands, params)
                                      : NULL;
}

/* Check that into has every extent that it shares with index. */
static bool into_is_whole(pith_scope *s,
                          const char *function,
                          const pith_spec *into,
                          const int64_t *shape) {
    if (memcmp(into->shape, shape, (size_t)into->rank * sizeof *shape) == 0)
        return true;
    char texts[2][PITHP_SPEC_TEXT_BYTES];
    pithp_fail(s, PITH_E_SHAPE, NULL,
               "%s: index: %s does not have the extents %s of the index", function,
               pithp_spec_print(into, texts[0]),
               pithp_shape_print(into->rank, shape, texts[1]));
    return false;
}

const pith_array *pith_put_along_axis(pith_scope *s,
                                      pith_scatter_operation operation,
                                      const pith_array *into,
                                      const pith_array *index,
                                      const pith_array *value,
                                      const pith_scatter_options *options) {
    static const char function[] = "pith_put_along_axis";
    pithp_index_params params;
    if (!pithp_enter(s) || pithp_operand_check(s, into, function, "into") != PITH_OK ||
        !pithp_index_check(s, function, "index", index) ||
        pithp_operand_check(s, value, function, "value") != PITH_OK ||
        !pithp_scatter_params(s, function, options, &params))
        return NULL;
    const pithp_primitive primitive = pithp_scatter_row(s, function, operation);
    const pith_spec *x = pithp_array_spec(into);
    int64_t x_shape[PITHP_MAX_RANK], shape[PITHP_MAX_RANK];
    const int axis = pithp_axis(s, function, options ? options->axis : 0, x->rank);
    if (primitive == PITHP_PRIMITIVE_COUNT || axis < 0 ||
        !along_shapes(s, function, x, pithp_array_spec(index), axis, x_shape, shape) ||
        !into_is_whole(s, function, x, x_shape))
        return NULL;
    pith_scope *work = pithp_temporaries_open(s);
    if (!work)
        return NULL;
    bool fits;
    const pith_array *updates =
        pithp_updates(work, function, value, x->dtype, x->rank, shape);
    const pith_array *result = NULL;
    if (updates && (index = pithp_broadcast(work, index, x->rank, shape, &fits)))
        result = put_along(work, primitive, into, index, updates, axis, &params);
    return pithp_temporaries_close(s, work, result ? pithp_alias(work, result, x) : NULL);
}
