/* Operation table: the rows as data, and dispatch to the rules of each row. */
#include "base/format.h"
#include "program/op/rules.h"
#include "program/op/trait_names.h"

#include <string.h>

enum { VARIADIC = PITHP_VARIADIC, SAME = 0, BOOL = 1 };
enum {
    INTEGER = 1 << PITH_I8 | 1 << PITH_I16 | 1 << PITH_I32 | 1 << PITH_I64 |
              1 << PITH_U8 | 1 << PITH_U16 | 1 << PITH_U32 | 1 << PITH_U64,
    REAL = 1 << PITH_F16 | 1 << PITH_BF16 | 1 << PITH_F32 | 1 << PITH_F64,
    BITS = INTEGER | 1 << PITH_BOOL,
    NUMERIC = INTEGER | REAL,
    ANY = BITS | REAL,
    WHERE = ANY
};

const pithp_op_info pithp_ops[PITHP_PRIMITIVE_COUNT] = {
#define PITHP_ELEMENTWISE(ENUM, text, operands, types, result, r, i, bits, ...)          \
    [PITHP_OP_##ENUM] = {.name = text,                                                   \
                         .arity = operands,                                              \
                         .traits = (bits) | POINTWISE,                                   \
                         .combine = PITHP_OP_NONE,                                       \
                         .predicate = result,                                            \
                         .dtypes = types,                                                \
                         .real = #r,                                                     \
                         .integer = #i},
#define PITHP_STRUCTURAL(ENUM, text, operands, rule, bits, by, ...)                      \
    [PITHP_OP_##ENUM] = {                                                                \
        .name = text, .arity = operands, .traits = bits, .combine = PITHP_OP_##by},
#define PITHP_CONTROL(ENUM, text, operands, rule, bits, ...)                             \
    PITHP_STRUCTURAL(ENUM, text, operands, rule, bits, NONE, )
#include "program/op/primitives.def"
};

/* ---- Rules ---- */

static const struct {
    pith_status (*infer)(const pithp_call *, pith_spec *, pithp_refusal *);
    size_t (*temporary)(const pithp_call *, const pith_spec *);
    pith_status (*lower)(const pithp_call *,
                         const pith_spec *,
                         const pithp_memory *,
                         const pithp_sink *);
} rules[PITHP_LOWERED_COUNT - PITHP_ELEMENTWISE_COUNT] = {
#define PITHP_STRUCTURAL(ENUM, text, operands, rule, ...)                                \
    [PITHP_OP_##ENUM - PITHP_ELEMENTWISE_COUNT] = {                                      \
        pithp_infer_##rule, pithp_temporary_##rule, pithp_lower_##rule},
#include "program/op/primitives.def"
};

static const struct {
    int (*count)(const pithp_call *);
    pith_status (*infer)(const pithp_call *, pith_spec *, pithp_refusal *);
} control[PITHP_PRIMITIVE_COUNT - PITHP_LOWERED_COUNT] = {
#define PITHP_CONTROL(ENUM, text, operands, rule, ...)                                   \
    [PITHP_OP_##ENUM - PITHP_LOWERED_COUNT] = {pithp_count_##rule, pithp_infer_##rule},
#include "program/op/primitives.def"
};

int pithp_result_count(const pithp_call *call) {
    return pithp_is_lowered(call->primitive)
               ? 1
               : control[call->primitive - PITHP_LOWERED_COUNT].count(call);
}

pith_status
pithp_infer(const pithp_call *call, pith_spec *result, pithp_refusal *refusal) {
    const pithp_op_info *info = &pithp_ops[call->primitive];
    if (PITHP_UNLIKELY(info->arity != PITHP_VARIADIC &&
                       info->arity != call->operand_count))
        return pithp_refuse(call, refusal, PITH_E_ARG, "expected %d operands, got %d",
                            info->arity, call->operand_count);
    if (pithp_is_elementwise(call->primitive))
        return pithp_infer_elementwise(call, result, refusal);
    if (!pithp_is_lowered(call->primitive))
        return control[call->primitive - PITHP_LOWERED_COUNT].infer(call, result,
                                                                    refusal);
    return rules[call->primitive - PITHP_ELEMENTWISE_COUNT].infer(call, result, refusal);
}

size_t pithp_temporary_bytes(const pithp_call *call, const pith_spec *result) {
    if (pithp_is_elementwise(call->primitive))
        return 0;
    return rules[call->primitive - PITHP_ELEMENTWISE_COUNT].temporary(call, result);
}

pith_status pithp_lower(const pithp_call *call,
                        const pith_spec *result,
                        const pithp_memory *memory,
                        const pithp_sink *sink) {
    if (pithp_is_elementwise(call->primitive))
        return pithp_lower_elementwise(call, result, memory, sink);
    return rules[call->primitive - PITHP_ELEMENTWISE_COUNT].lower(call, result, memory,
                                                                  sink);
}

/* ---- Helpers shared by rules ---- */

pith_status pithp_refuse(const pithp_call *call,
                         pithp_refusal *refusal,
                         pith_status code,
                         const char *format,
                         ...) {
    va_list arguments;
    refusal->code = code;
    refusal->function = pithp_ops[call->primitive].name;
    va_start(arguments, format);
    pithp_format_v(refusal->text, sizeof refusal->text, format, arguments);
    va_end(arguments);
    return code;
}

pith_status pithp_spec_fill(const pithp_call *call,
                            pithp_refusal *refusal,
                            pith_spec *result,
                            pith_dtype dtype,
                            int rank,
                            const int64_t *shape) {
    int64_t count = 1;
    bool empty = false;
    for (int d = 0; d < rank; d++)
        empty |= shape[d] == 0;
    for (int d = 0; d < rank; d++)
        if (!empty && __builtin_mul_overflow(count, shape[d], &count))
            return pithp_refuse(call, refusal, PITH_E_OVERFLOW,
                                "the result has too many elements");
    count = empty ? 0 : count;
    int64_t bytes;
    if (__builtin_mul_overflow(count, (int64_t)pith_dtype_size(dtype), &bytes))
        return pithp_refuse(call, refusal, PITH_E_OVERFLOW,
                            "the result has too many bytes");
    if (rank && shape != result->shape)
        memmove(result->shape, shape, (size_t)rank * sizeof *shape);
    for (int d = rank; d < PITHP_MAX_RANK; d++)
        result->shape[d] = 0;
    result->dtype = dtype;
    result->rank = rank;
    result->count = count;
    result->bytes = (size_t)bytes;
    return PITH_OK;
}

static int kind_of(pith_dtype dtype) {
#define PITHP_KIND_CASE(name, NAME, type, bytes, kind)                                   \
    case PITH_##NAME:                                                                    \
        return kind;
    switch (dtype) {
        PITH_DTYPE_LIST(PITHP_KIND_CASE)
        case PITH_DTYPE_NONE:
            break;
    }
    return 0;
}

pith_dtype pithp_promote(pith_dtype a, pith_dtype b) {
    if (a == b)
        return a;
    const int p = kind_of(a), q = kind_of(b);
    const size_t size_a = pith_dtype_size(a), size_b = pith_dtype_size(b);
    const pith_dtype wider = size_a > size_b ? a : b;
    if (p == 'f' && q == 'f') {
        return size_a == size_b ? PITH_DTYPE_NONE
                                : wider; /* f16 and bf16 have no common dtype */
    }
    if (p == q)
        return p ? wider : PITH_DTYPE_NONE;
    if ((p == 'i' && q == 'u') || (p == 'u' && q == 'i')) {
        const size_t size_i = p == 'i' ? size_a : size_b;
        const size_t size_u = p == 'i' ? size_b : size_a;
        if (size_u < size_i)
            return wider;
        return size_u == 1   ? PITH_I16
               : size_u == 2 ? PITH_I32
               : size_u == 4 ? PITH_I64
                             : PITH_DTYPE_NONE;
    }
    return PITH_DTYPE_NONE;
}
