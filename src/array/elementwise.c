/* Elementwise operations: promotion, then the primitive, which broadcasts. */
#include "array/array_internal.h"

static const pith_array *unary(pith_scope *s,
                               pithp_primitive primitive,
                               const char *function,
                               const pith_array *a) {
    if (!pithp_enter(s) || pithp_array_check(s, a, function, "a") != PITH_OK)
        return NULL;
    return pithp_bind(s, primitive, 1, &a, NULL);
}

/* Cast operands to the dtype that all promote to. */
static pith_status
promote(pith_scope *s, const char *function, int count, const pith_array **operands) {
    pith_dtype dtype = pithp_array_spec(operands[0])->dtype;
    bool same = true;
    for (int i = 1; i < count; i++) {
        const pith_dtype other = pithp_array_spec(operands[i])->dtype;
        if (PITHP_LIKELY(other == dtype))
            continue;
        same = false;
        const pith_dtype both = pithp_promote(dtype, other);
        if (both == PITH_DTYPE_NONE)
            return pithp_fail(
                s, PITH_E_DTYPE, NULL,
                "%s: %s and %s have no common dtype; cast one with pith_cast", function,
                pith_dtype_name(dtype), pith_dtype_name(other));
        dtype = both;
    }
    for (int i = 0; !same && i < count; i++) {
        operands[i] = pithp_cast(s, operands[i], dtype);
        if (!operands[i])
            return s->error.code;
    }
    return PITH_OK;
}

static const pith_array *binary(pith_scope *s,
                                pithp_primitive primitive,
                                const char *function,
                                const pith_array *a,
                                const pith_array *b) {
    if (!pithp_enter(s) || pithp_array_check(s, a, function, "a") != PITH_OK ||
        pithp_array_check(s, b, function, "b") != PITH_OK)
        return NULL;
    const pith_array *operands[] = {a, b};
    if (promote(s, function, 2, operands) != PITH_OK)
        return NULL;
    return pithp_bind(s, primitive, 2, operands, NULL);
}

#define UNARY(name, PRIMITIVE)                                                           \
    const pith_array *pith_##name(pith_scope *s, const pith_array *a) {                  \
        return unary(s, PITHP_OP_##PRIMITIVE, "pith_" #name, a);                         \
    }
#define BINARY(name, PRIMITIVE)                                                          \
    const pith_array *pith_##name(pith_scope *s, const pith_array *a,                    \
                                  const pith_array *b) {                                 \
        return binary(s, PITHP_OP_##PRIMITIVE, "pith_" #name, a, b);                     \
    }

UNARY(neg, NEG)
UNARY(abs, ABS)
UNARY(sign, SIGN)
UNARY(square, SQUARE)
UNARY(reciprocal, RECIPROCAL)
UNARY(floor, FLOOR)
UNARY(ceil, CEIL)
UNARY(round, ROUND)
UNARY(trunc, TRUNC)
UNARY(sqrt, SQRT)
UNARY(rsqrt, RSQRT)
UNARY(cbrt, CBRT)
UNARY(exp, EXP)
UNARY(exp2, EXP2)
UNARY(expm1, EXPM1)
UNARY(log, LOG)
UNARY(log2, LOG2)
UNARY(log10, LOG10)
UNARY(log1p, LOG1P)
UNARY(sin, SIN)
UNARY(cos, COS)
UNARY(tan, TAN)
UNARY(asin, ASIN)
UNARY(acos, ACOS)
UNARY(atan, ATAN)
UNARY(sinh, SINH)
UNARY(cosh, COSH)
UNARY(tanh, TANH)
UNARY(asinh, ASINH)
UNARY(acosh, ACOSH)
UNARY(atanh, ATANH)
UNARY(erf, ERF)
UNARY(erfc, ERFC)
UNARY(lgamma, LGAMMA)
UNARY(tgamma, TGAMMA)
UNARY(logistic, LOGISTIC)
UNARY(is_nan, IS_NAN)
UNARY(is_inf, IS_INF)
UNARY(is_finite, IS_FINITE)
UNARY(logical_not, LOGICAL_NOT)
UNARY(bitwise_not, BITWISE_NOT)

BINARY(add, ADD)
BINARY(sub, SUB)
BINARY(mul, MUL)
BINARY(floor_divide, FLOOR_DIVIDE)
BINARY(remainder, REMAINDER)
BINARY(fmod, FMOD)
BINARY(pow, POWER)
BINARY(atan2, ATAN2)
BINARY(hypot, HYPOT)
BINARY(copysign, COPYSIGN)
BINARY(nextafter, NEXTAFTER)
BINARY(minimum, MIN)
BINARY(maximum, MAX)
BINARY(fmin, FMIN)
BINARY(fmax, FMAX)
BINARY(equal, EQ)
BINARY(not_equal, NE)
BINARY(less, LT)
BINARY(less_equal, LE)
BINARY(greater, GT)
BINARY(greater_equal, GE)
BINARY(logical_and, LOGICAL_AND)
BINARY(logical_or, LOGICAL_OR)
BINARY(logical_xor, LOGICAL_XOR)
BINARY(bitwise_and, BITWISE_AND)
BINARY(bitwise_or, BITWISE_OR)
BINARY(bitwise_xor, BITWISE_XOR)
BINARY(shift_left, SHIFT_LEFT)
BINARY(shift_right, SHIFT_RIGHT)

static bool is_integer_array(const pith_array *a) {
    pithp_block *block = NULL;
    return pithp_pointer_check(a, &block) == PITHP_POINTER_OK && pithp_kind_is_array(a) &&
           !pith_dtype_is_float(pithp_array_spec(a)->dtype);
}

const pith_array *pith_div(pith_scope *s, const pith_array *a, const pith_array *b) {
    if (pithp_scope_writable(s) && s->error.code == PITH_OK && is_integer_array(a) &&
        is_integer_array(b)) {
        pithp_enter(s);
        pithp_fail(
            s, PITH_E_DTYPE, NULL,
            "pith_div: expected floats, got %s and %s; pith_floor_divide is for integers",
            pith_dtype_name(pithp_array_spec(a)->dtype),
            pith_dtype_name(pithp_array_spec(b)->dtype));
        return NULL;
    }
    return binary(s, PITHP_OP_DIV, "pith_div", a, b);
}

const pith_array *pith_where(pith_scope *s,
                             const pith_array *condition,
                             const pith_array *a,
                             const pith_array *b) {
    if (!pithp_enter(s) ||
        pithp_array_check(s, condition, "pith_where", "condition") != PITH_OK ||
        pithp_array_check(s, a, "pith_where", "a") != PITH_OK ||
        pithp_array_check(s, b, "pith_where", "b") != PITH_OK)
        return NULL;
    const pith_array *operands[] = {condition, a, b};
    if (promote(s, "pith_where", 2, operands + 1) != PITH_OK)
        return NULL;
    return pithp_bind(s, PITHP_OP_WHERE, 3, operands, NULL);
}

const pith_array *pith_clip(pith_scope *s,
                            const pith_array *a,
                            const pith_array *low,
                            const pith_array *high) {
    if (!pithp_enter(s) || pithp_array_check(s, a, "pith_clip", "a") != PITH_OK ||
        pithp_array_check(s, low, "pith_clip", "low") != PITH_OK ||
        pithp_array_check(s, high, "pith_clip", "high") != PITH_OK)
        return NULL;
    const pith_array *operands[] = {a, low, high};
    if (promote(s, "pith_clip", 3, operands) != PITH_OK)
        return NULL;
    return pithp_bind(s, PITHP_OP_CLIP, 3, operands, NULL);
}

const pith_array *pith_cast(pith_scope *s, const pith_array *a, pith_dtype dtype) {
    if (!pithp_enter(s) || pithp_array_check(s, a, "pith_cast", "a") != PITH_OK)
        return NULL;
    if (pith_dtype_size(dtype) == 0) {
        pithp_fail(s, PITH_E_DTYPE, NULL, "pith_cast: no dtype has the number %d",
                   (int)dtype);
        return NULL;
    }
    if (pithp_array_spec(a)->dtype == dtype)
        return pithp_alias(s, a, pithp_array_spec(a));
    return pithp_cast(s, a, dtype);
}
