/* cumlinear: linear recurrences along one axis, element by element, in f64. */
#include "program/host/vector/vector.h"
#include "program/op/rules.h"

enum {
    ADJACENT = 64, /* lines computed side by side if they are adjacent in memory */
    APART = 8      /* and if they are not: that hides the latency of the recurrence */
};

typedef struct {
    const void *factors, *terms;
    void *to;
    int64_t extent, inner; /* elements of a line, and their stride */
    bool reverse, strong;
} recurrence_args;

pith_status
pithp_infer_cumlinear(const pithp_call *call, pith_spec *result, pithp_refusal *refusal) {
    const pithp_scan_params *p = call->params;
    const pith_spec *a = call->operands[0], *b = call->operands[1];
    bool same = a->rank == b->rank;
    for (int d = 0; d < a->rank && same; d++)
        same = a->shape[d] == b->shape[d];
    if (!same)
        return pithp_refuse(call, refusal, PITH_E_SHAPE, "operands of different shapes");
    if (p->axis < 0 || p->axis >= b->rank)
        return pithp_refuse(call, refusal, PITH_E_SHAPE, "axis %d of rank %d", p->axis,
                            b->rank);
    if (a->dtype != b->dtype || !pith_dtype_is_float(b->dtype))
        return pithp_refuse(call, refusal, PITH_E_DTYPE,
                            "expected floats of one dtype, got %s and %s",
                            pith_dtype_name(a->dtype), pith_dtype_name(b->dtype));
    return pithp_spec_fill(call, refusal, result, b->dtype, b->rank, b->shape);
}
PITHP_NO_TEMPORARY(cumlinear)

/* clang-format off */
#define DT f16
#include "program/host/cumlinear_kind.h"
#define DT bf16
#include "program/host/cumlinear_kind.h"
#define DT f32
#include "program/host/cumlinear_kind.h"
#define DT f64
#include "program/host/cumlinear_kind.h"
/* clang-format on */

static const pithp_host_loop *const loops[PITH_DTYPE_COUNT] = {[PITH_F16] = loops_f16,
                                                               [PITH_BF16] = loops_bf16,
                                                               [PITH_F32] = loops_f32,
                                                               [PITH_F64] = loops_f64};

pith_status pithp_lower_cumlinear(const pithp_call *call,
                                  const pith_spec *result,
                                  const pithp_memory *memory,
                                  const pithp_sink *sink) {
    const pithp_scan_params *p = call->params;
    if (result->count == 0)
        return PITH_OK;
    recurrence_args a = {.factors = memory->operands[0],
                         .terms = memory->operands[1],
                         .to = memory->result,
                         .extent = result->shape[p->axis],
                         .inner = 1,
                         .reverse = p->reverse,
                         .strong = p->strong};
    for (int d = p->axis + 1; d < result->rank; d++)
        a.inner *= result->shape[d];
    return pithp_launch_loops(sink, pithp_ops[call->primitive].name, loops[result->dtype],
                              &a, sizeof a, result->count / a.extent,
                              PITHP_GRAIN / a.extent + 1);
}
