/* dynamic_slice and dynamic_update_slice: boxes of arrays at positions known at run time.
 */
/* clang-format off */
#include "program/host/vector/vector.h"
#include "program/source/index_rule.h"
/* clang-format on */
#include "program/host/boxes.h"
#include "program/host/device_target.h"
#include "program/host/move.h"

#include <string.h>

typedef struct {
    char *to;         /* slice: the box; update: the updated array */
    const char *from; /* slice: the operand; update: the box */
    const char *starts;
    pith_dtype dtype; /* of starts */
    int32_t size;     /* bytes of an element */
    bool update;
    pithp_boxes boxes; /* of rank 1 at least */
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
    const int leading = starts->rank - 1;
    const int64_t rank = leading < 0 ? -1 : starts->shape[leading];
    const bool one = !update && x->rank == rank; /* array for all */
    bool fits = rank >= (leading > 0) && (one || x->rank == rank + leading);
    for (int d = 0; fits && !one && d < leading; d++)
        fits = x->shape[d] == starts->shape[d];
    if (!fits)
        return pithp_refuse(call, refusal, PITH_E_SHAPE,
                            "expected a start for each axis of %s, got %s",
                            pithp_spec_print(x, first), pithp_spec_print(starts, second));
    if (update && update->dtype != x->dtype)
        return pithp_refuse(call, refusal, PITH_E_DTYPE,
                            "expected operands of one dtype, got %s and %s",
                            pithp_spec_print(x, first), pithp_spec_print(update, second));
    fits = !update || update->rank == x->rank;
    for (int d = 0; fits && d < x->rank; d++)
        fits = shape[d] >= 0 && shape[d] <= x->shape[d] &&
               (shape[d] == x->shape[d] || one || d >= leading);
    if (!fits)
        return pithp_refuse(
            call, refusal, PITH_E_SHAPE,
            "expected extents of at most those of %s, got %s", pithp_spec_print(x, first),
            pithp_shape_print(update ? update->rank : x->rank, shape, second));
    int64_t all[2 * PITHP_MAX_RANK];
    const int before = one ? leading : 0;
    memcpy(all, starts->shape, (size_t)before * sizeof *all);
    memcpy(all + before, update ? x->shape : shape, (size_t)x->rank * sizeof *all);
    return pithp_spec_fill(call, refusal, result, x->dtype, before + x->rank, all);
}
PITHP_NO_TEMPORARY(dynamic)

static void find_starts(const dynamic_args *a, int64_t box, int64_t *start) {
    const pithp_boxes *b = &a->boxes;
    const int64_t size = (int64_t)pith_dtype_size(a->dtype);
    for (int d = 0; d < b->rank; d++) {
        int64_t given;
        pithp_cast_block(PITHP_ISA_BASE, a->dtype, PITH_I64)(
            &given, a->starts + (box * b->rank + d) * size, NULL, NULL, 1);
        start[d] = m_start(given, b->whole[d], b->shape[d], a->dtype == PITH_U64);
    }
}

/* The first element of a row of a box, in its array. */
static int64_t offset_of(const pithp_boxes *b, const int64_t *start, int64_t row) {
    const int last = b->rank - 1;
    int64_t offset = start[last], step = b->whole[last];
    for (int d = last - 1; d >= 0; d--) {
        offset += (start[d] + row % b->shape[d]) * step;
        row /= b->shape[d];
        step *= b->whole[d];
    }
    return offset;
}

/* Indices are rows of the boxes along their last axis. */
static void move_boxes(const void *args, int64_t begin, int64_t end) {
    const dynamic_args *a = args;
    const pithp_boxes *b = &a->boxes;
    const int64_t width = b->shape[b->rank - 1], bytes = width * a->size,
                  rows = b->box / width;
    int64_t start[PITHP_MAX_RANK], box = -1;
    for (int64_t row = begin; row < end; row++) {
        if (row / rows != box)
            find_starts(a, box = row / rows, start);
        const int64_t offset = box * b->next + offset_of(b, start, row % rows);
        char *to = a->to + (a->update ? offset * a->size : row * bytes);
        memcpy(to, a->from + (a->update ? row * bytes : offset * a->size), (size_t)bytes);
    }
}
static const pithp_host_loop move_boxes_loops[PITHP_ISA_COUNT] = {move_boxes};

/* Emit the copies of the boxes, after the copy of the array. */
static pith_status launch_boxes(const pithp_call *call,
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
                      .update = updates(call),
                      .boxes = pithp_boxes_of(call, box)};
    const int64_t row = a.boxes.shape[a.boxes.rank - 1];
    return pithp_launch_loops(sink, pithp_ops[call->primitive].name, move_boxes_loops, &a,
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
                      : launch_boxes(call, box, memory, sink);
}
