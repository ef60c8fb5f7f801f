/* Kernels of the tests of assertions. */
#ifndef PITH_TEST_ASSERT_KERNELS_H
#define PITH_TEST_ASSERT_KERNELS_H

#include <pith/kernel.h>

PITH_KERNEL(below, over(i, n), in(i32, x, "[n]"), value(i32, limit), out(i32, y, "[n]")) {
    y[i] = 0;
    pith_require(x[i] < limit, x[i]);
    y[i] = x[i];
}

PITH_KERNEL(fits,
            over(i, n),
            in(i32, x, "[n]"),
            extent(room),
            out(i32, y, "[n,room]", 0)) {
    pith_require_capacity(room, x[i]);
    for (int64_t k = 0; k < x[i]; k++)
        y[i * room + k] = 1;
}

#endif
