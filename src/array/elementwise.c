/* Elementwise operations: promotion, then the primitive, which broadcasts. */
#include "array/array_internal.h"

static const pith_array *unary(pith_scope *s,
                               pithp_primitive primitive,
                               const char *function,
                               const pith_array *a) {
    if (!pithp_enter_as(s, function) ||
        pithp_operand_check(s, a, function, "a") != PITH_OK)
        return NULL;
    return pithp_bind(s, primitive, 1, &a, NULL);
}

pith_dtype
pithp_promote_dtypes(pith_scope *s, const char *function, pith_dtype a, pith_dtype b) {
    const pith_dtype both = pithp_promote(a, b);
    if (both == PITH_DTYPE_NONE)
        pithp_fail(s, PITH_E_DTYPE, NULL,
                   "%s: %s and %s have no common dtype; cast one with pith_cast",
                   s->caller ? s->caller : function, pith_dtype_name(a),
                   pith_dtype_name(b));
    return both;
}

pith_status pithp_promote_all(pith_scope *s,
                              const char *function,
                              int count,
                              const pith_array **operands) {
    pith_dtype dtype = pithp_array_spec(operands[0])->dtype;
    bool same = true;
    for (int i = 1; i < count; i++) {
        const pith_dtype other = pithp_array_spec(operands[i])->dtype;
        if (PITHP_LIKELY(other == dtype))
            continue;
        same = false;
        dtype = pithp_promote_dtypes(s, function, dtype, other);
        if (dtype == PITH_DTYPE_NONE)
            return s->error.code;
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
    if (!pithp_enter_as(s, function) ||
        pithp_operand_check(s, a, function, "a") != PITH_OK ||
        pithp_operand_check(s, b, function, "b") != PITH_OK)
        return NULL;
    const pith_array *operands[] = {a, b};
    if (pithp_promote_all(s, function, 2, operands) != PITH_OK)
        return NULL;
    return pithp_bind(s, primitive, 2, operands, NULL);
}

#define PITHP_UNARY(name, PRIMITIVE, rule)                                               \
    const pith_array *pith_##name(pith_scope *s, const pith_array *a) {                  \
        return unary(s, PITHP_OP_##PRIMITIVE, "pith_" #name, a);                         \
    }
#define PITHP_BINARY(name, PRIMITIVE, rule)                                              \
    const pith_array *(pith_##name)(pith_scope * s, const pith_array *a,                 \
                                    const pith_array *b) {                               \
        return binary(s, PITHP_OP_##PRIMITIVE, "pith_" #name, a, b);                     \
    }
#include "array/elementwise.def"

pith_dtype pith_promote_types(pith_dtype a, pith_dtype b) {
    return pith_dtype_size(a) && pith_dtype_size(b) ? pithp_promote(a, b)
                                                    : PITH_DTYPE_NONE;
}

/* Whether both are arrays of integers or bool (floats: of floats). */
static bool both_are(const pith_array *a, const pith_array *b, bool floats) {
    const pith_array *const pair[] = {a, b};
    for (int i = 0; i < 2; i++) {
        pithp_block *block = NULL;
        if (pithp_pointer_check(pair[i], &block) != PITHP_POINTER_OK ||
            !pithp_kind_is_array(pair[i]) ||
            pith_dtype_is_float(pithp_array_spec(pair[i])->dtype) != floats)
            return false;
    }
    return true;
}

const pith_array *(pith_div)(pith_scope *s, const pith_array *a, const pith_array *b) {
    if (pithp_scope_writable(s) && s->error.code == PITH_OK && both_are(a, b, false)) {
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

const pith_array *(pith_trunc_divide)(pith_scope *s,
                                      const pith_array *a,
                                      const pith_array *b) {
    if (pithp_scope_writable(s) && s->error.code == PITH_OK && both_are(a, b, true)) {
        pithp_enter(s);
        pithp_fail(s, PITH_E_DTYPE, NULL, "pith_trunc_divide: expected integers, got %s",
                   pith_dtype_name(pithp_array_spec(a)->dtype));
        return NULL;
    }
    return binary(s, PITHP_OP_DIV, "pith_trunc_divide", a, b);
}

/* ---- Composed operations ---- */

static bool
is_float(pith_scope *s, const char *function, const char *name, const pith_array *a) {
    const pith_dtype dtype = pithp_array_spec(a)->dtype;
    if (pith_dtype_is_float(dtype))
        return true;
    pithp_fail(s, PITH_E_DTYPE, NULL, "%s: %s: expected a float dtype, got %s", function,
               name, pith_dtype_name(dtype));
    return false;
}

const pith_array *
pith_frexp(pith_scope *s, const pith_array *a, const pith_array **exponent) {
    if (exponent)
        *exponent = NULL;
    if (!pithp_enter(s) || pithp_operand_check(s, a, "pith_frexp", "a") != PITH_OK ||
        !is_float(s, "pith_frexp", "a", a))
        return NULL;
    if (!exponent) {
        pithp_fail(s, PITH_E_ARG, NULL, "pith_frexp: exponent is NULL");
        return NULL;
    }
    const pith_array *mantissa = pithp_bind(s, PITHP_OP_FREXP_MANTISSA, 1, &a, NULL);
    const pith_array *real =
        mantissa ? pithp_bind(s, PITHP_OP_FREXP_EXPONENT, 1, &a, NULL) : NULL;
    *exponent = real ? pithp_cast(s, real, PITH_I32) : NULL;
    pith_drop(s, real);
    return *exponent ? mantissa : NULL;
}

/* The exponents take the mantissas' dtype, at least 32 bits: relevant exponents are exact
 * there, and bf16 and f16 are rounded once, at the end. */
const pith_array *(pith_ldexp)(pith_scope *s, const pith_array *a, const pith_array *b) {
    if (!pithp_enter(s) || pithp_operand_check(s, a, "pith_ldexp", "a") != PITH_OK ||
        pithp_operand_check(s, b, "pith_ldexp", "b") != PITH_OK ||
        !is_float(s, "pith_ldexp", "a", a))
        return NULL;
    const pith_dtype dtype = pithp_array_spec(a)->dtype;
    if (!pith_dtype_is_integer(pithp_array_spec(b)->dtype)) {
        pithp_fail(s, PITH_E_DTYPE, NULL, "pith_ldexp: b: expected integers, got %s",
                   pith_dtype_name(pithp_array_spec(b)->dtype));
        return NULL;
    }
    pith_scope *w = pithp_temporaries_open(s);
    if (!w)
        return NULL;
    const pith_dtype wide = dtype == PITH_F64 ? PITH_F64 : PITH_F32;
    const pith_array *pair[] = {pith_cast(w, a, wide), pith_cast(w, b, wide)};
    const pith_array *scaled =
        pair[0] && pair[1] ? pithp_bind(w, PITHP_OP_LDEXP, 2, pair, NULL) : NULL;
    return pithp_temporaries_close(s, w, pith_cast(w, scaled, dtype));
}

const pith_array *pith_nan_to_num(pith_scope *s, const pith_array *a) {
    if (!pithp_enter(s) || pithp_operand_check(s, a, "pith_nan_to_num", "a") != PITH_OK)
        return NULL;
    const pith_dtype dtype = pithp_array_spec(a)->dtype;
    if (!pith_dtype_is_float(dtype))
        return pithp_alias(s, a, pithp_array_spec(a));
    const double most = dtype == PITH_F16    ? 65504.0
                        : dtype == PITH_BF16 ? 0x1.fep127
                        : dtype == PITH_F32  ? 0x1.fffffep127
                                             : 0x1.fffffffffffffp1023;
    pith_scope *w = pithp_temporaries_open(s);
    if (!w)
        return NULL;
    const pith_array *clipped = pith_clip(w, a, -most, most),
                     *still = pithp_mark(w, PITHP_OP_STOP_GRADIENT, NULL, a);
    return pithp_temporaries_close(
        s, w, pith_where(w, still ? pith_is_nan(w, still) : NULL, 0, clipped));
}

/* |a - b| of integers, exact: an unsigned difference. */
static const pith_array *apart(pith_scope *s, const pith_array *a, const pith_array *b) {
    const pith_array *high = pith_maximum(s, a, b), *low = pith_minimum(s, a, b);
    return pith_sub(s, pith_cast(s, high, PITH_U64), pith_cast(s, low, PITH_U64));
}

const pith_array *(pith_is_close)(pith_scope *s,
                                  const pith_array *a,
                                  const pith_array *b,
                                  double rtol,
                                  double atol,
                                  bool equal_nan) {
    if (!pithp_enter(s) || pithp_operand_check(s, a, "pith_is_close", "a") != PITH_OK ||
        pithp_operand_check(s, b, "pith_is_close", "b") != PITH_OK)
        return NULL;
    const pith_array *operands[] = {a, b};
    if (pithp_promote_all(s, "pith_is_close", 2, operands) != PITH_OK)
        return NULL;
    const bool floats = pith_dtype_is_float(pithp_array_spec(operands[0])->dtype);
    pith_scope *w = pithp_temporaries_open(s);
    if (!w)
        return NULL;
    const pith_array *x = pith_cast(w, operands[0], PITH_F64),
                     *y = pith_cast(w, operands[1], PITH_F64);
    const pith_array *distance =
        floats ? pith_abs(w, pith_sub(w, x, y))
               : pith_cast(w, apart(w, operands[0], operands[1]), PITH_F64);
    const pith_array *size = pith_abs(w, y);
    const pith_array *most = pith_add(w, pith_mul(w, size, rtol), atol);
    const pith_array *within =
        pith_logical_and(w, pith_less_equal(w, distance, most), pith_is_finite(w, y));
    const pith_array *same = pith_equal(w, operands[0], operands[1]);
    const pith_array *result = pith_logical_or(w, within, same);
    if (equal_nan) {
        const pith_array *nans =
            pith_logical_and(w, pith_is_nan(w, x), pith_is_nan(w, y));
        result = pith_logical_or(w, result, nans);
    }
    return pithp_temporaries_close(s, w, result);
}

const pith_array *(pith_where)(pith_scope *s,
                               const pith_array *condition,
                               const pith_array *a,
                               const pith_array *b) {
    if (!pithp_enter(s) ||
        pithp_operand_check(s, condition, "pith_where", "condition") != PITH_OK ||
        pithp_operand_check(s, a, "pith_where", "a") != PITH_OK ||
        pithp_operand_check(s, b, "pith_where", "b") != PITH_OK)
        return NULL;
    const pith_array *operands[] = {condition, a, b};
    if (pithp_promote_all(s, "pith_where", 2, operands + 1) != PITH_OK)
        return NULL;
    return pithp_bind(s, PITHP_OP_WHERE, 3, operands, NULL);
}

const pith_array *(pith_clip)(pith_scope *s,
                              const pith_array *a,
                              const pith_array *low,
                              const pith_array *high) {
    if (!pithp_enter(s) || pithp_operand_check(s, a, "pith_clip", "a") != PITH_OK ||
        (low && pithp_operand_check(s, low, "pith_clip", "low") != PITH_OK) ||
        (high && pithp_operand_check(s, high, "pith_clip", "high") != PITH_OK))
        return NULL;
    if (!low && !high) {
        pithp_fail(s, PITH_E_ARG, NULL, "pith_clip: both bounds are NULL");
        return NULL;
    }
    const pith_array *operands[] = {a, low ? low : high, high};
    const int count = low && high ? 3 : 2;
    if (pithp_promote_all(s, "pith_clip", count, operands) != PITH_OK)
        return NULL;
    const pithp_primitive primitive = count == 3 ? PITHP_OP_CLIP
                                      : low      ? PITHP_OP_MAX
                                                 : PITHP_OP_MIN;
    return pithp_bind(s, primitive, count, operands, NULL);
}

const pith_array *pith_cast(pith_scope *s, const pith_array *a, pith_dtype dtype) {
    if (!pithp_enter(s) || pithp_operand_check(s, a, "pith_cast", "a") != PITH_OK)
        return NULL;
    if (pith_dtype_size(dtype) == 0) {
        pithp_fail(s, PITH_E_DTYPE, NULL, "%s: invalid dtype %d",
                   s->caller ? s->caller : "pith_cast", (int)dtype);
        return NULL;
    }
    if (pithp_array_spec(a)->dtype == dtype)
        return pithp_alias(s, a, pithp_array_spec(a));
    return pithp_cast(s, a, dtype);
}
