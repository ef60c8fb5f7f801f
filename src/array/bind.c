/* Binding of primitives: every operation calls pithp_bind, which infers the result,
 * allocates it, and runs or records the primitive. */
#include "array/array_internal.h"
#include "mesh/mesh_internal.h"
#include "program/exec/call.h"
#include "program/ir/program.h"

#include <string.h>

enum { MANY_OPERANDS = 16, SMALL_COUNT = 1024 };

/* The interned spec of a result, usually that of an operand. */
static const pith_spec *
intern(pith_scope *s, const pithp_call *call, const pith_spec *result) {
    if (call->operand_count > 0 &&
        pithp_spec_same(call->operands[call->operand_count - 1], result))
        return call->operands[call->operand_count - 1];
    return pithp_spec(s, result->dtype, result->rank, result->shape);
}

static _Thread_local pithp_draw_watch *draw_watch;

pithp_draw_watch *pithp_watch_draws(pithp_draw_watch *w) {
    pithp_draw_watch *before = draw_watch;
    draw_watch = w;
    return before;
}

bool pithp_draws_watched(void) {
    return draw_watch != NULL;
}

static void tell_draw(pith_scope *s, pithp_primitive primitive, const pith_spec *spec) {
    if (PITHP_UNLIKELY(draw_watch))
        draw_watch->seen(draw_watch, s, primitive, spec);
}

static pith_status run(pith_scope *s,
                       const pithp_call *call,
                       const pith_spec *spec,
                       void *result,
                       const void *const *operands) {
    const size_t temporary_bytes = pithp_temporary_bytes(call, spec);
    pithp_buffer *temporary = NULL;
    if (PITHP_UNLIKELY(temporary_bytes)) {
        temporary = pithp_buffer_make(s, temporary_bytes);
        if (!temporary)
            return s->error.code;
    }
    pithp_memory memory = {
        .operands = operands,
        .result = result,
        .temporary = temporary ? temporary->data : NULL,
    };
    if (PITHP_UNLIKELY(pithp_call_reports(call)))
        memory.report = pithp_check_make(s, pithp_index_describe,
                                         pithp_index_subject(s, call->primitive));
    const pith_status rc =
        s->error.code == PITH_OK ? pithp_run(s, call, spec, &memory) : s->error.code;
    if (temporary)
        pithp_buffer_release(temporary, 1);
    return rc;
}

/* Run into the memory of `there`, or of a new array. */
static const pith_array *apply(pith_scope *s,
                               const pithp_call *call,
                               const void *const *operands,
                               const pith_array *there) {
    pith_spec inferred;
    pithp_refusal refusal;
    PITH_ASSERT(call->max_rank == PITH_MAX_RANK);
    if (PITHP_UNLIKELY(pithp_infer(call, &inferred, &refusal) != PITH_OK)) {
        pithp_fail_function(s, refusal.code, refusal.function, "%s", refusal.text);
        return NULL;
    }
    const pith_spec *spec = intern(s, call, &inferred);
    pith_array *made = spec && !there ? pithp_array_make(s, spec) : NULL;
    const pith_array *result = spec && there ? there : made;
    if (!result)
        return NULL;
    if (PITHP_UNLIKELY(run(s, call, spec, result->data, operands) != PITH_OK)) {
        if (made)
            pithp_array_drop(s, made);
        return NULL;
    }
    if (pithp_op_has(call->primitive, PITHP_TRAIT_RANDOM))
        tell_draw(s, call->primitive, spec);
    return result;
}

/* Fast path of small elementwise calls over operands of one spec: one block function, no
 * plan. Sets *done if it applied. */
static const pith_array *apply_small(pith_scope *s,
                                     pithp_primitive primitive,
                                     int count,
                                     const pith_array *const *operands,
                                     bool *done) {
    const pithp_device *device = pithp_scope_device(s);
    const pith_spec *spec = pithp_array_spec(operands[0]);
    if (!device->immediate || spec->count > SMALL_COUNT)
        return NULL;
    for (int i = 1; i < count; i++)
        if (pithp_array_spec(operands[i]) != spec)
            return NULL;
    const pithp_block_function function =
        pithp_elementwise_block(device->isa, primitive, spec->dtype);
    if (!function || pithp_ops[primitive].predicate || primitive == PITHP_OP_WHERE)
        return NULL;
    *done = true;
    pith_array *result = pithp_array_make(s, spec);
    if (result)
        function(result->data, operands[0]->data, count > 1 ? operands[1]->data : NULL,
                 count > 2 ? operands[2]->data : NULL, spec->count);
    return result;
}

/* Whether a call without recorded operands is recorded all the same: an index that is
 * checked; a constant that may be large; among ranks random numbers, of which the program
 * tells whether they are equal on all of them by mistake. */
static bool records_itself(const pith_scope *s, const pithp_call *call) {
    return call->operand_count == 0 || pithp_call_reports(call) ||
           (pithp_op_has(call->primitive, PITHP_TRAIT_RANDOM) && pithp_has_ranks(s));
}

/* Whether a call is recorded. */
static inline bool is_traced(const pith_scope *s,
                             pithp_primitive primitive,
                             int count,
                             const pith_array *const *operands,
                             const void *params) {
    const pithp_call call = pithp_call_of(primitive, count, NULL, params);
    bool traced = pithp_scope_trace(s) && records_itself(s, &call);
    for (int i = 0; i < count; i++)
        traced |= pithp_array_is_traced(operands[i]);
    return traced;
}

const pith_array *pithp_bind(pith_scope *s,
                             pithp_primitive primitive,
                             int count,
                             const pith_array *const *operands,
                             const void *params) {
    if (PITHP_UNLIKELY(is_traced(s, primitive, count, operands, params)))
        return pithp_trace_bind(s, primitive, count, operands, params);
    if (PITHP_LIKELY(pithp_is_elementwise(primitive))) {
        bool done = false;
        const pith_array *result = apply_small(s, primitive, count, operands, &done);
        if (done)
            return result;
    }
    const pith_spec *few_specs[MANY_OPERANDS], **specs = few_specs;
    const void *few_data[MANY_OPERANDS], **data = few_data;
    if (count > MANY_OPERANDS) {
        specs = pithp_allocate(s->runtime, (size_t)count * sizeof *specs);
        data = pithp_allocate(s->runtime, (size_t)count * sizeof *data);
    }
    const pith_array *result = NULL;
    if (specs && data) {
        for (int i = 0; i < count; i++) {
            specs[i] = pithp_array_spec(operands[i]);
            data[i] = operands[i]->data;
        }
        pithp_call call = pithp_call_of(primitive, count, specs, params);
        call.max_rank = PITH_MAX_RANK;
        result = apply(s, &call, data, NULL);
    } else {
        pithp_fail_memory(s, (size_t)count * sizeof *specs);
    }
    if (specs != few_specs)
        pithp_release(s->runtime, specs, (size_t)count * sizeof *specs);
    if (data != few_data)
        pithp_release(s->runtime, data, (size_t)count * sizeof *data);
    return result;
}

const pith_array *pithp_bind_in_place(pith_scope *s,
                                      pithp_primitive primitive,
                                      int count,
                                      const pith_array *const *operands,
                                      const void *params) {
    if (is_traced(s, primitive, count, operands, params))
        return pithp_trace_bind(s, primitive, count, operands, params);
    _Static_assert(PITH_MAX_RANK + 2 <= MANY_OPERANDS, "a scatter along all axes");
    const pith_spec *specs[MANY_OPERANDS];
    const void *data[MANY_OPERANDS];
    for (int i = 0; i < count; i++) {
        specs[i] = pithp_array_spec(operands[i]);
        data[i] = operands[i]->data;
    }
    pithp_call call = pithp_call_of(primitive, count, specs, params);
    call.max_rank = PITH_MAX_RANK;
    return apply(s, &call, data, operands[0]);
}

const pith_array *pithp_cast(pith_scope *s, const pith_array *a, pith_dtype dtype) {
    if (pithp_array_spec(a)->dtype == dtype)
        return a;
    return pithp_bind(s, PITHP_OP_CAST, 1, &a, &(pithp_cast_params){dtype});
}

const pith_array *pithp_alias(pith_scope *s, const pith_array *a, const pith_spec *spec) {
    if (PITHP_UNLIKELY(pithp_array_is_traced(a))) {
        pithp_reshape_params params = {.rank = spec->rank};
        memcpy(params.shape, spec->shape, sizeof params.shape);
        return spec == pithp_array_spec(a)
                   ? a
                   : pithp_bind(s, PITHP_OP_RESHAPE, 1, &a, &params);
    }
    return pithp_array_view(s, spec, pithp_array_buffer(a), a->data);
}

bool pithp_broadcast_shape(const pith_spec *with, int *rank, int64_t *shape) {
    const int most = with->rank > *rank ? with->rank : *rank, added = most - *rank;
    memmove(shape + added, shape, (size_t)*rank * sizeof *shape);
    for (int d = 0; d < added; d++)
        shape[d] = 1;
    *rank = most;
    for (int d = 0; d < with->rank; d++) {
        int64_t *extent = &shape[most - with->rank + d];
        if (*extent != with->shape[d] && *extent != 1 && with->shape[d] != 1)
            return false;
        *extent = *extent == 1 ? with->shape[d] : *extent;
    }
    return true;
}

const pith_array *pithp_broadcast(pith_scope *s,
                                  const pith_array *a,
                                  int rank,
                                  const int64_t *shape,
                                  bool *fits) {
    const pith_spec *from = pithp_array_spec(a);
    pithp_broadcast_params params = {.rank = rank};
    if (rank > 0) /* otherwise shape may be NULL */
        memcpy(params.shape, shape, (size_t)rank * sizeof *shape);
    *fits = from->rank <= rank;
    bool same = from->rank == rank;
    for (int d = 0; *fits && d < from->rank; d++) {
        params.dimensions[d] = rank - from->rank + d;
        const int64_t extent = shape[params.dimensions[d]];
        *fits = from->shape[d] == 1 || from->shape[d] == extent;
        same &= from->shape[d] == extent;
    }
    if (!*fits || same)
        return *fits ? a : NULL;
    return pithp_bind(s, PITHP_OP_BROADCAST, 1, &a, &params);
}

int pithp_axis(pith_scope *s, const char *function, int axis, int rank) {
    const int counted = axis < 0 ? axis + rank : axis;
    if (counted >= 0 && counted < rank)
        return counted;
    function = s->caller ? s->caller : function;
    if (rank == 0)
        pithp_fail(s, PITH_E_SHAPE, NULL, "%s: axis %d of an array of rank 0", function,
                   axis);
    else
        pithp_fail(s, PITH_E_SHAPE, NULL, "%s: axis %d, expected %d to %d", function,
                   axis, -rank, rank - 1);
    return -1;
}
