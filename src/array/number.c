/* Numbers as operands: C numbers become arrays of rank 0 with the dtype of the others. */
#include "array/array_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_TEXT_BYTES = 40 };

static const char *print_number(const pith_array_or_number *n,
                                char text[NUMBER_TEXT_BYTES]) {
    if (n->kind == PITH_NUMBER_I64)
        snprintf(text, NUMBER_TEXT_BYTES, "%lld", (long long)n->number.i64);
    else if (n->kind == PITH_NUMBER_U64)
        snprintf(text, NUMBER_TEXT_BYTES, "%llu", (unsigned long long)n->number.u64);
    else /* the fewest digits that round-trip */
        for (int digits = 6; digits <= 17; digits++) {
            snprintf(text, NUMBER_TEXT_BYTES, "%.*g", digits, n->number.f64);
            if (strtod(text, NULL) == n->number.f64)
                break;
        }
    return text;
}

/* Encode an integer in an integer dtype or bool; false: out of range. */
static bool
encode_integer(pith_dtype dtype, const pith_array_or_number *n, void *element) {
    const bool negative = n->kind == PITH_NUMBER_I64 && n->number.i64 < 0;
    const size_t size = pith_dtype_size(dtype);
    const bool is_signed = dtype >= PITH_I8 && dtype <= PITH_I64;
    const uint64_t all = dtype == PITH_BOOL ? 1 : UINT64_MAX >> (64 - 8 * size);
    const uint64_t most = is_signed ? all >> 1 : all;
    memcpy(element, &n->number, size);
    if (negative)
        return is_signed && ~n->number.u64 <= most;
    return n->number.u64 <= most;
}

/* Rounded to nearest; a finite number must stay finite. */
static bool encode_float(pith_dtype dtype, const pith_array_or_number *n, void *element) {
    double value = n->number.f64;
    if (n->kind == PITH_NUMBER_I64)
        value = dtype == PITH_F32 ? (double)(float)n->number.i64 : (double)n->number.i64;
    else if (n->kind == PITH_NUMBER_U64)
        value = dtype == PITH_F32 ? (double)(float)n->number.u64 : (double)n->number.u64;
    pithp_dtype_encode(dtype, value, element);
    return !isfinite(value) || isfinite(pithp_dtype_decode(dtype, element));
}

static const pith_array *array_of(pith_scope *s,
                                  const char *function,
                                  const char *name,
                                  pith_dtype dtype,
                                  const pith_array_or_number *n) {
    uint64_t element = 0;
    char text[NUMBER_TEXT_BYTES];
    const bool is_float = pith_dtype_is_float(dtype);
    const bool fits = is_float ? encode_float(dtype, n, &element)
                      : n->kind == PITH_NUMBER_F64
                          ? pithp_dtype_encode(dtype, n->number.f64, &element)
                          : encode_integer(dtype, n, &element);
    if (fits)
        return pithp_scalar(s, dtype, &element);
    pithp_fail(s, PITH_E_DTYPE, NULL, "%s: %s: expected a number %s %s, got %s",
               s->caller ? s->caller : function, name,
               is_float ? "in the range of" : "exact in", pith_dtype_name(dtype),
               print_number(n, text));
    return NULL;
}

/* The promoted dtype of the arrays; PITH_DTYPE_NONE with the error set. */
static pith_dtype dtype_of(pith_scope *s,
                           const char *function,
                           int64_t count,
                           const char *const *names,
                           const pith_array_or_number *operands) {
    pith_dtype dtype = PITH_DTYPE_NONE;
    for (int64_t i = 0; i < count; i++) {
        const pith_array *a = operands[i].array;
        if (operands[i].kind != PITH_NUMBER_NONE)
            continue;
        if (pithp_operand_check(s, a, function, names[i]) != PITH_OK)
            return PITH_DTYPE_NONE;
        const pith_dtype own = pithp_array_spec(a)->dtype;
        dtype = dtype ? pithp_promote_dtypes(s, function, dtype, own) : own;
        if (dtype == PITH_DTYPE_NONE)
            return PITH_DTYPE_NONE;
    }
    if (dtype == PITH_DTYPE_NONE)
        pithp_fail(s, PITH_E_ARG, NULL,
                   "%s: expected an array among the operands, got numbers only",
                   s->caller ? s->caller : function);
    return dtype;
}

/* As pithp_enter_as, but the call site stays for the next function. */
static bool enter_before(pith_scope *s, const char *function) {
    const bool sited = pithp_scope_writable(s) && s->site_depth > 0;
    const bool entered = pithp_enter_as(s, function);
    if (sited)
        s->site_depth++;
    return entered;
}

static bool are_arguments(const char *function,
                          int64_t count,
                          const char *const *names,
                          const pith_array_or_number *operands) {
    if (!function || strncmp(function, "pith_", 5) != 0 || count < 1 || !names ||
        !operands)
        return false;
    for (int64_t i = 0; i < count; i++)
        if (!names[i] || (unsigned)operands[i].kind > PITH_NUMBER_F64)
            return false;
    return true;
}

void pith_numbers_begin(pith_scope *s,
                        const char *function,
                        pith_dtype dtype,
                        int64_t count,
                        const char *const *names,
                        pith_array_or_number *operands) {
    if (!are_arguments(function, count, names, operands)) {
        if (enter_before(s, "pith_numbers_begin"))
            pithp_fail(s, PITH_E_ARG, NULL,
                       "pith_numbers_begin: expected the name of a function, and the "
                       "names, kinds and values of its operands");
        return;
    }
    const bool entered = enter_before(s, function);
    for (int64_t i = 0; i < count; i++)
        if (operands[i].kind != PITH_NUMBER_NONE)
            operands[i].array = NULL;
    if (!entered)
        return;
    if (pith_dtype_size(dtype) == 0)
        dtype = dtype_of(s, function, count, names, operands);
    for (int64_t i = 0; dtype && i < count; i++) {
        if (operands[i].kind == PITH_NUMBER_NONE)
            continue;
        operands[i].array = array_of(s, function, names[i], dtype, &operands[i]);
        if (!operands[i].array)
            return;
    }
}

const pith_array *pith_numbers_end(pith_scope *s,
                                   int64_t count,
                                   const pith_array_or_number *operands,
                                   const pith_array *result) {
    for (int64_t i = 0; operands && i < count; i++)
        if (operands[i].kind != PITH_NUMBER_NONE)
            pith_drop(s, operands[i].array);
    return result;
}
