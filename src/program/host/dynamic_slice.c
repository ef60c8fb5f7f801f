/* dynamic_slice and dynamic_update_slice: a box of an array at a position known at run
 * time. */
/* clang-format off */
#include "program/host/vector/vector.h"
#include "program/source/index_rule.h"
/* clang-format on */
#include "program/host/device_target.h"
#include "program/host/move.h"

#include <string.h>

typedef struct {
    char *to;         /* slice: the box; update: the updated array */
    const char *from; /* slice: the operand; update: the box */
    const char *starts;
    pith_dtype dtype; /* of starts */
    int32_t size;     /* bytes of an element */
    int32_t rank;     /* at least 1 */
    bool update;
    int64_t shape[PITHP_MAX_RANK],
        whole[PITHP_MAX_RANK]; /* of the box, and of the array */
} dynamic_args;

static bool updates(const pithp_call *call) {
    return call->primitive == PITHP_OP_DYNAMIC_UPDATE_SLICE;
}

pith_status
pithp_infer_dynamic(const pithp_call *call, pith_spec *result, pithp_refusal *refusal) {
    const pithp_dynamic_params *p = call->params;
    const pith_spec *x = call->operands[0],
                    *starts = call->operands[call->operand_count - 1];
    const pith_spec *update = updates(call) ? call->operands[1] : NULL;
    const int64_t *shape = update ? update->shape : p->shape;
    char first[PITHP_SPEC_TEXT_BYTES], second[PITHP_SPEC_TEXT_BYTES];
    if (!pith_dtype_is_integer(starts->dtype))
        return pithp_refuse(call, refusal, PITH_E_DTYPE,
                            "expected integer starts, got %s",
                            pithp_spec_print(starts, first));
    if (starts->rank != 1 || starts->shape[0] != x->rank)
        return pithp_refuse(call, refusal, PITH_E_SHAPE,
                            "expected a start for each axis of %s, got %s",
                            pithp_spec_print(x, first), pithp_spec_print(starts, second));
    if (update && update->dtype != x->dtype)
        return pithp_refuse(call, refusal, PITH_E_DTYPE,
                            "expected operands of one dtype, got %s and %s",
                            pithp_spec_print(x, first), pithp_spec_print(update, second));
    bool fits = !update || update->rank == x->rank;
    for (int d = 0; fits && d < x->rank; d++)
        fits = shape[d] >= 0 && shape[d] <= x->shape[d];
    if (!fits)
        return pithp_refuse(
            call, refusal, PITH_E_SHAPE,
            "expected extents of at most those of %s, got %s", pithp_spec_print(x, first),
            pithp_shape_print(update ? update->rank : x->rank, shape, second));
    return pithp_spec_fill(call, refusal, result, x->dtype, x->rank,
                           update ? x->shape : shape);
}
PITHP_NO_TEMPORARY(dynamic)

static int64_t start_of(const dynamic_args *a, int d) {
    int64_t given;
    pithp_cast_block(PITHP_ISA_BASE, a->dtype, PITH_I64)(
        &given, a->starts + d * (int64_t)pith_dtype_size(a->dtype), NULL, NULL, 1);
    return m_start(given, a->whole[d], a->shape[d], a->dtype == PITH_U64);
}

/* Indices are rows of the box along its last axis. */
static void move_box(const void *args, int64_t begin, int64_t end) {
    const dynamic_args *a = args;
    const int last = a->rank - 1;
    const int64_t bytes = a->shape[last] * a->size;
    int64_t start[PITHP_MAX_RANK];
    for (int d = 0; d < a->rank; d++)
        start[d] = start_of(a, d);
    for (int64_t row = begin; row < end; row++) {
        int64_t rest = row, offset = start[last], step = a->whole[last];
        for (int d = last - 1; d >= 0; d--) {
            offset += (start[d] + rest % a->shape[d]) * step;
            rest /= a->shape[d];
            step *= a->whole[d];
        }
        char *to = a->to + (a->update ? offset * a->size : row * bytes);
        memcpy(to, a->from + (a->update ? row * bytes : offset * a->size), (size_t)bytes);
    }
}
static const pithp_host_loop move_box_loops[PITHP_ISA_COUNT] = {move_box};

/* Emit the copy of the box, after the copy of the array. */
static pith_status launch_box(const pithp_call *call,
                              const pith_spec *box,
                              const pithp_memory *memory,
                              const pithp_sink *sink) {
    const pith_spec *x = call->operands[0],
                    *starts = call->operands[call->operand_count - 1];
    dynamic_args a = {.to = memory->result,
                      .from = memory->operands[updates(call) ? 1 : 0],
                      .starts = memory->operands[call->operand_count - 1],
                      .dtype = starts->dtype,
                      .size = (int32_t)pith_dtype_size(x->dtype),
                      .rank = x->rank,
                      .update = updates(call)};
    memcpy(a.shape, box->shape, sizeof a.shape);
    memcpy(a.whole, x->shape, sizeof a.whole);
    const int64_t row = a.shape[a.rank - 1];
    return pithp_launch_loops(sink, pithp_ops[call->primitive].name, move_box_loops, &a,
                              sizeof a, box->count / row, 4096 / row + 1);
}

pith_status pithp_lower_dynamic(const pithp_call *call,
                                const pith_spec *result,
                                const pithp_memory *memory,
                                const pithp_sink *sink) {
    const pith_spec *box = updates(call) ? call->operands[1] : result;
    const char *name = pithp_ops[call->primitive].name;
    /* rank 0: the box is the whole array */
    const int whole = updates(call) && result->rank == 0;
    pith_status rc = PITH_OK;
    if (updates(call) || result->rank == 0)
        rc = pithp_launch_copy(sink, name, memory->result, memory->operands[whole],
                               (int32_t)pith_dtype_size(result->dtype), result->count);
    if (rc || result->rank == 0 || box->count == 0)
        return rc;
    return sink->cuda ? sink->cuda->encode->box(call, box, memory, sink)
                      : launch_box(call, box, memory, sink);
}
