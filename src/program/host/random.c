/* Random numbers by Threefry over arrays of keys, in JAX's layouts: type inference, and
 * numbers of words. */
#include "program/host/random.h"

#include "program/host/vector/random.h"
#include "program/host/vector/vector.h"
#include "program/op/thresholds.h"
#include "program/source/threefry.h"

#include <string.h>

/* ---- Specs ---- */

static pith_status check_key(const pithp_call *call, pithp_refusal *refusal) {
    const pith_spec *key = call->operands[0];
    char text[PITHP_SPEC_TEXT_BYTES];
    if (key->dtype != PITH_U32)
        return pithp_refuse(call, refusal, PITH_E_DTYPE,
                            "key: expected u32[...,2], got %s",
                            pithp_spec_print(key, text));
    if (key->rank < 1 || key->shape[key->rank - 1] != 2)
        return pithp_refuse(call, refusal, PITH_E_SHAPE,
                            "key: expected u32[...,2], got %s",
                            pithp_spec_print(key, text));
    return PITH_OK;
}

pith_status
pithp_infer_threefry(const pithp_call *call, pith_spec *result, pithp_refusal *refusal) {
    const pith_spec *key = call->operands[0], *x = call->operands[1];
    const bool counts = call->primitive == PITHP_OP_THREEFRY;
    const int leading = x->rank - counts;
    char first[PITHP_SPEC_TEXT_BYTES], second[PITHP_SPEC_TEXT_BYTES];
    pith_status rc = check_key(call, refusal);
    if (rc)
        return rc;
    pithp_spec_print(key, first);
    pithp_spec_print(x, second);
    if (x->dtype != PITH_U32)
        return pithp_refuse(call, refusal, PITH_E_DTYPE, "expected u32 after %s, got %s",
                            first, second);
    if (leading < 0 || (counts && x->shape[leading] != 2))
        return pithp_refuse(call, refusal, PITH_E_SHAPE,
                            "expected counts u32[...,2] after %s, got %s", first, second);
    if (key->rank != 1 &&
        (key->rank != leading + 1 ||
         memcmp(key->shape, x->shape, (size_t)leading * sizeof *x->shape) != 0))
        return pithp_refuse(call, refusal, PITH_E_SHAPE,
                            "expected the leading extents of %s, got %s", first, second);
    int64_t shape[PITHP_MAX_RANK + 1] = {0};
    memcpy(shape, x->shape, (size_t)leading * sizeof *shape);
    shape[leading] = 2;
    if (leading >= pithp_call_max_rank(call))
        return pithp_refuse(call, refusal, PITH_E_SHAPE,
                            "the result of %s would have rank %d, beyond %d", second,
                            leading + 1, pithp_call_max_rank(call));
    return pithp_spec_fill(call, refusal, result, PITH_U32, leading + 1, shape);
}
PITHP_NO_TEMPORARY(threefry)

/* Whether low, high and their difference are finite in the dtype. */
static bool is_bounded(pith_dtype dtype, double low, double high) {
    static const double greatest[PITH_DTYPE_COUNT] = {[PITH_F16] = 0x1.ffcp15,
                                                      [PITH_BF16] = 0x1.fep127,
                                                      [PITH_F32] = 0x1.fffffep127,
                                                      [PITH_F64] =
                                                          0x1.fffffffffffffp1023};
    return m_abs(low) <= greatest[dtype] && m_abs(high) <= greatest[dtype] &&
           m_abs(high - low) <= greatest[dtype];
}

static pith_status check_drawn(const pithp_call *call, pithp_refusal *refusal) {
    const pithp_random_params *p = call->params;
    const char *name = pith_dtype_name(p->dtype);
    const bool is_real = pith_dtype_is_float(p->dtype);
    if (call->primitive == PITHP_OP_RANDOM_SPLIT)
        return PITH_OK;
    if (call->primitive == PITHP_OP_RANDOM_INTEGERS)
        return pith_dtype_is_integer(p->dtype)
                   ? PITH_OK
                   : pithp_refuse(call, refusal, PITH_E_DTYPE,
                                  "expected an integer dtype, got %s", name);
    if (call->primitive == PITHP_OP_RANDOM_BITS)
        return p->dtype >= PITH_U8 && p->dtype <= PITH_U64
                   ? PITH_OK
                   : pithp_refuse(call, refusal, PITH_E_DTYPE,
                                  "expected an unsigned dtype, got %s", name);
    if (!is_real)
        return pithp_refuse(call, refusal, PITH_E_DTYPE, "expected a float dtype, got %s",
                            name);
    if (call->primitive == PITHP_OP_RANDOM_UNIFORM &&
        !is_bounded(p->dtype, p->low, p->high))
        return pithp_refuse(call, refusal, PITH_E_ARG,
                            "expected a range that is finite in %s, got %.17g to %.17g",
                            name, p->low, p->high);
    return PITH_OK;
}

pith_status
pithp_infer_random(const pithp_call *call, pith_spec *result, pithp_refusal *refusal) {
    const pithp_random_params *p = call->params;
    const pith_spec *key = call->operands[0];
    const bool split = call->primitive == PITHP_OP_RANDOM_SPLIT;
    pith_status rc = check_key(call, refusal);
    if (rc == PITH_OK)
        rc = check_drawn(call, refusal);
    if (rc)
        return rc;
    int64_t shape[PITHP_MAX_RANK];
    const int leading = key->rank - 1, rank = leading + p->rank + split;
    if (p->rank < 0 || p->rank > PITHP_MAX_RANK || rank > pithp_call_max_rank(call))
        return pithp_refuse(
            call, refusal, PITH_E_SHAPE,
            "a shape of rank %d after %d dimensions of keys: the rank is not within 0..%d",
            p->rank, leading + split, pithp_call_max_rank(call));
    memcpy(shape, key->shape, (size_t)leading * sizeof *shape);
    for (int d = 0; d < p->rank; d++) {
        if (p->shape[d] < 0)
            return pithp_refuse(call, refusal, PITH_E_SHAPE, "extent %lld is negative",
                                (long long)p->shape[d]);
        shape[leading + d] = p->shape[d];
    }
    if (split)
        shape[rank - 1] = 2;
    return pithp_spec_fill(call, refusal, result, split ? PITH_U32 : p->dtype, rank,
                           shape);
}
PITHP_NO_TEMPORARY(random)

/* ---- Launches ---- */

static double rounded(pith_dtype dtype, double x) {
    switch ((int)dtype) {
        case PITH_F16:
            return (double)m_load_f16(m_to_f16(x));
        case PITH_BF16:
            return (double)m_load_bf16(m_to_bf16(x));
        case PITH_F32:
            return (double)(float)x;
        default:
            return x;
    }
}

/* Floats: low, rounded to the dtype, and scale. Normal numbers are computed from the open
 * interval (-1, 1). */
static void set_range(pithp_cuda_random_args *a, const pithp_random_params *p) {
    static const double above_minus_one[PITH_DTYPE_COUNT] = {[PITH_F16] = -0x1.ffcp-1,
                                                             [PITH_BF16] = -0x1.fep-1,
                                                             [PITH_F32] = -0x1.fffffep-1,
                                                             [PITH_F64] =
                                                                 -0x1.fffffffffffffp-1};
    const bool normal = a->kind == PITHP_DRAW_NORMAL;
    const double high = normal ? 1 : p->high;
    a->low = rounded(p->dtype, normal ? above_minus_one[p->dtype] : p->low);
    a->scale = rounded(p->dtype, rounded(p->dtype, high) - a->low);
}

/* Integers: 2^width modulo the span, computed from 2^(width / 2). */
static void set_span(pithp_cuda_random_args *a, const pithp_random_params *p) {
    const uint64_t mask = a->width == 64 ? ~UINT64_C(0) : 0xffffffffu;
    a->least = p->least;
    a->span = (p->greatest - p->least + 1) & mask;
    if (p->unbiased) {
        a->multiplier = a->span ? (mask - a->span + 1) % a->span : 0;
    } else if (a->span) { /* 0 for spans above 2^(width / 2), as in JAX */
        const uint64_t root = (UINT64_C(1) << a->width / 2) % a->span;
        a->multiplier = (root * root & mask) % a->span;
    }
}

static int32_t width_of(const pithp_random_params *p, int kind) {
    const int32_t bits = 8 * (int32_t)pith_dtype_size(p->dtype);
    if (kind == PITHP_DRAW_INTEGERS)
        return bits < 32 ? 32 : bits;
    return p->dtype == PITH_BF16 ? 8 : bits; /* as many bits as the fraction needs */
}

/* Distribution of a row; not of a split. */
static int32_t kind_of(pithp_primitive primitive) {
    return primitive == PITHP_OP_RANDOM_BITS      ? PITHP_DRAW_BITS
           : primitive == PITHP_OP_RANDOM_UNIFORM ? PITHP_DRAW_UNIFORM
           : primitive == PITHP_OP_RANDOM_NORMAL  ? PITHP_DRAW_NORMAL
                                                  : PITHP_DRAW_INTEGERS;
}

pithp_cuda_random_args pithp_random_args_of(const pithp_call *call,
                                            const pith_spec *result,
                                            const pithp_memory *memory) {
    const pithp_random_params *p = call->params;
    pithp_random_params as = *p;
    pithp_cuda_random_args a = {.key = memory->operands[0],
                                .to = memory->result,
                                .keys = call->operands[0]->count / 2,
                                .original = p->original,
                                .unbiased = p->unbiased};
    a.count = result->count / a.keys;
    if (call->primitive ==
        PITHP_OP_RANDOM_SPLIT) { /* original layout: the words in order */
        a.kind = p->original ? PITHP_DRAW_BITS : PITHP_DRAW_KEYS;
        as.dtype = p->original ? PITH_U32 : PITH_U64;
        a.count /= p->original ? 1 : 2;
    } else {
        a.kind = kind_of(call->primitive);
    }
    a.dtype = (int32_t)as.dtype;
    a.size = (int32_t)pith_dtype_size(as.dtype);
    a.width = width_of(&as, a.kind);
    if (a.kind == PITHP_DRAW_UNIFORM || a.kind == PITHP_DRAW_NORMAL)
        set_range(&a, &as);
    if (a.kind == PITHP_DRAW_INTEGERS)
        set_span(&a, &as);
    a.pairs = a.count;
    if (p->original) {
        const int64_t each = a.width < 32 ? 32 / a.width : 1;
        a.words = a.width == 64 ? 2 * a.count : (a.count - 1) / each + 1;
        const int64_t stretches = a.words / M_STRETCH, rest = a.words % M_STRETCH;
        if (a.width != 64)
            a.pairs = stretches * M_STRETCH_PAIRS + (rest + 1) / 2;
    }
    return a;
}

static const pithp_host_loop random_loops[PITHP_ISA_COUNT] = {pithp_random_base,
#ifdef __x86_64__
                                                              pithp_random_v3,
                                                              pithp_random_v4
#endif
};

pith_status pithp_lower_random(const pithp_call *call,
                               const pith_spec *result,
                               const pithp_memory *memory,
                               const pithp_sink *sink) {
    if (result->count == 0)
        return PITH_OK;
    const pithp_cuda_random_args a = pithp_random_args_of(call, result, memory);
    return pithp_launch_loops(sink, pithp_ops[call->primitive].name, random_loops, &a,
                              sizeof a, a.keys * a.pairs, PITHP_RANDOM_GRAIN);
}

/* ---- Given pairs of counts ---- */

pithp_cuda_threefry_args pithp_threefry_args_of(const pithp_call *call,
                                                const pith_spec *result,
                                                const pithp_memory *memory) {
    const bool counts = call->primitive == PITHP_OP_THREEFRY;
    return (pithp_cuda_threefry_args){.key = memory->operands[0],
                                      .counts = counts ? memory->operands[1] : NULL,
                                      .data = counts ? NULL : memory->operands[1],
                                      .to = memory->result,
                                      .count = result->count / 2,
                                      .key_step = call->operands[0]->rank == 1 ? 0 : 2};
}

static void threefry(const void *args, int64_t begin, int64_t end) {
    const pithp_cuda_threefry_args *a = args;
    for (int64_t i = begin; i < end; i++) {
        const u32 *key = a->key + i * a->key_step;
        u32 x0 = a->counts ? a->counts[2 * i] : 0,
            x1 = a->counts ? a->counts[2 * i + 1] : a->data[i];
        m_threefry(key[0], key[1], &x0, &x1);
        a->to[2 * i] = x0;
        a->to[2 * i + 1] = x1;
    }
}
static const pithp_host_loop threefry_loops[PITHP_ISA_COUNT] = {threefry};

pith_status pithp_lower_threefry(const pithp_call *call,
                                 const pith_spec *result,
                                 const pithp_memory *memory,
                                 const pithp_sink *sink) {
    const pithp_cuda_threefry_args a = pithp_threefry_args_of(call, result, memory);
    return pithp_launch_loops(sink, pithp_ops[call->primitive].name, threefry_loops, &a,
                              sizeof a, a.count, PITHP_THREEFRY_GRAIN);
}

/* ---- Loops for direct callers ---- */

static pithp_draw_loop threefry_loop(const pithp_call *call,
                                     const pith_spec *result,
                                     const pithp_memory *nowhere) {
    const pithp_cuda_threefry_args a = pithp_threefry_args_of(call, result, nowhere);
    pithp_draw_loop loop = {.loops = threefry_loops,
                            .count = a.count,
                            .grain = PITHP_THREEFRY_GRAIN,
                            .bytes = sizeof a,
                            .operands = {offsetof(pithp_cuda_threefry_args, key)},
                            .result = offsetof(pithp_cuda_threefry_args, to)};
    loop.operands[1] = call->primitive == PITHP_OP_THREEFRY
                           ? offsetof(pithp_cuda_threefry_args, counts)
                           : offsetof(pithp_cuda_threefry_args, data);
    memcpy(loop.args, &a, sizeof a);
    return loop;
}

pithp_draw_loop pithp_draw_loop_of(const pithp_call *call, const pith_spec *result) {
    const void *operands[2] = {NULL, NULL};
    const pithp_memory nowhere = {.operands = operands};
    if (result->count == 0)
        return (pithp_draw_loop){.loops = NULL};
    if (call->primitive == PITHP_OP_THREEFRY || call->primitive == PITHP_OP_FOLD_IN)
        return threefry_loop(call, result, &nowhere);
    if (!pithp_op_has(call->primitive, PITHP_TRAIT_RANDOM))
        return (pithp_draw_loop){.loops = NULL};
    const pithp_cuda_random_args a = pithp_random_args_of(call, result, &nowhere);
    pithp_draw_loop loop = {.loops = random_loops,
                            .count = a.keys * a.pairs,
                            .grain = PITHP_RANDOM_GRAIN,
                            .bytes = sizeof a,
                            .operands = {offsetof(pithp_cuda_random_args, key)},
                            .result = offsetof(pithp_cuda_random_args, to)};
    memcpy(loop.args, &a, sizeof a);
    return loop;
}
_Static_assert(sizeof(pithp_cuda_random_args) <= PITHP_DRAW_BYTES &&
                   sizeof(pithp_cuda_threefry_args) <= PITHP_DRAW_BYTES,
               "there is room for the arguments");
