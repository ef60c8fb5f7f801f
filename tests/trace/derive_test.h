/* What tests of derived functions share: numbers of leaves, and records to differentiate.
 */
#ifndef PITH_TESTS_DERIVE_H
#define PITH_TESTS_DERIVE_H

#include "scope_test.h"

#include <math.h>
#include <stdarg.h>

enum { DERIVE_MOST = 300 };

/* Element i of a float array. */
static PT_UNUSED double at(const pith_array *a, int64_t i) {
    double values[DERIVE_MOST];
    const pith_spec *spec = pith_array_spec(a);
    pt_ok(s, spec && spec->dtype == PITH_F64 && spec->bytes <= sizeof values);
    pt_ok(s, pith_read(s, a, values, spec->bytes));
    return values[i];
}
static PT_UNUSED void near(const pith_array *a, int64_t i, double wanted) {
    const double got = at(a, i);
    cr_assert(fabs(got - wanted) <= 1e-12 * (1 + fabs(wanted)),
              "element %d: expected %.17g, got %.17g", (int)i, wanted, got);
}

/* Item k of a tuple. */
static PT_UNUSED const void *item(const void *tuple, int64_t k) {
    pt_ok(s, tuple);
    cr_assert(pith_kind(tuple) == PITH_NODE_TUPLE);
    return pith_child(tuple, k);
}

/* The derivative of f, a float of rank 0, along element i of argument 0, an array:
 * central differences extrapolated to order 4. */
static PT_UNUSED double
slope(const pith_function *f, const pith_array *x, int64_t i, int count, ...) {
    static const double shift[4] = {1, -1, 2, -2}, weight[4] = {8, -8, -1, 1};
    const double h = 1e-3;
    const pith_spec *spec = pith_array_spec(x);
    const void *arguments[4] = {x};
    double sum = 0;
    va_list rest;
    va_start(rest, count);
    for (int k = 1; k < count; k++)
        arguments[k] = va_arg(rest, const void *);
    va_end(rest);
    for (int k = 0; k < 4; k++) {
        double values[DERIVE_MOST];
        pt_ok(s, pith_read(s, x, values, spec->bytes));
        values[i] += h * shift[k];
        pith_shape shape = {.rank = spec->rank};
        memcpy(shape.extents, spec->shape, sizeof shape.extents);
        arguments[0] = pith_array_copy(s, PITH_F64, shape, values);
        sum += weight[k] * pith_read_f64(s, pith_call(s, f, count, arguments));
    }
    pt_ok(s);
    return sum / (12 * h);
}
static PT_UNUSED void close_to(const pith_array *a, int64_t i, double wanted) {
    const double got = at(a, i);
    cr_assert(fabs(got - wanted) <= 1e-8 * (1 + fabs(wanted)),
              "element %d: differences %.17g, got %.17g", (int)i, wanted, got);
}

typedef struct {
    const pith_array *position, *charge, *kind;
    int64_t width;
} Ions;
PITH_NODE(Ions,
          PITH_LEAF(position, "f64[n]"),
          PITH_LEAF(charge, "f64[n]", .optional = true),
          PITH_LEAF(kind, "i64[n]", .optional = true),
          PITH_STATIC(width, .initial = 2))

#endif
