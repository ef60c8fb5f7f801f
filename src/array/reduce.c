/* Reductions over axes and running sums. */
#include "array/array_internal.h"

#include <string.h>

/* Restore the reduced axes of a result with extent 1. */
static const pith_array *
keep_axes(pith_scope *s, const pith_array *result, const pith_spec *from, uint32_t mask) {
    if (!result)
        return NULL;
    int64_t shape[PITHP_MAX_RANK];
    for (int d = 0; d < from->rank; d++)
        shape[d] = mask >> d & 1 ? 1 : from->shape[d];
    const pith_spec *spec =
        pithp_spec(s, pithp_array_spec(result)->dtype, from->rank, shape);
    return spec ? pithp_alias(s, result, spec) : NULL;
}

static const pith_array *reduce(pith_scope *s,
                                pithp_primitive primitive,
                                const char *function,
                                const pith_array *a,
                                pith_axes axes) {
    uint32_t mask;
    if (!pithp_axes(s, function, axes, pithp_array_spec(a)->rank, &mask))
        return NULL;
    const pith_array *result =
        pithp_bind(s, primitive, 1, &a, &(pithp_reduce_params){mask});
    return axes.keep ? keep_axes(s, result, pithp_array_spec(a), mask) : result;
}

static bool enter(pith_scope *s, const char *function, const pith_array *a) {
    return pithp_enter_as(s, function) &&
           pithp_operand_check(s, a, function, "a") == PITH_OK;
}

/* bool is counted in i64. */
static const pith_array *numbers(pith_scope *s, const pith_array *a) {
    return pithp_array_spec(a)->dtype == PITH_BOOL ? pithp_cast(s, a, PITH_I64) : a;
}

const pith_array *pith_sum(pith_scope *s, const pith_array *a, pith_axes axes) {
    if (!enter(s, "pith_sum", a) || !(a = numbers(s, a)))
        return NULL;
    return reduce(s, PITHP_OP_SUM, "pith_sum", a, axes);
}

const pith_array *pith_prod(pith_scope *s, const pith_array *a, pith_axes axes) {
    if (!enter(s, "pith_prod", a) || !(a = numbers(s, a)))
        return NULL;
    return reduce(s, PITHP_OP_PROD, "pith_prod", a, axes);
}

const pith_array *pith_mean(pith_scope *s, const pith_array *a, pith_axes axes) {
    if (!enter(s, "pith_mean", a))
        return NULL;
    const pith_dtype dtype = pithp_array_spec(a)->dtype;
    if (!pith_dtype_is_float(dtype)) {
        pithp_fail(s, PITH_E_DTYPE, NULL, "pith_mean: expected a float dtype, got %s",
                   pith_dtype_name(dtype));
        return NULL;
    }
    /* A sum of halves may overflow although the mean does not. */
    const bool half = pith_dtype_size(dtype) == 2;
    const pith_array *wide = half ? pithp_cast(s, a, PITH_F32) : a;
    const pith_array *sum =
        wide ? reduce(s, PITHP_OP_SUM, "pith_mean", wide, axes) : NULL;
    if (!sum)
        return NULL;
    const pith_spec *spec = pithp_array_spec(sum);
    const double count =
        spec->count ? (double)(pithp_array_spec(a)->count / spec->count) : 0;
    uint64_t bits = 0;
    pithp_dtype_encode(spec->dtype, count, &bits);
    const pith_array *divisor =
        pithp_bind(s, PITHP_OP_FULL, 0, NULL,
                   &(pithp_full_params){.dtype = spec->dtype, .value = bits});
    const pith_array *operands[] = {sum, divisor};
    const pith_array *mean =
        divisor ? pithp_bind(s, PITHP_OP_DIV, 2, operands, NULL) : NULL;
    return mean ? pithp_cast(s, mean, dtype) : NULL;
}

const pith_array *pith_min(pith_scope *s, const pith_array *a, pith_axes axes) {
    return enter(s, "pith_min", a) ? reduce(s, PITHP_OP_MIN_OF, "pith_min", a, axes)
                                   : NULL;
}

const pith_array *pith_max(pith_scope *s, const pith_array *a, pith_axes axes) {
    return enter(s, "pith_max", a) ? reduce(s, PITHP_OP_MAX_OF, "pith_max", a, axes)
                                   : NULL;
}

const pith_array *pith_any(pith_scope *s, const pith_array *a, pith_axes axes) {
    return enter(s, "pith_any", a) ? reduce(s, PITHP_OP_ANY, "pith_any", a, axes) : NULL;
}

const pith_array *pith_all(pith_scope *s, const pith_array *a, pith_axes axes) {
    return enter(s, "pith_all", a) ? reduce(s, PITHP_OP_ALL, "pith_all", a, axes) : NULL;
}

const pith_array *pith_argmin(pith_scope *s, const pith_array *a, pith_axes axes) {
    return enter(s, "pith_argmin", a) ? reduce(s, PITHP_OP_ARGMIN, "pith_argmin", a, axes)
                                      : NULL;
}

const pith_array *pith_argmax(pith_scope *s, const pith_array *a, pith_axes axes) {
    return enter(s, "pith_argmax", a) ? reduce(s, PITHP_OP_ARGMAX, "pith_argmax", a, axes)
                                      : NULL;
}
