/* Kernels of the tests of compiled functions. */
#ifndef PITH_TEST_TRACE_KERNELS_H
#define PITH_TEST_TRACE_KERNELS_H

#include <pith/kernel.h>

/* Two arrays grow in place; an output has their old values. */
PITH_KERNEL(grow,
            over(i, n),
            in(f64, by, "[n]"),
            inout(f64, x, "[n]"),
            out(f64, before, "[n]"),
            inout(i64, count, "[n]")) {
    before[i] = x[i];
    x[i] += by[i];
    count[i] += 1;
}

/* None may be too large; what each one is. */
PITH_KERNEL(bound,
            over(i, n),
            in(f64, x, "[n]"),
            out(f64, next, "[n]"),
            value(f64, most)) {
    pith_require(x[i] < most, x[i]);
    next[i] = 1.5 * x[i];
}

/* Rows of as many ones as x says. */
PITH_KERNEL(rows_of,
            over(i, n),
            in(i64, x, "[n]"),
            extent(room),
            out(i32, y, "[n,room]", 0)) {
    pith_require_capacity(room, x[i]);
    for (int64_t k = 0; k < x[i]; k++)
        y[i * room + k] = 1;
}

#endif
