/* Reductions over ranks. */
#include "array/collective.h"
#include "base/in_flight.h"

/* Enter with the options of a sum. */
static bool enter_sum(pithp_collective *c,
                      pith_scope *s,
                      const char *function,
                      const pith_array *a,
                      const char *axes,
                      const pith_collective_options *options) {
    if (!pithp_collective_enter(c, s, function, a, axes))
        return false;
    pithp_collective_take(c, options);
    if (pithp_collective_dtype(c) == PITH_BOOL)
        pithp_collective_cast(c, PITH_I64);
    return true;
}

const pith_array *pith_psum(pith_scope *s,
                            const pith_array *a,
                            const char *axes,
                            const pith_collective_options *options) {
    PITHP_IN_FLIGHT(s, "pith_psum");
    pithp_collective c;
    if (!enter_sum(&c, s, "pith_psum", a, axes, options))
        return NULL;
    return pithp_collective_leave(&c, pithp_collective_bind(&c, PITHP_OP_PSUM));
}

/* A sum of halves may overflow although the mean does not: they are added in f32. */
const pith_array *pith_pmean(pith_scope *s,
                             const pith_array *a,
                             const char *axes,
                             const pith_collective_options *options) {
    PITHP_IN_FLIGHT(s, "pith_pmean");
    pithp_collective c;
    if (!pithp_collective_enter(&c, s, "pith_pmean", a, axes))
        return NULL;
    pithp_collective_take(&c, options);
    const pith_dtype dtype = pithp_collective_dtype(&c);
    if (dtype && !pith_dtype_is_float(dtype))
        pithp_fail(c.w, PITH_E_DTYPE, NULL, "pith_pmean: expected a float dtype, got %s",
                   pith_dtype_name(dtype));
    else if (dtype && pith_dtype_size(dtype) == 2)
        pithp_collective_cast(&c, PITH_F32);
    const pith_array *sum = pithp_collective_bind(&c, PITHP_OP_PSUM);
    const pith_array *ranks = sum ? pith_full(c.w, pithp_array_spec(sum)->dtype,
                                              PITH_SCALAR, (double)c.params.group->size)
                                  : NULL;
    const pith_array *mean = ranks ? pith_div(c.w, sum, ranks) : NULL;
    return pithp_collective_leave(&c, mean ? pithp_cast(c.w, mean, dtype) : NULL);
}

static const pith_array *extreme(pith_scope *s,
                                 const char *function,
                                 const pith_array *a,
                                 const char *axes,
                                 pithp_primitive primitive) {
    pithp_collective c;
    if (!pithp_collective_enter(&c, s, function, a, axes))
        return NULL;
    return pithp_collective_leave(&c, pithp_collective_bind(&c, primitive));
}

const pith_array *pith_pmax(pith_scope *s, const pith_array *a, const char *axes) {
    PITHP_IN_FLIGHT(s, "pith_pmax");
    return extreme(s, "pith_pmax", a, axes, PITHP_OP_PMAX);
}

const pith_array *pith_pmin(pith_scope *s, const pith_array *a, const char *axes) {
    PITHP_IN_FLIGHT(s, "pith_pmin");
    return extreme(s, "pith_pmin", a, axes, PITHP_OP_PMIN);
}

/* Integers of 8 and 16 bits are added in 32, and wrap when they are cast back. */
const pith_array *pith_pscan(pith_scope *s, const pith_array *a, const char *axes) {
    PITHP_IN_FLIGHT(s, "pith_pscan");
    pithp_collective c;
    if (!pithp_collective_enter(&c, s, "pith_pscan", a, axes))
        return NULL;
    const pith_dtype dtype = pithp_collective_dtype(&c);
    if (dtype && !pith_dtype_is_integer(dtype))
        pithp_fail(c.w, PITH_E_DTYPE, NULL, "pith_pscan: expected integers, got %s",
                   pith_dtype_name(dtype));
    else if (dtype && pith_dtype_size(dtype) < 4)
        pithp_collective_cast(&c, PITH_U32);
    const pith_array *sum = pithp_collective_bind(&c, PITHP_OP_PSCAN);
    return pithp_collective_leave(&c, sum ? pithp_cast(c.w, sum, dtype) : NULL);
}

const pith_array *pith_psum_rows(pith_scope *s,
                                 const pith_array *a,
                                 const char *axes,
                                 const pith_collective_options *options) {
    PITHP_IN_FLIGHT(s, "pith_psum_rows");
    pithp_collective c;
    if (!pithp_collective_enter(&c, s, "pith_psum_rows", a, axes))
        return NULL;
    /* extents of the first axis may differ between ranks */
    c.by_rows = pithp_collective_fine(&c) && c.spec->rank > 0;
    pithp_collective_take(&c, options);
    c.params.unordered = false;
    if (pithp_collective_dtype(&c) == PITH_BOOL)
        pithp_collective_cast(&c, PITH_I64);
    return pithp_collective_leave(&c, pithp_collective_bind(&c, PITHP_OP_PSUM_ROWS));
}
