/* cumsum, cumprod, cummin, cummax, cumlogsumexp along one axis. Elements of a block of
 * 480 are combined one after the other; what is stored is that combined with the blocks
 * before. Those are combined in order within groups of 512 blocks, and so are groups.
 * Sums and products of f16, bf16 and f32 run in f64 and are rounded where they are
 * stored; integers wrap. */
#include "program/host/vector/vector.h"
#include "program/op/rules.h"

enum {
    LINES = 64, /* that run side by side where they are neighbours in memory */
    BLOCK =
        480, /* elements; of f64, not a multiple of the distance at which caches meet */
    ABREAST = 4,   /* blocks that go side by side */
    GROUPED = 512, /* blocks of a group */
};

typedef struct {
    const void *from;
    void *to;
    int64_t extent, inner; /* elements of a line, and between two of its neighbours */
    bool reverse;
} scan_args;

pith_status
pithp_infer_scan(const pithp_call *call, pith_spec *result, pithp_refusal *refusal) {
    const pithp_scan_params *p = call->params;
    const pith_spec *x = call->operands[0];
    if (p->axis < 0 || p->axis >= x->rank)
        return pithp_refuse(call, refusal, PITH_E_SHAPE, "axis %d of rank %d", p->axis,
                            x->rank);
    const bool arithmetic =
        call->primitive == PITHP_OP_CUMSUM || call->primitive == PITHP_OP_CUMPROD;
    if (arithmetic && x->dtype == PITH_BOOL)
        return pithp_refuse(call, refusal, PITH_E_DTYPE, "expected numbers, got bool");
    if (call->primitive == PITHP_OP_CUMLOGSUMEXP && !pith_dtype_is_float(x->dtype))
        return pithp_refuse(call, refusal, PITH_E_DTYPE, "expected floats, got %s",
                            pith_dtype_name(x->dtype));
    return pithp_spec_fill(call, refusal, result, x->dtype, x->rank, x->shape);
}
PITHP_NO_TEMPORARY(scan)

/* ---- One scan: an accumulator of type A goes along, by COMBINE(so far, next) ---- */

/* Block `number`, which comes to `total`, is whole: `offset` is what all up to it come
 * to. within: what those of its group do; before: the groups before. */
#define ADVANCE(A, COMBINE, number, total, before, within, offset)                       \
    do {                                                                                 \
        const int64_t next = (number) + 1;                                               \
        within = (number) % GROUPED == 0 ? (total) : (A)(COMBINE(within, (total)));      \
        if (next % GROUPED == 0)                                                         \
            before = next == GROUPED ? within : (A)(COMBINE(before, within));            \
        offset = next % GROUPED == 0 ? before                                            \
                 : next < GROUPED    ? within                                            \
                                     : (A)(COMBINE(before, within));                        \
    } while (0)

/* A line whose elements are neighbours. Four blocks go side by side, so that none waits
 * for its own last sum. */
#define ALONE(name, dt, A, COMBINE)                                                      \
    static inline __attribute__((always_inline)) void name##_alone_##dt(                 \
        const dt *from, dt *to, int64_t extent, int64_t step) {                          \
        A local[ABREAST * BLOCK], offset = 0, before = 0, within = 0;                    \
        for (int64_t at = 0; at < extent; at += ABREAST * BLOCK) {                       \
            const int64_t left = extent - at, n = ABREAST * BLOCK;                       \
            if (left >= n) {                                                             \
                A sofar[ABREAST];                                                        \
                for (int64_t g = 0; g < ABREAST; g++)                                    \
                    local[g * BLOCK] = sofar[g] =                                        \
                        (A)LOAD_##dt(from[(at + g * BLOCK) * step]);                     \
                for (int64_t i = 1; i < BLOCK; i++)                                      \
                    for (int64_t g = 0; g < ABREAST; g++) {                              \
                        const A next = (A)LOAD_##dt(from[(at + g * BLOCK + i) * step]);  \
                        sofar[g] = (A)(COMBINE(sofar[g], next));                         \
                        local[g * BLOCK + i] = sofar[g];                                 \
                    }                                                                    \
            } else {                                                                     \
                for (int64_t i = 0; i < left; i++) {                                     \
                    const A next = (A)LOAD_##dt(from[(at + i) * step]);                  \
                    local[i] = i % BLOCK ? (A)(COMBINE(local[i - 1], next)) : next;      \
                }                                                                        \
            }                                                                            \
            for (int64_t b = 0; b < ABREAST && b * BLOCK < left; b++) {                  \
                const A *here = local + b * BLOCK;                                       \
                const int64_t rest = left - b * BLOCK, m = rest < BLOCK ? rest : BLOCK;  \
                const bool first = at + b == 0;                                          \
                dt *out = to + (at + b * BLOCK) * step;                                  \
                if (first) {                                                             \
                    for (int64_t i = 0; i < m; i++)                                      \
                        out[i * step] = KEEP_##A##_##dt(here[i]);                        \
                } else {                                                                 \
                    PITHP_SIMD                                                           \
                    for (int64_t i = 0; i < m; i++) {                                    \
                        const A all = (A)(COMBINE(offset, here[i]));                     \
                        out[i * step] = KEEP_##A##_##dt(all);                            \
                    }                                                                    \
                }                                                                        \
                ADVANCE(A, COMBINE, at / BLOCK + b, here[m - 1], before, within,         \
                        offset);                                                         \
            }                                                                            \
        }                                                                                \
    }

#define SCAN(name, dt, A, COMBINE)                                                       \
    ALONE(name, dt, A, COMBINE)                                                          \
    static void name##_##dt(const void *args, int64_t begin, int64_t end) {              \
        const scan_args *a = args;                                                       \
        for (int64_t line = begin; line < end;) {                                        \
            const int64_t first = line % a->inner;                                       \
            int64_t width = a->inner - first;                                            \
            width = width < end - line ? width : end - line;                             \
            width = width < LINES ? width : LINES;                                       \
            const int64_t base = line / a->inner * a->extent * a->inner + first;         \
            const int64_t step = a->reverse ? -a->inner : a->inner;                      \
            const int64_t start = a->reverse ? base + (a->extent - 1) * a->inner : base; \
            const dt *from = (const dt *)a->from + start;                                \
            dt *to = (dt *)a->to + start;                                                \
            if (a->inner == 1) {                                                         \
                if (a->reverse)                                                          \
                    name##_alone_##dt(from, to, a->extent, -1);                          \
                else                                                                     \
                    name##_alone_##dt(from, to, a->extent, 1);                           \
                line++;                                                                  \
                continue;                                                                \
            }                                                                            \
            A sofar[LINES] = {0}, offset[LINES] = {0}, before[LINES] = {0},              \
              within[LINES] = {0};                                                       \
            for (int64_t i = 0; i < a->extent; i++, from += step, to += step) {          \
                if (i % BLOCK == 0) { /* what is whole goes to the offsets */            \
                    for (int64_t j = 0; j < width; j++) {                                \
                        if (i > 0)                                                       \
                            ADVANCE(A, COMBINE, i / BLOCK - 1, sofar[j], before[j],      \
                                    within[j], offset[j]);                               \
                        sofar[j] = (A)LOAD_##dt(from[j]);                                \
                    }                                                                    \
                } else {                                                                 \
                    PITHP_SIMD                                                           \
                    for (int64_t j = 0; j < width; j++) {                                \
                        const A next = (A)LOAD_##dt(from[j]);                            \
                        sofar[j] = (A)(COMBINE(sofar[j], next));                         \
                    }                                                                    \
                }                                                                        \
                if (i < BLOCK) {                                                         \
                    PITHP_SIMD                                                           \
                    for (int64_t j = 0; j < width; j++)                                  \
                        to[j] = KEEP_##A##_##dt(sofar[j]);                               \
                } else {                                                                 \
                    PITHP_SIMD                                                           \
                    for (int64_t j = 0; j < width; j++) {                                \
                        const A all = (A)(COMBINE(offset[j], sofar[j]));                 \
                        to[j] = KEEP_##A##_##dt(all);                                    \
                    }                                                                    \
                }                                                                        \
            }                                                                            \
            line += width;                                                               \
        }                                                                                \
    }                                                                                    \
    static const pithp_host_loop name##_##dt##_loops[PITHP_ISA_COUNT] = {name##_##dt};

/* From an accumulator to an element. */
#define KEEP_u32_i8(x)   ((i8)(x))
#define KEEP_u32_i16(x)  ((i16)(x))
#define KEEP_u32_i32(x)  ((i32)(x))
#define KEEP_u64_i64(x)  ((i64)(x))
#define KEEP_u32_u8(x)   ((u8)(x))
#define KEEP_u32_u16(x)  ((u16)(x))
#define KEEP_u32_u32(x)  (x)
#define KEEP_u64_u64(x)  (x)
#define KEEP_f64_f16(x)  STORE_f16((f32)(x))
#define KEEP_f64_bf16(x) STORE_bf16((f32)(x))
#define KEEP_f64_f32(x)  ((f32)(x))
#define KEEP_f64_f64(x)  (x)
#define KEEP_b8_b8(x)    (x)
#define KEEP_i8_i8(x)    (x)
#define KEEP_i16_i16(x)  (x)
#define KEEP_i32_i32(x)  (x)
#define KEEP_i64_i64(x)  (x)
#define KEEP_u8_u8(x)    (x)
#define KEEP_u16_u16(x)  (x)
#define KEEP_f32_f16(x)  STORE_f16(x)
#define KEEP_f32_bf16(x) STORE_bf16(x)
#define KEEP_f32_f32(x)  (x)

#define ADD(a, b) ((a) + (b))
#define MUL(a, b) ((a) * (b))
/* Any NaN wins, and the first of equals. */
#define LEAST(a, b)    (((a) <= (b)) | ((a) != (a)) ? (a) : (b))
#define GREATEST(a, b) (((a) >= (b)) | ((a) != (a)) ? (a) : (b))

/* X(dt, accumulator of sums, of extremes) */
#define NUMBERS(X)                                                                       \
    X(i8, u32, i8)                                                                       \
    X(i16, u32, i16)                                                                     \
    X(i32, u32, i32)                                                                     \
    X(i64, u64, i64)                                                                     \
    X(u8, u32, u8)                                                                       \
    X(u16, u32, u16)                                                                     \
    X(u32, u32, u32)                                                                     \
    X(u64, u64, u64)                                                                     \
    X(f16, f64, f32)                                                                     \
    X(bf16, f64, f32)                                                                    \
    X(f32, f64, f32)                                                                     \
    X(f64, f64, f64)

#define SCANS(dt, A, E)                                                                  \
    SCAN(cumsum, dt, A, ADD)                                                             \
    SCAN(cumprod, dt, A, MUL)                                                            \
    SCAN(cummin, dt, E, LEAST)                                                           \
    SCAN(cummax, dt, E, GREATEST)
NUMBERS(SCANS)
SCAN(cummin, b8, b8, LEAST)
SCAN(cummax, b8, b8, GREATEST)
SCAN(cumlogsumexp, f16, f64, m_log_add)
SCAN(cumlogsumexp, bf16, f64, m_log_add)
SCAN(cumlogsumexp, f32, f64, m_log_add)
SCAN(cumlogsumexp, f64, f64, m_log_add)

#define COLUMN(dt, A, E)   [PITH_DTYPE_OF_##dt] = NAME(dt),
#define PITH_DTYPE_OF_i8   PITH_I8
#define PITH_DTYPE_OF_i16  PITH_I16
#define PITH_DTYPE_OF_i32  PITH_I32
#define PITH_DTYPE_OF_i64  PITH_I64
#define PITH_DTYPE_OF_u8   PITH_U8
#define PITH_DTYPE_OF_u16  PITH_U16
#define PITH_DTYPE_OF_u32  PITH_U32
#define PITH_DTYPE_OF_u64  PITH_U64
#define PITH_DTYPE_OF_f16  PITH_F16
#define PITH_DTYPE_OF_bf16 PITH_BF16
#define PITH_DTYPE_OF_f32  PITH_F32
#define PITH_DTYPE_OF_f64  PITH_F64

static const pithp_host_loop *const cumsum_loops[PITH_DTYPE_COUNT] = {
#define NAME(dt) cumsum_##dt##_loops
    NUMBERS(COLUMN)
#undef NAME
};
static const pithp_host_loop *const cumprod_loops[PITH_DTYPE_COUNT] = {
#define NAME(dt) cumprod_##dt##_loops
    NUMBERS(COLUMN)
#undef NAME
};
static const pithp_host_loop *const cummin_loops[PITH_DTYPE_COUNT] = {[PITH_BOOL] =
                                                                          cummin_b8_loops,
#define NAME(dt) cummin_##dt##_loops
                                                                      NUMBERS(COLUMN)
#undef NAME
};
static const pithp_host_loop *const cummax_loops[PITH_DTYPE_COUNT] = {[PITH_BOOL] =
                                                                          cummax_b8_loops,
#define NAME(dt) cummax_##dt##_loops
                                                                      NUMBERS(COLUMN)
#undef NAME
};
static const pithp_host_loop *const cumlogsumexp_loops[PITH_DTYPE_COUNT] = {
    [PITH_F16] = cumlogsumexp_f16_loops,
    [PITH_BF16] = cumlogsumexp_bf16_loops,
    [PITH_F32] = cumlogsumexp_f32_loops,
    [PITH_F64] = cumlogsumexp_f64_loops,
};

static const pithp_host_loop *loops_of(pithp_primitive primitive, pith_dtype dtype) {
    return primitive == PITHP_OP_CUMSUM    ? cumsum_loops[dtype]
           : primitive == PITHP_OP_CUMPROD ? cumprod_loops[dtype]
           : primitive == PITHP_OP_CUMMIN  ? cummin_loops[dtype]
           : primitive == PITHP_OP_CUMMAX  ? cummax_loops[dtype]
                                           : cumlogsumexp_loops[dtype];
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
    const int64_t grain = 4096 / a.extent + 1;
    return pithp_emit(sink, pithp_rows[call->primitive].name,
                      loops_of(call->primitive, result->dtype), &a, sizeof a,
                      result->count / a.extent, grain);
}
