/* Kernels of the tests of capacities. */
#ifndef PITH_TEST_CAPACITY_KERNELS_H
#define PITH_TEST_CAPACITY_KERNELS_H

#include <pith/kernel.h>

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
