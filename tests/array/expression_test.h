/* What the tests of formulas share: arrays of edge cases, and equality of bits. */
#ifndef EXPRESSION_TEST_H
#define EXPRESSION_TEST_H

#include "scope_test.h"

#include <float.h>

enum { FEW = 24 }; /* elements: operation by operation */

/* Edge cases and ordinary numbers; integers are cut to size by the cast. */
static const pith_array *values(pith_dtype dtype, int64_t count, int from) {
    static const double reals[] = {0,      -0.0,  1,     -1,    2,        3,
                                   0.5,    -0.25, 7.75,  1e-3,  -2.5,     100,
                                   127,    31,    1e10,  -1e10, DBL_MAX,  FLT_MAX,
                                   1e-310, -17,   1e-40, 64,    INFINITY, NAN};
    double *x = malloc((size_t)count * sizeof *x);
    for (int64_t i = 0; i < count; i++) {
        x[i] = reals[(i * (1 + from) + from) % 24];
        if (!pith_dtype_is_float(dtype))
            x[i] = dtype == PITH_BOOL ? (double)(i % 2)
                                      : (double)(i * 7 % 250) - 100 * (dtype < PITH_U8);
    }
    const pith_array *all = pith_array_copy(s, PITH_F64, PITH_SHAPE(count), x);
    free(x);
    return pith_cast(s, all, dtype);
}

static bool same_bits(const pith_array *a, const pith_array *b) {
    const pith_spec *spec = pith_array_spec(a);
    if (!a || !b || spec != pith_array_spec(b))
        return false;
    char *x = malloc(spec->bytes + 1), *y = malloc(spec->bytes + 1);
    bool same = pith_read(s, a, x, spec->bytes) && pith_read(s, b, y, spec->bytes);
    if (same && memcmp(x, y, spec->bytes) != 0) { /* NaNs have one of many bits */
        const pith_array *wide[] = {pith_cast(s, a, PITH_F64), pith_cast(s, b, PITH_F64)};
        same =
            pith_dtype_is_float(spec->dtype) &&
            pith_read_bool(
                s, pith_all(s,
                            pith_logical_or(s, pith_equal(s, wide[0], wide[1]),
                                            pith_logical_and(s, pith_is_nan(s, wide[0]),
                                                             pith_is_nan(s, wide[1]))),
                            PITH_ALL_AXES));
    }
    free(x), free(y);
    return same;
}

#endif
