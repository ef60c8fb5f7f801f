/* Elementwise calls: type inference, and launches that run block functions over ranges of
 * the result. Broadcast operands are packed, block by block, into buffers in cache. */
#include "program/host/pack.h"
#include "program/op/rules.h"

#include <stddef.h>
#include <string.h>

/* Elements of a block: three operands and a result fit in the L1 cache. */
enum { BLOCK = 512, OPERANDS = 3 };

#define BY_ISA(name)                                                                     \
    extern const pithp_block_function name##_base[][PITH_DTYPE_COUNT];                   \
    extern const pithp_block_function name##_v3[][PITH_DTYPE_COUNT];                     \
    extern const pithp_block_function name##_v4[][PITH_DTYPE_COUNT];
BY_ISA(pithp_elementwise)
BY_ISA(pithp_cast)
#ifdef __x86_64__
#    define TABLES(name)                                                                 \
        { name##_base, name##_v3, name##_v4 }
#else
#    define TABLES(name)                                                                 \
        { name##_base, name##_base, name##_base }
#endif
const pithp_elementwise_table pithp_elementwise_tables[PITHP_ISA_COUNT] =
    TABLES(pithp_elementwise);
const pithp_elementwise_table pithp_cast_tables[PITHP_ISA_COUNT] = TABLES(pithp_cast);

/* ---- Specs ---- */

static pith_status
refuse_dtypes(const pithp_call *call, pithp_refusal *refusal, const char *wanted) {
    char texts[OPERANDS][PITHP_SPEC_TEXT_BYTES];
    for (int k = 0; k < call->operand_count; k++)
        pithp_spec_print(call->operands[k], texts[k]);
    switch (call->operand_count) {
        case 1:
            return pithp_refuse(call, refusal, PITH_E_DTYPE, "expected %s, got %s",
                                wanted, texts[0]);
        case 2:
            return pithp_refuse(call, refusal, PITH_E_DTYPE, "expected %s, got %s and %s",
                                wanted, texts[0], texts[1]);
        default:
            return pithp_refuse(call, refusal, PITH_E_DTYPE,
                                "expected %s, got %s, %s and %s", wanted, texts[0],
                                texts[1], texts[2]);
    }
}

/* Broadcast b's shape into `shape` (of the given rank); false if they do not match. */
static bool broadcast_into(int64_t *shape, int *rank, const pith_spec *b) {
    if (b->rank > *rank) {
        const int more = b->rank - *rank;
        memmove(shape + more, shape, (size_t)*rank * sizeof *shape);
        for (int d = 0; d < more; d++)
            shape[d] = 1;
        *rank = b->rank;
    }
    for (int d = 0, at = *rank - b->rank; d < b->rank; d++, at++) {
        if (shape[at] == 1)
            shape[at] = b->shape[d];
        else if (b->shape[d] != 1 && b->shape[d] != shape[at])
            return false;
    }
    return true;
}

/* Refuse, naming the shapes of all operands. */
static pith_status refuse_shapes(const pithp_call *call, pithp_refusal *refusal) {
    const pith_spec *const *x = call->operands;
    char text[OPERANDS][PITHP_SPEC_TEXT_BYTES] = {""};
    for (int k = 0; k < call->operand_count; k++)
        pithp_shape_print(x[k]->rank, x[k]->shape, text[k]);
    return pithp_refuse(call, refusal, PITH_E_SHAPE, "cannot broadcast %s with %s%s%s",
                        text[0], text[1], call->operand_count > 2 ? " and " : "",
                        text[2]);
}

pith_status pithp_infer_elementwise(const pithp_call *call,
                                    pith_spec *result,
                                    pithp_refusal *refusal) {
    const pithp_op_info *info = &pithp_ops[call->primitive];
    const pith_spec *const *x = call->operands;
    const int n = call->operand_count, first = call->primitive == PITHP_OP_WHERE;
    if (first && x[0]->dtype != PITH_BOOL)
        return refuse_dtypes(call, refusal, "a bool condition and two of one dtype");
    for (int k = first + 1; k < n; k++)
        if (x[k]->dtype != x[first]->dtype)
            return refuse_dtypes(call, refusal, "operands of one dtype");
    const unsigned numbers = 1u << PITH_F64 | 1u << PITH_I64, takes = info->dtypes;
    if (!(takes >> x[first]->dtype & 1))
        return refuse_dtypes(call, refusal,
                             (takes & numbers) == numbers ? "numbers"
                             : takes >> PITH_F64 & 1      ? "floats"
                             : takes >> PITH_BOOL & 1     ? "integers or bool"
                                                          : "integers");
    int rank = x[0]->rank;
    int64_t shape[PITHP_MAX_RANK];
    memcpy(shape, x[0]->shape, (size_t)rank * sizeof *shape);
    for (int k = 1; k < n; k++)
        if (PITHP_UNLIKELY(!broadcast_into(shape, &rank, x[k])))
            return refuse_shapes(call, refusal);
    const pith_dtype dtype = info->predicate ? PITH_BOOL : x[first]->dtype;
    return pithp_spec_fill(call, refusal, result, dtype, rank, shape);
}

pith_status
pithp_infer_cast(const pithp_call *call, pith_spec *result, pithp_refusal *refusal) {
    const pithp_cast_params *p = call->params;
    const pith_spec *x = call->operands[0];
    if (p->dtype <= PITH_DTYPE_NONE || p->dtype >= PITH_DTYPE_COUNT)
        return pithp_refuse(call, refusal, PITH_E_DTYPE, "no such dtype (%d)",
                            (int)p->dtype);
    return pithp_spec_fill(call, refusal, result, p->dtype, x->rank, x->shape);
}

PITHP_NO_TEMPORARY(cast)

/* ---- Loops over operands with the result's layout ---- */

typedef struct flat_args {
    const pithp_elementwise_table *tables; /* one per instruction set */
    int operation, dtype;                  /* of the block function in a table */
    char *to;
    const char *from[OPERANDS]; /* NULL: no operand */
    int32_t to_size, size[OPERANDS];
} flat_args;

static inline void flat(pithp_isa isa, const void *args, int64_t begin, int64_t end) {
    const flat_args *a = args;
    const void *at[OPERANDS];
    for (int k = 0; k < OPERANDS; k++)
        at[k] = a->from[k] ? a->from[k] + begin * a->size[k] : NULL;
    a->tables[isa][a->operation][a->dtype](a->to + begin * a->to_size, at[0], at[1],
                                           at[2], end - begin);
}
PITHP_LOOPS(flat)

/* ---- Loops over broadcast operands ---- */

/* The result's index space after coalescing. Every stride is 0 or that of the operand's
 * own C order, so the innermost ones are 0 or 1. */
typedef struct broadcast_args {
    flat_args flat;
    int32_t rank;
    int32_t
        period; /* least number of elements after which all periodic operands repeat */
    int64_t shape[PITHP_MAX_RANK];
    struct {
        int64_t stride[PITHP_MAX_RANK]; /* in elements */
        bool whole;                     /* has the result's layout */
        bool periodic; /* repeats with the period, so that every block sees the same
                          elements */
    } operand[OPERANDS];
} broadcast_args;

/* Pack elements begin..begin+n of a broadcast operand. */
static void stage(const broadcast_args *a, int k, char *to, int64_t begin, int64_t n) {
    pithp_stage_view(to, a->flat.from[k], a->flat.size[k], a->rank, a->shape,
                     a->operand[k].stride, begin, n);
}

static inline void
broadcast(pithp_isa isa, const void *args, int64_t begin, int64_t end) {
    const broadcast_args *a = args;
    const flat_args *f = &a->flat;
    const pithp_block_function block = f->tables[isa][f->operation][f->dtype];
    _Alignas(64) char buffers[OPERANDS][BLOCK * sizeof(uint64_t)];
    const int64_t length = BLOCK / a->period * a->period;
    const int64_t first = end - begin < length ? end - begin : length;
    for (int k = 0; k < OPERANDS; k++)
        if (f->from[k] && a->operand[k].periodic)
            stage(a, k, buffers[k], begin, first);
    for (int64_t i = begin; i < end; i += length) {
        const int64_t n = end - i < length ? end - i : length;
        const void *at[OPERANDS] = {NULL};
        for (int k = 0; k < OPERANDS && f->from[k]; k++) {
            if (a->operand[k].whole) {
                at[k] = f->from[k] + i * f->size[k];
                continue;
            }
            if (!a->operand[k].periodic)
                stage(a, k, buffers[k], i, n);
            at[k] = buffers[k];
        }
        block(f->to + i * f->to_size, at[0], at[1], at[2], n);
    }
}
PITHP_LOOPS(broadcast)

/* ---- Lowering ---- */

static void fill_flat(flat_args *a,
                      const pithp_call *call,
                      const pith_spec *result,
                      const pithp_memory *memory) {
    const bool cast = call->primitive == PITHP_OP_CAST;
    const pith_dtype last = call->operands[call->operand_count - 1]->dtype;
    a->tables = cast ? pithp_cast_tables : pithp_elementwise_tables;
    a->operation = cast ? (int)last : (int)call->primitive;
    a->dtype = cast ? (int)result->dtype : (int)last;
    a->to = memory->result;
    a->to_size = (int32_t)pith_dtype_size(result->dtype);
    for (int k = 0; k < OPERANDS; k++) {
        a->from[k] = k < call->operand_count ? memory->operands[k] : NULL;
        a->size[k] = k < call->operand_count
                         ? (int32_t)pith_dtype_size(call->operands[k]->dtype)
                         : 0;
    }
}

/* Coalesce the result's index space together with the strides of every operand. */
static void
fill_space(broadcast_args *a, const pithp_call *call, const pith_spec *result) {
    int64_t *stride[OPERANDS];
    /* A prepared call compares all words. */
    memset(&a->rank, 0, sizeof *a - offsetof(broadcast_args, rank));
    memcpy(a->shape, result->shape, (size_t)result->rank * sizeof a->shape[0]);
    for (int k = 0; k < call->operand_count; k++) {
        const pith_spec *x = call->operands[k];
        stride[k] = a->operand[k].stride;
        pithp_broadcast_strides(result->rank, stride[k], x->rank, x->shape);
    }
    a->rank =
        pithp_coalesce(result->rank, a->shape, call->operand_count, stride, 0, NULL);
}

pith_status pithp_lower_elementwise(const pithp_call *call,
                                    const pith_spec *result,
                                    const pithp_memory *memory,
                                    const pithp_sink *sink) {
    const char *name = pithp_ops[call->primitive].name;
    const int n = call->operand_count;
    bool whole = true;
    broadcast_args a;
    fill_flat(&a.flat, call, result, memory);
    for (int k = 0; k < n; k++)
        whole &= call->operands[k]->count == result->count;
    if (PITHP_LIKELY(whole))
        return pithp_launch_loops(sink, name, flat_loops, &a.flat, sizeof a.flat,
                                  result->count, 0);
    fill_space(&a, call, result);
    a.period = 1;
    for (int k = 0; k < n; k++) {
        const int64_t period = pithp_period(a.rank, a.shape, a.operand[k].stride);
        a.operand[k].whole = call->operands[k]->count == result->count;
        a.operand[k].periodic = !a.operand[k].whole && period && period <= BLOCK;
        if (a.operand[k].periodic && period > a.period)
            a.period = (int32_t)period;
    }
    return pithp_launch_loops(sink, name, broadcast_loops, &a, sizeof a, result->count,
                              0);
}

pith_status pithp_lower_cast(const pithp_call *call,
                             const pith_spec *result,
                             const pithp_memory *memory,
                             const pithp_sink *sink) {
    flat_args a;
    fill_flat(&a, call, result, memory);
    return pithp_launch_loops(sink, "cast", flat_loops, &a, sizeof a, result->count, 0);
}
