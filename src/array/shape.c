/* Shape operations. Operations that do not move elements share the data. */
#include "array/array_internal.h"
#include "program/host/move.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const pith_array *
pith_broadcast_to(pith_scope *s, const pith_array *a, pith_shape shape) {
    if (!pithp_enter(s) || pithp_operand_check(s, a, "pith_broadcast_to", "a") != PITH_OK)
        return NULL;
    const pith_spec *from = pithp_array_spec(a);
    const pith_spec *spec = pithp_spec(s, from->dtype, shape.rank, shape.extents);
    if (!spec)
        return NULL;
    if (spec == from)
        return pithp_alias(s, a, spec);
    if (from->rank > shape.rank) {
        char texts[2][PITHP_SPEC_TEXT_BYTES];
        pithp_fail(s, PITH_E_SHAPE, NULL, "pith_broadcast_to: cannot broadcast %s to %s",
                   pithp_spec_print(from, texts[0]), pithp_spec_print(spec, texts[1]));
        return NULL;
    }
    pithp_broadcast_params params = {.rank = shape.rank};
    memcpy(params.shape, shape.extents, sizeof shape.extents);
    for (int d = 0; d < from->rank; d++)
        params.dimensions[d] = shape.rank - from->rank + d;
    return pithp_bind(s, PITHP_OP_BROADCAST, 1, &a, &params);
}

const pith_array *pith_reshape(pith_scope *s, const pith_array *a, pith_shape shape) {
    if (!pithp_enter(s) || pithp_operand_check(s, a, "pith_reshape", "a") != PITH_OK)
        return NULL;
    const pith_spec *from = pithp_array_spec(a);
    int unknown = -1;
    int64_t known = 1;
    for (int d = 0; d < shape.rank && d < PITH_MAX_RANK; d++) {
        if (shape.extents[d] == -1 && unknown < 0)
            unknown = d;
        else if (__builtin_mul_overflow(known, shape.extents[d], &known))
            known = -1;
    }
    char texts[2][PITHP_SPEC_TEXT_BYTES];
    if (unknown >= 0) {
        if (known <= 0 || from->count % known != 0) {
            pithp_fail(s, PITH_E_SHAPE, NULL,
                       "pith_reshape: no extent in place of -1 gives %s for %s",
                       pithp_shape_print(shape.rank, shape.extents, texts[0]),
                       pithp_spec_print(from, texts[1]));
            return NULL;
        }
        shape.extents[unknown] = from->count / known;
    }
    const pith_spec *spec = pithp_spec(s, from->dtype, shape.rank, shape.extents);
    if (!spec)
        return NULL;
    if (spec->count != from->count) {
        pithp_fail(s, PITH_E_SHAPE, NULL,
                   "pith_reshape: %s has %lld elements, %s has %lld",
                   pithp_spec_print(from, texts[0]), (long long)from->count,
                   pithp_shape_print(shape.rank, shape.extents, texts[1]),
                   (long long)spec->count);
        return NULL;
    }
    return pithp_alias(s, a, spec);
}

const pith_array *pith_transpose(pith_scope *s, const pith_array *a, const int *order) {
    if (!pithp_enter(s) || pithp_operand_check(s, a, "pith_transpose", "a") != PITH_OK)
        return NULL;
    const int rank = pithp_array_spec(a)->rank;
    pithp_transpose_params params = {0};
    unsigned seen = 0;
    bool same = true;
    for (int d = 0; d < rank; d++) {
        const int axis =
            order ? pithp_axis(s, "pith_transpose", order[d], rank) : rank - 1 - d;
        if (axis < 0)
            return NULL;
        if (seen >> axis & 1) {
            pithp_fail(s, PITH_E_ARG, NULL, "pith_transpose: axis %d is named twice",
                       axis);
            return NULL;
        }
        seen |= 1u << axis;
        same &= axis == d;
        params.permutation[d] = axis;
    }
    if (same)
        return pithp_alias(s, a, pithp_array_spec(a));
    return pithp_bind(s, PITHP_OP_TRANSPOSE, 1, &a, &params);
}

bool pithp_axes(pith_scope *s,
                const char *function,
                pith_axes axes,
                int rank,
                uint32_t *mask) {
    *mask = 0;
    if (axes.all) {
        *mask = (1u << rank) - 1;
        return true;
    }
    if (axes.count < 0 || axes.count > PITH_MAX_RANK) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: %d axes", function, axes.count);
        return false;
    }
    for (int i = 0; i < axes.count; i++) {
        const int axis = pithp_axis(s, function, axes.axes[i], rank);
        if (axis < 0)
            return false;
        if (*mask >> axis & 1) {
            pithp_fail(s, PITH_E_ARG, NULL, "%s: axis %d is named twice",
                       s->caller ? s->caller : function, axis);
            return false;
        }
        *mask |= 1u << axis;
    }
    return true;
}

const pith_array *pith_expand_dims(pith_scope *s, const pith_array *a, pith_axes axes) {
    if (!pithp_enter(s) || pithp_operand_check(s, a, "pith_expand_dims", "a") != PITH_OK)
        return NULL;
    const pith_spec *from = pithp_array_spec(a);
    const int rank = from->rank + (axes.all ? 0 : axes.count);
    uint32_t mask;
    if (axes.all || rank > PITH_MAX_RANK) {
        pithp_fail(s, PITH_E_SHAPE, NULL, "pith_expand_dims: the result has %s",
                   axes.all ? "no rank: name the axes" : "more than 8 axes");
        return NULL;
    }
    if (!pithp_axes(s, "pith_expand_dims", axes, rank, &mask))
        return NULL;
    int64_t shape[PITHP_MAX_RANK];
    for (int d = 0, next = 0; d < rank; d++)
        shape[d] = mask >> d & 1 ? 1 : from->shape[next++];
    const pith_spec *spec = pithp_spec(s, from->dtype, rank, shape);
    return spec ? pithp_alias(s, a, spec) : NULL;
}

const pith_array *pith_squeeze(pith_scope *s, const pith_array *a, pith_axes axes) {
    uint32_t mask;
    if (!pithp_enter(s) || pithp_operand_check(s, a, "pith_squeeze", "a") != PITH_OK ||
        !pithp_axes(s, "pith_squeeze", axes, pithp_array_spec(a)->rank, &mask))
        return NULL;
    const pith_spec *from = pithp_array_spec(a);
    int64_t shape[PITHP_MAX_RANK];
    int rank = 0;
    for (int d = 0; d < from->rank; d++) {
        if (!(mask >> d & 1) || (axes.all && from->shape[d] != 1)) {
            shape[rank++] = from->shape[d];
        } else if (from->shape[d] != 1) {
            char text[PITHP_SPEC_TEXT_BYTES];
            pithp_fail(s, PITH_E_SHAPE, NULL,
                       "pith_squeeze: axis %d of %s does not have extent 1", d,
                       pithp_spec_print(from, text));
            return NULL;
        }
    }
    const pith_spec *spec = pithp_spec(s, from->dtype, rank, shape);
    return spec ? pithp_alias(s, a, spec) : NULL;
}

/* ---- Slices ---- */

typedef pithp_picked picked;

static int64_t clipped(int64_t place, int64_t extent, int64_t least, int64_t most) {
    if (place < 0 && place != INT64_MIN)
        place += extent;
    return place < least ? least : place > most ? most : place;
}

picked pithp_slice_pick(pith_slice slice, int64_t extent) {
    picked p = {.step = slice.step};
    uint64_t span;
    if (slice.step > 0) {
        p.start = clipped(slice.start, extent, 0, extent);
        const int64_t limit = clipped(slice.limit, extent, 0, extent);
        span = limit > p.start ? (uint64_t)(limit - p.start) : 0;
        p.count = (int64_t)((span + (uint64_t)slice.step - 1) / (uint64_t)slice.step);
    } else {
        p.start = clipped(slice.start, extent, -1, extent - 1);
        const int64_t limit =
            slice.limit == INT64_MIN ? -1 : clipped(slice.limit, extent, -1, extent - 1);
        span = p.start > limit ? (uint64_t)(p.start - limit) : 0;
        const uint64_t stride = 0 - (uint64_t)slice.step;
        p.count = (int64_t)(span / stride + (span % stride != 0));
    }
    return p;
}

/* The start of a slice with contiguous elements; NULL: not contiguous. */
static void *begin_of(const pith_array *a, const picked *picks) {
    const pith_spec *from = pithp_array_spec(a);
    size_t step = pith_dtype_size(from->dtype), offset = 0;
    bool ends = false; /* axes before must have one element */
    for (int d = from->rank - 1; d >= 0; d--) {
        const picked p = picks[d];
        if (p.count > 1 && (ends || p.step != 1))
            return NULL;
        ends |= p.count != from->shape[d];
        offset += (size_t)p.start * step;
        step *= (size_t)from->shape[d];
    }
    return (char *)a->data + offset;
}

/* A slice that shares the memory of its array, and keeps all of it alive, so it must be
 * at least half of it. User memory may end earlier than the slice. On CUDA, address
 * alignment decides the width of loads, so slices are copied. */
static const pith_array *shared_slice(pith_scope *s,
                                      const pith_array *a,
                                      const picked *picks,
                                      const int64_t *shape) {
    if (pithp_array_is_traced(a) || pithp_scope_device(s)->arch)
        return NULL;
    const pith_spec *from = pithp_array_spec(a);
    pithp_buffer *buffer = pithp_array_buffer(a);
    size_t bytes = pith_dtype_size(from->dtype);
    for (int d = 0; d < from->rank; d++)
        bytes *= (size_t)shape[d];
    void *data = buffer->foreign || bytes < buffer->bytes / 2 ? NULL : begin_of(a, picks);
    const pith_spec *spec = data ? pithp_spec(s, from->dtype, from->rank, shape) : NULL;
    return spec ? pithp_array_view(s, spec, buffer, data) : NULL;
}

static const pith_array *sliced(pith_scope *s, const pith_array *a, const picked *picks) {
    const pith_spec *from = pithp_array_spec(a);
    pithp_slice_params params = {0};
    bool whole = true, empty = false;
    int64_t shape[PITHP_MAX_RANK];
    for (int d = 0; d < from->rank; d++) {
        const picked p = picks[d];
        whole &= p.start == 0 && p.step == 1 && p.count == from->shape[d];
        empty |= p.count == 0;
        shape[d] = p.count;
        params.start[d] = p.start;
        params.step[d] = p.step;
        params.limit[d] =
            p.count ? p.start + (p.count - 1) * p.step + (p.step > 0 ? 1 : -1) : p.start;
    }
    if (whole)
        return pithp_alias(s, a, from);
    if (empty) { /* no element is moved, and a start beyond the axis is valid */
        const pith_spec *spec = pithp_spec(s, from->dtype, from->rank, shape);
        return spec ? pithp_array_make(s, spec) : NULL;
    }
    const pith_array *shared = shared_slice(s, a, picks, shape);
    return shared || s->error.code != PITH_OK
               ? shared
               : pithp_bind(s, PITHP_OP_SLICE, 1, &a, &params);
}

static pith_status read_slices(pith_scope *s,
                               const pith_array *a,
                               int64_t count,
                               const pith_slice *slices,
                               picked *picks) {
    const pith_status rc = pithp_operand_check(s, a, "pith_slice_array", "a");
    if (rc != PITH_OK)
        return rc;
    const pith_spec *from = pithp_array_spec(a);
    if (count < 0 || count > from->rank || (count > 0 && !slices)) {
        return pithp_fail(s, PITH_E_ARG, NULL,
                          "pith_slice_array: %" PRId64 " slices%s of an array of rank %d",
                          count, count > 0 && !slices ? " at NULL" : "", from->rank);
    }
    for (int d = 0; d < from->rank; d++) {
        const pith_slice slice = d < count ? slices[d] : PITH_WHOLE;
        if (slice.step == 0 || slice.step == INT64_MIN) {
            return pithp_fail(s, PITH_E_ARG, NULL, "%s: step %lld along axis %d",
                              s->caller ? s->caller : "pith_slice_array",
                              (long long)slice.step, d);
        }
        picks[d] = pithp_slice_pick(slice, from->shape[d]);
    }
    return PITH_OK;
}

const pith_array *pith_slice_array(pith_scope *s,
                                   const pith_array *a,
                                   int64_t count,
                                   const pith_slice *slices) {
    picked picks[PITHP_MAX_RANK];
    if (!pithp_enter(s) || read_slices(s, a, count, slices, picks) != PITH_OK)
        return NULL;
    return sliced(s, a, picks);
}

pith_status pithp_slice_plan(pith_scope *s,
                             const pith_array *a,
                             int count,
                             const pith_slice *slices,
                             const pith_spec **spec,
                             pithp_move *move) {
    picked picks[PITHP_MAX_RANK];
    int64_t stride[PITHP_MAX_RANK];
    pith_status rc = read_slices(s, a, count, slices, picks);
    if (rc == PITH_OK)
        rc = pithp_array_check(s, a, "pith_slice_array", "a"); /* it must have a value */
    if (rc != PITH_OK)
        return rc;
    const pith_spec *from = pithp_array_spec(a);
    *move = (pithp_move){.from = a->data,
                         .size = (int32_t)pith_dtype_size(from->dtype),
                         .rank = from->rank};
    pithp_c_strides(from->rank, from->shape, move->size, stride);
    for (int d = 0; d < from->rank; d++) {
        const picked p = picks[d];
        move->shape[d] = p.count;
        move->from += p.count ? p.start * stride[d] : 0;
        move->from_stride[d] = p.count > 1 ? p.step * stride[d] : stride[d];
    }
    pithp_c_strides(from->rank, move->shape, move->size, move->to_stride);
    *spec = pithp_spec(s, from->dtype, from->rank, move->shape);
    return *spec ? PITH_OK : s->error.code;
}

const pith_array *
pith_slice_at(pith_scope *s, const pith_array *a, int axis, int64_t index) {
    if (!pithp_enter(s) || pithp_operand_check(s, a, "pith_slice_at", "a") != PITH_OK)
        return NULL;
    const pith_spec *from = pithp_array_spec(a);
    const int counted = pithp_axis(s, "pith_slice_at", axis, from->rank);
    if (counted < 0)
        return NULL;
    const int64_t extent = from->shape[counted];
    const int64_t place = index < 0 ? index + extent : index;
    if (place < 0 || place >= extent) {
        pithp_fail(s, PITH_E_INDEX, NULL,
                   "pith_slice_at: index %lld of axis %d, which has the extent %lld",
                   (long long)index, counted, (long long)extent);
        return NULL;
    }
    picked picks[PITHP_MAX_RANK];
    int64_t shape[PITHP_MAX_RANK];
    int rank = 0;
    for (int d = 0; d < from->rank; d++) {
        picks[d] = d == counted ? (picked){place, 1, 1} : (picked){0, from->shape[d], 1};
        if (d != counted)
            shape[rank++] = from->shape[d];
    }
    const pith_spec *spec = pithp_spec(s, from->dtype, rank, shape);
    const pith_array *kept = spec ? sliced(s, a, picks) : NULL;
    return kept ? pithp_alias(s, kept, spec) : NULL;
}

const pith_array *pith_flip(pith_scope *s, const pith_array *a, pith_axes axes) {
    uint32_t mask;
    if (!pithp_enter(s) || pithp_operand_check(s, a, "pith_flip", "a") != PITH_OK ||
        !pithp_axes(s, "pith_flip", axes, pithp_array_spec(a)->rank, &mask))
        return NULL;
    return pithp_bind(s, PITHP_OP_REVERSE, 1, &a, &(pithp_reverse_params){mask});
}

/* ---- Joining ---- */

/* Copies of the operands' pointers, checked and cast to their common dtype; freed with
 * the scope. */
static const pith_array **joined(pith_scope *s,
                                 const char *function,
                                 int64_t count,
                                 const pith_array *const *arrays) {
    if (count < 1 || count > INT32_MAX || !arrays) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: expected 1 to %d arrays, got %s%" PRId64,
                   function, INT32_MAX, arrays ? "" : "NULL and ", count);
        return NULL;
    }
    const pith_array **operands =
        pithp_scope_allocate(s, (size_t)count * sizeof *operands);
    if (!operands)
        return NULL;
    pith_dtype dtype = PITH_DTYPE_NONE;
    for (int64_t i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "arrays[%" PRId64 "]", i);
        if (pithp_operand_check(s, arrays[i], function, name) != PITH_OK)
            return NULL;
        const pith_dtype other = pithp_array_spec(arrays[i])->dtype;
        const pith_dtype both = i == 0 ? other : pithp_promote(dtype, other);
        if (both == PITH_DTYPE_NONE) {
            pithp_fail(s, PITH_E_DTYPE, NULL, "%s: %s: %s has no common dtype with %s",
                       function, name, pith_dtype_name(other), pith_dtype_name(dtype));
            return NULL;
        }
        dtype = both;
    }
    for (int64_t i = 0; i < count; i++) {
        operands[i] = pithp_cast(s, arrays[i], dtype);
        if (!operands[i])
            return NULL;
    }
    return operands;
}

const pith_array *pith_concatenate(pith_scope *s,
                                   int64_t count,
                                   const pith_array *const *arrays,
                                   int axis) {
    if (!pithp_enter(s))
        return NULL;
    const pith_array **operands = joined(s, "pith_concatenate", count, arrays);
    if (!operands)
        return NULL;
    const int counted =
        pithp_axis(s, "pith_concatenate", axis, pithp_array_spec(operands[0])->rank);
    if (counted < 0)
        return NULL;
    return pithp_bind(s, PITHP_OP_CONCATENATE, (int)count, operands,
                      &(pithp_concatenate_params){counted});
}

const pith_array *
pith_stack(pith_scope *s, int64_t count, const pith_array *const *arrays, int axis) {
    if (!pithp_enter(s))
        return NULL;
    const pith_array **operands = joined(s, "pith_stack", count, arrays);
    if (!operands)
        return NULL;
    const pith_spec *from = pithp_array_spec(operands[0]);
    const int counted = pithp_axis(s, "pith_stack", axis, from->rank + 1);
    if (counted < 0)
        return NULL;
    int64_t shape[PITHP_MAX_RANK + 1];
    for (int d = 0, next = 0; d <= from->rank; d++)
        shape[d] = d == counted ? 1 : from->shape[next++];
    const pith_spec *spec = pithp_spec(s, from->dtype, from->rank + 1, shape);
    if (!spec)
        return NULL;
    for (int64_t i = 0; i < count; i++) {
        if (pithp_array_spec(operands[i]) != from) {
            char texts[2][PITHP_SPEC_TEXT_BYTES];
            pithp_fail(s, PITH_E_SHAPE, NULL,
                       "pith_stack: arrays[%" PRId64 "]: expected %s, got %s", i,
                       pithp_spec_print(from, texts[0]),
                       pithp_spec_print(pithp_array_spec(operands[i]), texts[1]));
            return NULL;
        }
        operands[i] = pithp_alias(s, operands[i], spec);
        if (!operands[i])
            return NULL;
    }
    return pithp_bind(s, PITHP_OP_CONCATENATE, (int)count, operands,
                      &(pithp_concatenate_params){counted});
}
