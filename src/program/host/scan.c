/* Cumulative scans along one axis: cumsum, cumprod, cummin, cummax, cumlogsumexp.
 *
 * Elements are combined in order within a block; each is then combined with the total of
 * the blocks before. Blocks are combined in order within groups (source/scan_order.h),
 * and groups in order within a line. Sums and products of f16, bf16 and f32 run in f64
 * and are rounded when they are stored; integers wrap. */
#include "program/host/vector/vector.h"
#include "program/op/rules.h"
#include "program/source/scan_order.h"

enum {
    LINES = 64, /* computed side by side if they are adjacent in memory */
    BLOCK = M_SCANNED,
    GROUPED = M_GROUPED,
    ABREAST = 4 /* blocks computed side by side */
};

typedef struct {
    const void *from;
    void *to;
    int64_t extent, inner; /* elements of a line, and their stride */
    bool reverse;
} scan_args;

pith_status
pithp_infer_scan(const pithp_call *call, pith_spec *result, pithp_refusal *refusal) {
    const pithp_scan_params *p = call->params;
    const pith_spec *x = call->operands[0];
    if (p->axis < 0 || p->axis >= x->rank)
        return pithp_refuse(call, refusal, PITH_E_SHAPE, "axis %d of rank %d", p->axis,
                            x->rank);
    const int takes = pithp_ops[pithp_ops[call->primitive].combine].dtypes;
    if (!(takes >> x->dtype & 1))
        return pithp_refuse(call, refusal, PITH_E_DTYPE, "expected %s, got %s",
                            takes >> PITH_I32 & 1 ? "numbers" : "floats",
                            pith_dtype_name(x->dtype));
    return pithp_spec_fill(call, refusal, result, x->dtype, x->rank, x->shape);
}
PITHP_NO_TEMPORARY(scan)

/* ---- One scan: an accumulator of type A, advanced by COMBINE(so far, next) ---- */

/* Complete block `number` with its `total`: `offset` becomes the total of all blocks up
 * to it. within: total of its group so far; before: total of the groups before. */
#define ADVANCE(number, total, before, within, offset)                                   \
    do {                                                                                 \
        const int64_t next = (number) + 1;                                               \
        within = (number) % GROUPED == 0 ? (total) : JOIN(within, (total));              \
        if (next % GROUPED == 0)                                                         \
            before = next == GROUPED ? within : JOIN(before, within);                    \
        offset = next % GROUPED == 0 ? before                                            \
                 : next < GROUPED    ? within                                            \
                                     : JOIN(before, within);                                \
    } while (0)

#define ADD(a, b) ((a) + (b))
#define MUL(a, b) ((a) * (b))
/* NaN wins, and the first of equals. */
#define LEAST(a, b)    (((a) <= (b)) | ((a) != (a)) ? (a) : (b))
#define GREATEST(a, b) (((a) >= (b)) | ((a) != (a)) ? (a) : (b))

/* Accumulator types of sums and products. */
typedef u32 S_i8, S_i16, S_i32, S_u8, S_u16, S_u32;
typedef u64 S_i64, S_u64;
typedef f64 S_f16, S_bf16, S_f32, S_f64;

/* clang-format off */
#define OP cumsum
#define COMBINE ADD
#define A PITHP_PASTE(S, DT)
#include "program/host/scan_numbers.h"

#define OP cumprod
#define COMBINE MUL
#define A PITHP_PASTE(S, DT)
#include "program/host/scan_numbers.h"

#define OP cummin
#define COMBINE LEAST
#define A PITHP_PASTE(T, DT)
#include "program/host/scan_numbers.h"

#define OP cummax
#define COMBINE GREATEST
#define A PITHP_PASTE(T, DT)
#include "program/host/scan_numbers.h"

#define OP cumlogsumexp
#define COMBINE m_log_add
#define A f64
#define DT f16
#include "program/host/scan_kind.h"
#define DT bf16
#include "program/host/scan_kind.h"
#define DT f32
#include "program/host/scan_kind.h"
#define DT f64
#include "program/host/scan_kind.h"
/* clang-format on */

#define FLOATS(op)                                                                       \
    [PITH_F16] = op##_loops_f16, [PITH_BF16] = op##_loops_bf16,                          \
    [PITH_F32] = op##_loops_f32, [PITH_F64] = op##_loops_f64
#define NUMBERS(op)                                                                      \
    [PITH_I8] = op##_loops_i8, [PITH_I16] = op##_loops_i16, [PITH_I32] = op##_loops_i32, \
    [PITH_I64] = op##_loops_i64, [PITH_U8] = op##_loops_u8, [PITH_U16] = op##_loops_u16, \
    [PITH_U32] = op##_loops_u32, [PITH_U64] = op##_loops_u64, FLOATS(op)

typedef const pithp_host_loop *loops_by_dtype[PITH_DTYPE_COUNT];
static const loops_by_dtype cumsum = {NUMBERS(cumsum)}, cumprod = {NUMBERS(cumprod)},
                            cummin = {[PITH_BOOL] = cummin_loops_u8, NUMBERS(cummin)},
                            cummax = {[PITH_BOOL] = cummax_loops_u8, NUMBERS(cummax)},
                            cumlogsumexp = {FLOATS(cumlogsumexp)};

static const pithp_host_loop *loops_of(pithp_primitive primitive, pith_dtype dtype) {
    return primitive == PITHP_OP_CUMSUM    ? cumsum[dtype]
           : primitive == PITHP_OP_CUMPROD ? cumprod[dtype]
           : primitive == PITHP_OP_CUMMIN  ? cummin[dtype]
           : primitive == PITHP_OP_CUMMAX  ? cummax[dtype]
                                           : cumlogsumexp[dtype];
}

pith_status pithp_lower_scan(const pithp_call *call,
                             const pith_spec *result,
                             const pithp_memory *memory,
                             const pithp_sink *sink) {
    const pithp_scan_params *p = call->params;
    if (result->count == 0)
        return PITH_OK;
    scan_args a = {.from = memory->operands[0],
                   .to = memory->result,
                   .extent = result->shape[p->axis],
                   .inner = 1,
                   .reverse = p->reverse};
    for (int d = p->axis + 1; d < result->rank; d++)
        a.inner *= result->shape[d];
    const int64_t grain = PITHP_GRAIN / a.extent + 1;
    return pithp_launch_loops(sink, pithp_ops[call->primitive].name,
                              loops_of(call->primitive, result->dtype), &a, sizeof a,
                              result->count / a.extent, grain);
}
