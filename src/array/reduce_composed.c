/* Composed reductions: masked reductions, moments, norms. Half precision is computed in
 * f32, and norms of f32 in f64, so that sums do not overflow the range of the result. */
#include "array/array_internal.h"

#include <math.h>
#include <string.h>

static bool enter(pith_scope *s, const char *function, const pith_array *a) {
    return pithp_enter_as(s, function) &&
           pithp_operand_check(s, a, function, "a") == PITH_OK;
}

static bool enter_float(pith_scope *s, const char *function, const pith_array *a) {
    if (!enter(s, function, a))
        return false;
    const pith_dtype dtype = pithp_array_spec(a)->dtype;
    if (pith_dtype_is_float(dtype))
        return true;
    pithp_fail(s, PITH_E_DTYPE, NULL, "%s: expected a float dtype, got %s", function,
               pith_dtype_name(dtype));
    return false;
}

/* The dtype in which floats are computed. */
static pith_dtype inner_dtype(const pith_array *a) {
    return pithp_array_spec(a)->dtype == PITH_F64 ? PITH_F64 : PITH_F32;
}

/* Shape and count of a reduction's result; false with the error set. */
static bool reduced_shape(pith_scope *s,
                          const char *function,
                          const pith_array *a,
                          pith_axes axes,
                          pith_shape *shape,
                          int64_t *count) {
    const pith_spec *spec = pithp_array_spec(a);
    uint32_t mask;
    if (!pithp_axes(s, function, axes, spec->rank, &mask))
        return false;
    *shape = PITH_SCALAR;
    *count = 1;
    for (int d = 0; d < spec->rank; d++) {
        if (mask >> d & 1)
            *count *= spec->shape[d];
        if (!(mask >> d & 1) || axes.keep)
            shape->extents[shape->rank++] = mask >> d & 1 ? 1 : spec->shape[d];
    }
    return true;
}

/* ---- Masked reductions ---- */

typedef struct reduction {
    const char *function;
    const pith_array *(*reduce)(pith_scope *s, const pith_array *a, pith_axes axes);
    const pith_array *(*combine)(pith_scope *s, const pith_array *a, const pith_array *b);
    int identity; /* 0 or 1; -1: none, so `initial` is required */
} reduction;

static bool where_fits(pith_scope *s,
                       const char *function,
                       const pith_array *a,
                       const pith_array *where) {
    if (pithp_operand_check(s, where, function, "where") != PITH_OK)
        return false;
    const pith_spec *to = pithp_array_spec(a), *from = pithp_array_spec(where);
    bool fits = from->rank <= to->rank && from->dtype == PITH_BOOL;
    for (int d = 0; fits && d < from->rank; d++)
        fits =
            from->shape[d] == 1 || from->shape[d] == to->shape[d + to->rank - from->rank];
    if (!fits) {
        char texts[2][PITHP_SPEC_TEXT_BYTES];
        pithp_fail(s, from->dtype == PITH_BOOL ? PITH_E_SHAPE : PITH_E_DTYPE, NULL,
                   "%s: where: expected bool that broadcasts to %s, got %s", function,
                   pithp_spec_print(to, texts[0]), pithp_spec_print(from, texts[1]));
    }
    return fits;
}

static bool options_fit(pith_scope *s,
                        const reduction *r,
                        const pith_array *a,
                        const pith_reduce_options *o) {
    if (o->where && !where_fits(s, r->function, a, o->where))
        return false;
    if (o->initial) {
        if (pithp_operand_check(s, o->initial, r->function, "initial") != PITH_OK)
            return false;
        if (pithp_array_spec(o->initial)->rank == 0)
            return true;
        char text[PITHP_SPEC_TEXT_BYTES];
        pithp_fail(s, PITH_E_SHAPE, NULL, "%s: initial: expected rank 0, got %s",
                   r->function, pithp_spec_print(pithp_array_spec(o->initial), text));
        return false;
    }
    if (!o->where || r->identity >= 0)
        return true;
    pithp_fail(s, PITH_E_ARG, NULL,
               "%s: where without initial: an empty selection has no minimum or maximum",
               r->function);
    return false;
}

static const pith_array *reduce_some(pith_scope *s,
                                     const reduction *r,
                                     const pith_array *a,
                                     pith_axes axes,
                                     const pith_reduce_options *options) {
    static const pith_reduce_options defaults;
    const pith_reduce_options *o = options ? options : &defaults;
    pith_shape shape;
    int64_t count;
    if (!enter(s, r->function, a) || !options_fit(s, r, a, o) ||
        !reduced_shape(s, r->function, a, axes, &shape, &count))
        return NULL;
    const bool truth = r->reduce == pith_any || r->reduce == pith_all;
    const bool counts = r->identity >= 0 && !truth; /* sums and products count bool */
    const pith_dtype own = pithp_array_spec(a)->dtype,
                     dtype = truth                        ? PITH_BOOL
                             : counts && own == PITH_BOOL ? PITH_I64
                                                          : own;
    pith_scope *w = pithp_temporaries_open(s);
    if (!w)
        return NULL;
    const pith_array *first = o->initial ? pith_cast(w, o->initial, dtype) : NULL;
    const pith_array *some = a;
    if (o->where) {
        const pith_array *nothing = r->identity < 0    ? pith_cast(w, first, own)
                                    : r->identity == 0 ? pith_zeros(w, own, PITH_SCALAR)
                                                       : pith_ones(w, own, PITH_SCALAR);
        some = pith_where(w, o->where, a, nothing);
    }
    const pith_array *result;
    if (o->initial && r->identity < 0 && count == 0)
        result = pith_broadcast_to(w, first, shape);
    else if (o->initial)
        result = r->combine(w, r->reduce(w, some, axes), first);
    else
        result = r->reduce(w, some, axes);
    return pithp_temporaries_close(s, w, result);
}

#define SOME(name, combine, identity)                                                    \
    const pith_array *pith_##name##_with(pith_scope *s, const pith_array *a,             \
                                         pith_axes axes,                                 \
                                         const pith_reduce_options *options) {           \
        static const reduction r = {"pith_" #name "_with", pith_##name, combine,         \
                                    identity};                                           \
        return reduce_some(s, &r, a, axes, options);                                     \
    }
SOME(sum, pith_add, 0)
SOME(prod, pith_mul, 1)
SOME(min, pith_minimum, -1)
SOME(max, pith_maximum, -1)
SOME(any, pith_logical_or, 0)
SOME(all, pith_logical_and, 1)

const pith_array *pith_mean_with(pith_scope *s,
                                 const pith_array *a,
                                 pith_axes axes,
                                 const pith_reduce_options *options) {
    if (!enter_float(s, "pith_mean_with", a))
        return NULL;
    if (options && options->initial) {
        pithp_fail(s, PITH_E_ARG, NULL, "pith_mean_with: a mean has no initial value");
        return NULL;
    }
    const pith_array *where = options ? options->where : NULL;
    if (where && !where_fits(s, "pith_mean_with", a, where))
        return NULL;
    const pith_spec *spec = pithp_array_spec(a);
    pith_shape shape = {.rank = spec->rank};
    memcpy(shape.extents, spec->shape, sizeof shape.extents);
    const pith_dtype inner = inner_dtype(a);
    pith_scope *w = pithp_temporaries_open(s);
    if (!w)
        return NULL;
    if (!where)
        return pithp_temporaries_close(s, w, pith_mean(w, a, axes));
    const pith_array *sum = pith_sum_with(w, pith_cast(w, a, inner), axes, options);
    const pith_array *mask = pith_broadcast_to(w, where, shape);
    const pith_array *count = pith_cast(w, pith_sum(w, mask, axes), inner);
    return pithp_temporaries_close(s, w,
                                   pith_cast(w, pith_div(w, sum, count), spec->dtype));
}

/* ---- Moments ---- */

static const pith_array *variance(pith_scope *s,
                                  const char *function,
                                  const pith_array *a,
                                  pith_axes axes,
                                  double ddof,
                                  bool root) {
    pith_shape shape;
    int64_t count;
    if (!enter_float(s, function, a) ||
        !reduced_shape(s, function, a, axes, &shape, &count))
        return NULL;
    if (!isfinite(ddof)) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: ddof is %g", function, ddof);
        return NULL;
    }
    pith_axes kept = axes;
    kept.keep = true;
    pith_scope *w = pithp_temporaries_open(s);
    if (!w)
        return NULL;
    const pith_array *x = pith_cast(w, a, inner_dtype(a));
    const pith_array *middle = pith_mean(w, x, kept);
    const pith_array *away = pith_sub(w, x, middle);
    const pith_array *square = pith_square(w, away);
    const pith_array *sum = pith_sum(w, square, axes);
    const double free = (double)count - ddof;
    const pith_array *freedom = pith_like(w, x, free > 0 ? free : 0);
    const pith_array *mean = pith_div(w, sum, freedom);
    const pith_array *result = root ? pithp_root(w, mean, 2) : mean;
    return pithp_temporaries_close(s, w,
                                   pith_cast(w, result, pithp_array_spec(a)->dtype));
}

const pith_array *
pith_var(pith_scope *s, const pith_array *a, pith_axes axes, double ddof) {
    return variance(s, "pith_var", a, axes, ddof, false);
}

const pith_array *
pith_std(pith_scope *s, const pith_array *a, pith_axes axes, double ddof) {
    return variance(s, "pith_std", a, axes, ddof, true);
}

/* ---- Sums of functions ---- */

const pith_array *pith_logsumexp(pith_scope *s, const pith_array *a, pith_axes axes) {
    pith_shape shape;
    int64_t count;
    if (!enter_float(s, "pith_logsumexp", a) ||
        !reduced_shape(s, "pith_logsumexp", a, axes, &shape, &count))
        return NULL;
    pith_axes kept = axes;
    kept.keep = true;
    pith_scope *w = pithp_temporaries_open(s);
    if (!w)
        return NULL;
    const pith_array *x = pith_cast(w, a, inner_dtype(a));
    const pith_reduce_options from = {.initial = pith_like(w, x, -(double)INFINITY)};
    const pith_array *top = pith_max_with(w, x, kept, &from);
    const pith_array *base =
        pith_where(w, pith_is_finite(w, top), top, pith_like(w, top, 0));
    /* The result does not depend on the base: no derivative goes through it. */
    const pith_array *still =
        base ? pithp_mark(w, PITHP_OP_STOP_GRADIENT, NULL, base) : NULL;
    const pith_array *power = pith_exp(w, pith_sub(w, x, still));
    const pith_array *sum = pith_sum(w, power, kept);
    const pith_array *log = pith_log(w, sum);
    const pith_array *whole = pith_add(w, log, still);
    const pith_array *shaped = pith_reshape(w, whole, shape);
    return pithp_temporaries_close(s, w,
                                   pith_cast(w, shaped, pithp_array_spec(a)->dtype));
}

const pith_array *pith_count_nonzero(pith_scope *s, const pith_array *a, pith_axes axes) {
    if (!enter(s, "pith_count_nonzero", a))
        return NULL;
    pith_scope *w = pithp_temporaries_open(s);
    if (!w)
        return NULL;
    const pith_array *not_zero = pith_cast(w, a, PITH_BOOL);
    return pithp_temporaries_close(s, w, pith_sum(w, not_zero, axes));
}

/* sum(|x|^order)^(1/order) in the dtype of x. */
static const pith_array *
power_norm(pith_scope *s, const pith_array *x, double order, pith_axes axes) {
    if (order == 2) {
        const pith_array *squares = pith_square(s, x);
        return pithp_root(s, pith_sum(s, squares, axes), 2);
    }
    const pith_array *size = pith_abs(s, x);
    if (order == 1)
        return pith_sum(s, size, axes);
    const pith_array *powers = pith_pow(s, size, pith_like(s, x, order));
    const pith_array *sum = pith_sum(s, powers, axes);
    return pithp_root(s, sum, order);
}

const pith_array *
pith_norm(pith_scope *s, const pith_array *a, double order, pith_axes axes) {
    if (!enter_float(s, "pith_norm", a))
        return NULL;
    if (isnan(order)) {
        pithp_fail(s, PITH_E_ARG, NULL, "pith_norm: the order is NaN");
        return NULL;
    }
    pith_scope *w = pithp_temporaries_open(s);
    if (!w)
        return NULL;
    const pith_dtype dtype = pithp_array_spec(a)->dtype;
    const pith_array *result = NULL;
    if (order == 0) {
        result = pith_count_nonzero(w, a, axes);
    } else if (isinf(order)) {
        const pith_array *size = pith_abs(w, a);
        result = order > 0 ? pith_max(w, size, axes) : pith_min(w, size, axes);
    } else {
        const pith_array *x = pith_cast(w, a, PITH_F64);
        result = power_norm(w, x, order, axes);
    }
    return pithp_temporaries_close(s, w, pith_cast(w, result, dtype));
}

const pith_array *pith_all_close(pith_scope *s,
                                 const pith_array *a,
                                 const pith_array *b,
                                 double rtol,
                                 double atol,
                                 bool equal_nan) {
    if (!enter(s, "pith_all_close", a) ||
        pithp_operand_check(s, b, "pith_all_close", "b") != PITH_OK)
        return NULL;
    pith_scope *w = pithp_temporaries_open(s);
    if (!w)
        return NULL;
    const pith_array *close = pith_is_close(w, a, b, rtol, atol, equal_nan);
    return pithp_temporaries_close(s, w, pith_all(w, close, PITH_ALL_AXES));
}
