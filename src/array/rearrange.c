/* Rearrangements composed of shape operations: moved axes, splits, repeats, rolls,
 * padding, diagonals. */
#include "array/array_internal.h"

#include <inttypes.h>
#include <string.h>

static bool enter(pith_scope *s, const char *function, const pith_array *a) {
    return pithp_enter_as(s, function) &&
           pithp_operand_check(s, a, function, "a") == PITH_OK;
}

/* The normalised axis of an array that is checked here; -1: error set. */
static int
enter_axis(pith_scope *s, const char *function, const pith_array *a, int axis) {
    return enter(s, function, a)
               ? pithp_axis(s, function, axis, pithp_array_spec(a)->rank)
               : -1;
}

/* pith_transpose for another operation. */
static const pith_array *
transposed(pith_scope *s, const pith_array *a, const int *order) {
    pith_scope *w = pithp_temporaries_open(s);
    return w ? pithp_temporaries_close(s, w, pith_transpose(w, a, order)) : NULL;
}

static pith_shape shape_of(const pith_array *a) {
    const pith_spec *spec = pithp_array_spec(a);
    pith_shape shape = {.rank = spec->rank};
    memcpy(shape.extents, spec->shape, sizeof shape.extents);
    return shape;
}

/* ---- Axes ---- */

const pith_array *
pith_swapaxes(pith_scope *s, const pith_array *a, int first, int second) {
    const int x = enter_axis(s, "pith_swapaxes", a, first);
    const int y =
        x < 0 ? -1 : pithp_axis(s, "pith_swapaxes", second, pithp_array_spec(a)->rank);
    if (y < 0)
        return NULL;
    int order[PITHP_MAX_RANK];
    for (int d = 0; d < PITH_MAX_RANK; d++)
        order[d] = d == x ? y : d == y ? x : d;
    return transposed(s, a, order);
}

const pith_array *
pith_moveaxis(pith_scope *s, const pith_array *a, int source, int destination) {
    const int from = enter_axis(s, "pith_moveaxis", a, source);
    const int to =
        from < 0 ? -1
                 : pithp_axis(s, "pith_moveaxis", destination, pithp_array_spec(a)->rank);
    if (to < 0)
        return NULL;
    int order[PITHP_MAX_RANK];
    for (int d = 0, next = 0; d < pithp_array_spec(a)->rank; d++) {
        next += next == from;
        order[d] = d == to ? from : next++;
    }
    return transposed(s, a, order);
}

/* ---- Splits ---- */

/* Elements start to limit of one axis, with NumPy's rules. */
static const pith_array *
part_of(pith_scope *s, const pith_array *a, int axis, int64_t start, int64_t limit) {
    pith_slice slices[PITHP_MAX_RANK];
    for (int d = 0; d < axis; d++)
        slices[d] = PITH_WHOLE;
    slices[axis] = PITH_SLICE(start, limit, 1);
    return pith_slice_array(s, a, axis + 1, slices);
}

const pith_array *const *pith_split(pith_scope *s,
                                    const pith_array *a,
                                    int64_t count,
                                    const int64_t *at,
                                    int axis) {
    const int counted = enter_axis(s, "pith_split", a, axis);
    if (counted < 0)
        return NULL;
    if (count < 0 || count >= INT32_MAX || (count > 0 && !at)) {
        pithp_fail(s, PITH_E_ARG, NULL, "pith_split: %" PRId64 " places%s", count,
                   count > 0 ? " at NULL" : "");
        return NULL;
    }
    const pith_array **parts =
        pithp_scope_allocate(s, ((size_t)count + 1) * sizeof *parts);
    pith_scope *w = parts ? pithp_temporaries_open(s) : NULL;
    if (!w)
        return NULL;
    for (int64_t i = 0; i <= count; i++)
        parts[i] = pithp_temporaries_keep(
            s, part_of(w, a, counted, i ? at[i - 1] : 0, i < count ? at[i] : INT64_MAX));
    pith_scope_close(w);
    return s->error.code == PITH_OK ? parts : NULL;
}

const pith_array *pith_roll(pith_scope *s, const pith_array *a, int64_t shift, int axis) {
    const int counted = enter_axis(s, "pith_roll", a, axis);
    if (counted < 0)
        return NULL;
    const int64_t extent = pithp_array_spec(a)->shape[counted];
    const int64_t rest = extent ? shift % extent : 0;
    const int64_t places = rest < 0 ? rest + extent : rest;
    if (places == 0)
        return pithp_alias(s, a, pithp_array_spec(a));
    pith_scope *w = pithp_temporaries_open(s);
    if (!w)
        return NULL;
    const pith_array *const halves[] = {
        part_of(w, a, counted, extent - places, extent),
        part_of(w, a, counted, 0, extent - places),
    };
    return pithp_temporaries_close(s, w, pith_concatenate(w, 2, halves, counted));
}

/* ---- Repetition ---- */

/* Repeat each middle element of [outer, n, inner], with the result shape `to`. */
static const pith_array *repeated(pith_scope *s,
                                  const pith_array *a,
                                  int64_t outer,
                                  int64_t n,
                                  int64_t inner,
                                  int64_t repeats,
                                  pith_shape to) {
    pith_scope *w = pithp_temporaries_open(s);
    if (!w)
        return NULL;
    const pith_array *apart = pith_reshape(w, a, PITH_SHAPE(outer, n, 1, inner));
    const pith_array *many =
        pith_broadcast_to(w, apart, PITH_SHAPE(outer, n, repeats, inner));
    return pithp_temporaries_close(s, w, pith_reshape(w, many, to));
}

/* An extent times a non-negative count; false: error set. */
static bool grown(pith_scope *s, const char *function, int64_t *extent, int64_t repeats) {
    if (repeats < 0)
        pithp_fail(s, PITH_E_ARG, NULL, "%s: %lld repeats", function, (long long)repeats);
    else if (__builtin_mul_overflow(*extent, repeats, extent))
        pithp_fail(s, PITH_E_OVERFLOW, NULL, "%s: too many elements", function);
    else
        return true;
    return false;
}

const pith_array *
pith_repeat(pith_scope *s, const pith_array *a, int64_t repeats, int axis) {
    const int counted = enter_axis(s, "pith_repeat", a, axis);
    if (counted < 0)
        return NULL;
    pith_shape shape = shape_of(a);
    const int64_t n = shape.extents[counted];
    if (!grown(s, "pith_repeat", &shape.extents[counted], repeats))
        return NULL;
    int64_t outer = 1, inner = 1;
    for (int d = 0; d < shape.rank; d++)
        if (d != counted)
            *(d < counted ? &outer : &inner) *= shape.extents[d];
    return repeated(s, a, outer, n, inner, repeats, shape);
}

/* Slices of a along an axis at valid indices. */
static const pith_array *taken(pith_scope *s,
                               const pith_array *a,
                               int axis,
                               int64_t count,
                               const int64_t *places) {
    pith_scope *w = pithp_temporaries_open(s);
    if (!w)
        return NULL;
    const pith_array *index = pith_array_copy(w, PITH_I64, PITH_SHAPE(count), places);
    const pith_take_options options = {.axis = axis, .mode = PITH_INDEX_PROMISE};
    return pithp_temporaries_close(s, w, pith_take(w, a, index, &options));
}

const pith_array *pith_repeat_each(pith_scope *s,
                                   const pith_array *a,
                                   int64_t count,
                                   const int64_t *repeats,
                                   int axis) {
    const int counted = enter_axis(s, "pith_repeat_each", a, axis);
    if (counted < 0)
        return NULL;
    const int64_t extent = pithp_array_spec(a)->shape[counted];
    if (count != extent || (count > 0 && !repeats)) {
        pithp_fail(
            s, PITH_E_ARG, NULL, "pith_repeat_each: expected %lld repeats, got %lld%s",
            (long long)extent, (long long)count, count > 0 && !repeats ? " at NULL" : "");
        return NULL;
    }
    int64_t total = 0;
    for (int64_t i = 0; i < count; i++)
        if (repeats[i] < 0 || __builtin_add_overflow(total, repeats[i], &total)) {
            pithp_fail(s, PITH_E_ARG, NULL, "pith_repeat_each: repeats[%lld] is %lld",
                       (long long)i, (long long)repeats[i]);
            return NULL;
        }
    if (!pithp_spec(s, PITH_I64, 1, &total))
        return NULL;
    const size_t bytes = (size_t)total * sizeof(int64_t);
    int64_t *places = pithp_allocate(s->runtime, bytes ? bytes : 1);
    if (!places) {
        pithp_fail_memory(s, bytes);
        return NULL;
    }
    for (int64_t i = 0, at = 0; i < count; i++)
        for (int64_t k = 0; k < repeats[i]; k++)
            places[at++] = i;
    const pith_array *result = taken(s, a, counted, total, places);
    pithp_release(s->runtime, places, bytes ? bytes : 1);
    return result;
}

const pith_array *
pith_tile(pith_scope *s, const pith_array *a, int64_t count, const int64_t *repeats) {
    if (!enter(s, "pith_tile", a))
        return NULL;
    if (count < 0 || (count > 0 && !repeats)) {
        pithp_fail(s, PITH_E_ARG, NULL, "pith_tile: %" PRId64 " repeats%s", count,
                   count > 0 ? " at NULL" : "");
        return NULL;
    }
    const pith_spec *from = pithp_array_spec(a);
    if (count > PITH_MAX_RANK) {
        pithp_fail(s, PITH_E_SHAPE, NULL, "pith_tile: the result has more than 8 axes");
        return NULL;
    }
    const int repeated_axes = (int)count;
    pith_shape shape = {.rank = repeated_axes > from->rank ? repeated_axes : from->rank};
    for (int d = 0; d < shape.rank; d++)
        shape.extents[d] =
            d < shape.rank - from->rank ? 1 : from->shape[d - shape.rank + from->rank];
    pith_scope *w = pithp_temporaries_open(s);
    if (!w)
        return NULL;
    const pith_array *result = pith_reshape(w, a, shape);
    for (int d = shape.rank - 1; result && d >= shape.rank - repeated_axes; d--) {
        const int64_t times = repeats[d - shape.rank + repeated_axes];
        int64_t outer = 1, rest = 1;
        for (int e = 0; e < shape.rank; e++)
            *(e < d ? &outer : &rest) *= shape.extents[e];
        result = grown(w, "pith_tile", &shape.extents[d], times)
                     ? repeated(w, result, outer, 1, rest, times, shape)
                     : NULL;
    }
    return pithp_temporaries_close(s, w, result);
}

/* ---- Padding ---- */

static bool paddings_fit(pith_scope *s,
                         const char *function,
                         const pith_array *a,
                         int64_t count,
                         const pith_padding *padding) {
    const int rank = pithp_array_spec(a)->rank;
    if (count >= 0 && count <= rank && (count == 0 || padding))
        return true;
    pithp_fail(s, PITH_E_ARG, NULL, "%s: %" PRId64 " paddings%s of an array of rank %d",
               function, count, count > 0 && !padding ? " at NULL" : "", rank);
    return false;
}

const pith_array *pith_pad(pith_scope *s,
                           const pith_array *a,
                           const pith_array *value,
                           int64_t count,
                           const pith_padding *padding) {
    if (!enter(s, "pith_pad", a) ||
        (value && pithp_operand_check(s, value, "pith_pad", "value") != PITH_OK) ||
        !paddings_fit(s, "pith_pad", a, count, padding))
        return NULL;
    const pith_dtype dtype = pithp_array_spec(a)->dtype;
    pithp_pad_params params = {0};
    for (int d = 0; d < count; d++) {
        params.low[d] = padding[d].low;
        params.high[d] = padding[d].high;
        params.interior[d] = padding[d].interior;
    }
    pith_scope *w = pithp_temporaries_open(s);
    if (!w)
        return NULL;
    const pith_array *element =
        value ? pith_cast(w, value, dtype) : pith_zeros(w, dtype, PITH_SCALAR);
    const pith_array *operands[] = {a, element};
    return pithp_temporaries_close(
        s, w, element ? pithp_bind(w, PITHP_OP_PAD, 2, operands, &params) : NULL);
}

/* The source index for a position outside n > 0 elements. */
static int64_t source_of(pith_extension extension, int64_t place, int64_t n) {
    if (extension == PITH_EXTEND_EDGE)
        return place < 0 ? 0 : place < n ? place : n - 1;
    const int64_t period = extension == PITH_EXTEND_WRAP        ? n
                           : extension == PITH_EXTEND_SYMMETRIC ? 2 * n
                           : n > 1                              ? 2 * n - 2
                                                                : 1;
    const int64_t rest = place % period, at = rest < 0 ? rest + period : rest;
    if (at < n)
        return at;
    return extension == PITH_EXTEND_SYMMETRIC ? 2 * n - 1 - at : 2 * n - 2 - at;
}

enum {
    MOST_RUNS = 5
}; /* contiguous runs; with more of them, elements are taken by
    * index */

/* `count` elements of an axis from an index on; step 0 repeats it, 1 or -1 walks. */
static const pith_array *run_of(pith_scope *s,
                                const pith_array *a,
                                int axis,
                                int64_t from,
                                int step,
                                int64_t count) {
    const int64_t many = step ? count : 1, low = step < 0 ? from - count + 1 : from;
    const pith_array *part = part_of(s, a, axis, low, low + many);
    if (!part || step > 0 || count == 1)
        return part;
    if (step < 0)
        return pith_flip(s, part, PITH_AXES((int8_t)axis));
    pith_shape shape = {.rank = pithp_array_spec(part)->rank};
    memcpy(shape.extents, pithp_array_spec(part)->shape, sizeof shape.extents);
    shape.extents[axis] = count;
    return pith_broadcast_to(s, part, shape);
}

/* Elements at indices of an axis, as contiguous runs; *result is unchanged if there are
 * too many runs. False: error set. */
static bool joined(pith_scope *s,
                   const pith_array *a,
                   int axis,
                   int64_t total,
                   const int64_t *places,
                   const pith_array **result) {
    const pith_array *runs[MOST_RUNS];
    int count = 0;
    for (int64_t i = 0, end; i < total; i = end) {
        const int64_t step = i + 1 < total ? places[i + 1] - places[i] : 1;
        const bool alone = step < -1 || step > 1;
        for (end = i + 1; !alone && end < total && places[end] - places[end - 1] == step;)
            end++;
        if (count == MOST_RUNS)
            return true;
        runs[count] = run_of(s, a, axis, places[i], alone ? 1 : (int)step, end - i);
        if (!runs[count++])
            return false;
    }
    *result = pith_concatenate(s, count, runs, axis);
    return *result;
}

static const pith_array *extended(pith_scope *s,
                                  const pith_array *a,
                                  pith_extension extension,
                                  int axis,
                                  pith_padding by) {
    const int64_t n = pithp_array_spec(a)->shape[axis];
    int64_t total;
    if (by.low < 0 || by.high < 0 || by.interior != 0) {
        pithp_fail(s, PITH_E_ARG, NULL,
                   "pith_extend: axis %d by %lld before, %lld after, %lld between", axis,
                   (long long)by.low, (long long)by.high, (long long)by.interior);
        return NULL;
    }
    if (n == 0 || __builtin_add_overflow(n, by.low, &total) ||
        __builtin_add_overflow(total, by.high, &total)) {
        pithp_fail(s, n ? PITH_E_OVERFLOW : PITH_E_SHAPE, NULL, "pith_extend: axis %d %s",
                   axis, n ? "becomes too long" : "has no elements to continue");
        return NULL;
    }
    if (!pithp_spec(s, PITH_I64, 1, &total))
        return NULL;
    const size_t bytes = (size_t)total * sizeof(int64_t);
    int64_t *places = pithp_allocate(s->runtime, bytes);
    if (!places) {
        pithp_fail_memory(s, bytes);
        return NULL;
    }
    for (int64_t i = 0; i < total; i++)
        places[i] = source_of(extension, i - by.low, n);
    const pith_array *result = NULL;
    if (joined(s, a, axis, total, places, &result) && !result)
        result = taken(s, a, axis, total, places);
    pithp_release(s->runtime, places, bytes);
    return result;
}

const pith_array *pith_extend(pith_scope *s,
                              const pith_array *a,
                              pith_extension extension,
                              int64_t count,
                              const pith_padding *padding) {
    if (!enter(s, "pith_extend", a) || !paddings_fit(s, "pith_extend", a, count, padding))
        return NULL;
    if ((unsigned)extension > PITH_EXTEND_WRAP) {
        pithp_fail(s, PITH_E_ARG, NULL, "pith_extend: invalid extension %d",
                   (int)extension);
        return NULL;
    }
    pith_scope *w = pithp_temporaries_open(s);
    if (!w)
        return NULL;
    const pith_array *result = pithp_alias(w, a, pithp_array_spec(a));
    for (int d = 0; result && d < count; d++)
        if (padding[d].low || padding[d].high || padding[d].interior)
            result = extended(w, result, extension, d, padding[d]);
    return pithp_temporaries_close(s, w, result);
}

/* ---- Diagonals of the last two axes ---- */

static bool enter_matrix(pith_scope *s, const char *function, const pith_array *a) {
    if (!enter(s, function, a))
        return false;
    if (pithp_array_spec(a)->rank >= 2)
        return true;
    char text[PITHP_SPEC_TEXT_BYTES];
    pithp_fail(s, PITH_E_SHAPE, NULL, "%s: expected two axes or more, got %s", function,
               pithp_spec_print(pithp_array_spec(a), text));
    return false;
}

/* The diagonal clamped to the matrix. */
static int64_t reachable(int64_t diagonal, int64_t rows, int64_t columns) {
    return diagonal < -rows ? -rows : diagonal > columns ? columns : diagonal;
}

const pith_array *pith_diagonal(pith_scope *s, const pith_array *a, int64_t offset) {
    if (!enter_matrix(s, "pith_diagonal", a))
        return NULL;
    pith_shape shape = shape_of(a);
    const int64_t rows = shape.extents[shape.rank - 2],
                  columns = shape.extents[shape.rank - 1],
                  diagonal = reachable(offset, rows, columns);
    const int64_t below = rows + (diagonal < 0 ? diagonal : 0),
                  right = columns - (diagonal > 0 ? diagonal : 0);
    const int64_t count = below < right ? below : right;
    shape.extents[--shape.rank - 1] = rows * columns;
    const int64_t start = diagonal < 0 ? -diagonal * columns : diagonal;
    pith_slice slices[PITHP_MAX_RANK];
    for (int d = 0; d < shape.rank - 1; d++)
        slices[d] = PITH_WHOLE;
    slices[shape.rank - 1] =
        count > 0
            ? PITH_SLICE(start, start + (count - 1) * (columns + 1) + 1, columns + 1)
            : PITH_SLICE(0, 0, 1);
    pith_scope *w = pithp_temporaries_open(s);
    if (!w)
        return NULL;
    const pith_array *flat = pith_reshape(w, a, shape);
    return pithp_temporaries_close(s, w, pith_slice_array(w, flat, shape.rank, slices));
}

/* a where column - row is at most (otherwise: at least) the diagonal; 0 elsewhere. */
static const pith_array *
triangle(pith_scope *s, const pith_array *a, int64_t diagonal, bool lower) {
    const pith_spec *spec = pithp_array_spec(a);
    const int64_t rows = spec->shape[spec->rank - 2],
                  columns = spec->shape[spec->rank - 1];
    pith_scope *w = pithp_temporaries_open(s);
    if (!w)
        return NULL;
    const pith_array *row = pith_iota(w, PITH_I64, PITH_SHAPE(rows, 1), 0);
    const pith_array *column = pith_arange(w, PITH_I64, columns);
    const pith_array *edge = pith_add(w, row, reachable(diagonal, rows, columns));
    const pith_array *kept =
        lower ? pith_less_equal(w, column, edge) : pith_greater_equal(w, column, edge);
    const pith_array *zero = pith_zeros(w, spec->dtype, PITH_SCALAR);
    return pithp_temporaries_close(s, w, pith_where(w, kept, a, zero));
}

const pith_array *pith_tril(pith_scope *s, const pith_array *a, int64_t diagonal) {
    return enter_matrix(s, "pith_tril", a) ? triangle(s, a, diagonal, true) : NULL;
}

const pith_array *pith_triu(pith_scope *s, const pith_array *a, int64_t diagonal) {
    return enter_matrix(s, "pith_triu", a) ? triangle(s, a, diagonal, false) : NULL;
}
